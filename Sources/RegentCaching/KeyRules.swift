// What a domain's owner adds to the rules of a key (RFC 9111 section 2): query parameters that do not count, their
// order, request fields that do, and fields whose spelling is made one. Whoever applies them must send on the very query
// and fields that they keyed: else one client's odd spelling would fill another one's entry. Nothing is ever decoded.

public import RegentHTTP

/// A domain's own rules for its keys. The default ones change nothing.
public struct KeyRules: Sendable, Equatable {
  /// A parameter's name, or the beginning of names: "utm_*".
  public struct NamePattern: Sendable, Equatable {
    let bytes: [UInt8]
    let isPrefix: Bool

    /// Reads `name` or `name*`; compared byte for byte with what stands before the `=`.
    public init(_ text: String) {
      isPrefix = text.utf8.last == 0x2A
      bytes = Array(isPrefix ? text.utf8.dropLast() : text.utf8[...])
    }

    func matches(_ name: ArraySlice<UInt8>) -> Bool {
      isPrefix ? name.starts(with: bytes) : name.elementsEqual(bytes)
    }
  }

  /// The parameters that are neither keyed nor sent on.
  public var ignoredQuery: [NamePattern]
  /// Whether parameters are keyed and sent in the order of their names.
  public var sortsQuery: Bool
  /// The request fields whose values belong to the key, in small letters.
  public let fields: [[UInt8]]
  /// The fields whose values are keyed, compared and sent in one spelling for each meaning.
  public var normalizes: [NegotiationField]

  public init(
    ignoredQuery: [NamePattern] = [], sortsQuery: Bool = false, fields: [String] = [],
    normalizes: [NegotiationField] = []
  ) {
    self.ignoredQuery = ignoredQuery
    self.sortsQuery = sortsQuery
    self.fields = fields.map { $0.utf8.map(\.asciiLowercased) }
    self.normalizes = normalizes
  }

  /// Whether the rules change nothing, so that nobody need apply them.
  public var isPlain: Bool { ignoredQuery.isEmpty && !sortsQuery && fields.isEmpty && normalizes.isEmpty }

  /// The query as it is keyed and sent on; nil where there is none, or where each of its parameters is ignored.
  ///
  /// What stays is byte for byte what came, in groups between `&`. Parameters of one name keep their order.
  public func query(_ query: ArraySlice<UInt8>?) -> [UInt8]? {
    guard let query else { return nil }
    guard !ignoredQuery.isEmpty || sortsQuery else { return Array(query) }
    var parts = query.split(separator: 0x26, omittingEmptySubsequences: false).map(Parameter.init)
    parts.removeAll { part in ignoredQuery.contains { $0.matches(part.name) } }
    if sortsQuery { parts.sort { $0.name.lexicographicallyPrecedes($1.name) } }
    guard !parts.isEmpty else { return nil }
    return Array(parts.map(\.bytes).joined(separator: [0x26]))
  }

  /// Appends the values of the keyed fields, each marked as present or not, in the form in which Vary compares them.
  public func appendFields(of request: Fields, onto key: inout [UInt8]) {
    for name in fields {
      var value: [UInt8] = []
      let isPresent = SelectingValue.forEachByte(
        of: request, isNamed: { request.name(of: $0).equalsIgnoringCase(name) },
        { byte in
          value.append(byte)
          return true
        })
      key.append(isPresent ? 1 : 0)
      if isPresent { CacheKey.append(component: value, onto: &key) }
    }
  }

  /// One group of a query.
  private struct Parameter {
    let bytes: ArraySlice<UInt8>
    let name: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
      self.bytes = bytes
      name = bytes.prefix { $0 != 0x3D }
    }
  }
}

// What a response's Cache-Control says (RFC 9111 section 5.2.2, RFC 5861). Where a directive is doubtful, the
// reading that stores or reuses less is taken: a broken permission is none, a broken prohibition still holds.

public import RegentHTTP

/// A response's Cache-Control directives.
public struct ResponseDirectives: Sendable, Equatable {
  /// The directives without a value that matters.
  public struct Flags: OptionSet, Sendable, Equatable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let noStore = Flags(rawValue: 1 << 0)
    /// Without field names: the whole response.
    public static let noCache = Flags(rawValue: 1 << 1)
    /// `no-cache="…"`: only the named fields (section 5.2.2.4).
    public static let noCacheFields = Flags(rawValue: 1 << 2)
    /// Without field names: the whole response.
    public static let `private` = Flags(rawValue: 1 << 3)
    /// `private="…"`: only the named fields (section 5.2.2.7).
    public static let privateFields = Flags(rawValue: 1 << 4)
    public static let `public` = Flags(rawValue: 1 << 5)
    public static let mustRevalidate = Flags(rawValue: 1 << 6)
    public static let proxyRevalidate = Flags(rawValue: 1 << 7)
    public static let mustUnderstand = Flags(rawValue: 1 << 8)
  }

  public private(set) var flags: Flags = []
  public private(set) var maxAge = DeltaSeconds.absent
  public private(set) var sharedMaxAge = DeltaSeconds.absent
  public private(set) var staleWhileRevalidate = DeltaSeconds.absent
  public private(set) var staleIfError = DeltaSeconds.absent

  public init(_ fields: Fields) {
    guard fields.contains(.cacheControl) else { return }
    for line in fields.lines where line.name == .cacheControl {
      var scanner = DirectiveScanner(fields.bytes, line.valueRange)
      while let directive = scanner.next() { take(directive, fields.bytes) }
    }
  }

  private mutating func take(_ directive: Directive, _ bytes: [UInt8]) {
    let name = directive.name
    switch name.count {
    case 7:
      if bytes.has(name, "max-age") { maxAge.merge(.init(directive, bytes)) }
      if bytes.has(name, "private") { takeNames(directive, bytes, all: .private, some: .privateFields) }
    case 8:
      if bytes.has(name, "s-maxage") { sharedMaxAge.merge(.init(directive, bytes)) }
      if bytes.has(name, "no-store") { flags.insert(.noStore) }
      if bytes.has(name, "no-cache") { takeNames(directive, bytes, all: .noCache, some: .noCacheFields) }
    case 6: if bytes.has(name, "public") { permit(.public, directive) }
    case 15:
      if bytes.has(name, "must-revalidate") { flags.insert(.mustRevalidate) }
      if bytes.has(name, "must-understand") { permit(.mustUnderstand, directive) }
    case 16: if bytes.has(name, "proxy-revalidate") { flags.insert(.proxyRevalidate) }
    case 22:
      if bytes.has(name, "stale-while-revalidate") { staleWhileRevalidate.merge(.init(directive, bytes)) }
    case 14: if bytes.has(name, "stale-if-error") { staleIfError.merge(.init(directive, bytes)) }
    default: break
    }
  }

  private mutating func permit(_ flag: Flags, _ directive: Directive) {
    if directive.argument == nil, !directive.isMalformed { flags.insert(flag) }
  }

  private mutating func takeNames(_ directive: Directive, _ bytes: [UInt8], all: Flags, some: Flags) {
    let isList =
      !directive.isMalformed && directive.argument.map { FieldNameList.isValid(bytes, $0) } ?? false
    flags.insert(isList ? some : all)
  }
}

extension DeltaSeconds {
  /// The argument of a directive; both token and quoted-string are read (RFC 9111 section 5.2).
  init(_ directive: Directive, _ bytes: [UInt8]) {
    guard let argument = directive.argument, !directive.isMalformed else {
      self = .invalid
      return
    }
    self = .parse(bytes, argument)
  }
}

/// The names in `no-cache="…"` and `private="…"`.
enum FieldNameList {
  /// Whether there is at least one name and nothing else.
  static func isValid(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    var some = false
    var scanner = DirectiveScanner(bytes, range)
    while let member = scanner.next() {
      guard member.argument == nil, !member.isMalformed, bytes.hasToken(member.name)
      else { return false }
      some = true
    }
    return some
  }
}

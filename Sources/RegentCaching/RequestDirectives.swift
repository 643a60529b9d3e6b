// What a request's Cache-Control, or in its absence Pragma, asks for (RFC 9111 sections 5.2.1 and 5.4).
// A restriction that cannot be read restricts fully; a permission that cannot be read permits nothing.

public import RegentHTTP

/// A request's caching directives: a few bytes, nearly free where the request has none.
public struct RequestDirectives: Sendable, Equatable {
  /// `no-cache`, or Pragma's: validate before reuse.
  public var noCache: Bool
  /// `no-store`: keep nothing of this exchange.
  public var noStore: Bool
  /// `only-if-cached`: a stored response or 504 (section 5.2.1.7).
  public var onlyIfCached: Bool
  /// The greatest age that the client accepts.
  public var maxAge: Int32?
  /// How long the response must stay fresh.
  public var minFresh: Int32?
  /// By how much the freshness may be exceeded; Int32.max without an argument.
  public var maxStale: Int32?
  /// By how much it may be exceeded when the origin fails (RFC 5861 section 4).
  public var staleIfError: Int32?

  /// A request without directives.
  @inlinable
  public static var none: RequestDirectives { RequestDirectives() }

  // Each is set here and not where it is declared, so that callers in other modules inline the whole.
  @inlinable
  init() {
    noCache = false
    noStore = false
    onlyIfCached = false
    maxAge = nil
    minFresh = nil
    maxStale = nil
    staleIfError = nil
  }

  /// Reads the request's fields.
  @inlinable
  public init(_ fields: borrowing Fields) {
    self.init()
    if fields.contains(.cacheControl) || fields.contains(.pragma) { take(fields) }
  }

  @usableFromInline
  mutating func take(_ fields: Fields) {
    if fields.contains(.cacheControl) {
      takeCacheControl(fields)
    } else if fields.contains(.pragma) {
      takePragma(fields)
    }
  }

  private mutating func takeCacheControl(_ fields: Fields) {
    var values = Values()
    for line in fields.lines where line.name == .cacheControl {
      var scanner = DirectiveScanner(fields.bytes, line.valueRange)
      while let directive = scanner.next() { take(directive, fields.bytes, &values) }
    }
    maxAge = values.maxAge.isPresent ? values.maxAge.value ?? 0 : nil
    minFresh = values.minFresh.isPresent ? values.minFresh.value ?? .max : nil
    maxStale = values.maxStale.value
    staleIfError = values.staleIfError.value
  }

  private struct Values {
    var maxAge = DeltaSeconds.absent
    var minFresh = DeltaSeconds.absent
    var maxStale = DeltaSeconds.absent
    var staleIfError = DeltaSeconds.absent
  }

  private mutating func take(_ directive: Directive, _ bytes: [UInt8], _ values: inout Values) {
    let name = directive.name
    if bytes.has(name, "no-cache") {
      noCache = true
    } else if bytes.has(name, "no-store") {
      noStore = true
    } else if bytes.has(name, "only-if-cached") {
      onlyIfCached = true
    } else if bytes.has(name, "max-age") {
      values.maxAge.merge(.init(directive, bytes))
    } else if bytes.has(name, "min-fresh") {
      values.minFresh.merge(.init(directive, bytes))
    } else if bytes.has(name, "stale-if-error") {
      values.staleIfError.merge(.init(directive, bytes))
    } else if bytes.has(name, "max-stale") {
      let isBare = directive.argument == nil && !directive.isMalformed
      values.maxStale.merge(isBare ? .seconds(.max) : .init(directive, bytes))
    }
  }

  private mutating func takePragma(_ fields: Fields) {
    for line in fields.lines where line.name == .pragma {
      var scanner = DirectiveScanner(fields.bytes, line.valueRange)
      while let directive = scanner.next() {
        if fields.bytes.has(directive.name, "no-cache") { noCache = true }
      }
    }
  }
}

// What a response says of its caching (RFC 9111 section 5.2.2, RFC 5861): in a field that is meant for caches such
// as this one (RFC 9213), or else in Cache-Control. Where a directive is doubtful, the reading that stores or
// reuses less is taken: a broken permission is none, a broken prohibition still holds.

public import RegentHTTP

/// A response's cache directives.
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
  /// The field that the directives come from. If it is a targeted one, Expires and Pragma count for nothing
  /// beside Cache-Control (RFC 9213 section 2.2).
  public private(set) var source = FieldName.cacheControl

  /// Whether the directives come from a field for caches such as this one.
  public var isTargeted: Bool { source != .cacheControl }

  // Borrowing, as wherever a head is made into something: an initializer is else given a copy.
  public init(_ fields: borrowing Fields) {
    if Self.haveTarget(fields), let targeted = Self.targeted(fields) {
      self = targeted
      return
    }
    guard fields.contains(.cacheControl) else { return }
    for line in fields.lines where line.name == .cacheControl {
      var scanner = DirectiveScanner(fields.bytes, line.valueRange)
      while let directive = scanner.next() { take(directive, fields.bytes) }
    }
  }

  /// The field that a response's directives come from.
  static func source(of fields: Fields) -> FieldName {
    haveTarget(fields) ? ResponseDirectives(fields).source : .cacheControl
  }

  private static func targeted(_ fields: Fields) -> ResponseDirectives? {
    for name in targets where fields.contains(name) {
      guard let dictionary = StructuredDictionary(fields, name), !dictionary.members.isEmpty else { continue }
      if let targeted = ResponseDirectives(dictionary, of: name) { return targeted }
    }
    return nil
  }

  /// The target list of RFC 9213 section 2.2: the first of these that is valid and not empty counts alone.
  private static let targets: [FieldName] = [.regentCacheControl, .cdnCacheControl]

  private static func haveTarget(_ fields: borrowing Fields) -> Bool {
    fields.contains(.regentCacheControl) || fields.contains(.cdnCacheControl)
  }
}

// Cache-Control (RFC 9111 section 5.2).
extension ResponseDirectives {
  private mutating func take(_ directive: Directive, _ bytes: [UInt8]) {
    let name = directive.name
    if let number = Self.number(bytes, name) {
      self[number].merge(.init(directive, bytes))
    } else if let prohibition = Self.prohibition(bytes, name) {
      flags.insert(prohibition)
    } else if let permission = Self.permission(bytes, name) {
      if directive.argument == nil, !directive.isMalformed { flags.insert(permission) }
    } else if let (all, some) = Self.named(bytes, name) {
      let names = directive.isMalformed ? nil : directive.argument
      flags.insert(names.map { FieldNameList.isValid(bytes, $0) } ?? false ? some : all)
    }
  }
}

// Targeted fields (RFC 9213 section 2.1).
extension ResponseDirectives {
  /// Nil where a directive's value is of another type than section 2.1 infers for it: such a field is ignored.
  private init?(_ dictionary: StructuredDictionary, of field: FieldName) {
    source = field
    for member in dictionary.members where !take(member, dictionary.bytes) { return nil }
  }

  private mutating func take(_ member: StructuredDictionary.Member, _ bytes: [UInt8]) -> Bool {
    let name = member.key
    if let number = Self.number(bytes, name) {
      guard case .integer(let seconds) = member.value else { return false }
      // Of two members with one key the last one counts: that is the rule of dictionaries.
      self[number] = seconds < 0 ? .invalid : .seconds(Int32(clamping: seconds))
    } else if let prohibition = Self.prohibition(bytes, name) {
      flags.insert(prohibition)
    } else if let permission = Self.permission(bytes, name) {
      if member.value == .boolean(true) { flags.insert(permission) }
    } else if let (all, some) = Self.named(bytes, name) {
      switch member.value {
      case .string(let names) where FieldNameList.isValid(bytes, names): flags.insert(some)
      case .token(let names) where FieldNameList.isValid(bytes, names): flags.insert(some)
      default: flags.insert(all)
      }
    }
    return true
  }
}

// The directives by name. What is in none of the four lists is ignored (RFC 9111 section 5.2.3).
extension ResponseDirectives {
  private enum Number { case maxAge, sharedMaxAge, staleWhileRevalidate, staleIfError }

  private static func number(_ bytes: [UInt8], _ name: Range<Int>) -> Number? {
    switch name.count {
    case 7: bytes.has(name, "max-age") ? .maxAge : nil
    case 8: bytes.has(name, "s-maxage") ? .sharedMaxAge : nil
    case 14: bytes.has(name, "stale-if-error") ? .staleIfError : nil
    case 22: bytes.has(name, "stale-while-revalidate") ? .staleWhileRevalidate : nil
    default: nil
    }
  }

  private subscript(number: Number) -> DeltaSeconds {
    get {
      switch number {
      case .maxAge: maxAge
      case .sharedMaxAge: sharedMaxAge
      case .staleWhileRevalidate: staleWhileRevalidate
      case .staleIfError: staleIfError
      }
    }
    set {
      switch number {
      case .maxAge: maxAge = newValue
      case .sharedMaxAge: sharedMaxAge = newValue
      case .staleWhileRevalidate: staleWhileRevalidate = newValue
      case .staleIfError: staleIfError = newValue
      }
    }
  }

  private static func prohibition(_ bytes: [UInt8], _ name: Range<Int>) -> Flags? {
    switch name.count {
    case 8: bytes.has(name, "no-store") ? .noStore : nil
    case 15: bytes.has(name, "must-revalidate") ? .mustRevalidate : nil
    case 16: bytes.has(name, "proxy-revalidate") ? .proxyRevalidate : nil
    default: nil
    }
  }

  private static func permission(_ bytes: [UInt8], _ name: Range<Int>) -> Flags? {
    switch name.count {
    case 6: bytes.has(name, "public") ? .public : nil
    case 15: bytes.has(name, "must-understand") ? .mustUnderstand : nil
    default: nil
    }
  }

  /// What it means for the whole response, and what for the fields that it names.
  private static func named(_ bytes: [UInt8], _ name: Range<Int>) -> (all: Flags, some: Flags)? {
    switch name.count {
    case 7: bytes.has(name, "private") ? (.private, .privateFields) : nil
    case 8: bytes.has(name, "no-cache") ? (.noCache, .noCacheFields) : nil
    default: nil
    }
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

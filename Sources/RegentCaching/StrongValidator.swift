// What identifies a representation byte for byte (RFC 9110 section 8.8): a strong entity tag, or a Last-Modified that
// is old enough to be strong. Only this may join parts of a response, or let an If-Range hold.

public import RegentHTTP

/// A strong validator, as it stands in its field.
public enum StrongValidator: Sendable, Equatable {
  case etag([UInt8])
  case lastModified([UInt8])

  /// The strong validator of a response; nil where it has none, or a weak one.
  ///
  /// - Parameter date: The response's Date, in seconds since 1970.
  public init?(_ fields: Fields, date: Int64) {
    if let value = fields.first(.etag) {
      // A weak tag is not made up for by a date: who has a tag must not ask by date (section 13.1.5).
      guard let tag = EntityTag(value.span), !tag.isWeak else { return nil }
      self = .etag(Array(value))
    } else {
      guard let value = fields.first(.lastModified), Self.strongDate(value, date: date) != nil else {
        return nil
      }
      self = .lastModified(Array(value))
    }
  }

  /// The value for If-Range.
  public var value: [UInt8] {
    switch self {
    case .etag(let value), .lastModified(let value): value
    }
  }

  /// The time of a Last-Modified that is strong, being at least a second before Date (section 8.8.2.2).
  static func strongDate(_ value: ArraySlice<UInt8>, date: Int64) -> Int64? {
    guard let modified = HTTPDate.parse(value, now: date), Seconds.difference(date, modified) >= 1 else {
      return nil
    }
    return modified
  }
}

/// RFC 9110 section 13.1.5.
public enum IfRange {
  /// Whether the request's Range counts for a representation with these fields: without If-Range, or where it names the
  /// very same representation.
  public static func holds(_ request: Fields, for fields: Fields, date: Int64) -> Bool {
    guard request.contains(.ifRange) else { return true }
    let values = request.all(.ifRange)
    guard values.count == 1, let asked = values.first else { return false }
    if let tag = EntityTag(asked.span) {
      guard !tag.isWeak, case .etag(let own)? = StrongValidator(fields, date: date) else { return false }
      return asked.elementsEqual(own)
    }
    guard let since = HTTPDate.parse(asked, now: date), let modified = fields.first(.lastModified) else {
      return false
    }
    return StrongValidator.strongDate(modified, date: date) == since
  }
}

// RFC 9111 sections 4.3.4 and 3.2: a 304 renews the stored response's fields. A 304 that is about another
// representation renews nothing, and what a chain of them can add is bounded.

public import RegentHTTP

extension Validation {
  /// The stored fields as a 304 leaves them; nil where it does not speak of this response, or where the result
  /// would exceed the limit: then the response must be fetched anew.
  ///
  /// Date and Age are not among the fields; ``StoredMetadata`` takes them from the 304.
  ///
  /// - Parameter limit: The most bytes of names and values together.
  public static func freshened(
    stored: Fields, by notModified: Fields, limit: Int = 32 << 10
  ) -> Fields? {
    guard speaks(notModified, of: stored) else { return nil }
    let exclusions = StoredFields.Exclusions(notModified)
    let update = notModified.lines.filter { updates($0, notModified, exclusions) }
    var known = FieldNameSet()
    for line in update { known.insert(line.name) }
    var result = Fields()
    for line in stored.lines where !isReplaced(line, stored, by: update, notModified, known) {
      result.append(line, of: stored)
    }
    for line in update { result.append(line, of: notModified) }
    return result.bytes.count <= limit ? result : nil
  }

  /// Whether the 304's validators are those of the stored response (section 4.3.4).
  private static func speaks(_ notModified: Fields, of stored: Fields) -> Bool {
    if let new = notModified.first(.etag) {
      // Origins that forget the quotes still give the same bytes twice.
      if stored.first(.etag) == new { return true }
      guard let old = stored.first(.etag), let newTag = EntityTag(new.span), let oldTag = EntityTag(old.span)
      else { return false }
      // A strong validator identifies; it does not speak of a representation known by a weak one.
      return (newTag.isWeak || !oldTag.isWeak) && EntityTag.sameOpaque(new.span, newTag, old.span, oldTag)
    }
    guard let new = notModified.first(.lastModified) else { return true }
    return stored.first(.lastModified).map { $0 == new } ?? false
  }

  /// Whether a line of a 304 changes the stored response (section 3.2): not what is never stored, and not
  /// what describes the content that is already here.
  private static func updates(
    _ line: FieldLine, _ fields: Fields, _ exclusions: StoredFields.Exclusions
  ) -> Bool {
    switch line.name {
    case .contentEncoding, .contentRange, .contentLength, .contentDigest, .reprDigest: false
    default: !exclusions.contain(line, fields)
    }
  }

  private static func isReplaced(
    _ line: FieldLine, _ stored: Fields, by update: [FieldLine], _ notModified: Fields,
    _ known: FieldNameSet
  ) -> Bool {
    guard line.name == .other else { return known.contains(line.name) }
    return known.contains(.other)
      && update.contains {
        $0.name == .other && notModified.bytes.has($0.nameRange, sameAs: stored.bytes, line.nameRange)
      }
  }
}

extension Fields {
  /// Adds a line of other fields.
  mutating func append(_ line: FieldLine, of other: Fields) {
    if line.name == .other {
      append(named: other.name(of: line), other.value(of: line))
    } else {
      append(line.name, other.value(of: line))
    }
  }
}

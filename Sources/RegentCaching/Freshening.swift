// RFC 9111 sections 4.3.4, 4.3.5 and 3.2: a 304, or the answer to a HEAD, renews the stored response's fields. One that
// is about another representation renews nothing, and what a chain of them can add is bounded.

public import RegentHTTP

extension Validation {
  /// The stored fields as a 304 leaves them; nil where it does not speak of this response, or where the result
  /// would exceed the limit: then the response must be fetched anew.
  ///
  /// Date and Age are not among the fields; ``StoredMetadata`` takes them from the 304.
  ///
  /// - Parameters:
  ///   - limit: The most bytes of names and values together.
  public static func freshened(
    stored: Fields, by notModified: Fields, limit: Int = 32 << 10
  ) -> Fields? {
    speaks(notModified, of: stored) ? updated(stored, by: notModified, limit: limit) : nil
  }

  /// Whether a 304 with a strong tag, to a question about one weak tag that is spelled alike, says that this stored
  /// response may answer. It must not change what is stored (section 4.3.4), and says nothing against it: origins
  /// that compress what they send weaken its tag, and forget to do so in a 304, which has nothing to compress.
  public static func permitsOnce(stored: Fields, by notModified: Fields) -> Bool {
    guard let new = notModified.first(.etag), let old = stored.first(.etag), let newTag = EntityTag(new.span),
      let oldTag = EntityTag(old.span)
    else { return false }
    return oldTag.isWeak && !newTag.isWeak && EntityTag.sameOpaque(new.span, newTag, old.span, oldTag)
  }

  /// The stored fields as a 200 to a HEAD leaves them (section 4.3.5); nil where it does not speak of this response,
  /// which then is no answer any more, or where the result would exceed the limit.
  ///
  /// - Parameter contentLength: The length of the stored content in bytes.
  public static func freshened(
    stored: Fields, contentLength: Int, byHead head: Fields, limit: Int = 32 << 10
  ) -> Fields? {
    let validators: [FieldName] = [.etag, .lastModified]
    for name in validators where head.contains(name) && head.first(name) != stored.first(name) { return nil }
    // The metadata of another coding do not fit this content, whatever the validators forget to say.
    guard head.all(.contentEncoding) == stored.all(.contentEncoding) else { return nil }
    if let length = head.first(.contentLength), Decimal.parse(length) != contentLength { return nil }
    return updated(stored, by: head, limit: limit)
  }

  private static func updated(_ stored: Fields, by message: Fields, limit: Int) -> Fields? {
    let exclusions = StoredFields.Exclusions(message)
    let update = message.lines.filter { updates($0, message, exclusions) }
    var known = FieldNameSet()
    for line in update { known.insert(line.name) }
    var result = Fields()
    for line in stored.lines where !isReplaced(line, stored, by: update, message, known) {
      result.append(line, of: stored)
    }
    for line in update { result.append(line, of: message) }
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

  /// Whether a line of a message changes the stored response (section 3.2): not what is never stored, and not
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

// RFC 9111 section 4.3: asking the origin whether a stored response still holds, and answering a client that
// asks the same of us. What a 304 changes is in Freshening.swift.

public import RegentHTTP

/// Conditional requests, ours and the client's.
public enum Validation {
  /// Adds If-None-Match and If-Modified-Since with the stored response's validators (section 4.3.1).
  ///
  /// - Returns: Whether there was a validator to add.
  @discardableResult
  public static func addConditions(from stored: Fields, to request: inout Fields) -> Bool {
    let etag = stored.first(.etag)
    let modified = stored.first(.lastModified)
    if let etag { request.append(.ifNoneMatch, etag) }
    if let modified { request.append(.ifModifiedSince, modified) }
    return etag != nil || modified != nil
  }

  /// The most bytes of If-None-Match with which the origin is asked to choose among variants.
  static let maximumSelection = 2048

  /// Adds If-None-Match with the tags of stored responses none of which the request selects: the origin may say with a
  /// 304 that one of them is the answer (section 4.3.1).
  ///
  /// Tags that are malformed are left out, and what is too much.
  ///
  /// - Returns: Whether there was a tag to add.
  public static func addSelection(among stored: some Sequence<Fields>, to request: inout Fields) -> Bool {
    var list: [UInt8] = []
    var known: Set<[UInt8]> = []
    for fields in stored {
      guard let value = fields.first(.etag), EntityTag(value.span) != nil else { continue }
      guard list.count + value.count + 2 <= maximumSelection, known.insert(Array(value)).inserted else {
        continue
      }
      if !list.isEmpty { list += [.comma, 0x20] }
      list += value
    }
    return !list.isEmpty && request.append(.ifNoneMatch, list)
  }

  /// Which of several stored responses a 304 is about (section 4.3.4); nil where it does not say.
  ///
  /// A strong tag names its response. A weak one, which the 304 may have without naming the body byte for byte, names
  /// the most recent of those that have it. Without a tag it is the only one with the 304's Last-Modified.
  ///
  /// - Parameter stored: Most recent first.
  public static func selected(among stored: [Fields], by notModified: Fields) -> Int? {
    if let tag = notModified.first(.etag) {
      guard let new = EntityTag(tag.span) else { return nil }
      return stored.firstIndex { fields in
        guard let value = fields.first(.etag), let old = EntityTag(value.span) else { return false }
        return (new.isWeak || !old.isWeak) && EntityTag.sameOpaque(tag.span, new, value.span, old)
      }
    }
    guard let modified = notModified.first(.lastModified) else { return nil }
    let dated = stored.indices.filter { stored[$0].first(.lastModified) == modified }
    return dated.count == 1 ? dated[0] : nil
  }

  /// Whether a client's conditions are met by the stored response, so that 304 is the answer (section 4.3.2).
  ///
  /// If-None-Match counts alone where it is present; a date that cannot be read counts for nothing.
  /// Conditions apply to a stored 200 only; its Date takes the place of a missing Last-Modified.
  ///
  /// - Parameters:
  ///   - etag: The stored ETag's value; empty where there is none.
  ///   - lastModified: The stored Last-Modified's value; empty where there is none.
  public static func answersNotModified(
    requestFields: Fields, stored: StoredMetadata, etag: Span<UInt8>, lastModified: Span<UInt8>
  ) -> Bool {
    guard stored.status == 200 else { return false }
    if requestFields.contains(.ifNoneMatch) { return names(requestFields, etag) }
    guard requestFields.contains(.ifModifiedSince) else { return false }
    return isUnmodified(requestFields, lastModified, date: stored.date)
  }

  private static func names(_ request: Fields, _ etag: Span<UInt8>) -> Bool {
    let bytes = request.bytes
    for line in request.lines where line.name == .ifNoneMatch {
      if EntityTag.list(bytes.span, line.valueRange, contains: etag) { return true }
    }
    return false
  }

  private static func isUnmodified(_ request: Fields, _ lastModified: Span<UInt8>, date: Int64) -> Bool {
    var only: FieldLine?
    for line in request.lines where line.name == .ifModifiedSince {
      guard only == nil else { return false }
      only = line
    }
    guard let only, let since = HTTPDate.parse(request.value(of: only), now: date) else { return false }
    guard lastModified.count > 0 else { return date <= since }
    // Clients give back what they were given: the same bytes are the same date.
    if isSame(request.bytes, only.valueRange, lastModified) { return true }
    var copy: [UInt8] = []
    for index in lastModified.indices { copy.append(lastModified[index]) }
    return HTTPDate.parse(copy[...], now: date).map { $0 <= since } ?? false
  }

  private static func isSame(_ bytes: [UInt8], _ range: Range<Int>, _ other: Span<UInt8>) -> Bool {
    guard range.count == other.count else { return false }
    for offset in 0..<range.count where bytes[range.lowerBound + offset] != other[offset] { return false }
    return true
  }
}

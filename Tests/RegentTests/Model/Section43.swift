// RFC 9111 section 4.3 in the reference model: what a 304 speaks of and what it changes, and when a client gets one.

extension Model {
  /// Section 4.3.4: whether a 304 identifies this stored response. One without validators says nothing against it.
  func identifies(_ notModified: Lines, _ stored: Lines) -> Bool {
    if let tag = notModified.first("etag") {
      guard let other = stored.first("etag") else { return false }
      return tag == other || tag.hasPrefix("W/") && opaque(tag) == opaque(other)
    }
    if let modified = notModified.first("last-modified") { return modified == stored.first("last-modified") }
    return true
  }

  /// The editions that a 304 lets answer this once and must not change: by section 13.1.2 of RFC 9110 the origin has
  /// said that they are current, by section 4.3.4 its strong tag is none of theirs.
  func confirmedOnce(_ entry: Entry, _ message: Told, _ request: Asked) -> [Edition] {
    entry.editions.filter { suitable(entry, $0, request) == nil && confirmsWeakly(message, $0.fields) }
  }

  /// Whether it is strong where the weak tag that is spelled alike is stored and was the only one asked about.
  func confirmsWeakly(_ message: Told, _ stored: Lines) -> Bool {
    guard let tag = message.fields.first("etag"), let other = stored.first("etag") else { return false }
    return other.hasPrefix("W/") && tag == opaque(other)
      && message.asked.fields.values("if-none-match") == [other]
  }

  private func opaque(_ tag: String) -> String { tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag }

  /// Section 3.2: the stored fields with those of a newer message.
  func updated(_ stored: Lines, by newer: Lines) -> Lines {
    let exempt = section31(newer).union(["content-length", "content-encoding", "content-range"])
    var result = Lines()
    for (name, value) in stored.all where exempt.contains(name) || !newer.has(name) {
      result.add(name, value)
    }
    for (name, value) in newer.all where !exempt.contains(name) { result.add(name, value) }
    return result
  }

  /// Section 3.1: the names of the fields that are not stored.
  func section31(_ fields: Lines) -> Set<String> {
    let cacheControl = directives(fields)
    return Set([
      "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ])
    .union(members(of: fields.values("connection")).map { $0.lowercased() })
    .union(cacheControl.fields(of: "private"))
  }

  /// Section 4.3.2: whether the client's condition holds for a 200 with these fields, so that 304 is the answer.
  func section432(_ request: Asked, _ edition: Edition) -> Bool {
    guard ["GET", "HEAD"].contains(request.method), [200, 206].contains(edition.status) else { return false }
    if request.fields.has("if-none-match") {
      let tags = members(of: request.fields.values("if-none-match"))
      if tags == ["*"] { return true }
      guard let tag = edition.fields.first("etag") else { return false }
      return tags.contains { opaque($0) == opaque(tag) }
    }
    guard let since = request.fields.first("if-modified-since").flatMap({ dates[$0] }) else { return false }
    if let modified = edition.fields.first("last-modified") {
      return dates[modified].map { $0 <= since } ?? false
    }
    return date(edition) <= since
  }
}

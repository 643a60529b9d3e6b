// The reference model: what a shared cache may hold, as the messages that it saw say, and whether an answer is allowed.
// Slow and obvious on purpose. It does not foretell what Regent does; it says what RFC 9111 forbids it to do.

/// What a cache in front of the origin may know.
final class Model {
  let rules: Rules
  /// Every date that was ever written, by its text: what is not among them is no date.
  var dates: [String: Int64] = [:]
  var entries: [Int: Entry] = [:]
  var exchanges = 0
  private var read: [String: Directives] = [:]

  init(_ rules: Rules) { self.rules = rules }

  /// Cache-Control, read once for each text.
  func directives(_ fields: Lines) -> Directives {
    let text = fields.values("cache-control").joined(separator: ",")
    if let known = read[text] { return known }
    let directives = Directives(fields)
    read[text] = directives
    return directives
  }

  /// The origin's messages of an exchange, after the answer to it was judged.
  func learn(_ messages: [Told], from request: Asked, about served: Int?) {
    for message in messages where message.status != nil { learn(message, request, served) }
  }

  private func learn(_ message: Told, _ request: Asked, _ served: Int?) {
    guard let status = message.status else { return }
    invalidate(message, request, status)
    if status == 304, message.isConditional {
      if let served { return confirm(served, message, request) }
      // A 416 does not say of which response it is: it may be any of them.
      for serial in entries.keys where entries[serial]?.target == request.target {
        let old = entries[serial]?.editions ?? []
        confirm(serial, message, request)
        entries[serial]?.editions += old
      }
      return
    }
    if request.method == "HEAD", status == 200 { freshen(message, request) }
    guard let serial = message.serial else { return }
    let edition = message.edition(status, request)
    entries[serial] = Entry(
      serial: serial, target: request.target, body: message.body, whole: message.whole,
      editions: ([edition] + combined(edition, request.target)).map(kept), arrival: exchanges)
  }

  /// Section 3.1: what of a response is stored.
  private func kept(_ edition: Edition) -> Edition {
    var edition = edition
    let never = section31(edition.fields)
    edition.fields.all.removeAll { never.contains($0.name) }
    edition.optional.formUnion(directives(edition.fields).fields(of: "no-cache"))
    return edition
  }

  /// Section 4.4, for the target and for what Location and Content-Location name.
  private func invalidate(_ message: Told, _ request: Asked, _ status: Int) {
    guard !["GET", "HEAD", "OPTIONS", "REPORT"].contains(request.method), (200..<400).contains(status) else {
      return
    }
    let origin = "http://example.org"
    let named = message.fields.values("location") + message.fields.values("content-location")
    let targets = named.map { $0.hasPrefix(origin + "/") ? String($0.dropFirst(origin.count)) : $0 }
    for target in targets + [request.target] {
      for serial in entries.keys where entries[serial]?.target == target { entries[serial]?.editions = [] }
    }
  }

  /// Section 4.3.4: the stored response goes on with the 304's fields, and not without them.
  private func confirm(_ serial: Int, _ message: Told, _ request: Asked) {
    guard let entry = entries[serial] else { return }
    let identified = confirmed(entry, message, request).map { edition in
      var edition = edition
      let never = section31(edition.fields)
      edition.fields.all.removeAll { never.contains($0.name) }
      return edition
    }
    guard !identified.isEmpty else { return }
    // Sections 3.5 and 5.2.1.5: nothing of an answer to such a request is stored, not even its fields.
    let isUnstored =
      directives(request.fields).has("no-store")
      || request.fields.has("authorization") && identified.allSatisfy { section3($0) != nil }
    // What was not among those that could be chosen, but a variant by its tag, goes on for its own requests as it was.
    let isVariant = entry.editions.contains { suitable(entry, $0, request) != nil }
    let mayStay = isUnstored || isVariant
    entries[serial]?.editions = mayStay ? entry.editions + identified : identified
    entries[serial]?.arrival = exchanges
  }

  /// The editions that a 304 identifies, with its fields.
  func confirmed(_ entry: Entry, _ message: Told, _ request: Asked) -> [Edition] {
    entry.editions.filter {
      isAsked(message, entry, $0, request) && identifies(message.fields, $0.fields)
    }.map {
      var edition = $0
      edition.fields = updated($0.fields, by: message.fields)
      edition.optional.subtract(message.fields.names.subtracting(section31(message.fields)))
      edition.optional.formUnion(directives(edition.fields).fields(of: "no-cache"))
      edition.message = message.fields
      edition.requestTime = message.requestTime
      edition.responseTime = message.responseTime
      edition.selectors = directives(request.fields).has("no-store") ? [request] : $0.selectors + [request]
      return edition
    }
  }

  /// Whether the question could be about this edition: it could be chosen, or, section 4.1, it is a variant by its tag.
  private func isAsked(_ message: Told, _ entry: Entry, _ edition: Edition, _ request: Asked) -> Bool {
    if suitable(entry, edition, request) == nil { return true }
    guard let tag = edition.fields.first("etag"), entry.target == request.target, section3(edition) == nil
    else {
      return false
    }
    let tags = members(of: message.asked.fields.values("if-none-match"))
    // Without a tag of its own, the 304 to a question about one tag is about that one.
    return tags.contains(tag) && (tags.count == 1 || message.fields.has("etag"))
  }

  /// Section 4.3.5: a HEAD may freshen what a GET brought.
  private func freshen(_ message: Told, _ request: Asked) {
    for (serial, entry) in entries where entry.target == request.target {
      for edition in entry.editions where suitable(entry, edition, request) == nil {
        let agree = ["etag", "last-modified"].allSatisfy {
          !message.fields.has($0) || message.fields.first($0) == edition.fields.first($0)
        }
        guard agree else { continue }
        var newer = message.edition(edition.status, request)
        newer.fields = updated(edition.fields, by: message.fields)
        newer.selectors = edition.selectors
        newer.optional = edition.optional.union(directives(newer.fields).fields(of: "no-cache"))
        entries[serial]?.editions.append(newer)
      }
    }
  }
}

/// One message of the origin, or its silence.
struct Told: Sendable {
  /// The question as it came to the origin.
  var asked: Asked
  /// Nil where the origin could not be reached.
  var status: Int?
  var fields = Lines()
  var body = ""
  /// The whole content that the body is, or is a part of.
  var whole = ""
  /// The number that a response with content of its own carries.
  var serial: Int?
  var requestTime: Int64 = 0
  var responseTime: Int64 = 0

  var isConditional: Bool { asked.fields.has("if-none-match") || asked.fields.has("if-modified-since") }

  func edition(_ status: Int, _ request: Asked) -> Edition {
    Edition(
      status: status, fields: fields, message: fields, requestTime: requestTime, responseTime: responseTime,
      selectors: [request])
  }
}

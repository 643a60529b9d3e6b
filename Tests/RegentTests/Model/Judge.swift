// The verdict over one answer: which of the origin's messages it is made of, and whether a rule forbids that.

import RegentCaching

/// An answer as the client gets it.
struct Answer {
  var status: Int
  var fields: Lines
  var body: String
  var age: Int64?
  /// What Regent says of it, for people and for counting.
  var isStale = false
  var story: CacheStatus?

  var serial: Int? { fields.first("x-serial").flatMap { Int($0) } }
}

extension Model {
  /// Why the answer is forbidden; nil where it is not.
  ///
  /// - Parameter messages: What the origin said while the answer was made.
  func forbids(_ answer: Answer, to request: Asked, after messages: [Told], now: Int64) -> String? {
    if let reason = forbidsQuestion(messages, request) { return reason }
    if answer.status == 416, answer.serial == nil { return forbids416(answer, request) }
    guard let serial = answer.serial else { return forbidsOwn(answer, request, messages) }
    if let message = messages.last, message.serial == serial {
      return forbidsPassing(answer, message, request)
    }
    guard let entry = entries[serial] else { return "nobody ever sent number \(serial)" }
    if let message = messages.last, message.status == 304, message.isConditional {
      return forbidsConfirmed(answer, entry, message, request)
    }
    return forbidsStored(answer, entry, request, messages, now: now)
  }

  /// Section 5.2.1.7, and that every question is the client's or about a stored response.
  private func forbidsQuestion(_ messages: [Told], _ request: Asked) -> String? {
    if !messages.isEmpty, directives(request.fields).has("only-if-cached") { return "5.2.1.7: it asked" }
    for message in messages {
      if message.asked.method != request.method || message.asked.target != request.target {
        return "another question was put to the origin: \(message.asked.method) \(message.asked.target)"
      }
      let tags = message.asked.fields.values("if-none-match")
      if tags == request.fields.values("if-none-match") { continue }
      for tag in members(of: tags) where !isKnown(tag, request.target) {
        return "4.3.1: it asked about \(tag), which is not stored"
      }
    }
    return nil
  }

  private func isKnown(_ tag: String, _ target: String) -> Bool {
    entries.values.contains { entry in
      entry.target == target && entry.editions.contains { $0.fields.first("etag") == tag }
    }
  }

  /// An answer that is no response of the origin's.
  private func forbidsOwn(_ answer: Answer, _ request: Asked, _ messages: [Told]) -> String? {
    if directives(request.fields).has("only-if-cached"), answer.status == 504 { return nil }
    guard let message = messages.last else { return "an answer of its own, \(answer.status), without asking" }
    if message.status == nil, [502, 504].contains(answer.status) { return nil }
    if message.status == 304, answer.status == 304 || answer.status == 502 { return nil }
    return "an answer of its own, \(answer.status), although the origin gave \(message.status ?? 0)"
  }

  /// The origin's response on its way.
  private func forbidsPassing(_ answer: Answer, _ message: Told, _ request: Asked) -> String? {
    let edition = message.edition(message.status ?? 0, request)
    if answer.age != nil, message.status != 206 { return "5.1: an Age for what was just fetched" }
    if answer.status == 304, edition.status != 304, !edition.fields.has("last-modified"),
      !request.fields.has("if-none-match"), section3(edition) != nil
    {
      return "RFC 9110 13.1.3: there is no modification date, and nothing stored whose Date could stand in"
    }
    // Where the origin saw the client's own condition, its word is the last.
    let sawCondition = message.isConditional && message.asked.fields.conditions == request.fields.conditions
    // The Date may stand in for a modification date only where the response is stored, and need not.
    let hasValidator = request.fields.has("if-none-match") || edition.fields.has("last-modified")
    var reason: String?
    for edition in [edition] + combined(edition, request.target) {
      reason = forbidsForm(
        answer, edition, message.body, message.whole, request, isValidated: true,
        mustHold: !sawCondition && hasValidator && message.status != 206)
      if reason == nil { return nil }
    }
    return reason
  }

  /// A stored response that a 304 confirmed just now.
  private func forbidsConfirmed(
    _ answer: Answer, _ entry: Entry, _ message: Told, _ request: Asked
  ) -> String? {
    var reason = "4.3.4: the 304 does not identify number \(entry.serial)"
    for edition in confirmed(entry, message, request) + confirmedOnce(entry, message, request) {
      let age = section423(edition, now: message.responseTime)
      guard
        let why = forbidsForm(answer, edition, entry.body, entry.whole, request, isValidated: true)
          ?? forbidsAge(answer, age, tolerance: 1)
      else { return nil }
      reason = why
    }
    return reason
  }

  /// A stored response without validation.
  private func forbidsStored(
    _ answer: Answer, _ entry: Entry, _ request: Asked, _ messages: [Told], now: Int64
  ) -> String? {
    let word = word(messages)
    var reason = "4.4: number \(entry.serial) was made invalid"
    for edition in entry.editions {
      let age = section423(edition, now: now)
      guard
        let why = section4(entry, edition, request, now: now, word)
          ?? forbidsForm(answer, edition, entry.body, entry.whole, request, isValidated: false)
          ?? forbidsAge(answer, age, tolerance: 1)
      else { return nil }
      reason = why
    }
    return reason
  }

  func word(_ messages: [Told]) -> OriginWord {
    guard let message = messages.last else { return .notAsked }
    guard let status = message.status else { return .unreachable }
    return status >= 500 ? .failed(status) : .answered
  }

  private func forbidsAge(_ answer: Answer, _ age: Int64, tolerance: Int64) -> String? {
    let age = min(age, Int64(Int32.max))
    guard let sent = answer.age else { return "5.1: a stored response without Age" }
    return abs(sent - age) <= tolerance ? nil : "4.2.3: Age is \(sent) and must be \(age)"
  }

  /// Status, content and fields.
  private func forbidsForm(
    _ answer: Answer, _ edition: Edition, _ body: String, _ whole: String, _ request: Asked,
    isValidated: Bool,
    mustHold: Bool = true
  ) -> String? {
    let holds = section432(request, edition)
    if answer.status == 304 {
      if edition.status != 304, !holds { return "4.3.2: 304, but the client's condition does not hold" }
    } else {
      if holds, mustHold { return "4.3.2: the client's condition holds, but the answer is \(answer.status)" }
      if let why = forbidsContent(answer, edition, body, whole, request) { return why }
    }
    return forbidsFields(answer, edition, isValidated: isValidated)
  }

  private func forbidsContent(
    _ answer: Answer, _ edition: Edition, _ body: String, _ whole: String, _ request: Asked
  ) -> String? {
    if answer.status == 206, [200, 206].contains(edition.status) {
      return section14(answer, edition, whole, request)
    }
    // Parts may have become whole.
    let isCompleted = edition.status == 206 && answer.status == 200
    if answer.status != edition.status, !isCompleted {
      return "the status is \(answer.status), not \(edition.status)"
    }
    let expected = isCompleted ? whole : body
    return request.method == "HEAD" || answer.body == expected
      ? nil : "the content is \(answer.body), not \(expected)"
  }

  /// The fields are the edition's, but for those that are no part of it.
  private func forbidsFields(_ answer: Answer, _ edition: Edition, isValidated: Bool) -> String? {
    var unkept = section31(edition.fields).union(["age", "date", "content-length"])
    if edition.status == 206 || answer.status == 206 { unkept.formUnion(["content-range", "content-type"]) }
    let named = directives(edition.fields).fields(of: "no-cache")
    for name in answer.fields.names.union(edition.fields.names) where !unkept.contains(name) {
      let (sent, stored) = (answer.fields.values(name), edition.fields.values(name))
      if named.contains(name) {
        if !isValidated, !sent.isEmpty { return "5.2.2.4: \(name) without validation" }
        continue
      }
      if edition.optional.contains(name), sent.isEmpty { continue }
      if sent != stored { return "3.2: \(name) is \(sent) and must be \(stored)" }
    }
    let stored = section31(edition.fields).first { answer.fields.has($0) }
    return isValidated ? nil : stored.map { "3.1: \($0) was stored" }
  }
}

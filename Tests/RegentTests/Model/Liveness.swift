// The other half of the promise: what the model knows to be stored, fresh and wanted is answered without asking.
// Only plain cases: a cache that is careful where a message is odd breaks no rule.

/// The responses that a cache must know by now, by target.
struct Liveness {
  private var known: [String: (entry: Entry, edition: Edition)] = [:]
  private(set) var owed = 0

  /// The number of the response that must answer this request; nil where nothing must.
  mutating func owes(_ request: Asked, _ model: Model, now: Int64) -> Int? {
    guard let (entry, edition) = known[request.target], request.method == "GET" || request.method == "HEAD",
      model.rules.kind != "network-only", wantsNothingFresher(request, model), !request.fields.has("pragma"),
      !request.fields.has("range"), now >= edition.responseTime,
      model.remaining(edition, request.target, now: now) > 0,
      edition.selectors.allSatisfy({
        model.section4(entry, edition.only($0), request, now: now, .notAsked) == nil
      }), !model.prefersAnother(than: entry, edition, request)
    else { return nil }
    guard !isShadowed(entry, edition, request, model) else { return nil }
    owed += 1
    return entry.serial
  }

  /// Whether the request's directives (section 5.2.1) are none that what is fresh could fail to meet.
  private func wantsNothingFresher(_ request: Asked, _ model: Model) -> Bool {
    let content = ["max-stale", "only-if-cached", "no-transform", "stale-if-error"]
    return model.directives(request.fields).all.allSatisfy { content.contains($0.name) }
  }

  /// Whether the cache may choose another one that it may have: section 4.1 prefers those with Vary, section 4 the newest.
  private func isShadowed(_ known: Entry, _ edition: Edition, _ request: Asked, _ model: Model) -> Bool {
    let varies = edition.fields.has("vary")
    return model.entries.values.contains { entry in
      entry.serial != known.serial && entry.target == known.target
        && entry.editions.contains { other in
          let isPreferred =
            other.fields.has("vary") != varies ? !varies : model.date(other) >= model.date(edition)
          return isPreferred && model.suitable(entry, other, request) == nil
        }
    }
  }

  /// What the origin's messages change. Whatever came last for a target is known, if it is plain.
  mutating func learn(_ messages: [Told], _ request: Asked, _ served: Int?, _ model: Model) {
    for message in messages {
      guard let status = message.status,
        status < 500 || model.section3(message.edition(status, request)) == nil
      else { continue }
      // What an unsafe request brings may name any target.
      if request.method != "GET", request.method != "HEAD" { known = [:] }
      known[request.target] = nil
      guard let serial = message.serial ?? served, let entry = model.entries[serial],
        let edition = entry.editions.first, entry.editions.count == 1, isPlain(edition, request, model)
      else { continue }
      known[request.target] = (entry, edition)
    }
  }

  private func isPlain(_ edition: Edition, _ request: Asked, _ model: Model) -> Bool {
    let plain = [
      "max-age", "s-maxage", "public", "must-revalidate", "stale-while-revalidate", "stale-if-error",
    ]
    let directives = model.directives(edition.fields).all
    return request.method == "GET" && edition.status == 200 && !request.fields.has("authorization")
      && !model.directives(request.fields).has("no-store") && !edition.fields.has("set-cookie")
      && directives.allSatisfy { plain.contains($0.name) && !$0.isBroken }
      && Set(directives.map(\.name)).count == directives.count
      && directives.contains { $0.name == "max-age" && deltaSeconds($0.argument ?? "") ?? 0 > 0 }
  }
}

extension Model {
  /// Section 4.1: whether the cache may hold another response that matches the request and goes before this one: one with
  /// Vary before one without, else the one with the later Date.
  fileprivate func prefersAnother(than entry: Entry, _ edition: Edition, _ request: Asked) -> Bool {
    entries.values.contains { other in
      other.serial != entry.serial && other.target == entry.target
        && other.editions.contains { another in
          guard suitable(other, another, request) == nil else { return false }
          let (varies, mine) = (another.fields.has("vary"), edition.fields.has("vary"))
          return varies != mine ? varies : date(another) > date(edition)
        }
    }
  }
}

extension Edition {
  fileprivate func only(_ selector: Asked) -> Edition {
    var edition = self
    edition.selectors = [selector]
    return edition
  }
}

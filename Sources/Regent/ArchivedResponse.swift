// A stored response as people look at it: what it is, how old, and what would be done with it now. Read from a cache's
// directory; nothing here asks a daemon.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

/// A response in a cache's directory.
public struct ArchivedResponse: Sendable {
  /// What a request without directives of its own would get of it.
  public enum Decision: String, Sendable {
    case serve
    case serveStale = "serve-stale"
    case validate
    case never
  }

  /// The URL at its origin; for a domain without one, the URL at this machine.
  public let url: String
  public let domain: String
  /// Whether it is one client's own.
  public let isPrivate: Bool
  public let status: Int
  /// In seconds (RFC 9111 section 4.2.3).
  public let age: Int
  /// How long it is fresh yet, in seconds; negative where it is stale.
  public let remaining: Int
  /// The body's length in bytes.
  public let size: Int
  /// How often it was served since it was written, at most 255; nil where nobody has counted.
  public let hits: Int?
  /// The request fields that select it or are part of its key, each with its value.
  public let selecting: [String]
  public let decision: Decision
  /// Why, in a few words; empty where it is simply fresh.
  public let reason: String
  /// Where it lies.
  public let file: String
  public let offset: Int
  let record: ArchivedRecord
  let head: RecordHead
  let parts: CacheKeyParts
  private let policy: CachePolicy
  private let now: Int64
  private let obstacle: String?

  /// Nil for a record that is no response of a domain's.
  init?(_ record: ArchivedRecord, _ rules: StoredRules, now: Int64) {
    let key = record.key.bytes
    guard let parts = CacheKeyParts(key), let head = RecordHead(record.head),
      let selecting = Self.selectingFields(record.head, parts, rules)
    else { return nil }
    (self.record, self.head, self.parts, self.now) = (record, head, parts, now)
    policy = rules.policy(parts)
    url = Self.url(parts)
    domain = Shown.text(parts.domain)
    isPrivate = parts.credentials != nil
    status = Int(head.metadata.status)
    age = Int(head.metadata.currentAge(now: now))
    remaining = Int(head.metadata.remainingFreshness(policy: policy, now: now))
    (size, hits) = (record.bodyCount, record.hits)
    self.selecting = selecting
    (file, offset) = ("v1/\(record.segment).segment", record.offset)
    obstacle =
      record.isWhole
      ? rules.obstacle(key, parts) : "a part of its body went with the oldest segment"
    (decision, reason) = Self.decide(head.metadata, policy, now, obstacle)
  }

  private static func decide(
    _ metadata: StoredMetadata, _ policy: CachePolicy, _ now: Int64, _ obstacle: String?
  ) -> (Decision, String) {
    if let obstacle { return (.never, obstacle) }
    return switch Reuse.decide(metadata, request: .none, policy: policy, now: now) {
    case .serve: (.serve, "")
    case .serveStale(_, let reason): (.serveStale, reason.text)
    case .validate(let reason): (.validate, reason.text)
    case .no(let reason): (.never, reason.text)
    }
  }

  private static func url(_ parts: CacheKeyParts) -> String {
    let target = Shown.url(parts.path) + (parts.query.map { "?" + Shown.url($0) } ?? "")
    guard let origin = parts.origin else { return "http://\(Shown.text(parts.domain)).localhost\(target)" }
    let name = Shown.url(origin.host)
    let host = name.contains(":") ? "[\(name)]" : name
    let isStandard = origin.port == (origin.scheme == .https ? 443 : 80)
    return (origin.scheme == .https ? "https://" : "http://") + host
      + (isStandard ? "" : ":\(origin.port)") + Shown.url(origin.basePath) + target
  }

  private static func selectingFields(_ head: Slice, _ parts: CacheKeyParts, _ rules: StoredRules)
    -> [String]?
  {
    let fields = head.withBytes { bytes -> [Vary.SelectingField]? in
      guard let count = RecordHead.varyCount(bytes) else { return nil }
      return Vary.fields(bytes.extracting(RecordHead.varyStart..<RecordHead.varyStart + count))
    }
    guard let fields else { return nil }
    let names = rules.fieldNames(parts)
    let keyed = parts.fields.enumerated().map { number, value in
      let name = names.map { Shown.text($0[number]) } ?? "keyed field \(number + 1)"
      // Under a name that is not known, anything may be.
      guard names != nil else { return "\(name): " + (value.map { "(\($0.count) bytes)" } ?? "(none)") }
      return "\(name): " + (value.map { Shown.value($0, of: name.utf8) } ?? "(none)")
    }
    return keyed
      + fields.map { field in
        "\(Shown.text(field.name)): " + (field.value.map { Shown.value($0, of: field.name) } ?? "(none)")
      }
  }
}

extension ArchivedResponse {
  /// All of it in lines: what it is, where it lies, its fields, its age, its freshness and the decision.
  public var lines: [String] {
    var lines = ["status \(status), \(size) bytes, stored \(Explanation.date(record.wall)), \(hitsText)"]
    for field in selecting { lines.append("for requests with \(field)") }
    let pieces = record.pieceCount > 0 ? ", its body in \(record.pieceCount) other records" : ""
    lines.append("lies in \(file) at \(offset), \(record.recordCount) bytes\(pieces)")
    lines += fields.shown
    let reuse = Reuse.decide(head.metadata, request: .none, policy: policy, now: now)
    var told = Explanation.lines(head.metadata, reuse, policy: policy, now: now)
    if let obstacle { told[told.count - 1] = "decision: it is not found: \(obstacle)" }
    return lines + told
  }

  /// The head, as far as people are shown it.
  public var headLines: [String] { ["HTTP/1.1 \(status)"] + fields.shown }

  private var fields: Fields { ResponseFields.stored(shared: nil, own: head.lines).parsed }

  private var hitsText: String {
    switch hits {
    case nil: "hits not counted yet"
    case 1: "1 hit"
    case let hits?: "\(hits)\(hits == 255 ? " or more" : "") hits"
    }
  }
}

// What `regent stats` reads of /stats, and how it is laid out for people: sizes with units, shares, a bar for each
// transfer. Pure: JSON in, text out.

/// The figures of a daemon, as far as the table shows them.
struct Figures: Decodable {
  struct Connections: Decodable {
    let open: Int
    let accepted: Int
    let refused: Int
  }

  struct Origins: Decodable {
    let connections: Int
    let requests: Int
    let retries: Int
    let faults: [String: Int]
  }

  struct Tunnels: Decodable {
    let open: Int
    let bytesIn: Int
    let bytesOut: Int

    enum CodingKeys: String, CodingKey {
      case open
      case bytesIn = "bytes-in"
      case bytesOut = "bytes-out"
    }
  }

  struct Domain: Decodable {
    let requests: Int
    let hits: Int
    let stale: Int
    let errors: Int
    let bytesIn: Int
    let bytesOut: Int
    let latency: [String: Int]

    enum CodingKeys: String, CodingKey {
      case requests, hits, stale, errors
      case bytesIn = "bytes-in"
      case bytesOut = "bytes-out"
      case latency = "latency-microseconds"
    }
  }

  struct Transfer: Decodable {
    let domain: String
    let path: String
    let direction: String
    let bytes: Int
    let total: Int?
    let fraction: Double?
    let rate: Int

    enum CodingKeys: String, CodingKey {
      case domain, path, direction, bytes, total, fraction
      case rate = "bytes-per-second"
    }
  }

  struct Memory: Decodable {
    let entries: Int
    let bytes: Int
    let budget: Int
    let evictions: Int
  }

  let version: String
  let uptime: Int
  let connections: Connections
  let origins: Origins
  let tunnels: Tunnels
  let domains: [String: Domain]
  let transfers: [Transfer]
  let memory: Memory?
}

extension Figures {
  /// The whole of it, each line with its end.
  var table: String {
    var lines = ["Regent \(version), up \(Self.time(uptime))", ""]
    lines.append(
      "connections  \(connections.open) open, \(connections.accepted) accepted, \(connections.refused) refused"
    )
    lines.append(
      "origins      \(origins.connections) connections, \(origins.requests) requests, \(origins.retries) retries"
    )
    if !origins.faults.isEmpty {
      let faults = origins.faults.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      lines.append("  faults     " + faults.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
    }
    if tunnels.open > 0 || tunnels.bytesIn + tunnels.bytesOut > 0 {
      lines.append(
        "tunnels      \(tunnels.open) open, \(Self.size(tunnels.bytesIn)) in, \(Self.size(tunnels.bytesOut)) out"
      )
    }
    if let memory {
      lines.append(
        "memory       \(memory.entries) entries, \(Self.size(memory.bytes)) of \(Self.size(memory.budget)), "
          + "\(memory.evictions) evictions")
    }
    return (lines + domainLines + transferLines).joined(separator: "\n") + "\n"
  }

  private var domainLines: [String] {
    let width = max(6, domains.keys.map(\.count).max() ?? 0)
    let titles = ["requests", "hits", "stale", "errors", "in", "out", "p50", "p99"]
    let heading = Self.left("domain", width) + titles.map { Self.right($0, 10) }.joined()
    return ["", heading]
      + domains.sorted { $0.key < $1.key }.map { name, domain in
        let share = domain.requests > 0 ? "\(domain.hits * 100 / domain.requests) %" : "-"
        let cells = [
          "\(domain.requests)", share, "\(domain.stale)", "\(domain.errors)", Self.size(domain.bytesIn),
          Self.size(domain.bytesOut), Self.latency(domain.latency["p50"]),
          Self.latency(domain.latency["p99"]),
        ]
        return Self.left(name, width) + cells.map { Self.right($0, 10) }.joined()
      }
  }

  private var transferLines: [String] {
    guard !transfers.isEmpty else { return [] }
    return [""]
      + transfers.map { transfer in
        let bar = transfer.fraction.map { "\(Self.bar($0)) \(Self.right("\(Int($0 * 100))", 3)) %" }
        let total = transfer.total.map { " of \(Self.size($0))" } ?? ""
        return "\(Self.left(transfer.direction, 9))\(bar ?? Self.left("", 26)) "
          + "\(Self.size(transfer.bytes))\(total), \(Self.size(transfer.rate))/s  "
          + "\(transfer.domain) \(Self.printable(transfer.path))"
      }
  }

  static func bar(_ fraction: Double, width: Int = 18) -> String {
    let done = max(0, min(width, Int(fraction * Double(width))))
    return "[" + String(repeating: "#", count: done) + String(repeating: "-", count: width - done) + "]"
  }

  /// A path is its client's: nothing of it may speak to the terminal.
  static func printable(_ path: String) -> String {
    String(path.unicodeScalars.prefix(60).map { (0x21..<0x7F).contains($0.value) ? Character($0) : "?" })
  }

  static func size(_ bytes: Int) -> String {
    var (value, unit) = (Double(bytes), 0)
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while value >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    if unit == 0 { return "\(bytes) B" }
    let tenths = Int(value * 10)
    return "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }

  static func time(_ seconds: Int) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60)
    if days > 0 { return "\(days)d \(hours)h" }
    if hours > 0 { return "\(hours)h \(minutes)m" }
    return minutes > 0 ? "\(minutes)m \(seconds % 60)s" : "\(seconds)s"
  }

  private static func latency(_ microseconds: Int?) -> String {
    guard let microseconds else { return "-" }
    return microseconds < 10_000 ? "\(microseconds) us" : "\(microseconds / 1000) ms"
  }

  private static func left(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}

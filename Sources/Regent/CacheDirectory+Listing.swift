// The responses of a directory one after the other, so that a million of them need no memory but for what orders them:
// 16 bytes each, or the beginning of their URLs.

import RegentCaching
import RegentStorage

extension CacheDirectory {
  /// In which order responses are listed.
  public enum Order: String, CaseIterable, Sendable {
    /// The last written first.
    case written
    /// The youngest first.
    case age
    /// The largest first.
    case size
    /// By the first 256 bytes of the URL.
    case url
  }

  /// What was left out of a listing.
  public struct Omissions: Sendable {
    /// Records that are damaged.
    public var damaged: [DirectoryFinding] = []
    /// Records whose key or head is none that this version knows.
    public var unknown = 0
  }

  /// Calls `body` with each response; what is left out.
  public func list(_ order: Order = .written, _ body: (ArchivedResponse) -> Void) -> Omissions {
    var omissions = Omissions()
    for number in numbers(order) {
      switch look(number) {
      case .response(let response): body(response)
      case .damaged(let finding): omissions.damaged.append(finding)
      case .unknown: omissions.unknown += 1
      }
    }
    return omissions
  }

  /// The numbers of all responses in an order; what cannot be read comes last.
  private func numbers(_ order: Order) -> any Sequence<Int> {
    switch order {
    case .written: return (0..<count).reversed()
    case .age: return numbers { $0.age }
    case .size: return numbers { -$0.size }
    case .url: return numbersByURL
    }
  }

  private func numbers(_ rank: (ArchivedResponse) -> Int) -> [Int] {
    var places: [(rank: Int, number: Int)] = []
    places.reserveCapacity(count)
    for number in (0..<count).reversed() {
      guard case .response(let response) = look(number) else {
        places.append((.max, number))
        continue
      }
      places.append((rank(response), number))
    }
    places.sort { $0.rank < $1.rank }
    return places.map(\.number)
  }

  private var numbersByURL: [Int] {
    var urls: [UInt8] = []
    var places: [(url: Range<Int>, number: Int)] = []
    places.reserveCapacity(count)
    for number in (0..<count).reversed() {
      let start = urls.count
      if case .response(let response) = look(number) {
        urls.append(contentsOf: response.url.utf8.prefix(256))
      } else {
        urls.append(0xFF)
      }
      places.append((start..<urls.count, number))
    }
    places.sort { urls[$0.url].lexicographicallyPrecedes(urls[$1.url]) }
    return places.map(\.number)
  }
}

extension ArchivedResponse {
  /// The response as a JSON object on one line.
  public var json: String {
    var writer = JSONWriter(isIndented: false)
    writer.object { writer in
      writer.value("url", url)
      writer.value("domain", domain)
      writer.value("scope", isPrivate ? "private" : "shared")
      writer.array("selecting") { writer in for field in selecting { writer.value(nil, field) } }
      writer.value("status", status)
      writer.value("age", age)
      writer.value("remaining-freshness", remaining)
      writer.value("size", size)
      if let hits { writer.value("hits", hits) }
      writer.value("decision", decision.rawValue)
      writer.value("reason", reason)
      writer.value("file", file)
      writer.value("offset", offset)
    }
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// A text as JSON writes it.
  public static func json(_ text: String) -> String {
    var writer = JSONWriter(isIndented: false)
    writer.value(nil, text)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

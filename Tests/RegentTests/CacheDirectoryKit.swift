// A cache's directory as the daemon fills it: keys as routing makes them, heads as the disk provider lays them out. The
// store has no thread, so what is stored is there when the call returns.

import RegentCaching
import RegentConfig
import RegentHTTP
import RegentLoop
import TestKit
import Testing

@testable import Regent
@testable import RegentStorage

/// A directory that is removed when it is let go of.
final class FilledDirectory {
  let folder: TemporaryFolder
  private let store: DiskStore
  private let routing: Routing
  private let generations = TargetGenerations()
  private var isClosed = false
  var path: String { folder.path("cache") }

  init(_ toml: String, options: DiskOptions = DiskOptions(budget: 16 << 20)) throws {
    folder = try TemporaryFolder()
    store = try DiskStore(
      FolderDevice(path: folder.path("cache")), options, pool: nil, clock: DiskTime(now: 0, wall: arrival))
    let configuration = try Configuration.parse(toml, file: "test.toml")
    let generations = generations
    let domains = configuration.domains.enumerated().map {
      Domain(number: $0, $1, generations: generations)
    }
    var random = SeededGenerator(seed: 1)
    routing = Routing(
      router: Router(configuration.domains, admin: domains.count, pathPrefixes: true), domains: domains,
      instance: InstanceName("regent", random: &random))
  }

  /// Where a GET with these fields leads.
  func routed(_ url: String, _ asked: Fields = Fields()) throws -> RoutedHead {
    let head = try #require(
      try ExplainPage.head(Array(url.utf8), fields: asked, limits: .standard))
    return routing.routed(head, at: routing.host(head.fields.bytes[head.host]))
  }

  /// Stores a response that came `age` seconds before ``arrival``.
  func keep(
    _ url: String, _ body: [UInt8] = Array("body".utf8), answered: Fields, asked: Fields = Fields(),
    status: UInt16 = 200, age: Int64 = 0
  ) throws {
    let routed = try routed(url, asked)
    let time = arrival - age
    let metadata = StoredMetadata(
      status: status, fields: answered, requestFields: asked, requestTime: time, responseTime: time,
      policy: routed.domain.policy)
    var head: [UInt8] = []
    try #require(RecordHead.append(metadata, answered, routed.head.fields, onto: &head))
    let variant = CRC32C.of(head.span.extracting(RecordHead.varyStart..<head.count))
    var own: [UInt8] = []
    StoredFields.split(answered, shared: &head, own: &own)
    keep(key: routed.key.bytes, variant: variant, head: head + own, body)
  }

  func keep(key: [UInt8], variant: UInt32 = 0, head: [UInt8], _ body: [UInt8] = []) {
    _ = store.insert(store.key(key), variant: variant, head: head, body: [Slice(body)])
    _ = store.work(DiskTime(now: 0, wall: arrival))
  }

  /// Does what a POST to a domain with keyed fields does: what was stored for its target before is not found any more.
  func invalidate(_ url: String) throws {
    let routed = try routed(url)
    let parts = try #require(CacheKeyParts(routed.key.bytes))
    #expect(generations.restore(from: store))
    generations.invalidate(
      routed.domain.targetKey(path: parts.path, query: parts.query?[...], for: routed.head.fields))
    generations.keep(in: store)
    _ = store.work(DiskTime(now: 0, wall: arrival))
  }

  /// The directory by the rules of a configuration, or of HTTP alone; as of ``arrival``.
  func opened(_ toml: String? = nil) throws -> CacheDirectory {
    if !isClosed { store.close(DiskTime(now: 0, wall: arrival)) }
    isClosed = true
    let configuration = try toml.map { try Configuration.parse($0, file: "test.toml") }
    return CacheDirectory(path, try DiskArchive.open(path: path), configuration, now: arrival)
  }
}

extension CacheDirectory {
  /// All of them, in an order.
  func listed(_ order: Order = .written) -> [ArchivedResponse] {
    var listed: [ArchivedResponse] = []
    _ = list(order) { listed.append($0) }
    return listed
  }
}

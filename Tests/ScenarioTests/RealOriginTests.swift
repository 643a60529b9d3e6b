// The daemon's main job on real input: a real web server, many objects, many clients, no byte wrong, and the second
// time not one request to the origin.

import TestKit
import Testing

extension UnderLoad {
  @Suite("A real web server as origin")
  struct RealOriginTests {
    private static let objects = 1000
    private static let clients = 16

    @Test("1,000 objects from 0 bytes to 50 MB come whole, the second time without one origin request")
    func everythingTwice() throws {
      let nginx = try Nginx(settings: "add_header Cache-Control max-age=3600;")
      let sizes = Self.sizes()
      for (index, size) in sizes.enumerated() {
        try nginx.put("\(index)", Pattern(for: "/\(index)").bytes(count: size))
      }
      let daemon = try Daemon.start(upstream: nginx.url, memory: "1 GiB", set: [Setting.maxObject("64 MiB")])

      let first = try Self.fetchAll(daemon, sizes)
      #expect(first.wrong.isEmpty)
      #expect(try nginx.accesses().count == Self.objects)

      let second = try Self.fetchAll(daemon, sizes)
      #expect(second.wrong.isEmpty)
      #expect(second.hits == Self.objects)
      #expect(try nginx.accesses().count == Self.objects)
      #expect(daemon.stop() == .status(0))
    }

    /// 0 bytes, the edges of likely buffers, a spread of small ones, and few large ones: about 150 MB.
    private static func sizes() -> [Int] {
      var generator = SeededGenerator(seed: 1)
      let edges = [0, 1, 2, 4095, 4096, 4097, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537]
      let large = [50_000_000, 16_777_216, 8_388_609, 4_194_303, 1_048_576, 1_048_577]
      let spread = (0..<(objects - edges.count - large.count)).map { _ in
        Int.random(in: 1..<(1 << Int.random(in: 4...18, using: &generator)), using: &generator)
      }
      return (edges + large + spread).shuffled(using: &generator)
    }

    /// Each object once, by as many clients as take part, on connections that stay.
    private static func fetchAll(_ daemon: Daemon, _ sizes: [Int]) throws -> (wrong: [String], hits: Int) {
      let next = Shared(0)
      let hits = Shared(0)
      let wrong = Shared<[String]>([])
      try concurrently(clients) { _ in
        let client = try daemon.connect()
        while case let index = next.increment() - 1, index < sizes.count {
          let response = try client.get("/\(index)")
          let isRight = response.status == 200 && response.body.count == sizes[index]
          if !isRight || !Pattern(for: "/\(index)").matches(response.body) {
            wrong.update { $0.append("/\(index): \(response.status), \(response.body.count) bytes") }
          }
          if response.isHit { hits.increment() }
        }
      }
      return (wrong.value, hits.value)
    }
  }
}

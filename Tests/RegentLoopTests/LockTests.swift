// The lock: nobody's change is lost, and what the body throws or returns comes through.

import RegentLoop
import Testing

@Suite("A lock")
struct LockTests {
  private struct Refused: Error, Equatable {}

  private final class Shared: Sendable { let numbers = Lock<[Int]>([]) }

  @Test("loses no change from several threads at once")
  func excludes() async {
    let shared = Shared()
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask { for number in 0..<20_000 { shared.numbers.withLock { $0.append(number) } } }
      }
    }
    let numbers = shared.numbers.withLock { $0 }
    #expect(numbers.count == 80_000)
    #expect(numbers.reduce(0, +) == 4 * (0..<20_000).reduce(0, +))
  }

  @Test("is released when its body throws")
  func releasedOnThrow() {
    let shared = Shared()
    #expect(throws: Refused()) { try shared.numbers.withLock { _ in throw Refused() } }
    #expect(shared.numbers.withLock { $0.isEmpty })
  }
}

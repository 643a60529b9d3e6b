// The system's random numbers, for what nobody may guess. Seeded ones belong to tests.

import CLibevent

public enum Randomness {
  /// A number from the system.
  public static func number() -> UInt64 {
    var number: UInt64 = 0
    // Unsafe: fills a local. The call gives 8 bytes at once, or waits for the system's first seed.
    let count = unsafe regent_random(&number, 8)
    precondition(count == 8, "the system gave no random number")
    return number
  }
}

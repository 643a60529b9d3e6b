// The random numbers of the tests: they follow from a seed, which a test prints, so that a failure can be had again.

import FoundationEssentials

/// Random numbers that a seed repeats (SplitMix64).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  /// The seed that `REGENT_SEED` in the environment names, if any.
  public static var givenSeed: UInt64? {
    ProcessInfo.processInfo.environment["REGENT_SEED"].flatMap { UInt64($0) }
  }

  /// A seed for one run of a test: the given one, otherwise another each time.
  public static func anySeed() -> UInt64 { givenSeed ?? .random(in: 0 ... .max) }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

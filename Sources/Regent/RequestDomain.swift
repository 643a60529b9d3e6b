// Sets of domains: what a request belongs to, and what a provider is registered for. An option set in spirit,
// but without a limit of 64.

/// A set of request domains.
///
/// A request belongs to one domain; a provider is registered for any number of them. The first 64 domains
/// cost no allocation.
public struct RequestDomain: SetAlgebra, Sendable, Hashable {
  private var low: UInt64 = 0
  private var high: [UInt64] = []
  private var isAny = false

  public init() {}

  /// The set of the one domain with this number, from 0.
  public init(_ number: Int) {
    precondition(number >= 0, "a domain's number is not negative")
    set(number)
  }

  /// Every domain there is or will be.
  public static let any: RequestDomain = {
    var all = RequestDomain()
    all.isAny = true
    return all
  }()

  /// Whether the domain with this number is in the set.
  public func contains(number: Int) -> Bool {
    if isAny { return true }
    if number < 64 { return number >= 0 && low & (1 << UInt64(number)) != 0 }
    let word = number / 64 - 1
    return word < high.count && high[word] & (1 << UInt64(number % 64)) != 0
  }

  public func contains(_ member: RequestDomain) -> Bool {
    isAny || subtracting(of: member).isEmpty && !member.isAny
  }

  private func subtracting(of member: RequestDomain) -> RequestDomain { member.combined(self) { $0 & ~$1 } }

  private mutating func set(_ number: Int) {
    if number < 64 {
      low |= 1 << UInt64(number)
    } else {
      let word = number / 64 - 1
      while high.count <= word { high.append(0) }
      high[word] |= 1 << UInt64(number % 64)
    }
  }

  public var isEmpty: Bool { !isAny && low == 0 && high.allSatisfy { $0 == 0 } }

  private func combined(_ other: RequestDomain, _ operation: (UInt64, UInt64) -> UInt64) -> RequestDomain {
    var result = RequestDomain()
    result.low = operation(low, other.low)
    for word in 0..<max(high.count, other.high.count) {
      let mine = word < high.count ? high[word] : 0
      let theirs = word < other.high.count ? other.high[word] : 0
      result.high.append(operation(mine, theirs))
    }
    while result.high.last == 0 { result.high.removeLast() }
    return result
  }

  public func union(_ other: RequestDomain) -> RequestDomain {
    isAny || other.isAny ? .any : combined(other, |)
  }

  public func intersection(_ other: RequestDomain) -> RequestDomain {
    if isAny { return other }
    return other.isAny ? self : combined(other, &)
  }

  public func symmetricDifference(_ other: RequestDomain) -> RequestDomain {
    precondition(!isAny && !other.isAny, "`any` has no complement that could be listed")
    return combined(other, ^)
  }

  public mutating func formUnion(_ other: RequestDomain) { self = union(other) }
  public mutating func formIntersection(_ other: RequestDomain) { self = intersection(other) }
  public mutating func formSymmetricDifference(_ other: RequestDomain) { self = symmetricDifference(other) }

  @discardableResult
  public mutating func insert(_ member: RequestDomain) -> (inserted: Bool, memberAfterInsert: RequestDomain) {
    let isNew = !contains(member)
    formUnion(member)
    return (isNew, member)
  }

  @discardableResult
  public mutating func remove(_ member: RequestDomain) -> RequestDomain? {
    let removed = intersection(member)
    guard !removed.isEmpty else { return nil }
    self = removed == self ? RequestDomain() : symmetricDifference(removed)
    return removed
  }

  @discardableResult
  public mutating func update(with member: RequestDomain) -> RequestDomain? {
    let before = intersection(member)
    formUnion(member)
    return before.isEmpty ? nil : before
  }
}

// The domain's `negative-ttl`: a small table of statuses. It has a place for each row in itself, so that a policy
// stays plain bytes.

/// How long responses with status 400 and above are fresh by the owner's word, counted from their arrival here.
public struct NegativeTTL: Sendable, Equatable {
  /// The statuses that a row is about.
  public struct Statuses: Sendable, Equatable {
    public let first: UInt16
    public let last: UInt16

    /// One status, or those of a class; nil for what is no error.
    public init?(first: UInt16, last: UInt16) {
      guard first >= 400, last <= 599, first <= last else { return nil }
      self.first = first
      self.last = last
    }
  }

  /// The most rows.
  public static let limit = 16

  private var rows = InlineArray<16, Row>(repeating: Row())
  private var count: UInt8 = 0

  private struct Row: Equatable {
    var first: UInt16 = 0
    var last: UInt16 = 0
    var seconds: Int32 = 0
  }

  public init() {}

  /// Adds a row; false where there are ``limit`` already.
  @discardableResult
  public mutating func append(_ statuses: Statuses, seconds: Int32) -> Bool {
    guard count < Self.limit else { return false }
    rows[Int(count)] = Row(first: statuses.first, last: statuses.last, seconds: max(0, seconds))
    count += 1
    return true
  }

  /// The seconds for a status: those of the narrowest row that it is in; nil where it is in none.
  public func seconds(_ status: UInt16) -> Int32? {
    var best: Row?
    for index in 0..<Int(count) {
      let row = rows[index]
      guard row.first...row.last ~= status else { continue }
      if let known = best, known.last - known.first <= row.last - row.first { continue }
      best = row
    }
    return best?.seconds
  }

  public static func == (left: NegativeTTL, right: NegativeTTL) -> Bool {
    left.count == right.count && (0..<Int(left.count)).allSatisfy { left.rows[$0] == right.rows[$0] }
  }
}

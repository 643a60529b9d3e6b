// The last starts, and whether they ended well: three that did not within a minute leave the disk out of the next. Pure.

/// When the store was opened lately, and was not closed since.
struct DiskStarts: Sendable, Equatable {
  /// Wall seconds of starts that have not ended cleanly, oldest first; at most three.
  private(set) var unended: [Int64] = []
  static let limit = 3
  static let window: Int64 = 60

  init() {}

  init?(_ bytes: [UInt8]) {
    guard let page = DiskPage(bytes.span, magic: DiskFormat.startsMagic) else { return nil }
    unended = [page.first, page.second, page.third].filter { $0 > 0 }.map(Int64.init(clamping:))
  }

  var encoded: [UInt8] {
    let times = unended.map { UInt64(max(0, $0)) } + [0, 0, 0]
    return DiskPage(
      magic: DiskFormat.startsMagic, instance: 0, first: times[0], second: times[1], third: times[2]
    ).encoded
  }

  /// Whether the store may be opened now. Starts in the future are those of another clock, and do not count.
  func mayStart(_ wall: Int64) -> Bool {
    unended.count { $0 <= wall && wall - $0 < Self.window } < Self.limit
  }

  mutating func started(_ wall: Int64) {
    unended = Array((unended + [wall]).suffix(Self.limit))
  }

  mutating func endedCleanly() { unended = [] }
}

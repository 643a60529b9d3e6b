// Every byte of an archive looked at: each segment from its first record to its last, also what was replaced or removed,
// and of each response whether its pieces are the ones that it means. Behind damage the next record is looked for, so
// that one flipped bit hides nothing else.

import RegentLoop

/// What looking at everything found.
public struct ArchiveVerification: Sendable, Equatable {
  public var segments = 0
  /// Records of any kind, and those that are parts of bodies.
  public var records = 0
  public var extents = 0
  /// Responses that can be found, and of them those whose body went with another segment.
  public var responses = 0
  public var incomplete = 0
  /// The bytes of bodies that were read and verified.
  public var bodyBytes = 0
  /// Places where a record was not written to its end.
  public var uncommitted = 0
  /// Places that are not what was written, or cannot be read.
  public var damages = 0

  public init() {}
}

extension DiskArchive {
  /// Reads everything; calls `report` with each place that is not as it was written.
  public func verify(_ report: (DiskFinding) -> Void) -> ArchiveVerification {
    var verification = ArchiveVerification()
    for finding in findings where !finding.isOfRecord { verification.note(finding, report) }
    for number in segments.numbers.sorted() {
      guard let segment = segments[number] else { continue }
      do throws(SystemError) {
        var walk = try SegmentWalk(segment, entries: entries.of(segment: number))
        while let step = try walk.next() {
          switch step {
          case .finding(let finding): verification.note(finding, report)
          case .record(let lead, let bytes, let entry):
            count(lead, bytes, entry, &verification, report)
          }
        }
        verification.segments += 1
      } catch {
        verification.note(
          DiskFinding(.unreadable, segment: number, offset: 0, error.description), report)
      }
    }
    return verification
  }

  private func count(
    _ lead: DiskLead, _ bytes: Slice, _ entry: DiskEntry?, _ verification: inout ArchiveVerification,
    _ report: (DiskFinding) -> Void
  ) {
    verification.records += 1
    verification.bodyBytes += lead.inlineCount
    if lead.kind == .extent { verification.extents += 1 }
    guard let entry else { return }
    verification.responses += 1
    guard isMeant(lead, bytes, by: entry) else {
      return verification.note(
        DiskFinding(entry.position, "it is another record than the index says"), report)
    }
    var isWhole = true
    for piece in bytes.withBytes({ lead.pieces($0) }) {
      guard let segment = segments[piece.position.segment] else {
        isWhole = false
        continue
      }
      if case .damaged(let finding) = segment.piece(piece) { verification.note(finding, report) }
    }
    if !isWhole { verification.incomplete += 1 }
  }
}

extension ArchiveVerification {
  fileprivate mutating func note(_ finding: DiskFinding, _ report: (DiskFinding) -> Void) {
    if finding.kind == .uncommitted { uncommitted += 1 } else { damages += 1 }
    report(finding)
  }
}

/// The way through a segment from record to record.
struct SegmentWalk {
  enum Step {
    case record(DiskLead, Slice, DiskEntry?)
    case finding(DiskFinding)
  }
  private enum Found {
    case record(DiskLead, Slice)
    /// A lead whose record is not what was written; whether its trailer is.
    case broken(DiskLead, isCommitted: Bool)
    case nothing
  }
  private let segment: DiskSegment
  /// The responses that are still to be met.
  private var entries: ArraySlice<DiskEntry>
  private var window: DiskWindow
  private let length: Int
  /// Whether the segment was not ended: it has its full length still.
  private let isOpen: Bool
  private var offset = DiskFormat.page

  init(_ segment: DiskSegment, entries: ArraySlice<DiskEntry>) throws(SystemError) {
    (self.segment, self.entries) = (segment, entries)
    let length = try segment.file.size().length
    self.length = length
    window = DiskWindow(segment.file, length: length)
    let page = try segment.file.bytes(DiskPage.count, at: 0)
    let full = page.withBytes { DiskPage($0, magic: DiskFormat.segmentMagic)?.second }
    isOpen = full.map { Int(clamping: $0) == length } ?? false
  }

  /// What comes next; nil at the end.
  mutating func next() throws(SystemError) -> Step? {
    if let entry = entries.first, entry.position.offset < offset {
      entries = entries.dropFirst()
      return .finding(DiskFinding(entry.position, "the index knows a record that is not there"))
    }
    guard offset + DiskLead.headerCount <= length else { return missing() }
    switch try found() {
    case .record(let lead, let bytes): return taken(lead, bytes)
    case .broken(let lead, let isCommitted):
      if isCommitted { return leave(to: offset + lead.recordCount, "the body is not what was written") }
    case .nothing: break
    }
    let after = try recordOffset(after: offset)
    // It may have been written just now.
    window.forget()
    if case .record(let lead, let bytes) = try found() { return taken(lead, bytes) }
    return try end(nextAt: after)
  }

  /// What is at this place. Beside a writer, one read may have had the beginning before it was written and the end after
  /// it; but once the end is there, so is all before it, and another read has it all.
  private mutating func found() throws(SystemError) -> Found {
    let found = try readHere()
    guard case .broken(_, isCommitted: true) = found else { return found }
    window.forget()
    return try readHere()
  }

  private mutating func taken(_ lead: DiskLead, _ bytes: Slice) -> Step {
    offset += lead.recordCount
    let entry = entries.first.flatMap { $0.position == lead.position ? $0 : nil }
    if entry != nil { entries = entries.dropFirst() }
    return .record(lead, bytes, entry)
  }

  /// Damage at this place, and on to another one.
  private mutating func leave(to next: Int, _ reason: String) -> Step {
    let finding = DiskFinding(segment: segment.number, offset: offset, reason)
    if entries.first?.position.offset == offset { entries = entries.dropFirst() }
    offset = next
    return .finding(finding)
  }

  /// No record is here: damage where there are others behind it or there was to be one, else the end.
  private mutating func end(nextAt next: Int?) throws(SystemError) -> Step? {
    if let next { return leave(to: next, "no record is where one must be") }
    let isKnown = entries.first?.position.offset == offset
    let isBlank = try window.bytes(DiskLead.headerCount, at: offset).bytes.allSatisfy { $0 == 0 }
    if isKnown || !isBlank && !isOpen { return leave(to: length, "the record is not what was written") }
    let here = offset
    offset = length
    guard !isBlank else { return missing() }
    return .finding(
      DiskFinding(
        .uncommitted, segment: segment.number, offset: here, "a record was not written to its end"))
  }

  /// What was to come behind the end.
  private mutating func missing() -> Step? {
    guard let entry = entries.popFirst() else { return nil }
    return .finding(DiskFinding(entry.position, "the index knows a record that is not there"))
  }

  private mutating func readHere() throws(SystemError) -> Found {
    let position = DiskPosition(segment: segment.number, offset: offset)
    guard let lead = try lead(at: position) else { return .nothing }
    let record = try window.bytes(lead.recordCount, at: offset)
    guard lead.isWhole(in: record) else { return .broken(lead, isCommitted: false) }
    if lead.isIntact(record) { return .record(lead, record) }
    let isCommitted = record.withBytes {
      lead.isCommitted(by: $0.extracting(lead.trailerStart..<lead.recordCount))
    }
    return .broken(lead, isCommitted: isCommitted)
  }

  private mutating func lead(at position: DiskPosition) throws(SystemError) -> DiskLead? {
    var wanted = DiskLead.headerCount
    for _ in 0..<2 {
      let bytes = try window.bytes(wanted, at: position.offset)
      switch bytes.withBytes({ DiskLead.read($0, instance: segment.instance, position: position) }) {
      case .lead(let lead): return lead
      case .short(let more) where more > wanted: wanted = more
      case .short, .damaged: return nil
      }
    }
    return nil
  }

  /// Where the next record begins that has a good lead.
  private mutating func recordOffset(after start: Int) throws(SystemError) -> Int? {
    var place = start + 8
    while place + DiskLead.headerCount <= length {
      let stretch = try window.bytes(64 << 10, at: place)
      guard let hit = stretch.withBytes({ Self.magic(in: $0) }) else {
        place += max(8, stretch.count & ~7)
        continue
      }
      place += hit
      if try lead(at: DiskPosition(segment: segment.number, offset: place)) != nil { return place }
      place += 8
    }
    return nil
  }

  /// Where in these bytes, at a multiple of 8, what every record begins with.
  private static func magic(in bytes: Span<UInt8>) -> Int? {
    var place = 0
    while place + 4 <= bytes.count {
      if bytes.number(UInt32.self, at: place) == DiskFormat.recordMagic { return place }
      place += 8
    }
    return nil
  }
}

extension [DiskEntry] {
  /// Those of a segment, where all are in the order of their positions.
  func of(segment number: UInt32) -> ArraySlice<DiskEntry> {
    let (from, to) = (DiskPosition(segment: number, offset: 0), DiskPosition(segment: number &+ 1, offset: 0))
    return self[first(from: from)..<first(from: to)]
  }

  /// The number of the first one that is not before a position.
  private func first(from position: DiskPosition) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].position < position { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

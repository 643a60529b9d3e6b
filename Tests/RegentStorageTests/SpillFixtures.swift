// A body that arrives, is written to a disk of the tests, and is read by many: one event after the other, in any order,
// with what must hold after each.

import RegentLoop
import Testing

@testable import RegentStorage

/// A body, its writer, the disk and the readers, all moved by hand.
final class SpillScene {
  let disk = FaultyDisk()
  let store: DiskStore
  let stream: BodyStream
  let spill: BodySpill
  let total: Int
  private var fill: DiskFill?
  private(set) var readers: [SceneReader] = []
  private(set) var written = 0
  /// What the fill was offered and had no room for.
  private var owed: [Slice] = []
  private(set) var fillHasEnded = false
  private(set) var committed: Bool?
  /// Whether a reader may be left behind, or fail.
  var mayOutpace = false
  var mayDamage = false
  var failure: BodyFailure?

  static let window = 16 << 10
  static let largestSlice = 20_000

  init(total: Int, budget: Int = 4 << 20) throws {
    self.total = total
    store = try DiskStore.on(disk, .small(budget: budget, segment: 128 << 10))
    let fill = try #require(store.fill(store.key(bytes("key")), variant: 0))
    stream = BodyStream(expected: nil, window: Self.window)
    spill = try #require(stream.spill(to: fill))
    self.fill = fill
  }

  var extent: Int { spill.fill.extentSize }
  var state: BodyState { stream.state.withLock { $0 } }
  var isOpen: Bool { state.extents?.isOpen == true }

  // MARK: Events

  func append(_ count: Int) {
    let count = min(count, total - written)
    guard count > 0, state.end == .open else { return }
    if stream.tryAppend(Slice(pattern(written..<written + count))) == .accepted { written += count }
  }

  /// Bytes were appended by somebody else.
  func noteWritten(_ count: Int) { written += count }

  func join() { if let reader = stream.makeReader() { readers.append(SceneReader(reader)) } }

  func leave(_ index: Int) { readers.remove(at: index).reader.leave() }

  /// What the fill's task would do next, as far as that needs no waiting.
  func feed() {
    guard !fillHasEnded, let fill else { return }
    do {
      while true {
        while let slice = owed.first {
          switch fill.tryAppend(slice) {
          case .accepted: owed.removeFirst()
          case .full: return
          case .abandoned: return endFill()
          }
        }
        switch try spill.reader.available(upTo: 50_000) {
        case .slices(let slices): owed = slices
        case .none: return
        case .end:
          guard stream.isFinished else { return endFill() }
          fillHasEnded = true
          committed = fill.commit(head: [])
          spill.reader.leave()
          return
        }
      }
    } catch {
      #expect(error == failure || !isOpen, "the fill's reader: \(error)")
      endFill()
    }
  }

  private func endFill() {
    (fillHasEnded, owed) = (true, [])
    fill?.fail()
    spill.reader.leave()
  }

  /// Lets one reader read once; false where there was nothing.
  @discardableResult
  func read(_ index: Int, upTo limit: Int) async -> Bool {
    let one = readers[index]
    guard !one.hasEnded else { return false }
    do throws(BodyFailure) {
      switch try one.reader.available(upTo: limit) {
      case .slices(let slices):
        one.take(slices)
        return true
      case .end: one.end(nil)
      case .none:
        guard one.reader.position < state.chunks.start else { return false }
        one.diskReads += 1
        guard let slices = try await one.reader.next(upTo: limit) else { return one.end(nil) }
        #expect(slices.reduce(0) { $0 + $1.block.capacity } <= 2 * DiskFormat.block)
        one.take(slices)
      }
    } catch {
      one.end(error)
    }
    return true
  }

  // MARK: What must hold

  func check() {
    let state = state
    let held = state.chunks.end - state.chunks.start
    let most = (state.extents?.window ?? Self.window) + 2 * Self.largestSlice
    #expect(state.isKept || held <= most, "\(held) bytes are held")
    // Whoever reads finds the next byte in memory or on the disk.
    let stored = state.extents?.end ?? 0
    for one in readers where !one.hasEnded {
      let position = one.reader.position
      #expect(position >= state.chunks.start || state.chunks.start <= stored)
    }
    if isOpen { #expect(state.chunks.start <= stored) }
  }

  /// Does everything that there is to do until all readers have ended.
  func runOut() async {
    for _ in 0..<20_000 where readers.contains(where: { !$0.hasEnded }) {
      if state.end == .open {
        append(Self.largestSlice)
        if written == total { stream.finish() }
      }
      feed()
      store.step()
      for index in readers.indices { await read(index, upTo: 30_000) }
      check()
    }
    for one in readers { check(one) }
  }

  private var summary: String {
    let state = state
    return "\(state.end), memory \(state.chunks.start)..<\(state.chunks.end), "
      + "disk \(state.extents?.end ?? -1) \(isOpen ? "open" : "over"), \(state.readers.live) live from \(state.read), "
      + "fill \(fillHasEnded ? "ended" : "at \(spill.reader.position), owes \(owed.count)"), \(store.statistics)"
  }

  func check(_ one: SceneReader) {
    switch one.ending {
    case nil: Issue.record("a reader never came to the end, at \(one.position) of \(written): \(summary)")
    case .success: #expect(one.position == written && failure == nil && !one.isWrong)
    case .failure(.outpaced): #expect(mayOutpace && !one.isWrong)
    case .failure(.aborted) where mayDamage: #expect(!one.isWrong)
    case .failure(let error): #expect(error == failure && one.position == written && !one.isWrong)
    }
  }
}

/// A reader of the scene, and what it has seen.
final class SceneReader {
  let reader: BodyReader
  private(set) var position = 0
  private(set) var isWrong = false
  private(set) var ending: Result<Void, BodyFailure>?
  var diskReads = 0

  init(_ reader: BodyReader) { self.reader = reader }

  var hasEnded: Bool { ending != nil }

  func take(_ slices: [Slice]) {
    for slice in slices {
      if slice.bytes != pattern(position..<position + slice.count) { isWrong = true }
      position += slice.count
    }
    #expect(reader.position == position && !isWrong)
  }

  @discardableResult
  func end(_ failure: BodyFailure?) -> Bool {
    ending = failure.map { .failure($0) } ?? .success(())
    // Who can read no more must leave, or hold the others back.
    reader.leave()
    return false
  }
}

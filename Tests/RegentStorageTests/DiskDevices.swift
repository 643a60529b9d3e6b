// A disk in memory that behaves as badly as disks do: what was not synced is torn, dropped and reordered by a crash,
// and any call can fail, or be the last before the crash.

import Glibc
import RegentLoop
import TestKit

@testable import RegentStorage

/// What of a file was changed since it was synced.
private enum Change: Sendable {
  case bytes(Int, [UInt8])
  case length(Int)

  func apply(to content: inout [UInt8]) {
    switch self {
    case .length(let length):
      if length < content.count { content.removeLast(content.count - length) }
      content += [UInt8](repeating: 0, count: length - content.count)
    case .bytes(let offset, let bytes):
      let missing = offset + bytes.count - content.count
      if missing > 0 { content += [UInt8](repeating: 0, count: missing) }
      // Unsafe: copies within what the line before made room for.
      unsafe content.withUnsafeMutableBytes { target in
        unsafe bytes.withUnsafeBytes { source in
          unsafe UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + bytes.count]).copyMemory(
            from: source)
        }
      }
    }
  }

  /// What a crash leaves of it: each sector of 512 bytes, or not.
  func torn(_ random: inout SeededGenerator) -> [Change] {
    guard case .bytes(let offset, let bytes) = self else { return Bool.random(using: &random) ? [self] : [] }
    switch Int.random(in: 0..<3, using: &random) {
    case 0: return []
    case 1: return [self]
    default: break
    }
    var parts: [Change] = []
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, ((offset + start) / 512 + 1) * 512 - offset)
      if Bool.random(using: &random) { parts.append(.bytes(offset + start, Array(bytes[start..<end]))) }
      start = end
    }
    return parts
  }
}

/// A gate that threads wait at while it is shut.
// @unchecked: `isShut` is guarded by the mutex; the pointers never change.
@safe final class Gate: @unchecked Sendable {
  // Unsafe: allocated here and freed in deinit, when nobody waits any more.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var isShut = false

  init() {
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(condition, nil)
  }

  deinit {
    unsafe mutex.deallocate()
    unsafe condition.deallocate()
  }

  func set(shut: Bool) {
    unsafe pthread_mutex_lock(mutex)
    isShut = shut
    unsafe pthread_cond_broadcast(condition)
    unsafe pthread_mutex_unlock(mutex)
  }

  func pass() {
    unsafe pthread_mutex_lock(mutex)
    while isShut { unsafe pthread_cond_wait(condition, mutex) }
    unsafe pthread_mutex_unlock(mutex)
  }
}

/// The disk. Operations that change something are numbered from 0.
final class FaultyDisk: DiskDevice {
  struct Inode: Sendable {
    var durable: [UInt8] = []
    var current: [UInt8] = []
    fileprivate var changes: [Change] = []
  }
  struct State: Sendable {
    var inodes: [Int: Inode] = [:]
    var names: [String: Int] = [:]
    var durableNames: [String: Int] = [:]
    var steps: [[String: Int]] = []
    var operation = 0
    var crashAt = Int.max
    var isDown = false
    var isThere = true
    var isLocked = false
    /// Errors by operation, and one for all operations of a kind.
    var failures: [Int: Int32] = [:]
    var failing: [String: Int32] = [:]
    var log: [String] = []
    /// Whether nothing is in the page cache: reads must wait for the disk.
    var isCold = false
  }
  /// While it is shut, the disk does not answer those who wait for it.
  let gate = Gate()
  let state = Lock<State>(State())

  /// Counts an operation; throws if it is to fail. True: it is the last one.
  fileprivate func enter(_ call: String, _ state: inout State, counts: Bool = true) throws(SystemError)
    -> Bool
  {
    guard !state.isDown else { throw SystemError(call: call, code: 5) }
    if let code = state.failing[call] { throw SystemError(call: call, code: code) }
    guard counts else { return false }
    defer { state.operation += 1 }
    state.log.append(call)
    if let code = state.failures[state.operation] { throw SystemError(call: call, code: code) }
    return state.operation == state.crashAt
  }

  fileprivate func change(
    _ call: String, _ body: (inout State) throws(SystemError) -> Void
  ) throws(SystemError) {
    try state.withLock { state throws(SystemError) in
      let isLast = try enter(call, &state)
      try body(&state)
      if isLast {
        state.isDown = true
        throw SystemError(call: call, code: 5)
      }
    }
  }

  // MARK: What happens to it

  func crash(at operation: Int) { state.withLock { $0.crashAt = operation } }
  func fail(_ call: String, _ code: Int32?) { state.withLock { $0.failing[call] = code } }
  func fail(at operation: Int, _ code: Int32) { state.withLock { $0.failures[operation] = code } }
  var operations: Int { state.withLock { $0.operation } }
  var isDown: Bool { state.withLock { $0.isDown } }

  /// Starts the machine anew; without power, what was not synced is torn.
  func restart(losingPower: Bool, _ random: inout SeededGenerator) {
    var dice = random
    state.withLock { state in
      if losingPower {
        let kept = Int.random(in: 0...state.steps.count, using: &dice)
        state.names = kept == 0 ? state.durableNames : state.steps[kept - 1]
        for number in state.inodes.keys.sorted() { state.tear(number, &dice) }
      }
      (state.isDown, state.crashAt, state.operation, state.isLocked) = (false, .max, 0, false)
      (state.failures, state.failing) = ([:], [:])
    }
    random = dice
  }

  /// Changes a file's bytes behind the store's back.
  func mutate(_ name: String, _ body: (inout [UInt8]) -> Void) {
    state.withLock { state in
      guard let number = state.names[name] else { return }
      body(&state.inodes[number, default: Inode()].current)
    }
  }

  func content(_ name: String) -> [UInt8]? {
    state.withLock { state in state.names[name].flatMap { state.inodes[$0]?.current } }
  }
  var allNames: [String] { state.withLock { $0.names.keys.sorted() } }
  var totalBytes: Int {
    state.withLock { state in state.names.values.reduce(0) { $0 + (state.inodes[$1]?.current.count ?? 0) } }
  }

  // MARK: DiskDevice

  func open() throws(DiskOpenFailure) {
    let outcome = state.withLock { state -> DiskOpenFailure? in
      if state.isDown { return .system(SystemError(call: "open", code: 5)) }
      if let code = state.failing["open"] { return .system(SystemError(call: "open", code: code)) }
      guard !state.isLocked else { return .inUse }
      state.isLocked = true
      if !state.isThere {
        (state.names, state.durableNames, state.steps, state.isThere) = ([:], [:], [], true)
      }
      return nil
    }
    if let outcome { throw outcome }
  }
  func close() { state.withLock { $0.isLocked = false } }
  var isPresent: Bool { state.withLock { $0.isThere && $0.isLocked } }
  func removeAll() {
    state.withLock { state in (state.isThere, state.isLocked, state.names) = (false, false, [:]) }
  }

  func names() throws(SystemError) -> [String] {
    try state.withLock { state throws(SystemError) in
      _ = try enter("names", &state, counts: false)
      return state.names.keys.sorted()
    }
  }

  func file(_ name: String, _ opening: Folder.Opening) throws(SystemError) -> any DiskFile {
    guard opening == .making else {
      let number = try state.withLock { state throws(SystemError) in
        _ = try enter("find", &state, counts: false)
        guard let number = state.names[name] else { throw SystemError(call: "open", code: 2) }
        return number
      }
      return FaultyFile(self, number)
    }
    try change("make") { state throws(SystemError) in
      guard state.isThere else { throw SystemError(call: "open", code: 2) }
      guard state.names[name] == nil else { throw SystemError(call: "open", code: 17) }
      let number = state.inodes.count + 1
      state.inodes[number] = Inode()
      state.names[name] = number
      state.steps.append(state.names)
    }
    return FaultyFile(self, state.withLock { $0.names[name] ?? 0 })
  }

  func remove(_ name: String) throws(SystemError) {
    guard state.withLock({ $0.names[name] != nil || $0.isDown }) else { return }
    try change("remove") { state throws(SystemError) in
      state.names[name] = nil
      state.steps.append(state.names)
    }
  }

  func rename(_ name: String, to other: String) throws(SystemError) {
    try change("rename") { state throws(SystemError) in
      state.names[other] = state.names.removeValue(forKey: name)
      state.steps.append(state.names)
    }
  }

  func sync() throws(SystemError) {
    try change("sync folder") { state throws(SystemError) in
      (state.durableNames, state.steps) = (state.names, [])
    }
  }
}

extension FaultyDisk.State {
  fileprivate mutating func tear(_ number: Int, _ random: inout SeededGenerator) {
    guard var inode = inodes[number] else { return }
    inode.current = inode.durable
    for change in inode.changes {
      for part in change.torn(&random) { part.apply(to: &inode.current) }
    }
    (inode.durable, inode.changes) = (inode.current, [])
    inodes[number] = inode
  }
}

private func copied(_ bytes: Span<UInt8>) -> [UInt8] {
  let block = Block(capacity: bytes.count)
  block.append(bytes)
  return Slice(block).bytes
}

/// A file on the faulty disk.
final class FaultyFile: DiskFile {
  private let disk: FaultyDisk
  private let number: Int

  init(_ disk: FaultyDisk, _ number: Int) { (self.disk, self.number) = (disk, number) }

  func read(_ count: Int, at offset: Int, into block: Block, waits: Bool) throws(SystemError) -> Int? {
    if !waits, disk.state.withLock({ $0.isCold }) { return nil }
    if waits { disk.gate.pass() }
    return try disk.state.withLock { state throws(SystemError) in
      _ = try disk.enter("read", &state, counts: false)
      let content = state.inodes[number]?.current ?? []
      let end = min(content.count, offset + count)
      guard offset < end else { return 0 }
      return block.append(content.span.extracting(offset..<end))
    }
  }

  private func apply(_ call: String, _ change: Change) throws(SystemError) {
    try disk.change(call) { state throws(SystemError) in
      change.apply(to: &state.inodes[number, default: .init()].current)
      state.inodes[number]?.changes.append(change)
    }
  }

  func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError) {
    try apply("write", .bytes(offset, copied(bytes)))
  }

  func allocate(_ count: Int, at offset: Int, grows: Bool) throws(SystemError) {
    if grows { try apply("allocate", .length(offset + count)) }
  }

  func truncate(to size: Int) throws(SystemError) { try apply("truncate", .length(size)) }

  /// After a failure the pages count as clean, and were not written: another try succeeds and means nothing.
  func sync() throws(SystemError) {
    do throws(SystemError) {
      try disk.change("sync") { state throws(SystemError) in
        for change in state.inodes[number]?.changes ?? [] {
          change.apply(to: &state.inodes[number, default: .init()].durable)
        }
        state.inodes[number]?.changes = []
      }
    } catch {
      disk.state.withLock { $0.inodes[number]?.changes = [] }
      throw error
    }
  }

  func size() throws(SystemError) -> (length: Int, taken: Int) {
    try disk.state.withLock { state throws(SystemError) in
      _ = try disk.enter("size", &state, counts: false)
      let count = state.inodes[number]?.current.count ?? 0
      return (count, count)
    }
  }
}

// A directory with some responses, and what may happen to its files behind the store's back.

import RegentLoop
import TestKit

@testable import RegentStorage

/// A directory with some responses, closed cleanly or not, that is copied for each mutation.
struct Filled {
  let folder: TemporaryFolder
  let files: [String: [UInt8]]
  static let options = DiskOptions.small(budget: 2 << 20, segment: 128 << 10)

  init(cleanly: Bool) throws {
    folder = try TemporaryFolder()
    let store = try DiskStore.on(FolderDevice(path: folder.path), Filled.options)
    for number in 0..<24 {
      store.put("key \(number)", Filled.body(number), head: "\(number)")
      store.step()
      if number == 12 { store.engine.withLock { $0.beginSnapshot() } }
    }
    for number in 0..<4 { store.invalidate(store.key(bytes("key \(number)"))) }
    store.step()
    store.put("key 5", Filled.body(105), head: "105")
    store.step()
    if cleanly { store.shut() } else { store.core.device.close() }
    var files: [String: [UInt8]] = [:]
    for name in folder.names("v1") { files[name] = folder.read("v1/\(name)") }
    self.files = files
  }

  static func body(_ number: Int) -> [UInt8] {
    pattern(number * 100..<number * 100 + [0, 10, 700, 5000, 40_000][number % 5])
  }

  /// Puts everything back as it was, but for one file.
  func restore(_ name: String, _ content: [UInt8]?) throws {
    for other in folder.names("v1") { folder.remove("v1/\(other)") }
    for (other, bytes) in files where other != name { try folder.write(bytes, to: "v1/\(other)") }
    folder.remove("v1/starts")
    if let content { try folder.write(content, to: "v1/\(name)") }
  }

  /// Opens what is there; what is wrong with what it hands out, and how many responses that is.
  func open() async throws -> (faults: [String], found: Int) {
    let store = try await Filled.open(folder.path)
    var (faults, found) = ([String](), 0)
    for number in 0..<24 {
      guard let answer = await store.get("key \(number)") else { continue }
      found += 1
      let version = Int(answer.head) ?? -1
      if number < 4 { faults.append("\(number) was removed, and came back") }
      if version != number && !(number == 5 && version == 105) { faults.append("\(number): a wrong head") }
      if answer.body.map({ $0 != Filled.body(version) }) ?? false { faults.append("\(number): wrong bytes") }
    }
    store.put("new", [1])
    store.step()
    if await store.get("new")?.body != [1] { faults.append("does not store any more") }
    store.core.device.close()
    return (faults, found)
  }
}

extension Filled {
  /// A process that another test just began has the descriptors of all, and with them the lock, until it is another program.
  private static func open(_ path: String) async throws -> DiskStore {
    for _ in 0..<100 {
      do {
        return try DiskStore.on(FolderDevice(path: path), options)
      } catch DiskOpenFailure.inUse {
        // Nobody tells when it is.
        try await Task.sleep(for: .milliseconds(10))
      }
    }
    throw DiskOpenFailure.inUse
  }
}

/// The content as somebody else left it: a bit or a byte flipped, a page zeroed, sectors swapped, an end or a stretch of
/// noise.
func mutate(_ content: [UInt8], _ kind: Int, _ random: inout SeededGenerator) -> [UInt8] {
  var content = content
  guard content.count >= 16 else { return content }
  let at = Int.random(in: 0..<content.count, using: &random)
  switch kind {
  case 0: content[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
  case 1: for index in at / 4096 * 4096..<min(content.count, at / 4096 * 4096 + 4096) { content[index] = 0 }
  case 2:
    let (one, other) = (at / 512 * 512, Int.random(in: 0..<content.count, using: &random) / 512 * 512)
    for index in 0..<512 where max(one, other) + index < content.count {
      content.swapAt(one + index, other + index)
    }
  case 3: content += (0..<700).map { _ in UInt8.random(in: 0...255, using: &random) }
  case 4:
    for index in at..<min(content.count, at + 100) {
      content[index] = UInt8.random(in: 0...255, using: &random)
    }
  default: content[at] = ~content[at]
  }
  return content
}

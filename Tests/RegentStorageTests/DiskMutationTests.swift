// What others may do to the files, on the real file system: flipped bits, zeroed pages, swapped blocks, cut and replaced
// files. The store starts, hands out nothing wrong, and touches nothing that is not its own (TRUST F5, F6, F23, F24).

import Glibc
import RegentLoop
import TestKit
import Testing

@testable import RegentStorage

@Suite("A disk store whose files were changed") struct DiskMutationTests {
  @Test("hands out nothing wrong after random mutations", arguments: [true, false])
  func mutations(cleanly: Bool) async throws {
    let filled = try Filled(cleanly: cleanly)
    var random = SeededGenerator(seed: cleanly ? 1 : 2)
    var (found, count) = (0, 0)
    for name in filled.files.keys.sorted() where name != "starts" {
      for kind in 0..<6 {
        for _ in 0..<6 {
          let content = mutate(filled.files[name] ?? [], kind, &random)
          try filled.restore(name, content)
          let outcome = try await filled.open()
          // A zeroed page, or sector, at the end of the removals is like one that was never written.
          let isBlank = name.hasSuffix(".removals") && !cleanly && (kind == 1 || kind == 2)
          let faults = isBlank ? outcome.faults.filter { !$0.contains("came back") } : outcome.faults
          #expect(faults == [], "\(name), mutation \(kind), seed \(cleanly ? 1 : 2)")
          (found, count) = (found + outcome.found, count + 1)
        }
      }
    }
    print("\(count) mutations, \(found) of \(count * 20) responses found, none wrong")
    #expect(found > count * 10)
  }

  @Test(
    "hands out nothing wrong with any file cut at any multiple of 512 bytes, or gone",
    arguments: [true, false])
  func cuts(cleanly: Bool) async throws {
    let filled = try Filled(cleanly: cleanly)
    for (name, content) in filled.files.sorted(by: { $0.key < $1.key }) where name != "starts" {
      for length in stride(from: 0, through: content.count, by: content.count > 20_000 ? 512 * 13 : 512) {
        try filled.restore(name, Array(content[..<length]))
        let outcome = try await filled.open()
        // Nothing can tell of removals that were cut off before a segment or an index bore witness to them.
        let isRemovals = name.hasSuffix(".removals")
        let faults =
          isRemovals && !cleanly ? outcome.faults.filter { !$0.contains("came back") } : outcome.faults
        #expect(faults == [], "\(name) cut at \(length)")
      }
      try filled.restore(name, nil)
      let outcome = try await filled.open()
      let faults =
        name.hasSuffix(".removals") && !cleanly
        ? outcome.faults.filter { !$0.contains("came back") } : outcome.faults
      #expect(faults == [], "\(name) gone")
    }
  }

  @Test("passes over folders, pipes and links that have its names, and leaves what is not its own")
  func foreign() async throws {
    let filled = try Filled(cleanly: true)
    let folder = filled.folder
    try folder.write("precious", to: "precious")
    for kind in 0..<3 {
      for name in ["1.segment", "index.a", "2.segment"] {
        try filled.restore(name, nil)
        switch kind {
        case 0: try folder.makeFolder("v1/\(name)")
        case 1: #expect(unsafe mkfifo(folder.path("v1/\(name)"), 0o600) == 0)
        default: try folder.link("v1/\(name)", to: folder.path("precious"))
        }
        let others = ["notes.txt", "3.segment.bak", "new\nline"].map { "v1/\($0)" }
        for other in others { try folder.write([7], to: other) }
        let outcome = try await filled.open()
        #expect(outcome.faults == [], "\(name), kind \(kind)")
        #expect(name == "index.a" || folder.names("v1").contains(name))
        for other in others { #expect(folder.read(other) == [7]) }
        #expect(folder.read("precious") == bytes("precious"))
      }
    }
  }

  @Test("a folder of another version is left alone, and segments of another directory are not taken")
  func otherInstances() async throws {
    let (one, other) = (try Filled(cleanly: true), try Filled(cleanly: true))
    try one.folder.makeFolder("v2")
    try one.folder.write([1], to: "v2/1.segment")
    for (name, content) in other.files where name.hasSuffix(".segment") || name.hasPrefix("index") {
      try one.restore(name, content)
      #expect(try await one.open().faults == [])
    }
    #expect(one.folder.read("v2/1.segment") == [1])
  }

  @Test("the directory is closed to others, and only one store has it")
  func permissions() throws {
    let folder = try TemporaryFolder()
    unsafe chmod(folder.path, 0o755)
    let device = FolderDevice(path: folder.path)
    try device.open()
    #expect(throws: DiskOpenFailure.inUse) { try FolderDevice(path: folder.path).open() }
    for path in [folder.path, folder.path + "/v1"] {
      var status = stat()
      #expect(unsafe stat(path, &status) == 0)
      #expect(status.st_mode & 0o7777 == 0o700)
    }
    let link = folder.path + "-link"
    #expect(unsafe symlink(folder.path, link) == 0)
    defer { unsafe unlink(link) }
    #expect(throws: DiskOpenFailure.self) { try FolderDevice(path: link).open() }
    device.close()
    #expect(throws: Never.self) { try FolderDevice(path: folder.path).open() }
  }
}

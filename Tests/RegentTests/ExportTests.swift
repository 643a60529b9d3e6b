// Bodies as files: each where its URL says, none outside the tree, none in another one's place.

import Glibc
import RegentCaching
import RegentHTTP
import RegentLoop
import TestKit
import Testing

@testable import Regent
@testable import RegentStorage

@Suite("An exported cache")
struct ExportTests {
  private static func name(_ path: String, _ query: String? = nil, host: String = "a.org") -> String {
    let name = ExportName(host: host, path: Array(path.utf8), query: query.map { Array($0.utf8) })
    return (name.folders + [name.file]).joined(separator: "/")
  }

  @Test(
    "a file is named as its URL, but for what could do harm",
    arguments: [
      ("/", nil, "a.org/index"), ("/a", nil, "a.org/a"), ("/a/", nil, "a.org/a/index"),
      ("/a/b.png", nil, "a.org/a/b.png"), ("/a", "x=1", "a.org/a%3Fx=1"), ("/", "", "a.org/index%3F"),
      ("//a", nil, "a.org/a"), ("/a//b", nil, "a.org/a/%2F/b"), ("/../a", nil, "a.org/%2E./a"),
      ("/a/..", nil, "a.org/a/%2E."), ("/./.", nil, "a.org/%2E/%2E"), ("/.git/x", nil, "a.org/%2Egit/x"),
      ("/-rf", nil, "a.org/%2Drf"), ("/a~head", nil, "a.org/a%7Ehead"),
      ("/%2e%2e/x", nil, "a.org/%252e%252e/x"),
      ("/a b\u{0}\\", nil, "a.org/a%20b%00%5C"), ("/\u{e9}", nil, "a.org/%C3%A9"),
      ("/a/b", "../../x", "a.org/a/b%3F..%2F..%2Fx"), ("/$(x)", nil, "a.org/%24%28x%29"),
    ] as [(String, String?, String)])
  func names(path: String, query: String?, expected: String) {
    #expect(Self.name(path, query) == expected)
  }

  @Test("hosts are names too, and long names end in a hash of all of them")
  func longNames() {
    #expect(Self.name("/a", host: "127.0.0.1:8080") == "127.0.0.1%3A8080/a")
    #expect(Self.name("/a", host: "../..") == "%2E.%2F../a")
    let long = String(repeating: "x", count: 5000)
    let (one, other) = (Self.name("/" + long), Self.name("/" + long + "x"))
    #expect(one != other && one.utf8.count == "a.org/".utf8.count + 90 + 17 && one.contains("x~"))
    let deep = Self.name(String(repeating: "/a", count: 2000))
    #expect(deep.split(separator: "/").count == 2 && deep.utf8.count < 255)
    let wide = Self.name(String(repeating: "/" + String(repeating: "%", count: 40), count: 12))
    #expect(wide.split(separator: "/").count == 2 && wide.utf8.count < 255)
  }

  @Test("no random path leads out of the tree, or is longer than a file system takes", arguments: 1...20)
  func random(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let pieces: [[UInt8]] = [
      [0x2F], [0x2F], [0x2E], [0x2E, 0x2E], [0x2D], [0x7E], [0], [0xFF], [0x25], Array("a".utf8), [0x5C],
      [UInt8](repeating: 0x2E, count: 300), [UInt8](repeating: 0x80, count: 100),
    ]
    for _ in 0..<500 {
      let path = (0..<Int.random(in: 0...60, using: &random)).flatMap { _ in
        pieces.randomElement(using: &random) ?? []
      }
      let query = Bool.random(using: &random) ? path : nil
      let name = ExportName(host: "a.org", path: path, query: query)
      #expect(name.folders.count <= ExportName.deepest + 1, "seed \(seed)")
      for part in name.folders + [name.file] {
        let bytes = Array(part.utf8)
        #expect(
          !bytes.isEmpty && bytes.count <= 200 && bytes[0] != 0x2E && bytes[0] != 0x2D
            && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }, "seed \(seed): \(part)")
      }
    }
  }

  private func files(_ folder: TemporaryFolder, _ path: String, _ prefix: String = "") -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for name in folder.names(path) {
      if let bytes = folder.read("\(path)/\(name)") {
        found[prefix + name] = bytes
      } else {
        found.merge(files(folder, "\(path)/\(name)", prefix + name + "/")) { $1 }
      }
    }
    return found
  }

  @Test("bodies of any length, variants, and a path that is a folder and a file all have their place")
  func export() throws {
    let directory = try FilledDirectory(
      CacheDirectoryTests.configuration, options: .init(budget: 32 << 20))
    let (answered, long) = (
      fields("Cache-Control: max-age=60"), (0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    )
    try directory.keep("http://plain.localhost/a", Array("a".utf8), answered: answered)
    try directory.keep("http://plain.localhost/a/b", Array("a/b".utf8), answered: answered)
    try directory.keep("http://plain.localhost/a/b/", Array("a/b/".utf8), answered: answered)
    try directory.keep("http://plain.localhost/long", long, answered: answered)
    try directory.keep("http://plain.localhost/empty", [], answered: answered)
    for language in ["de", "en"] {
      try directory.keep(
        "http://plain.localhost/v", Array(language.utf8),
        answered: fields("Cache-Control: max-age=60", "Vary: Accept-Language"),
        asked: fields("Accept-Language: \(language)"))
    }
    let opened = try directory.opened()
    let export = try opened.export(to: directory.folder.path("out"))
    #expect(export.files == 7 && export.damaged.isEmpty && export.omitted == 0)
    #expect(export.bytes == 1 + 3 + 4 + long.count + 0 + 4)
    let found = files(directory.folder, "out/127.0.0.1%3A9000")
    #expect(found["a"] == Array("a".utf8) && found["a~/b"] == Array("a/b".utf8))
    #expect(found["a~/b~/index"] == Array("a/b/".utf8) && found["long"] == long && found["empty"] == [])
    let variants = found.filter { $0.key.hasPrefix("v") && !$0.key.hasSuffix("~head") }
    #expect(Set(variants.values) == [Array("de".utf8), Array("en".utf8)] && variants["v"] != nil)
    #expect(found.count == 14 && found.keys.filter { $0.hasSuffix("~head") }.count == 7)
    let head = String(decoding: found["v~head"] ?? [], as: UTF8.self)
    #expect(
      head == """
        http://127.0.0.1:9000/v
        for requests with accept-language: de

        HTTP/1.1 200
        Cache-Control: max-age=60
        Vary: Accept-Language

        """)
    // Nothing is written over it, nor through a link.
    #expect(throws: DaemonError.self) { try opened.export(to: directory.folder.path("out")) }
    try directory.folder.link("link", to: directory.folder.path)
    #expect(throws: DaemonError.self) { try opened.export(to: directory.folder.path("link")) }
    #expect(throws: DaemonError.self) { try opened.export(to: directory.folder.path("none/out")) }
    try directory.folder.makeFolder("empty")
    #expect(try opened.export(to: directory.folder.path("empty")).files == 7)
    #expect(directory.folder.names("cache") == ["lock", "v1"])
  }

  @Test("nothing is left of a body that cannot be read whole")
  func damage() throws {
    let directory = try FilledDirectory(CacheDirectoryTests.configuration)
    let body = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
    for name in ["a", "b", "c"] {
      try directory.keep(
        "http://plain.localhost/\(name)", body, answered: fields("Cache-Control: max-age=60"))
    }
    let opened = try directory.opened()
    let second = try #require(opened.find("http://plain.localhost/b").first)
    let file = "\(directory.path)/\(second.file)"
    let handle = unsafe open(file, O_RDWR)
    defer { close(handle) }
    let place = off_t(second.offset + second.record.recordCount - 1000)
    var byte: UInt8 = 0
    unsafe pread(handle, &byte, 1, place)
    byte ^= 0x10
    unsafe pwrite(handle, &byte, 1, place)
    let export = try opened.export(to: directory.folder.path("out"))
    #expect(export.files == 2 && export.damaged.count == 1)
    #expect(directory.folder.names("out/127.0.0.1%3A9000") == ["a", "a~head", "c", "c~head"])
    var places: [String] = []
    let verification = opened.verify { places.append($0.description) }
    #expect(
      verification.damages == 1
        && places == ["\(second.file) at \(second.offset): the body is not what was written"])
  }
}

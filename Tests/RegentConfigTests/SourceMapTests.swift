// The lines of keys, and what the parser must never see.

import Testing

@testable import RegentConfig

@Suite("Lines of keys")
struct SourceMapTests {
  static let text = #"""
    # a comment with [brackets] and "quotes
    top = 1

    [server] # [not.this]
    listen = [
      "a", # ]
      "]",
    ]
    name = """
    [limits]
    head = "no"
    """
    "quoted key" = 'it''s [x]'
    after.dotted . "key" = 2
    [[domain]]
    name = "a"
    [[domain.fixture]]
    path = '''
    name = "still in a string"'''
    body = "\"[[domain]]\" \\"
      [[domain.fixture]]
      path = "/2"
    [[ domain ]]
    name = { inline = "x" }
    [domain.sub]
    deep = 1
    """#

  @Test(
    "a key is found on its line, whatever stands around it",
    arguments: [
      ([Step.key("top")], 2), ([.key("server")], 4), ([.key("server"), .key("listen")], 5),
      ([.key("server"), .key("name")], 9), ([.key("server"), .key("quoted key")], 13),
      ([.key("server"), .key("after"), .key("dotted"), .key("key")], 14),
      ([.key("domain"), .index(0)], 15), ([.key("domain"), .index(0), .key("name")], 16),
      ([.key("domain"), .index(0), .key("fixture"), .index(0), .key("path")], 18),
      ([.key("domain"), .index(0), .key("fixture"), .index(0), .key("body")], 20),
      ([.key("domain"), .index(0), .key("fixture"), .index(1), .key("path")], 22),
      ([.key("domain"), .index(1), .key("name")], 24),
      ([.key("domain"), .index(1), .key("sub"), .key("deep")], 26),
    ])
  func found(path: [Step], line: Int) { #expect(SourceMap(Self.text).lines[path] == line) }

  @Test("a value without a line of its own has the line of what is around it")
  func around() {
    let map = SourceMap(Self.text)
    #expect(map.line(of: [.key("domain"), .index(1), .key("name"), .key("inline")]) == 24)
    #expect(map.line(of: [.key("server"), .key("nothing")]) == 4)
    #expect(map.line(of: [.key("nothing")]) == nil)
    #expect(map.lines[[.key("limits")]] == nil)
  }

  @Test("carriage returns and a byte order mark do not shift lines")
  func lineEnds() {
    let map = SourceMap("\u{FEFF}[memory]\r\nsize = 1\r\n")
    #expect(map.lines == [[.key("memory")]: 1, [.key("memory"), .key("size")]: 2])
  }

  @Test(
    "what the parser must not see is refused with its line before it gets there",
    arguments: [
      ("\na = " + String(repeating: "[", count: 100_000), "more than 32 brackets are open"),
      ("\na = " + String(repeating: "{a=", count: 100_000), "more than 32 brackets are open"),
      ("\na" + String(repeating: ".a", count: 100_000) + " = 1", "a key has more than 32 parts"),
      ("\n[a" + String(repeating: ".a", count: 100_000) + "]", "a key has more than 32 parts"),
      ("\n[[a" + String(repeating: ".a", count: 100_000) + "]]", "a key has more than 32 parts"),
      ("\n[[[1]]]", "this is not TOML: a header without a name"),
      ("\n[]", "this is not TOML: a header without a name"),
      ("\n[ [a]]", "this is not TOML: a header without a name"),
      ("\na = [}", "this is not TOML: a \"}\" that closes nothing"),
      ("\na = [1]]", "this is not TOML: a \"]\" that closes nothing"),
      ("\na = {]", "this is not TOML: a \"]\" that closes nothing"), ("\na = 1\u{0}", "a NUL character"),
      ("\na = 2026-01-01T-", "no key takes a date or a time"),
      ("\na = [1, 07:32]", "no key takes a date or a time"),
      ("\na = \"\\u0000\"", "a NUL character"),
      ("\n\"\\U00000000\" = 1", "a NUL character"),
    ])
  func refused(text: String, sentence: String) throws {
    let errors = try #require(throws: ConfigurationErrors.self) {
      try Configuration.parse(text, file: "f")
    }
    #expect(errors.description == "f:2: \(sentence)")
  }

  @Test("32 brackets and 32 parts of a key are not too deep")
  func deepest() {
    let brackets = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
    #expect(SourceMap("a = \(brackets)").refusal == nil)
    #expect(SourceMap("a = [\(brackets)]").refusal != nil)
    let key = Array(repeating: "a", count: 32).joined(separator: ".")
    #expect(SourceMap("\(key) = 1").refusal == nil)
    #expect(SourceMap("\(key).a = 1").refusal != nil)
  }
}

// RFC 9111 section 3.1 and RFC 9110 section 7.6.1: the fields of a response that are never stored, those of the
// connection and those that the response itself names in Connection, no-cache="…" and private="…".

import RegentHTTP

extension StoredFields {
  /// The names that a response forbids to store.
  struct Exclusions {
    private var known = Self.always
    private var others: [Range<Int>] = []

    private static let always = FieldNameSet([
      .connection, .keepAlive, .proxyConnection, .proxyAuthenticate, .proxyAuthenticationInfo,
      .proxyAuthorization, .te, .trailer, .transferEncoding, .upgrade, .age, .contentLength, .date,
    ])

    init(_ fields: borrowing Fields) {
      let lists = Self.lists(in: fields)
      guard !lists.isEmpty else { return }
      let candidates = Candidates(fields)
      for list in lists { add(namesIn: list, fields.bytes, candidates) }
    }

    /// Where names are listed that are not to be stored. Most responses have none.
    private static func lists(in fields: Fields) -> [Range<Int>] {
      var lists: [Range<Int>] = []
      if fields.connectionNamesMore {
        for line in fields.lines where line.name == .connection { lists.append(line.valueRange) }
      }
      let source = ResponseDirectives.source(of: fields)
      guard fields.contains(source) else { return lists }
      for line in fields.lines where line.name == source && mayNameFields(fields.bytes, line.valueRange) {
        var scanner = DirectiveScanner(fields.bytes, line.valueRange)
        while let directive = scanner.next() {
          guard let names = directive.argument,
            fields.bytes.has(directive.name, "no-cache") || fields.bytes.has(directive.name, "private")
          else { continue }
          lists.append(names)
        }
      }
      return lists
    }

    /// Whether a directive may have names as its argument: `no-cache` and `private` end like few others. Most fields have
    /// no such directive, and are not taken apart for it.
    private static func mayNameFields(_ bytes: [UInt8], _ value: Range<Int>) -> Bool {
      let bytes = bytes.span
      for index in value where bytes[index] == .equals {
        guard index &- 3 > value.lowerBound, !bytes[index &- 1].isBlank else { return true }
        let letter = bytes[index &- 2].asciiLowercased
        if bytes[index &- 1].asciiLowercased == 0x65, letter == 0x68 || letter == 0x74 { return true }
      }
      return false
    }

    private mutating func add(namesIn range: Range<Int>, _ bytes: [UInt8], _ candidates: Candidates) {
      var scanner = DirectiveScanner(bytes, range)
      while let member = scanner.next() {
        let name = FieldName(bytes[member.name])
        if name != .other {
          known.insert(name)
        } else if candidates.mayContain(bytes, member.name) {
          others.append(member.name)
        }
      }
    }

    func contain(_ line: FieldLine, _ fields: Fields) -> Bool {
      guard line.name == .other else { return known.contains(line.name) }
      return others.contains { fields.bytes.has($0, sameAs: fields.bytes, line.nameRange) }
    }
  }

  /// A filter over the lines with unknown names, so that long lists of names that do not occur cost nothing.
  private struct Candidates {
    private var bits: UInt64 = 0

    init(_ fields: borrowing Fields) {
      for line in fields.lines where line.name == .other { bits |= Self.bit(fields.bytes, line.nameRange) }
    }

    func mayContain(_ bytes: [UInt8], _ name: Range<Int>) -> Bool { bits & Self.bit(bytes, name) != 0 }

    private static func bit(_ bytes: [UInt8], _ name: Range<Int>) -> UInt64 {
      guard let first = bytes[name].first else { return 0 }
      return 1 << UInt64((name.count &* 7 &+ Int(first.asciiLowercased)) & 63)
    }
  }
}

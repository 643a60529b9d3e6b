// The table of known names: each is found again in any case, by a hash that no two names share.

import Testing

@testable import RegentHTTP

@Suite struct FieldNameTests {
  @Test("each known name has a slot of its own")
  func perfectHash() {
    let slots = FieldName.allCases.filter { $0 != .other }.map { name in
      let bytes = FieldName.bytes(of: name)
      return FieldName.slot(
        length: bytes.count, first: bytes[0].asciiLowercased, last: bytes[bytes.count - 1].asciiLowercased)
    }
    #expect(Set(slots).count == slots.count)
  }

  @Test("a known name is recognized in any case, and nothing near it is", arguments: FieldName.allCases)
  func recognition(_ name: FieldName) {
    guard name != .other else { return }
    let bytes = FieldName.bytes(of: name)
    #expect(FieldName(bytes[...]) == name)
    #expect(FieldName(bytes.map(\.asciiLowercased)[...]) == name)
    #expect(FieldName(Array(String(decoding: bytes, as: UTF8.self).uppercased().utf8)[...]) == name)
    #expect(FieldName((bytes + [0x78])[...]) == .other)
    #expect(FieldName(bytes.dropLast()) != name)
    for index in bytes.indices {
      var changed = bytes
      changed[index] = 0x7E
      #expect(FieldName(changed[...]) == .other)
    }
  }

  @Test("a set of names holds what was put in, on both sides of its sixty-fourth")
  func sets() {
    for name in FieldName.allCases {
      let set = FieldNameSet([name])
      #expect(FieldName.allCases.filter(set.contains) == [name])
    }
  }
}

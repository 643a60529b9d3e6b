// A fuzz target for structured fields: nothing traps; a dictionary that is written anew from its members is the same
// dictionary; spaces around it change nothing, and what is no member makes it none.

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
  if !condition { fatalError(broken()) }
}

/// The members as RFC 9651 section 4.1.2 writes them; placeholders where the value was not kept.
private func rewrite(_ dictionary: StructuredDictionary) -> [UInt8] {
  var written: [UInt8] = []
  for member in dictionary.members {
    if !written.isEmpty { written.append(contentsOf: [0x2C, 0x20]) }
    written.append(contentsOf: dictionary.bytes[member.key])
    written.append(0x3D)
    switch member.value {
    case .integer(let number): written.append(contentsOf: "\(number)".utf8)
    case .decimal: written.append(contentsOf: "1.5".utf8)
    case .string(let range): written.append(contentsOf: [0x22] + dictionary.bytes[range] + [0x22])
    case .token(let range): written.append(contentsOf: dictionary.bytes[range])
    case .byteSequence: written.append(contentsOf: "::".utf8)
    case .boolean(let truth): written.append(contentsOf: truth ? "?1".utf8 : "?0".utf8)
    case .date(let seconds): written.append(contentsOf: "@\(seconds)".utf8)
    case .displayString: written.append(contentsOf: "%\"\"".utf8)
    case .innerList: written.append(contentsOf: "()".utf8)
    }
  }
  return written
}

private func checkMembers(_ dictionary: StructuredDictionary) {
  for member in dictionary.members {
    require(!member.key.isEmpty, "a key is empty")
    require(
      dictionary.bytes[member.key].allSatisfy { !(0x41...0x5A).contains($0) && $0 > 0x20 }, "a key is none")
    switch member.value {
    case .integer(let number), .date(let number):
      require(abs(number) <= 999_999_999_999_999, "a number has more than 15 digits")
    case .token(let range): require(!range.isEmpty, "a token is empty")
    default: break
    }
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  guard let dictionary = StructuredDictionary(bytes) else {
    require(StructuredDictionary(bytes + [0x20]) == nil, "a space at the end made a dictionary")
    return 0
  }
  checkMembers(dictionary)
  let written = rewrite(dictionary)
  guard let again = StructuredDictionary(written) else { fatalError("what was written is no dictionary") }
  require(rewrite(again) == written, "a dictionary is no fixed point")
  require(again.members.count == dictionary.members.count, "members were lost")
  let spaced = StructuredDictionary([0x20, 0x20] + bytes + [0x20])
  require(spaced.map(rewrite) == written, "spaces changed the dictionary")
  require(
    StructuredDictionary(bytes + [0x2C]) == nil, "a comma at the end, or one alone, made a dictionary")
  return 0
}

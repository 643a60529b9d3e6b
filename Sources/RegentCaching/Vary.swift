// RFC 9111 section 4.1: the request fields that selected a stored response, kept beside it as bytes, and the
// comparison with a new request. Damaged bytes match nothing; nothing here can trap.
//
// Format: nothing at all without Vary; else the number of names in one byte, and per name: its length in one
// byte, the name in small letters, the value's length in two bytes (0xFFFF: the request had no such field), the
// normalized value.

public import RegentHTTP

/// The selecting request fields of a stored response.
public enum Vary {
  /// The most names that a Vary may have for its response to be stored.
  public static let maximumNames = 16
  /// The longest encoding in bytes.
  public static let maximumBytes = 1024

  static let absent = 0xFFFF

  /// Appends the encoding; nothing without Vary.
  ///
  /// - Returns: false where the response cannot be stored: `*`, a malformed name, too many or too much.
  public static func encode(
    responseFields: Fields, requestFields: Fields, onto encoded: inout [UInt8]
  ) -> Bool {
    guard responseFields.contains(.vary) else { return true }
    let start = encoded.count
    encoded.append(0)
    var names: [Range<Int>] = []
    for line in responseFields.lines where line.name == .vary {
      var scanner = DirectiveScanner(responseFields.bytes, line.valueRange)
      while let member = scanner.next() {
        guard
          append(member, of: responseFields.bytes, requestFields, onto: &encoded, names: &names),
          encoded.count - start <= maximumBytes
        else {
          encoded.removeSubrange(start...)
          return false
        }
      }
    }
    guard !names.isEmpty else {
      encoded.removeLast()
      return true
    }
    encoded[start] = UInt8(names.count)
    return true
  }

  private static func append(
    _ member: Directive, of bytes: [UInt8], _ request: Fields, onto encoded: inout [UInt8],
    names: inout [Range<Int>]
  ) -> Bool {
    let name = member.name
    // `*` is a token character, but as a name it says that the selection cannot be known.
    guard member.argument == nil, !member.isMalformed, name.count < 256, bytes.hasToken(name),
      name.count > 1 || bytes[name.lowerBound] != 0x2A
    else { return false }
    for earlier in names where encoded.has(earlier, sameAs: bytes, name) { return true }
    guard names.count < maximumNames else { return false }
    encoded.append(UInt8(name.count))
    let start = encoded.count
    for index in name { encoded.append(bytes[index].asciiLowercased) }
    names.append(start..<encoded.count)
    appendValue(request, named: name, in: bytes, onto: &encoded)
    return true
  }

  private static func appendValue(
    _ request: Fields, named name: Range<Int>, in bytes: [UInt8], onto encoded: inout [UInt8]
  ) {
    let length = encoded.count
    encoded.append(littleEndian: UInt16(absent))
    let known = FieldName(bytes[name])
    let isPresent = SelectingValue.forEachByte(
      of: request,
      isNamed: {
        $0.name == known && (known != .other || request.bytes.has($0.nameRange, sameAs: bytes, name))
      },
      { byte in
        encoded.append(byte)
        // One byte too many is enough for the caller to refuse.
        return encoded.count - length <= maximumBytes + 2
      })
    guard isPresent else { return }
    let count = UInt16(clamping: encoded.count - length - 2)
    encoded[length] = UInt8(truncatingIfNeeded: count)
    encoded[length + 1] = UInt8(truncatingIfNeeded: count &>> 8)
  }

  /// Whether the request selects the response with this encoding; an empty one matches every request.
  public static func matches(_ encoded: Span<UInt8>, requestFields: Fields) -> Bool {
    guard encoded.count > 0 else { return true }
    var position = 1
    for _ in 0..<encoded[0] {
      guard position < encoded.count else { return false }
      let name = (position + 1)..<(position + 1 + Int(encoded[position]))
      guard name.upperBound + 2 <= encoded.count else { return false }
      let length = Int(encoded[name.upperBound]) | Int(encoded[name.upperBound + 1]) &<< 8
      let start = name.upperBound + 2
      position = length == absent ? start : start + length
      guard position <= encoded.count else { return false }
      guard has(requestFields, encoded, name, value: length == absent ? nil : start..<position) else {
        return false
      }
    }
    return position == encoded.count
  }

  private static func has(
    _ request: Fields, _ encoded: Span<UInt8>, _ name: Range<Int>, value: Range<Int>?
  ) -> Bool {
    var cursor = value?.lowerBound ?? 0
    let end = value?.upperBound ?? 0
    var agrees = true
    let bytes = request.bytes
    let isPresent = SelectingValue.forEachByte(
      of: request,
      isNamed: { $0.nameRange.count == name.count && isSame(bytes, $0.nameRange, encoded, name) },
      { byte in
        agrees = cursor < end && encoded[cursor] == byte
        cursor += 1
        return agrees
      })
    return isPresent == (value != nil) && agrees && cursor == end
  }

  private static func isSame(
    _ bytes: [UInt8], _ field: Range<Int>, _ encoded: Span<UInt8>, _ name: Range<Int>
  ) -> Bool {
    for offset in 0..<name.count
    where bytes[field.lowerBound + offset].asciiLowercased != encoded[name.lowerBound + offset] {
      return false
    }
    return true
  }
}

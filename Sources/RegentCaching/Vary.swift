// RFC 9111 section 4.1: the request fields that selected a stored response, kept beside it as bytes, and the
// comparison with a new request. Damaged bytes match nothing; nothing here can trap.
//
// A response with a content coding varies on Accept-Encoding even where it forgets to say so: a client that did not ask
// as the first one did asks the origin, so that none gets what it cannot decode (section 4.1 permits to be stricter).
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

  /// Whether a response has anything to encode.
  public static func concerns(_ response: Fields) -> Bool {
    response.contains(.vary) || response.contains(.contentEncoding)
  }

  /// Appends the encoding; nothing without Vary and content coding.
  ///
  /// - Returns: false where the response cannot be stored: `*`, a malformed name, too many or too much.
  public static func encode(
    responseFields: Fields, requestFields: Fields, onto encoded: inout [UInt8]
  ) -> Bool {
    guard concerns(responseFields) else { return true }
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
    guard !responseFields.isEncoded || implied(requestFields, &encoded, &names, from: start) else {
      return false
    }
    guard !names.isEmpty else {
      encoded.removeLast()
      return true
    }
    encoded[start] = UInt8(names.count)
    return true
  }

  /// Adds Accept-Encoding as if Vary named it.
  private static func implied(
    _ request: Fields, _ encoded: inout [UInt8], _ names: inout [Range<Int>], from start: Int
  ) -> Bool {
    let name = FieldName.bytes(of: .acceptEncoding)
    let member = Directive(name: 0..<name.count)
    if append(member, of: name, request, onto: &encoded, names: &names), encoded.count - start <= maximumBytes
    {
      return true
    }
    encoded.removeSubrange(start...)
    return false
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
    if isPresent == (value != nil), agrees, cursor == end { return true }
    guard isPresent, let value, value.count <= maximumReordered else { return false }
    return meansTheSame(request, encoded, name, value)
  }

  /// The longest value, in bytes, that is compared by its meaning where the bytes differ.
  static let maximumReordered = 128

  /// Whether lists with weights differ in nothing but case, white space and the order of equals (section 4.1).
  private static func meansTheSame(
    _ request: Fields, _ encoded: Span<UInt8>, _ name: Range<Int>, _ value: Range<Int>
  ) -> Bool {
    let negotiated: [FieldName] = [.acceptLanguage, .acceptEncoding, .acceptCharset]
    guard let known = negotiated.first(where: { isNamed($0, encoded, name) }), request.contains(known) else {
      return false
    }
    var asked: [UInt8] = []
    _ = SelectingValue.forEachByte(
      of: request, isNamed: { $0.name == known },
      { byte in
        asked.append(byte)
        return asked.count <= maximumReordered
      })
    guard asked.count <= maximumReordered, let new = WeightedList(asked) else { return false }
    let kept = value.map { encoded[$0] }
    return WeightedList(kept)?.canonical == new.canonical
  }

  private static func isNamed(_ known: FieldName, _ encoded: Span<UInt8>, _ name: Range<Int>) -> Bool {
    let bytes = FieldName.bytes(of: known)
    return bytes.count == name.count && isSame(bytes, 0..<bytes.count, encoded, name)
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

extension Fields {
  /// Whether the content has a coding (RFC 9110 section 8.4); `identity` is none.
  var isEncoded: Bool {
    guard contains(.contentEncoding) else { return false }
    return lines.contains { line in
      line.name == .contentEncoding && !line.valueRange.isEmpty && !bytes.has(line.valueRange, "identity")
    }
  }
}

// A fuzz target for dates, numbers, names and values: nothing traps; what is read is written to a fixed point.

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
  if !condition { fatalError(broken()) }
}

private func checkDate(_ bytes: ArraySlice<UInt8>, now: Int64) {
  guard let seconds = HTTPDate.parse(bytes, now: now) else { return }
  var written: [UInt8] = []
  HTTPDate.append(seconds, to: &written)
  require(written.count == 29, "a date has another length")
  // The last second of the year 9999 may be read as a leap second, which no date can name.
  if seconds <= 253_402_300_799 {
    require(HTTPDate.parse(written[...], now: now) == seconds, "a date is no fixed point")
  }
}

private func checkWriting(_ seconds: Int64) {
  var written: [UInt8] = []
  HTTPDate.append(seconds, to: &written)
  let clamped = min(max(seconds, -62_167_219_200), 253_402_300_799)
  require(HTTPDate.parse(written[...], now: 0) == clamped, "a written date is read as another")
}

private func checkValue(_ bytes: ArraySlice<UInt8>) {
  guard let value = FieldValue(validating: bytes) else { return }
  var writer = MessageWriter()
  writer.field(.location, value)
  require(writer.bytes.dropLast(2).allSatisfy { $0 != 0 && $0 != 13 && $0 != 10 }, "a value splits")
  require(Array(writer.bytes.dropFirst(10).dropLast(2)) == Array(bytes), "a value was changed")
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  let clock = bytes.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
  checkDate(bytes[...], now: 1_700_000_000)
  checkDate(bytes.dropFirst(8), now: clock)
  checkWriting(clock)
  checkWriting(clock >> 24)
  if let number = Decimal.parse(bytes[...]) {
    var written: [UInt8] = []
    Decimal.append(number, to: &written)
    require(Decimal.parse(written[...]) == number, "a number is no fixed point")
  }
  checkValue(bytes[...])
  let name = FieldName(bytes[...])
  require(name == .other || FieldName.bytes(of: name).equalsIgnoringCase(bytes), "a name is another")
  return 0
}

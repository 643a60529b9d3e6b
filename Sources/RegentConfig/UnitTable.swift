// Numbers with units, for sizes and durations alike: one exact parser, checked for overflow.

/// The units that one kind of quantity may be written in.
struct UnitTable: Sendable {
  /// A unit's name and how many of the smallest unit it stands for.
  struct Unit: Sendable {
    let name: String
    let scale: Int

    init(_ name: String, _ scale: Int) {
      self.name = name
      self.scale = scale
    }
  }

  let units: [Unit]

  /// The quantity in the smallest unit: digits, perhaps a fraction, perhaps a space, and a unit.
  /// Nil for anything else, for what does not fit, and for a fraction of the smallest unit.
  func parse(_ text: String) -> Int? {
    let whole = text.utf8.prefix { isDigit($0) }
    var rest = text.utf8[whole.endIndex...]
    var fraction = rest.prefix(0)
    if rest.first == UInt8(ascii: ".") {
      fraction = rest.dropFirst().prefix { isDigit($0) }
      guard !fraction.isEmpty else { return nil }
      rest = rest[fraction.endIndex...]
    }
    if rest.first == UInt8(ascii: " ") {
      rest = rest.dropFirst()
      guard !rest.isEmpty else { return nil }
    }
    guard !whole.isEmpty, let unit = units.first(where: { $0.name.utf8.elementsEqual(rest) })
    else { return nil }
    return scaled(whole: whole, fraction: fraction, by: unit.scale)
  }

  /// The quantity in the first of `names` that leaves no rest; nil if there is none.
  func text(_ quantity: Int, units names: [String]) -> String? {
    for name in names {
      guard let unit = units.first(where: { $0.name == name }) else { continue }
      if quantity >= unit.scale, quantity % unit.scale == 0 {
        return "\(quantity / unit.scale) \(name)"
      }
    }
    return nil
  }

  private func scaled(whole: Substring.UTF8View, fraction: Substring.UTF8View, by scale: Int) -> Int? {
    guard let digits = number(whole), let parts = number(fraction) else { return nil }
    guard let units = product(digits, scale) else { return nil }
    guard !fraction.isEmpty else { return units }
    var tenths = 1
    for _ in fraction {
      guard let next = product(tenths, 10) else { return nil }
      tenths = next
    }
    guard let dividend = product(parts, scale), dividend % tenths == 0 else { return nil }
    let (sum, overflow) = units.addingReportingOverflow(dividend / tenths)
    return overflow ? nil : sum
  }

  private func number(_ digits: Substring.UTF8View) -> Int? {
    var number = 0
    for digit in digits {
      guard let tens = product(number, 10) else { return nil }
      let (sum, overflow) = tens.addingReportingOverflow(Int(digit &- UInt8(ascii: "0")))
      guard !overflow else { return nil }
      number = sum
    }
    return number
  }

  private func product(_ left: Int, _ right: Int) -> Int? {
    let (product, overflow) = left.multipliedReportingOverflow(by: right)
    return overflow ? nil : product
  }

  private func isDigit(_ byte: UInt8) -> Bool {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
  }
}

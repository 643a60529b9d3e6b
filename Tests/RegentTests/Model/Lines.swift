// Field lines as the reference model reads them: strings and dictionaries, one reading per rule, nothing of Regent's.
// The model is written from the RFCs' text and must never borrow from the code that it judges.

/// The lines of a message, names in small letters.
struct Lines: Sendable, Equatable {
  var all: [(name: String, value: String)] = []

  static func == (one: Lines, other: Lines) -> Bool {
    one.all.count == other.all.count && zip(one.all, other.all).allSatisfy { $0 == $1 }
  }

  mutating func add(_ name: String, _ value: String) { all.append((name, value)) }

  func values(_ name: String) -> [String] { all.filter { $0.name == name }.map(\.value) }
  func first(_ name: String) -> String? { all.first { $0.name == name }?.value }
  func has(_ name: String) -> Bool { all.contains { $0.name == name } }
  /// The conditions that a cache answers itself, by their lines.
  var conditions: [String] { values("if-none-match") + values("if-modified-since") }
  var names: Set<String> { Set(all.map(\.name)) }

  /// As they would stand in a message.
  var text: String { all.map { "\($0.name): \($0.value)\r\n" }.joined() }
}

/// RFC 9110 section 5.6.1: the members of a list, where a comma within a quoted string does not count.
func members(of values: [String]) -> [String] {
  var result: [String] = []
  for value in values {
    var member = ""
    var isQuoted = false
    for character in value {
      if character == "\"" { isQuoted.toggle() }
      if character == ",", !isQuoted {
        result.append(trimmed(member))
        member = ""
      } else {
        member.append(character)
      }
    }
    result.append(trimmed(member))
  }
  return result.filter { !$0.isEmpty }
}

/// A text without the blanks around it.
func trimmed(_ text: String) -> String {
  var text = Substring(text)
  while text.first == " " || text.first == "\t" { text.removeFirst() }
  while text.last == " " || text.last == "\t" { text.removeLast() }
  return String(text)
}

/// A time as RFC 9110 section 5.6.7 writes it.
func httpDate(_ time: Int64) -> String {
  let days = time >= 0 ? time / 86_400 : (time - 86_399) / 86_400
  let second = time - days * 86_400
  // Counted from 2020 on, which is shorter.
  var year: Int64 = 2020
  var rest = days - 18_262
  func length(_ year: Int64) -> Int64 {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365
  }
  while rest < 0 {
    year -= 1
    rest += length(year)
  }
  while rest >= length(year) {
    rest -= length(year)
    year += 1
  }
  var month = 0
  let lengths: [Int64] = [31, length(year) - 337, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  while rest >= lengths[month] {
    rest -= lengths[month]
    month += 1
  }
  let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
  let clock = "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
  return "\(weekdays[Int((days % 7 + 7) % 7)]), \(two(rest + 1)) \(names[month]) \(year) \(clock) GMT"
}

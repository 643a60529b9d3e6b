// The age of a response at arrival and later (RFC 9111 section 4.2.3, 5.1; TRUST B13, F12).

import RegentCaching
import Testing

struct AgeRow: Row {
  var rule: String
  var response: String
  var age: Int32
  var delay: Int64 = 0

  init(_ rule: String, _ response: String, _ age: Int32, delay: Int64 = 0) {
    self.rule = rule
    self.response = response
    self.age = age
    self.delay = delay
  }

  static let all: [AgeRow] = [
    .init("9111 4.2.3 a response of this moment has age 0", "", 0),
    .init("9111 4.2.3 apparent age is arrival minus Date", "Date: {-30}", 30),
    .init("9111 4.2.3 a Date in the future is no negative age", "Date: {30}", 0),
    .init("9111 4.2.3 the Age field counts", "Age: 40", 40),
    .init("9111 4.2.3 the delay of the response is added to Age", "Age: 40", 45, delay: 5),
    .init("9111 4.2.3 the delay counts without Age", "", 5, delay: 5),
    .init("9111 4.2.3 the greater of both wins: Date", "Date: {-90}\nAge: 40", 90),
    .init("9111 4.2.3 the greater of both wins: Age", "Date: {-30}\nAge: 40", 40),
    .init("9111 4.2.3 a clock that went back between gives no delay", "Age: 40", 40, delay: -5),
    .init("9111 5.1 the first member of a list counts", "Age: 40, 7", 40),
    .init("9111 5.1 the first of two lines counts", "Age: 40\nAge: 7", 40),
    .init("9111 5.1 white space before the comma is not part of it", "Age: 40 , 7", 40),
    .init("9111 5.1 an Age that is no number is ignored", "Age: old", 0),
    .init("9111 5.1 a negative Age is ignored", "Age: -40", 0),
    .init("9111 5.1 a fractional Age is ignored", "Age: 1.5", 0),
    .init("9111 5.1 a quoted Age is ignored", "Age: \"60\"", 0),
    .init("9111 5.1 an empty Age is ignored", "Age: ", 0),
    .init("9111 5.1 a parameter makes it none", "Age: 60;x=1", 0),
    .init("9111 5.1 a first member that is no number is not replaced by the second", "Age: x, 60", 0),
    .init("9111 5.1 nor by the second line", "Age: x\nAge: 60", 0),
    .init("9110 5.6.1.2 an empty first member is none", "Age: , ,60", 60),
    .init("9111 5.1 leading zeros are digits", "Age: 0060", 60),
    .init("9111 5.1 a sign makes it none", "Age: +60", 0),
    .init("9111 5.1 the same twice is the same", "Age: 60\nAge: 60", 60),
    .init("9111 4.2.3 a Date that cannot be read is the arrival", "Date: then\nAge: 7", 7),
    .init("B13 2^31 - 1 is itself", "Age: 2147483647", .max),
    .init("B13 Age 2^31 is clamped", "Age: 2147483648", .max),
    .init("B13 Age 2^63 with a delay does not trap", "Age: 9223372036854775808", .max, delay: 9),
    .init("B13 Age of 400 digits is clamped", "Age: " + String(repeating: "9", count: 400), .max),
    .init("B13 a Date of the year 0001 is clamped", "Date: Mon, 01 Jan 0001 00:00:00 GMT", .max),
  ]
}

@Test("the initial age follows from Date, Age and the delay", arguments: AgeRow.all)
func initialAge(row: AgeRow) {
  #expect(metadata(row.response, delay: row.delay).initialAge == row.age)
}

@Test("a stored response ages by the time that it has been here")
func residentTime() {
  let stored = metadata("Age: 40")
  #expect(stored.currentAge(now: arrival) == 40)
  #expect(stored.currentAge(now: arrival + 7) == 47)
  #expect(stored.currentAge(now: arrival - 7) == 40)
  #expect(stored.currentAge(now: .max) == .max)
  #expect(stored.currentAge(now: .min) == 40)
}

@Test("after a 304, Date and Age are the 304's own")
func renewedAge() {
  let merged = fields("Cache-Control: max-age=60\nETag: \"a\"")
  let renewed = StoredMetadata(
    status: 200, fields: merged, received: fields("Date: {95}\nAge: 2"), requestTime: arrival + 99,
    responseTime: arrival + 100, policy: CachePolicy())
  #expect(renewed.date == arrival + 95)
  #expect(renewed.initialAge == 5)
  #expect(renewed.lifetime == 60)
}

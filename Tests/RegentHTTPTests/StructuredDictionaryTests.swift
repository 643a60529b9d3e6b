// Dictionaries of structured fields: what is one, what is none, and what its members are (RFC 9651 sections 3.2, 4.2).

import RegentHTTP
import Testing

struct DictionaryRow: CustomTestStringConvertible, Sendable {
  var rule: String
  var value: String
  /// The members as `key=value`; nil where there is no dictionary.
  var members: [String]?

  init(_ rule: String, _ value: String, _ members: [String]?) {
    (self.rule, self.value, self.members) = (rule, value, members)
  }

  var testDescription: String { rule }

  static let members: [DictionaryRow] = [
    .init("9651 3.2 a key without value is true", "a", ["a=?1"]),
    .init("9651 3.2 several members", "a=1, b=2,c=3", ["a=1", "b=2", "c=3"]),
    .init("9651 3.2 a repeated key comes again, the last one counts", "a=1, b, a=2", ["a=1", "b=?1", "a=2"]),
    .init("9651 4.2 an empty value has no members", "", []),
    .init("9651 4.2 spaces alone have no members", "   ", []),
    .init("9651 4.2 spaces around it", "  a=1  ", ["a=1"]),
    .init("9651 4.2.2 white space around commas", "a=1 \t,\t b=2", ["a=1", "b=2"]),
    .init("9651 4.2.2 a comma at the end is none", "a=1,", nil),
    .init("9651 4.2.2 a comma at the start is none", ",a=1", nil),
    .init("9651 4.2.2 two commas are none", "a=1,,b=2", nil),
    .init("9651 4.2.2 a member without a comma is none", "a=1 b=2", nil),
    .init("9651 4.2.2 a space before the equals sign is none", "a =1", nil),
    .init("9651 4.2.2 a space after the equals sign is none", "a= 1", nil),
    .init("9651 4.2.2 no value after the equals sign is none", "a=", nil),
    .init("9651 4.2.2 no value before a comma is none", "a=,b=1", nil),
    .init("9651 4.2.2 a tab at the start is none", "\ta=1", nil),
    .init("9651 4.2.3.3 a key may begin with an asterisk", "*a_-.*9=1", ["*a_-.*9=1"]),
    .init("9651 4.2.3.3 a capital letter is none", "A=1", nil),
    .init("9651 4.2.3.3 a capital letter within is none", "aB=1", nil),
    .init("9651 4.2.3.3 a key does not begin with a digit", "9=1", nil),
    .init("9651 4.2.3.3 a key does not begin with a hyphen", "-a=1", nil),
    .init("9651 4.2.3.3 no key at all", "=1", nil),
    .init("9651 4.2.3.3 other signs are none", "a=10000, &&&&&", nil),
  ]

  static let numbers: [DictionaryRow] = [
    .init("9651 4.2.4 zero", "a=0", ["a=0"]),
    .init("9651 4.2.4 minus zero", "a=-0", ["a=0"]),
    .init("9651 4.2.4 leading zeros", "a=0042", ["a=42"]),
    .init("9651 4.2.4 a negative number", "a=-42", ["a=-42"]),
    .init("9651 4.2.4 15 digits", "a=999999999999999", ["a=999999999999999"]),
    .init("9651 4.2.4 15 digits and a sign", "a=-999999999999999", ["a=-999999999999999"]),
    .init("9651 4.2.4 16 digits are none", "a=1000000000000000", nil),
    .init("9651 4.2.4 400 digits are none", "a=" + String(repeating: "9", count: 400), nil),
    .init("9651 4.2.4 a plus sign is none", "a=+1", nil),
    .init("9651 4.2.4 a sign alone is none", "a=-", nil),
    .init("9651 4.2.4 two signs are none", "a=--1", nil),
    .init("9651 4.2.4 letters after digits are none", "a=1s", nil),
    .init("9651 4.2.4 a decimal", "a=1.5", ["a=decimal"]),
    .init("9651 4.2.4 a decimal of 12 and 3 digits", "a=-123456789012.123", ["a=decimal"]),
    .init("9651 4.2.4 13 digits before the point are none", "a=1234567890123.1", nil),
    .init("9651 4.2.4 4 digits behind the point are none", "a=1.1234", nil),
    .init("9651 4.2.4 none behind the point are none", "a=1.", nil),
    .init("9651 4.2.4 none before the point are none", "a=.1", nil),
    .init("9651 4.2.4 two points are none", "a=1.1.1", nil),
    .init("9651 4.2.9 a date", "a=@1659578233", ["a=@1659578233"]),
    .init("9651 4.2.9 a date before 1970", "a=@-1", ["a=@-1"]),
    .init("9651 4.2.9 a date with a fraction is none", "a=@1.5", nil),
    .init("9651 4.2.9 a date without a number is none", "a=@x", nil),
  ]

  static let texts: [DictionaryRow] = [
    .init("9651 4.2.5 a string", #"a="b c""#, [#"a="b c""#]),
    .init("9651 4.2.5 an empty string", #"a="""#, [#"a="""#]),
    .init("9651 4.2.5 escapes", #"a="\"\\""#, [#"a="\"\\""#]),
    .init("9651 4.2.5 a comma within a string", #"a="b, c=1", d"#, [#"a="b, c=1""#, "d=?1"]),
    .init("9651 4.2.5 another escape is none", #"a="\n""#, nil),
    .init("9651 4.2.5 an unclosed string is none", #"a="b"#, nil),
    .init("9651 4.2.5 an escape at the end is none", #"a="b\"#, nil),
    .init("9651 4.2.5 a byte above ASCII is none", "a=\"é\"", nil),
    .init("9651 4.2.5 a tab within a string is none", "a=\"\t\"", nil),
    .init("9651 4.2.5 single quotes are none", "a='b'", nil),
    .init("9651 4.2.6 a token", "a=b", ["a=b"]),
    .init("9651 4.2.6 a token of many signs", "a=*b:/c!#$%&'+-.^_`|~9", ["a=*b:/c!#$%&'+-.^_`|~9"]),
    .init("9651 4.2.6 a token does not begin with a sign", "a=&b", nil),
    .init("9651 4.2.7 a byte sequence", "a=:aGVsbG8=:", ["a=bytes"]),
    .init("9651 4.2.7 an empty byte sequence", "a=::", ["a=bytes"]),
    .init("9651 4.2.7 padding may be left out", "a=:aGVsbG8:", ["a=bytes"]),
    .init("9651 4.2.7 padding in the middle is none", "a=:aG=VsbG8=:", nil),
    .init("9651 4.2.7 too much padding is none", "a=:aGVsbG8==:", nil),
    .init("9651 4.2.7 another alphabet is none", "a=:a-_b:", nil),
    .init("9651 4.2.7 an unclosed one is none", "a=:aGVs", nil),
    .init("9651 4.2.8 false", "a=?0", ["a=?0"]),
    .init("9651 4.2.8 true", "a=?1", ["a=?1"]),
    .init("9651 4.2.8 another digit is none", "a=?2", nil),
    .init("9651 4.2.8 the word is a token", "a=true", ["a=true"]),
    .init("9651 4.2.10 a display string", #"a=%"f%c3%bc""#, ["a=display"]),
    .init("9651 4.2.10 capital digits are none", #"a=%"f%C3%BC""#, nil),
    .init("9651 4.2.10 what is not UTF-8 is none", #"a=%"%c3""#, nil),
    .init("9651 4.2.10 a broken escape is none", #"a=%"%c""#, nil),
    .init("9651 4.2.10 no quote is none", "a=%b", nil),
    .init("9651 4.2.10 an unclosed one is none", #"a=%"b"#, nil),
  ]

  static let structures: [DictionaryRow] = [
    .init("9651 4.2.1.2 an inner list", "a=(1 2)", ["a=list"]),
    .init("9651 4.2.1.2 an empty inner list", "a=( )", ["a=list"]),
    .init("9651 4.2.1.2 with parameters inside and behind", "a=(1;b 2;c=3);d", ["a=list"]),
    .init("9651 4.2.1.2 commas within it are none", "a=(1, 2)", nil),
    .init("9651 4.2.1.2 items without a space are none", "a=(\"b\"\"c\")", nil),
    .init("9651 4.2.1.2 an unclosed one is none", "a=(1 2", nil),
    .init("9651 4.2.1.2 one within another is none", "a=((1))", nil),
    .init("9651 4.2.3.2 parameters are left out", "a=1;b;c=2 , d", ["a=1", "d=?1"]),
    .init("9651 4.2.3.2 parameters of a key alone", "a;b=1", ["a=?1"]),
    .init("9651 4.2.3.2 spaces behind the semicolon", "a=1;  b=2", ["a=1"]),
    .init("9651 4.2.3.2 a space before it is none", "a=1 ;b=2", nil),
    .init("9651 4.2.3.2 no parameter behind it is none", "a=1;", nil),
    .init("9651 4.2.3.2 a parameter with a capital is none", "a=1;B", nil),
    .init("9651 4.2.3.2 a parameter's value must be one", "a=1;b=", nil),
    .init("9651 4.2.3.2 an inner list is no parameter", "a=1;b=(1)", nil),
  ]
}

@Test(
  "a structured field is a dictionary with these members, or none",
  arguments: DictionaryRow.members + DictionaryRow.numbers + DictionaryRow.texts + DictionaryRow.structures)
func dictionary(row: DictionaryRow) {
  #expect(StructuredDictionary(Array(row.value.utf8)).map(written) == row.members)
}

@Test("several lines are one value with commas between them (RFC 9651 section 4.2)")
func dictionaryLines() throws {
  func read(_ values: String...) -> [String]? {
    var fields = Fields()
    for value in values { fields.append(.cdnCacheControl, value.utf8) }
    return StructuredDictionary(fields, .cdnCacheControl).map(written)
  }
  #expect(read("a=1", "b") == ["a=1", "b=?1"])
  #expect(read("a=1") == ["a=1"])
  #expect(read("a=1", "") == nil)
  #expect(read("a=1", "b=&") == nil)
  #expect(read(#"a="b"#, #"c""#) == [#"a="b, c""#])
  #expect(read() == nil)
}

@Test("of members with one key the last one counts, as a look by key shows (RFC 9651 section 3.2)")
func dictionaryLookup() throws {
  let dictionary = try #require(StructuredDictionary(Array("a=1, b, a=2".utf8)))
  #expect(dictionary.value(of: "a") == .integer(2))
  #expect(dictionary.value(of: "b") == .boolean(true))
  #expect(dictionary.value(of: "c") == nil)
}

@Test(
  "a byte sequence is the bytes that its base64 stands for (RFC 9651 section 4.2.7, RFC 4648 section 10)",
  arguments: [
    ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE=", "fooba"),
    ("Zm9vYmFy", "foobar"), ("Zg", "f"), ("Zm8", "fo"), ("Zh==", "f"), ("+/+/", "\u{FB}\u{FF}\u{BF}"),
  ])
func byteSequence(text: String, bytes: String) throws {
  let dictionary = try #require(StructuredDictionary(Array("a=1, b=:\(text):;c".utf8)))
  guard case .byteSequence(let range)? = dictionary.value(of: "b") else { throw Unexpected() }
  #expect(dictionary.decoded(byteSequence: range) == bytes.unicodeScalars.map { UInt8($0.value) })
}

private struct Unexpected: Error {}

private func written(_ dictionary: StructuredDictionary) -> [String] {
  func text(_ range: Range<Int>) -> String { String(decoding: dictionary.bytes[range], as: UTF8.self) }
  return dictionary.members.map { member in
    let value =
      switch member.value {
      case .integer(let number): "\(number)"
      case .decimal: "decimal"
      case .string(let range): "\"\(text(range))\""
      case .token(let range): text(range)
      case .byteSequence: "bytes"
      case .boolean(let truth): truth ? "?1" : "?0"
      case .date(let seconds): "@\(seconds)"
      case .displayString: "display"
      case .innerList: "list"
      }
    return "\(text(member.key))=\(value)"
  }
}

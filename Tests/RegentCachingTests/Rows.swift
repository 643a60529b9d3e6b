// What the tables share: rows that name their rule, fields written as text, and times around one moment.

import RegentCaching
import RegentHTTP
import Testing

/// The moment at which the tables' responses arrive: Tue, 14 Nov 2023 22:13:20 GMT.
let arrival: Int64 = 1_700_000_000

/// A date field's value, so many seconds after ``arrival``.
func date(_ offset: Int64 = 0) -> String {
  var bytes: [UInt8] = []
  HTTPDate.append(arrival + offset, to: &bytes)
  return String(decoding: bytes, as: UTF8.self)
}

/// Fields from lines of `Name: value`; `{N}` in a value is the date N seconds after ``arrival``.
func fields(_ text: String) -> Fields {
  var result = Fields()
  for line in text.split(separator: "\n") {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = Array(parts[0].utf8)
    let value = expand(parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
    if !result.append(named: name, value.utf8) { Issue.record("\(line) cannot stand in a message") }
  }
  return result
}

private func expand(_ value: String) -> String {
  guard let open = value.firstIndex(of: "{"), let close = value.firstIndex(of: "}"),
    let offset = Int64(value[value.index(after: open)..<close])
  else { return value }
  return value[..<open] + date(offset) + value[value.index(after: close)...]
}

/// The lines of fields as text, for comparison.
func text(_ fields: Fields) -> [String] {
  fields.lines.map {
    String(decoding: fields.name(of: $0), as: UTF8.self) + ": "
      + String(decoding: fields.value(of: $0), as: UTF8.self)
  }
}

/// The metadata of a 200 that arrived at ``arrival``, with a Date of that moment unless it has its own.
func metadata(
  _ response: String, status: UInt16 = 200, policy: CachePolicy = CachePolicy(), delay: Int64 = 0,
  hasQuery: Bool = false, request: String = ""
) -> StoredMetadata {
  let dated = response.contains("Date:") ? response : "Date: {0}\n" + response
  return StoredMetadata(
    status: status, fields: fields(dated), requestFields: fields(request), requestTime: arrival - delay,
    responseTime: arrival, policy: policy, hasQuery: hasQuery)
}

extension CachePolicy {
  static func of(
    _ kind: Kind = .http, ttl: Int32? = nil, stale: Int32? = nil, staleIfError: Int32? = nil
  ) -> CachePolicy {
    CachePolicy(kind: kind, ttl: ttl, stale: stale, staleIfError: staleIfError)
  }
}

/// A row that is shown by the rule that it proves.
protocol Row: CustomTestStringConvertible, Sendable {
  var rule: String { get }
}

extension Row {
  var testDescription: String { rule }
}

/// ``Vary/matches(_:requestFields:)`` for bytes in an array: a span cannot stand inside an expectation.
func selects(_ encoded: [UInt8], _ request: Fields) -> Bool {
  Vary.matches(encoded.span, requestFields: request)
}

func place(of name: FieldName, in block: [UInt8]) -> [UInt8]? {
  StoredFields.value(of: name, in: block.span).map { Array(block[$0]) }
}

func decoded(_ bytes: [UInt8]) -> StoredMetadata? { StoredMetadata.decode(bytes.span) }

// What a key can hold: how each type is read from a written value, named in a message, and written.

import RegentCaching

/// Why a written value is not what its key takes.
enum KeyFailure: Error {
  /// It is of another type or form.
  case mismatch(nearest: String?)
  /// It has the right form, but this is wrong with it.
  case refused(value: String, because: String)
}

/// A type that a key can hold.
protocol KeyValue: Sendable {
  /// What a message says that the value must be.
  static var expectation: String { get }
  /// The value that `node` stands for.
  static func read(_ node: Node) throws(KeyFailure) -> Self
  /// The value as TOML; nil for one that is not there.
  var toml: String? { get }
}

extension KeyValue {
  /// `value`, or the failure that says that the form is wrong.
  static func expect(_ value: Self?, nearest: String? = nil) throws(KeyFailure) -> Self {
    guard let value else { throw .mismatch(nearest: nearest) }
    return value
  }
}

extension Bool: KeyValue {
  static var expectation: String { "true or false" }
  static func read(_ node: Node) throws(KeyFailure) -> Bool { try expect(node.boolean) }
  var toml: String? { description }
}

extension Int: KeyValue {
  static var expectation: String { "a whole number" }
  static func read(_ node: Node) throws(KeyFailure) -> Int { try expect(node.integer) }
  var toml: String? { description }
}

extension String: KeyValue {
  static var expectation: String { "a text in quotation marks" }
  static func read(_ node: Node) throws(KeyFailure) -> String { try expect(node.string) }
  var toml: String? { quoted }
}

extension ByteCount: KeyValue {
  static var expectation: String { "a size such as \"64 KiB\"" }
  static func read(_ node: Node) throws(KeyFailure) -> ByteCount {
    // A bare number counts bytes; below zero it is no size.
    if case .integer(let bytes) = node { return try expect(bytes < 0 ? nil : ByteCount(bytes: bytes)) }
    return try expect(node.string.flatMap { ByteCount($0) })
  }
  var toml: String? { description.quoted }
}

extension Duration: KeyValue {
  static var expectation: String { "a duration with its unit, such as \"250ms\", \"10s\" or \"5m\"" }
  static func read(_ node: Node) throws(KeyFailure) -> Duration {
    try expect(node.string.flatMap { Duration(configured: $0) })
  }
  var toml: String? { configured.quoted }
}

extension Optional: KeyValue where Wrapped: KeyValue {
  static var expectation: String { Wrapped.expectation }
  static func read(_ node: Node) throws(KeyFailure) -> Wrapped? { try Wrapped.read(node) }
  var toml: String? { self?.toml }
}

extension Array: KeyValue where Element: KeyValue {
  static var expectation: String { "a list, each element \(Element.expectation)" }
  static func read(_ node: Node) throws(KeyFailure) -> [Element] {
    guard let nodes = node.array else { throw .mismatch(nearest: nil) }
    var elements: [Element] = []
    for node in nodes {
      do {
        elements.append(try Element.read(node))
      } catch .mismatch(let nearest) {
        let hint = nearest.map { ", perhaps \($0.quoted)" } ?? ""
        throw .refused(value: node.shown, because: "each element must be \(Element.expectation)\(hint)")
      }
    }
    return elements
  }
  var toml: String? { "[" + compactMap(\.toml).joined(separator: ", ") + "]" }
}

/// A closed list of words.
protocol Word: KeyValue, RawRepresentable<String>, CaseIterable {}

extension Word {
  static var expectation: String { "one of " + words.map(\.quoted).joined(separator: ", ") }
  static var words: [String] { allCases.map(\.rawValue) }
  static func read(_ node: Node) throws(KeyFailure) -> Self {
    let text = node.string
    let nearest = text.flatMap { Nearest.candidate(to: $0, among: words) }
    return try expect(text.flatMap { Self(rawValue: $0) }, nearest: nearest)
  }
  var toml: String? { rawValue.quoted }
}

extension Configuration.Log.Level: Word {}
extension Configuration.Disk.Verification: Word {}
extension Configuration.Disk.Admission: Word {}
extension Domain.NegotiationField: Word {}
extension Domain.Policy: Word {}
extension CachePolicy.Scope: Word {}
extension CachePolicy.SetCookie: Word {}
extension ProviderEntry.Kind: Word {}

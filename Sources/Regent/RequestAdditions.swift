// What a domain's owner adds to every request to the origin: field lines, query parameters, and for whom Regent asks.
// A client's own value wins. The values may be secrets: they are written to origins, and nowhere else.

import RegentConfig
import RegentHTTP
import RegentLoop

/// What is added to a domain's requests.
struct RequestAdditions: Sendable {
  let forwarded: RegentConfig.Domain.Forwarded
  private let fields: [Field]
  private let query: [Parameter]

  private struct Field {
    let known: FieldName
    let name: [UInt8]
    let value: FieldValue

    func stands(in sent: Fields) -> Bool {
      if known != .other { return sent.contains(known) }
      return sent.lines.contains { $0.name == .other && sent.name(of: $0).equalsIgnoringCase(name) }
    }
  }

  private struct Parameter {
    let name: [UInt8]
    /// Name, equals sign and value.
    let pair: [UInt8]
  }

  init(_ manners: RegentConfig.Domain.Manners = .init()) {
    forwarded = manners.forwarded
    fields = manners.fields.compactMap { field in
      let name = Array(field.name.utf8)
      guard let value = FieldValue(validating: field.value.plainBytes) else { return nil }
      return Field(known: FieldName(name[...]), name: name, value: value)
    }
    query = manners.query.map { parameter in
      let name = Array(parameter.name.utf8)
      return Parameter(name: name, pair: name + [0x3D] + parameter.value.queryBytes)
    }
  }

  /// Whether there are parameters to be added.
  var hasQuery: Bool { !query.isEmpty }

  /// Writes the field lines whose names are not among `sent`.
  func writeFields(missingFrom sent: Fields, to writer: inout MessageWriter) {
    for field in fields where !field.stands(in: sent) {
      if field.known == .other {
        writer.field(named: field.name[...], field.value)
      } else {
        writer.field(field.known, field.value)
      }
    }
  }

  /// The target with the parameters that its query lacks.
  func completed(target: consuming [UInt8], query asked: ArraySlice<UInt8>?) -> [UInt8] {
    guard !query.isEmpty else { return target }
    let names = (asked ?? []).split(separator: 0x26).map { $0.prefix { $0 != 0x3D } }
    var hasQuery = asked != nil
    // Behind "?" or "&" nothing is to be parted.
    var isOpen = hasQuery && (asked?.last == nil || asked?.last == 0x26)
    for parameter in query where !names.contains(where: { $0.elementsEqual(parameter.name) }) {
      if !isOpen { target.append(hasQuery ? 0x26 : 0x3F) }
      target.append(contentsOf: parameter.pair)
      hasQuery = true
      isOpen = false
    }
    return target
  }

  /// Writes for whom Regent asks.
  func writeForwarding(of request: Request, to writer: inout MessageWriter) {
    guard forwarded != .none else { return }
    let client = request.client?.value.stream.peerAddress
    let host = request.fields.first(.host).map(Array.init) ?? []
    switch forwarded {
    case .none: break
    case .xForwarded:
      if let client { writer.field(.xForwardedFor, bytes: Array(client.utf8)) }
      if !host.isEmpty { writer.field(.xForwardedHost, bytes: host) }
      writer.field(.xForwardedProto, "http")
    case .forwarded:
      // RFC 7239 section 6: an IPv6 address stands in brackets and quotation marks; a host's colon wants these too.
      let node = client.map { $0.contains(":") ? "\"[\($0)]\"" : $0 } ?? "unknown"
      let said = host.isEmpty ? "" : ";host=\"\(String(decoding: host, as: UTF8.self))\""
      writer.field(.forwarded, bytes: Array("for=\(node)\(said);proto=http".utf8))
    }
  }
}

extension SecretText {
  /// The value of a field.
  var plainBytes: [UInt8] {
    pieces.flatMap { piece -> [UInt8] in
      switch piece {
      case .literal(let text), .secret(let text): Array(text.utf8)
      case .reference: []
      }
    }
  }

  /// The value of a query parameter: secrets percent-encoded (RFC 3986 section 2.1), the rest as it was written.
  fileprivate var queryBytes: [UInt8] {
    pieces.flatMap { piece -> [UInt8] in
      switch piece {
      case .literal(let text): Array(text.utf8)
      case .secret(let text): text.utf8.flatMap(Self.encoded)
      case .reference: []
      }
    }
  }

  private static func encoded(_ byte: UInt8) -> [UInt8] {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: return [byte]
    default:
      let digits = Array("0123456789ABCDEF".utf8)
      return [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
  }
}

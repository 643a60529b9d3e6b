// Which other protocols a request may go on with (RFC 9110 section 7.8): what it offers and its domain lets through, and
// what an origin's 101 accepts of that. Pure; what comes behind a matching 101 is the tunnel's.

import RegentHTTP

enum Upgrade {
  /// The protocols, as a list in one field value, that a request offers and its domain lets through; nil for none.
  ///
  /// A request with content never goes on in another protocol: where its content ends and the protocol begins would be
  /// two readings of the same bytes. A WebSocket begins with a GET that has a key (RFC 6455 section 4.1).
  static func offered(_ head: RequestHead, permitted: [String]) -> [UInt8]? {
    guard head.upgrades, head.framing == .none || head.framing == .length(0) else { return nil }
    let passed = elements(of: .upgrade, in: head.fields).filter { element in
      permitted.contains { name in
        element.prefix { $0 != 0x2F }.equalsIgnoringCase(name.utf8)
          && (name != "websocket" || head.method == .get && WebSocketKey.key(head.fields) != nil)
      }
    }
    return passed.isEmpty ? nil : Array(passed.joined(separator: [0x2C, 0x20]))
  }

  /// The protocol that a 101 switches to; nil where it is none that was offered, or where the 101 is none.
  static func accepted(_ head: ResponseHead, offered: [UInt8]) -> [UInt8]? {
    let chosen = elements(of: .upgrade, in: head.fields)
    let offered = elements(of: offered[...])
    guard head.version == .http11, !chosen.isEmpty,
      chosen.allSatisfy({ one in offered.contains { $0.equalsIgnoringCase(one) } }),
      elements(of: .connection, in: head.fields).contains(where: { $0.equalsIgnoringCase("upgrade".utf8) }),
      !head.fields.contains(.contentLength), !head.fields.contains(.transferEncoding)
    else { return nil }
    return Array(chosen.joined(separator: [0x2C, 0x20]))
  }

  /// Whether what a 101 switches to is a WebSocket.
  static func isWebSocket(_ chosen: [UInt8]) -> Bool {
    elements(of: chosen[...]).contains { $0.prefix { $0 != 0x2F }.equalsIgnoringCase("websocket".utf8) }
  }

  private static func elements(of name: FieldName, in fields: Fields) -> [ArraySlice<UInt8>] {
    fields.all(name).flatMap { elements(of: $0) }
  }

  private static func elements(of list: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    list.split(separator: 0x2C).map { element in
      let start = element.drop { $0 == 0x20 || $0 == 0x09 }
      return start.prefix(upTo: (start.lastIndex { $0 != 0x20 && $0 != 0x09 } ?? start.startIndex - 1) + 1)
    }.filter { !$0.isEmpty }
  }
}

// The proof that an origin which switches to WebSocket has read this request's own handshake (RFC 6455 sections 4.1 and
// 4.2.2): what it sends is a digest of the client's key. Without it a 101 could be anybody's, of anything.

import RegentHTTP
import RegentLoop

enum WebSocketKey {
  /// The key of an opening handshake; nil where there is none, or more than one.
  static func key(_ request: Fields) -> ArraySlice<UInt8>? {
    let keys = request.all(named: "Sec-WebSocket-Key".utf8)
    return keys.count == 1 && keys[0].count > 0 ? keys[0] : nil
  }

  /// Whether a 101 answers the key of the request that it is for.
  static func isAnswered(by response: Fields, to request: Fields) -> Bool {
    let answers = response.all(named: "Sec-WebSocket-Accept".utf8)
    guard let key = key(request), answers.count == 1 else { return false }
    return answers[0].elementsEqual(answer(to: key))
  }

  /// What an origin says to a key.
  static func answer(to key: ArraySlice<UInt8>) -> [UInt8] {
    let digest = MessageDigest(.sha1)
    let proof = Array(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8
    digest?.update(proof.span)
    return base64(digest?.finish() ?? [])
  }

  /// RFC 4648 section 4.
  private static func base64(_ bytes: [UInt8]) -> [UInt8] {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for place in 0..<4 {
        text.append(place > group.count ? 0x3D : digits[bits >> (18 - 6 * place) & 0x3F])
      }
    }
    return text
  }
}

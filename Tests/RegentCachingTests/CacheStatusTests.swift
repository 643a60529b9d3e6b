// What Regent says of itself (RFC 9211), and the texts of the reasons.

import RegentCaching
import Testing

private func written(_ status: CacheStatus, key: [String]? = nil) -> String {
  var bytes: [UInt8] = []
  let append = key.map { pieces in { (bytes: inout [UInt8]) in for piece in pieces { bytes += piece.utf8 } } }
  status.append(onto: &bytes, name: Array("Regent".utf8), key: append)
  return String(decoding: bytes, as: UTF8.self)
}

@Test("RFC 9211 2 a hit")
func statusHit() {
  #expect(written(CacheStatus(.hit, ttl: 54)) == "Regent; hit; ttl=54")
  #expect(written(CacheStatus(.hit, ttl: 0)) == "Regent; hit; ttl=0")
  #expect(written(CacheStatus(.hit, ttl: .min)) == "Regent; hit; ttl=-2147483648")
}

@Test("RFC 9211 2 a stale hit says why")
func statusStale() {
  let status = CacheStatus(.hit, ttl: -12, detail: .stale(.staleWhileRevalidate))
  #expect(written(status) == "Regent; hit; ttl=-12; detail=stale-while-revalidate")
}

@Test("RFC 9211 2 a revalidation")
func statusRevalidated() {
  let status = CacheStatus(.forwarded(.stale), fwdStatus: 304, stored: true)
  #expect(written(status) == "Regent; fwd=stale; fwd-status=304; stored")
}

@Test("RFC 9211 2 everything at once, in the order of the RFC")
func statusWhole() {
  let status = CacheStatus(
    .forwarded(.uriMiss), fwdStatus: 200, stored: true, collapsed: true, ttl: 7, detail: .refused(.private))
  #expect(written(status) == "Regent; fwd=uri-miss; fwd-status=200; stored; collapsed; ttl=7; detail=private")
}

@Test(
  "RFC 9211 2.7 the key is a string of RFC 9651 section 3.3.3, and left out where it would be none",
  arguments: [
    (["a /"], "; key=\"a /\""), (["a ", "/x", "?", "y=\"\\"], "; key=\"a /x?y=\\\"\\\\\""), ([], ""),
    (["a /\u{E4}"], ""), (["a /\u{7F}"], ""), (["\t"], ""),
    ([String(repeating: "k", count: 512)], "; key=\"\(String(repeating: "k", count: 512))\""),
    ([String(repeating: "k", count: 512), "k"], ""),
  ])
func statusKey(pieces: [String], text: String) {
  let status = CacheStatus(.forwarded(.uriMiss), ttl: 1, detail: .refused(.method))
  #expect(written(status, key: pieces) == "Regent; fwd=uri-miss; ttl=1\(text); detail=method")
}

@Test(
  "a reason to ask again is told where the word of RFC 9211 does not say it", arguments: MissReason.allCases)
func missDetails(reason: MissReason) {
  #expect(reason.detail == (reason == .stale ? .none : .miss(reason)))
}

@Test("RFC 9211 2.2 the registered words", arguments: FwdReason.allCases)
func forwardWords(reason: FwdReason) {
  let registered = ["bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial"]
  #expect(registered.contains(reason.rawValue))
  #expect(written(CacheStatus(.forwarded(reason))) == "Regent; fwd=\(reason.rawValue)")
}

@Test("every reason has a text of its own that is a structured-field token")
func reasonTexts() {
  let groups = [
    MissReason.allCases.map(\.text), StaleReason.allCases.map(\.text), RefusalReason.allCases.map(\.text),
  ]
  for texts in groups {
    #expect(Set(texts).count == texts.count)
    for text in texts {
      #expect(text.first.map { $0.isASCII && $0.isLowercase } == true)
      #expect(text.allSatisfy { $0.isASCII && ($0.isLowercase || $0 == "-") })
    }
  }
}

@Test("every miss has its word in RFC 9211", arguments: MissReason.allCases)
func missWords(reason: MissReason) {
  switch reason {
  case .stale, .mustRevalidate, .responseNoCache, .clockWentBack: #expect(reason.fwd == .stale)
  case .requestNoCache, .requestMaxAge, .requestMinFresh: #expect(reason.fwd == .request)
  case .networkOnly: #expect(reason.fwd == .bypass)
  }
}

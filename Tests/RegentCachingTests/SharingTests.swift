// May the response to one request answer others that asked meanwhile? A row for each rule.

import RegentHTTP
import Testing

@testable import RegentCaching

@Suite("Sharing a response with those who asked meanwhile")
struct SharingTests {
  private static let now: Int64 = 1_700_000_000

  private func decide(
    _ response: String, request: String = "", policy: CachePolicy = CachePolicy(), status: UInt16 = 200
  ) -> Sharing {
    let responseFields = Self.fields(response)
    let requestFields = Self.fields(request)
    let storability = Storability.decide(
      method: .get, requestFields: requestFields, requestDirectives: .none, status: status,
      responseFields: responseFields, policy: policy)
    let metadata = StoredMetadata(
      status: status, fields: responseFields, requestFields: requestFields, requestTime: Self.now,
      responseTime: Self.now, policy: policy, hasQuery: false)
    return Sharing.decide(
      storability, storability == .store ? metadata : nil, requestFields: requestFields, policy: policy,
      now: Self.now)
  }

  private static func fields(_ lines: String) -> Fields {
    var fields = Fields()
    for line in lines.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmed }
      _ = fields.append(named: parts[0].utf8, parts[1].utf8)
    }
    return fields
  }

  @Test(
    "follows the rules for what is stored (RFC 9111 sections 3 and 4)",
    arguments: [
      ("Cache-Control: max-age=60", Sharing.asStored),
      ("Cache-Control: max-age=60, must-revalidate", .asStored),
      ("Cache-Control: max-age=0, stale-while-revalidate=60", .asStored),
      ("Cache-Control: max-age=0\nETag: \"1\"", .once),
      ("ETag: \"1\"", .once),
      ("Cache-Control: max-age=0, must-revalidate\nETag: \"1\"", .refused),
      ("Cache-Control: no-cache\nETag: \"1\"", .refused),
      ("Cache-Control: private, max-age=60", .refused),
      ("Cache-Control: no-store", .refused),
      ("Cache-Control: max-age=60\nVary: *", .refused),
      ("Set-Cookie: a=b\nETag: \"1\"", .refused),
      ("Content-Type: text/plain", .refused),
    ])
  func rules(response: String, sharing: Sharing) {
    #expect(decide(response) == sharing, "\(response)")
  }

  @Test(
    "what was stale at once is not taken from a request with credentials, unless its key tells them apart")
  func credentials() {
    let stale = "Cache-Control: max-age=0, public\nETag: \"1\""
    #expect(decide(stale, request: "Cookie: a=b") == .refused)
    #expect(decide(stale, request: "Authorization: x") == .refused)
    #expect(decide("Cache-Control: max-age=60, public", request: "Cookie: a=b") == .asStored)
    #expect(decide("Cache-Control: max-age=60", request: "Authorization: x") == .refused)
    var policy = CachePolicy()
    policy.scope = .private
    #expect(decide(stale, request: "Cookie: a=b", policy: policy) == .once)
  }

  @Test("the domain's policy counts")
  func policies() {
    #expect(decide("Cache-Control: max-age=60", policy: CachePolicy(kind: .networkOnly)) == .refused)
    #expect(decide("Content-Type: text/plain", policy: CachePolicy(kind: .cacheFirst, ttl: 60)) == .asStored)
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    drop { $0 == " " }
  }
}

// Fields for caches such as this one (RFC 9213): which one counts, what it replaces, and what makes it count for
// nothing.

import RegentCaching
import RegentHTTP
import Testing

struct TargetedRow: Row {
  var rule: String
  var response: String
  var lifetime: Int32
  var refused: RefusalReason?
  var request: String

  init(
    _ rule: String, _ response: String, _ lifetime: Int32 = 0, _ refused: RefusalReason? = nil,
    request: String = ""
  ) {
    (self.rule, self.response, self.lifetime) = (rule, response, lifetime)
    (self.refused, self.request) = (refused, request)
  }

  static let precedence: [TargetedRow] = [
    .init("9213 2.2 CDN-Cache-Control gives a lifetime", "CDN-Cache-Control: max-age=60", 60),
    .init(
      "9213 2.2 it beats a shorter max-age", "Cache-Control: max-age=1\nCDN-Cache-Control: max-age=60", 60),
    .init("9213 2.2 it beats a longer max-age", "CDN-Cache-Control: max-age=1\nCache-Control: max-age=60", 1),
    .init("9213 2.2 it beats s-maxage", "Cache-Control: s-maxage=60\nCDN-Cache-Control: max-age=7", 7),
    .init("9213 2.2 it beats a past Expires", "CDN-Cache-Control: max-age=60\nExpires: {-100}", 60),
    .init("9213 2.2 it beats an Expires that is none", "CDN-Cache-Control: max-age=60\nExpires: 0", 60),
    .init("9213 2.2 its max-age=0 beats Expires", "CDN-Cache-Control: max-age=0\nExpires: {60}\nETag: \"a\""),
    .init(
      "9213 2.2 without a lifetime of its own, Expires still counts for nothing",
      "CDN-Cache-Control: must-revalidate\nExpires: {60}\nETag: \"a\""),
    .init(
      "9213 2.2 nor does Cache-Control", "CDN-Cache-Control: public\nCache-Control: max-age=9\nETag: \"a\""),
    .init(
      "9213 2.2 without Expires the guess remains",
      "CDN-Cache-Control: public\nExpires: {60}\nLast-Modified: {-1000}", 100),
    .init("9213 2.2 it lifts no-store", "Cache-Control: no-store\nCDN-Cache-Control: max-age=60", 60),
    .init("9213 2.2 it lifts private", "Cache-Control: private\nCDN-Cache-Control: max-age=60", 60),
    .init(
      "9213 2.2 its no-store beats Cache-Control",
      "CDN-Cache-Control: no-store\nCache-Control: max-age=60\nExpires: {60}", 0, .responseNoStore),
    .init(
      "9213 2.2 its private beats Cache-Control",
      "CDN-Cache-Control: private\nCache-Control: max-age=60\nExpires: {60}", 0, .private),
    .init(
      "9213 2.2 Regent-Cache-Control is the first target",
      "CDN-Cache-Control: max-age=1\nRegent-Cache-Control: max-age=60\nCache-Control: max-age=2", 60),
    .init(
      "9213 2.2 also where it forbids", "CDN-Cache-Control: max-age=1\nRegent-Cache-Control: no-store", 0,
      .responseNoStore),
    .init(
      "9213 2.2 a malformed first target leaves the next one",
      "Regent-Cache-Control: max-age=60,\nCDN-Cache-Control: max-age=7\nCache-Control: no-store", 7),
    .init(
      "9213 2.2 an empty first target leaves the next one",
      "Regent-Cache-Control: \nCDN-Cache-Control: max-age=7", 7),
    .init(
      "9213 2.2 another cache's target changes nothing",
      "Surrogate-Control: max-age=60\nOther-Cache-Control: max-age=60\nCache-Control: max-age=7", 7),
  ]

  static let validity: [TargetedRow] = [
    .init("9213 2.1 an empty field is ignored", "CDN-Cache-Control: \nCache-Control: max-age=7", 7),
    .init(
      "9213 2.1 two empty lines are ignored", "CDN-Cache-Control: \nCDN-Cache-Control: \nExpires: {7}", 7),
    .init(
      "9213 2.1 an unknown sign makes it ignored",
      "CDN-Cache-Control: max-age=60, &&&&&\nCache-Control: no-store", 0, .responseNoStore),
    .init("9213 2.1 a comma at its end too", "CDN-Cache-Control: max-age=60,\nCache-Control: max-age=7", 7),
    .init("9213 2.1 an empty member too", "CDN-Cache-Control: public,,max-age=60\nExpires: {7}", 7),
    .init("9213 2.1 a capital letter too", "CDN-Cache-Control: Max-Age=60\nCache-Control: max-age=7", 7),
    .init("9213 2.1 a space before the equals sign too", "CDN-Cache-Control: max-age =60\nExpires: {7}", 7),
    .init("9213 2.1 a space after the equals sign too", "CDN-Cache-Control: max-age= 60\nExpires: {7}", 7),
    .init(
      "9213 2.1 a second line that is malformed too", "CDN-Cache-Control: max-age=60\nCDN-Cache-Control: ,",
      0, .neverReusable),
    .init("9213 2.1 a text where a number belongs too", "CDN-Cache-Control: max-age=\"60\"\nExpires: {7}", 7),
    .init(
      "9213 2.1 also beside no-store", "CDN-Cache-Control: max-age=\"60\"\nCache-Control: no-store", 0,
      .responseNoStore),
    .init("9213 2.1 a word where a number belongs too", "CDN-Cache-Control: max-age=a60\nExpires: {7}", 7),
    .init("9213 2.1 a fraction too", "CDN-Cache-Control: max-age=60.5\nCache-Control: max-age=7", 7),
    .init("9213 2.1 no number at all too", "CDN-Cache-Control: max-age\nCache-Control: max-age=7", 7),
    .init("9213 2.1 16 digits too", "CDN-Cache-Control: max-age=1000000000000000\nExpires: {7}", 7),
    .init("9213 2.1 15 digits are clamped", "CDN-Cache-Control: max-age=999999999999999", .max),
    .init("9213 2.1 2^31 is clamped", "CDN-Cache-Control: max-age=2147483648", .max),
    .init(
      "B13 a negative number is one, and stale",
      "CDN-Cache-Control: max-age=-1\nCache-Control: max-age=60\nETag: \"a\""),
    .init("9213 2.1 parameters are ignored", "CDN-Cache-Control: max-age=60;x=9;y, public;z", 60),
    .init("9213 2.1 unknown directives are ignored", "CDN-Cache-Control: foobar, x=(1 2), max-age=60", 60),
    .init("9651 3.2 the last of two max-age counts", "CDN-Cache-Control: max-age=1, max-age=60", 60),
    .init(
      "9651 4.2 on two lines as well", "CDN-Cache-Control: max-age=60\nCDN-Cache-Control: max-age=1", 1),
    .init(
      "9213 2.1 max-age within a text is not said", "CDN-Cache-Control: x=\"max-age=60\"\nETag: \"a\""),
  ]

  static let semantics: [TargetedRow] = [
    .init("9213 2.2 s-maxage as in Cache-Control", "CDN-Cache-Control: max-age=1, s-maxage=60", 60),
    .init(
      "9213 2.2 no-store beats max-age", "CDN-Cache-Control: max-age=60, no-store", 60, .responseNoStore),
    .init(
      "B13 no-store with a value holds", "CDN-Cache-Control: no-store=?0, max-age=60", 60, .responseNoStore),
    .init(
      "B13 private with a value of another type holds", "CDN-Cache-Control: private=1, max-age=60", 60,
      .private),
    .init("9111 5.2.2.7 private with names", "CDN-Cache-Control: private=\"x-a, x-b\", max-age=60", 60),
    .init("9111 5.2.2.7 private with one name as a token", "CDN-Cache-Control: private=x-a, max-age=60", 60),
    .init(
      "9111 5.2.2.7 private with a malformed list is whole", "CDN-Cache-Control: private=\"a b\", max-age=60",
      60, .private),
    .init(
      "9111 3.5 public permits", "CDN-Cache-Control: public, max-age=60", 60, request: "Authorization: x"),
    .init(
      "9111 3.5 a false public does not", "CDN-Cache-Control: public=?0, max-age=60", 60, .authorization,
      request: "Authorization: x"),
    .init(
      "9111 3.5 nor does Cache-Control's", "CDN-Cache-Control: max-age=60\nCache-Control: public", 60,
      .authorization, request: "Authorization: x"),
    .init(
      "9111 5.2.2.3 must-understand lifts its own no-store",
      "CDN-Cache-Control: must-understand, no-store, max-age=60", 60),
    .init(
      "9111 5.2.2.3 not with a value", "CDN-Cache-Control: must-understand=1, no-store, max-age=60", 60,
      .responseNoStore),
    .init(
      "B7 Set-Cookie needs the targeted field's own freshness",
      "CDN-Cache-Control: must-revalidate\nCache-Control: max-age=60\nSet-Cookie: a=b\nETag: \"a\"", 0,
      .setCookie),
  ]
}

@Test(
  "a targeted field takes the place of Cache-Control and Expires, where it is valid",
  arguments: TargetedRow.precedence + TargetedRow.validity + TargetedRow.semantics)
func targeted(row: TargetedRow) {
  let request = fields(row.request)
  let decision = Storability.decide(
    method: .get, requestFields: request, requestDirectives: RequestDirectives(request), status: 200,
    responseFields: fields(row.response), policy: CachePolicy())
  #expect(decision == row.refused.map { .refuse($0) } ?? .store)
  #expect(metadata(row.response).lifetime == row.lifetime)
}

@Test("the directives that count after storing come from the targeted field alone (RFC 9213 section 2.2)")
func targetedFlags() {
  let own = metadata(
    "CDN-Cache-Control: max-age=9, no-cache, must-revalidate, stale-if-error=7, stale-while-revalidate=8")
  #expect(own.flags.isSuperset(of: [.noCache, .mustRevalidate]))
  #expect(own.staleIfError == 7 && own.staleWhileRevalidate == 8)
  let silenced = metadata(
    "CDN-Cache-Control: max-age=9\nCache-Control: no-cache, must-revalidate, proxy-revalidate, stale-if-error=7"
  )
  #expect(silenced.flags.isDisjoint(with: [.noCache, .mustRevalidate, .proxyRevalidate]))
  #expect(silenced.staleIfError == 0)
}

@Test(
  "where the directives come from is known",
  arguments: [
    ("Regent-Cache-Control: max-age=1\nCDN-Cache-Control: max-age=1", FieldName.regentCacheControl),
    ("CDN-Cache-Control: max-age=1\nCache-Control: max-age=1", .cdnCacheControl),
    ("CDN-Cache-Control: ,\nCache-Control: max-age=1", .cacheControl), ("Expires: 0", .cacheControl),
  ])
func targetedSource(response: String, source: FieldName) {
  let directives = ResponseDirectives(fields(response))
  #expect(directives.source == source)
  #expect(directives.isTargeted == (source != .cacheControl))
}

// The field names that Regent knows: one table, in the spelling in which they are written.
// A name outside the table is `.other` and is compared by its bytes.

/// A field name that Regent has a reason to know; every other name is ``other`` (RFC 9110 section 5.1).
public enum FieldName: UInt8, CaseIterable, Sendable {
  case other
  case accept, acceptCharset, acceptEncoding, acceptLanguage, acceptRanges, age, allow
  case altSvc, authorization, cacheControl, cacheStatus, cdnCacheControl, connection
  case contentDigest, contentDisposition, contentEncoding, contentLanguage, contentLength
  case contentLocation, contentRange, contentSecurityPolicy, contentType, cookie, date, etag
  case expect, expires, forwarded, from, host, ifMatch, ifModifiedSince, ifNoneMatch, ifRange
  case ifUnmodifiedSince, keepAlive, lastModified, link, location, maxForwards, origin, pragma
  case priority, proxyAuthenticate, proxyAuthenticationInfo, proxyAuthorization, proxyConnection
  case proxyStatus, range, rateLimit, referer, regentCacheControl, reprDigest, retryAfter, server
  case setCookie, strictTransportSecurity, te, trailer, transferEncoding, upgrade, userAgent, vary
  case via, warning, wwwAuthenticate, xForwardedFor, xForwardedHost, xForwardedProto

  /// The name as Regent writes it; empty for ``other``.
  public var text: StaticString {
    switch self {
    case .other: ""
    case .accept: "Accept"
    case .acceptCharset: "Accept-Charset"
    case .acceptEncoding: "Accept-Encoding"
    case .acceptLanguage: "Accept-Language"
    case .acceptRanges: "Accept-Ranges"
    case .age: "Age"
    case .allow: "Allow"
    case .altSvc: "Alt-Svc"
    case .authorization: "Authorization"
    case .cacheControl: "Cache-Control"
    case .cacheStatus: "Cache-Status"
    case .cdnCacheControl: "CDN-Cache-Control"
    case .connection: "Connection"
    case .contentDigest: "Content-Digest"
    case .contentDisposition: "Content-Disposition"
    case .contentEncoding: "Content-Encoding"
    case .contentLanguage: "Content-Language"
    case .contentLength: "Content-Length"
    case .contentLocation: "Content-Location"
    case .contentRange: "Content-Range"
    case .contentSecurityPolicy: "Content-Security-Policy"
    case .contentType: "Content-Type"
    case .cookie: "Cookie"
    case .date: "Date"
    case .etag: "ETag"
    case .expect: "Expect"
    case .expires: "Expires"
    case .forwarded: "Forwarded"
    case .from: "From"
    case .host: "Host"
    case .ifMatch: "If-Match"
    case .ifModifiedSince: "If-Modified-Since"
    case .ifNoneMatch: "If-None-Match"
    case .ifRange: "If-Range"
    case .ifUnmodifiedSince: "If-Unmodified-Since"
    case .keepAlive: "Keep-Alive"
    case .lastModified: "Last-Modified"
    case .link: "Link"
    case .location: "Location"
    case .maxForwards: "Max-Forwards"
    case .origin: "Origin"
    case .pragma: "Pragma"
    case .priority: "Priority"
    case .proxyAuthenticate: "Proxy-Authenticate"
    case .proxyAuthenticationInfo: "Proxy-Authentication-Info"
    case .proxyAuthorization: "Proxy-Authorization"
    case .proxyConnection: "Proxy-Connection"
    case .proxyStatus: "Proxy-Status"
    case .range: "Range"
    case .rateLimit: "RateLimit"
    case .referer: "Referer"
    case .regentCacheControl: "Regent-Cache-Control"
    case .reprDigest: "Repr-Digest"
    case .retryAfter: "Retry-After"
    case .server: "Server"
    case .setCookie: "Set-Cookie"
    case .strictTransportSecurity: "Strict-Transport-Security"
    case .te: "TE"
    case .trailer: "Trailer"
    case .transferEncoding: "Transfer-Encoding"
    case .upgrade: "Upgrade"
    case .userAgent: "User-Agent"
    case .vary: "Vary"
    case .via: "Via"
    case .warning: "Warning"
    case .wwwAuthenticate: "WWW-Authenticate"
    case .xForwardedFor: "X-Forwarded-For"
    case .xForwardedHost: "X-Forwarded-Host"
    case .xForwardedProto: "X-Forwarded-Proto"
    }
  }
}

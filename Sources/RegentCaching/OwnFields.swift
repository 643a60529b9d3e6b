// Which fields tend to differ from response to response. A wrong guess costs memory, never correctness; only
// the name decides, so that the repeats of one name stay together.

import RegentHTTP

/// The fields of a response that are likely its own.
enum OwnFields {
  static func contain(_ line: FieldLine, _ fields: Fields) -> Bool {
    switch line.name {
    case .etag, .lastModified, .contentLocation, .location, .expires, .setCookie, .contentDigest, .reprDigest,
      .contentDisposition, .contentRange, .retryAfter, .rateLimit, .cacheStatus, .link, .warning:
      true
    case .other: isTracing(fields.bytes, line.nameRange)
    default: false
    }
  }

  /// Names under which origins and their networks number, time and trace each response.
  private static func isTracing(_ bytes: [UInt8], _ name: Range<Int>) -> Bool {
    for suffix in suffixes where suffix.utf8.count <= name.count {
      if bytes.has(name.suffix(suffix.utf8.count), suffix) { return true }
    }
    for prefix in prefixes where prefix.utf8.count <= name.count {
      if bytes.has(name.prefix(prefix.utf8.count), prefix) { return true }
    }
    return false
  }

  private static let suffixes = ["-id", "-ray", "-hits", "-time", "-timer", "-timing", "-uploadid"]
  private static let prefixes = [
    "content-md5", "digest", "etag", "traceparent", "x-amz-", "x-cache", "x-goog-", "x-ratelimit",
    "x-runtime",
    "x-served-by", "x-varnish",
  ]
}

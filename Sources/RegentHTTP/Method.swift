// The request methods that Regent knows, and what is registered about them.
// A token outside this table is never forwarded: it is answered 501 (TRUST C3).

/// A protocol version that Regent speaks (RFC 9112 section 2.3).
public enum HTTPVersion: UInt8, Sendable { case http10, http11 }

/// A request method of the IANA registry (RFC 9110 section 9), those of UPnP, and PURGE, which caches have in common.
public enum Method: UInt8, CaseIterable, Sendable {
  case get, head, post, put, delete, options, patch, connect, trace, purge
  case propfind, proppatch, mkcol, copy, move, lock, unlock, report, search, query
  case acl, bind, checkin, checkout, label, link, merge, mkactivity, mkcalendar, mkworkspace
  case orderpatch, rebind, unbind, unlink, update, versionControl
  case mSearch, notify, subscribe, unsubscribe

  /// The method as it is written; methods are case-sensitive.
  public var text: StaticString {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .delete: "DELETE"
    case .options: "OPTIONS"
    case .patch: "PATCH"
    case .connect: "CONNECT"
    case .trace: "TRACE"
    case .purge: "PURGE"
    case .propfind: "PROPFIND"
    case .proppatch: "PROPPATCH"
    case .mkcol: "MKCOL"
    case .copy: "COPY"
    case .move: "MOVE"
    case .lock: "LOCK"
    case .unlock: "UNLOCK"
    case .report: "REPORT"
    case .search: "SEARCH"
    case .query: "QUERY"
    case .acl: "ACL"
    case .bind: "BIND"
    case .checkin: "CHECKIN"
    case .checkout: "CHECKOUT"
    case .label: "LABEL"
    case .link: "LINK"
    case .merge: "MERGE"
    case .mkactivity: "MKACTIVITY"
    case .mkcalendar: "MKCALENDAR"
    case .mkworkspace: "MKWORKSPACE"
    case .orderpatch: "ORDERPATCH"
    case .rebind: "REBIND"
    case .unbind: "UNBIND"
    case .unlink: "UNLINK"
    case .update: "UPDATE"
    case .versionControl: "VERSION-CONTROL"
    case .mSearch: "M-SEARCH"
    case .notify: "NOTIFY"
    case .subscribe: "SUBSCRIBE"
    case .unsubscribe: "UNSUBSCRIBE"
    }
  }

  /// Whether it is registered as asking for no change (RFC 9110 section 9.2.1).
  public var isSafe: Bool {
    switch self {
    case .get, .head, .options, .trace, .propfind, .report, .search, .query: true
    default: false
    }
  }

  /// Whether sending it twice is registered to do what sending it once does (RFC 9110 section 9.2.2).
  public var isIdempotent: Bool {
    switch self {
    case .post, .patch, .connect, .purge, .lock, .mSearch, .notify, .subscribe, .unsubscribe: false
    default: true
    }
  }

  /// The method's bytes as they are written.
  public static func bytes(of method: Method) -> [UInt8] { table[Int(method.rawValue)] }

  private static let table: [[UInt8]] = allCases.map { Array($0.text.description.utf8) }

  /// The method that these bytes spell, or nil.
  static func recognize(_ input: Span<UInt8>, _ range: Range<Int>) -> Method? {
    // GET is most of all traffic: three comparisons instead of a walk.
    if range.count == 3, input[range.lowerBound] == 0x47, input[range.lowerBound + 1] == 0x45,
      input[range.lowerBound + 2] == 0x54
    {
      return .get
    }
    let table = table
    for method in allCases where input.equals(range, table[Int(method.rawValue)]) { return method }
    return nil
  }
}

// RFC 9211: what Regent did with a request and why, as a value that writes itself. It builds no String.

import RegentHTTP

/// Why a request was forwarded, in the registered words of RFC 9211 section 2.2.
public enum FwdReason: String, Sendable, CaseIterable {
  case bypass, method
  case uriMiss = "uri-miss"
  case varyMiss = "vary-miss"
  case miss, request, stale, partial
}

/// The reason behind a Cache-Status, one of the decisions' own.
public enum CacheDetail: Sendable, Equatable {
  case none
  case miss(MissReason)
  case stale(StaleReason)
  case refused(RefusalReason)
  /// The disk cache answered.
  case disk

  /// The text, a structured-field token; empty for ``none``.
  public var text: String {
    switch self {
    case .none: ""
    case .miss(let reason): reason.text
    case .stale(let reason): reason.text
    case .refused(let reason): reason.text
    case .disk: "disk"
    }
  }
}

/// One member of the Cache-Status field.
public struct CacheStatus: Sendable, Equatable {
  /// Whether the cache answered or the request went on.
  public enum Outcome: Sendable, Equatable {
    case hit
    case forwarded(FwdReason)
  }

  public var outcome: Outcome
  /// The status that the origin gave, where it differs from what is sent, such as 304.
  public var fwdStatus: UInt16?
  /// Whether the response was stored.
  public var stored: Bool
  /// Whether the request joined another one's fetch.
  public var collapsed: Bool
  /// The freshness that remains, in seconds; negative where stale.
  public var ttl: Int32?
  public var detail: CacheDetail

  public init(
    _ outcome: Outcome, fwdStatus: UInt16? = nil, stored: Bool = false, collapsed: Bool = false,
    ttl: Int32? = nil, detail: CacheDetail = .none
  ) {
    self.outcome = outcome
    self.fwdStatus = fwdStatus
    self.stored = stored
    self.collapsed = collapsed
    self.ttl = ttl
    self.detail = detail
  }

  /// The remaining freshness of a hit of which there is nothing else to say, but where it was found.
  @inlinable public var plainHit: Int32? {
    guard case .hit = outcome, fwdStatus == nil, !stored, !collapsed, detail == .none || detail == .disk
    else { return nil }
    return ttl
  }

  /// Appends the member, such as `Regent; hit; ttl=54`.
  ///
  /// - Parameters:
  ///   - name: This cache's name, a structured-field token.
  ///   - key: Appends what the key was made of, for people to read (RFC 9211 section 2.7); nil to leave it out. One that
  ///     is longer than ``longestKey`` or not all of printable ASCII is left out.
  public func append(onto bytes: inout [UInt8], name: [UInt8], key: ((inout [UInt8]) -> Void)? = nil) {
    appendStart(onto: &bytes, name: name)
    if let key { append(key: key, onto: &bytes) }
    appendEnd(onto: &bytes)
  }

  /// Appends what stands before the key.
  public func appendStart(onto bytes: inout [UInt8], name: [UInt8]) {
    bytes.append(contentsOf: name)
    switch outcome {
    case .hit: bytes.append(text: "; hit")
    case .forwarded(let reason):
      bytes.append(text: "; fwd=")
      bytes.append(text: reason.rawValue)
    }
    if let fwdStatus {
      bytes.append(text: "; fwd-status=")
      Decimal.append(Int(fwdStatus), to: &bytes)
    }
    if stored { bytes.append(text: "; stored") }
    if collapsed { bytes.append(text: "; collapsed") }
    if let ttl {
      bytes.append(text: "; ttl=")
      Decimal.append(Int(ttl), to: &bytes)
    }
  }

  /// Appends what stands behind the key.
  public func appendEnd(onto bytes: inout [UInt8]) {
    guard detail != .none else { return }
    bytes.append(text: "; detail=")
    bytes.append(text: detail.text)
  }

  /// The longest key, in bytes, that is told.
  public static let longestKey = 512

  /// Appends the key: a structured-field string (RFC 9651 section 3.3.3).
  public func append(key: (inout [UInt8]) -> Void, onto bytes: inout [UInt8]) {
    let before = bytes.count
    bytes.append(text: "; key=\"")
    let start = bytes.count
    key(&bytes)
    guard (1...Self.longestKey).contains(bytes.count - start) else { return bytes.removeSubrange(before...) }
    if !bytes.span.extracting(start..<bytes.count).isPlainText {
      guard let escaped = Self.escaped(bytes[start...]) else { return bytes.removeSubrange(before...) }
      bytes.replaceSubrange(start..., with: escaped)
    }
    bytes.append(.quote)
  }

  private static func escaped(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var escaped: [UInt8] = []
    for byte in text {
      guard (0x20...0x7E).contains(byte) else { return nil }
      if byte == .quote || byte == .backslash { escaped.append(.backslash) }
      escaped.append(byte)
    }
    return escaped
  }
}

extension [UInt8] {
  mutating func append(text: String) {
    let text = text.utf8.span
    append(addingCapacity: text.count) { output in
      for index in text.indices { output.append(text[index]) }
    }
  }
}

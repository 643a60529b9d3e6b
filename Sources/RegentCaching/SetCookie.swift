// What `set-cookie = "strip"` takes from a response: a stored one is for many clients, and a cookie is one's own.

public import RegentHTTP

extension CachePolicy {
  /// A response's fields as they are to be sent and stored: without Set-Cookie where it is stored and the domain
  /// strips it. What is not stored is one client's, and keeps its cookies.
  public func stripped(_ fields: Fields, _ storability: Storability) -> Fields {
    guard setCookie == .strip, fields.contains(.setCookie), storability.keeps else { return fields }
    var kept = Fields()
    for line in fields.lines where line.name != .setCookie { kept.append(line, of: fields) }
    return kept
  }
}

extension Storability {
  /// Whether something is stored, as a whole or as a part.
  public var keeps: Bool {
    switch self {
    case .store, .storePart: true
    case .refuse: false
    }
  }
}

// How a domain's origin is asked: what Regent says of the client, and what the owner adds to every request.

extension Domain {
  /// What stands in each request to the origin beside what the client sent.
  public struct Manners: Sendable, Equatable {
    /// What the origin is told of the client.
    public var forwarded = Forwarded.none
    /// Field lines for requests that have no field of that name.
    public var fields: [RequestField] = []
    /// Query parameters for requests that have none of that name.
    public var query: [QueryParameter] = []
    /// The value of Host, in place of the upstream's own host and port.
    public var host: HostField?
    /// How long the origin may say nothing to `Expect: 100-continue` before it gets the content all the same.
    public var expectWait = Duration.seconds(1)

    public init() {}
  }

  /// The fields in which a proxy says for whom it asks.
  public enum Forwarded: String, CaseIterable, Sendable {
    case none
    /// X-Forwarded-For, X-Forwarded-Host, X-Forwarded-Proto.
    case xForwarded = "x-forwarded"
    /// Forwarded (RFC 7239).
    case forwarded
  }
}

/// A field line that is added to requests.
public struct RequestField: Sendable, Equatable {
  /// A token (RFC 9110 section 5.1).
  public var name: String
  public var value: SecretText
}

/// A query parameter that is added to requests.
public struct QueryParameter: Sendable, Equatable {
  /// As it stands in a target.
  public var name: String
  /// What is written in the configuration stands as it is; secrets are percent-encoded where they are sent.
  public var value: SecretText
}

/// A value of the field Host: a host name or an IP address, perhaps a port.
public struct HostField: Sendable, Equatable {
  public let text: String

  /// The value that `text` is; nil for what is none.
  public init?(_ text: String) {
    // A URL's authority has the same form; why it is none does not matter here.
    guard !text.contains("/"), (try? UpstreamURL("http://\(text)")) != nil else { return nil }
    self.text = text.lowercased()
  }
}

extension Domain.Forwarded: Word {}

extension HostField: KeyValue {
  static var expectation: String { "a host such as \"example.org\" or \"example.org:8443\"" }
  static func read(_ node: Node) throws(KeyFailure) -> HostField {
    try expect(node.string.flatMap { HostField($0) })
  }
  var toml: String? { text.quoted }
}

// A line may hold a secret, written out: no message shows it.
extension RequestField: KeyValue {
  static var expectation: String { "a field line such as \"Accept-Language: en\"" }
  static func read(_ node: Node) throws(KeyFailure) -> RequestField {
    guard let text = node.string, let colon = text.firstIndex(of: ":") else {
      throw refused("each is \(expectation)")
    }
    let name = String(text[..<colon])
    let value = text[colon...].dropFirst().trimmed
    guard name.isToken, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw refused("each is \(expectation)")
    }
    guard !reserved.contains(name.lowercased()) else { throw refused("\(name) is Regent's own to write") }
    do {
      return RequestField(name: name, value: try SecretText(String(value)))
    } catch {
      throw refused(error.description)
    }
  }
  var toml: String? { nil }

  private static func refused(_ sentence: String) -> KeyFailure {
    .refused(value: "what it is", because: sentence)
  }

  /// The fields that frame a message or make it conditional, and those that Regent writes by other keys.
  private static let reserved = [
    "connection", "content-length", "expect", "forwarded", "host", "if-match", "if-modified-since",
    "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "proxy-connection", "range", "te",
    "trailer",
    "transfer-encoding", "upgrade", "via", "x-forwarded-for", "x-forwarded-host",
  ]
}

extension QueryParameter: KeyValue {
  static var expectation: String { "a parameter such as \"api-version=2\"" }
  static func read(_ node: Node) throws(KeyFailure) -> QueryParameter {
    guard let text = node.string, let equals = text.firstIndex(of: "="), equals != text.startIndex else {
      throw refused("each is \(expectation)")
    }
    let parameter: QueryParameter
    do {
      parameter = QueryParameter(
        name: String(text[..<equals]), value: try SecretText(String(text[equals...].dropFirst())))
    } catch {
      throw refused(error.description)
    }
    guard parameter.isWellFormed else {
      throw refused("parameters stand as in a target: visible ASCII without \"&\" and \"#\"")
    }
    return parameter
  }
  var toml: String? { nil }

  private static func refused(_ sentence: String) -> KeyFailure {
    .refused(value: "what it is", because: sentence)
  }

  private var isWellFormed: Bool {
    func isPlain(_ text: String) -> Bool {
      text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "&") && $0 != UInt8(ascii: "#") }
    }
    let literals = value.pieces.compactMap { piece in if case .literal(let text) = piece { text } else { nil }
    }
    return isPlain(name) && literals.allSatisfy(isPlain)
  }
}

extension Substring {
  /// Without the blanks around it.
  fileprivate var trimmed: Substring {
    var text = self
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}

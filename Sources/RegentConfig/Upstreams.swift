// The addresses of a domain's origin: one, or several of one scheme and one path, and the choice among them.

/// One of the addresses at which an origin is reached.
public struct UpstreamAddress: Sendable, Equatable {
  public var url: UpstreamURL
  /// How many requests it gets for each one of an address with weight 1; from 1 to 1000.
  public var weight = 1
  /// The proxy that leads there; chosen when the configuration is loaded.
  public internal(set) var proxy: ProxyURL?

  public init(_ url: UpstreamURL, weight: Int = 1) {
    self.url = url
    self.weight = weight
  }
}

extension Domain {
  /// How requests are spread over several addresses.
  public struct Balance: Sendable, Equatable {
    public var rule = Rule.roundRobin
    /// How many failures in a row put an address out of turn,
    public var ejectAfter = 3
    /// and for how long at first; twice as long each further time.
    public var ejectFor = Duration.seconds(5)
    /// The path that each address is asked for from time to time; nil for never.
    public var healthPath: String?
    /// How often that is.
    public var healthInterval = Duration.seconds(5)

    public init() {}

    public enum Rule: String, CaseIterable, Sendable {
      case roundRobin = "round-robin"
      case leastConnections = "least-connections"
    }
  }

  /// The first address, by which the origin is known: its scheme, host and port are part of every key.
  public var upstream: UpstreamURL? {
    get { upstreams.first?.url }
    set { upstreams = newValue.map { [UpstreamAddress($0)] } ?? [] }
  }

  /// The addresses as the key `upstream` reads and writes them.
  var upstreamList: UpstreamList {
    get { UpstreamList(addresses: upstreams) }
    set { upstreams = newValue.addresses }
  }
}

extension Domain.Balance.Rule: Word {}

/// A URL, or a list of URLs, each perhaps with its weight behind it.
struct UpstreamList: KeyValue {
  var addresses: [UpstreamAddress]

  static var expectation: String { "a URL such as \"https://api.example.org\", or a list of them" }

  static func read(_ node: Node) throws(KeyFailure) -> UpstreamList {
    var addresses: [UpstreamAddress] = []
    for node in try nodes(of: node) {
      guard let text = node.string else { throw .mismatch(nearest: nil) }
      do {
        addresses.append(try UpstreamAddress(text))
      } catch {
        throw .refused(value: text.quoted, because: error.description)
      }
    }
    return UpstreamList(addresses: addresses)
  }

  private static func nodes(of node: Node) throws(KeyFailure) -> [Node] {
    if case .string = node { return [node] }
    guard let nodes = node.array else { throw .mismatch(nearest: nil) }
    return nodes
  }

  var toml: String? {
    let texts = addresses.map { $0.weight == 1 ? "\($0.url)" : "\($0.url) weight=\($0.weight)" }
    return texts.count > 1 ? texts.toml : texts.first?.quoted
  }

  /// What is wrong with several addresses of one origin.
  @Sendable static func refusal(_ list: UpstreamList) -> String? {
    guard let first = list.addresses.first?.url else { return "an origin has an address" }
    if list.addresses.count > 64 { return "an origin has at most 64 addresses" }
    if Set(list.addresses.map(\.url)).count < list.addresses.count {
      return "one of the addresses stands there twice"
    }
    let isAlike = list.addresses.allSatisfy {
      $0.url.scheme == first.scheme && $0.url.basePath == first.basePath
    }
    return isAlike ? nil : "the addresses of one origin have one scheme and one path"
  }
}

extension UpstreamAddress {
  /// The address that "https://a.example.org" or "https://a.example.org weight=2" says.
  fileprivate init(_ text: String) throws(Refusal) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    url = try UpstreamURL(String(words.first ?? ""))
    guard words.count > 1 else { return }
    let digits = words[1].dropFirst(7)
    guard words.count == 2, words[1].hasPrefix("weight="), let number = PortNumber.parse(digits),
      1...1000 ~= number
    else { throw Refusal("behind the URL may stand weight=N, with N from 1 to 1000") }
    weight = Int(number)
  }
}

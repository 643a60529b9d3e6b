// When a request that an origin failed is sent once more, and when an origin is left alone: the values of the keys
// `retry…` and `breaker…` of a domain, with their defaults.

/// How requests are repeated that a domain's origin failed.
public struct Retrying: Sendable, Equatable {
  public var policy = Policy.exponential
  /// The most attempts, the first one included.
  public var attempts = 3
  /// The delay before the first repetition; linear: before each.
  public var base = Duration.milliseconds(100)
  /// The longest delay, and the longest that an origin may ask for.
  public var maxDelay = Duration.seconds(2)
  /// The most that chance adds to a delay.
  public var jitter = Duration.milliseconds(500)
  public var on = RetryCondition.standard
  /// The most repetitions, in per cent of the origin's recent requests.
  public var budget = 10
  /// The largest content that is kept so that it can be sent again.
  public var body = ByteCount.kibibytes(64)

  public init() {}

  /// How the delays grow.
  public enum Policy: String, CaseIterable, Sendable {
    case exponential, linear, none
  }
}

/// A trouble that is worth another attempt.
public enum RetryCondition: Sendable, Equatable {
  /// No connection came to be.
  case connect
  /// The origin ended the connection before the first byte of its answer.
  case reset
  /// The origin did not answer in time.
  case timeout
  /// It answered with this status; 429 counts only if the answer says how long to wait.
  case status(Int)

  /// What is worth another attempt unless the configuration says otherwise.
  public static let standard: [RetryCondition] = [
    .connect, .reset, .timeout, .status(429), .status(502), .status(503), .status(504),
  ]
}

/// When an origin that fails is left alone for a while.
public struct Breaking: Sendable, Equatable {
  public var isOn = true
  /// The share of failures that opens the breaker, in per cent,
  public var failures = 80
  /// of at least so many requests
  public var requests = 10
  /// in so long.
  public var window = Duration.seconds(30)
  /// How long it stays open at first; twice as long each time that the origin fails again, up to eight times.
  public var open = Duration.seconds(1)

  public init() {}
}

extension Retrying.Policy: Word {}

extension RetryCondition: KeyValue {
  static var expectation: String { "\"connect\", \"reset\", \"timeout\" or a status such as \"503\"" }

  static func read(_ node: Node) throws(KeyFailure) -> RetryCondition {
    switch node.string {
    case "connect": return .connect
    case "reset": return .reset
    case "timeout": return .timeout
    default: break
    }
    guard let status = node.integer ?? node.string.flatMap(number), 400...599 ~= status else {
      let words = ["connect", "reset", "timeout"]
      throw .mismatch(nearest: node.string.flatMap { Nearest.candidate(to: $0, among: words) })
    }
    return .status(status)
  }

  private static func number(_ text: String) -> Int? { text.utf8.count == 3 ? Int(text) : nil }

  var toml: String? {
    switch self {
    case .connect: "connect".quoted
    case .reset: "reset".quoted
    case .timeout: "timeout".quoted
    case .status(let status): "\(status)".quoted
    }
  }
}

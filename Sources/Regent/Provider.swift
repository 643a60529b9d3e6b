// The one idea of the house: whatever can answer is a provider, and a chain asks them in turn.

public import RegentCaching
public import RegentStorage

/// Something that can answer requests.
public protocol Provider: Sendable {
  /// The name under which it is counted, a token.
  var name: String { get }

  /// Answers `request`, or throws ``Unhandled`` to let the next provider in the chain try.
  ///
  /// Any other error ends the walk, unless something stale may be served instead.
  func perform(_ request: Request) async throws -> Response

  /// The same without waiting; nil where it would have to wait, and ``perform(_:)`` is to be asked. Whoever
  /// seldom has to wait has an implementation of its own: it spares each request a suspension.
  func performAtOnce(_ request: Request) throws(Unhandled) -> Response?
}

extension Provider {
  public func performAtOnce(_ request: Request) throws(Unhandled) -> Response? { nil }
}

/// A provider that also wants to see the responses that providers after it produced: caches fill here.
public protocol ResponseHandler: Provider {
  /// Sees a response to a request that it let pass; of several handlers the one nearest to the answer sees it first.
  func handle(_ response: Response, for request: Request) async

  /// The same without waiting; false where nothing was done, since it would have to wait, and ``handle(_:for:)`` is to be
  /// called. Without an implementation of its own: false.
  func handleAtOnce(_ response: Response, for request: Request) -> Bool

  /// Why it is not going to keep a response that it is about to see and that the rules allow to keep; nil where it is,
  /// as far as can be known before the body is here. Cache-Status says so. Without an implementation of its own: nil.
  func refusal(of response: Response, for request: Request) -> RefusalReason?
}

extension ResponseHandler {
  public func handleAtOnce(_ response: Response, for request: Request) -> Bool { false }
  public func refusal(of response: Response, for request: Request) -> RefusalReason? { nil }
}

/// A provider's word that it cannot answer, with what it found out.
public struct Unhandled: Error, Sendable {
  /// Why a cache could not answer.
  public let reason: FwdReason?
  /// A stored response that could answer once it is validated.
  public let candidate: Candidate?
  /// Stored parts that could answer together with the one that is missing.
  public let missing: MissingPart?
  /// Stored responses that the request does not select, most recent first.
  public let variants: [Candidate]
  /// What the cache had removed when it looked: what is fetched now is stored only if nothing was removed since.
  public let mark: RemovalMark?
  /// Why what is stored could not answer by itself; nil where nothing that could is stored.
  public private(set) var cause: MissReason?

  public init(
    _ reason: FwdReason? = nil, candidate: Candidate? = nil, missing: MissingPart? = nil,
    variants: [Candidate] = [], mark: RemovalMark? = nil
  ) {
    self.reason = reason
    self.candidate = candidate
    self.missing = missing
    self.variants = variants
    self.mark = mark ?? candidate?.mark
  }

  /// The word that a decision about a stored response comes to.
  public init(
    because cause: MissReason, candidate: Candidate? = nil, missing: MissingPart? = nil,
    mark: RemovalMark? = nil
  ) {
    self.init(cause.fwd, candidate: candidate, missing: missing, mark: mark)
    self.cause = cause
  }
}

// The faults that an origin can make, in one closed list: what /stats counts them under. The answer that a client gets is
// the failure's; the reason here is finer, for whoever looks after the origin.

import RegentHTTP
import RegentLoop
import RegentStorage

/// What an origin did wrong.
public enum OriginFault: String, CaseIterable, Sendable {
  // Before the request.
  case nameNotFound = "name-not-found"
  case nameTimeout = "name-timeout"
  case refused, unreachable
  case connectTimeout = "connect-timeout"
  case certificate = "tls-certificate"
  case handshake = "tls-handshake"
  case handshakeTimeout = "tls-timeout"
  /// It spoke before it was asked.
  case unaskedBytes = "unasked-bytes"
  // Before the response.
  case record = "tls-record"
  case closedBeforeResponse = "closed-before-response"
  /// It closed an idle connection just as that was used again: the request is sent once more.
  case closedAsReused = "closed-as-reused"
  case slowHead = "response-timeout"
  // In the response's head.
  case cutHead = "head-cut"
  case malformedHead = "malformed-head"
  case largeHead = "head-too-large"
  case manyInterim = "too-many-interim"
  case unasked101 = "unasked-101"
  /// Its 101 does not answer the key of a WebSocket's handshake.
  case wrongAccept = "websocket-accept"
  case unasked206 = "unasked-206"
  case unasked304 = "unasked-304"
  // In its body, or behind it.
  case cutBody = "body-cut"
  /// TLS ended without close_notify: what came may not be all.
  case truncated = "tls-truncated"
  case badChunk = "bad-chunk"
  case slowBody = "body-timeout"
  case extraBytes = "extra-bytes"
  /// Its content is not what its digest says (RFC 9530).
  case digestMismatch = "digest-mismatch"
}

extension Failure {
  /// What the origin did wrong; nil where it was somebody else.
  var fault: OriginFault? {
    switch self {
    case .nameNotFound: .nameNotFound
    case .nameTimedOut: .nameTimeout
    case .connectionRefused: .refused
    case .connectionTimedOut: .connectTimeout
    case .connectionFailed, .proxyRefused: .unreachable
    case .tls(.certificate): .certificate
    case .tls(.handshake): .handshake
    case .tls(.timedOut): .handshakeTimeout
    case .tls(.record): .record
    case .closedBeforeResponse: .closedBeforeResponse
    case .responseTimedOut: .slowHead
    case .malformedResponse(_, let fault): fault
    default: nil
    }
  }

  /// The failure that a head which breaks HTTP's rules means.
  init(_ error: ParseError) {
    let isLimit = [.headTooLarge, .fieldLineTooLong, .tooManyFields].contains(error.rule)
    self = .malformedResponse(error.description, fault: isLimit ? .largeHead : .malformedHead)
  }
}

extension OriginFault {
  /// What a body's early end means; nil where the origin is not to blame.
  init?(_ failure: BodyFailure, after error: StreamError?) {
    switch (failure, error) {
    case (_, .truncated?): self = .truncated
    case (_, .tls?): self = .record
    case (.originClosedEarly, _): self = .cutBody
    case (.originTimedOut, _): self = .slowBody
    case (.malformed, _): self = .badChunk
    case (.aborted, _), (.cancelled, _), (.outpaced, _): return nil
    }
  }
}

extension LoopMeters {
  func note(_ fault: OriginFault?) {
    if let fault { faults.add(fault) }
  }
}

extension UpstreamProvider {
  /// Refuses what only an answer to a condition, or to a Range, may be (RFC 9110 sections 15.3.7 and 15.4.5).
  static func checkAsked(_ head: ResponseHead, _ request: Request) throws(Failure) {
    if head.status == 304, !request.asksConditionally {
      throw .malformedResponse("304 came where nothing was asked about.", fault: .unasked304)
    }
    if head.status == 206, !request.asksForPart {
      throw .malformedResponse("206 came where no part was asked for.", fault: .unasked206)
    }
  }
}

extension Request {
  /// Whether the origin is asked for a part: a missing one, or the client's.
  fileprivate var asksForPart: Bool {
    missing != nil
      || head.fields.contains(.range) && !RequestFields.kept(from: self).contains(.range)
  }
}

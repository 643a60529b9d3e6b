// What can go wrong with a request, in one closed list: each failure with its status, its word for Proxy-Status
// (RFC 9209 section 2.3), and a sentence for people. Nothing else decides what a client is told.

import RegentCaching
import RegentHTTP
public import RegentLoop

/// Why a request has no good answer.
public enum Failure: Error, Sendable, Equatable {
  /// The host is none of the configured ones; how many domains there are.
  case misdirected(host: String, domains: Int)
  /// CONNECT, TRACE and PURGE are not for this port.
  case methodNotAllowed
  /// The request has passed this daemon before.
  case loopDetected
  /// All connections that may be served are taken.
  case connectionsExhausted
  /// No provider answered.
  case unhandled
  /// The request said `only-if-cached`, and nothing stored may answer.
  case onlyIfCached
  /// A provider threw an error of its own.
  case provider(String)
  /// The client broke off or was too slow while its content was read.
  case requestTimedOut
  /// The client's content breaks HTTP's rules: the sentence of the broken one.
  case malformedRequest(String)
  /// The origin's name has no address.
  case nameNotFound(String)
  /// The resolver did not answer in time.
  case nameTimedOut
  case connectionRefused
  case connectionTimedOut
  /// No connection for another reason: the system's sentence.
  case connectionFailed(String)
  /// The outgoing proxy opened no tunnel: what it did instead.
  case proxyRefused(String)
  case tls(TLSFailure)
  /// The origin closed or reset the connection before its response's head was there.
  case closedBeforeResponse
  case responseTimedOut
  /// The origin's response breaks HTTP's rules: the sentence of the broken one, and what it is counted as.
  case malformedResponse(String, fault: OriginFault = .malformedHead)
  /// The origin's response broke off, or paused too long, within its body: what is known of the origin from then on.
  case responseCut
  /// Too many requests wait for a connection to this origin.
  case overloaded
  /// The origin answered with this status, 408, 425, 429 or 5xx, to another request that this one waited for, and asked
  /// to be left alone for so long.
  case originTrouble(Int, seconds: Int? = nil)
  /// The origin failed too often and is left alone for so long: what it failed by last, in a sentence.
  case circuitOpen(seconds: Int, because: String)
  /// The request's whole time passed before the head of an answer was there.
  case deadlinePassed
  /// The client had gone before its request was sent to the origin once more.
  case clientLeft
  /// There are as many tunnels as there may be.
  case tunnelsExhausted
  /// A page of another site wants a tunnel in which it would speak with the owner's own fields.
  case foreignPage

  public var status: Int {
    switch self {
    case .onlyIfCached, .nameTimedOut, .connectionTimedOut, .responseTimedOut, .tls(.timedOut),
      .deadlinePassed:
      504
    case .requestTimedOut, .clientLeft: 408
    case .malformedRequest: 400
    case .misdirected: 421
    case .methodNotAllowed: 405
    case .foreignPage: 403
    case .loopDetected: 508
    case .provider: 500
    case .overloaded, .connectionsExhausted, .circuitOpen, .tunnelsExhausted: 503
    case .originTrouble(let status, _): status
    case .unhandled, .nameNotFound, .connectionRefused, .connectionFailed, .proxyRefused, .tls,
      .closedBeforeResponse, .responseCut, .malformedResponse:
      502
    }
  }

  /// The error's word in Proxy-Status.
  public var proxyStatus: String {
    switch self {
    case .misdirected, .unhandled: "destination_not_found"
    case .methodNotAllowed, .foreignPage: "http_request_denied"
    case .loopDetected: "proxy_loop_detected"
    case .connectionsExhausted: "proxy_internal_response"
    case .onlyIfCached: "http_request_denied"
    case .provider: "proxy_internal_error"
    case .requestTimedOut, .malformedRequest, .clientLeft: "http_request_error"
    case .nameNotFound: "dns_error"
    case .nameTimedOut: "dns_timeout"
    case .connectionRefused: "connection_refused"
    case .connectionTimedOut, .tls(.timedOut): "connection_timeout"
    case .connectionFailed, .proxyRefused, .circuitOpen: "destination_unavailable"
    case .tls(.certificate): "tls_certificate_error"
    case .tls: "tls_protocol_error"
    case .closedBeforeResponse, .responseCut: "http_response_incomplete"
    case .responseTimedOut, .deadlinePassed: "http_response_timeout"
    case .malformedResponse: "http_protocol_error"
    case .originTrouble: "destination_unavailable"
    case .overloaded, .tunnelsExhausted: "connection_limit_reached"
    }
  }

  /// What happened, in one sentence.
  public var sentence: String {
    switch self {
    case .misdirected(let host, let domains):
      "Regent serves \(domains) \(domains == 1 ? "domain" : "domains"), and none answers at \"\(host)\"."
    case .methodNotAllowed: "This method is not served here."
    case .loopDetected: "The request has passed this daemon before: its origin leads back here."
    case .connectionsExhausted: "Regent serves as many connections as it may."
    case .unhandled: "No provider of this domain answers this request."
    case .onlyIfCached: "The request asks for a stored response only, and there is none that may be used."
    case .provider(let reason): "A provider failed: \(reason)."
    case .requestTimedOut: "The request's content ended early or came too slowly."
    case .malformedRequest(let rule): "The request's content is malformed: \(rule)"
    case .nameNotFound(let reason): "The origin's name has no address: \(reason)."
    case .nameTimedOut: "The address of the origin's name was not found in time."
    case .connectionRefused: "The origin refused the connection."
    case .connectionTimedOut: "The origin did not accept the connection in time."
    case .connectionFailed(let reason): "There is no connection to the origin: \(reason)."
    case .proxyRefused(let reason): "The outgoing proxy opened no tunnel to the origin: \(reason)."
    case .tls(let failure): "There is no secure connection to the origin: \(StreamError.tls(failure))."
    case .closedBeforeResponse: "The origin closed the connection before it answered."
    case .responseTimedOut: "The origin did not answer in time."
    case .malformedResponse(let rule, _): "The origin's response is malformed: \(rule)"
    case .responseCut: "The origin's response stopped before its end."
    case .overloaded: "Too many requests wait for a connection to this origin."
    case .originTrouble(let status, _): "The origin answered \(status) to a request for the same."
    case .circuitOpen(let seconds, let cause):
      "The origin failed too often and is asked again in \(seconds) s. \(cause)"
    case .deadlinePassed: "The time for this request passed before the origin answered."
    case .clientLeft: "The client left before its request was repeated."
    case .tunnelsExhausted: "Regent carries as many tunnels as it may."
    case .foreignPage:
      "A page of another site asks for a tunnel, and this domain's requests carry what its owner added."
    }
  }

  /// How the failure counts for `stale-if-error`; nil where it was not the origin's.
  var originFailure: OriginFailure? {
    switch self {
    case .misdirected, .methodNotAllowed, .loopDetected, .connectionsExhausted, .unhandled, .onlyIfCached,
      .provider, .requestTimedOut, .malformedRequest, .clientLeft, .tunnelsExhausted, .foreignPage:
      nil
    case .originTrouble(let status, _): .status(UInt16(clamping: status))
    default: .unreachable
    }
  }

  func response(to request: Request) -> Response {
    let text = "\(status) \(StatusLines.reason(status)): \(sentence)\n\(advice)"
    var response = Response(status: status, text: text, fields: extraFields)
    response.cacheStatus = CacheStatus(.forwarded(request.forwarded))
    response.failure = self
    return response
  }
}

extension Failure {
  /// What can be done about it, after the sentence.
  private var advice: String {
    guard case .misdirected(let host, _) = self else { return "" }
    return """
      To add one, put this into the configuration and restart:

        [[domain]]
        name = "example"
        hosts = ["\(host)"]
        upstream = "https://origin.example"

      """
  }

  private var extraFields: [(FieldName, String)] {
    switch self {
    case .circuitOpen(let seconds, _), .originTrouble(_, let seconds?): return [(.retryAfter, "\(seconds)")]
    default: break
    }
    return switch status {
    case 405: [(.allow, "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH")]
    case 503: [(.retryAfter, "1")]
    default: []
    }
  }
}

extension Failure {
  /// The failure that a stream's error means while a connection is made.
  init(connecting error: StreamError) {
    switch error {
    case .timedOut: self = .connectionTimedOut
    case .nameNotFound(let reason): self = .nameNotFound(reason)
    case .nameTimedOut: self = .nameTimedOut
    case .proxyRefused(let reason): self = .proxyRefused(reason)
    case .tls(let failure): self = .tls(failure)
    case .system(let error) where error.isRefusal: self = .connectionRefused
    case .system(let error): self = .connectionFailed(error.reason)
    case .closed, .truncated: self = .connectionFailed("closed while connecting")
    }
  }

  /// The failure that a stream's error means while a response's head is awaited.
  init(awaiting error: StreamError) {
    switch error {
    case .timedOut: self = .responseTimedOut
    case .tls(let failure): self = .tls(failure)
    default: self = .closedBeforeResponse
    }
  }
}

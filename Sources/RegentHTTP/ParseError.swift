// Everything that a message can do wrong, by name, with the place where it did.
// One closed enum: a rule that is broken anywhere in RegentHTTP is one of these and nothing else.

/// A broken rule of the HTTP grammar, and the place where it broke.
public struct ParseError: Error, Equatable, Sendable {
  /// The rule that the message broke.
  public let rule: Rule
  /// The offset of the offending byte: in the message for heads, in the input of that call for bodies.
  public let offset: Int

  public init(_ rule: Rule, at offset: Int) {
    self.rule = rule
    self.offset = offset
  }

  /// The status to answer a client with before closing; a response that broke a rule is the caller's 502.
  public var status: Int { rule.status }

  /// A rule of the message grammar or one of Regent's limits.
  public enum Rule: String, CaseIterable, Sendable {
    // Lines and bytes.
    case bareCarriageReturn, bareLineFeed, nul, controlCharacter
    // The start line.
    case emptyLineBeforeStart, malformedRequestLine, invalidMethod, unknownMethod
    case invalidTarget, unsupportedScheme, userInformation, targetNotForMethod
    case malformedVersion, unsupportedVersion, malformedStatusLine, invalidStatus
    // Field lines.
    case obsoleteFold, emptyFieldName, invalidFieldName, spaceBeforeColon, missingColon
    // Host.
    case missingHost, repeatedHost, malformedHost, hostMismatch
    // Framing.
    case invalidContentLength, repeatedContentLength, contentLengthAndTransferEncoding
    case malformedTransferEncoding, unsupportedTransferCoding, repeatedTransferEncoding
    case transferEncodingInHTTP10
    // Connection and Expect.
    case malformedConnection, tooManyConnectionOptions, protectedConnectionOption, unsupportedExpectation
    // Limits.
    case requestLineTooLong, fieldLineTooLong, headTooLarge, tooManyFields
    // Bodies.
    case invalidChunkSize, chunkSizeOverflow, invalidChunkExtension, chunkExtensionTooLong
    case missingChunkEnd, malformedTrailer, trailersTooLarge, incompleteBody

    /// The status that this rule's breach is answered with.
    public var status: Int {
      switch self {
      case .requestLineTooLong: 414
      case .unsupportedExpectation: 417
      case .fieldLineTooLong, .headTooLarge, .tooManyFields: 431
      case .unknownMethod, .unsupportedTransferCoding: 501
      case .unsupportedVersion: 505
      default: 400
      }
    }
  }
}

extension ParseError: CustomStringConvertible {
  /// One sentence: what was wrong and where.
  public var description: String { "\(rule.sentence) (at byte \(offset))." }
}

extension ParseError.Rule {
  /// What the message did wrong, as a sentence without its full stop.
  public var sentence: String {
    switch self {
    case .bareCarriageReturn: "A carriage return stands without its line feed"
    case .bareLineFeed: "A line feed stands without its carriage return"
    case .nul: "A NUL byte stands in the message head"
    case .controlCharacter: "A control character stands in the message head"
    case .emptyLineBeforeStart: "More than one empty line stands before the request line"
    case .malformedRequestLine: "The request line is not method, target and version with single spaces"
    case .invalidMethod: "The method is not a token"
    case .unknownMethod: "The method is not implemented"
    case .invalidTarget: "The request target is malformed"
    case .unsupportedScheme: "The scheme of the target is neither http nor https"
    case .userInformation: "The target carries user information"
    case .targetNotForMethod: "This form of target does not belong to this method"
    case .malformedVersion: "The protocol version is malformed"
    case .unsupportedVersion: "The protocol version is neither HTTP/1.0 nor HTTP/1.1"
    case .malformedStatusLine: "The status line is malformed"
    case .invalidStatus: "The status is not between 100 and 599"
    case .obsoleteFold: "A field line begins with white space"
    case .emptyFieldName: "A field name is empty"
    case .invalidFieldName: "A field name is not a token"
    case .spaceBeforeColon: "White space stands between a field name and its colon"
    case .missingColon: "A field line has no colon"
    case .missingHost: "The request has no Host"
    case .repeatedHost: "The request has more than one Host"
    case .malformedHost: "The host or its port is malformed"
    case .hostMismatch: "The target's authority and Host disagree"
    case .invalidContentLength: "Content-Length is not one number of digits alone, at most 2^53"
    case .repeatedContentLength: "Content-Length occurs more than once"
    case .contentLengthAndTransferEncoding: "Content-Length and Transfer-Encoding occur together"
    case .malformedTransferEncoding: "Transfer-Encoding is not exactly chunked"
    case .unsupportedTransferCoding: "The transfer coding is not implemented"
    case .repeatedTransferEncoding: "Transfer-Encoding occurs more than once"
    case .transferEncodingInHTTP10: "Transfer-Encoding occurs in an HTTP/1.0 message"
    case .malformedConnection: "Connection is not a list of tokens"
    case .tooManyConnectionOptions: "Connection has more than 32 options"
    case .protectedConnectionOption: "Connection names a field that may not be removed"
    case .unsupportedExpectation: "The expectation is not 100-continue"
    case .requestLineTooLong: "The request line is over the limit"
    case .fieldLineTooLong: "A field line is over the limit"
    case .headTooLarge: "The message head is over the limit"
    case .tooManyFields: "The message has too many fields"
    case .invalidChunkSize: "A chunk size is not 1 to 16 hexadecimal digits"
    case .chunkSizeOverflow: "The chunk sizes overflow"
    case .invalidChunkExtension: "A chunk extension is malformed"
    case .chunkExtensionTooLong: "The chunk extensions are over the limit"
    case .missingChunkEnd: "A chunk does not end in CRLF"
    case .malformedTrailer: "A trailer field is malformed"
    case .trailersTooLarge: "The trailers are over the limit"
    case .incompleteBody: "The connection ended before the message did"
    }
  }
}

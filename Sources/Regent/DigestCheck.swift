// Whether the content of an origin's response is what its digests say (RFC 9530): worked out as the bytes arrive, none of which
// is held for it. Content that is something else still goes to its client, but no cache takes it.

import RegentCaching
import RegentHTTP
import RegentLoop
import RegentStorage

/// The digests of one response. Confined to the loop on which its content arrives.
final class DigestCheck {
  private var expected: [ExpectedDigest]
  private let status: Int
  /// What came of the trailers, where they are to say more; nil where they are not.
  private var trailers: [UInt8]?
  private var running: [(algorithm: ExpectedDigest.Algorithm, digest: MessageDigest)] = []
  /// Whether a body that arrives is to be checked, because it would be stored.
  private(set) var isWanted = false
  /// Whether the content was found to be something else.
  private(set) var isRefuted = false

  private init(_ expected: [ExpectedDigest], status: Int, awaitsTrailers: Bool) {
    (self.expected, self.status) = (expected, status)
    trailers = awaitsTrailers ? [] : nil
  }

  /// The check of a response with these fields; nil where they say nothing that can be checked, as nearly always.
  static func of(_ fields: Fields, status: Int, awaitsTrailers: Bool = false) -> DigestCheck? {
    let expected = ExpectedDigest.all(in: fields, status: status)
    guard awaitsTrailers || !expected.isEmpty else { return nil }
    return DigestCheck(expected, status: status, awaitsTrailers: awaitsTrailers)
  }

  static func of(_ head: ResponseHead, _ framing: BodyFraming) -> DigestCheck? {
    // A 304, and the answer to a HEAD, have digests of content that they do not carry.
    guard framing != .none else { return nil }
    return of(
      head.fields, status: head.status,
      awaitsTrailers: framing == .chunked && ExpectedDigest.areAnnounced(in: head.fields))
  }

  /// The body of a response that would be stored: checked if it is here, else marked to be checked as it arrives.
  func verified(_ body: ResponseBody) -> ResponseBody {
    isWanted = true
    switch body {
    case .empty: return matches([]) ? body : refuted([])
    case .whole(let slice): return matches([slice]) ? body : refuted([slice])
    case .stream, .composed, .file: return body
    }
  }

  /// Whether what parts have become, and the fields say of it, agree: the parts alone could not tell. Counts where they do not.
  static func admits(whole slices: [Slice], _ fields: Fields, _ request: Request, on loop: EventLoop) async
    -> Bool
  {
    guard let digests = of(fields, status: 200), await !digests.match(slices, on: loop) else {
      return true
    }
    request.meters.note(.digestMismatch)
    request.meters.domains[request.domain.number].refused.add(.digestMismatch)
    return false
  }

  /// Whether bytes that are all here are what was expected; the loop's other events have their turn meanwhile.
  private func match(_ slices: [Slice], on loop: EventLoop) async -> Bool {
    for slice in slices {
      update(slice)
      if slice.count >= 4096 { await loop.yieldTurn() }
    }
    return isMet()
  }

  private func matches(_ slices: [Slice]) -> Bool {
    for slice in slices { update(slice) }
    return isMet()
  }

  /// The bytes as a body that nobody keeps.
  private func refuted(_ slices: [Slice]) -> ResponseBody { .stream(BodyStream(refuted: slices)) }

  /// More of the content.
  func update(_ slice: Slice) {
    start()
    slice.withBytes { bytes in for one in running { one.digest.update(bytes) } }
  }

  /// Some of the message's trailers, after its content.
  func update(trailers bytes: Span<UInt8>) {
    guard trailers != nil else { return }
    for index in bytes.indices { trailers?.append(bytes[index]) }
  }

  /// The message has ended: whether its content is what was expected.
  func isMet() -> Bool {
    start()
    // What is malformed is as if it were not there, here as in the head.
    if let trailers, let fields = try? Fields(trailers: trailers) {
      expected += ExpectedDigest.all(in: fields, status: status)
    }
    let found = running.map { ($0.algorithm, $0.digest.finish()) }
    // An algorithm that cannot be had here says nothing.
    isRefuted = found.contains { algorithm, bytes in
      expected.contains { $0.algorithm == algorithm && $0.bytes != bytes }
    }
    return !isRefuted
  }

  private func start() {
    guard running.isEmpty else { return }
    // What comes in trailers may be of any algorithm.
    for algorithm in ExpectedDigest.Algorithm.allCases
    where trailers != nil || expected.contains(where: { $0.algorithm == algorithm }) {
      if let digest = MessageDigest(algorithm.digest) { running.append((algorithm, digest)) }
    }
  }
}

extension ExpectedDigest.Algorithm {
  fileprivate var digest: MessageDigest.Algorithm {
    switch self {
    case .sha256: .sha256
    case .sha512: .sha512
    }
  }
}

extension ResponseBody {
  /// Whether its content is known not to be what its digests say.
  var isRefuted: Bool {
    switch self {
    case .empty, .whole, .file: false
    case .stream(let stream): stream.isRefuted
    case .composed(let pieces): pieces.streams.contains(where: \.isRefuted)
    }
  }
}

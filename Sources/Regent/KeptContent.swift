// A request's content on its way to the origin, kept while it is small so that it can be sent once more. What is larger
// passes through and is forgotten.

import RegentHTTP
import RegentLoop

/// Content that remembers its first bytes.
// The class is confined to the loop of the request, on which whoever reads it runs.
final class KeptContent {
  private let content: any RequestBody
  private let limit: Int
  private let meters: LoopMeters
  // Bytes of their own: the pieces that they came in may be few bytes each, of large blocks.
  private var bytes: [UInt8] = []
  /// Whether what is read next is what was read before.
  private var isRewound = false
  private var isOverfull = false
  /// Whether the end was read, and all before it is here.
  private(set) var isWhole = false

  init(_ content: any RequestBody, limit: Int, meters: LoopMeters) {
    self.content = content
    self.limit = limit
    self.meters = meters
  }

  var framing: BodyFraming { content.framing }
  var isComplete: Bool { content.isComplete && !isRewound }

  func read() async throws -> Slice? {
    if isRewound {
      isRewound = false
      if !bytes.isEmpty { return Slice(bytes) }
    }
    if isWhole { return nil }
    guard let piece = try await content.next() else {
      isWhole = !isOverfull
      return nil
    }
    keep(piece)
    return piece
  }

  func abandon() { content.abandon() }

  /// The content is to be read from its first byte again; only where it ``isWhole``.
  func rewind() {
    precondition(isWhole, "content that was not kept was to be sent again")
    isRewound = true
  }

  /// Nobody will send it again.
  func letGo() {
    meters.keptContent.add(-bytes.count)
    bytes = []
    isOverfull = true
    isWhole = false
  }

  private func keep(_ piece: Slice) {
    guard !isOverfull else { return }
    guard piece.count <= limit - bytes.count else { return letGo() }
    meters.keptContent.add(piece.count)
    piece.block.copy(piece.range, onto: &bytes)
    isWhole = content.isComplete
  }
}

/// The content as providers see it: reachable on the request's loop only.
final class ReplayableContent: RequestBody {
  let framing: BodyFraming
  private let kept: LoopBound<KeptContent>

  init(_ kept: KeptContent, on loop: EventLoop) {
    framing = kept.framing
    self.kept = LoopBound(kept, loop)
  }

  var isComplete: Bool { kept.value.isComplete }

  func next() async throws -> Slice? { try await kept.value.read() }

  func abandon() { kept.value.abandon() }
}

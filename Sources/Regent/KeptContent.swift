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
  private var pieces: [Slice] = []
  private var next = 0
  private var count = 0
  private var isOverfull = false
  /// Whether the end was read, and all before it is here.
  private(set) var isWhole = false

  init(_ content: any RequestBody, limit: Int, meters: LoopMeters) {
    self.content = content
    self.limit = limit
    self.meters = meters
  }

  var framing: BodyFraming { content.framing }
  var isComplete: Bool { content.isComplete && next == pieces.count }

  func read() async throws -> Slice? {
    if next < pieces.count {
      next += 1
      return pieces[next - 1]
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
    next = 0
  }

  /// Nobody will send it again.
  func letGo() {
    meters.keptContent.add(-count)
    count = 0
    pieces = []
    next = 0
    isOverfull = true
    isWhole = false
  }

  private func keep(_ piece: Slice) {
    guard !isOverfull else { return }
    guard piece.count <= limit - count else { return letGo() }
    meters.keptContent.add(piece.count)
    count += piece.count
    pieces.append(piece)
    next = pieces.count
    isWhole = content.isComplete
  }
}

/// The content as providers see it: reachable on the request's loop only.
struct ReplayableContent: RequestBody {
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

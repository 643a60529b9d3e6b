// A client's content that waits for a word of the origin's (RFC 9110 section 10.1.1): its 100 lets the content go, its
// final answer keeps it back, and an origin that says nothing for a while gets it all the same.

import RegentLoop

// Confined to its loop.
final class Expectation {
  private enum Word { case none, granted, refused }

  private var word = Word.none
  private let waiting: Task<Void, Never>

  /// - Parameter patience: How long the origin may say nothing: many know no 100.
  init(on loop: EventLoop, patience: Duration) {
    waiting = Task(executorPreference: loop) { await loop.sleep(for: patience) }
  }

  /// The origin sent its 100.
  func granted() { speak(.granted) }

  /// The origin has answered without the content, or failed.
  func refused() { speak(.refused) }

  private func speak(_ word: Word) {
    guard self.word == .none else { return }
    self.word = word
    waiting.cancel()
  }

  /// Waits for the word; whether the content may go.
  func isMet() async -> Bool {
    await waiting.value
    return word != .refused
  }
}

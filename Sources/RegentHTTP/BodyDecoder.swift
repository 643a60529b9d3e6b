// Takes a message body apart as it arrives, without copying: it says which ranges of the input are content.
// The caller keeps nothing for it between calls; chunked framing has a machine of its own (ChunkedDecoder).

/// A reader of one message's content by its framing (RFC 9112 sections 6 and 7).
public struct BodyDecoder: Sendable {
  public enum Step: Sendable, Equatable {
    /// These bytes of the input are content.
    case content(Range<Int>)
    /// These bytes of the input are field lines of the trailer section, or a piece of them; at most 8 KiB in all.
    case trailers(Range<Int>)
    /// The input is used up and the message goes on.
    case needMore
    /// The message is over; bytes of the input from `offset` on belong to the next one.
    case end
  }

  private enum State: Sendable {
    case length(Int)
    case untilClose
    case chunked(ChunkedDecoder)
    case ended
    case broken(ParseError)
  }

  private var state: State

  public init(_ framing: BodyFraming) {
    state =
      switch framing {
      case .none, .length(...0): .ended
      case .length(let length): .length(length)
      case .chunked: .chunked(ChunkedDecoder())
      case .untilClose: .untilClose
      }
  }

  /// Whether the whole message was read, to its last byte.
  public var isComplete: Bool {
    if case .ended = state { true } else { false }
  }

  /// The bytes of content still to come, where that is known.
  public var remaining: Int? {
    switch state {
    case .length(let left): left
    case .ended: 0
    case .untilClose, .chunked, .broken: nil
    }
  }

  /// Reads from `input` at `offset` and advances `offset` past what it consumed.
  ///
  /// An error's offset lies in this `input`. After an error the connection can only be closed: every further
  /// call throws the same.
  public mutating func next(_ input: Span<UInt8>, at offset: inout Int) throws(ParseError) -> Step {
    switch state {
    case .ended: return .end
    case .length(let left):
      let range = take(left, input, &offset)
      guard !range.isEmpty else { return .needMore }
      state = range.count == left ? .ended : .length(left &- range.count)
      return .content(range)
    case .untilClose:
      let range = take(Int.max, input, &offset)
      return range.isEmpty ? .needMore : .content(range)
    case .chunked(var decoder):
      do throws(ParseError) {
        let step = try decoder.next(input, at: &offset)
        state = step == .end ? .ended : .chunked(decoder)
        return step
      } catch {
        state = .broken(error)
        throw error
      }
    case .broken(let error): throw error
    }
  }

  /// The peer has closed its side: the end of content until close, an error in the middle of anything else.
  public mutating func inputEnded() throws(ParseError) {
    switch state {
    case .ended: return
    case .untilClose: state = .ended
    case .length, .chunked: throw ParseError(.incompleteBody, at: 0)
    case .broken(let error): throw error
    }
  }

  private func take(_ most: Int, _ input: Span<UInt8>, _ offset: inout Int) -> Range<Int> {
    let start = offset
    offset &+= min(most, max(0, input.count &- start))
    return start..<offset
  }
}

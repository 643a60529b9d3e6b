// The heads that a loop wrote last for small stored responses. Age and freshness change once a second; within it a
// response that many ask for has one head, and copying it costs a tenth of composing it.

import RegentCaching
import RegentHTTP
import RegentLoop

/// Written heads by what they were written from; bounded in number and in the size of the records they hold on to.
struct RecentAnswers {
  /// All that the head of a plain hit depends on, or that of a 304 in its place.
  struct Answer {
    fileprivate let own: Slice
    fileprivate let status: Int
    fileprivate let date: Int64
    fileprivate let age: Int32
    fileprivate let ttl: Int32
    /// Of the content; -1 for a 304.
    fileprivate let length: Int
    /// The head whose conditions a 304 answers; nil for a whole answer, which depends on none.
    fileprivate let routed: RoutedHead?

    /// Nil for every answer but a plain hit on a small record.
    init?(_ response: borrowing Response, _ ending: ResponseWriter.Ending, to routed: RoutedHead?) {
      switch ending {
      case .length(let length): self.init(response, status: response.status, length: length, nil)
      case .none where response.status == 304:
        guard let routed else { return nil }
        self.init(notModified: response, to: routed)
      default: return nil
      }
    }

    /// What a 304 would depend on that such a head were to get in place of this response.
    init?(notModified response: borrowing Response, to routed: RoutedHead) {
      guard routed.head.fields.bytes.count <= RecentHeads.longest else { return nil }
      self.init(response, status: 304, length: -1, routed)
    }

    private init?(_ response: borrowing Response, status: Int, length: Int, _ routed: RoutedHead?) {
      // What comes from the disk is another block each time.
      guard response.cacheStatus.detail == .none, case .stored(_, let own) = response.fields,
        let ttl = response.cacheStatus.plainHit, let age = response.age,
        let date = response.metadata?.date, own.block.capacity <= RecentAnswers.largestRecord
      else { return nil }
      (self.own, self.status, self.date) = (own, status, date)
      (self.age, self.ttl, self.length, self.routed) = (age, ttl, length, routed)
    }

    fileprivate var place: Int {
      own.block.place(among: RecentAnswers.places) ^ (routed == nil ? 0 : RecentAnswers.places / 2)
    }

    fileprivate func isSame(as other: Answer) -> Bool {
      own.block === other.own.block && own.range == other.own.range && date == other.date && age == other.age
        && ttl == other.ttl && length == other.length && status == other.status && routed === other.routed
    }
  }

  static let places = 64
  /// A head keeps its record alive, outside the store's budget: 64 times this at most, for each loop.
  static let largestRecord = 8 << 10

  /// Which record was composed last at each place; a number that another one may share, which costs a copy only.
  private var tags: [Int] = Array(repeating: -1, count: places)
  private var heads: [Known?] = Array(repeating: nil, count: places)

  // A class: to look at one takes a reference, not a copy of all that it holds.
  private final class Known: Sendable {
    let answer: Answer
    let bytes: [UInt8]

    init(_ answer: Answer, _ bytes: [UInt8]) { (self.answer, self.bytes) = (answer, bytes) }
  }

  /// Appends the head of an answer that was written before; false where it was not.
  func append(_ answer: Answer, onto bytes: inout [UInt8]) -> Bool {
    guard let known = heads[answer.place], known.answer.isSame(as: answer) else { return false }
    bytes.append(contentsOf: known.bytes)
    return true
  }

  /// Remembers a head of a record that was asked for twice in a row at its place: to copy each of many would not pay.
  mutating func note(_ answer: Answer, _ head: ArraySlice<UInt8>) {
    let place = answer.place
    let tag = answer.own.block.place(among: 1 << 30)
    if tags[place] == tag { heads[place] = Known(answer, Array(head)) }
    tags[place] = tag
  }
}

/// The lines that all records have in common which arrived in the same second and live as long: Date, Age, Via and
/// Cache-Status. What was fetched together is asked for together; bounded, and never wrong.
struct RecentTails {
  /// All that the lines depend on.
  struct Tail: Equatable {
    let date: Int64
    let age: Int32
    let ttl: Int32
    let isFromDisk: Bool

    fileprivate static var none: Tail { Tail(date: .min, age: 0, ttl: 0, isFromDisk: false) }
    fileprivate var place: Int { Int(truncatingIfNeeded: date &+ Int64(ttl) &* 7) & (RecentTails.places - 1) }
  }

  static let places = 64

  /// Which lines were composed last at each place, and which were kept there.
  private var last: [Tail] = Array(repeating: .none, count: places)
  private var kept: [(tail: Tail, bytes: [UInt8])] = Array(repeating: (.none, []), count: places)

  /// Appends lines that were kept; false where they were not.
  func append(_ tail: Tail, onto bytes: inout [UInt8]) -> Bool {
    guard kept[tail.place].tail == tail else { return false }
    bytes.append(contentsOf: kept[tail.place].bytes)
    return true
  }

  /// Keeps lines that were composed twice in a row at their place.
  mutating func note(_ tail: Tail, _ lines: ArraySlice<UInt8>) {
    if last[tail.place] == tail { kept[tail.place] = (tail, Array(lines)) }
    last[tail.place] = tail
  }
}

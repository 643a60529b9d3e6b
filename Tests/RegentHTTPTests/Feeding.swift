// Feeds bytes to the parsers in every way that a network may: whole, byte by byte, in random pieces.
// Each way must come to the same end, which is a line of text here so that two ends compare easily.

import TestKit
import Testing

@testable import RegentHTTP

/// One message and what must become of it.
struct Row: Sendable, CustomTestStringConvertible {
  let id: String
  let bytes: [UInt8]
  let rule: ParseError.Rule?

  init(_ id: String, _ text: String, _ rule: ParseError.Rule? = nil) {
    self.init(id, bytes: Array(text.utf8), rule)
  }

  init(_ id: String, bytes: [UInt8], _ rule: ParseError.Rule? = nil) {
    self.id = id
    self.bytes = bytes
    self.rule = rule
  }

  var testDescription: String { id }
}

/// The ends of growing prefixes: how much has come at each call.
enum Pieces {
  static func whole(_ count: Int) -> [Int] { [count] }
  static func single(_ count: Int) -> [Int] { Array(0...count) }
  static func random(_ count: Int, seed: UInt64) -> [Int] {
    var generator = SeededGenerator(seed: seed)
    var ends: [Int] = []
    var end = 0
    while end < count {
      end = min(count, end + Int.random(in: 1...24, using: &generator))
      ends.append(end)
    }
    return ends.isEmpty ? [0] : ends
  }
}

/// How a head came out.
enum Outcome: Equatable, CustomStringConvertible {
  case head(String, consumed: Int)
  case refused(ParseError)
  case more

  var rule: ParseError.Rule? { if case .refused(let error) = self { error.rule } else { nil } }

  var description: String {
    switch self {
    case .head(let text, let consumed): "\(text) [\(consumed)]"
    case .refused(let error): "\(error.rule) at \(error.offset)"
    case .more: "needs more"
    }
  }
}

func feedRequest(_ bytes: [UInt8], _ ends: [Int], _ limits: MessageLimits = .standard) -> Outcome {
  var parser = RequestParser(limits: limits)
  do throws(ParseError) {
    for end in ends {
      if let head = try parser.parse(bytes.span.extracting(0..<end)) {
        return .head(summary(head), consumed: parser.consumed)
      }
    }
    return .more
  } catch {
    return .refused(error)
  }
}

func feedResponse(_ bytes: [UInt8], _ ends: [Int], _ limits: MessageLimits = .standard) -> Outcome {
  var parser = ResponseParser(limits: limits)
  return feed(&parser, bytes, ends)
}

/// What a parser makes of a response that may not be its first.
func feed(_ parser: inout ResponseParser, _ bytes: [UInt8], _ ends: [Int]) -> Outcome {
  do throws(ParseError) {
    for end in ends {
      if let head = try parser.parse(bytes.span.extracting(0..<end)) {
        return .head(summary(head), consumed: parser.consumed)
      }
    }
    return .more
  } catch {
    return .refused(error)
  }
}

/// The same outcome, fed in each way; a difference is a failure that prints its seed.
func agree(_ bytes: [UInt8], _ feed: ([UInt8], [Int]) -> Outcome) -> Outcome {
  let whole = feed(bytes, Pieces.whole(bytes.count))
  #expect(feed(bytes, Pieces.single(bytes.count)) == whole, "byte by byte")
  for _ in 0..<4 {
    let seed = SeededGenerator.anySeed()
    #expect(feed(bytes, Pieces.random(bytes.count, seed: seed)) == whole, "in pieces of seed \(seed)")
  }
  return whole
}

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

func summary(_ fields: Fields) -> String {
  fields.lines.map { "\(text(fields.name(of: $0)))=\(text(fields.value(of: $0)))" }.joined(separator: "|")
}

func summary(_ head: RequestHead) -> String {
  let bytes = head.fields.bytes
  let query = head.target.query.map { "?" + text(bytes[$0]) } ?? ""
  let port = head.port.map { ":\($0)" } ?? ""
  let target = "\(head.target.form) \(text(bytes[head.target.path]))\(query)"
  let keep = head.keepAlive ? "keep" : "close"
  let wait = head.expectsContinue ? " waits" : ""
  return
    "\(head.method) \(target) \(head.version) \(text(bytes[head.host]))\(port) \(head.framing) \(keep)\(wait) "
    + summary(head.fields)
}

func summary(_ head: ResponseHead) -> String {
  let framing = (try? head.framing(answering: .get)).map { "\($0)" } ?? "?"
  let reason = text(head.fields.bytes[head.reason])
  return "\(head.status) \(reason) \(head.version) \(framing) \(head.keepAlive ? "keep" : "close") "
    + summary(head.fields)
}

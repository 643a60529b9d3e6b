// RFC 9111 section 3.4: joining parts that are known to be of the same representation, by a strong validator that both
// responses carry. Here is decided where each byte comes from; the bytes are moved by others.

public import RegentHTTP

extension Parts {
  /// A stretch of combined parts and which of the two it is taken from.
  public struct Stretch: Sendable, Equatable {
    public let range: Range<Int>
    public let isNew: Bool

    public init(_ range: Range<Int>, isNew: Bool) {
      self.range = range
      self.isNew = isNew
    }
  }

  /// These parts with a newer one, and the stretches that make it up in order; nil where the lengths of the whole
  /// contradict each other, or where there would be too many parts. Where both have a byte, the newer one gives it.
  public func combined(with new: Range<Int>, complete newComplete: Int?) -> (Parts, [Stretch])? {
    if let complete, let newComplete, complete != newComplete { return nil }
    var stretches: [Stretch] = []
    for old in ranges {
      let before = old.clamped(to: 0..<max(0, new.lowerBound))
      if !before.isEmpty { stretches.append(Stretch(before, isNew: false)) }
    }
    stretches.append(Stretch(new, isNew: true))
    for old in ranges where old.upperBound > new.upperBound {
      stretches.append(Stretch(max(old.lowerBound, new.upperBound)..<old.upperBound, isNew: false))
    }
    let joined = Ranges.coalesced(stretches.map(\.range))
    return Parts(joined, complete: complete ?? newComplete).map { ($0, stretches) }
  }

  /// The stored parts together with the answer to a request for their gap; nil where the answer is about another range,
  /// another representation, or of a length that is not certain: then the whole must be fetched.
  ///
  /// - Parameters:
  ///   - validator: The stored parts' own.
  ///   - bodyCount: The announced length of the answer's content.
  ///   - date: The answer's Date.
  public func completed(
    _ gap: Gap, by fields: Fields, bodyCount: Int?, validator: StrongValidator?, date: Int64
  ) -> (Parts, [Stretch])? {
    guard case .part(let range, let complete)? = ContentRange(fields), range.lowerBound == gap.first,
      bodyCount == range.count, let validator, validator == StrongValidator(fields, date: date)
    else { return nil }
    guard let end = gap.last.map({ $0 + 1 }) ?? complete ?? self.complete else { return nil }
    // An end beyond the length of the whole, which was not known, is met by the last byte.
    guard range.upperBound == min(end, complete ?? end) else { return nil }
    return combined(with: range, complete: complete)
  }
}

extension Fields {
  /// The same fields without those of these names.
  public func without(_ names: FieldNameSet) -> Fields {
    guard !present.isDisjoint(with: names) else { return self }
    var kept = Fields()
    for line in lines where !names.contains(line.name) { kept.append(line, of: self) }
    return kept
  }
}

// The selecting fields of a stored response, told to people. Damaged bytes tell nothing; nothing here can trap.

extension Vary {
  /// A request field that selected a stored response.
  public struct SelectingField: Sendable, Equatable {
    /// In small letters.
    public let name: [UInt8]
    /// As it is compared; nil where the request had no such field.
    public let value: [UInt8]?

    public init(name: [UInt8], value: [UInt8]?) { (self.name, self.value) = (name, value) }
  }

  /// What an encoding holds, in its order; nil where it is none.
  public static func fields(_ encoded: Span<UInt8>) -> [SelectingField]? {
    guard encoded.count > 0 else { return [] }
    var fields: [SelectingField] = []
    var position = 1
    for _ in 0..<encoded[0] {
      guard position < encoded.count else { return nil }
      let name = (position + 1)..<(position + 1 + Int(encoded[position]))
      guard name.upperBound + 2 <= encoded.count else { return nil }
      let length = Int(encoded[name.upperBound]) | Int(encoded[name.upperBound + 1]) &<< 8
      let start = name.upperBound + 2
      position = length == absent ? start : start + length
      guard position <= encoded.count else { return nil }
      fields.append(
        SelectingField(
          name: name.map { encoded[$0] },
          value: length == absent ? nil : (start..<position).map { encoded[$0] }))
    }
    return position == encoded.count ? fields : nil
  }
}

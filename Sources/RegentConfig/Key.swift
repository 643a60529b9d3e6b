// A row of the table of keys: one key, the property that it sets, what it takes, what it means.

/// A key that sets a property of `Owner`.
struct Key<Owner>: Sendable {
  /// The whole path, as in `memory.size`.
  let path: String
  /// What it sets, in one line.
  let meaning: String
  /// What its values must be.
  let expectation: String
  /// Whether it must be there wherever its table is.
  let isRequired: Bool
  /// Reads a written value into the property.
  let read: @Sendable (Node, inout Owner) throws(KeyFailure) -> Void
  /// The property's value as TOML; nil if it has none.
  let toml: @Sendable (Owner) -> String?

  /// The last part of the path.
  var name: String { path.split(separator: ".").last.map(String.init) ?? path }

  /// `refusal` says what is wrong with a value of the right type, or nil.
  init<Value: KeyValue>(
    _ path: String, _ property: any WritableKeyPath<Owner, Value> & Sendable, required: Bool = false,
    refusal: @escaping @Sendable (Value) -> String? = { _ in nil }, _ meaning: String
  ) {
    self.path = path
    self.meaning = meaning
    expectation = Value.expectation
    isRequired = required
    read = { (node, owner) throws(KeyFailure) in
      let value = try Value.read(node)
      if let reason = refusal(value) { throw .refused(value: node.shown, because: reason) }
      owner[keyPath: property] = value
    }
    toml = { $0[keyPath: property].toml }
  }

  /// A key whose value lies in `range`.
  init<Value: KeyValue & Comparable>(
    _ path: String, _ property: any WritableKeyPath<Owner, Value> & Sendable, in range: ClosedRange<Value>,
    _ meaning: String
  ) {
    let lowest = range.lowerBound.toml ?? ""
    let highest = range.upperBound.toml ?? ""
    self.init(
      path, property, refusal: { range.contains($0) ? nil : "it must be from \(lowest) to \(highest)" },
      meaning)
  }
}

/// A key as documentation and tests see it, whatever it belongs to.
struct KeyDescription: Sendable {
  let path: String
  let meaning: String
  let expectation: String
  /// The default as TOML; nil if the key has none.
  let standard: String?

  init<Owner>(_ key: Key<Owner>, default owner: Owner) {
    path = key.path
    meaning = key.meaning
    expectation = key.expectation
    standard = key.isRequired ? nil : key.toml(owner)
  }
}

// Durations with units: "250ms", "10s", "5m", "2h", "7d". A number alone is refused, since
// nobody could tell its unit.

extension Duration {
  static let units = UnitTable(
    units: [
      .init("us", 1), .init("ms", 1_000), .init("s", 1_000_000), .init("m", 60_000_000),
      .init("h", 3_600_000_000), .init("d", 86_400_000_000),
    ])

  /// The longest duration that may be configured, in microseconds: 100 years.
  private static let longest = 36_500 * 86_400_000_000

  /// The duration that a text such as "250ms", "10s", "1.5h" or "7 d" stands for; nil if it is
  /// none, or longer than 100 years, or finer than a microsecond.
  init?(configured text: String) {
    guard let microseconds = Self.units.parse(text), microseconds <= Self.longest else { return nil }
    self = .microseconds(microseconds)
  }

  /// The duration in its largest whole unit, as in "5m".
  var configured: String {
    let (seconds, attoseconds) = components
    let (scaled, overflow) = Int(seconds).multipliedReportingOverflow(by: 1_000_000)
    guard !overflow else { return "\(seconds)s" }
    let microseconds = scaled &+ Int(attoseconds / 1_000_000_000_000)
    guard microseconds != 0 else { return "0s" }
    let text = Self.units.text(microseconds, units: ["d", "h", "m", "s", "ms", "us"])
    return (text ?? "0s").filter { $0 != " " }
  }
}

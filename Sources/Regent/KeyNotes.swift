// Keys of which one fact is remembered until a moment. Fixed in size: each key has one place, and whoever comes last has
// it; a place holds a hash that is random for each process. What is forgotten, or taken for another, costs time, no truth.

import RegentStorage

/// Which keys something is true of for a while; times are monotonic nanoseconds.
struct KeyNotes: Sendable {
  private struct Note {
    var hash: UInt64 = 0
    var until = Int64.min
  }

  private var notes: [Note]

  /// Makes this many places, a power of two.
  init(places: Int) {
    precondition(places > 0 && places & (places - 1) == 0, "places are a power of two")
    notes = Array(repeating: Note(), count: places)
  }

  func holds(_ key: RecordKey, now: Int64) -> Bool {
    let note = notes[place(key)]
    return note.hash == key.hash && note.until > now
  }

  mutating func note(_ key: RecordKey, until: Int64) {
    notes[place(key)] = Note(hash: key.hash, until: until)
  }

  mutating func forget(_ key: RecordKey) {
    if notes[place(key)].hash == key.hash { notes[place(key)].until = .min }
  }

  /// How many keys it is true of now.
  func count(now: Int64) -> Int { notes.count { $0.until > now } }

  /// The low bits, because the high ones chose the shard.
  private func place(_ key: RecordKey) -> Int { Int(truncatingIfNeeded: key.hash) & (notes.count - 1) }
}

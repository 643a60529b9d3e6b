// Slots with generations: how a C callback names a Swift object without holding a pointer to it.

/// The name of a slot: its index and how often it was used before.
struct SlotID: Hashable, Sendable {
  let index: UInt32
  let generation: UInt32

  init(index: UInt32, generation: UInt32) {
    self.index = index
    self.generation = generation
  }

  init(bits: UInt) {
    index = UInt32(truncatingIfNeeded: bits)
    generation = UInt32(truncatingIfNeeded: bits >> 32)
  }

  var bits: UInt { UInt(generation) << 32 | UInt(index) }
}

/// Objects by slot; a removed object's name never finds its successor.
struct SlotTable<Object: AnyObject> {
  private var slots: [(object: Object?, generation: UInt32)] = []
  private var free: [UInt32] = []

  var count: Int { slots.count - free.count }
  var all: [Object] { slots.compactMap(\.object) }

  mutating func insert(_ object: Object) -> SlotID {
    if let index = free.popLast() {
      slots[Int(index)].object = object
      return SlotID(index: index, generation: slots[Int(index)].generation)
    }
    slots.append((object, 1))
    return SlotID(index: UInt32(slots.count - 1), generation: 1)
  }

  mutating func remove(_ id: SlotID) {
    guard self[id] != nil else { return }
    slots[Int(id.index)].object = nil
    // 31 bits: the highest one belongs to the timers, which tell streams from sleepers by it.
    slots[Int(id.index)].generation = (id.generation &+ 1) & .max >> 1
    free.append(id.index)
  }

  subscript(id: SlotID) -> Object? {
    let index = Int(id.index)
    guard index < slots.count, slots[index].generation == id.generation else { return nil }
    return slots[index].object
  }
}

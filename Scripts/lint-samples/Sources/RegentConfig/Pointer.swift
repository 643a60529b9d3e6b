// expect: unsafe: pointers belong in two rooms, with or without a reason.
// expect: unsafe
func read(_ bytes: UnsafeRawBufferPointer) {}
// Right because: it is not.
let first = unsafe bytes[0]

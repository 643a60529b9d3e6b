// Nothing is to be found here: every dangerous construct has its reason, and look-alikes are left alone.
import CLibevent
import Glibc

// @unchecked: all state is behind the loop's own thread.
final class Shared: @unchecked Sendable {}

func a() {
  // Unsafe: `base` is owned here.
  let event = unsafe make(base)
  unsafe add(event)
  unsafe start(event)
  let last = unsafe peek(event)  // one reason serves neighbours that follow at once
}

/// What a function announces once, its whole body may rely on.
// Unsafe: the pointer is valid during the call only.
@unsafe @discardableResult
func fill(
  _ write: (UnsafeMutableBufferPointer<UInt8>) -> Int
) -> Int {
  let one = 1

  let two = one + one
  return unsafe write(base + two)
}

let quoted = "unsafe try? x! // not a comment"
let different = left != right && !done
let text = """
  unsafe, try? and force! in a long string
  """
/* a block comment: try? and
   unsafe */
let e = try? open(path)  // absence is an answer here

final class Owner {
  // Unsafe: allocated in init, freed in deinit, and nowhere else.
  private let cells: UnsafeMutablePointer<Int>
  private var waiter: UnsafeContinuation<Void, Never>?

  var first: Int {



    unsafe cells[0]
  }
}

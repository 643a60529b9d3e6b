// expect: reason: unsafe, try?, forced unwrapping, forced casts and @unchecked each need one, a new one each.
// expect: reason
// expect: reason
// expect: reason
// expect: reason
// expect: reason
// expect: reason
import Glibc

final class Shared: @unchecked Sendable {}


func a() { unsafe close(base) }


let b = try? open(path)


let c = table[key]!.value


let d = value as! Block

// Unsafe: this reason ends with its function.
func e() {
  unsafe close(base)
}


func f() { unsafe close(base) }


final class Owner {


  private let cells: UnsafeMutablePointer<Int>


  var first: Int { unsafe cells[0] }
}

// expect: import: XCTest
// expect: sleep
// expect: disabled
import XCTest

@Test(.disabled("later")) func later() {}


func waits() { usleep(1000) }

// expect: import: the wire knows nobody, in whichever way the import is written.
// expect: import
// expect: import
// expect: import
import Glibc
public import RegentLoop
@preconcurrency internal import Foundation
import struct RegentCaching.Freshness

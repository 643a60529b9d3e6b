// The only use of Foundation in the command: a safe way to write to standard error. It runs only where
// the process is about to fail, so it costs a start nothing.

import Foundation

enum StandardError {
  /// Writes the message, and ends the line.
  static func write(_ message: String) {
    // Standard error may be closed, and there is nobody else to tell.
    try? FileHandle.standardError.write(contentsOf: Data("\(message)\n".utf8))
  }
}

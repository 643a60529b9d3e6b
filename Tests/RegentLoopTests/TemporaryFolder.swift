// A folder of one test's own, removed with what is in it.

import Glibc

@testable import RegentLoop

final class TemporaryFolder: Sendable {
  let path: String
  private let names = Lock<[String]>([])

  init() throws {
    let base = Environment.value("TMPDIR") ?? "/tmp"
    var template = Array("\(base)/regent-test-XXXXXX".utf8CString)
    // Unsafe: mkdtemp writes within the template, which ends in a zero.
    let made = unsafe mkdtemp(&template) != nil
    guard made else { throw SystemError(call: "mkdtemp", code: errno) }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  // Unsafe: the strings live for the calls.
  deinit {
    for name in names.withLock({ $0 }).reversed() { _ = unsafe remove("\(path)/\(name)") }
    _ = unsafe unlink("\(path)/socket")
    _ = unsafe rmdir(path)
  }

  func write(_ bytes: [UInt8], to name: String) throws {
    names.withLock { $0.append(name) }
    let file = try SystemError.check("open", unsafe open("\(path)/\(name)", O_WRONLY | O_CREAT, 0o600))
    defer { close(file) }
    let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
    _ = try SystemError.check("write", Int32(count))
  }

  func link(_ name: String, to target: String) throws {
    names.withLock { $0.append(name) }
    _ = try SystemError.check("symlink", unsafe symlink(target, "\(path)/\(name)"))
  }

  func makeFolder(_ name: String) throws {
    names.withLock { $0.append(name) }
    _ = try SystemError.check("mkdir", unsafe mkdir("\(path)/\(name)", 0o700))
  }
}

// Starts programs for the tests and ends them again: only ever by the process id that it was given itself.
// Standard output and error go to one file each, so that a program never blocks on a pipe that nobody reads.

import Foundation
import Glibc
import TestKit

/// How a program ended.
enum Exit: Equatable, Sendable {
  case status(Int32)
  case signal(Int32)
}

/// Held while a program starts, and while a descriptor exists that it must not inherit.
let spawning = NSLock()

struct SpawnError: Error, CustomStringConvertible {
  let description: String
}

/// A running program, killed when it is released.
final class ChildProcess: Sendable {
  let pid: Int32
  private let exit = Shared<Exit?>(nil)

  /// Starts `program` (a path, or a name to look up on PATH) with its output going to `output` and `errors`.
  init(
    _ program: String, _ arguments: [String], environment: [String: String] = [:],
    output: String = "/dev/null", errors: String = "/dev/null"
  ) throws {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    let flags = O_WRONLY | O_CREAT | O_APPEND
    unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o600)
    unsafe posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0o600)
    // Threads of this process block signals, and a program would inherit that and never see SIGTERM.
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    let merged = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let names = merged.map { "\($0.key)=\($0.value)" }
    var arguments = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
    var variables = unsafe names.map { unsafe strdup($0) } + [nil]
    defer {
      for index in unsafe arguments.indices { unsafe free(arguments[index]) }
      for index in unsafe variables.indices { unsafe free(variables[index]) }
    }
    var pid: Int32 = 0
    let result = spawning.withLock {
      unsafe posix_spawnp(&pid, program, &actions, &attributes, &arguments, &variables)
    }
    guard result == 0 else {
      throw SpawnError(description: "cannot start \(program): errno \(result). Is it installed?")
    }
    self.pid = pid
  }

  deinit { kill() }

  /// How it ended, or nil while it runs.
  func poll() -> Exit? {
    exit.update { exit in
      if exit != nil { return exit }
      var status: Int32 = 0
      guard unsafe waitpid(pid, &status, WNOHANG) == pid else { return nil }
      exit = status & 0x7F == 0 ? .status((status >> 8) & 0xFF) : .signal(status & 0x7F)
      return exit
    }
  }

  /// Sends a signal, unless the program has ended (then its id may be another's).
  func signal(_ number: Int32) {
    exit.update { if $0 == nil { _ = Glibc.kill(pid, number) } }
  }

  /// Waits for its end; nil if it does not end in time.
  func wait() -> Exit? {
    var ended: Exit?
    _ = eventually {
      ended = poll()
      return ended != nil
    }
    return ended
  }

  /// Ends it the hard way and waits until it is gone.
  @discardableResult
  func kill() -> Exit? {
    if let ended = poll() { return ended }
    signal(SIGKILL)
    return wait()
  }
}

/// What a program said that ran to its end.
struct Told: Sendable {
  let exit: Exit
  let output: String
  let errors: String

  var lines: [Substring] { output.split(separator: "\n") }

  /// Whether it ended well and wrote all of these.
  func says(_ texts: String...) -> Bool { exit == .status(0) && texts.allSatisfy(output.contains) }
}

/// Runs a program to its end and gives what it wrote.
func run(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws -> Told {
  let folder = try TemporaryFolder()
  let (output, errors) = (folder.path("output"), folder.path("errors"))
  let child = try ChildProcess(
    program, arguments, environment: environment, output: output, errors: errors)
  guard let exit = child.wait() else {
    throw SpawnError(description: "\(program) \(arguments) did not end within \(patience) s")
  }
  return Told(exit: exit, output: contents(of: output), errors: contents(of: errors))
}

/// The text of a file, empty where there is none.
func contents(of path: String) -> String {
  FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
}

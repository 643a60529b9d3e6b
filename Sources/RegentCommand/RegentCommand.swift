// The command line of Regent: its commands, and the one place where the process ends. A command does
// its work in `run()` and throws a `Failure` for whatever it cannot do.

import ArgumentParser

/// `regent`, the command.
@main
struct RegentCommand: ParsableCommand {
  /// The version of this build, as `regent --version` and the daemon's log name it.
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "regent",
    abstract: "A local caching reverse proxy: it answers for your origins when they are slow or gone.",
    discussion: """
      Point your apps at localhost. Regent routes each request by its domain to the nearest provider \
      that can answer it: memory, disk, fixtures, or the origin itself.

        regent serve --upstream https://api.example.org    one origin, no file
        regent serve --config config/regent.toml           domains as configured
        regent check config/regent.toml                    what is wrong with a file
        regent explain http://api.localhost:8080/users     what a request would get, and why
        regent stats --watch                               what it did so far, each second
        curl http://regent.localhost:8080/stats            the same, all of it, as JSON
        regent cache ls --dir /var/cache/regent            what is stored on the disk

      \(ExitCode.table)
      """,
    version: "regent \(version)",
    subcommands: [Serve.self, Check.self, Explain.self, Stats.self, Cache.self])

  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch let failure as Failure {
      StandardError.write(failure.message)
      exit(withError: ArgumentParser.ExitCode(failure.code.rawValue))
    } catch {
      // Help, version, and what the parser refuses; it exits with 0 or 64.
      exit(withError: error)
    }
  }
}

// `regent check`: everything that is wrong with a configuration, without starting.

import ArgumentParser
import Regent
import RegentConfig

/// `regent check FILE`.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say what is wrong with a configuration file, without starting.",
    discussion: """
      Each finding is one line on standard error, FILE:LINE: what is wrong, with the nearest valid key \
      where there is one, and the exit code is 78. A file without a finding prints one line and exits with 0.
      """)

  @Argument(help: ArgumentHelp("The TOML file.", valueName: "file"))
  var file: String

  @OptionGroup var overrides: Overrides

  func run() throws {
    do {
      let checked = try Configuration.load(file: file, overrides: overrides.parsed())
      try Daemon.check(checked)
      let domains = checked.domains.map(\.name).joined(separator: ", ")
      print("\(file): valid; domains: \(domains.isEmpty ? "none" : domains)")
    } catch let errors as ConfigurationErrors {
      throw Failure(errors)
    } catch let error as DaemonError {
      throw Failure(message: "\(file): \(error.message)", code: ExitCode(rawValue: error.exitCode))
    }
  }
}

/// The option `--set`, which two commands share.
struct Overrides: ParsableArguments {
  @Option(
    name: .customLong("set"),
    help: ArgumentHelp(
      "Set a key of the configuration, over the file; may be repeated. Lists have commas.",
      discussion: "Such as timeouts.connect=2s, or domain.NAME.ttl=5m for a domain of the file.",
      valueName: "key=value"))
  var arguments: [String] = []

  /// The overrides that the option stands for, in their order.
  func parsed() throws(Failure) -> [Override] {
    var parsed: [Override] = []
    for argument in arguments {
      do {
        parsed.append(try Override(set: argument))
      } catch {
        throw Failure(message: "--set \(argument): \(error.description)", code: .usage)
      }
    }
    return parsed
  }
}

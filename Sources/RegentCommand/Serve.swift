// `regent serve`: from the options to a configuration, and on to the daemon. With `--upstream` no file
// is looked for, so that a start takes milliseconds.

import ArgumentParser
import Foundation
import Regent
import RegentConfig

/// `regent serve`.
struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Start the daemon; it runs until SIGTERM or SIGINT, and finishes requests in flight.",
    discussion: """
      Without --config and --upstream it looks for config/regent.toml, then for /etc/regent/regent.toml. \
      With --upstream no file is read: localhost, *.localhost, 127.0.0.1, [::1] and the origin's own name \
      go to that origin, through the memory cache, and the disk cache where --disk names one.
      """)

  /// Where a configuration is looked for when none is named.
  static let standardFiles = ["config/regent.toml", "/etc/regent/regent.toml"]

  @Option(help: ArgumentHelp("The configuration file.", valueName: "file"))
  var config: String?

  @Option(
    help: ArgumentHelp(
      "An address to listen on, in place of the configured ones; may be repeated.",
      discussion: "Such as 127.0.0.1:8080, [::1]:8080, localhost:8080 for both, *:80, or unix:/path.",
      valueName: "address:port"))
  var listen: [String] = []

  @Option(help: ArgumentHelp("The one origin to answer for, without a file.", valueName: "url"))
  var upstream: String?

  @Option(help: ArgumentHelp("Event loops; 0 stands for one on each core.", valueName: "n"))
  var workers: Int?

  @Option(help: ArgumentHelp("The budget of the memory cache, such as 256MiB.", valueName: "size"))
  var memory: String?

  @Option(help: ArgumentHelp("The directory of the disk cache; without it there is none.", valueName: "dir"))
  var disk: String?

  @OptionGroup var overrides: Overrides

  func run() throws {
    let configuration = try configured()
    do {
      try Daemon.run(configuration, version: RegentCommand.version)
    } catch {
      throw Failure(message: error.message, code: ExitCode(rawValue: error.exitCode))
    }
  }

  /// The configuration that all options together stand for.
  private func configured() throws(Failure) -> Configuration {
    let changes = options + (try overrides.parsed())
    do {
      if let upstream = try origin() {
        return try Configuration.forUpstream(upstream).applying(changes)
      }
      return try Configuration.load(file: file(), overrides: changes)
    } catch let errors as ConfigurationErrors {
      throw Failure(errors)
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(message: "\(error)", code: .internal)
    }
  }

  /// The options that stand for keys; `--set` comes after them.
  private var options: [Override] {
    var options: [Override] = []
    if !listen.isEmpty {
      let addresses = listen.joined(separator: ",")
      options.append(Override(option: "--listen \(addresses)", key: "server.listen", value: addresses))
    }
    if let workers {
      options.append(Override(option: "--workers \(workers)", key: "server.workers", value: "\(workers)"))
    }
    if let memory {
      options.append(Override(option: "--memory \(memory)", key: "memory.size", value: memory))
    }
    if let disk {
      // A path on the command line is relative to where the command is given.
      let path = disk.hasPrefix("/") ? disk : FileManager.default.currentDirectoryPath + "/" + disk
      options.append(Override(option: "--disk \(disk)", key: "disk.path", value: path))
    }
    return options
  }

  private func origin() throws(Failure) -> UpstreamURL? {
    guard let upstream else { return nil }
    if config != nil {
      throw Failure(message: "--config and --upstream exclude each other", code: .usage)
    }
    do {
      return try UpstreamURL(upstream)
    } catch {
      throw Failure(message: "--upstream \(upstream): \(error.description)", code: .usage)
    }
  }

  private func file() throws(Failure) -> String {
    if let config { return config }
    for file in Self.standardFiles where FileManager.default.fileExists(atPath: file) { return file }
    let files = Self.standardFiles.joined(separator: " nor ")
    throw Failure(
      message: "there is neither \(files): name a file with --config, or an origin with --upstream",
      code: .missingFile)
  }
}

// `regent cache`: what a cache's directory holds, and whether it is whole. It reads the files themselves, whether a
// daemon has them or not; it takes no lock and changes nothing.

import ArgumentParser
import Foundation
import Regent
import RegentConfig

/// `regent cache`, with its own commands.
struct Cache: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Look at a cache's directory: what is stored, why it would be served, whether it is whole.",
    discussion: """
      The files themselves are read, without a lock and without changing anything, also while a daemon has them. \
      What is said of a response is what the daemon would decide about a plain GET, by the rules of its domain in the \
      configuration; without a configuration by those of HTTP alone.
      """,
    subcommands: [List.self, Show.self, Verify.self, Export.self])
}

/// The options that say which directory it is, and by which rules it is judged.
struct CacheOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The cache's directory; without it, the configuration's [disk] path.", valueName: "path"))
  var dir: String?

  @Option(
    help: ArgumentHelp(
      "The configuration file, for the rules of its domains.",
      discussion: "Without it config/regent.toml, then /etc/regent/regent.toml, if the directory is theirs.",
      valueName: "file"))
  var config: String?

  /// The directory, and the file whose rules it is judged by; nil for HTTP's own.
  func open() throws(Failure) -> (directory: CacheDirectory, rules: String?) {
    let (configuration, file) = try loaded()
    guard let dir = dir ?? configuration?.disk.path else {
      let place = file.map { "\($0) has no [disk] path" } ?? "there is no configuration with a [disk] path"
      throw Failure(message: "\(place): name the cache's directory with --dir", code: .usage)
    }
    // A configuration that nobody named says nothing of a directory that is not its own.
    let isItsOwn = config != nil || configuration?.disk.path.map(Self.standard) == Self.standard(dir)
    do {
      let directory = try CacheDirectory.open(dir, configuration: isItsOwn ? configuration : nil)
      return (directory, isItsOwn ? file : nil)
    } catch {
      throw Failure(message: error.message, code: ExitCode(rawValue: error.exitCode))
    }
  }

  /// A path without what makes two spellings of one.
  private static func standard(_ path: String) -> String {
    URL(fileURLWithPath: path).standardizedFileURL.path
  }

  private func loaded() throws(Failure) -> (Configuration?, String?) {
    if let config {
      do { return (try Configuration.load(file: config), config) } catch { throw Failure(error) }
    }
    let found = Serve.standardFiles.first { FileManager.default.fileExists(atPath: $0) }
    guard let found else { return (nil, nil) }
    do { return (try Configuration.load(file: found), found) } catch {
      // Where the directory is named, it can be looked at without a configuration.
      guard dir == nil else { return (nil, nil) }
      throw Failure(error)
    }
  }
}

extension CacheDirectory {
  /// Tells of what is not as it was written; all of it is for `verify` to tell.
  func warn(_ omissions: CacheDirectory.Omissions? = nil) {
    let all = findings + (omissions?.damaged ?? [])
    for finding in all.prefix(10) { StandardError.write("regent: \(finding)") }
    if all.count > 10 {
      StandardError.write("regent: and \(all.count - 10) more; regent cache verify tells all")
    }
    if let unknown = omissions?.unknown, unknown > 0 {
      StandardError.write("regent: left out: \(unknown) records of another kind")
    }
  }
}

extension Cache {
  /// `regent cache ls`.
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "ls", abstract: "List what is stored, the last written first.")

    @OptionGroup var options: CacheOptions

    @Flag(help: "One JSON object, with a line for each response.")
    var json = false

    @Option(
      help: ArgumentHelp("The order: age (youngest first), size (largest first) or url.", valueName: "order"))
    var sort: Sort?

    enum Sort: String, ExpressibleByArgument, CaseIterable {
      case age, size, url

      var order: CacheDirectory.Order {
        switch self {
        case .age: .age
        case .size: .size
        case .url: .url
        }
      }
    }

    func run() throws {
      let (directory, rules) = try options.open()
      let order = sort?.order ?? .written
      directory.warn(json ? listJSON(directory, order) : listTable(directory, order, rules))
    }

    private func listTable(
      _ directory: CacheDirectory, _ order: CacheDirectory.Order, _ rules: String?
    ) -> CacheDirectory.Omissions {
      var (count, bytes) = (0, 0)
      print(CacheTable.heading)
      let omissions = directory.list(order) { response in
        (count, bytes) = (count + 1, bytes + response.size)
        print(CacheTable.row(response))
      }
      let basis = rules.map { "the rules of \($0)" } ?? "the rules of HTTP alone"
      let owner = directory.owner.map { "; \($0)" } ?? ""
      print("\(count) responses, \(Figures.size(bytes)), by \(basis)\(owner)")
      return omissions
    }

    private func listJSON(
      _ directory: CacheDirectory, _ order: CacheDirectory.Order
    ) -> CacheDirectory.Omissions {
      let owner = directory.owner.map { "\"owner\": \(ArchivedResponse.json($0)), " } ?? ""
      print(
        "{\"directory\": \(ArchivedResponse.json(directory.path)), \(owner)\"responses\": [", terminator: "")
      var separator = "\n"
      let omissions = directory.list(order) { response in
        print(separator, response.json, separator: "", terminator: "")
        separator = ",\n"
      }
      print("\n], \"damaged\": \(omissions.damaged.count), \"unknown\": \(omissions.unknown)}")
      return omissions
    }
  }

  /// `regent cache show URL`.
  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show all that is stored for a URL: fields, age, freshness, the decision, and where it lies.",
      discussion: """
        The URL is written as an app would ask Regent for it, such as http://api.localhost:8080/users, or as the \
        origin has it. What may be credentials is not shown.
        """)

    @OptionGroup var options: CacheOptions

    @Argument(help: ArgumentHelp("The URL that is looked for.", valueName: "url"))
    var url: String

    func run() throws {
      let (directory, rules) = try options.open()
      let found: [ArchivedResponse]
      do { found = try directory.find(url) } catch {
        throw Failure(message: error.message, code: ExitCode(rawValue: error.exitCode))
      }
      directory.warn()
      guard !found.isEmpty else {
        throw Failure(message: "nothing is stored for \(url)", code: .negative)
      }
      for (number, response) in found.enumerated() {
        print("\(response.url)")
        print(
          "  domain \(response.domain), scope \(response.isPrivate ? "private" : "shared")", terminator: "")
        print(found.count > 1 ? ", \(number + 1) of \(found.count)" : "")
        for line in response.lines { print("  \(line)") }
      }
      let owner = directory.owner.map { "; \($0)" } ?? ""
      print("by \(rules.map { "the rules of \($0)" } ?? "the rules of HTTP alone")\(owner)")
    }
  }
}

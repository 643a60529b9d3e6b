// The commands of `regent cache` that read all bodies: to verify them, and to write them out.

import ArgumentParser
import Regent

extension Cache {
  /// `regent cache verify`.
  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Read everything, and say what is not as it was written; 1 where there is such damage.",
      discussion: """
        Each line names a file, the place in it and what is wrong. A record that was not written to its end, as a crash \
        leaves one, is no damage: the next start cuts it off.
        """)

    @OptionGroup var options: CacheOptions

    func run() throws {
      let (directory, _) = try options.open()
      let found = directory.verify { finding in
        print(finding.isDamage ? "damaged      \(finding)" : "uncommitted  \(finding)")
      }
      let gone = found.incomplete > 0 ? " (\(found.incomplete) without all of their body)" : ""
      print(
        "\(Self.count(found.segments, "segment")), \(Self.count(found.records, "record")), "
          + "\(Self.count(found.responses, "response"))\(gone), \(Figures.size(found.bodyBytes)) of bodies: "
          + "\(found.damages) damaged, \(found.uncommitted) uncommitted"
          + (directory.owner.map { "; \($0)" } ?? ""))
      if found.damages > 0 { throw ArgumentParser.ExitCode(ExitCode.negative.rawValue) }
    }

    private static func count(_ number: Int, _ what: String) -> String {
      "\(number) \(what)\(number == 1 ? "" : "s")"
    }
  }

  /// `regent cache export DIR`.
  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Write each body to a file of its own, by host and path, with its head beside it.",
      discussion: """
        The folder must be new or empty. Names are percent-encoded where they could do harm, and shortened where they are \
        long; NAME~head says which URL it is. Bodies are written as they are stored, with their content coding.
        """)

    @OptionGroup var options: CacheOptions

    @Argument(help: ArgumentHelp("The folder to write to.", valueName: "folder"))
    var target: String

    func run() throws {
      let (directory, _) = try options.open()
      let export: CacheDirectory.Export
      do { export = try directory.export(to: target) } catch {
        throw Failure(message: error.message, code: ExitCode(rawValue: error.exitCode))
      }
      for finding in export.damaged { StandardError.write("regent: \(finding)") }
      let omitted = export.damaged.count + export.omitted
      print(
        "\(export.files) responses, \(Figures.size(export.bytes)), in \(target)"
          + (omitted > 0 ? "; \(omitted) could not be read whole" : ""))
      if !export.damaged.isEmpty { throw ArgumentParser.ExitCode(ExitCode.negative.rawValue) }
    }
  }
}

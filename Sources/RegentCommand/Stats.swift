// `regent stats`: the running daemon's figures as a table for people, once or every second. What it shows is what /stats
// says; nothing is counted here.

import ArgumentParser
import Foundation
import Regent
import RegentConfig

/// `regent stats`.
struct Stats: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what the running daemon did so far, and the transfers that are under way.",
    discussion: """
      With --watch the table is drawn anew each second, with a bar for each transfer, until Ctrl-C. Everything that is \
      counted, as JSON: curl http://regent.localhost:8080/stats
      """)

  @Flag(help: "Draw it anew every second.")
  var watch = false

  @Option(
    name: .customLong("daemon"),
    help: ArgumentHelp("Where the daemon listens.", valueName: "address:port"))
  var address = "127.0.0.1:8080"

  func run() throws {
    let address = try parsed(address)
    guard watch else { return print(try table(address), terminator: "") }
    // On a terminal each table takes the last one's place; in a file they stand one behind the other.
    let (before, after) = isatty(STDOUT_FILENO) == 1 ? ("\u{1B}[H", "\u{1B}[J") : ("", "\n")
    while true {
      print(before + (try table(address)) + after, terminator: "")
      fflush(nil)
      Thread.sleep(forTimeInterval: 1)
    }
  }

  private func table(_ address: ListenAddress) throws(Failure) -> String {
    let answer: AdminClient.Answer
    do { answer = try AdminClient.get("/stats", at: address) } catch {
      throw Failure(message: error.message, code: ExitCode(rawValue: error.exitCode))
    }
    // Whatever else answers there says something that is no page of Regent's.
    guard answer.status == 200,
      let figures = try? JSONDecoder().decode(Figures.self, from: Data(answer.text.utf8))
    else {
      throw Failure(message: "what answers at \(address) is no Regent", code: .unavailable)
    }
    return figures.table
  }

  private func parsed(_ text: String) throws(Failure) -> ListenAddress {
    do {
      if let address = try ListenAddress.parse(text).first { return address }
    } catch {
      throw Failure(message: "--daemon \(text): \(error.description)", code: .usage)
    }
    throw Failure(message: "--daemon \(text) is no address", code: .usage)
  }
}

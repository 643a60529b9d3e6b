// `regent explain`: what the running daemon would do with a request, and why. It fetches nothing and changes nothing.

import ArgumentParser
import Regent
import RegentConfig

/// `regent explain URL`.
struct Explain: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say what the running daemon would do with a GET request, and why, without fetching anything.",
    discussion: """
      It shows the domain, the chain of providers, the key, what is stored under it, the age of that line by line, \
      and the decision with the section of the RFC or the setting behind it. The URL is written as an app would \
      ask Regent for it, such as http://api.localhost:8080/users, or as the origin has it. With curl: \
      curl 'http://regent.localhost:8080/explain?url=http://api.localhost/users' -H 'Accept-Language: de'
      """)

  @Argument(help: ArgumentHelp("The URL that is asked for.", valueName: "url"))
  var url: String

  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: ArgumentHelp("A field of the request; may be repeated.", valueName: "field: value"))
  var fields: [String] = []

  @Option(
    name: .customLong("daemon"),
    help: ArgumentHelp(
      "Where the daemon listens.",
      discussion: "Without it: the port of a URL that names this machine, else 127.0.0.1:8080.",
      valueName: "address:port"))
  var address: String?

  func run() throws {
    do {
      let answer = try AdminClient.get(
        "/explain?url=" + escaped(url), fields: fields.map(parsed), at: try daemon())
      guard answer.status == 200 else {
        throw Failure(message: answer.text.trimmingSuffix(while: \.isNewline), code: .usage)
      }
      print(answer.text, terminator: "")
    } catch let error as DaemonError {
      throw Failure(message: error.message, code: ExitCode(rawValue: error.exitCode))
    }
  }

  private func parsed(_ field: String) throws(Failure) -> (name: String, value: String) {
    guard let colon = field.firstIndex(of: ":") else {
      throw Failure(message: "-H \(field): a field is written as \"Name: value\"", code: .usage)
    }
    let value = field[field.index(after: colon)...].drop { $0 == " " }.trimmingSuffix { $0 == " " }
    return (String(field[..<colon]), value)
  }

  private func daemon() throws(Failure) -> ListenAddress {
    let text = address ?? "127.0.0.1:\(ownPort ?? 8080)"
    do {
      if let address = try ListenAddress.parse(text).first { return address }
    } catch {
      throw Failure(message: "--daemon \(text): \(error.description)", code: .usage)
    }
    throw Failure(message: "--daemon \(text) is no address", code: .usage)
  }

  /// The port of a URL that names this machine.
  private var ownPort: UInt16? {
    let rest = url.drop { $0 != "/" }.drop { $0 == "/" }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard let colon = authority.lastIndex(of: ":") else { return nil }
    let host = authority[..<colon].lowercased()
    guard host == "localhost" || host.hasSuffix(".localhost") || host == "127.0.0.1" || host == "[::1]" else {
      return nil
    }
    return UInt16(authority[authority.index(after: colon)...])
  }

  /// The URL as the value of a query: what would end it or could not stand in it is percent-encoded.
  private func escaped(_ url: String) -> String {
    url.utf8.reduce(into: "") { text, byte in
      let isPlain = (0x21..<0x7F).contains(byte) && ![0x23, 0x25, 0x26, 0x2B].contains(byte)
      text += isPlain ? String(UnicodeScalar(byte)) : "%" + hexadecimal(byte)
    }
  }

  private func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
  }
}

extension StringProtocol {
  fileprivate func trimmingSuffix(while belongs: (Character) -> Bool) -> String {
    var rest = self[...]
    while let last = rest.last, belongs(last) { rest = rest.dropLast() }
    return String(rest)
  }
}

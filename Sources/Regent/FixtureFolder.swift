// A folder of files as an origin. A path names a file below the folder and nothing else: no links, no way up.

import RegentHTTP
import RegentLoop

struct FixtureFolder: Sendable {
  private let root: String
  private let files: BlockingPool

  /// Files above this many bytes are no fixtures.
  static let largestFile = 64 << 20

  init(_ root: String, files: BlockingPool) {
    self.root = root
    self.files = files
  }

  /// The file at a path; nil where there is none.
  func answer(_ path: String, _ request: Request) async -> Response? {
    guard request.method == .get || request.method == .head, let relative = Self.relative(path) else {
      return nil
    }
    let root = root
    let found = await files.run { FileReader.read(relative, beneath: root, limit: Self.largestFile) }
    guard case .some(.some(let bytes)) = found else { return nil }
    var fields = Fields()
    fields.append(.contentType, Self.contentType(relative).utf8)
    return Response(
      fetched: 200, fields: fields, body: bytes.isEmpty ? .empty : .whole(Slice(bytes)), request)
  }

  /// The path below the folder, `index.html` for a folder's own; nil for one that leads elsewhere.
  static func relative(_ path: String) -> String? {
    // Bytes, as the kernel reads them: a character may be a slash and a mark that joins it.
    let bytes = path.utf8
    guard bytes.first == 0x2F, !bytes.contains(0), !bytes.contains(0x25) else { return nil }
    let name = Array(bytes.dropFirst()) + Array(bytes.last == 0x2F ? "index.html".utf8 : "".utf8)
    let parts = name.split(separator: 0x2F, omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) })
    else { return nil }
    return String(decoding: name, as: UTF8.self)
  }

  private static func contentType(_ path: String) -> String {
    let types = [
      "html": "text/html; charset=utf-8", "txt": "text/plain; charset=utf-8", "json": "application/json",
      "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "xml": "application/xml",
      "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "gif": "image/gif",
      "webp": "image/webp",
    ]
    guard let dot = path.lastIndex(of: ".") else { return "application/octet-stream" }
    return types[path[path.index(after: dot)...].lowercased()] ?? "application/octet-stream"
  }
}

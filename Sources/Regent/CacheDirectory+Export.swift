// All bodies of a directory as files, each with its head beside it. The tree is new, or was empty, and its folders are
// opened one within the other, so that no name and no link leads anywhere else; no file is ever overwritten.

import RegentCaching
import RegentLoop
import RegentStorage

extension CacheDirectory {
  /// What became of an export.
  public struct Export: Sendable {
    public var files = 0
    public var bytes = 0
    /// Responses that could not be read whole; nothing is left of them.
    public var damaged: [DirectoryFinding] = []
    /// Responses whose body went with another segment, and records that are none of HTTP's.
    public var omitted = 0
  }

  /// Writes every response's body into a new or empty folder.
  public func export(to path: String) throws(DaemonError) -> Export {
    do throws(SystemError) {
      guard let tree = try Folder.empty(path) else {
        throw SystemError(call: "\(path) is not empty", code: SystemError.notEmpty)
      }
      var export = Export()
      for number in 0..<count {
        switch look(number) {
        case .unknown: export.omitted += 1
        case .damaged(let finding): export.damaged.append(finding)
        case .response(let response): try write(response, into: tree, &export)
        }
      }
      return export
    } catch {
      throw DaemonError(export: error, path)
    }
  }

  private func write(
    _ response: ArchivedResponse, into tree: Folder, _ export: inout Export
  ) throws(SystemError) {
    let parts = response.parts
    let host =
      parts.origin.map { origin in
        let isStandard = origin.port == (origin.scheme == .https ? 443 : 80)
        return String(decoding: origin.host, as: UTF8.self) + (isStandard ? "" : ":\(origin.port)")
      } ?? "\(response.domain).localhost"
    let name = ExportName(
      host: host, path: (parts.origin?.basePath ?? []) + parts.path, query: parts.query)
    var folder = tree
    for part in name.folders { folder = try folder.exported(part) }
    let (file, own) = try folder.exportedFile(name.file, response)
    guard try copy(response, to: file, &export) else { return try folder.remove(own) }
    let head = try folder.file(own + "~head", .making)
    let lines = [response.url] + response.selecting.map { "for requests with \($0)" } + [""]
    let text = (lines + response.headLines).joined(separator: "\n") + "\n"
    try head.write(Array(text.utf8).span, at: 0)
    export.files += 1
  }

  /// Writes the body; false where it cannot be read whole.
  private func copy(
    _ response: ArchivedResponse, to file: RandomFile, _ export: inout Export
  ) throws(SystemError) -> Bool {
    var body = archive.body(of: response.record)
    var written = 0
    while true {
      let block: Slice?
      do throws(ArchivedBody.Failure) { block = try body.next() } catch {
        switch error {
        case .gone: export.omitted += 1
        case .damaged(let finding): export.damaged.append(DirectoryFinding(finding))
        }
        return false
      }
      guard let block else { break }
      try block.withBytes { (bytes: Span<UInt8>) throws(SystemError) in try file.write(bytes, at: written) }
      written += block.count
    }
    export.bytes += written
    return true
  }
}

extension Folder {
  /// A folder of the tree; where a file has its name already, one with a tilde behind it.
  fileprivate func exported(_ name: String) throws(SystemError) -> Folder {
    do throws(SystemError) { return try folder(name) } catch {
      guard error.isNoFolder else { throw error }
      return try folder(name + "~")
    }
  }

  /// A new file of the tree, and its name; where that is taken, one with the record's place behind it.
  fileprivate func exportedFile(
    _ name: String, _ response: ArchivedResponse
  ) throws(SystemError) -> (RandomFile, String) {
    do throws(SystemError) { return (try file(name, .making), name) } catch {
      guard error.isExistence else { throw error }
      let own = "\(name)~\(response.record.segment)-\(response.offset)"
      return (try file(own, .making), own)
    }
  }
}

extension DaemonError {
  fileprivate init(export error: SystemError, _ path: String) {
    if error.code == SystemError.notEmpty {
      self.init(message: "\(path) is not empty: name a folder that is new", exitCode: Self.cannotCreate)
    } else if error.isNoFolder || error.isExistence {
      self.init(
        message: "\(path) is no folder, or a link to one, which is not followed", exitCode: Self.cannotCreate)
    } else {
      self.init(
        message: "\(path): \(error)", exitCode: error.isPermission ? Self.permission : Self.cannotCreate)
    }
  }

  static let cannotCreate: Int32 = 73
}

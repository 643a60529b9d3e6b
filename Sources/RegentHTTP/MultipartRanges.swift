// multipart/byteranges (RFC 9110 section 14.6): the bytes between the parts of an answer with several ranges.
// The boundary is the caller's, who makes it so that it cannot occur in the parts but by chance.

/// The framing of one answer with several ranges.
public struct MultipartRanges: Sendable {
  private let boundary: [UInt8]
  private let type: [UInt8]
  private let complete: Int?

  /// - Parameters:
  ///   - boundary: A token of at most 70 characters (RFC 2046 section 5.1.1).
  ///   - type: The Content-Type of the whole; empty where it has none.
  ///   - complete: The length of the whole; nil where it is not known.
  public init(boundary: [UInt8], type: some Sequence<UInt8>, complete: Int?) {
    self.boundary = boundary
    self.type = Array(type)
    self.complete = complete
  }

  /// The answer's own Content-Type.
  public var contentType: [UInt8] { Array("multipart/byteranges; boundary=".utf8) + boundary }

  /// What precedes a part's bytes: the delimiter and the part's fields.
  public func opening(of range: Range<Int>, isFirst: Bool) -> [UInt8] {
    var bytes = Array(isFirst ? "--".utf8 : "\r\n--".utf8)
    bytes.append(contentsOf: boundary)
    if !type.isEmpty {
      bytes.append(contentsOf: "\r\nContent-Type: ".utf8)
      bytes.append(contentsOf: type)
    }
    bytes.append(contentsOf: "\r\nContent-Range: ".utf8)
    bytes.append(contentsOf: ContentRange.part(range, complete: complete).value)
    bytes.append(contentsOf: "\r\n\r\n".utf8)
    return bytes
  }

  /// What follows the last part.
  public var closing: [UInt8] { Array("\r\n--".utf8) + boundary + Array("--\r\n".utf8) }
}

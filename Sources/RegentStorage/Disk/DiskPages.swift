// The 64 bytes with which each file begins that holds no records: what it is, of which instance, and their checksum.

import RegentLoop

/// The first bytes of a file: magic, version, instance, three numbers, checksum.
struct DiskPage: Sendable, Equatable {
  var magic: UInt32
  var instance: UInt64
  /// A segment's or removal file's number; what else it is, the file's reader knows.
  var first: UInt64 = 0
  var second: UInt64 = 0
  var third: UInt64 = 0
  static let count = 64

  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.put(magic)
    bytes.put(DiskFormat.version)
    for number in [instance, first, second, third] { bytes.put(number) }
    bytes.append(contentsOf: repeatElement(0, count: 20))
    bytes.put(CRC32C.of(bytes.span))
    return bytes
  }

  /// The page at the start of these bytes; nil where it is none of that kind and version, or damaged.
  init?(_ bytes: Span<UInt8>, magic: UInt32) {
    guard bytes.count >= Self.count, bytes.number(UInt32.self, at: 0) == magic,
      bytes.number(UInt32.self, at: 4) == DiskFormat.version,
      bytes.number(UInt32.self, at: 60) == CRC32C.of(bytes.extracting(0..<60))
    else { return nil }
    self.init(
      magic: magic, instance: bytes.number(UInt64.self, at: 8), first: bytes.number(UInt64.self, at: 16),
      second: bytes.number(UInt64.self, at: 24), third: bytes.number(UInt64.self, at: 32))
  }

  init(magic: UInt32, instance: UInt64, first: UInt64 = 0, second: UInt64 = 0, third: UInt64 = 0) {
    (self.magic, self.instance) = (magic, instance)
    (self.first, self.second, self.third) = (first, second, third)
  }
}

/// Who a directory is: a number in all its files, so that none of another's is taken for its own, and the secret with
/// which its keys are hashed, so that nobody can aim at a place in the index.
struct DiskIdentity: Sendable, Equatable {
  var instance: UInt64
  var secret: SipKey

  static func random() -> DiskIdentity {
    DiskIdentity(
      instance: Randomness.number(), secret: SipKey(first: Randomness.number(), second: Randomness.number()))
  }

  init(instance: UInt64, secret: SipKey) { (self.instance, self.secret) = (instance, secret) }

  init?(_ bytes: Span<UInt8>) {
    guard let page = DiskPage(bytes, magic: DiskFormat.identityMagic) else { return nil }
    self.init(instance: page.instance, secret: SipKey(first: page.first, second: page.second))
  }

  var encoded: [UInt8] {
    DiskPage(
      magic: DiskFormat.identityMagic, instance: instance, first: secret.first, second: secret.second
    ).encoded
  }
}

/// The names of the files. Everything else in the directory is somebody else's, and left alone.
enum DiskName {
  static let identity = "identity"
  static let starts = "starts"
  static let lock = "lock"
  static let temporary = "temporary"
  static let newIndex = "index.new"
  static let indexes = ["index.a", "index.b"]
  static func segment(_ number: UInt32) -> String { "\(number).segment" }
  static func removals(_ number: UInt32) -> String { "\(number).removals" }

  /// Whether a name is one of the store's, within its version's folder.
  static func isOwn(_ name: String) -> Bool {
    number(name, ".segment") != nil || number(name, ".removals") != nil || indexes.contains(name)
      || memoName(name) != nil
      || [temporary, newIndex, identity].contains(name)
  }

  static func memo(_ name: String) -> String { name + ".memo" }

  /// The name of the memo that is in such a file.
  static func memoName(_ file: String) -> String? {
    let name = String(file.dropLast(5))
    return file.hasSuffix(".memo") && DiskMemos.isName(name) ? name : nil
  }

  /// The number in such a name, from 1 on, written without zeros before it; nil where it is another name.
  static func number(_ name: String, _ suffix: String) -> UInt32? {
    guard name.hasSuffix(suffix), let number = UInt32(name.dropLast(suffix.count)), number > 0,
      number < UInt32.max, "\(number)\(suffix)" == name
    else { return nil }
    return number
  }
}

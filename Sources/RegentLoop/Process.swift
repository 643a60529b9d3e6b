// What the daemon needs of its process: environment, limits, standard error, the service manager, a latch.

import CLibevent
import Glibc
import Synchronization

public enum Environment {
  /// The value of a variable; nil where it is not set.
  public static func value(_ name: String) -> String? {
    // Unsafe: copied at once; nothing here changes the environment.
    guard let text = unsafe getenv(name) else { return nil }
    return unsafe String(cString: text)
  }
}

public enum StandardError {
  /// Writes a text in one call, so that lines of several threads do not mix.
  public static func write(_ text: String) {
    let bytes = Array(text.utf8)
    // Unsafe: writes the array's own bytes. What cannot be written is lost, as a log line may be.
    _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(2, $0.baseAddress, $0.count) }
  }
}

public enum DescriptorLimit {
  /// Raises the limit on descriptors as far as may be and needed; the number of client connections that it leaves.
  public static func raise(reserving reserved: Int, wanted: Int) -> Int {
    var limit = rlimit()
    // Unsafe: fills and reads a local.
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return wanted }
    let needed = rlim_t(2 * wanted + reserved)
    if limit.rlim_cur < needed {
      limit.rlim_cur = min(limit.rlim_max, needed)
      // Unsafe: reads and fills the same local.
      _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
    // Each client may need a connection to an origin.
    return max(1, min(wanted, (Int(clamping: limit.rlim_cur) - reserved) * 2 / 3))
  }
}

/// Tells the service manager of the daemon's life (sd_notify); silent where there is none.
public struct ServiceNotification: Sendable {
  private let address: SocketAddress?

  public init() {
    address = Environment.value("NOTIFY_SOCKET").flatMap { SocketAddress(notify: $0) }
  }

  /// Sends a state such as `READY=1`.
  public func send(_ state: String) {
    guard let address else { return }
    let descriptor = regent_socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue))
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array(state.utf8)
    // Unsafe: sends the array's own bytes.
    unsafe address.withSocketAddress { target, size in
      _ = unsafe bytes.withUnsafeBytes {
        unsafe sendto(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), target, size)
      }
    }
  }
}

extension SocketAddress {
  /// The service manager's socket: a path, or with `@` a name in the abstract space.
  init?(notify name: String) {
    guard name.hasPrefix("@") else {
      self.init(path: name)
      return
    }
    let text = [0] + Array(name.utf8.dropFirst())
    guard text.count <= 107 else { return nil }
    var family = Array(repeating: UInt8(0), count: 2)
    family[0] = UInt8(AF_UNIX)
    self.init(bytes: family + text, family: AF_UNIX, description: "unix:\(name)")
  }
}

/// A count that one thread waits for others to bring down to nothing.
@safe public final class Latch: @unchecked Sendable {
  // Unsafe: a semaphore of our own; it lives as long as this object, which its waiter holds.
  private let semaphore: UnsafeMutablePointer<sem_t>
  private let count: Int

  public init(_ count: Int) {
    self.count = count
    unsafe semaphore = .allocate(capacity: 1)
    unsafe sem_init(semaphore, 0, 0)
  }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  public func countDown() { unsafe sem_post(semaphore) }

  public func wait() {
    for _ in 0..<count {
      while unsafe sem_wait(semaphore) != 0 {}
    }
  }
}

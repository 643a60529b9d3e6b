// What a piece of work cost: time, this process's processor time, memory.

import Glibc

struct Meter {
  let time: Double
  let processor: Double

  static func read() -> Meter {
    Meter(time: clock(CLOCK_MONOTONIC), processor: clock(CLOCK_PROCESS_CPUTIME_ID))
  }

  private static func clock(_ which: clockid_t) -> Double {
    var time = timespec()
    // Unsafe: fills a local.
    _ = unsafe clock_gettime(which, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// What has passed since, in seconds.
  var elapsed: (time: Double, processor: Double) {
    let now = Meter.read()
    return (now.time - time, now.processor - processor)
  }

  /// Lets a millisecond pass.
  static func pause() { _ = poll(nil, 0, 1) }

  /// A line of /proc/self/status, in MiB.
  static func memory(_ name: String) -> Double {
    guard let file = unsafe fopen("/proc/self/status", "r") else { return 0 }
    // Unsafe: closed once; the buffer is a local, as long as it says.
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while unsafe fgets(&line, 256, file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      guard text.hasPrefix(name) else { continue }
      return text.split(whereSeparator: { !$0.isNumber }).first.flatMap { Double($0) }.map { $0 / 1024 } ?? 0
    }
    return 0
  }
}

extension Double {
  /// With so many digits behind the point.
  func rounded(_ digits: Int) -> Double {
    let scale = pow(10, Double(digits))
    return (self * scale).rounded() / scale
  }
}

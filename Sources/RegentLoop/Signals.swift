// Signals: SIGPIPE never kills, and the ones that end or reload the daemon are waited for on the main thread.

import Glibc

/// The signals that the daemon answers to.
public enum Signal: Int32, Sendable {
  case terminate = 15
  case interrupt = 2
  case hangUp = 1
}

public enum Signals {
  /// Ignores SIGPIPE and keeps the daemon's own signals for ``next()``. Call before the first thread starts.
  public static func prepare() {
    // Unsafe: the set is a local.
    signal(SIGPIPE, SIG_IGN)
    var set = ourSet()
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits, blocking the thread, for the next of the daemon's signals.
  public static func next() -> Signal {
    var set = ourSet()
    while true {
      var number: Int32 = 0
      // Unsafe: reads and fills locals.
      if unsafe sigwait(&set, &number) == 0, let known = Signal(rawValue: number) { return known }
    }
  }

  private static func ourSet() -> sigset_t {
    var set = sigset_t()
    // Unsafe: fills a local.
    unsafe sigemptyset(&set)
    for signal in [Signal.terminate, .interrupt, .hangUp] { unsafe sigaddset(&set, signal.rawValue) }
    return set
  }
}

// The configuration as plain values: what the daemon reads after the file, the overrides and the
// checks are done. Every default stands here, once; `KeyTable` says which key sets which property.
// Nothing of TOML may appear here.

/// All that can be set in Regent; the value without arguments is the default for each key.
public struct Configuration: Sendable, Equatable {
  public var server = Server()
  public var limits = Limits()
  public var timeouts = Timeouts()
  public var memory = Memory()
  public var disk = Disk()
  public var flights = Flights()
  public var log = Log()
  /// The domains, in the order of the file; the most specific match wins, not the first.
  public var domains: [Domain] = []
  /// The providers, in the order in which a request meets them.
  public var providers = ProviderEntry.Kind.allCases.map { ProviderEntry(kind: $0) }

  public init() {}
}

extension Configuration {
  /// Where and as whom Regent answers.
  public struct Server: Sendable, Equatable {
    /// The addresses that Regent listens on, none twice.
    public var listen: [ListenAddress] = [
      .tcp(address: "127.0.0.1", port: 8080), .tcp(address: "::1", port: 8080),
    ]
    /// The number of event loops; 0 stands for one on each core.
    public var workers = 0
    /// The name in `Via` and `Cache-Status`: a token (RFC 9110 section 5.6.2).
    public var name = "regent"
    /// Whether a domain also answers below `/name/` at localhost.
    public var pathPrefixes = true
    /// The algorithm that limits what is sent to TCP clients (tcp(7)). Nil stands for the system's choice, but
    /// for Reno at addresses of this machine where there is a disk cache.
    public var congestionControl: String?

    public init() {}
  }

  /// What a client and an origin may cost.
  public struct Limits: Sendable, Equatable {
    /// The most bytes of a request's or response's head, request line included.
    public var head = ByteCount.kibibytes(32)
    /// The most bytes of one line of a head.
    public var line = ByteCount.kibibytes(8)
    /// The most field lines of a head.
    public var fields = 100
    /// The most client connections of the whole daemon.
    public var connections = 20_000
    /// The most connections that wait in the kernel to be accepted, for each listener.
    public var backlog = 4096
    /// The most bytes that heads which are partly here hold, for each event loop; the oldest go first.
    public var unfinishedHeads = ByteCount.mebibytes(16)
    /// The most connections to one origin, for each event loop.
    public var originConnections = 256
    /// The most requests that wait for a connection to one origin, for each event loop.
    public var originWaiting = 1024
    /// The most unused connections to one origin, for each event loop.
    public var originIdle = 256
    /// The most origins' names whose addresses are remembered.
    public var names = 1024
    /// The most tunnels to origins, for each event loop.
    public var tunnels = 4096
    /// The most transfers that /stats lists, for each event loop.
    public var transfers = 1024

    public init() {}
  }

  /// How long Regent waits, and how slow a peer may be.
  public struct Timeouts: Sendable, Equatable {
    /// From a request's first byte to the end of its head.
    public var head = Duration.seconds(10)
    /// How long a client's connection may stay without a request.
    public var idle = Duration.seconds(60)
    /// The fewest bytes in a second that a request body must bring.
    public var bodyRate = ByteCount.kibibytes(1)
    /// How long a request body may be slower than `bodyRate`.
    public var bodyGrace = Duration.seconds(10)
    /// How long a client may take no byte of its response.
    public var writeStall = Duration.seconds(30)
    /// How long requests in flight may run on after SIGTERM.
    public var drain = Duration.seconds(10)
    /// How long a connection to an origin may take to open.
    public var connect = Duration.seconds(5)
    /// How long the TLS handshake on it may take.
    public var tlsHandshake = Duration.seconds(5)
    /// How long an origin's addresses are used before its name is looked up anew.
    public var names = Duration.seconds(10)
    /// How long a name that was not found is not looked up again.
    public var missingNames = Duration.seconds(1)
    /// How long a request waits for a connection to an origin while all are in use.
    public var originWait = Duration.seconds(5)
    /// From the end of the request to the first byte of the origin's answer.
    public var firstByte = Duration.seconds(60)
    /// How long an origin may pause within an answer.
    public var betweenBytes = Duration.seconds(30)
    /// From a request's arrival to the head of its answer, with all that is tried on the way; sending content is not
    /// counted.
    public var request = Duration.seconds(120)
    /// From an answer's head to its end.
    public var response = Duration.seconds(86_400)
    /// How long an unused connection to an origin is kept.
    public var originIdle = Duration.seconds(60)
    /// How long neither side of a tunnel may move a byte.
    public var tunnelIdle = Duration.seconds(3600)

    public init() {}
  }

  /// The memory cache's budget.
  public struct Memory: Sendable, Equatable {
    /// The budget for keys, heads, bodies and the store's own tables.
    public var size = ByteCount.mebibytes(256)
    /// The largest response that is stored; unless set, an eighth of `size` but at most 64 MiB.
    public var maxObject: ByteCount {
      get { chosenMaxObject ?? min(ByteCount(bytes: size.bytes / 8), .mebibytes(64)) }
      set { chosenMaxObject = newValue }
    }
    private var chosenMaxObject: ByteCount?

    public init() {}
  }

  /// The disk cache: where it is, and how much of the disk it may take.
  public struct Disk: Sendable, Equatable {
    /// The directory, which is Regent's alone; nil where there is no disk cache.
    public var path: String?
    /// The budget for everything in the directory.
    public var size = ByteCount.gibibytes(1)
    /// The largest response that is stored; unless set, an eighth of `size` but at most 1 GiB.
    public var maxObject: ByteCount {
      get { chosenMaxObject ?? min(ByteCount(bytes: size.bytes / 8), .gibibytes(1)) }
      set { chosenMaxObject = newValue }
    }
    private var chosenMaxObject: ByteCount?
    /// How often what is read is verified.
    public var verify = Verification.always
    /// What is stored of what may be.
    public var admit = Admission.all
    /// How long what was written may be without being brought to the device: what a loss of power can cost.
    public var sync = Duration.seconds(30)

    public init() {}

    /// How often a block is verified before its bytes are sent.
    public enum Verification: String, CaseIterable, Sendable {
      case always, once
    }

    /// Which responses are stored: all, or those that are asked for again.
    public enum Admission: String, CaseIterable, Sendable {
      case all
      case secondHit = "second-hit"
    }
  }

  /// Requests for the same that come at once: one fetch answers all.
  public struct Flights: Sendable, Equatable {
    /// How long requests wait for another one's answer to begin until one more of them asks the origin.
    public var lease = Duration.seconds(5)
    /// The most requests that wait for another one's answer to begin, for each key.
    public var followers = 10_000
    /// How long requests do not wait for each other after an answer that may not be shared.
    public var hitForMiss = Duration.seconds(120)

    public init() {}
  }

  /// What is written to the log.
  public struct Log: Sendable, Equatable {
    public var level = Level.info

    public init() {}

    /// How important a line must be, from the most talkative level to the most silent.
    public enum Level: String, CaseIterable, Sendable {
      case trace, debug, info, notice, warning, error, critical
    }
  }
}

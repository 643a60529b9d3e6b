// The daemon's life, start to end in one place: bind, build, listen, say READY, wait for a signal, drain, stop.

import Logging
import RegentCaching
public import RegentConfig
import RegentHTTP
import RegentLoop
import RegentStorage

/// Why the daemon could not start: a sentence and an exit code of sysexits.h.
public struct DaemonError: Error, Sendable {
  public let message: String
  public let exitCode: Int32

  static let usage: Int32 = 64
  static let configuration: Int32 = 78
  static let unavailable: Int32 = 69
  static let system: Int32 = 71
  static let permission: Int32 = 77
}

/// What the loops share.
struct DaemonParts: Sendable {
  let configuration: Configuration
  let chain: Chain
  let upstreams: [UpstreamProvider]
  let disk: DiskCache?
  let routing: Routing
  let meters: [LoopMeters]
  let log: ServerLog
  let connectionLimit: Int
}

public enum Daemon {
  /// Runs the daemon until SIGTERM or SIGINT; requests in flight are finished.
  ///
  /// - Parameter retryPolicies: Policies of your own, by the names of the domains that they are for.
  public static func run(
    _ configuration: Configuration, version: String, retryPolicies: [String: any RetryPolicy] = [:]
  ) throws(DaemonError) {
    try check(configuration)
    Signals.prepare()
    let log = ServerLog(makeLogger(configuration))
    let notify = ServiceNotification()
    let disk = try DiskCache.open(configuration.disk, log)
    defer { disk?.store.close(clock: .read()) }
    do throws(SystemError) {
      let workers = configuration.server.workers > 0 ? configuration.server.workers : LoopGroup.availableCores
      let sockets = try bind(configuration, workers: workers)
      let group = try LoopGroup(count: workers)
      let parts = try build(configuration, group, retryPolicies, disk, version: version, log: log)
      if let disk { disk.watch(on: group.loops[0], log, notify) }
      let servers = start(parts, group, sockets)
      for address in Set(sockets.flatMap { $0.map(\.address.description) }).sorted() {
        log.logger.info("listening on \(address)")
      }
      notify.send("READY=1")
      waitForEnd(log)
      notify.send("STOPPING=1")
      drain(parts, servers, group)
      group.stop()
    } catch {
      throw DaemonError(error)
    }
  }

  /// What no reader of the configuration can know: whether the files for TLS are what they should be.
  public static func check(_ configuration: Configuration) throws(DaemonError) {
    for domain in configuration.domains where domain.tls != .init() {
      do throws(TLSFailure) {
        _ = try TLSContext(TLSSettings(domain.tls))
      } catch {
        let sentence = "domain \"\(domain.name)\": \(StreamError.tls(error))"
        throw DaemonError(message: sentence, exitCode: DaemonError.configuration)
      }
    }
  }

  private static func makeLogger(_ configuration: Configuration) -> Logger {
    let level = Logger.Level(rawValue: configuration.log.level.rawValue) ?? .info
    let isJournal = Environment.value("JOURNAL_STREAM") != nil
    return Logger(label: "regent") { _ in StandardErrorLog(level: level, isJournal: isJournal) }
  }

  /// The listening sockets, for each address one to every loop.
  private static func bind(_ configuration: Configuration, workers: Int) throws(SystemError)
    -> [[ListeningSocket]]
  {
    let backlog = Int32(clamping: configuration.limits.backlog)
    let chosen = configuration.server.congestionControl
    if let chosen { try ListeningSocket.check(congestionControl: chosen) }
    let near = chosen ?? nearCongestionControl(configuration)
    var sockets: [[ListeningSocket]] = []
    for address in configuration.server.listen {
      for bound in try address.socketAddresses() {
        do throws(SystemError) {
          sockets.append(
            try ListeningSocket.open(
              bound, count: workers, backlog: backlog, congestionControl: bound.isLoopback ? near : chosen))
        } catch {
          if error.isMissingFamily, sockets.count + configuration.server.listen.count > 1 { continue }
          throw SystemError(call: "cannot listen on \(bound.description)", code: error.code)
        }
      }
    }
    return sockets
  }

  /// Between two processes of one machine nothing has to be spared, and to pace large bodies from the disk, as BBR does, is
  /// half of what they cost: there it is Reno, which is part of every kernel, unless that is kept from us.
  private static func nearCongestionControl(_ configuration: Configuration) -> String? {
    guard configuration.disk.path != nil else { return nil }
    // What cannot be had is done without: nobody asked for it.
    return (try? ListeningSocket.check(congestionControl: "reno")) == nil ? nil : "reno"
  }

  private static func build(
    _ configuration: Configuration, _ group: LoopGroup, _ policies: [String: any RetryPolicy],
    _ disk: DiskCache?,
    version: String, log: ServerLog
  ) throws(SystemError) -> DaemonParts {
    let admin = configuration.domains.count
    let generations = disk?.generations ?? TargetGenerations()
    var domains = configuration.domains.enumerated().map {
      Domain(number: $0, $1, generations: generations)
    }
    domains.append(Domain(number: admin, name: "regent", policy: .init(kind: .networkOnly), keyPrefix: []))
    let meters = group.loops.map { _ in
      LoopMeters(
        domains: domains.count, providers: configuration.providers.count + 1,
        transfers: configuration.limits.transfers, addresses: configuration.domains.map(\.upstreams.count))
    }
    let flights = Flights(FlightRules(configuration))
    let resolver = try Resolver(
      lifetime: configuration.timeouts.names, missingLifetime: configuration.timeouts.missingNames,
      bound: configuration.limits.names)
    var random = SystemRandomNumberGenerator()
    let instance = InstanceName(configuration.server.name, random: &random)
    var builder = Chain.Builder().flights(flights)
    var memory: MemoryStore?
    var upstreams: [UpstreamProvider] = []
    for entry in configuration.providers {
      let set = RequestDomain(entry.domains, configuration)
      switch entry.kind {
      case .memory:
        let store =
          memory
          ?? MemoryStore(
            budget: configuration.memory.size.bytes, maxObject: configuration.memory.maxObject.bytes)
        memory = store
        builder = builder.next(MemoryProvider(store: store), domains: set)
      case .disk:
        if let disk { builder = builder.next(disk.provider, domains: set) }
      case .fixtures:
        let files = try BlockingPool(name: "regent-files", threads: 2)
        // Domains without fixtures need not ask for them.
        let fixed = configuration.domains.indices.filter {
          configuration.domains[$0].hasFixtures && set.contains(number: $0)
        }
        .reduce(into: RequestDomain()) { $0.insert(RequestDomain($1)) }
        builder = builder.next(try FixturesProvider(configuration, files: files), domains: fixed)
      case .upstream:
        let upstream = UpstreamProvider(
          configuration, instance: instance, group: group, resolver: resolver, meters: meters,
          policies: policies, log: log)
        upstreams.append(upstream)
        builder = builder.next(upstream, domains: set)
      }
    }
    let routing = Routing(
      router: Router(configuration.domains, admin: admin, pathPrefixes: configuration.server.pathPrefixes),
      domains: domains, instance: instance)
    let kinds = configuration.providers.map(\.kind).filter { $0 != .disk || disk != nil }
    let statistics = Statistics(
      version: version, started: LoopClock.read().now, domains: domains.map(\.name),
      providers: kinds.map(\.rawValue) + ["admin"], loops: meters, memory: memory, disk: disk?.store,
      flights: flights, resolver: resolver, healths: upstreams.flatMap { $0.healths(of: domains) },
      addresses: configuration.domains.map { $0.upstreams.map(\.url.description) }, upstreams: upstreams)
    // What it explains is the chain before it.
    let explanations = ExplainPage(routing, builder.build(), limits: MessageLimits(configuration.limits))
    builder = builder.next(
      AdminProvider(statistics, explanations, domain: admin), domains: adminDomains(configuration, admin))
    return DaemonParts(
      configuration: configuration, chain: builder.build(), upstreams: upstreams, disk: disk,
      routing: routing,
      meters: meters, log: log,
      connectionLimit: DescriptorLimit.raise(
        reserving: group.loops.count * 8 + 64, wanted: configuration.limits.connections))
  }

  /// Where the admin pages are the chain's last word: at their own domain, and at a default domain without an upstream.
  private static func adminDomains(_ configuration: Configuration, _ admin: Int) -> RequestDomain {
    var set = RequestDomain(admin)
    for (number, domain) in configuration.domains.enumerated()
    where domain.isDefault && domain.upstream == nil {
      set.insert(RequestDomain(number))
    }
    return set
  }

  private static func start(
    _ parts: DaemonParts, _ group: LoopGroup, _ sockets: [[ListeningSocket]]
  ) -> LoopLocal<LoopServer> {
    let servers = LoopLocal(group) { LoopServer(parts, on: $0) }
    for loop in group.loops {
      // A path has one socket only; the first loop serves it.
      let own = sockets.compactMap { loop.index < $0.count ? $0[loop.index] : nil }
      loop.run { servers.value.listen(own) }
    }
    return servers
  }

  private static func waitForEnd(_ log: ServerLog) {
    while true {
      switch Signals.next() {
      case .terminate, .interrupt: return
      case .hangUp: log.logger.notice("SIGHUP: this version reads its configuration at the start only")
      }
    }
  }

  /// Lets the loops finish what is in flight, as long as the configuration has patience.
  private static func drain(_ parts: DaemonParts, _ servers: LoopLocal<LoopServer>, _ group: LoopGroup) {
    let patience = parts.configuration.timeouts.drain
    let done = Latch(group.loops.count)
    for loop in group.loops {
      Task(executorPreference: loop) {
        servers.value.drain()
        let deadline = loop.clock.now &+ patience.nanoseconds
        while !servers.value.isEmpty, loop.clock.now < deadline { await loop.sleep(for: .milliseconds(20)) }
        servers.value.closeAll()
        for upstream in parts.upstreams { upstream.closeIdle() }
        done.countDown()
      }
    }
    done.wait()
  }
}

extension DaemonError {
  init(_ error: SystemError) {
    message = error.description
    exitCode =
      error.isPermission
      ? Self.permission : error.isAddress || error.isRefusal ? Self.unavailable : Self.system
  }
}

extension RequestDomain {
  init(_ domains: ProviderEntry.Domains, _ configuration: Configuration) {
    switch domains {
    case .any: self = .any
    case .named(let names):
      self = configuration.domains.indices.filter { names.contains(configuration.domains[$0].name) }
        .reduce(into: RequestDomain()) { $0.insert(RequestDomain($1)) }
    }
  }
}

extension RegentConfig.Domain {
  fileprivate var hasFixtures: Bool { !fixtures.isEmpty || folder != nil }
}

extension ListenAddress {
  func socketAddresses() throws(SystemError) -> [SocketAddress] {
    let found: [SocketAddress?] =
      switch self {
      case .tcp(let address, let port): [SocketAddress(ip: address, port: port)]
      case .anyAddress(let port):
        [SocketAddress(ip: "0.0.0.0", port: port), SocketAddress(ip: "::", port: port)]
      case .unix(let path): [SocketAddress(path: path)]
      }
    let addresses = found.compactMap { $0 }
    guard addresses.count == found.count else { throw SystemError.noSuchAddress("\(self)") }
    return addresses
  }
}

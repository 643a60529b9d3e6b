// The table of keys: each key of the configuration once, with the property that it sets, the values
// that it takes, and its meaning. Reader, messages, `--set`, and the test of config/regent.toml follow
// it; the defaults are those of the properties. A new key is a new row here, and a line in that file.

/// All keys of the configuration.
enum KeyTable {
  /// The tables that a file may have once.
  static let sections = ["server", "limits", "timeouts", "memory", "disk", "flights", "log"]

  /// The keys of the sections.
  static let top: [Key<Configuration>] =
    [
      Key(
        "server.listen", \.server.listenAddresses,
        refusal: { $0.addresses.isEmpty ? "Regent must listen somewhere" : nil },
        "The addresses that Regent answers at."),
      Key("server.workers", \.server.workers, in: 0...1024, "Event loops; 0 stands for one on each core."),
      Key(
        "server.name", \.server.name,
        refusal: { $0.isToken ? nil : "a name is made of letters, digits and hyphens" },
        "How Regent calls itself in Via and Cache-Status."),
      Key(
        "server.path-prefixes", \.server.pathPrefixes,
        "Whether a domain also answers below /name/ at localhost."),
      Key(
        "server.congestion-control", \.server.congestionControl,
        refusal: { ($0 ?? "").isToken ? nil : "a name is made of letters, digits and hyphens" },
        "The algorithm that limits what is sent to TCP clients, as in tcp(7)."),

      Key("limits.head", \.limits.head, in: size(1 << 10)...size(16 << 20), "The largest head of a message."),
      Key("limits.line", \.limits.line, in: size(256)...size(16 << 20), "The longest line of a head."),
      Key("limits.fields", \.limits.fields, in: 1...10_000, "The most field lines of a head."),
      Key(
        "limits.connections", \.limits.connections, in: 1...10_000_000,
        "The most client connections of the whole daemon."),
      Key(
        "limits.backlog", \.limits.backlog, in: 1...1_000_000,
        "The most connections that wait to be accepted, for each listener."),
      Key(
        "limits.unfinished-heads", \.limits.unfinishedHeads, in: size(64 << 10)...size(1 << 30),
        "The most bytes that heads which are partly here hold, for each event loop; the oldest go first."),
      Key(
        "limits.origin-connections", \.limits.originConnections, in: 1...100_000,
        "The most connections to one origin, for each event loop."),
      Key(
        "limits.tunnels", \.limits.tunnels, in: 0...1_000_000,
        "The most tunnels, such as WebSockets, for each event loop."),
      Key(
        "limits.transfers", \.limits.transfers, in: 0...1_000_000,
        "The most transfers that /stats lists, for each event loop."),

      Key("timeouts.head", \.timeouts.head, in: wait, "From a request's first byte to the end of its head."),
      Key(
        "timeouts.idle", \.timeouts.idle, in: wait, "How long a client's connection stays without a request."),
      Key(
        "timeouts.body-rate", \.timeouts.bodyRate, in: size(0)...size(1 << 30),
        "The fewest bytes in a second that a request body must bring."),
      Key("timeouts.body-grace", \.timeouts.bodyGrace, in: wait, "How long a request body may be slower."),
      Key("timeouts.write-stall", \.timeouts.writeStall, in: wait, "How long a client may take no byte."),
      Key(
        "timeouts.drain", \.timeouts.drain, in: .zero...wait.upperBound,
        "How long requests in flight may run on after SIGTERM."),
      Key(
        "timeouts.connect", \.timeouts.connect, in: wait, "How long an origin's connection may take to open."),
      Key(
        "timeouts.first-byte", \.timeouts.firstByte, in: wait,
        "How long an origin may take until its answer begins."),
      Key(
        "timeouts.between-bytes", \.timeouts.betweenBytes, in: wait,
        "How long an origin may pause within an answer."),
      Key(
        "timeouts.tls-handshake", \.timeouts.tlsHandshake, in: wait,
        "How long the TLS handshake with an origin may take."),
      Key(
        "timeouts.request", \.timeouts.request, in: wait,
        "From a request's arrival to the head of its answer, repetitions included, sending content not."),
      Key(
        "timeouts.response", \.timeouts.response, in: wait, "From the head of an origin's answer to its end."),
      Key(
        "timeouts.origin-idle", \.timeouts.originIdle, in: wait,
        "How long an unused connection to an origin is kept."),
      Key(
        "timeouts.tunnel-idle", \.timeouts.tunnelIdle, in: wait,
        "How long neither side of a tunnel may move a byte."),

      Key(
        "memory.size", \.memory.size, in: size(1 << 20)...size(1 << 44),
        "The budget of the memory cache, everything counted."),
      Key(
        "memory.max-object", \.memory.maxObject, in: size(1)...size(1 << 44),
        "The largest response that is stored; an eighth of memory.size, 64 MiB at most."),

      Key(
        "disk.path", \.disk.path, refusal: pathRefusal,
        "The directory of the disk cache, relative to this file; without it there is none."),
      Key(
        "disk.size", \.disk.size, in: size(1 << 20)...size(1 << 44),
        "The budget of the disk cache, everything in its directory counted."),
      Key(
        "disk.max-object", \.disk.maxObject, in: size(1)...size(1 << 44),
        "The largest response that is stored; an eighth of disk.size, 1 GiB at most."),
      Key(
        "disk.verify", \.disk.verify,
        "How often what is stored is verified as it is read: always, or once since the start."),
      Key("disk.admit", \.disk.admit, "What is stored: all that may be, or what is asked for a second time."),
      Key(
        "disk.sync", \.disk.sync, in: .seconds(1)...wait.upperBound,
        "How long what was written may be without being brought to the device."),

      Key(
        "flights.lease", \.flights.lease, in: wait,
        "How long requests wait for another one's answer to begin until one more of them asks the origin."),
      Key(
        "flights.followers", \.flights.followers, in: 0...1_000_000,
        "The most requests that wait for another one's answer to begin, for each key."),
      Key(
        "flights.hit-for-miss", \.flights.hitForMiss, in: .zero...wait.upperBound,
        "How long requests do not wait for each other after an answer that may not be shared."),

      Key("log.level", \.log.level, "How important a line must be to be logged."),
    ] + origins

  /// The keys of a `[[domain]]`.
  static let domain: [Key<Domain>] =
    [
      Key(
        "domain.name", \.name, required: true, refusal: nameRefusal, "Its name; it answers at NAME.localhost."
      ),
      Key("domain.hosts", \.hosts, "Further hosts that it answers at, \"*.example.org\" for all below one."),
      Key("domain.paths", \.paths, "The paths that are its own, \"/api/*\" for all below one; all if empty."),
      Key(
        "domain.methods", \.methods, refusal: methodsRefusal, "The methods that are its own; all if empty."),
      Key(
        "domain.upstream", \.upstreamList, refusal: UpstreamList.refusal,
        "The origin that answers what is not stored: one URL, or several, \"URL weight=2\"."),
      Key(
        "domain.folder", \.folder, refusal: pathRefusal, "A folder of canned answers, relative to this file."),
      Key("domain.policy", \.policy, "How stored responses and the origin are weighed."),
      Key("domain.ttl", \.ttl, "How long its responses are fresh, whatever the origin says."),
      Key("domain.ttl-min", \.minimumTTL, "The least that a lifetime may be, whatever the origin says."),
      Key("domain.ttl-max", \.maximumTTL, "The most that a lifetime may be, whatever the origin says."),
      Key("domain.stale", \.stale, "How long a stale response may be served while it is revalidated."),
      Key("domain.stale-if-error", \.staleIfError, "How long a stale response may stand in for an error."),
      Key("domain.negative-ttl", \.negativeTTL, "How long errors are fresh, by status or class."),
      Key(
        "domain.heuristic-max", \.heuristicMaximum, "The longest lifetime that is guessed; 0s guesses none."),
      Key(
        "domain.heuristic-percent", \.heuristicPercent, in: 0...100,
        "The share of the time since Last-Modified that is guessed."),
      Key("domain.heuristic-queries", \.heuristicForQueries, "Whether targets with a query are guessed too."),
      Key(
        "domain.request-directives", \.requestDirectives, "Whether clients' Cache-Control and Pragma count."),
      Key(
        "domain.scope", \.scope, "Who may be given what is stored: all, or who sends the same credentials."),
      Key("domain.set-cookie", \.setCookie, "Whether responses with Set-Cookie are stored, and with it."),
      Key(
        "domain.ignore-query", \.ignoreQuery, refusal: queryRefusal,
        "Query parameters that are neither keyed nor sent on, \"utm_*\" for all that begin so."),
      Key("domain.sort-query", \.sortQuery, "Whether the query is keyed and sent sorted by names."),
      Key(
        "domain.key-fields", \.keyFields, refusal: keyFieldsRefusal,
        "Request fields whose values are part of the key."),
      Key(
        "domain.normalize", \.normalize,
        "Fields that are compared and sent in one spelling: accept-encoding, accept-language."),
      Key(
        "domain.upgrade", \.upgrade, refusal: upgradeRefusal,
        "The protocols that its connections may be switched to."),
      Key("domain.default", \.isDefault, "Whether it answers at localhost itself."),
    ] + domainOrigin + domainTrouble

  /// The keys of a `[[domain.fixture]]`.
  static let fixture: [Key<Fixture>] = [
    Key(
      "domain.fixture.path", \.path, required: true,
      refusal: { $0.isRequestPath ? nil : "a path begins with a slash and has no query" },
      "The path that it answers."),
    Key("domain.fixture.status", \.status, in: 200...599, "The status code."),
    Key("domain.fixture.fields", \.fields, "The field lines, each \"Name: value\"."),
    Key("domain.fixture.body", \.text, "The body."),
    Key("domain.fixture.file", \.file, refusal: pathRefusal, "A file with the body, relative to this file."),
    Key("domain.fixture.delay", \.delay, "How long the answer is held back."),
    Key("domain.fixture.age", \.age, refusal: ageRefusal, "The Age that it claims, in whole seconds."),
  ]

  /// The keys of a `[[provider]]`.
  static let provider: [Key<ProviderEntry>] = [
    Key("provider.kind", \.kind, required: true, "What answers: memory, disk, fixtures or upstream."),
    Key("provider.domains", \.domains, "The domains that it serves, \"any\" for all."),
  ]

  /// Every key, in the order of the table.
  static var all: [KeyDescription] {
    top.map { KeyDescription($0, default: Configuration()) }
      + domain.map { KeyDescription($0, default: Domain(name: "")) }
      + fixture.map { KeyDescription($0, default: Fixture(path: "/")) }
      + provider.map { KeyDescription($0, default: ProviderEntry(kind: .memory)) }
  }
}

// What single keys refuse beyond their type.
extension KeyTable {
  static func size(_ bytes: Int) -> ByteCount { ByteCount(bytes: bytes) }

  static let wait = Duration.milliseconds(1)...Duration.seconds(365 * 86_400)

  @Sendable private static func nameRefusal(_ name: String) -> String? {
    guard HostName.isLabel(name[...]), name.lowercased() == name, !name.contains("_") else {
      return "a name is made of a-z, 0-9 and hyphens, at most 63, no hyphen at its ends"
    }
    return ["localhost", "regent"].contains(name) ? "this name is Regent's own" : nil
  }

  @Sendable private static func methodsRefusal(_ methods: [String]) -> String? {
    for method in methods {
      guard method.isToken, method.uppercased() == method else { return "methods are words in capitals" }
      guard method != "CONNECT", method != "TRACE" else { return "Regent never serves \(method)" }
    }
    return nil
  }

  @Sendable private static func queryRefusal(_ names: [String]) -> String? {
    for name in names {
      let plain = name.last == "*" ? name.dropLast() : name[...]
      guard !name.isEmpty, !plain.contains("*"), !plain.contains("=") else {
        return "a parameter's name, perhaps with \"*\" at its end, has no \"=\" and no other \"*\""
      }
      guard name.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "&") && $0 != UInt8(ascii: "#") })
      else {
        return "parameters are compared as they stand in the target: visible ASCII without \"&\" and \"#\""
      }
    }
    return nil
  }

  /// The fields that belong to a connection, or that Regent answers or writes itself: they never reach an origin as
  /// they came, so that no response can depend on them.
  private static let unkeyable = [
    "connection", "content-length", "expect", "host", "if-match", "if-modified-since", "if-none-match",
    "if-range",
    "if-unmodified-since", "keep-alive", "proxy-authorization", "proxy-connection", "range", "te", "trailer",
    "transfer-encoding", "upgrade", "via",
  ]

  @Sendable private static func keyFieldsRefusal(_ names: [String]) -> String? {
    for name in names {
      guard name.isToken else { return "a field's name is a word such as \"X-Api-Version\"" }
      guard !unkeyable.contains(name.lowercased()) else { return "\(name) is not the origin's to answer by" }
    }
    return names.count <= 16 ? nil : "at most 16 fields can be part of a key"
  }

  /// Another way of speaking HTTP would carry requests past everything that Regent refuses.
  @Sendable private static func upgradeRefusal(_ names: [String]) -> String? {
    for name in names {
      guard name.isToken, name.lowercased() == name else {
        return "a protocol is a word in small letters such as \"websocket\""
      }
      guard !["h2c", "http", "tls"].contains(name) else { return "\(name) would carry requests past Regent" }
    }
    return nil
  }

  @Sendable static func pathRefusal(_ path: String?) -> String? {
    path?.isEmpty == true ? "it names no file" : nil
  }

  @Sendable private static func ageRefusal(_ age: Duration?) -> String? {
    age?.components.attoseconds == 0 ? nil : "an age is a number of whole seconds"
  }
}

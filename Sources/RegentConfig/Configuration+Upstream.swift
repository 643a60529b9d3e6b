// The configuration of `regent serve --upstream URL`: one origin behind every loopback name, and no
// file. It is on the way to a start in under 50 ms, so it must not touch TOML.

extension Configuration {
  /// One domain for `url`: it answers at every loopback name and at the origin's own host; memory is on.
  public static func forUpstream(_ url: UpstreamURL) -> Configuration {
    var domain = Domain(name: "default")
    domain.hosts = [
      .exact("localhost"), .suffix("localhost"), .exact("127.0.0.1"), .exact("[::1]"),
    ]
    let own = HostPattern.exact(url.bracketedHost)
    if !domain.hosts.contains(own) { domain.hosts.append(own) }
    domain.upstream = url
    domain.isDefault = true
    var configuration = Configuration()
    configuration.domains = [domain]
    return configuration
  }
}

// What the tests of a domain's keys share: one domain, with keys from a file and from the command line.

@testable import RegentConfig

/// A file's lines of the domain `a`, to which a test adds its own.
let oneDomain = "[[domain]]\nname = 'a'\nupstream = 'http://a.test'\n"

/// The domain `a` with these lines of a file, and these keys of the command line.
func parsedDomain(_ lines: String, set: [String] = []) throws -> RegentConfig.Domain {
  let overrides = try set.map { try Override(set: "domain.a.\($0)") }
  return try Configuration.parse(oneDomain + lines, file: "f", overrides: overrides).domains[0]
}

extension Configuration {
  /// The configuration of a TOML file, changed by `overrides` ("KEY=VALUE"), or all that is wrong with it.
  public static func load(
    file: String, overrides: [String] = []
  ) throws(ConfigurationErrors) -> Configuration {
    Configuration()
  }
}

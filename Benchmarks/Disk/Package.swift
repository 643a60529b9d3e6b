// swift-tools-version: 6.2
import PackageDescription

/// As the daemon's own targets are built; the rooms are links to them, so that nothing else is compiled.
let strict: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
  name: "disk-benchmark",
  targets: [
    .systemLibrary(name: "CLibevent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .target(name: "CChecksum"),
    .target(name: "RegentLoop", dependencies: ["CLibevent", "COpenSSL", "CChecksum"], swiftSettings: strict),
    .target(name: "RegentStorage", dependencies: ["RegentLoop"], swiftSettings: strict),
    .executableTarget(
      name: "DiskBenchmark", dependencies: ["RegentStorage", "RegentLoop"], swiftSettings: strict),
  ]
)

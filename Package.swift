// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours is built alike: memory safety is checked, and a warning is an error.
let strict: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  // An async function stays where its caller runs: no executor is looked up between two providers.
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func room(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: ["TestKit"] + dependencies, swiftSettings: strict)
}

let package = Package(
  name: "regent",
  products: [
    .library(name: "Regent", targets: ["Regent"]),
    .executable(name: "regent", targets: ["RegentCommand"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CLibevent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .target(name: "CChecksum"),
    room("RegentLoop", ["CLibevent", "COpenSSL", "CChecksum"]),
    room("RegentHTTP"),
    room("RegentCaching", ["RegentHTTP"]),
    room("RegentStorage", ["RegentLoop"]),
    room(
      "RegentConfig", ["RegentCaching", .product(name: "TOMLKit", package: "TOMLKit")]),
    room(
      "Regent",
      [
        "RegentLoop", "RegentHTTP", "RegentCaching", "RegentStorage", "RegentConfig",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .executableTarget(
      name: "RegentCommand",
      dependencies: [
        "Regent", "RegentConfig",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    // What all tests share. It knows no room, so that no test leans on what it tests.
    .target(name: "TestKit", path: "Tests/TestKit", swiftSettings: strict),
    tests("RegentHTTPTests", ["RegentHTTP"]),
    tests("RegentLoopTests", ["RegentLoop"]),
    tests("RegentCachingTests", ["RegentCaching", "RegentHTTP"]),
    tests("RegentStorageTests", ["RegentStorage", "RegentLoop"]),
    tests("RegentConfigTests", ["RegentConfig", "RegentCaching"]),
    tests(
      "RegentTests",
      ["Regent", "RegentConfig", "RegentHTTP", "RegentCaching", "RegentStorage", "RegentLoop"]),
    tests("ScenarioTests", ["RegentCommand"]),
  ]
)

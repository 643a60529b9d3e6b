// What becomes of those who wait for another one's fetch when it fails (TRUST section 2.2 and row D5): each has an outcome
// of its own, the origin is asked a bounded number of times, and no body ends as if it were whole.

import Foundation
import Testing

@Suite("A fetch for many that fails")
struct FlightFailureTests {
  private static let isFull = ProcessInfo.processInfo.environment["REGENT_CROWD"] == "full"

  @Test(
    "asks the origin twice, however many wait, and tells all",
    arguments: ["500", "503", "429", "closes", "garbage"])
  func trouble(how: String) throws {
    let gate = Gate()
    // Retries are the origin's own affair: here each flight asks once.
    let stage = try Stage(set: [Setting.retry("none")]) { _, connection in
      try gate.wait()
      switch how {
      case "closes": connection.close()
      case "garbage":
        try connection.send("What do you want?\r\n\r\n")
        connection.close()
      default: try connection.answer(Int(how) ?? 0, [], "trouble")
      }
    }
    let clients = try stage.crowd(40, "/t")
    gate.open()
    let status = Int(how) ?? 502
    for client in clients { #expect(try client.response().status == status) }
    #expect(stage.origin.requests.count == 2)
    #expect(try ["elections", "failed", "in-the-air"].map(stage.flight) == [1, 38, 0])
  }

  @Test(
    "because the origin wants to be left alone tells all for how long, and asks it no second time",
    arguments: [(503, "40"), (429, "40"), (503, "date"), (429, "limit")])
  func leftAlone(status: Int, how: String) throws {
    let gate = Gate()
    let field =
      switch how {
      case "date": "Retry-After: \(httpDate(in: 40))"
      case "limit": "RateLimit: \"default\";r=0;t=40"
      default: "Retry-After: \(how)"
      }
    let stage = try Stage(set: [Setting.retry("none")]) { _, connection in
      try gate.wait()
      try connection.answer(status, [field], "trouble")
    }
    let clients = try stage.crowd(20, "/t")
    gate.open()
    let answers = try clients.map { try $0.response() }
    #expect(answers.allSatisfy { $0.status == status } && stage.origin.requests.count == 1)
    let followers = answers.filter { $0.text != "trouble" }
    #expect(followers.count == 19)
    for answer in followers {
      #expect(["38", "39", "40"].contains(answer["Retry-After"]), "\(answer.head.raw)")
      #expect(answer["Proxy-Status"]?.contains("destination_unavailable") == true)
    }
    #expect(try ["elections", "failed", "in-the-air"].map(stage.flight) == [0, 19, 0])
  }

  @Test("gives those who have something stale that, at once")
  func stale() throws {
    let gate = Gate()
    let stage = try Stage { request, connection in
      guard request.number > 1 else {
        return try connection.answer(
          200, ["Cache-Control: max-age=1, stale-if-error=600", "Age: 60", "ETag: \"1\""], "stored")
      }
      try gate.wait()
      try connection.answer(503)
    }
    _ = try stage.get("/s")
    let before = try stage.flight("followers")
    let clients = try (0..<20).map { _ in
      let client = try stage.daemon.connect()
      try client.request("GET", "/s")
      return client
    }
    #expect(try eventually { try stage.flight("followers") - before == 19 })
    gate.open()
    for client in clients {
      let response = try client.response()
      #expect(response.status == 200 && response.text == "stored")
      #expect(response.cacheStatus.contains("stale-if-error"))
    }
    #expect(stage.origin.requests.count == 2)
    #expect(try stage.flight("stale") == 19)
  }

  @Test("that the next one makes good answers all but the first")
  func recovery() throws {
    let gate = Gate()
    let stage = try Stage(set: [Setting.retry("none")]) { request, connection in
      try gate.wait()
      if request.number == 1 { return connection.close() }
      try connection.answer(200, [FlightTests.kept], "good")
    }
    let clients = try stage.crowd(40, "/r")
    gate.open()
    let statuses = try clients.map { try $0.response().status }
    #expect(statuses.count { $0 == 502 } == 1 && statuses.count { $0 == 200 } == 39)
    #expect(stage.origin.requests.count == 2)
  }

  @Test("in the middle of the body cuts all connections, and nothing of it is stored as whole")
  func brokenBody() throws {
    let gate = Gate()
    let body = Pattern(for: "/b").bytes(count: 200_000)
    let stage = try Stage { request, connection in
      if request.number > 1 {
        try connection.send("HTTP/1.1 200 OK\r\n\(FlightTests.kept)\r\nContent-Length: \(body.count)\r\n\r\n")
        return try connection.send(body)
      }
      try connection.send("HTTP/1.1 200 OK\r\n\(FlightTests.kept)\r\nContent-Length: \(body.count)\r\n\r\n")
      try connection.send(Array(body.prefix(100_000)))
      try gate.wait()
      connection.reset()
    }
    let clients = try (0..<20).map { _ in
      let client = try stage.daemon.connect()
      try client.request("GET", "/b")
      return client
    }
    #expect(try stage.hasJoined(19))
    #expect(clients.allSatisfy { $0.socket.isReadable(within: 10_000) })
    gate.open()
    for client in clients {
      var received: [UInt8] = []
      #expect(throws: (any Error).self) { try client.response { received += $0 } }
      #expect(isSame(received, Array(body.prefix(received.count))) && received.count <= 100_000)
    }
    let response = try stage.get("/b")
    #expect(isSame(response.body, body) && !response.isHit)
  }

  @Test("before the first byte of the body lets those who waited try once more, together")
  func nothing() throws {
    let gate = Gate()
    let stage = try Stage { request, connection in
      guard request.number == 1 else { return try connection.answer(200, [FlightTests.kept], "good") }
      try gate.wait()
      try connection.send("HTTP/1.1 200 OK\r\n\(FlightTests.kept)\r\nContent-Length: 100\r\n\r\n")
      connection.reset()
    }
    let clients = try stage.crowd(20, "/z")
    gate.open()
    // Who had its head already is cut; nobody gets a body that is not whole.
    let texts = clients.map { try? $0.response().text }
    #expect(texts.allSatisfy { $0 == "good" || $0 == nil } && texts.contains(nil))
    #expect(stage.origin.requests.count <= 2)
    #expect(try stage.get("/z").text == "good")
  }

  @Test("by hanging has one more ask when the lease has passed, and no more")
  func lease() throws {
    let gate = Gate()
    let stage = try Stage(set: ["flights.lease=100ms", Setting.firstByte("60s")]) { request, connection in
      if request.number == 1 { try gate.wait() }
      try connection.answer(200, [FlightTests.kept], "answer \(request.number)")
    }
    let clients = try stage.crowd(40, "/h")
    var texts: [String] = []
    // One of them is the hanging leader's own.
    #expect(
      eventually {
        Socket.areReadable(clients.map(\.socket), within: 0).count { $0 } == 39
      })
    gate.open()
    for client in clients { texts.append(try client.response().text) }
    #expect(texts.count { $0 == "answer 2" } == 39 && texts.count { $0 == "answer 1" } == 1)
    #expect(stage.origin.requests.count == 2)
    #expect(try stage.flight("lease-expired") == 1)
  }

  @Test("leaves nobody waiting of ten thousand", arguments: ["closes", "hangs", "private", "too large"])
  func thousands(how: String) throws {
    let count = Self.isFull ? 9000 : 400
    let gate = Gate()
    let body = Pattern(for: "/n").bytes(count: 20_000)
    let stage = try Stage(
      set: [
        Setting.firstByte("2s"), Setting.maxObject("64 KiB"), Setting.retry("none"),
        "limits.origin-connections=16",
      ]
    ) { request, connection in
      try gate.wait()
      switch how {
      case "closes": connection.close()
      case "hangs": _ = try connection.socket.receive()
      case "private": try connection.answer(200, ["Cache-Control: private"], "own")
      default:
        try connection.send("HTTP/1.1 200 OK\r\n\(FlightTests.kept)\r\nContent-Length: \(body.count)\r\n\r\n")
        try connection.send(body)
      }
    }
    let clients = try stage.crowd(count, "/n")
    gate.open()
    var statuses: [Int: Int] = [:]
    for client in clients {
      let response = try client.response()
      statuses[response.status, default: 0] += 1
      if how == "too large" { #expect(isSame(response.body, body)) }
    }
    #expect(statuses.values.reduce(0, +) == count)
    switch how {
    case "closes": #expect(statuses == [502: count] && stage.origin.requests.count == 2)
    case "hangs": #expect(statuses == [504: count] && stage.origin.requests.count == 2)
    case "private":
      // All go to the origin at once; those beyond what may wait for its connections are told so.
      #expect(Set(statuses.keys).isSubset(of: Self.isFull ? [200, 503] : [200]))
      #expect(stage.origin.requests.count == statuses[200])
    default: #expect(statuses == [200: count] && stage.origin.requests.count == 1)
    }
    #expect(try ["in-the-air", "waiting"].map(stage.flight) == [0, 0])
  }
}

/// The time so many seconds from now, as it stands in a field.
private func httpDate(in seconds: Double) -> String {
  let formatter = DateFormatter()
  formatter.locale = Locale(identifier: "en_US_POSIX")
  formatter.timeZone = TimeZone(identifier: "GMT")
  formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
  return formatter.string(from: Date(timeIntervalSinceNow: seconds))
}

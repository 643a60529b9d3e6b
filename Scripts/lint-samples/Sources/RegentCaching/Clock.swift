// expect: clock: each way to read a clock.
// expect: clock
// expect: clock
// expect: clock
let a = ContinuousClock()
let b: Instant = .now
let c = Date()
let d = Instant.now
// A property of a value that was passed in is no clock:
let time = time()
let fine = request.now + decision.now.seconds

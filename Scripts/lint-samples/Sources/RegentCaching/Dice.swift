// expect: random: jitter is passed in.
let jitter = Int.random(in: 0..<500)

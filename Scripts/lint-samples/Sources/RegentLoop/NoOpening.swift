enum NoOpening {}
// expect: opening

// expect: undone
// TODO later
enum Undone {}

// expect: reason: what follows a string with slashes and quotes in it is still seen.
let url = "http://\"quoted\"//x"


let a = table["//"]!

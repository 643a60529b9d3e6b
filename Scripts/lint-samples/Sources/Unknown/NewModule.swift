// expect: import: a module that the table does not know may import nothing.
import RegentHTTP

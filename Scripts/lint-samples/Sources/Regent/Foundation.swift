// expect: import: a hot module with Foundation.
import Foundation
import Logging
import RegentHTTP

// What is counted of each answer, and of the bytes of its content.

import RegentHTTP
import RegentLoop

extension ClientConnection {
  func count(_ response: Response, _ request: Request, bytesOut: Int) {
    let meters = request.meters.domains[request.domain.number]
    meters.requests.add(1)
    meters.bytesIn.add(request.routed.head.fields.bytes.count + (content?.count ?? 0))
    meters.bytesOut.add(bytesOut)
    meters.count(response.cacheStatus)
    if let failure = response.failure {
      meters.errors.add(1)
      server.log.failed(failure, domain: request.domain.name)
    }
  }

  func countSent(_ bytes: Int, _ timing: Timing) {
    server.meters.domains[timing.domain].bytesOut.add(bytes)
  }
}

// The head that asks an origin: the client's own fields as far as they concern the origin, the conditions that stored
// responses make, and what Regent says of itself.

import RegentCaching
import RegentConfig
import RegentHTTP

extension OriginIdentity {
  /// The client's fields as far as they may go on: what stands in for the key goes no further (TRUST B5), nor does what
  /// Regent itself says of the client.
  fileprivate func fields(of request: Request) -> Fields {
    let fields = request.fields
    guard fields.mayHoldUnkeyed else { return fields }
    if additions.forwarded != .none { return fields.withoutUnkeyed() }
    return request.isForCache ? fields.withoutUnkeyed(keyed: request.keyedFields) : fields
  }
}

extension MessageWriter {
  /// The head that asks an origin for a request's answer.
  mutating func head(asking identity: OriginIdentity, _ request: Request, via: PreparedLine) {
    let fields = identity.fields(of: request)
    requestLine(request.method, identity: identity, request: request)
    line(identity.hostLine)
    forwarded(fields, except: RequestFields.kept(from: request))
    if request.asksToConfirm {
      var conditions = Fields()
      request.addConditions(to: &conditions)
      for line in conditions.lines { self.line(line, of: conditions) }
    }
    if let missing = request.missing {
      field(.range, bytes: missing.gap.range)
      if let validator = missing.validator { field(.ifRange, bytes: validator.value) }
    }
    switch request.hasBody ? request.body?.framing : nil {
    case .length(let length)?: field(.contentLength, decimal: length)
    case .chunked?: field(.transferEncoding, "chunked")
    case nil, .some(.none), .untilClose?:
      if request.routed.head.framing == .length(0) { field(.contentLength, decimal: 0) }
    }
    identity.additions.writeFields(missingFrom: fields, to: &self)
    identity.additions.writeForwarding(of: request, to: &self)
    if request.hasBody, request.head.expectsContinue { field(.expect, "100-continue") }
    if let offered = request.upgrade {
      field(.connection, "Upgrade")
      field(.upgrade, bytes: offered)
    }
    if let authorization = identity.proxyAuthorization { field(.proxyAuthorization, authorization) }
    line(via)
    endHead()
  }

  mutating func requestLine(_ method: Method, identity: OriginIdentity, request: Request) {
    let asked = request.head.target
    // RFC 9112 section 3.2.4: OPTIONS for an origin as a whole, in either form, is asked with an asterisk.
    let isServerWide = asked.pathIsRoot && asked.query == nil && request.method == .options
    if asked.form == .asterisk || isServerWide {
      return requestLine(
        request.method, target: identity.absolutePrefix.isEmpty ? [0x2A] : identity.absolutePrefix[...])
    }
    // Most often the target goes on as it came.
    if identity.absolutePrefix.isEmpty, !identity.additions.hasQuery {
      return requestLine(
        method, base: identity.basePath, path: request.pathBytes, query: request.queryBytes)
    }
    var target =
      identity.absolutePrefix.isEmpty ? identity.basePath : identity.absolutePrefix + identity.basePath
    target.append(contentsOf: request.pathBytes)
    if let query = request.queryBytes {
      target.append(0x3F)
      target.append(contentsOf: query)
    }
    target = identity.additions.completed(target: target, query: request.queryBytes)
    requestLine(method, target: target[...])
  }

  /// A field whose value is Regent's own and was checked when it was made.
  mutating func field(_ name: FieldName, bytes value: [UInt8]) {
    guard let value = FieldValue(validating: value) else { return }
    field(name, value)
  }
}

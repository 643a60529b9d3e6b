// Which of a client's fields go on to an origin. A response that may be stored must depend on nothing but the key and
// what Vary names: fields that origins read in place of the request's own target, host or method go no further.

import RegentCaching
import RegentHTTP

/// The fields that are left out of a request to an origin.
enum RequestFields {
  private static let own: [FieldName] = [.host, .contentLength, .expect, .transferEncoding]
  private static let conditions: [FieldName] = [
    .ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .ifRange,
  ]
  static let conditional = FieldNameSet(conditions)
  private static let ownOnly = FieldNameSet(own)
  private static let conditionalToo = FieldNameSet(own + conditions)
  private static let rangeToo = FieldNameSet(own + conditions + [.range])
  private static let directives: [FieldName] = [.cacheControl, .pragma]
  private static let wholeBehind = FieldNameSet(own + conditions + directives + [.range])
  private static let partBehind = FieldNameSet(own + conditions + directives)

  /// What is kept from the origin: of a request that a cache will see the answer of, also the client's conditions.
  static func kept(from request: Request) -> FieldNameSet {
    guard request.isForCache else { return ownOnly }
    // Behind an answer that has left already, the client's directives have done their work; of a part, the same part
    // is asked for anew.
    if request.isBehind { return request.candidate?.parts == nil ? wholeBehind : partBehind }
    // Without its If-Range, a range would be cut out of whatever the origin has now; and the question whether a
    // stored response holds is about the whole of it, unless only parts of it are stored.
    let asksAboutWhole = request.asksToConfirm && request.candidate?.parts == nil
    let isWhole = asksAboutWhole || request.missing != nil || request.fields.contains(.ifRange)
    return isWhole ? rangeToo : conditionalToo
  }
}

extension Request {
  /// The names of the fields that are part of the key.
  var keyedFields: [[UInt8]] { domain.hasKeyRules ? domain.keyRules.fields : [] }

  /// Whether a cache wants the whole response, or its own question answered.
  var isForCache: Bool { candidate != nil || method == .get && forwarded != .bypass }

  /// Whether the origin is given a condition: ours, or the client's.
  var asksConditionally: Bool {
    asksToConfirm || !isForCache && !fields.present.isDisjoint(with: RequestFields.conditional)
  }
}

extension Fields {
  /// Whether there are fields that stand in for what is in the key (TRUST B5).
  var hasUnkeyed: Bool { lines.contains(where: isUnkeyed) }
}

extension Fields {
  /// The same fields but for those that stand in for what is in the key (TRUST B5); `keyed` ones are in it themselves.
  func withoutUnkeyed(keyed: [[UInt8]] = []) -> Fields {
    guard mayHoldUnkeyed else { return self }
    let isLeftOut = { (line: FieldLine) in
      self.isUnkeyed(line) && !keyed.contains { self.name(of: line).equalsIgnoringCase($0) }
    }
    guard lines.contains(where: isLeftOut) else { return self }
    var kept = Fields()
    for line in lines where !isLeftOut(line) {
      if line.name == .other {
        kept.append(named: name(of: line), value(of: line))
      } else {
        kept.append(line.name, value(of: line))
      }
    }
    return kept
  }

  /// Whether there may be such fields: most requests have neither them nor unknown ones.
  var mayHoldUnkeyed: Bool { !present.isDisjoint(with: Self.suspect) }

  private static let unkeyed = FieldNameSet([.forwarded, .xForwardedFor, .xForwardedHost, .xForwardedProto])
  private static let suspect = unkeyed.union(FieldNameSet([.other]))
  private static let prefixes = ["x-forwarded-", "x-original-", "x-rewrite-", "x-http-method"].map {
    Array($0.utf8)
  }
  private static let names = [
    "x-method-override", "x-host", "x-http-host-override", "x-http-path-override", "x-real-ip", "x-client-ip",
    "x-cluster-client-ip", "x-originating-ip", "x-url-scheme", "client-ip", "true-client-ip",
    "cf-connecting-ip", "front-end-https",
  ].map { Array($0.utf8) }

  private func isUnkeyed(_ line: FieldLine) -> Bool {
    guard line.name == .other else { return Self.unkeyed.contains(line.name) }
    let name = name(of: line).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    return Self.prefixes.contains { name.starts(with: $0) } || Self.names.contains(name)
  }
}

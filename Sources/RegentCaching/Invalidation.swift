// RFC 9111 section 4.4: a successful unsafe request makes what is stored about its target untrue.

public import RegentHTTP

/// When a request invalidates stored responses.
public enum Invalidation {
  /// Whether stored responses for the target, and for ``sameOriginTarget(_:scheme:authority:path:)`` of the
  /// response's Location and Content-Location, are to be invalidated.
  ///
  /// Methods that are not registered as safe count as unsafe; an error changes nothing.
  public static func applies(method: Method, status: UInt16) -> Bool {
    !method.isSafe && status >= 200 && status < 400
  }
}

// The waits of a body's writer, readers and keepers. Each parks a continuation under the lock; whoever takes it out
// of the state, under the lock, resumes it: exactly one of the awaited event and the cancellation does.

import RegentLoop

extension BodyStream {
  /// How the body ends: waits for its end, or for the keeper's dismissal.
  ///
  /// A cancelled wait is answered with `.failed(.cancelled)`.
  public func completion() async -> BodyCompletion {
    let id = state.withLock { $0.newID() }
    return await withTaskCancellationHandler {
      await Parked.wait { continuation in
        let known = state.withLock { $0.park(continuation, id: id) }
        if let known {
          continuation.resume(known)
        } else if Task.isCancelled {
          cancelCompletion(id)
        }
      }
    } onCancel: {
      cancelCompletion(id)
    }
  }

  private func cancelCompletion(_ id: Int) {
    state.withLock { $0.cancelCompletion(id) }?.resume(.failed(.cancelled))
  }

  /// Waits until there may be room for the writer; false when cancelled.
  func waitForRoom() async -> Bool {
    await withTaskCancellationHandler {
      await Parked.wait { continuation in
        let isParked = state.withLock { $0.park(continuation) }
        // A cancellation before the parking found nobody to wake.
        if !isParked { continuation.resume(true) } else if Task.isCancelled { cancelWriter() }
      }
    } onCancel: {
      cancelWriter()
    }
  }

  private func cancelWriter() {
    state.withLock { $0.cancelWriter() }?.resume(false)
  }

  /// Waits until there may be bytes for a reader; false when cancelled.
  func waitForBytes(_ reader: Int, at position: Int) async -> Bool {
    await withTaskCancellationHandler {
      await Parked.wait { continuation in
        let isParked = state.withLock { $0.park(reader, at: position, continuation) }
        if !isParked {
          continuation.resume(true)
        } else if Task.isCancelled {
          cancelReader(reader)
        }
      }
    } onCancel: {
      cancelReader(reader)
    }
  }

  private func cancelReader(_ reader: Int) {
    state.withLock { $0.readers.cancel(reader) }?.resume(false)
  }
}

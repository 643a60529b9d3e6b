// A body on its way to the disk while it arrives: one reader brings it to a fill, and the body learns what is written, so that
// nobody's pace but the disk's holds the writer back.

public import RegentLoop

/// The writing of an arriving body to the disk. It is to be ``run(patience:on:)`` at once.
public struct BodySpill: Sendable {
  let reader: BodyReader
  let fill: DiskFill

  /// Brings the body to the fill as it arrives. True where it is whole, and was taken to its last byte: then the fill is to be
  /// committed. False where it is not stored; the fill is told.
  ///
  /// - Parameters:
  ///   - patience: How long the disk may take for what the body's window holds while the writer waits for it; a slower one
  ///     is given up, so that no client waits for it any longer.
  ///   - loop: The loop that this runs on.
  public func run(patience: Duration, on loop: EventLoop) async -> Bool {
    let watch = watch(patience, on: loop)
    defer {
      watch?.cancel()
      reader.leave()
    }
    if await takeAll(), reader.stream.isFinished { return true }
    fill.fail()
    return false
  }

  func takeAll() async -> Bool {
    do {
      while let slices = try await reader.next() {
        for slice in slices {
          guard await fill.append(slice) == .accepted else { return false }
        }
      }
      return true
    } catch {
      return false
    }
  }

  /// A body that is not longer than an extent has no need of the disk before it is whole.
  private func watch(_ patience: Duration, on loop: EventLoop) -> Task<Void, Never>? {
    guard reader.stream.expected ?? .max > fill.extentSize else { return nil }
    return Task(executorPreference: loop) { [weak stream = reader.stream] in
      repeat { await loop.sleep(for: patience) } while !Task.isCancelled && stream?.diskPassed() == true
    }
  }
}

extension BodyStream {
  /// Has the body written to the disk as it arrives: then what is there is read from there by those who are slow, or come
  /// late, and only the disk holds the writer back. Nil when bytes were dropped already, or the body has failed.
  ///
  /// While the fill goes on, the body takes up to four extents of memory (4 MiB) and two slices, and a slow reader one block
  /// (64 KiB) at a time. Should the fill fail, what it wrote can still be read; for the rest, the window holds again.
  public func spill(to fill: DiskFill) -> BodySpill? {
    if isWhole { return makeReader().map { BodySpill(reader: $0, fill: fill) } }
    let step = state.withLock { $0.spill(to: fill.core, window: 4 * fill.extentSize) }
    step.wakes.resume()
    guard let index = step.result else { return nil }
    let reader = BodyReader(self, .live(index))
    fill.follow(self)
    return BodySpill(reader: reader, fill: fill)
  }

  func stored(_ part: DiskPart) { state.withLock { $0.stored(part) }.resume() }

  func spillEnded() { state.withLock { $0.spillEnded() }.resume() }

  /// Tells that a while has passed. False where the disk has no part in the body any more.
  func diskPassed() -> Bool {
    let (wakes, isOpen) = state.withLock { state in
      (state.diskPassed(), state.end == .open && state.extents?.isOpen == true)
    }
    wakes.resume()
    return isOpen
  }
}

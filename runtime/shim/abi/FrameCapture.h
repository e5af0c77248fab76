//===- FrameCapture.h - Frames under a caller's capture ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caller may capture its stream into a graph. A service then makes the work
// of the frame part of that graph. Without the service the shim refuses such a
// stream.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_ABI_FRAMECAPTURE_H
#define GPUASYNC_SHIM_ABI_FRAMECAPTURE_H

#include "shim/abi/Frame.h"

namespace gpuasync {

/// The capture that a frame of one device is part of, from the caller's stream
/// that begins it to the end of the frame.
class FrameCapture {
public:
  /// Returns a stream of the capture that starts where the frame did.
  virtual Status takeStream(Frame &frame, Stream *&out) = 0;
  /// The program gives back a stream of the capture, which is off the frame's
  /// list.
  virtual void giveStream(Stream &stream) = 0;
  /// Whether the graph can allocate such memory each time it runs.
  virtual Status checkAllocation(const Frame &frame, const Stream *stream,
                                 MemoryKind kind) = 0;
  /// Joins all streams of the frame with the caller's one, so that the capture
  /// can end. Gives up what the frame still holds. Fails the frame if memory of
  /// the graph would outlive it. The frame is in no capture afterwards.
  virtual void end(Frame &frame) = 0;

protected:
  ~FrameCapture() = default;
};

/// Begins or continues the capture of a caller's stream in the frame. The
/// stream is captured, or the frame is in a capture.
using JoinCapture = Status(Frame &frame, NativeStream stream,
                           const CaptureState &state);
/// The service's; null: there is none.
extern JoinCapture *const joinCapture;

} // namespace gpuasync

#endif // GPUASYNC_SHIM_ABI_FRAMECAPTURE_H

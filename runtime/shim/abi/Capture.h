//===- Capture.h - Frames under a caller's stream capture -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A frame whose caller's stream is being captured into a graph runs nothing:
// all its streams are part of the capture, and what a graph cannot hold is
// refused.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_ABI_CAPTURE_H
#define GPUASYNC_SHIM_ABI_CAPTURE_H

#include "shim/abi/Frame.h"

namespace gpuasync {

/// Made when a captured stream of the caller's comes into the frame, gone when
/// the frame is left. Streams that the frame takes belong to the capture until
/// that ends: they wait in the context's `captured` list.
struct Capture {
  uint64_t id = 0;
  NativeStream root = nullptr; ///< the caller's stream
  Event *start = nullptr;      ///< of the root, before anything of the frame
  Stream *given = nullptr;     ///< given back by the program before the end
};

/// Begins or continues the capture of `stream` (a caller's one) in the frame.
Status joinCapture(Frame &frame, NativeStream stream,
                   const CaptureState &state);
/// A stream of the frame's capture, which starts where the frame did.
Status takeCapturedStream(Frame &frame, Stream *&out);
/// Whether the graph can allocate such memory each time it runs.
Status checkCapturedAllocation(const Frame &frame, const Stream *stream,
                               MemoryKind kind);
/// Joins all streams of the frame with the caller's one, so that the capture
/// can end, and gives up what the frame still holds; fails the frame if memory
/// of the graph would outlive it.
void endCapture(Frame &frame);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_ABI_CAPTURE_H

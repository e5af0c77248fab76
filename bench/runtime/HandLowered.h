//===- HandLowered.h - Programs as the compiler lowers them -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What HandLowered.cpp shares with runtime-overhead.cpp.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_BENCH_RUNTIME_HANDLOWERED_H
#define GPUASYNC_BENCH_RUNTIME_HANDLOWERED_H

#include "gpuasync/RuntimeABI.h"

#define EXPORT __attribute__((visibility("default")))

extern const gpuasync_function handLoweredFunction;

/// Launches kernel `kernel` (4: increment) on one block of 32 threads.
void handLoweredLaunch(gpuasync_frame *frame, gpuasync_stream *stream,
                       uint32_t kernel, void *pointer, uint64_t row = 0);

/// A region of `launches` of 64 bytes of parameters, `first` the first word of
/// them, on two streams in turns; behind each of the first `events` ones an
/// event, for which the other stream waits.
gpuasync_status *handLoweredRegion(int launches, int events,
                                   uint64_t first = 0);

extern "C" {
/// The memref of MLIR's calling convention; only the aligned pointer is used.
EXPORT gpuasync_status *forkjoin(int32_t *, int32_t *data, int64_t, int64_t,
                                 int64_t, int64_t, int64_t);
EXPORT gpuasync_status *chain10(int32_t *, int32_t *data, int64_t, int64_t,
                                int64_t);
EXPORT gpuasync_status *sync1(int32_t *, int32_t *data, int64_t, int64_t,
                              int64_t);
}

#endif // GPUASYNC_BENCH_RUNTIME_HANDLOWERED_H

//===- HandWritten.h - The programs as one writes them by hand --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/Integration/{forkjoin_1_4x2_1,chain10,sync1}.mlir, and chain and loop of
// programs.py, on the raw CUDA driver API: the same kernels on the same memory,
// and the host waits at the same places. Streams, events and graphs are made
// once, before any call.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_BENCH_CUDA_HANDWRITTEN_H
#define GPUASYNC_BENCH_CUDA_HANDWRITTEN_H

#include "CudaDriver.h"

namespace bench {

/// Makes kernels, streams, events and graphs in the current context. `matrix`
/// is 5 x 32 words, `row` is 32 words; both stay the caller's.
void prepareHandWritten(CUdeviceptr matrix, CUdeviceptr row);

extern "C" {
/// One kernel, four branches of two on four streams, one kernel after them.
void raw_forkjoin(void);
/// The same as one launch of a graph that was captured from raw_forkjoin.
void raw_forkjoin_graph(void);
/// Ten dependent launches on one stream, then one wait.
void raw_chain10(void);
/// The same as one launch of a graph.
void raw_chain10_graph(void);
/// A thousand, and a thousand times one that counts up and one that triples.
void raw_chain1000_graph(void);
void raw_loop1000_graph(void);
/// One launch and cuStreamSynchronize.
void raw_sync1(void);
}

} // namespace bench

#endif // GPUASYNC_BENCH_CUDA_HANDWRITTEN_H

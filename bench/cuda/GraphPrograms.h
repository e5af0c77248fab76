//===- GraphPrograms.h - Programs as graphs written by hand -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What steps10.mlir, fork4.mlir and ../inception/make.py compute, as graphs
// that are made node by node: each kernel after what it reads, each with a
// buffer of its own, and one kernel as root, since every further root costs.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_BENCH_CUDA_GRAPHPROGRAMS_H
#define GPUASYNC_BENCH_CUDA_GRAPHPROGRAMS_H

#include "CudaDriver.h"

#include <vector>

namespace bench {

struct GraphProgram {
  const char *name;     ///< its library is NAME.so
  const char *function; ///< f(in, out), both in device memory
  bool isFloat;         ///< words of f32, else of i32
  std::vector<uint32_t> input, expected;
  CUdeviceptr in = 0, out = 0; ///< of the graph
  CUgraphExec graph = nullptr;
};

/// Makes all of them in the current context.
std::vector<GraphProgram> makeGraphPrograms();

/// One launch of the graph, and the wait for it.
void runGraph(const GraphProgram &program);

} // namespace bench

#endif // GPUASYNC_BENCH_CUDA_GRAPHPROGRAMS_H

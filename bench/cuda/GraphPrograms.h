//===- GraphPrograms.h - Programs as graphs written by hand -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What programs.py and ../inception/make.py write, as graphs
// that are made node by node: each kernel after what it reads, each with a
// buffer of its own, and one kernel as root, since every further root costs.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_BENCH_CUDA_GRAPHPROGRAMS_H
#define GPUASYNC_BENCH_CUDA_GRAPHPROGRAMS_H

#include "CudaDriver.h"

#include <string>
#include <vector>

namespace bench {

/// How often a kernel of about one millisecond multiplies and adds.
constexpr int longWork = 400000;

struct GraphProgram {
  std::string name;     ///< its library is NAME.so
  const char *function; ///< f(in, out)
  bool isFloat = false; ///< words of f32, else of i32
  bool io = false;      ///< in and out are host memory, else device memory
  std::vector<uint32_t> input, expected;
  CUdeviceptr in = 0, out = 0;                    ///< of the graphs
  uint32_t *hostIn = nullptr, *hostOut = nullptr; ///< pinned
  /// With `io` one whose root is the copy and one whose root is a kernel.
  std::vector<CUgraphExec> graphs;
};

/// Makes all of them, with their graphs if so said, in the current context.
std::vector<GraphProgram> makeGraphPrograms(bool graphs);

/// What inception/make.py's @inception makes of the program's input.
std::vector<uint32_t> branchesOf(const GraphProgram &program, int branches,
                                 int kernels, int work, uint32_t change = 0);

/// One launch of a graph, and the wait for it.
void runGraph(const GraphProgram &program, size_t which);

} // namespace bench

#endif // GPUASYNC_BENCH_CUDA_GRAPHPROGRAMS_H

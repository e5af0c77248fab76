//===- HandWritten.cpp - The programs as one writes them by hand ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Straight calls of the driver, as someone writes them who knows it: streams
// that do not block, events without times, nothing created on the way.
//===----------------------------------------------------------------------===//

#include "HandWritten.h"

namespace bench {

// The kernels of the .mlir files.
static const char ptx[] =
#include "SharedKernels.inc"
    R"(
.visible .entry triple(.param .u64 x)
{
  .reg .b32 %r<3>;
  .reg .b64 %a<4>;
  ld.param.u64 %a0, [x];
  cvta.to.global.u64 %a1, %a0;
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %a2, %r0, 4;
  add.u64 %a3, %a1, %a2;
  ld.global.u32 %r1, [%a3];
  mul.lo.u32 %r2, %r1, 3;
  st.global.u32 [%a3], %r2;
  ret;
}
)";

constexpr int branches = 4;

static CUfunction firstKernel, addKernel, doubleKernel, lastKernel,
    incrementKernel, tripleKernel;
static CUstream streams[branches];
static CUevent forked, done[branches];
static CUgraphExec forkjoinGraph, chainGraph, longChainGraph, loopGraph;
static CUdeviceptr matrix, row;

static void launch(CUfunction kernel, CUstream stream, void **arguments) {
  CHECK_CUDA(cuda.launchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments,
                               nullptr));
}

static void enqueueForkjoin() {
  void *trunk[] = {&matrix};
  launch(firstKernel, streams[0], trunk);
  CHECK_CUDA(cuda.eventRecord(forked, streams[0]));
  for (int i = 0; i < branches; ++i) {
    uint64_t number = i + 1;
    void *branch[] = {&matrix, &number};
    if (i > 0)
      CHECK_CUDA(cuda.streamWaitEvent(streams[i], forked, 0));
    launch(addKernel, streams[i], branch);
    launch(doubleKernel, streams[i], branch);
    if (i > 0)
      CHECK_CUDA(cuda.eventRecord(done[i], streams[i]));
  }
  for (int i = 1; i < branches; ++i)
    CHECK_CUDA(cuda.streamWaitEvent(streams[0], done[i], 0));
  launch(lastKernel, streams[0], trunk);
}

template <int count>
static void enqueueChain() {
  void *arguments[] = {&row};
  for (int i = 0; i < count; ++i)
    launch(incrementKernel, streams[0], arguments);
}

static void enqueueLoop() {
  void *arguments[] = {&row};
  for (int i = 0; i < 1000; ++i) {
    launch(incrementKernel, streams[0], arguments);
    launch(tripleKernel, streams[0], arguments);
  }
}

static CUgraphExec capture(void (*enqueue)()) {
  CUgraph graph;
  CUgraphExec executable;
  CHECK_CUDA(cuda.streamBeginCapture(streams[0], captureModeThreadLocal));
  enqueue();
  CHECK_CUDA(cuda.streamEndCapture(streams[0], &graph));
  CHECK_CUDA(cuda.graphInstantiate(&executable, graph, 0));
  return executable;
}

void prepareHandWritten(CUdeviceptr matrixMemory, CUdeviceptr rowMemory) {
  matrix = matrixMemory;
  row = rowMemory;
  CUmodule module;
  CHECK_CUDA(cuda.moduleLoadData(&module, ptx));
  CHECK_CUDA(cuda.moduleGetFunction(&firstKernel, module, "first"));
  CHECK_CUDA(cuda.moduleGetFunction(&addKernel, module, "add"));
  CHECK_CUDA(cuda.moduleGetFunction(&doubleKernel, module, "double"));
  CHECK_CUDA(cuda.moduleGetFunction(&lastKernel, module, "last"));
  CHECK_CUDA(cuda.moduleGetFunction(&incrementKernel, module, "increment"));
  CHECK_CUDA(cuda.moduleGetFunction(&tripleKernel, module, "triple"));
  CHECK_CUDA(cuda.eventCreate(&forked, eventDisableTiming));
  for (int i = 0; i < branches; ++i) {
    CHECK_CUDA(cuda.streamCreate(&streams[i], streamNonBlocking));
    CHECK_CUDA(cuda.eventCreate(&done[i], eventDisableTiming));
  }
  // Capture fails on the first use of a lazily loaded kernel in some drivers.
  raw_forkjoin();
  raw_chain10();
  forkjoinGraph = capture(enqueueForkjoin);
  enqueueLoop();
  CHECK_CUDA(cuda.streamSynchronize(streams[0]));
  chainGraph = capture(enqueueChain<10>);
  longChainGraph = capture(enqueueChain<1000>);
  loopGraph = capture(enqueueLoop);
}

extern "C" {

void raw_forkjoin(void) {
  enqueueForkjoin();
  CHECK_CUDA(cuda.streamSynchronize(streams[0]));
}

void raw_forkjoin_graph(void) {
  CHECK_CUDA(cuda.graphLaunch(forkjoinGraph, streams[0]));
  CHECK_CUDA(cuda.streamSynchronize(streams[0]));
}

void raw_chain10(void) {
  enqueueChain<10>();
  CHECK_CUDA(cuda.streamSynchronize(streams[0]));
}

void raw_chain10_graph(void) {
  CHECK_CUDA(cuda.graphLaunch(chainGraph, streams[0]));
  CHECK_CUDA(cuda.streamSynchronize(streams[0]));
}

static void runOnStream(CUgraphExec graph) {
  CHECK_CUDA(cuda.graphLaunch(graph, streams[0]));
  CHECK_CUDA(cuda.streamSynchronize(streams[0]));
}
void raw_chain1000_graph(void) { runOnStream(longChainGraph); }
void raw_loop1000_graph(void) { runOnStream(loopGraph); }

void raw_sync1(void) {
  void *arguments[] = {&row};
  launch(incrementKernel, streams[0], arguments);
  CHECK_CUDA(cuda.streamSynchronize(streams[0]));
}

} // extern "C"

} // namespace bench

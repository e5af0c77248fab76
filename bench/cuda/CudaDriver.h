//===- CudaDriver.h - The CUDA driver API as the benchmarks use it -*- C++ -*-//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Own declarations of the few driver functions that the hand-written programs
// call, looked up in libcuda.so.1 at run time: no header or toolkit is needed.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_BENCH_CUDA_CUDADRIVER_H
#define GPUASYNC_BENCH_CUDA_CUDADRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace bench {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;

/// CUDA_KERNEL_NODE_PARAMS of CUDA 12.
struct KernelNode {
  CUfunction function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **parameters, **extra;
  void *kernel;
  CUcontext context;
};

/// CUDA_MEMCPY3D.
struct CopyNode {
  struct Side {
    size_t xInBytes, y, z, level;
    unsigned memoryType; ///< memoryHost or memoryDevice
    void *host;
    CUdeviceptr device;
    void *array, *reserved;
    size_t pitch, height;
  } source, target;
  size_t widthInBytes, height, depth;
};

constexpr unsigned memoryHost = 1, memoryDevice = 2;
constexpr unsigned streamNonBlocking = 1;
constexpr unsigned eventDisableTiming = 2;
constexpr int captureModeThreadLocal = 1;

/// One line per entry point: member, exported name, parameters.
#define GPUASYNC_BENCH_CUDA_FUNCTIONS(F)                                       \
  F(init, "cuInit", (unsigned))                                                \
  F(getErrorName, "cuGetErrorName", (CUresult, const char **))                 \
  F(deviceGet, "cuDeviceGet", (CUdevice *, int))                               \
  F(deviceGetName, "cuDeviceGetName", (char *, int, CUdevice))                 \
  F(primaryRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))        \
  F(ctxGetCurrent, "cuCtxGetCurrent", (CUcontext *))                           \
  F(ctxSetCurrent, "cuCtxSetCurrent", (CUcontext))                             \
  F(moduleLoadData, "cuModuleLoadData", (CUmodule *, const void *))            \
  F(moduleGetFunction, "cuModuleGetFunction",                                  \
    (CUfunction *, CUmodule, const char *))                                    \
  F(memAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                        \
  F(memHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))               \
  F(memcpyDtoH, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t))              \
  F(memcpyHtoD, "cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t))        \
  F(memsetD32, "cuMemsetD32_v2", (CUdeviceptr, unsigned, size_t))              \
  F(streamCreate, "cuStreamCreate", (CUstream *, unsigned))                    \
  F(streamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))       \
  F(streamSynchronize, "cuStreamSynchronize", (CUstream))                      \
  F(eventCreate, "cuEventCreate", (CUevent *, unsigned))                       \
  F(eventRecord, "cuEventRecord", (CUevent, CUstream))                         \
  F(launchKernel, "cuLaunchKernel",                                            \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
     unsigned, CUstream, void **, void **))                                    \
  F(streamBeginCapture, "cuStreamBeginCapture_v2", (CUstream, int))            \
  F(streamEndCapture, "cuStreamEndCapture", (CUstream, CUgraph *))             \
  F(graphCreate, "cuGraphCreate", (CUgraph *, unsigned))                       \
  F(graphAddKernelNode, "cuGraphAddKernelNode_v2",                             \
    (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const KernelNode *)) \
  F(graphAddMemcpyNode, "cuGraphAddMemcpyNode",                                \
    (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CopyNode *,    \
     CUcontext))                                                               \
  F(graphUpload, "cuGraphUpload", (CUgraphExec, CUstream))                     \
  F(graphInstantiate, "cuGraphInstantiateWithFlags",                           \
    (CUgraphExec *, CUgraph, unsigned long long))                              \
  F(graphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream))

struct CudaDriver {
#define GPUASYNC_BENCH_FIELD(member, name, parameters)                         \
  CUresult(*member) parameters = nullptr;
  GPUASYNC_BENCH_CUDA_FUNCTIONS(GPUASYNC_BENCH_FIELD)
#undef GPUASYNC_BENCH_FIELD

  /// Opens the driver and initialises it; what went wrong otherwise.
  std::string open();
  /// Device memory is the host's, and there is nothing else: for the cpu
  /// device.
  void useHost();
};

/// The process's one driver.
extern CudaDriver cuda;

/// Ends the program with a message if a driver call failed. A benchmark has no
/// better use for an error.
void check(CUresult result, const char *what);

#define CHECK_CUDA(call) ::bench::check((call), #call)

} // namespace bench

#endif // GPUASYNC_BENCH_CUDA_CUDADRIVER_H

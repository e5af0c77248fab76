//===- NullCuda.cpp - A CUDA driver library that does nothing -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libnull_cuda.so: every entry point that the runtime uses, without a device
// behind it. Work is done at once or not at all, so that what is left to
// measure is the runtime itself (GPU_ASYNC_CUDA_LIBRARY=.../libnull_cuda.so).
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaTypes.h"

#include <atomic>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"

using namespace gpuasync::cuda;

/// Success without doing anything.
namespace defaults {
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  static int name parameters { return Success; }
#include "device/vendor/VendorSymbols.def"
} // namespace defaults

/// Those that must do something, found before the ones above.
namespace special {
using namespace defaults;

template <typename T>
static int makeHandle(T *out) {
  static std::atomic<uintptr_t> next{0x1000};
  *out = reinterpret_cast<T>(next.fetch_add(16));
  return Success;
}
static int allocate(void **out, size_t bytes) {
  *out = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *out ? Success : ErrorOutOfMemory;
}

static int cuDriverGetVersion(int *version) {
  *version = 13000;
  return Success;
}
static int cuGetErrorName(int, const char **text) {
  *text = "NULL_CUDA_ERROR";
  return Success;
}
static int cuGetErrorString(int, const char **text) {
  *text = "an error of the null driver";
  return Success;
}
static int cuDeviceGetCount(int *count) {
  *count = 1;
  return Success;
}
static int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return Success;
}
static int cuDeviceGetName(char *name, int length, int) {
  snprintf(name, size_t(length), "null device");
  return Success;
}
static int cuDeviceGetAttribute(int *value, int attribute, int) {
  switch (attribute) {
  case MaxThreadsPerBlock:
  case MaxBlockDimX:
  case MaxBlockDimX + 1:
    *value = 1024;
    break;
  case MaxBlockDimX + 2:
    *value = 64;
    break;
  case MaxGridDimX:
  case MaxPitch:
    *value = 2147483647;
    break;
  case MaxGridDimX + 1:
  case MaxGridDimX + 2:
    *value = 65535;
    break;
  case MultiprocessorCount:
    *value = 132;
    break;
  case ComputeCapabilityMajor:
    *value = 9;
    break;
  case MaxSharedMemoryPerBlockOptin:
    *value = 232448;
    break;
  case UnifiedAddressing:
  case ConcurrentManagedAccess:
  case MemoryPoolsSupported:
  case CooperativeLaunch:
    *value = 1;
    break;
  default:
    *value = 0;
    break;
  }
  return Success;
}
static int cuDeviceTotalMem(size_t *bytes, int) {
  *bytes = size_t(1) << 30;
  return Success;
}
static int cuDevicePrimaryCtxRetain(void **context, int) {
  *context = reinterpret_cast<void *>(uintptr_t(0x100));
  return Success;
}
/// A cache line: the loader takes a thread's variables of this library from the
/// heap, where other threads' words may be next to them.
struct alignas(64) ThreadLine {
  void *context;
};
static __thread ThreadLine current;
static int cuCtxGetCurrent(void **context) {
  *context = current.context;
  return Success;
}
static int cuCtxSetCurrent(void *context) {
  current.context = context;
  return Success;
}
static int cuCtxGetId(void *, unsigned long long *id) {
  *id = 1;
  return Success;
}
static int cuModuleLoadDataEx(ModuleHandle *module, const void *, unsigned,
                              int *, void **) {
  return makeHandle(module);
}
/// The kernel by which a graph tells the host of its end, and its node.
static char signalKernel, signalNode;
static int cuModuleGetFunction(FunctionHandle *function, ModuleHandle,
                               const char *name) {
  if (strcmp(name, "gpuasync_signal") != 0)
    return makeHandle(function);
  *function = reinterpret_cast<FunctionHandle>(&signalKernel);
  return Success;
}
static int cuFuncGetAttribute(int *value, int attribute, FunctionHandle) {
  *value = attribute == FuncMaxThreadsPerBlock ? 1024 : 0;
  return Success;
}
static int cuStreamCreate(StreamHandle *stream, unsigned) {
  return makeHandle(stream);
}
static int cuEventCreate(EventHandle *event, unsigned) {
  return makeHandle(event);
}
static int cuStreamWriteValue32(StreamHandle, void *address, uint32_t value,
                                unsigned) {
  __atomic_store_n(static_cast<uint32_t *>(address), value, __ATOMIC_RELEASE);
  return Success;
}
static int cuStreamGetCaptureInfo(StreamHandle, int *status, uint64_t *,
                                  void **, const void ***, const void **,
                                  size_t *) {
  *status = StreamCaptureStatusNone;
  return Success;
}
struct Graph {
  uint32_t *slot = nullptr; ///< of the host, which its signal counts in
  bool signals = true;
};
static int cuGraphCreate(GraphHandle *graph, unsigned) {
  *graph = reinterpret_cast<GraphHandle>(new Graph);
  return Success;
}
static int cuGraphAddKernelNode(GraphNodeHandle *node, GraphHandle graph,
                                const GraphNodeHandle *, size_t,
                                const CUDA_KERNEL_NODE_PARAMS *kernel) {
  if (kernel->func != reinterpret_cast<FunctionHandle>(&signalKernel))
    return makeHandle(node);
  reinterpret_cast<Graph *>(graph)->slot =
      *static_cast<uint32_t **>(kernel->kernelParams[0]);
  *node = reinterpret_cast<GraphNodeHandle>(&signalNode);
  return Success;
}
static int cuGraphAddMemcpyNode(GraphNodeHandle *node, GraphHandle,
                                const GraphNodeHandle *, size_t,
                                const CUDA_MEMCPY3D *, void *) {
  return makeHandle(node);
}
static int cuGraphInstantiateWithFlags(GraphExecHandle *executable,
                                       GraphHandle graph, unsigned long long) {
  *executable = reinterpret_cast<GraphExecHandle>(
      new Graph(*reinterpret_cast<Graph *>(graph)));
  return Success;
}
static int cuGraphNodeSetEnabled(GraphExecHandle executable,
                                 GraphNodeHandle node, unsigned enabled) {
  if (node == reinterpret_cast<GraphNodeHandle>(&signalNode))
    reinterpret_cast<Graph *>(executable)->signals = enabled;
  return Success;
}
static int cuGraphLaunch(GraphExecHandle executable, StreamHandle) {
  auto &graph = *reinterpret_cast<Graph *>(executable);
  if (graph.slot && graph.signals)
    __atomic_store_n(graph.slot, *graph.slot + 1, __ATOMIC_RELEASE);
  return Success;
}
static int cuGraphExecDestroy(GraphExecHandle executable) {
  delete reinterpret_cast<Graph *>(executable);
  return Success;
}
static int cuGraphDestroy(GraphHandle graph) {
  delete reinterpret_cast<Graph *>(graph);
  return Success;
}
static int cuMemPoolCreate(PoolHandle *pool, const PoolProperties *) {
  return makeHandle(pool);
}
static int cuMemAllocFromPoolAsync(void **address, size_t bytes, PoolHandle,
                                   StreamHandle) {
  return allocate(address, bytes);
}
static int cuMemFreeAsync(void *address, StreamHandle) {
  free(address);
  return Success;
}
static int cuMemAlloc(void **address, size_t bytes) {
  return allocate(address, bytes);
}
static int cuMemAllocManaged(void **address, size_t bytes, unsigned) {
  return allocate(address, bytes);
}
static int cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  return allocate(address, bytes);
}
static int cuMemFree(void *address) {
  free(address);
  return Success;
}
static int cuMemFreeHost(void *address) {
  free(address);
  return Success;
}
static int cuMemGetInfo(size_t *freeBytes, size_t *totalBytes) {
  *freeBytes = *totalBytes = size_t(1) << 30;
  return Success;
}
static int cuPointerGetAttributes(unsigned count, int *, void **values,
                                  const void *) {
  for (unsigned i = 0; i < count; ++i)
    *static_cast<unsigned *>(values[i]) = 0;
  return Success;
}
static int cuMemcpyAsync(void *destination, const void *source, size_t bytes,
                         StreamHandle) {
  memmove(destination, source, bytes);
  return Success;
}
} // namespace special

extern "C" __attribute__((visibility("default"))) int
cuGetProcAddress_v2(const char *wanted, void **address, int, uint64_t,
                    int *found) {
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  if (!strcmp(wanted, #name)) {                                                \
    *address = reinterpret_cast<void *>(&special::name);                       \
    *found = 0;                                                                \
    return Success;                                                            \
  }
#include "device/vendor/VendorSymbols.def"
  *address = nullptr;
  *found = 1;
  return ErrorNotFound;
}

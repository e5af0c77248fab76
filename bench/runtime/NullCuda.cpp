//===- NullCuda.cpp - A CUDA driver library that does nothing -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libnull_cuda.so: every entry point that the runtime uses, without a device
// behind it. Work is done at once or not at all, so that what is left to
// measure is the runtime itself (GPU_ASYNC_CUDA_LIBRARY=.../libnull_cuda.so).
//===----------------------------------------------------------------------===//

#include "drivers/cuda/CudaTypes.h"

#include <atomic>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"

using namespace gpuasync::cuda;

/// Success without doing anything.
namespace defaults {
#define SYMBOL(need, name, version, exported, parameters)                      \
  static CUresult name parameters { return Success; }
#include "drivers/cuda/CudaSymbols.def"
} // namespace defaults

/// Those that must do something, found before the ones above.
namespace special {
using namespace defaults;

static void *asPointer(CUdeviceptr address) {
  return reinterpret_cast<void *>(address);
}
template <typename T>
static CUresult makeHandle(T *out) {
  static std::atomic<uintptr_t> next{0x1000};
  *out = reinterpret_cast<T>(next.fetch_add(16));
  return Success;
}
static CUresult allocate(CUdeviceptr *out, size_t bytes) {
  *out = reinterpret_cast<CUdeviceptr>(
      aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
  return *out ? Success : ErrorOutOfMemory;
}

static CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return Success;
}
static CUresult cuGetErrorName(CUresult, const char **text) {
  *text = "NULL_CUDA_ERROR";
  return Success;
}
static CUresult cuGetErrorString(CUresult, const char **text) {
  *text = "an error of the null driver";
  return Success;
}
static CUresult cuDeviceGetCount(int *count) {
  *count = 1;
  return Success;
}
static CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return Success;
}
static CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  snprintf(name, size_t(length), "null device");
  return Success;
}
static CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
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
static CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) {
  *bytes = size_t(1) << 30;
  return Success;
}
static CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(uintptr_t(0x100));
  return Success;
}
/// A cache line: the loader takes a thread's variables of this library from the
/// heap, where other threads' words may be next to them.
struct alignas(64) ThreadLine {
  CUcontext context;
};
static __thread ThreadLine current;
static CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = current.context;
  return Success;
}
static CUresult cuCtxSetCurrent(CUcontext context) {
  current.context = context;
  return Success;
}
static CUresult cuCtxGetId(CUcontext, unsigned long long *id) {
  *id = 1;
  return Success;
}
static CUresult cuModuleLoadDataEx(CUmodule *module, const void *, unsigned,
                                   int *, void **) {
  return makeHandle(module);
}
static CUresult cuModuleGetFunction(CUfunction *function, CUmodule,
                                    const char *) {
  return makeHandle(function);
}
static CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction) {
  *value = attribute == FuncMaxThreadsPerBlock ? 1024 : 0;
  return Success;
}
static CUresult cuStreamCreate(CUstream *stream, unsigned) {
  return makeHandle(stream);
}
static CUresult cuEventCreate(CUevent *event, unsigned) {
  return makeHandle(event);
}
static CUresult cuStreamWriteValue32(CUstream, CUdeviceptr address,
                                     uint32_t value, unsigned) {
  __atomic_store_n(static_cast<uint32_t *>(asPointer(address)), value,
                   __ATOMIC_RELEASE);
  return Success;
}
static CUresult cuStreamIsCapturing(CUstream, int *status) {
  *status = StreamCaptureStatusNone;
  return Success;
}
static CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *) {
  return makeHandle(pool);
}
static CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes,
                                        CUmemoryPool, CUstream) {
  return allocate(address, bytes);
}
static CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) {
  free(asPointer(address));
  return Success;
}
static CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  return allocate(address, bytes);
}
static CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes,
                                  unsigned) {
  return allocate(address, bytes);
}
static CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  return allocate(reinterpret_cast<CUdeviceptr *>(address), bytes);
}
static CUresult cuMemFree(CUdeviceptr address) {
  free(asPointer(address));
  return Success;
}
static CUresult cuMemFreeHost(void *address) {
  free(address);
  return Success;
}
static CUresult cuMemGetInfo(size_t *freeBytes, size_t *totalBytes) {
  *freeBytes = *totalBytes = size_t(1) << 30;
  return Success;
}
static CUresult cuPointerGetAttributes(unsigned count, int *, void **values,
                                       CUdeviceptr) {
  for (unsigned i = 0; i < count; ++i)
    *static_cast<unsigned *>(values[i]) = 0;
  return Success;
}
static CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source,
                              size_t bytes, CUstream) {
  memmove(asPointer(destination), asPointer(source), bytes);
  return Success;
}
} // namespace special

extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(
    const char *wanted, void **address, int, uint64_t, int *found) {
#define SYMBOL(need, name, version, exported, parameters)                      \
  if (!strcmp(wanted, #name)) {                                                \
    *address = reinterpret_cast<void *>(&special::name);                       \
    *found = 0;                                                                \
    return Success;                                                            \
  }
#include "drivers/cuda/CudaSymbols.def"
  *address = nullptr;
  *found = 1;
  return ErrorNotFound;
}

//===- HipOnCuda.cpp - libhip_on_cuda.so: HIP calls on a CUDA device -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests only: forwards the entry points of VendorSymbols.def to the CUDA
// driver, so that the hip driver runs on a real GPU where there is no AMD one.
// Code objects are PTX here, but for the runtime's own kernels
// (docs/reference/Testing.md).
//===----------------------------------------------------------------------===//

#include "CudaTable.h"
#include "device/cuda/CudaDriver.h"
#include "device/hip/HipTypes.h"

#include <algorithm>
#include <dlfcn.h>
#include <elf.h>
#include <mutex>
#include <stdlib.h>
#include <string.h>
#include <string_view>
#include <vector>

using namespace gpuasync;
using namespace gpuasync::hip;

#define HIP_ENTRY(entry, parameters, need, name)                               \
  extern "C" __attribute__((visibility("default"))) int name parameters;
#include "device/vendor/VendorSymbols.def"

//===----------------------------------------------------------------------===//
// The CUDA driver
//===----------------------------------------------------------------------===//

namespace {

cuda::CudaTable driver;
std::vector<void *> contexts; ///< primary ones, retained, by device

/// Each thread has a current device, the first one until it sets another.
thread_local int currentDevice = 0;

bool openDriver() {
  // Over the fake library too.
  const char *chosen = getenv("GPU_ASYNC_CUDA_LIBRARY");
  void *library = dlopen(chosen && *chosen ? chosen : "libcuda.so.1",
                         RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return false;
  using Lookup = int (*)(const char *, void **, int, uint64_t, int *);
  auto lookup = reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
  const uint64_t legacyStream = 1;
  auto find = [&](const char *name, int version, const char *exported) {
    void *address = nullptr;
    int found = 0;
    if (!lookup || lookup(name, &address, version, legacyStream, &found) != 0 ||
        !address)
      address = dlsym(library, exported);
    return address;
  };
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  driver.name =                                                                \
      reinterpret_cast<decltype(driver.name)>(find(#name, version, exported));
#include "device/vendor/VendorSymbols.def"
  return driver.cuInit && driver.cuInit(0) == cuda::Success;
}

/// HIP took its codes from CUDA, but has fewer.
int toHip(int code) {
  switch (code) {
  case cuda::ErrorHardwareStackError:
  case cuda::ErrorIllegalInstruction:
  case cuda::ErrorMisalignedAddress:
  case cuda::ErrorInvalidAddressSpace:
  case cuda::ErrorInvalidPc:
    return ErrorLaunchFailed;
  case cuda::ErrorUnsupportedPtxVersion:
  case cuda::ErrorJitCompilerNotFound:
    return ErrorInvalidPtx;
  case cuda::ErrorNotPermitted:
    return ErrorNotSupported;
  default:
    return code;
  }
}

/// Opens the driver and retains the contexts, once.
int initialise() {
  static std::once_flag once;
  static int result = ErrorNotInitialized;
  std::call_once(once, [] {
    if (!openDriver()) {
      result = ErrorNoDevice;
      return;
    }
    int count = 0;
    result = toHip(driver.cuDeviceGetCount(&count));
    for (int i = 0; i < count && result == Success; ++i) {
      int device = 0;
      void *context = nullptr;
      result = toHip(driver.cuDeviceGet(&device, i));
      if (result == Success)
        result = toHip(driver.cuDevicePrimaryCtxRetain(&context, device));
      contexts.push_back(context);
    }
  });
  return result;
}

/// Makes the context of the thread's device current. HIP needs no such step.
int enter() {
  if (int error = initialise())
    return error;
  void *wanted = contexts[size_t(currentDevice)], *current = nullptr;
  if (int error = toHip(driver.cuCtxGetCurrent(&current)))
    return error;
  return current == wanted ? Success : toHip(driver.cuCtxSetCurrent(wanted));
}

/// One call of the driver in the thread's context. An entry point that this
/// driver lacks is not supported.
template <typename... Parameters, typename... Arguments>
int call(int (*function)(Parameters...), Arguments... arguments) {
  if (int error = enter())
    return error;
  return function ? toHip(function(arguments...)) : ErrorNotSupported;
}

} // namespace

//===----------------------------------------------------------------------===//
// Library and devices
//===----------------------------------------------------------------------===//

int hipInit(unsigned) { return initialise(); }

int hipRuntimeGetVersion(int *version) {
  *version = 60000000;
  return Success;
}

// CUDA's texts: what failed underneath is what a test wants to see.
int hipDrvGetErrorName(int error, const char **text) {
  return driver.cuGetErrorName ? toHip(driver.cuGetErrorName(error, text))
                               : ErrorNotInitialized;
}
int hipDrvGetErrorString(int error, const char **text) {
  return driver.cuGetErrorString ? toHip(driver.cuGetErrorString(error, text))
                                 : ErrorNotInitialized;
}
int hipGetLastError() { return Success; }

int hipGetDeviceCount(int *count) {
  int error = initialise();
  *count = int(contexts.size());
  return error;
}

int hipGetDevice(int *device) {
  *device = currentDevice;
  return Success;
}

int hipSetDevice(int device) {
  if (int error = initialise())
    return error;
  if (device < 0 || size_t(device) >= contexts.size())
    return ErrorInvalidDevice;
  currentDevice = device;
  return Success;
}

int hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int device) {
  *properties = {};
  // A chip that the runtime has kernels of its own for.
  strcpy(properties->gcnArchName, "gfx942:sramecc+:xnack-");
  return call(driver.cuDeviceGetName, properties->name,
              int(sizeof(properties->name)), device);
}

int hipDeviceGetAttribute(int *value, int attribute, int device) {
  static const int pairs[][2] = {
      {ConcurrentManagedAccess, cuda::ConcurrentManagedAccess},
      {CooperativeLaunch, cuda::CooperativeLaunch},
      {MaxBlockDimX, cuda::MaxBlockDimX},
      {MaxBlockDimX + 1, cuda::MaxBlockDimX + 1},
      {MaxBlockDimX + 2, cuda::MaxBlockDimX + 2},
      {MaxGridDimX, cuda::MaxGridDimX},
      {MaxGridDimX + 1, cuda::MaxGridDimX + 1},
      {MaxGridDimX + 2, cuda::MaxGridDimX + 2},
      {MaxThreadsPerBlock, cuda::MaxThreadsPerBlock},
      {MaxPitch, cuda::MaxPitch},
      {MultiprocessorCount, cuda::MultiprocessorCount},
      {MemoryPoolsSupported, cuda::MemoryPoolsSupported}};
  if (attribute == CanUseStreamWaitValue) {
    *value = 1;
    return initialise();
  }
  if (attribute == MaxSharedMemoryPerBlock) {
    // What a block may use without asking for it, on every CUDA device.
    *value = 48 << 10;
    return initialise();
  }
  for (auto &pair : pairs)
    if (pair[0] == attribute)
      return call(driver.cuDeviceGetAttribute, value, pair[1], device);
  return ErrorInvalidValue;
}

int hipDeviceTotalMem(size_t *bytes, int device) {
  return call(driver.cuDeviceTotalMem, bytes, device);
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

int hipModuleLoadData(ModuleHandle *module, const void *image) {
  const auto *bytes = static_cast<const char *>(image);
  Elf64_Ehdr header;
  const unsigned amdgpu = 224;
  if (memcmp(bytes, ELFMAG, SELFMAG) == 0) {
    memcpy(&header, bytes, sizeof(header));
    if (header.e_machine == amdgpu) {
      // The section headers are the last thing in such a file.
      std::string_view object(bytes, header.e_shoff);
      if (object.find("gpuasync_copy") == std::string_view::npos)
        return ErrorNoBinaryForGpu;
      image = cuda::builtinPtx().data();
    }
  }
  return call(driver.cuModuleLoadDataEx, module, image, 0u,
              static_cast<int *>(nullptr), static_cast<void **>(nullptr));
}

int hipModuleUnload(ModuleHandle module) {
  return call(driver.cuModuleUnload, module);
}

// HIP loads a module wholly; CUDA may wait for the first launch.
int hipModuleGetFunction(FunctionHandle *function, ModuleHandle module,
                         const char *name) {
  FunctionHandle found = nullptr;
  int error = call(driver.cuModuleGetFunction, &found, module, name);
  if (error == Success && driver.cuFuncLoad)
    error = call(driver.cuFuncLoad, found);
  *function = found;
  return error;
}

int hipFuncGetAttribute(int *value, int attribute, FunctionHandle function) {
  return call(driver.cuFuncGetAttribute, value, attribute, function);
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, FunctionHandle function, int blockSize,
    size_t dynamicSharedBytes) {
  return call(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor, blocks,
              function, blockSize, dynamicSharedBytes);
}

/// The `extra` argument of a launch for CUDA: the marks for the buffer and its
/// size are the same there, the one for the end is not.
struct Extra {
  void *translated[8] = {};
  void **value = nullptr;
  bool valid = true;

  explicit Extra(void **extra) {
    if (!extra)
      return;
    auto is = [](void *mark, uintptr_t value) {
      return reinterpret_cast<uintptr_t>(mark) == value;
    };
    size_t count = 0;
    for (; !is(extra[count], LaunchParamEnd); count += 2) {
      valid = count <= 4 && (is(extra[count], LaunchParamBufferPointer) ||
                             is(extra[count], LaunchParamBufferSize));
      if (!valid)
        return;
      translated[count] = extra[count];
      translated[count + 1] = extra[count + 1];
    }
    translated[count] = reinterpret_cast<void *>(cuda::LaunchParamEnd);
    value = translated;
  }
  Extra(const Extra &) = delete;
};

int hipModuleLaunchKernel(FunctionHandle function, unsigned gridX,
                          unsigned gridY, unsigned gridZ, unsigned blockX,
                          unsigned blockY, unsigned blockZ,
                          unsigned sharedBytes, StreamHandle stream,
                          void **parameters, void **extra) {
  Extra passed(extra);
  if (!passed.valid)
    return ErrorInvalidValue;
  return call(driver.cuLaunchKernel, function, gridX, gridY, gridZ, blockX,
              blockY, blockZ, sharedBytes, stream, parameters, passed.value);
}

int hipModuleLaunchCooperativeKernel(FunctionHandle function, unsigned gridX,
                                     unsigned gridY, unsigned gridZ,
                                     unsigned blockX, unsigned blockY,
                                     unsigned blockZ, unsigned sharedBytes,
                                     StreamHandle stream, void **parameters) {
  cuda::CUlaunchAttribute cooperative = {};
  cooperative.id = cuda::LaunchAttributeCooperative;
  cooperative.value.cooperative = 1;
  cuda::CUlaunchConfig config = {gridX,        gridY,  gridZ,       blockX,
                                 blockY,       blockZ, sharedBytes, stream,
                                 &cooperative, 1};
  return call(driver.cuLaunchKernelEx, &config, function, parameters,
              static_cast<void **>(nullptr));
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

int hipStreamCreateWithFlags(StreamHandle *stream, unsigned flags) {
  return call(driver.cuStreamCreate, stream, flags);
}
int hipStreamCreateWithPriority(StreamHandle *stream, unsigned flags,
                                int priority) {
  return call(driver.cuStreamCreateWithPriority, stream, flags, priority);
}
int hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return call(driver.cuCtxGetStreamPriorityRange, least, greatest);
}
int hipStreamDestroy(StreamHandle stream) {
  return call(driver.cuStreamDestroy, stream);
}
int hipStreamQuery(StreamHandle stream) {
  return call(driver.cuStreamQuery, stream);
}
int hipStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned flags) {
  return call(driver.cuStreamWaitEvent, stream, event, flags);
}
int hipStreamWriteValue32(StreamHandle stream, void *slot, uint32_t value,
                          unsigned flags) {
  return call(driver.cuStreamWriteValue32, stream, slot, value, flags);
}
int hipStreamGetCaptureInfo(StreamHandle stream, int *status,
                            unsigned long long *id) {
  uint64_t number = 0;
  int error =
      call(driver.cuStreamGetCaptureInfo, stream, status, &number,
           static_cast<void **>(nullptr), static_cast<const void ***>(nullptr),
           static_cast<const void **>(nullptr), static_cast<size_t *>(nullptr));
  *id = number;
  return error;
}
int hipStreamBeginCapture(StreamHandle stream, int mode) {
  return call(driver.cuStreamBeginCapture, stream, mode);
}
int hipStreamEndCapture(StreamHandle stream, GraphHandle *graph) {
  return call(driver.cuStreamEndCapture, stream, graph);
}
int hipThreadExchangeStreamCaptureMode(int *mode) {
  return call(driver.cuThreadExchangeStreamCaptureMode, mode);
}

int hipEventCreateWithFlags(EventHandle *event, unsigned flags) {
  // CUDA always releases to the system.
  if (flags & ~(unsigned(EventDisableTiming) | unsigned(EventReleaseToSystem)))
    return ErrorInvalidValue;
  return call(driver.cuEventCreate, event,
              flags & unsigned(EventDisableTiming));
}
int hipEventDestroy(EventHandle event) {
  return call(driver.cuEventDestroy, event);
}
int hipEventRecord(EventHandle event, StreamHandle stream) {
  return call(driver.cuEventRecord, event, stream);
}
int hipEventElapsedTime(float *milliseconds, EventHandle from, EventHandle to) {
  return call(driver.cuEventElapsedTime, milliseconds, from, to);
}
int hipEventQuery(EventHandle event) {
  return call(driver.cuEventQuery, event);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static cuda::CUDA_KERNEL_NODE_PARAMS nodeOf(const hipKernelNodeParams &kernel,
                                            Extra &extra) {
  cuda::CUDA_KERNEL_NODE_PARAMS node = {};
  node.func = static_cast<FunctionHandle>(kernel.func);
  node.gridDimX = kernel.gridDim[0];
  node.gridDimY = kernel.gridDim[1];
  node.gridDimZ = kernel.gridDim[2];
  node.blockDimX = kernel.blockDim[0];
  node.blockDimY = kernel.blockDim[1];
  node.blockDimZ = kernel.blockDim[2];
  node.sharedMemBytes = kernel.sharedMemBytes;
  node.kernelParams = kernel.kernelParams;
  node.extra = extra.value;
  return node;
}

static cuda::CUDA_MEMCPY3D nodeOf(void *destination, const void *source,
                                  size_t bytes) {
  cuda::CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = cuda::MemoryTypeUnified;
  copy.srcDevice = source;
  copy.dstDevice = destination;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = bytes;
  copy.srcHeight = copy.dstHeight = copy.Height = copy.Depth = 1;
  return copy;
}

static void *currentContext() {
  return initialise() == Success ? contexts[size_t(currentDevice)] : nullptr;
}

int hipGraphCreate(GraphHandle *graph, unsigned flags) {
  return call(driver.cuGraphCreate, graph, flags);
}
int hipGraphAddKernelNode(GraphNodeHandle *node, GraphHandle graph,
                          const GraphNodeHandle *after, size_t count,
                          const hipKernelNodeParams *kernel) {
  Extra extra(kernel->extra);
  if (!extra.valid)
    return ErrorInvalidValue;
  cuda::CUDA_KERNEL_NODE_PARAMS added = nodeOf(*kernel, extra);
  return call(driver.cuGraphAddKernelNode, node, graph, after, count, &added);
}
int hipGraphAddMemcpyNode1D(GraphNodeHandle *node, GraphHandle graph,
                            const GraphNodeHandle *after, size_t count,
                            void *destination, const void *source, size_t bytes,
                            int kind) {
  if (kind != MemcpyDefault)
    return ErrorNotSupported;
  cuda::CUDA_MEMCPY3D copy = nodeOf(destination, source, bytes);
  return call(driver.cuGraphAddMemcpyNode, node, graph, after, count, &copy,
              currentContext());
}
int hipGraphAddChildGraphNode(GraphNodeHandle *node, GraphHandle graph,
                              const GraphNodeHandle *after, size_t count,
                              GraphHandle child) {
  return call(driver.cuGraphAddChildGraphNode, node, graph, after, count,
              child);
}
int hipGraphGetNodes(GraphHandle graph, GraphNodeHandle *nodes, size_t *count) {
  return call(driver.cuGraphGetNodes, graph, nodes, count);
}
int hipGraphExecChildGraphNodeSetParams(GraphExecHandle executable,
                                        GraphNodeHandle node,
                                        GraphHandle child) {
  return call(driver.cuGraphExecChildGraphNodeSetParams, executable, node,
              child);
}
int hipGraphInstantiateWithFlags(GraphExecHandle *executable, GraphHandle graph,
                                 unsigned long long flags) {
  return call(driver.cuGraphInstantiateWithFlags, executable, graph, flags);
}
int hipGraphUpload(GraphExecHandle executable, StreamHandle stream) {
  return call(driver.cuGraphUpload, executable, stream);
}
int hipGraphExecKernelNodeSetParams(GraphExecHandle executable,
                                    GraphNodeHandle node,
                                    const hipKernelNodeParams *kernel) {
  Extra extra(kernel->extra);
  if (!extra.valid)
    return ErrorInvalidValue;
  cuda::CUDA_KERNEL_NODE_PARAMS changed = nodeOf(*kernel, extra);
  return call(driver.cuGraphExecKernelNodeSetParams, executable, node,
              &changed);
}
int hipGraphExecMemcpyNodeSetParams1D(GraphExecHandle executable,
                                      GraphNodeHandle node, void *destination,
                                      const void *source, size_t bytes,
                                      int kind) {
  if (kind != MemcpyDefault)
    return ErrorNotSupported;
  cuda::CUDA_MEMCPY3D copy = nodeOf(destination, source, bytes);
  return call(driver.cuGraphExecMemcpyNodeSetParams, executable, node, &copy,
              currentContext());
}
int hipGraphNodeSetEnabled(GraphExecHandle executable, GraphNodeHandle node,
                           unsigned enabled) {
  return call(driver.cuGraphNodeSetEnabled, executable, node, enabled);
}
int hipGraphLaunch(GraphExecHandle executable, StreamHandle stream) {
  return call(driver.cuGraphLaunch, executable, stream);
}
int hipGraphExecDestroy(GraphExecHandle executable) {
  return call(driver.cuGraphExecDestroy, executable);
}
int hipGraphDestroy(GraphHandle graph) {
  return call(driver.cuGraphDestroy, graph);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int hipMemPoolCreate(PoolHandle *pool, const PoolProperties *properties) {
  return call(driver.cuMemPoolCreate, pool, properties);
}
int hipMemPoolDestroy(PoolHandle pool) {
  return call(driver.cuMemPoolDestroy, pool);
}
int hipMemPoolSetAttribute(PoolHandle pool, int attribute, void *value) {
  return call(driver.cuMemPoolSetAttribute, pool, attribute, value);
}
int hipMemPoolTrimTo(PoolHandle pool, size_t keepBytes) {
  return call(driver.cuMemPoolTrimTo, pool, keepBytes);
}
int hipMallocFromPoolAsync(void **out, size_t bytes, PoolHandle pool,
                           StreamHandle stream) {
  return call(driver.cuMemAllocFromPoolAsync, out, bytes, pool, stream);
}
int hipFreeAsync(void *pointer, StreamHandle stream) {
  return call(driver.cuMemFreeAsync, pointer, stream);
}
int hipMalloc(void **out, size_t bytes) {
  return call(driver.cuMemAlloc, out, bytes);
}
int hipFree(void *pointer) { return call(driver.cuMemFree, pointer); }
int hipMallocManaged(void **out, size_t bytes, unsigned flags) {
  return call(driver.cuMemAllocManaged, out, bytes, flags);
}

int hipHostMalloc(void **out, size_t bytes, unsigned flags) {
  return call(driver.cuMemHostAlloc, out, bytes, flags);
}
int hipHostFree(void *pointer) { return call(driver.cuMemFreeHost, pointer); }
int hipHostRegister(void *pointer, size_t bytes, unsigned flags) {
  return call(driver.cuMemHostRegister, pointer, bytes, flags);
}
int hipHostUnregister(void *pointer) {
  return call(driver.cuMemHostUnregister, pointer);
}

// The addresses are the same on every CUDA device that the runtime takes.
int hipHostGetDevicePointer(void **out, void *host, unsigned) {
  hipPointerAttribute_t attributes;
  int error = hipPointerGetAttributes(&attributes, host);
  if (error == Success && attributes.type != MemoryTypeHost)
    return ErrorInvalidValue;
  *out = host;
  return error;
}

int hipMemGetInfo(size_t *freeBytes, size_t *totalBytes) {
  return call(driver.cuMemGetInfo, freeBytes, totalBytes);
}

int hipPointerGetAttributes(hipPointerAttribute_t *out, const void *pointer) {
  *out = {};
  // All zeros for memory that CUDA does not know, which is what HIP calls
  // unregistered.
  unsigned type = 0, managed = 0;
  int attributes[] = {cuda::PointerMemoryType, cuda::PointerIsManaged};
  void *values[] = {&type, &managed};
  int error =
      call(driver.cuPointerGetAttributes, 2u, attributes, values, pointer);
  out->isManaged = managed != 0;
  out->type = managed                    ? MemoryTypeManaged
              : type == MemoryTypeDevice ? MemoryTypeDevice
              : type == MemoryTypeHost   ? MemoryTypeHost
                                         : MemoryTypeUnregistered;
  return error;
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

int hipMemcpyAsync(void *destination, const void *source, size_t bytes,
                   int kind, StreamHandle stream) {
  if (kind != MemcpyDefault)
    return ErrorNotSupported;
  return call(driver.cuMemcpyAsync, destination, source, bytes, stream);
}

int hipMemcpy2DAsync(void *destination, size_t destinationPitch,
                     const void *source, size_t sourcePitch, size_t width,
                     size_t height, int kind, StreamHandle stream) {
  if (kind != MemcpyDefault)
    return ErrorNotSupported;
  cuda::CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = cuda::MemoryTypeUnified;
  copy.srcDevice = source;
  copy.dstDevice = destination;
  copy.srcPitch = sourcePitch;
  copy.dstPitch = destinationPitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return call(driver.cuMemcpy2DAsync, &copy, stream);
}

int hipMemsetD8Async(void *pointer, unsigned char value, size_t count,
                     StreamHandle stream) {
  return call(driver.cuMemsetD8Async, pointer, value, count, stream);
}
int hipMemsetD16Async(void *pointer, unsigned short value, size_t count,
                      StreamHandle stream) {
  return call(driver.cuMemsetD16Async, pointer, value, count, stream);
}
int hipMemsetD32Async(void *pointer, unsigned value, size_t count,
                      StreamHandle stream) {
  return call(driver.cuMemsetD32Async, pointer, value, count, stream);
}
int hipMemset2DAsync(void *pointer, size_t pitch, int value, size_t width,
                     size_t height, StreamHandle stream) {
  return call(driver.cuMemsetD2D8Async, pointer, pitch,
              static_cast<unsigned char>(value), width, height, stream);
}

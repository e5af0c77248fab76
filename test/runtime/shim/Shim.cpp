//===- Shim.cpp - libhip_shim.so: HIP calls on a CUDA device --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests only: forwards the entry points of HipSymbols.def to the CUDA
// driver, so that the hip driver runs on a real GPU where there is no AMD one.
// Code objects are PTX here, but for the runtime's own kernels
// (docs/Testing.md).
//===----------------------------------------------------------------------===//

#include "drivers/cuda/CudaApi.h"
#include "drivers/hip/HipTypes.h"

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
using cuda::CUcontext;
using cuda::CUdeviceptr;
using cuda::CUevent;
using cuda::CUfunction;
using cuda::CUmemoryPool;
using cuda::CUmodule;
using cuda::CUstream;

#define SYMBOL(need, name, parameters)                                         \
  extern "C" __attribute__((visibility("default"))) hipError_t name parameters;
#include "drivers/hip/HipSymbols.def"

//===----------------------------------------------------------------------===//
// The CUDA driver
//===----------------------------------------------------------------------===//

namespace {

cuda::CudaTable driver;
std::vector<CUcontext> contexts; ///< primary ones, retained, by device

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
#define SYMBOL(need, name, version, exported, parameters)                      \
  driver.name =                                                                \
      reinterpret_cast<decltype(driver.name)>(find(#name, version, exported));
#include "drivers/cuda/CudaSymbols.def"
  return driver.cuInit && driver.cuInit(0) == cuda::Success;
}

/// HIP took its codes from CUDA, but has fewer.
hipError_t toHip(cuda::CUresult code) {
  switch (code) {
  case cuda::ErrorHardwareStackError:
  case cuda::ErrorIllegalInstruction:
  case cuda::ErrorMisalignedAddress:
  case cuda::ErrorInvalidAddressSpace:
  case cuda::ErrorInvalidPc:
    return ErrorLaunchFailure;
  case cuda::ErrorUnsupportedPtxVersion:
  case cuda::ErrorJitCompilerNotFound:
    return ErrorInvalidKernelFile;
  case cuda::ErrorNotPermitted:
    return ErrorNotSupported;
  default:
    return code;
  }
}

/// Opens the driver and retains the contexts, once.
hipError_t initialise() {
  static std::once_flag once;
  static hipError_t result = ErrorNotInitialized;
  std::call_once(once, [] {
    if (!openDriver()) {
      result = ErrorNoDevice;
      return;
    }
    int count = 0;
    result = toHip(driver.cuDeviceGetCount(&count));
    for (int i = 0; i < count && result == Success; ++i) {
      cuda::CUdevice device = 0;
      CUcontext context = nullptr;
      result = toHip(driver.cuDeviceGet(&device, i));
      if (result == Success)
        result = toHip(driver.cuDevicePrimaryCtxRetain(&context, device));
      contexts.push_back(context);
    }
  });
  return result;
}

/// Makes the context of the thread's device current. HIP needs no such step.
hipError_t enter() {
  if (hipError_t error = initialise())
    return error;
  CUcontext wanted = contexts[size_t(currentDevice)], current = nullptr;
  if (hipError_t error = toHip(driver.cuCtxGetCurrent(&current)))
    return error;
  return current == wanted ? Success : toHip(driver.cuCtxSetCurrent(wanted));
}

/// One call of the driver in the thread's context. An entry point that this
/// driver lacks is not supported.
template <typename... Parameters, typename... Arguments>
hipError_t call(cuda::CUresult (*function)(Parameters...),
                Arguments... arguments) {
  if (hipError_t error = enter())
    return error;
  return function ? toHip(function(arguments...)) : ErrorNotSupported;
}

// Handles are the driver's own.
CUstream toCuda(hipStream_t stream) {
  return reinterpret_cast<CUstream>(stream);
}
CUevent toCuda(hipEvent_t event) { return reinterpret_cast<CUevent>(event); }
CUmodule toCuda(hipModule_t module) {
  return reinterpret_cast<CUmodule>(module);
}
CUfunction toCuda(hipFunction_t function) {
  return reinterpret_cast<CUfunction>(function);
}
CUmemoryPool toCuda(hipMemPool_t pool) {
  return reinterpret_cast<CUmemoryPool>(pool);
}
CUdeviceptr address(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

/// A call that returns an address.
template <typename... Parameters, typename... Arguments>
hipError_t allocate(void **out,
                    cuda::CUresult (*function)(CUdeviceptr *, Parameters...),
                    Arguments... arguments) {
  CUdeviceptr pointer = 0;
  hipError_t error = call(function, &pointer, arguments...);
  if (error == Success)
    *out = reinterpret_cast<void *>(pointer);
  return error;
}

} // namespace

//===----------------------------------------------------------------------===//
// Library and devices
//===----------------------------------------------------------------------===//

hipError_t hipInit(unsigned) { return initialise(); }

hipError_t hipRuntimeGetVersion(int *version) {
  *version = 60000000;
  return Success;
}

// CUDA's texts: what failed underneath is what a test wants to see.
hipError_t hipDrvGetErrorName(hipError_t error, const char **text) {
  return driver.cuGetErrorName ? toHip(driver.cuGetErrorName(error, text))
                               : ErrorNotInitialized;
}
hipError_t hipDrvGetErrorString(hipError_t error, const char **text) {
  return driver.cuGetErrorString ? toHip(driver.cuGetErrorString(error, text))
                                 : ErrorNotInitialized;
}
hipError_t hipGetLastError() { return Success; }

hipError_t hipGetDeviceCount(int *count) {
  hipError_t error = initialise();
  *count = int(contexts.size());
  return error;
}

hipError_t hipGetDevice(int *device) {
  *device = currentDevice;
  return Success;
}

hipError_t hipSetDevice(int device) {
  if (hipError_t error = initialise())
    return error;
  if (device < 0 || size_t(device) >= contexts.size())
    return ErrorInvalidDevice;
  currentDevice = device;
  return Success;
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties,
                                       int device) {
  *properties = {};
  // A chip that the runtime has kernels of its own for.
  strcpy(properties->gcnArchName, "gfx942:sramecc+:xnack-");
  return call(driver.cuDeviceGetName, properties->name,
              int(sizeof(properties->name)), device);
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute,
                                 int device) {
  static const int pairs[][2] = {
      {ConcurrentManagedAccess, cuda::ConcurrentManagedAccess},
      {CooperativeLaunch, cuda::CooperativeLaunch},
      {ManagedMemory, cuda::ManagedMemory},
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

hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device) {
  return call(driver.cuDeviceTotalMem, bytes, device);
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
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
      image = cuda::builtinPtx;
    }
  }
  CUmodule loaded = nullptr;
  hipError_t error =
      call(driver.cuModuleLoadDataEx, &loaded, image, 0u,
           static_cast<int *>(nullptr), static_cast<void **>(nullptr));
  *module = reinterpret_cast<hipModule_t>(loaded);
  return error;
}

hipError_t hipModuleUnload(hipModule_t module) {
  return call(driver.cuModuleUnload, toCuda(module));
}

// HIP loads a module wholly; CUDA may wait for the first launch.
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module,
                                const char *name) {
  CUfunction found = nullptr;
  hipError_t error =
      call(driver.cuModuleGetFunction, &found, toCuda(module), name);
  if (error == Success && driver.cuFuncLoad)
    error = call(driver.cuFuncLoad, found);
  *function = reinterpret_cast<hipFunction_t>(found);
  return error;
}

// The numbers of the attributes that the runtime asks for are CUDA's.
static_assert(int(FuncMaxThreadsPerBlock) == cuda::FuncMaxThreadsPerBlock &&
              int(FuncSharedSizeBytes) == cuda::FuncSharedSizeBytes &&
              int(FuncLocalSizeBytes) == cuda::FuncLocalSizeBytes);
hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute,
                               hipFunction_t function) {
  return call(driver.cuFuncGetAttribute, value, attribute, toCuda(function));
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, hipFunction_t function, int blockSize,
    size_t dynamicSharedBytes) {
  return call(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor, blocks,
              toCuda(function), blockSize, dynamicSharedBytes);
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gridX,
                                 unsigned gridY, unsigned gridZ,
                                 unsigned blockX, unsigned blockY,
                                 unsigned blockZ, unsigned sharedBytes,
                                 hipStream_t stream, void **parameters,
                                 void **extra) {
  // The marks for the buffer and its size are CUDA's, the one for the end not.
  void *translated[8];
  size_t count = 0;
  auto is = [](void *mark, uintptr_t value) {
    return reinterpret_cast<uintptr_t>(mark) == value;
  };
  if (extra) {
    for (; !is(extra[count], LaunchParamEnd); count += 2) {
      if (count > 4 || !(is(extra[count], LaunchParamBufferPointer) ||
                         is(extra[count], LaunchParamBufferSize)))
        return ErrorInvalidValue;
      translated[count] = extra[count];
      translated[count + 1] = extra[count + 1];
    }
    translated[count] = reinterpret_cast<void *>(cuda::LaunchParamEnd);
  }
  return call(driver.cuLaunchKernel, toCuda(function), gridX, gridY, gridZ,
              blockX, blockY, blockZ, sharedBytes, toCuda(stream), parameters,
              extra ? translated : nullptr);
}

hipError_t hipModuleLaunchCooperativeKernel(
    hipFunction_t function, unsigned gridX, unsigned gridY, unsigned gridZ,
    unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
    hipStream_t stream, void **parameters) {
  cuda::CUlaunchAttribute cooperative = {};
  cooperative.id = cuda::LaunchAttributeCooperative;
  cooperative.value.cooperative = 1;
  cuda::CUlaunchConfig config = {
      gridX,  gridY,       gridZ,          blockX,       blockY,
      blockZ, sharedBytes, toCuda(stream), &cooperative, 1};
  return call(driver.cuLaunchKernelEx, &config, toCuda(function), parameters,
              static_cast<void **>(nullptr));
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

static_assert(int(StreamNonBlocking) == cuda::StreamNonBlocking &&
              int(EventDisableTiming) == cuda::EventDisableTiming);

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) {
  CUstream created = nullptr;
  hipError_t error = call(driver.cuStreamCreate, &created, flags);
  *stream = reinterpret_cast<hipStream_t>(created);
  return error;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  return call(driver.cuStreamDestroy, toCuda(stream));
}
hipError_t hipStreamQuery(hipStream_t stream) {
  return call(driver.cuStreamQuery, toCuda(stream));
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                              unsigned flags) {
  return call(driver.cuStreamWaitEvent, toCuda(stream), toCuda(event), flags);
}
hipError_t hipStreamWriteValue32(hipStream_t stream, void *slot, uint32_t value,
                                 unsigned flags) {
  return call(driver.cuStreamWriteValue32, toCuda(stream), address(slot), value,
              flags);
}
hipError_t hipStreamGetCaptureInfo(hipStream_t stream,
                                   hipStreamCaptureStatus *status,
                                   unsigned long long *id) {
  uint64_t number = 0;
  hipError_t error =
      call(driver.cuStreamGetCaptureInfo, toCuda(stream), status, &number,
           static_cast<cuda::CUgraph *>(nullptr),
           static_cast<const cuda::CUgraphNode **>(nullptr),
           static_cast<const void **>(nullptr), static_cast<size_t *>(nullptr));
  *id = number;
  return error;
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode) {
  return call(driver.cuThreadExchangeStreamCaptureMode, mode);
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags) {
  // CUDA always releases to the system.
  if (flags & ~(unsigned(EventDisableTiming) | unsigned(EventReleaseToSystem)))
    return ErrorInvalidValue;
  CUevent created = nullptr;
  hipError_t error = call(driver.cuEventCreate, &created,
                          flags & unsigned(EventDisableTiming));
  *event = reinterpret_cast<hipEvent_t>(created);
  return error;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  return call(driver.cuEventDestroy, toCuda(event));
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return call(driver.cuEventRecord, toCuda(event), toCuda(stream));
}
hipError_t hipEventQuery(hipEvent_t event) {
  return call(driver.cuEventQuery, toCuda(event));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

hipError_t hipMemPoolCreate(hipMemPool_t *pool,
                            const hipMemPoolProps *properties) {
  cuda::CUmemPoolProps own = {};
  own.allocType = properties->allocType;
  own.handleTypes = properties->handleTypes;
  own.location.type = properties->location.type;
  own.location.id = properties->location.id;
  own.maxSize = properties->maxSize;
  CUmemoryPool created = nullptr;
  hipError_t error = call(driver.cuMemPoolCreate, &created, &own);
  *pool = reinterpret_cast<hipMemPool_t>(created);
  return error;
}
hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
  return call(driver.cuMemPoolDestroy, toCuda(pool));
}
static_assert(int(PoolReuseAllowInternalDependencies) ==
                  cuda::PoolReuseAllowInternalDependencies &&
              int(PoolReleaseThreshold) == cuda::PoolReleaseThreshold);
hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute,
                                  void *value) {
  return call(driver.cuMemPoolSetAttribute, toCuda(pool), attribute, value);
}
hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t keepBytes) {
  return call(driver.cuMemPoolTrimTo, toCuda(pool), keepBytes);
}
hipError_t hipMallocFromPoolAsync(void **out, size_t bytes, hipMemPool_t pool,
                                  hipStream_t stream) {
  return allocate(out, driver.cuMemAllocFromPoolAsync, bytes, toCuda(pool),
                  toCuda(stream));
}
hipError_t hipFreeAsync(void *pointer, hipStream_t stream) {
  return call(driver.cuMemFreeAsync, address(pointer), toCuda(stream));
}
hipError_t hipMalloc(void **out, size_t bytes) {
  return allocate(out, driver.cuMemAlloc, bytes);
}
hipError_t hipFree(void *pointer) {
  return call(driver.cuMemFree, address(pointer));
}
hipError_t hipMallocManaged(void **out, size_t bytes, unsigned flags) {
  return allocate(out, driver.cuMemAllocManaged, bytes, flags);
}

static_assert(int(HostMallocPortable) == cuda::HostAllocPortable &&
              int(HostMallocMapped) == cuda::HostAllocDeviceMap &&
              int(HostRegisterPortable) == cuda::HostRegisterPortable &&
              int(HostRegisterMapped) == cuda::HostRegisterDeviceMap);
hipError_t hipHostMalloc(void **out, size_t bytes, unsigned flags) {
  return call(driver.cuMemHostAlloc, out, bytes, flags);
}
hipError_t hipHostFree(void *pointer) {
  return call(driver.cuMemFreeHost, pointer);
}
hipError_t hipHostRegister(void *pointer, size_t bytes, unsigned flags) {
  return call(driver.cuMemHostRegister, pointer, bytes, flags);
}
hipError_t hipHostUnregister(void *pointer) {
  return call(driver.cuMemHostUnregister, pointer);
}

// The addresses are the same on every CUDA device that the runtime takes.
hipError_t hipHostGetDevicePointer(void **out, void *host, unsigned) {
  hipPointerAttribute_t attributes;
  hipError_t error = hipPointerGetAttributes(&attributes, host);
  if (error == Success && attributes.type != MemoryTypeHost)
    return ErrorInvalidValue;
  *out = host;
  return error;
}

hipError_t hipMemGetInfo(size_t *freeBytes, size_t *totalBytes) {
  return call(driver.cuMemGetInfo, freeBytes, totalBytes);
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *out,
                                   const void *pointer) {
  *out = {};
  // All zeros for memory that CUDA does not know, which is what HIP calls
  // unregistered.
  unsigned type = 0, managed = 0;
  int attributes[] = {cuda::PointerMemoryType, cuda::PointerIsManaged};
  void *values[] = {&type, &managed};
  hipError_t error = call(driver.cuPointerGetAttributes, 2u, attributes, values,
                          address(pointer));
  out->isManaged = managed != 0;
  out->type = managed                          ? MemoryTypeManaged
              : type == cuda::MemoryTypeDevice ? MemoryTypeDevice
              : type == cuda::MemoryTypeHost   ? MemoryTypeHost
                                               : MemoryTypeUnregistered;
  return error;
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

hipError_t hipMemcpyAsync(void *destination, const void *source, size_t bytes,
                          hipMemcpyKind kind, hipStream_t stream) {
  if (kind != MemcpyDefault)
    return ErrorNotSupported;
  return call(driver.cuMemcpyAsync, address(destination), address(source),
              bytes, toCuda(stream));
}

hipError_t hipMemcpy2DAsync(void *destination, size_t destinationPitch,
                            const void *source, size_t sourcePitch,
                            size_t width, size_t height, hipMemcpyKind kind,
                            hipStream_t stream) {
  if (kind != MemcpyDefault)
    return ErrorNotSupported;
  cuda::CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = cuda::MemoryTypeUnified;
  copy.srcDevice = address(source);
  copy.dstDevice = address(destination);
  copy.srcPitch = sourcePitch;
  copy.dstPitch = destinationPitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return call(driver.cuMemcpy2DAsync, &copy, toCuda(stream));
}

hipError_t hipMemsetD8Async(hipDeviceptr_t pointer, unsigned char value,
                            size_t count, hipStream_t stream) {
  return call(driver.cuMemsetD8Async, address(pointer), value, count,
              toCuda(stream));
}
hipError_t hipMemsetD16Async(hipDeviceptr_t pointer, unsigned short value,
                             size_t count, hipStream_t stream) {
  return call(driver.cuMemsetD16Async, address(pointer), value, count,
              toCuda(stream));
}
hipError_t hipMemsetD32Async(hipDeviceptr_t pointer, int value, size_t count,
                             hipStream_t stream) {
  return call(driver.cuMemsetD32Async, address(pointer), unsigned(value), count,
              toCuda(stream));
}
hipError_t hipMemset2DAsync(void *pointer, size_t pitch, int value,
                            size_t width, size_t height, hipStream_t stream) {
  return call(driver.cuMemsetD2D8Async, address(pointer), pitch,
              static_cast<unsigned char>(value), width, height, toCuda(stream));
}

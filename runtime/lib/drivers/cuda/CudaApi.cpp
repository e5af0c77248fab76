//===- CudaApi.cpp - CUDA as a parameter of the vendor driver -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening the library, error conversion, and the calls that take more than one
// line.
//===----------------------------------------------------------------------===//

#include "drivers/cuda/CudaApi.h"

#include "drivers/shared/VendorLibrary.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

using namespace gpuasync;
using namespace gpuasync::cuda;

CudaTable gpuasync::cuda::table;

//===----------------------------------------------------------------------===//
// Library, devices, errors
//===----------------------------------------------------------------------===//

namespace {
enum Need { Optional, Required };

const VendorSymbol symbols[] = {
#define SYMBOL(need, name, version, exported, parameters)                      \
  {#name, exported, version, need == Required, offsetof(CudaTable, name)},
#include "drivers/cuda/CudaSymbols.def"
};

/// cuGetProcAddress of CUDA 12 returns the entry point of just the version that
/// is asked for, whatever the library exports under the plain name.
void *findSymbol(void *library, const VendorSymbol &symbol) {
  using Lookup = CUresult (*)(const char *, void **, int, uint64_t, int *);
  const uint64_t legacyStream = 1;
  auto lookup = reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
  void *address = nullptr;
  int found = 0;
  if (!lookup || lookup(symbol.name, &address, symbol.version, legacyStream,
                        &found) != Success)
    return nullptr;
  return address;
}
} // namespace

Status CudaApi::load() {
  static const char what[] = "CUDA";
  static const char *const paths[] = {"libcuda.so.1", "libcuda.so",
                                      "/usr/lib/wsl/lib/libcuda.so.1", nullptr};
  void *library = nullptr;
  if (Status status =
          openVendorLibrary(what, "GPU_ASYNC_CUDA_LIBRARY", paths, library);
      !status.ok())
    return status;
  if (Status status = resolveVendorSymbols(what, library, symbols,
                                           sizeof(symbols) / sizeof(symbols[0]),
                                           &table, findSymbol);
      !status.ok())
    return status;
  int version = 0;
  Call call = GPUASYNC_CUDA_CALL(cuDriverGetVersion, &version);
  if (call.code == Success && version < 12000)
    return makeStatus(GPUASYNC_UNAVAILABLE,
                      "CUDA is unavailable: the driver is for CUDA %d.%d, 12.0 "
                      "is the least that serves",
                      version / 1000, version % 1000 / 10);
  if (call.code == Success)
    call = GPUASYNC_CUDA_CALL(cuInit, 0);
  if (call.code != Success)
    return makeStatus(GPUASYNC_UNAVAILABLE,
                      "CUDA is unavailable: %s: %s (%d): %s", call.name,
                      errorName(call.code), call.code, errorText(call.code));
  armExitFlag();
  return Status();
}

Status CudaApi::describeDevice(int32_t ordinal, DeviceInfo &info,
                               VendorLimits &limits) {
  CUdevice device = 0;
  Call call = GPUASYNC_CUDA_CALL(cuDeviceGet, &device, ordinal);
  // Remembers the first failure.
  auto attribute = [&](int which) {
    int value = 0;
    if (call.code == Success)
      call = GPUASYNC_CUDA_CALL(cuDeviceGetAttribute, &value, which, device);
    return value;
  };
  size_t bytes = 0;
  if (call.code == Success)
    call = GPUASYNC_CUDA_CALL(cuDeviceGetName, info.name,
                              int(sizeof(info.name)), device);
  if (call.code == Success)
    call = GPUASYNC_CUDA_CALL(cuDeviceTotalMem, &bytes, device);
  info.memoryBytes = bytes;
  int version = 0;
  if (call.code == Success)
    call = GPUASYNC_CUDA_CALL(cuDriverGetVersion, &version);
  limits.driverVersion = version;
  info.driverVersion = uint32_t(version);
  limits.major = attribute(ComputeCapabilityMajor);
  limits.minor = attribute(ComputeCapabilityMinor);
  snprintf(info.arch, sizeof(info.arch), "sm_%d%d", limits.major, limits.minor);
  for (int i = 0; i < 3; ++i) {
    limits.maxGrid[i] = uint32_t(attribute(MaxGridDimX + i));
    limits.maxBlock[i] = uint32_t(attribute(MaxBlockDimX + i));
  }
  limits.maxThreads = uint32_t(attribute(MaxThreadsPerBlock));
  limits.maxSharedBytes = uint32_t(attribute(MaxSharedMemoryPerBlockOptin));
  limits.maxPitch = uint64_t(attribute(MaxPitch));
  limits.multiprocessors = uint32_t(attribute(MultiprocessorCount));
  info.multiprocessors = limits.multiprocessors;
  limits.managed = attribute(ConcurrentManagedAccess) != 0;
  limits.readOnlyRegister = attribute(ReadOnlyHostRegisterSupported) != 0;
  info.capabilities = CapVendorStreams;
  if (attribute(CooperativeLaunch) && table.cuLaunchKernelEx)
    info.capabilities |= CapCooperative;
  if (attribute(ClusterLaunch) && table.cuLaunchKernelEx)
    info.capabilities |= CapClusters;
  if (attribute(MemoryPoolsSupported) && table.cuMemPoolCreate &&
      table.cuMemPoolDestroy && table.cuMemPoolSetAttribute &&
      table.cuMemPoolTrimTo && table.cuMemAllocFromPoolAsync &&
      table.cuMemFreeAsync)
    info.capabilities |= CapStreamOrderedAlloc;
  if (table.cuStreamWriteValue32)
    info.capabilities |= CapFlagWait;
  // Everything here relies on one address space.
  bool unified = attribute(UnifiedAddressing) != 0;
  if (call.code != Success)
    return makeStatus(statusCode(call.code), "%s: %s (%d): %s", call.name,
                      errorName(call.code), call.code, errorText(call.code));
  if (!unified)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "cuda device %d (%s) has no unified addressing", ordinal,
                      info.name);
  return Status();
}

const char *CudaApi::errorName(CUresult code) {
  const char *text = nullptr;
  if (!table.cuGetErrorName || table.cuGetErrorName(code, &text) != Success ||
      !text)
    return "CUDA_ERROR";
  return text;
}

const char *CudaApi::errorText(CUresult code) {
  const char *text = nullptr;
  if (!table.cuGetErrorString ||
      table.cuGetErrorString(code, &text) != Success || !text)
    return "unknown error";
  return text;
}

// After these the context answers every call with the same error, and no new
// one can be made in the process.
bool CudaApi::losesDevice(CUresult code) {
  switch (code) {
  case ErrorEccUncorrectable:
  case ErrorNvlinkUncorrectable:
  case ErrorContained:
  case ErrorIllegalAddress:
  case ErrorLaunchTimeout:
  case ErrorAssert:
  case ErrorHardwareStackError:
  case ErrorIllegalInstruction:
  case ErrorMisalignedAddress:
  case ErrorInvalidAddressSpace:
  case ErrorInvalidPc:
  case ErrorLaunchFailed:
  case ErrorTensorMemoryLeak:
  case ErrorMpsClientTerminated:
  case ErrorExternalDevice:
    return true;
  default:
    return false;
  }
}

uint32_t CudaApi::statusCode(CUresult code) {
  switch (code) {
  case ErrorOutOfMemory:
    return GPUASYNC_OUT_OF_MEMORY;
  case ErrorDeinitialized:
    return GPUASYNC_SHUT_DOWN;
  case ErrorNoDevice:
  case ErrorDeviceUnavailable:
    return GPUASYNC_UNAVAILABLE;
  case ErrorNotFound:
  case ErrorNoBinaryForGpu:
    return GPUASYNC_NOT_FOUND;
  case ErrorNotSupported:
  case ErrorNotPermitted:
  case ErrorUnsupportedPtxVersion:
  case ErrorJitCompilerNotFound:
    return GPUASYNC_UNSUPPORTED;
  case ErrorInvalidValue:
  case ErrorInvalidPtx:
  case ErrorLaunchOutOfResources:
  case ErrorCooperativeLaunchTooLarge:
    return GPUASYNC_INVALID_ARGUMENT;
  default:
    return GPUASYNC_DRIVER_ERROR;
  }
}

//===----------------------------------------------------------------------===//
// Contexts, modules, launches
//===----------------------------------------------------------------------===//

CudaCall CudaApi::contextDevice(CUcontext context, int32_t &ordinal) {
  uint64_t id = 0;
  if (Call call = contextId(context, id); call.code != Success)
    return call;
  CUcontext previous = nullptr;
  if (Call call = currentContext(previous); call.code != Success)
    return call;
  if (Call call = setCurrentContext(context); call.code != Success)
    return call;
  CUdevice device = 0;
  Call call = GPUASYNC_CUDA_CALL(cuCtxGetDevice, &device);
  (void)setCurrentContext(previous);
  ordinal = device;
  return call;
}

CudaCall CudaApi::retainContext(int32_t ordinal, CUcontext &context) {
  CUdevice device = 0;
  Call call = GPUASYNC_CUDA_CALL(cuDeviceGet, &device, ordinal);
  if (call.code != Success)
    return call;
  return GPUASYNC_CUDA_CALL(cuDevicePrimaryCtxRetain, &context, device);
}

CudaCall CudaApi::releaseContext(int32_t ordinal) {
  CUdevice device = 0;
  // The handle is the ordinal in every driver so far.
  if (GPUASYNC_CUDA_CALL(cuDeviceGet, &device, ordinal).code != Success)
    device = ordinal;
  return GPUASYNC_CUDA_CALL(cuDevicePrimaryCtxRelease, device);
}

/// "8.8" and what follows it, of ".version 8.8".
static const char *ptxVersion(const gpuasync_image &image) {
  const char *found = strstr(static_cast<const char *>(image.data), ".version");
  return found ? found + strspn(found + 8, " \t") + 8 : "unknown version";
}

CudaCall CudaApi::moduleLoad(const gpuasync_image &image, CUmodule &module,
                             char *log, size_t logBytes) {
  int options[] = {JitErrorLogBuffer, JitErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(logBytes)};
  unsigned count = image.format == GPUASYNC_IMAGE_PTX ? 2 : 0;
  if (logBytes)
    log[0] = '\0';
  if (image.format == GPUASYNC_IMAGE_PTX && loadFromDisk(image, module))
    return {Success, "cuModuleLoadDataEx"};
  Call call = GPUASYNC_CUDA_CALL(cuModuleLoadDataEx, &module, image.data, count,
                                 options, values);
  if (logBytes)
    log[logBytes - 1] = '\0';
  if (call.code == ErrorUnsupportedPtxVersion) {
    int version = 0;
    (void)table.cuDriverGetVersion(&version);
    snprintf(
        log, logBytes,
        "the driver, for CUDA %d.%d, is older than the PTX (version %.3s); "
        "compile for an older PTX version or carry a cubin",
        version / 1000, version % 1000 / 10, ptxVersion(image));
  }
  size_t length = strlen(log);
  while (length && strchr("\r\n \t", log[length - 1]))
    log[--length] = '\0';
  return call;
}

CudaCall CudaApi::functionInfo(CUfunction function, int &maxThreads,
                               int &staticShared, int &localBytes) {
  Call call = GPUASYNC_CUDA_CALL(cuFuncGetAttribute, &maxThreads,
                                 FuncMaxThreadsPerBlock, function);
  if (call.code == Success)
    call = GPUASYNC_CUDA_CALL(cuFuncGetAttribute, &staticShared,
                              FuncSharedSizeBytes, function);
  if (call.code == Success)
    call = GPUASYNC_CUDA_CALL(cuFuncGetAttribute, &localBytes,
                              FuncLocalSizeBytes, function);
  return call;
}

// Raising the stack limit makes the driver grow the memory at once.
CudaCall CudaApi::reserveLocalMemory(uint32_t bytesPerThread) {
  if (!table.cuCtxGetLimit || !table.cuCtxSetLimit)
    return {Success, "cuCtxSetLimit"};
  size_t limit = 0;
  Call call = GPUASYNC_CUDA_CALL(cuCtxGetLimit, &limit, LimitStackSize);
  if (call.code != Success || limit >= bytesPerThread)
    return call;
  return GPUASYNC_CUDA_CALL(cuCtxSetLimit, LimitStackSize,
                            size_t(bytesPerThread));
}

int CudaApi::residentBlocks(CUfunction function, int threads, size_t shared) {
  int blocks = 0;
  if (!table.cuOccupancyMaxActiveBlocksPerMultiprocessor)
    return 0;
  Call call = GPUASYNC_CUDA_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor,
                                 &blocks, function, threads, shared);
  return call.code == Success ? blocks : 0;
}

CudaCall CudaApi::launchExtended(CUfunction function, CUstream stream,
                                 const gpuasync_block &block, void **parameters,
                                 void **extra) {
  if (!table.cuLaunchKernelEx)
    return {ErrorNotSupported, "cuLaunchKernelEx"};
  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig config = {};
  config.gridDimX = unsigned(block.grid[0]);
  config.gridDimY = unsigned(block.grid[1]);
  config.gridDimZ = unsigned(block.grid[2]);
  config.blockDimX = unsigned(block.block[0]);
  config.blockDimY = unsigned(block.block[1]);
  config.blockDimZ = unsigned(block.block[2]);
  config.sharedMemBytes = unsigned(block.dynamicSharedBytes);
  config.hStream = stream;
  config.attrs = attributes;
  int64_t clusterBlocks = 1;
  unsigned cluster[3];
  for (int i = 0; i < 3; ++i) {
    cluster[i] = block.cluster[i] > 0 ? unsigned(block.cluster[i]) : 1;
    clusterBlocks *= cluster[i];
  }
  if (clusterBlocks > 1) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = LaunchAttributeClusterDimension;
    attribute.value.clusterDim = {cluster[0], cluster[1], cluster[2]};
    // More than 8 blocks is what not every chip of the architecture can do.
    if (clusterBlocks > 8)
      (void)GPUASYNC_CUDA_CALL(cuFuncSetAttribute, function,
                               FuncNonPortableClusterSizeAllowed, 1);
  }
  if (block.flags & GPUASYNC_LAUNCH_COOPERATIVE) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = LaunchAttributeCooperative;
    attribute.value.cooperative = 1;
  }
  return GPUASYNC_CUDA_CALL(cuLaunchKernelEx, &config, function, parameters,
                            extra);
}

//===----------------------------------------------------------------------===//
// Copies, fills, memory
//===----------------------------------------------------------------------===//

CudaCall CudaApi::copy2D(void *destination, size_t destinationPitch,
                         const void *source, size_t sourcePitch, size_t width,
                         size_t height, CUstream stream) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = MemoryTypeUnified;
  copy.srcDevice = address(source);
  copy.dstDevice = address(destination);
  copy.srcPitch = sourcePitch;
  copy.dstPitch = destinationPitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return GPUASYNC_CUDA_CALL(cuMemcpy2DAsync, &copy, stream);
}

CudaCall CudaApi::fill(void *destination, uint32_t value, uint32_t bytes,
                       size_t count, CUstream stream) {
  CUdeviceptr to = address(destination);
  switch (bytes) {
  case 1:
    return GPUASYNC_CUDA_CALL(cuMemsetD8Async, to,
                              static_cast<unsigned char>(value), count, stream);
  case 2:
    return GPUASYNC_CUDA_CALL(cuMemsetD16Async, to,
                              static_cast<unsigned short>(value), count,
                              stream);
  default:
    return GPUASYNC_CUDA_CALL(cuMemsetD32Async, to, value, count, stream);
  }
}

CudaCall CudaApi::fill2D(void *destination, size_t pitch, uint32_t value,
                         uint32_t bytes, size_t width, size_t height,
                         CUstream stream) {
  CUdeviceptr to = address(destination);
  switch (bytes) {
  case 1:
    return GPUASYNC_CUDA_CALL(cuMemsetD2D8Async, to, pitch,
                              static_cast<unsigned char>(value), width, height,
                              stream);
  case 2:
    return GPUASYNC_CUDA_CALL(cuMemsetD2D16Async, to, pitch,
                              static_cast<unsigned short>(value), width, height,
                              stream);
  default:
    return GPUASYNC_CUDA_CALL(cuMemsetD2D32Async, to, pitch, value, width,
                              height, stream);
  }
}

CudaCall CudaApi::poolCreate(int32_t ordinal, CUmemoryPool &pool) {
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.location.type = 1;
  CUdevice device = 0;
  Call call = GPUASYNC_CUDA_CALL(cuDeviceGet, &device, ordinal);
  if (call.code != Success)
    return call;
  properties.location.id = device;
  call = GPUASYNC_CUDA_CALL(cuMemPoolCreate, &pool, &properties);
  if (call.code != Success)
    return call;
  // Freed memory stays in the pool until the core trims it. And the driver may
  // not order streams that the program left unordered just to reuse memory: two
  // kernels that wait for each other would hang.
  uint64_t keepAll = UINT64_MAX;
  int none = 0;
  call = GPUASYNC_CUDA_CALL(cuMemPoolSetAttribute, pool, PoolReleaseThreshold,
                            &keepAll);
  if (call.code == Success)
    call = GPUASYNC_CUDA_CALL(cuMemPoolSetAttribute, pool,
                              PoolReuseAllowInternalDependencies, &none);
  if (call.code != Success)
    (void)GPUASYNC_CUDA_CALL(cuMemPoolDestroy, pool);
  return call;
}

CudaCall CudaApi::encodeTensorMap(const TensorMap &map, void *out) {
  if (!table.cuTensorMapEncodeTiled)
    return {ErrorNotSupported, "cuTensorMapEncodeTiled"};
  return GPUASYNC_CUDA_CALL(
      cuTensorMapEncodeTiled, out, int(map.dataType), map.rank, map.address,
      map.sizes, map.strides, map.box, map.elementStrides, int(map.interleave),
      int(map.swizzle), int(map.l2Promotion), int(map.fill));
}

CudaCall CudaApi::pointerKind(const void *pointer, PointerKind &kind) {
  // The plural form is success, with zeros, for memory that CUDA does not know.
  unsigned type = 0, managed = 0;
  int attributes[] = {PointerMemoryType, PointerIsManaged};
  void *values[] = {&type, &managed};
  Call call = GPUASYNC_CUDA_CALL(cuPointerGetAttributes, 2, attributes, values,
                                 address(pointer));
  kind = PointerKind::Pageable;
  if (call.code != Success)
    return call;
  if (managed)
    kind = PointerKind::Managed;
  else if (type == MemoryTypeDevice)
    kind = PointerKind::Device;
  else if (type == MemoryTypeHost)
    kind = PointerKind::Registered;
  return call;
}

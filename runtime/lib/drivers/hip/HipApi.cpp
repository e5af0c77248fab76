//===- HipApi.cpp - HIP as a parameter of the vendor driver ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening the library, error conversion, and the calls that take more than one
// line.
//===----------------------------------------------------------------------===//

#include "drivers/hip/HipApi.h"

#include "drivers/shared/VendorLibrary.h"

#include <stdio.h>
#include <string.h>

#include <vector>

using namespace gpuasync;
using namespace gpuasync::hip;

HipTable gpuasync::hip::table;

//===----------------------------------------------------------------------===//
// Library, devices, errors
//===----------------------------------------------------------------------===//

namespace {
enum Need { Optional, Required };

// HIP marks the entry points that changed by their names (R0600), so there is
// no version to ask for.
const VendorSymbol symbols[] = {
#define SYMBOL(need, name, parameters)                                         \
  {#name, #name, 0, need == Required, offsetof(HipTable, name)},
#include "drivers/hip/HipSymbols.def"
};
} // namespace

Status HipApi::load() {
  static const char what[] = "HIP";
  static const char *const paths[] = {"libamdhip64.so.7",
                                      "libamdhip64.so.6",
                                      "libamdhip64.so",
                                      "/opt/rocm/lib/libamdhip64.so.7",
                                      "/opt/rocm/lib/libamdhip64.so.6",
                                      "/opt/rocm/lib/libamdhip64.so",
                                      nullptr};
  void *library = nullptr;
  if (Status status =
          openVendorLibrary(what, "GPU_ASYNC_HIP_LIBRARY", paths, library);
      !status.ok())
    return status;
  if (Status status = resolveVendorSymbols(what, library, symbols,
                                           sizeof(symbols) / sizeof(symbols[0]),
                                           &table, nullptr);
      !status.ok())
    return status;
  // 6.2.41133 is 60241133.
  int version = 0;
  Call call = GPUASYNC_HIP_CALL(hipRuntimeGetVersion, &version);
  if (call.code == Success && version < 60000000)
    return makeStatus(GPUASYNC_UNAVAILABLE,
                      "HIP is unavailable: its library is of ROCm %d.%d, 6.0 "
                      "is the least that serves",
                      version / 10000000, version % 10000000 / 100000);
  if (call.code == Success)
    call = GPUASYNC_HIP_CALL(hipInit, 0);
  if (call.code != Success)
    return makeStatus(GPUASYNC_UNAVAILABLE,
                      "HIP is unavailable: %s: %s (%d): %s", call.name,
                      errorName(call.code), call.code, errorText(call.code));
  armExitFlag();
  return Status();
}

Status HipApi::describeDevice(int32_t ordinal, DeviceInfo &info,
                              VendorLimits &limits) {
  auto properties = std::make_unique<hipDeviceProp_tR0600>();
  Call call =
      GPUASYNC_HIP_CALL(hipGetDevicePropertiesR0600, properties.get(), ordinal);
  // Remembers the first failure.
  auto attribute = [&](int which) {
    int value = 0;
    if (call.code == Success)
      call = GPUASYNC_HIP_CALL(hipDeviceGetAttribute, &value, which, ordinal);
    return value;
  };
  size_t bytes = 0;
  if (call.code == Success)
    call = GPUASYNC_HIP_CALL(hipDeviceTotalMem, &bytes, ordinal);
  info.memoryBytes = bytes;
  int version = 0;
  if (call.code == Success)
    call = GPUASYNC_HIP_CALL(hipRuntimeGetVersion, &version);
  limits.driverVersion = version;
  info.driverVersion = uint32_t(version);
  snprintf(info.name, sizeof(info.name), "%.*s",
           int(sizeof(properties->name) - 1), properties->name);
  snprintf(limits.arch, sizeof(limits.arch), "%.*s",
           int(sizeof(limits.arch) - 1), properties->gcnArchName);
  snprintf(info.arch, sizeof(info.arch), "%.*s", int(sizeof(info.arch) - 1),
           properties->gcnArchName);
  for (int i = 0; i < 3; ++i) {
    limits.maxGrid[i] = uint32_t(attribute(MaxGridDimX + i));
    limits.maxBlock[i] = uint32_t(attribute(MaxBlockDimX + i));
  }
  limits.maxThreads = uint32_t(attribute(MaxThreadsPerBlock));
  limits.maxSharedBytes = uint32_t(attribute(MaxSharedMemoryPerBlock));
  limits.maxPitch = uint64_t(attribute(MaxPitch));
  limits.multiprocessors = uint32_t(attribute(MultiprocessorCount));
  info.multiprocessors = limits.multiprocessors;
  limits.managed = attribute(ConcurrentManagedAccess) != 0;
  info.capabilities = CapVendorStreams;
  if (attribute(CooperativeLaunch) && table.hipModuleLaunchCooperativeKernel)
    info.capabilities |= CapCooperative;
  if (attribute(MemoryPoolsSupported) && table.hipMemPoolCreate &&
      table.hipMemPoolDestroy && table.hipMemPoolSetAttribute &&
      table.hipMemPoolTrimTo && table.hipMallocFromPoolAsync &&
      table.hipFreeAsync)
    info.capabilities |= CapStreamOrderedAlloc;
  if (table.hipStreamWriteValue32 && attribute(CanUseStreamWaitValue))
    info.capabilities |= CapFlagWait;
  if (call.code != Success)
    return makeStatus(statusCode(call.code), "%s: %s (%d): %s", call.name,
                      errorName(call.code), call.code, errorText(call.code));
  return Status();
}

const char *HipApi::errorName(hipError_t code) {
  const char *text = nullptr;
  if (!table.hipDrvGetErrorName ||
      table.hipDrvGetErrorName(code, &text) != Success || !text)
    return "hipError";
  return text;
}

const char *HipApi::errorText(hipError_t code) {
  const char *text = nullptr;
  if (!table.hipDrvGetErrorString ||
      table.hipDrvGetErrorString(code, &text) != Success || !text)
    return "unknown error";
  return text;
}

// Where the process survives a fault at all: by default the runtime below HIP
// prints a memory access fault and aborts.
bool HipApi::losesDevice(hipError_t code) {
  switch (code) {
  case ErrorEccNotCorrectable:
  case ErrorIllegalAddress:
  case ErrorLaunchTimeOut:
  case ErrorAssert:
  case ErrorLaunchFailure:
    return true;
  default:
    return false;
  }
}

uint32_t HipApi::statusCode(hipError_t code) {
  switch (code) {
  case ErrorOutOfMemory:
    return GPUASYNC_OUT_OF_MEMORY;
  case ErrorDeinitialized:
    return GPUASYNC_SHUT_DOWN;
  case ErrorNoDevice:
  case ErrorInsufficientDriver:
    return GPUASYNC_UNAVAILABLE;
  case ErrorNotFound:
  case ErrorNoBinaryForGpu:
    return GPUASYNC_NOT_FOUND;
  case ErrorNotSupported:
    return GPUASYNC_UNSUPPORTED;
  case ErrorInvalidValue:
  case ErrorInvalidConfiguration:
  case ErrorInvalidImage:
  case ErrorInvalidKernelFile:
  case ErrorSharedObjectInitFailed:
  case ErrorLaunchOutOfResources:
  case ErrorCooperativeLaunchTooLarge:
    return GPUASYNC_INVALID_ARGUMENT;
  default:
    return GPUASYNC_DRIVER_ERROR;
  }
}

//===----------------------------------------------------------------------===//
// Functions, launches
//===----------------------------------------------------------------------===//

HipCall HipApi::functionInfo(hipFunction_t function, int &maxThreads,
                             int &staticShared, int &localBytes) {
  Call call = GPUASYNC_HIP_CALL(hipFuncGetAttribute, &maxThreads,
                                FuncMaxThreadsPerBlock, function);
  if (call.code == Success)
    call = GPUASYNC_HIP_CALL(hipFuncGetAttribute, &staticShared,
                             FuncSharedSizeBytes, function);
  if (call.code == Success)
    call = GPUASYNC_HIP_CALL(hipFuncGetAttribute, &localBytes,
                             FuncLocalSizeBytes, function);
  return call;
}

int HipApi::residentBlocks(hipFunction_t function, int threads, size_t shared) {
  int blocks = 0;
  if (!table.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)
    return 0;
  Call call =
      GPUASYNC_HIP_CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,
                        &blocks, function, threads, shared);
  return call.code == Success ? blocks : 0;
}

// This entry point takes no buffer, only a pointer to each parameter, so it
// serves kernels whose parameters the program describes.
HipCall HipApi::launchCooperative(hipFunction_t function, hipStream_t stream,
                                  const gpuasync_kernel &kernel,
                                  const gpuasync_block &block) {
  if (!table.hipModuleLaunchCooperativeKernel ||
      kernel.paramCount == UINT32_MAX)
    return {ErrorNotSupported, "hipModuleLaunchCooperativeKernel"};
  std::vector<void *> parameters(kernel.paramCount);
  auto *bytes = static_cast<char *>(const_cast<void *>(block.params));
  for (uint32_t i = 0; i < kernel.paramCount; ++i)
    parameters[i] = bytes + kernel.paramOffsets[i];
  return GPUASYNC_HIP_CALL(hipModuleLaunchCooperativeKernel, function,
                           unsigned(block.grid[0]), unsigned(block.grid[1]),
                           unsigned(block.grid[2]), unsigned(block.block[0]),
                           unsigned(block.block[1]), unsigned(block.block[2]),
                           unsigned(block.dynamicSharedBytes), stream,
                           parameters.data());
}

//===----------------------------------------------------------------------===//
// Fills, memory
//===----------------------------------------------------------------------===//

HipCall HipApi::fill(void *destination, uint32_t value, uint32_t bytes,
                     size_t count, hipStream_t stream) {
  switch (bytes) {
  case 1:
    return GPUASYNC_HIP_CALL(hipMemsetD8Async, destination,
                             static_cast<unsigned char>(value), count, stream);
  case 2:
    return GPUASYNC_HIP_CALL(hipMemsetD16Async, destination,
                             static_cast<unsigned short>(value), count, stream);
  default:
    return GPUASYNC_HIP_CALL(hipMemsetD32Async, destination, int(value), count,
                             stream);
  }
}

HipCall HipApi::poolCreate(int32_t ordinal, hipMemPool_t &pool) {
  hipMemPoolProps properties = {};
  properties.allocType = 1;
  properties.location.type = 1;
  properties.location.id = ordinal;
  Call call = GPUASYNC_HIP_CALL(hipMemPoolCreate, &pool, &properties);
  if (call.code != Success)
    return call;
  // Freed memory stays in the pool until the core trims it. And the driver may
  // not order streams that the program left unordered just to reuse memory: two
  // kernels that wait for each other would hang.
  uint64_t keepAll = UINT64_MAX;
  int none = 0;
  call = GPUASYNC_HIP_CALL(hipMemPoolSetAttribute, pool, PoolReleaseThreshold,
                           &keepAll);
  if (call.code == Success)
    call = GPUASYNC_HIP_CALL(hipMemPoolSetAttribute, pool,
                             PoolReuseAllowInternalDependencies, &none);
  if (call.code != Success)
    (void)GPUASYNC_HIP_CALL(hipMemPoolDestroy, pool);
  return call;
}

// Older versions call memory that HIP does not know an error, which would stay
// behind as the thread's last one and be taken for a failure of the caller's.
HipCall HipApi::pointerKind(const void *pointer, PointerKind &kind) {
  hipPointerAttribute_t attributes = {};
  Call call = GPUASYNC_HIP_CALL(hipPointerGetAttributes, &attributes, pointer);
  kind = PointerKind::Pageable;
  if (call.code != Success) {
    if (call.code == ErrorInvalidValue && table.hipGetLastError)
      (void)table.hipGetLastError();
    return call;
  }
  if (attributes.isManaged || attributes.type == MemoryTypeManaged)
    kind = PointerKind::Managed;
  else if (attributes.type == MemoryTypeDevice)
    kind = PointerKind::Device;
  else if (attributes.type == MemoryTypeHost)
    kind = PointerKind::Registered;
  return call;
}

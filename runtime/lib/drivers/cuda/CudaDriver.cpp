//===- CudaDriver.cpp - What is peculiar to CUDA --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The facts of CUDA, and its way to name devices, launch with attributes and
// tell kinds of memory.
//===----------------------------------------------------------------------===//

#include "drivers/cuda/CudaDriver.h"

#include "drivers/cuda/CudaTypes.h"

#include <dlfcn.h>

using namespace gpuasync;
using namespace gpuasync::cuda;

Driver *gpuasync::cudaDriver() { return undestroyed<CudaDriver>(); }

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

enum Need { Optional, Required };

static const VendorSymbol symbols[] = {
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  {VendorEntry::entry, #name, exported, version, need == Required},
#include "drivers/shared/VendorSymbols.def"
};

/// cuGetProcAddress of CUDA 12 returns the entry point of just the version that
/// is asked for, whatever the library exports under the plain name.
static void *findSymbol(void *library, const VendorSymbol &symbol) {
  using Lookup = int (*)(const char *, void **, int, uint64_t, int *);
  const uint64_t legacyStream = 1;
  auto lookup = reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
  void *address = nullptr;
  int found = 0;
  if (!lookup || lookup(symbol.name, &address, symbol.version, legacyStream,
                        &found) != Success)
    return nullptr;
  return address;
}

static const char *const paths[] = {"libcuda.so.1", "libcuda.so",
                                    "/usr/lib/wsl/lib/libcuda.so.1", nullptr};

// After those that lose the device the context answers every call with the same
// error, and no new one can be made in the process.
static const VendorError errors[] = {
    {ErrorDeviceUnavailable, GPUASYNC_UNAVAILABLE},
    {ErrorNotPermitted, GPUASYNC_UNSUPPORTED},
    {ErrorUnsupportedPtxVersion, GPUASYNC_UNSUPPORTED},
    {ErrorJitCompilerNotFound, GPUASYNC_UNSUPPORTED},
    {ErrorNvlinkUncorrectable, GPUASYNC_DEVICE_LOST},
    {ErrorContained, GPUASYNC_DEVICE_LOST},
    {ErrorHardwareStackError, GPUASYNC_DEVICE_LOST},
    {ErrorIllegalInstruction, GPUASYNC_DEVICE_LOST},
    {ErrorMisalignedAddress, GPUASYNC_DEVICE_LOST},
    {ErrorInvalidAddressSpace, GPUASYNC_DEVICE_LOST},
    {ErrorInvalidPc, GPUASYNC_DEVICE_LOST},
    {ErrorTensorMemoryLeak, GPUASYNC_DEVICE_LOST},
    {ErrorMpsClientTerminated, GPUASYNC_DEVICE_LOST},
    {ErrorExternalDevice, GPUASYNC_DEVICE_LOST}};

// A parameter of more than 16 bytes is aligned in the bank that all lie in,
// which does not begin at a multiple of 64.
static const VendorFacts facts = {
    "cuda",
    "CUDA",
    "GPU_ASYNC_CUDA_LIBRARY",
    paths,
    symbols,
    sizeof(symbols) / sizeof(symbols[0]),
    findSymbol,
    /*leastVersion=*/12000,
    /*majorUnit=*/1000,
    /*minorUnit=*/10,
    "the driver is for CUDA",
    errors,
    sizeof(errors) / sizeof(errors[0]),
    "CUDA_ERROR",
    {MaxBlockDimX, MaxGridDimX, MaxSharedMemoryPerBlockOptin, MaxPitch,
     MultiprocessorCount, ConcurrentManagedAccess, CooperativeLaunch,
     MemoryPoolsSupported, ClusterLaunch, ReadOnlyHostRegisterSupported,
     UnifiedAddressing, /*flagWait=*/0},
    EventDisableTiming,
    LaunchParamEnd,
    /*largestPackedParameter=*/16};

CudaDriver::CudaDriver() : VendorDriver(::facts) {}

//===----------------------------------------------------------------------===//
// Devices, launches, memory
//===----------------------------------------------------------------------===//

VendorCall CudaDriver::identify(VendorDevice &device) const {
  VendorLimits &limits = device.limits;
  DeviceInfo &info = device.info;
  VendorCall call = VENDOR_CALL(deviceGet, &device.handle, device.ordinal);
  if (call.ok())
    call = VENDOR_CALL(deviceName, info.name, int(sizeof(info.name)),
                       device.handle);
  if (call.ok())
    call = VENDOR_CALL(deviceAttribute, &limits.major, ComputeCapabilityMajor,
                       device.handle);
  if (call.ok())
    call = VENDOR_CALL(deviceAttribute, &limits.minor, ComputeCapabilityMinor,
                       device.handle);
  snprintf(info.arch, sizeof(info.arch), "sm_%d%d", limits.major, limits.minor);
  return call;
}

VendorCall CudaDriver::launchExtended(FunctionHandle function,
                                      StreamHandle stream,
                                      const gpuasync_kernel &,
                                      const gpuasync_block &block,
                                      void **parameters, void **extra) const {
  if (!table.launchExtended)
    return {ErrorNotSupported, VendorEntry::launchExtended};
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
      (void)VENDOR_CALL(functionSetAttribute, function,
                        FuncNonPortableClusterSizeAllowed, 1);
  }
  if (block.flags & GPUASYNC_LAUNCH_COOPERATIVE) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = LaunchAttributeCooperative;
    attribute.value.cooperative = 1;
  }
  return VENDOR_CALL(launchExtended, &config, function, parameters, extra);
}

VendorCall CudaDriver::copyRows(void *destination, size_t destinationPitch,
                                const void *source, size_t sourcePitch,
                                size_t width, size_t height,
                                StreamHandle stream) const {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = MemoryTypeUnified;
  copy.srcDevice = source;
  copy.dstDevice = destination;
  copy.srcPitch = sourcePitch;
  copy.dstPitch = destinationPitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return VENDOR_CALL(copyRows, &copy, stream);
}

VendorCall CudaDriver::pointerKind(const void *pointer,
                                   PointerKind &kind) const {
  // The plural form is success, with zeros, for memory that CUDA does not know.
  unsigned type = 0, managed = 0;
  int attributes[] = {PointerMemoryType, PointerIsManaged};
  void *values[] = {&type, &managed};
  VendorCall call =
      VENDOR_CALL(pointerAttributes, 2, attributes, values, pointer);
  if (call.ok())
    kind = managed                    ? PointerKind::Managed
           : type == MemoryTypeDevice ? PointerKind::Device
           : type == MemoryTypeHost   ? PointerKind::Registered
                                      : PointerKind::Pageable;
  return call;
}

//===- CudaTypes.h - Own declarations of the CUDA driver API ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types and values of the CUDA driver API that the runtime uses, so that it
// builds without a toolkit. test/runtime/unit/CudaTypesTest.cpp compares them
// with the real cuda.h where there is one.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DRIVERS_CUDA_CUDATYPES_H
#define GPUASYNC_DRIVERS_CUDA_CUDATYPES_H

#include <stddef.h>
#include <stdint.h>

namespace gpuasync {
namespace cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctxOpaque *;
using CUmodule = struct CUmodOpaque *;
using CUfunction = struct CUfuncOpaque *;
using CUstream = struct CUstreamOpaque *;
using CUgraph = struct CUgraphOpaque *;
using CUgraphNode = struct CUgraphNodeOpaque *;
using CUevent = struct CUeventOpaque *;
using CUmemoryPool = struct CUmemPoolOpaque *;
using CUlinkState = struct CUlinkOpaque *;

enum : CUresult {
  Success = 0,
  ErrorInvalidValue = 1,
  ErrorOutOfMemory = 2,
  ErrorDeinitialized = 4,
  ErrorDeviceUnavailable = 46,
  ErrorNoDevice = 100,
  ErrorInvalidContext = 201,
  ErrorNoBinaryForGpu = 209,
  ErrorEccUncorrectable = 214,
  ErrorInvalidPtx = 218,
  ErrorNvlinkUncorrectable = 220,
  ErrorJitCompilerNotFound = 221,
  ErrorUnsupportedPtxVersion = 222,
  ErrorContained = 226,
  ErrorNotFound = 500,
  ErrorNotReady = 600,
  ErrorIllegalAddress = 700,
  ErrorLaunchOutOfResources = 701,
  ErrorLaunchTimeout = 702,
  ErrorContextIsDestroyed = 709,
  ErrorAssert = 710,
  ErrorHostMemoryAlreadyRegistered = 712,
  ErrorHardwareStackError = 714,
  ErrorIllegalInstruction = 715,
  ErrorMisalignedAddress = 716,
  ErrorInvalidAddressSpace = 717,
  ErrorInvalidPc = 718,
  ErrorLaunchFailed = 719,
  ErrorCooperativeLaunchTooLarge = 720,
  ErrorTensorMemoryLeak = 721,
  ErrorNotPermitted = 800,
  ErrorNotSupported = 801,
  ErrorMpsClientTerminated = 810,
  ErrorExternalDevice = 911
};

enum DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  MaxBlockDimX = 2, ///< Y and Z follow
  MaxGridDimX = 5,  ///< Y and Z follow
  MaxPitch = 11,
  MultiprocessorCount = 16,
  UnifiedAddressing = 41,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  ManagedMemory = 83,
  ConcurrentManagedAccess = 89,
  CooperativeLaunch = 95,
  MaxSharedMemoryPerBlockOptin = 97,
  ReadOnlyHostRegisterSupported = 113,
  MemoryPoolsSupported = 115,
  ClusterLaunch = 120
};

enum FunctionAttribute : int {
  FuncMaxThreadsPerBlock = 0,
  FuncSharedSizeBytes = 1,
  FuncLocalSizeBytes = 3,
  FuncNumRegs = 4,
  FuncMaxDynamicSharedSizeBytes = 8,
  FuncNonPortableClusterSizeAllowed = 14
};

enum JitOption : int {
  JitInfoLogBuffer = 3,
  JitInfoLogBufferSizeBytes = 4,
  JitErrorLogBuffer = 5,
  JitErrorLogBufferSizeBytes = 6
};

enum JitInput : int { JitInputPtx = 1 };

enum PoolAttribute : int {
  PoolReuseAllowInternalDependencies = 3,
  PoolReleaseThreshold = 4
};

enum : int { LimitStackSize = 0 };
enum : unsigned { StreamNonBlocking = 1 };
enum : unsigned { EventDisableTiming = 2 };
enum : unsigned { MemAttachGlobal = 1 };
enum : unsigned { HostAllocPortable = 1, HostAllocDeviceMap = 2 };
enum : unsigned {
  HostRegisterPortable = 1,
  HostRegisterDeviceMap = 2,
  HostRegisterReadOnly = 8
};
enum : int { PointerMemoryType = 2, PointerIsManaged = 8 };
enum MemoryType : unsigned {
  MemoryTypeHost = 1,
  MemoryTypeDevice = 2,
  MemoryTypeUnified = 4
};
enum : int {
  StreamCaptureStatusNone = 0,
  StreamCaptureStatusActive = 1,
  StreamCaptureStatusInvalidated = 2
};
enum : int { StreamCaptureModeRelaxed = 2 };

/// Markers of the `extra` argument of a launch.
enum : uintptr_t {
  LaunchParamEnd = 0,
  LaunchParamBufferPointer = 1,
  LaunchParamBufferSize = 2
};

enum LaunchAttributeId : unsigned {
  LaunchAttributeCooperative = 2,
  LaunchAttributeClusterDimension = 4
};

struct CUlaunchAttribute {
  unsigned id;
  char pad[4];
  union {
    char pad[64];
    int cooperative;
    struct {
      unsigned x, y, z;
    } clusterDim;
  } value;
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};

struct CUmemPoolProps {
  int allocType;   ///< 1: pinned
  int handleTypes; ///< 0: none
  struct {
    int type; ///< 1: device
    int id;
  } location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  unsigned srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  void *srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  unsigned dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  void *dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
};

/// Every entry point of CudaSymbols.def; an optional one may be null.
struct CudaTable {
#define SYMBOL(need, name, version, exported, parameters)                      \
  CUresult(*name) parameters;
#include "drivers/cuda/CudaSymbols.def"
};

} // namespace cuda
} // namespace gpuasync

#endif // GPUASYNC_DRIVERS_CUDA_CUDATYPES_H

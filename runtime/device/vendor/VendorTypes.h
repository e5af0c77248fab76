//===- VendorTypes.h - Types and values of both vendors' APIs ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the CUDA driver API and the HIP API declare alike, so that the runtime
// builds without their toolkits: HIP took its handles, numbers and signatures
// from CUDA. What differs is in cuda/CudaTypes.h and hip/HipTypes.h. Tests
// compare all of it with the vendors' headers where there are some.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_VENDOR_VENDORTYPES_H
#define GPUASYNC_DEVICE_VENDOR_VENDORTYPES_H

#include <stddef.h>
#include <stdint.h>

namespace gpuasync {
namespace vendor {

using StreamHandle = struct StreamOfVendor *;
using EventHandle = struct EventOfVendor *;
using ModuleHandle = struct ModuleOfVendor *;
using FunctionHandle = struct FunctionOfVendor *;
using PoolHandle = struct PoolOfVendor *;
using LinkHandle = struct LinkOfVendor *; ///< CUDA only
using GraphHandle = struct GraphOfVendor *;
using GraphNodeHandle = struct GraphNodeOfVendor *;
using GraphExecHandle = struct GraphExecOfVendor *;

/// CUresult, hipError_t.
enum : int {
  Success = 0,
  ErrorInvalidValue = 1,
  ErrorOutOfMemory = 2,
  ErrorDeinitialized = 4,
  ErrorNoDevice = 100,
  ErrorInvalidContext = 201,
  ErrorNoBinaryForGpu = 209,
  ErrorEccUncorrectable = 214,
  ErrorInvalidPtx = 218, ///< HIP: invalid kernel file
  ErrorNotFound = 500,
  ErrorNotReady = 600,
  ErrorIllegalAddress = 700,
  ErrorLaunchOutOfResources = 701,
  ErrorLaunchTimeout = 702,
  ErrorContextIsDestroyed = 709,
  ErrorAssert = 710,
  ErrorHostMemoryAlreadyRegistered = 712,
  ErrorLaunchFailed = 719,
  ErrorCooperativeLaunchTooLarge = 720,
  ErrorNotSupported = 801,
  ErrorGraphUpdateFailure = 910
};

enum FunctionAttribute : int {
  FuncMaxThreadsPerBlock = 0,
  FuncSharedSizeBytes = 1,
  FuncLocalSizeBytes = 3,
  FuncMaxDynamicSharedSizeBytes = 8 ///< CUDA only
};
enum : int { LimitStackSize = 0 }; ///< CUDA only

enum PoolAttribute : int {
  PoolReuseAllowInternalDependencies = 3,
  PoolReleaseThreshold = 4
};

enum : unsigned { StreamNonBlocking = 1 };
enum : unsigned { EventDisableTiming = 2 };
enum : unsigned { MemAttachGlobal = 1 };
enum : unsigned { HostAllocPortable = 1, HostAllocDeviceMap = 2 };
enum : unsigned {
  HostRegisterPortable = 1,
  HostRegisterDeviceMap = 2,
  HostRegisterReadOnly = 8
};
enum MemoryType : unsigned { MemoryTypeHost = 1, MemoryTypeDevice = 2 };
enum : int {
  StreamCaptureStatusNone = 0,
  StreamCaptureStatusActive = 1,
  StreamCaptureStatusInvalidated = 2
};
enum : int { StreamCaptureModeThreadLocal = 1, StreamCaptureModeRelaxed = 2 };
enum : int { MemcpyDefault = 4 }; ///< HIP only

/// Markers of the `extra` argument of a launch; the one for the end differs.
enum : uintptr_t { LaunchParamBufferPointer = 1, LaunchParamBufferSize = 2 };

/// CUmemPoolProps, hipMemPoolProps.
struct PoolProperties {
  int allocType;   ///< 1: pinned
  int handleTypes; ///< 0: none
  struct {
    int type; ///< 1: device
    int id;
  } location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned char reserved[56];
};

} // namespace vendor
} // namespace gpuasync

#endif // GPUASYNC_DEVICE_VENDOR_VENDORTYPES_H

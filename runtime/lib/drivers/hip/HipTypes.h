//===- HipTypes.h - Own declarations of the HIP runtime API -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types and values of the HIP API (AMD platform, ROCm 6.0 and later) that
// the runtime uses, so that it builds without ROCm.
// test/runtime/unit/HipTypesTest.cpp compares them with the real headers where
// there are some.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DRIVERS_HIP_HIPTYPES_H
#define GPUASYNC_DRIVERS_HIP_HIPTYPES_H

#include <stddef.h>
#include <stdint.h>

namespace gpuasync {
namespace hip {

using hipError_t = int;
using hipDevice_t = int;
using hipDeviceptr_t = void *;
using hipDeviceAttribute_t = int;
using hipFunction_attribute = int;
using hipMemPoolAttr = int;
using hipMemcpyKind = int;
using hipStreamCaptureStatus = int;
using hipStreamCaptureMode = int;
using hipModule_t = struct ihipModule_t *;
using hipFunction_t = struct ihipModuleSymbol_t *;
using hipStream_t = struct ihipStream_t *;
using hipEvent_t = struct ihipEvent_t *;
using hipMemPool_t = struct ihipMemPoolHandle_t *;

enum : hipError_t {
  Success = 0,
  ErrorInvalidValue = 1,
  ErrorOutOfMemory = 2,
  ErrorNotInitialized = 3,
  ErrorDeinitialized = 4,
  ErrorInvalidConfiguration = 9,
  ErrorInsufficientDriver = 35,
  ErrorInvalidDeviceFunction = 98,
  ErrorNoDevice = 100,
  ErrorInvalidDevice = 101,
  ErrorInvalidImage = 200,
  ErrorInvalidContext = 201,
  ErrorNoBinaryForGpu = 209,
  ErrorEccNotCorrectable = 214,
  ErrorInvalidKernelFile = 218,
  ErrorSharedObjectInitFailed = 303,
  ErrorInvalidHandle = 400,
  ErrorNotFound = 500,
  ErrorNotReady = 600,
  ErrorIllegalAddress = 700,
  ErrorLaunchOutOfResources = 701,
  ErrorLaunchTimeOut = 702,
  ErrorContextIsDestroyed = 709,
  ErrorAssert = 710,
  ErrorHostMemoryAlreadyRegistered = 712,
  ErrorLaunchFailure = 719,
  ErrorCooperativeLaunchTooLarge = 720,
  ErrorNotSupported = 801,
  ErrorUnknown = 999
};

enum DeviceAttribute : int {
  ConcurrentManagedAccess = 9,
  CooperativeLaunch = 10,
  ManagedMemory = 24,
  MaxBlockDimX = 26, ///< Y and Z follow
  MaxGridDimX = 29,  ///< Y and Z follow
  MaxThreadsPerBlock = 56,
  MaxPitch = 58,
  MultiprocessorCount = 63,
  MaxSharedMemoryPerBlock = 74,
  MemoryPoolsSupported = 88,
  CanUseStreamWaitValue = 10013
};

enum FunctionAttribute : int {
  FuncMaxThreadsPerBlock = 0,
  FuncSharedSizeBytes = 1,
  FuncLocalSizeBytes = 3
};

enum PoolAttribute : int {
  PoolReuseAllowInternalDependencies = 3,
  PoolReleaseThreshold = 4
};

enum : unsigned { StreamNonBlocking = 1 };
enum : unsigned {
  EventDisableTiming = 2,
  /// What the work wrote is visible to the host once the event is complete;
  /// hipEventDisableSystemFence (0x20000000) and hipEventReleaseToDevice
  /// (0x40000000) leave that out.
  EventReleaseToSystem = 0x80000000u
};
enum : unsigned { MemAttachGlobal = 1 };
enum : unsigned { HostMallocPortable = 1, HostMallocMapped = 2 };
enum : unsigned { HostRegisterPortable = 1, HostRegisterMapped = 2 };
enum MemoryType : int {
  MemoryTypeUnregistered = 0,
  MemoryTypeHost = 1,
  MemoryTypeDevice = 2,
  MemoryTypeManaged = 3
};
enum : int { MemcpyDefault = 4 };
enum : int {
  StreamCaptureStatusNone = 0,
  StreamCaptureStatusActive = 1,
  StreamCaptureStatusInvalidated = 2
};
enum : int { StreamCaptureModeRelaxed = 2 };

/// Markers of the `extra` argument of a launch. Not CUDA's: there the end is 0.
enum : uintptr_t {
  LaunchParamBufferPointer = 1,
  LaunchParamBufferSize = 2,
  LaunchParamEnd = 3
};

/// Only the names are used; the rest is there for its size.
struct hipDeviceProp_tR0600 {
  char name[256];
  char numbers[904];
  /// "gfx90a:sramecc+:xnack-": the processor and those of its features that
  /// code can be compiled for with or without.
  char gcnArchName[256];
  char others[56];
};
static_assert(sizeof(hipDeviceProp_tR0600) == 1472, "as in ROCm 6.0");

struct hipPointerAttribute_t {
  int type; ///< of MemoryType
  int device;
  void *devicePointer;
  void *hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

struct hipMemPoolProps {
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

/// Every entry point of HipSymbols.def; an optional one may be null.
struct HipTable {
#define SYMBOL(need, name, parameters) hipError_t(*name) parameters;
#include "drivers/hip/HipSymbols.def"
};

} // namespace hip
} // namespace gpuasync

#endif // GPUASYNC_DRIVERS_HIP_HIPTYPES_H

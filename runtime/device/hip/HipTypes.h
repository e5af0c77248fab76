//===- HipTypes.h - Own declarations of the HIP runtime API -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types and values of the HIP API (AMD platform, ROCm 6.0 and later) that
// CUDA does not share. test/runtime/unit/HipTypesTest.cpp compares them with
// the real headers where there are some.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_HIP_HIPTYPES_H
#define GPUASYNC_DEVICE_HIP_HIPTYPES_H

#include "device/vendor/VendorTypes.h"

namespace gpuasync {
namespace hip {

using namespace vendor;

enum : int {
  ErrorNotInitialized = 3,
  ErrorInvalidConfiguration = 9,
  ErrorInsufficientDriver = 35,
  ErrorInvalidDevice = 101,
  ErrorInvalidImage = 200,
  ErrorSharedObjectInitFailed = 303
};

enum DeviceAttribute : int {
  ConcurrentManagedAccess = 9,
  CooperativeLaunch = 10,
  MaxBlockDimX = 26, ///< Y and Z follow
  MaxGridDimX = 29,  ///< Y and Z follow
  MaxThreadsPerBlock = 56,
  MaxPitch = 58,
  MultiprocessorCount = 63,
  MaxSharedMemoryPerBlock = 74,
  MemoryPoolsSupported = 88,
  CanUseStreamWaitValue = 10013
};

/// What the work wrote is visible to the host once the event is complete;
/// hipEventDisableSystemFence (0x20000000) and hipEventReleaseToDevice
/// (0x40000000) leave that out.
enum : unsigned { EventReleaseToSystem = 0x80000000u };
enum : unsigned { MemoryTypeUnregistered = 0, MemoryTypeManaged = 3 };
/// Not CUDA's.
enum : uintptr_t { LaunchParamEnd = 3 };

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

struct hipKernelNodeParams {
  unsigned blockDim[3];
  void **extra;
  void *func;
  unsigned gridDim[3];
  void **kernelParams;
  unsigned sharedMemBytes;
};

} // namespace hip
} // namespace gpuasync

#endif // GPUASYNC_DEVICE_HIP_HIPTYPES_H

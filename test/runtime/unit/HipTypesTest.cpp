//===- HipTypesTest.cpp - Own HIP declarations against the real ones ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares VendorTypes.h, HipTypes.h and VendorSymbols.def with
// hip_runtime_api.h of ROCm 6 or later where the machine has one; everything is
// checked by the compiler. test/runtime/driver/rocm compiles it with Debian's.
//===----------------------------------------------------------------------===//

#include "gtest/gtest.h"

#if __has_include(<hip/hip_runtime_api.h>)
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#define __HIP_DISABLE_CPP_FUNCTIONS__ // overloads in C++
#include <hip/hip_runtime_api.h>
#endif
#include "SameSignature.h"
#include "device/hip/HipTypes.h"

#if defined(HIP_VERSION) && HIP_VERSION >= 60000000

namespace own = gpuasync::hip;

#define SAME(ownName, realName)                                                \
  static_assert(int64_t(own::ownName) == int64_t(realName), #realName)
SAME(Success, hipSuccess);
SAME(ErrorInvalidValue, hipErrorInvalidValue);
SAME(ErrorOutOfMemory, hipErrorOutOfMemory);
SAME(ErrorNotInitialized, hipErrorNotInitialized);
SAME(ErrorDeinitialized, hipErrorDeinitialized);
SAME(ErrorInvalidConfiguration, hipErrorInvalidConfiguration);
SAME(ErrorInsufficientDriver, hipErrorInsufficientDriver);
SAME(ErrorNoDevice, hipErrorNoDevice);
SAME(ErrorInvalidDevice, hipErrorInvalidDevice);
SAME(ErrorInvalidImage, hipErrorInvalidImage);
SAME(ErrorInvalidContext, hipErrorInvalidContext);
SAME(ErrorNoBinaryForGpu, hipErrorNoBinaryForGpu);
SAME(ErrorEccUncorrectable, hipErrorECCNotCorrectable);
SAME(ErrorInvalidPtx, hipErrorInvalidKernelFile);
SAME(ErrorSharedObjectInitFailed, hipErrorSharedObjectInitFailed);
SAME(ErrorNotFound, hipErrorNotFound);
SAME(ErrorNotReady, hipErrorNotReady);
SAME(ErrorIllegalAddress, hipErrorIllegalAddress);
SAME(ErrorLaunchOutOfResources, hipErrorLaunchOutOfResources);
SAME(ErrorLaunchTimeout, hipErrorLaunchTimeOut);
SAME(ErrorContextIsDestroyed, hipErrorContextIsDestroyed);
SAME(ErrorAssert, hipErrorAssert);
SAME(ErrorHostMemoryAlreadyRegistered, hipErrorHostMemoryAlreadyRegistered);
SAME(ErrorLaunchFailed, hipErrorLaunchFailure);
SAME(ErrorCooperativeLaunchTooLarge, hipErrorCooperativeLaunchTooLarge);
SAME(ErrorNotSupported, hipErrorNotSupported);
SAME(ErrorGraphUpdateFailure, hipErrorGraphExecUpdateFailure);

SAME(ConcurrentManagedAccess, hipDeviceAttributeConcurrentManagedAccess);
SAME(CooperativeLaunch, hipDeviceAttributeCooperativeLaunch);
SAME(MaxBlockDimX, hipDeviceAttributeMaxBlockDimX);
SAME(MaxBlockDimX + 1, hipDeviceAttributeMaxBlockDimY);
SAME(MaxBlockDimX + 2, hipDeviceAttributeMaxBlockDimZ);
SAME(MaxGridDimX, hipDeviceAttributeMaxGridDimX);
SAME(MaxGridDimX + 1, hipDeviceAttributeMaxGridDimY);
SAME(MaxGridDimX + 2, hipDeviceAttributeMaxGridDimZ);
SAME(MaxThreadsPerBlock, hipDeviceAttributeMaxThreadsPerBlock);
SAME(MaxPitch, hipDeviceAttributeMaxPitch);
SAME(MultiprocessorCount, hipDeviceAttributeMultiprocessorCount);
SAME(MaxSharedMemoryPerBlock, hipDeviceAttributeMaxSharedMemoryPerBlock);
SAME(MemoryPoolsSupported, hipDeviceAttributeMemoryPoolsSupported);
SAME(CanUseStreamWaitValue, hipDeviceAttributeCanUseStreamWaitValue);

SAME(FuncMaxThreadsPerBlock, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(FuncSharedSizeBytes, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(FuncLocalSizeBytes, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(PoolReuseAllowInternalDependencies,
     hipMemPoolReuseAllowInternalDependencies);
SAME(PoolReleaseThreshold, hipMemPoolAttrReleaseThreshold);
SAME(StreamNonBlocking, hipStreamNonBlocking);
SAME(EventDisableTiming, hipEventDisableTiming);
SAME(EventReleaseToSystem, hipEventReleaseToSystem);
SAME(MemAttachGlobal, hipMemAttachGlobal);
SAME(HostAllocPortable, hipHostMallocPortable);
SAME(HostAllocDeviceMap, hipHostMallocMapped);
SAME(HostRegisterPortable, hipHostRegisterPortable);
SAME(HostRegisterDeviceMap, hipHostRegisterMapped);
SAME(MemoryTypeUnregistered, hipMemoryTypeUnregistered);
SAME(MemoryTypeHost, hipMemoryTypeHost);
SAME(MemoryTypeDevice, hipMemoryTypeDevice);
SAME(MemoryTypeManaged, hipMemoryTypeManaged);
SAME(MemcpyDefault, hipMemcpyDefault);
SAME(StreamCaptureStatusNone, hipStreamCaptureStatusNone);
SAME(StreamCaptureStatusActive, hipStreamCaptureStatusActive);
SAME(StreamCaptureStatusInvalidated, hipStreamCaptureStatusInvalidated);
SAME(StreamCaptureModeThreadLocal, hipStreamCaptureModeThreadLocal);
SAME(StreamCaptureModeRelaxed, hipStreamCaptureModeRelaxed);
#define SAME_SIZE(name) static_assert(sizeof(own::name) == sizeof(::name), "")
#define SAME_FIELD(name, field)                                                \
  static_assert(offsetof(own::name, field) == offsetof(::name, field), #field)
SAME_SIZE(hipDeviceProp_tR0600);
SAME_FIELD(hipDeviceProp_tR0600, gcnArchName);
SAME_SIZE(hipKernelNodeParams);
SAME_FIELD(hipKernelNodeParams, blockDim);
SAME_FIELD(hipKernelNodeParams, extra);
SAME_FIELD(hipKernelNodeParams, func);
SAME_FIELD(hipKernelNodeParams, gridDim);
SAME_FIELD(hipKernelNodeParams, kernelParams);
SAME_FIELD(hipKernelNodeParams, sharedMemBytes);
SAME_SIZE(hipPointerAttribute_t);
SAME_FIELD(hipPointerAttribute_t, type);
SAME_FIELD(hipPointerAttribute_t, devicePointer);
SAME_FIELD(hipPointerAttribute_t, hostPointer);
SAME_FIELD(hipPointerAttribute_t, isManaged);
static_assert(sizeof(own::PoolProperties) == sizeof(::hipMemPoolProps), "");
static_assert(offsetof(own::PoolProperties, allocType) ==
              offsetof(::hipMemPoolProps, allocType));
static_assert(offsetof(own::PoolProperties, handleTypes) ==
              offsetof(::hipMemPoolProps, handleTypes));
static_assert(offsetof(own::PoolProperties, location) ==
              offsetof(::hipMemPoolProps, location));
static_assert(offsetof(own::PoolProperties, maxSize) ==
              offsetof(::hipMemPoolProps, maxSize));
// The values that comments of PoolProperties name.
static_assert(hipMemAllocationTypePinned == 1 && hipMemHandleTypeNone == 0 &&
              hipMemLocationTypeDevice == 1);

namespace gpuasync {
namespace hip {
struct HipTable {
#define HIP_ENTRY(entry, parameters, need, name) int(*name) parameters;
#include "device/vendor/VendorSymbols.def"
};
} // namespace hip
} // namespace gpuasync
namespace real {
// This one has an overload in C++ all the same. A C function has one
// declaration, so the compiler compares this one with the header's.
extern "C" hipError_t hipMallocFromPoolAsync(void **address, size_t bytes,
                                             hipMemPool_t pool,
                                             hipStream_t stream);
#define HIP_ENTRY(entry, parameters, need, name)                               \
  static_assert(gpuasync_test::SameSignature<decltype(own::HipTable::name),    \
                                             decltype(&name)>::value,          \
                #name);
#include "device/vendor/VendorSymbols.def"
} // namespace real
#endif // HIP_VERSION

TEST(HipTypes, AgreeWithTheRealHeaders) {
#if !defined(HIP_VERSION) || HIP_VERSION < 60000000
  GTEST_SKIP() << "no hip_runtime_api.h of ROCm 6.0 or later";
#else
  auto marker = [](void *value) { return reinterpret_cast<uintptr_t>(value); };
  EXPECT_EQ(own::LaunchParamBufferPointer,
            marker(HIP_LAUNCH_PARAM_BUFFER_POINTER));
  EXPECT_EQ(own::LaunchParamBufferSize, marker(HIP_LAUNCH_PARAM_BUFFER_SIZE));
  EXPECT_EQ(own::LaunchParamEnd, marker(HIP_LAUNCH_PARAM_END));
#endif
}

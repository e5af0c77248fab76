//===- CudaTypesTest.cpp - Own CUDA declarations against cuda.h -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares VendorTypes.h, CudaTypes.h and VendorSymbols.def with the real
// cuda.h where the machine has one; everything is checked by the compiler.
//===----------------------------------------------------------------------===//

#include "gtest/gtest.h"

// Before ours: cuda.h maps plain names to versioned ones by macros, and so both
// tables below get the same names.
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif
#include "CudaTable.h"
#include "SameSignature.h"

#if defined(CUDA_VERSION) && CUDA_VERSION >= 12040
namespace own = gpuasync::cuda;

#define SAME(ownName, realName)                                                \
  static_assert(int64_t(own::ownName) == int64_t(realName), #realName)
SAME(Success, CUDA_SUCCESS);
SAME(ErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(ErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(ErrorDeinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(ErrorDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(ErrorNoDevice, CUDA_ERROR_NO_DEVICE);
SAME(ErrorInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(ErrorNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(ErrorEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(ErrorInvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(ErrorNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(ErrorJitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
SAME(ErrorUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(ErrorNotFound, CUDA_ERROR_NOT_FOUND);
SAME(ErrorNotReady, CUDA_ERROR_NOT_READY);
SAME(ErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(ErrorLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(ErrorLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(ErrorContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(ErrorAssert, CUDA_ERROR_ASSERT);
SAME(ErrorHostMemoryAlreadyRegistered,
     CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME(ErrorHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(ErrorIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(ErrorMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(ErrorInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(ErrorInvalidPc, CUDA_ERROR_INVALID_PC);
SAME(ErrorLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(ErrorCooperativeLaunchTooLarge, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
SAME(ErrorNotPermitted, CUDA_ERROR_NOT_PERMITTED);
SAME(ErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(ErrorGraphUpdateFailure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
SAME(ErrorMpsClientTerminated, CUDA_ERROR_MPS_CLIENT_TERMINATED);
SAME(ErrorExternalDevice, CUDA_ERROR_EXTERNAL_DEVICE);

SAME(MaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(MaxBlockDimX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
SAME(MaxBlockDimX + 1, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
SAME(MaxBlockDimX + 2, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
SAME(MaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME(MaxGridDimX + 1, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
SAME(MaxGridDimX + 2, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
SAME(MaxPitch, CU_DEVICE_ATTRIBUTE_MAX_PITCH);
SAME(MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(UnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(ConcurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
SAME(CooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
SAME(MaxSharedMemoryPerBlockOptin,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(ReadOnlyHostRegisterSupported,
     CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED);
SAME(MemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(ClusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);

SAME(FuncMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(FuncSharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(FuncLocalSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(FuncMaxDynamicSharedSizeBytes,
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(FuncNonPortableClusterSizeAllowed,
     CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME(JitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME(JitErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(JitInputPtx, CU_JIT_INPUT_PTX);
SAME(PoolReuseAllowInternalDependencies,
     CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES);
SAME(PoolReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(LimitStackSize, CU_LIMIT_STACK_SIZE);
SAME(StreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(EventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(MemAttachGlobal, CU_MEM_ATTACH_GLOBAL);
SAME(HostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME(HostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
SAME(HostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE);
SAME(HostRegisterDeviceMap, CU_MEMHOSTREGISTER_DEVICEMAP);
SAME(HostRegisterReadOnly, CU_MEMHOSTREGISTER_READ_ONLY);
SAME(PointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(PointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME(MemoryTypeHost, CU_MEMORYTYPE_HOST);
SAME(MemoryTypeDevice, CU_MEMORYTYPE_DEVICE);
SAME(MemoryTypeUnified, CU_MEMORYTYPE_UNIFIED);
SAME(StreamCaptureStatusNone, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(StreamCaptureStatusActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(StreamCaptureStatusInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(StreamCaptureModeThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(StreamCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(GraphKernelNodePortProgrammatic, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
SAME(GraphDependencyTypeProgrammatic, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
SAME(LaunchAttributeCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME(LaunchAttributeClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);

#define SAME_SIZE(name) static_assert(sizeof(own::name) == sizeof(::name), "")
#define SAME_FIELD(name, field)                                                \
  static_assert(offsetof(own::name, field) == offsetof(::name, field), #field)
static_assert(sizeof(::CUdeviceptr) == sizeof(void *), "");
SAME_SIZE(CUlaunchAttribute);
SAME_FIELD(CUlaunchAttribute, value);
SAME_SIZE(CUlaunchConfig);
SAME_FIELD(CUlaunchConfig, sharedMemBytes);
SAME_FIELD(CUlaunchConfig, hStream);
SAME_FIELD(CUlaunchConfig, attrs);
SAME_FIELD(CUlaunchConfig, numAttrs);
static_assert(sizeof(own::PoolProperties) == sizeof(::CUmemPoolProps), "");
static_assert(offsetof(own::PoolProperties, location) ==
              offsetof(::CUmemPoolProps, location));
static_assert(offsetof(own::PoolProperties, maxSize) ==
              offsetof(::CUmemPoolProps, maxSize));
SAME_SIZE(CUlaunchAttributeValue);
#if CUDA_VERSION >= 12030
SAME_SIZE(CUgraphEdgeData);
SAME_FIELD(CUgraphEdgeData, from_port);
SAME_FIELD(CUgraphEdgeData, to_port);
SAME_FIELD(CUgraphEdgeData, type);
#endif
SAME_SIZE(CUDA_KERNEL_NODE_PARAMS);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, gridDimX);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, kernelParams);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, extra);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, kern);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, ctx);
SAME_SIZE(CUDA_MEMCPY3D);
SAME_FIELD(CUDA_MEMCPY3D, srcMemoryType);
SAME_FIELD(CUDA_MEMCPY3D, srcDevice);
SAME_FIELD(CUDA_MEMCPY3D, srcPitch);
SAME_FIELD(CUDA_MEMCPY3D, dstMemoryType);
SAME_FIELD(CUDA_MEMCPY3D, dstDevice);
SAME_FIELD(CUDA_MEMCPY3D, dstPitch);
SAME_FIELD(CUDA_MEMCPY3D, WidthInBytes);
SAME_FIELD(CUDA_MEMCPY3D, Height);
SAME_FIELD(CUDA_MEMCPY3D, Depth);
SAME_SIZE(CUDA_MEMCPY2D);
SAME_FIELD(CUDA_MEMCPY2D, srcMemoryType);
SAME_FIELD(CUDA_MEMCPY2D, srcDevice);
SAME_FIELD(CUDA_MEMCPY2D, srcPitch);
SAME_FIELD(CUDA_MEMCPY2D, dstMemoryType);
SAME_FIELD(CUDA_MEMCPY2D, dstDevice);
SAME_FIELD(CUDA_MEMCPY2D, dstPitch);
SAME_FIELD(CUDA_MEMCPY2D, WidthInBytes);
SAME_FIELD(CUDA_MEMCPY2D, Height);

// cuda.h declares the newest version of each, which is what VendorSymbols.def
// names, but for this one: CUDA 12.0's is what it declares for the library's
// own use.
extern "C" CUresult CUDAAPI cuStreamGetCaptureInfo_v2(
    CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
    cuuint64_t *id_out, CUgraph *graph_out,
    const CUgraphNode **dependencies_out, size_t *numDependencies_out);
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  static_assert(gpuasync_test::SameSignature<decltype(own::CudaTable::name),   \
                                             decltype(&::name)>::value,        \
                #name);
#include "device/vendor/VendorSymbols.def"
#endif // CUDA_VERSION

TEST(CudaTypes, AgreeWithCudaH) {
#if !defined(CUDA_VERSION) || CUDA_VERSION < 12040
  GTEST_SKIP() << "no cuda.h of 12.4 or newer";
#endif
}

//===- CudaTypes.h - Own declarations of the CUDA driver API ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types and values of the CUDA driver API that HIP does not share.
// test/runtime/unit/CudaTypesTest.cpp compares them with the real cuda.h where
// there is one.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_CUDA_CUDATYPES_H
#define GPUASYNC_DEVICE_CUDA_CUDATYPES_H

#include "device/vendor/VendorTypes.h"

namespace gpuasync {
namespace cuda {

using namespace vendor;

enum : int {
  ErrorDeviceUnavailable = 46,
  ErrorNvlinkUncorrectable = 220,
  ErrorJitCompilerNotFound = 221,
  ErrorUnsupportedPtxVersion = 222,
  ErrorContained = 226,
  ErrorHardwareStackError = 714,
  ErrorIllegalInstruction = 715,
  ErrorMisalignedAddress = 716,
  ErrorInvalidAddressSpace = 717,
  ErrorInvalidPc = 718,
  ErrorTensorMemoryLeak = 721,
  ErrorNotPermitted = 800,
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
  ConcurrentManagedAccess = 89,
  CooperativeLaunch = 95,
  MaxSharedMemoryPerBlockOptin = 97,
  ReadOnlyHostRegisterSupported = 113,
  MemoryPoolsSupported = 115,
  ClusterLaunch = 120
};

enum : int { FuncNonPortableClusterSizeAllowed = 14 };

enum JitOption : int { JitErrorLogBuffer = 5, JitErrorLogBufferSizeBytes = 6 };

enum JitInput : int { JitInputPtx = 1 };

enum : int { PointerMemoryType = 2, PointerIsManaged = 8 };
enum : unsigned { MemoryTypeUnified = 4 };
enum : uintptr_t { LaunchParamEnd = 0 };

enum LaunchAttributeId : unsigned {
  LaunchAttributeCooperative = 2,
  LaunchAttributeClusterDimension = 4
};

union CUlaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned x, y, z;
  } clusterDim;
};

struct CUlaunchAttribute {
  unsigned id;
  char pad[4];
  CUlaunchAttributeValue value;
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  StreamHandle hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};

struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  unsigned srcMemoryType;
  const void *srcHost;
  const void *srcDevice;
  void *srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  unsigned dstMemoryType;
  void *dstHost;
  void *dstDevice;
  void *dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
};

struct CUDA_MEMCPY3D {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  unsigned srcMemoryType;
  const void *srcHost;
  const void *srcDevice;
  void *srcArray, *reserved0;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  unsigned dstMemoryType;
  void *dstHost;
  void *dstDevice;
  void *dstArray, *reserved1;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
};

enum : unsigned char {
  GraphKernelNodePortProgrammatic = 1,
  GraphKernelNodePortLaunchOrder = 2
};
enum : unsigned char { GraphDependencyTypeProgrammatic = 1 };

struct CUgraphEdgeData {
  unsigned char from_port, to_port, type;
  unsigned char reserved[5];
};

struct CUDA_KERNEL_NODE_PARAMS {
  FunctionHandle func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void **kernelParams;
  void **extra;
  void *kern;
  void *ctx;
};

} // namespace cuda
} // namespace gpuasync

#endif // GPUASYNC_DEVICE_CUDA_CUDATYPES_H

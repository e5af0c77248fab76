//===- CudaApi.h - CUDA as a parameter of the vendor driver -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One static function per vendor call that drivers/shared makes, over the table
// of entry points; what is peculiar to CUDA is behind it in CudaApi.cpp and
// CudaImage.cpp.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DRIVERS_CUDA_CUDAAPI_H
#define GPUASYNC_DRIVERS_CUDA_CUDAAPI_H

#include "core/Driver.h"
#include "drivers/cuda/CudaTypes.h"
#include "drivers/shared/VendorDevice.h"

namespace gpuasync {
namespace cuda {

/// Filled once by CudaApi::load, constant after that.
extern CudaTable table;

extern const char builtinPtx[];
extern const size_t builtinPtxBytes;

/// What a vendor call returned, and its name for messages.
struct CudaCall {
  CUresult code;
  const char *name;
};

#define GPUASYNC_CUDA_CALL(function, ...)                                      \
  ::gpuasync::cuda::CudaCall {                                                 \
    (++::gpuasync::driverCallCount,                                            \
     ::gpuasync::cuda::table.function(__VA_ARGS__)),                           \
        #function                                                              \
  }

struct CudaApi {
  using Call = CudaCall;
  using Context = CUcontext;
  using Stream = CUstream;
  using Event = CUevent;
  using Module = CUmodule;
  using Function = CUfunction;
  using Pool = CUmemoryPool;

  static constexpr CUresult success = Success;
  static constexpr CUresult notReady = ErrorNotReady;
  static constexpr CUresult notSupported = ErrorNotSupported;
  static constexpr CUresult notFound = ErrorNotFound;
  static constexpr CUresult invalidValue = ErrorInvalidValue;
  static constexpr CUresult alreadyRegistered =
      ErrorHostMemoryAlreadyRegistered;
  static constexpr CUresult cooperativeTooLarge =
      ErrorCooperativeLaunchTooLarge;
  static constexpr bool hostAddressesMayDiffer = false;

  static const char *name() { return "cuda"; }

  //===--- Library, devices, errors

  /// Opens the library, fills the table, checks its version, initialises it.
  static Status load();
  static Call deviceCount(int &count) {
    return GPUASYNC_CUDA_CALL(cuDeviceGetCount, &count);
  }
  static Status describeDevice(int32_t ordinal, DeviceInfo &info,
                               VendorLimits &limits);
  static const char *errorName(CUresult code);
  static const char *errorText(CUresult code);
  static bool losesDevice(CUresult code);
  /// Of gpuasync_status_code.
  static uint32_t statusCode(CUresult code);

  //===--- Contexts

  static void *toPointer(CUcontext context) { return context; }
  static CUcontext toContext(void *pointer) {
    return static_cast<CUcontext>(pointer);
  }
  static constexpr bool hasContexts = true;
  static constexpr bool hasTensorMaps = true;
  /// A parameter of more bytes is aligned in the bank that all lie in, which
  /// does not begin at a multiple of 64.
  static constexpr size_t maxPlainParameterBytes = 16;
  static Call retainContext(int32_t ordinal, CUcontext &context);
  static Call contextDevice(CUcontext context, int32_t &ordinal);
  static Call releaseContext(int32_t ordinal);
  static Call currentContext(CUcontext &context) {
    return GPUASYNC_CUDA_CALL(cuCtxGetCurrent, &context);
  }
  static Call setCurrentContext(CUcontext context) {
    return GPUASYNC_CUDA_CALL(cuCtxSetCurrent, context);
  }
  static bool contextIsGone(CUresult code) {
    return code == ErrorContextIsDestroyed || code == ErrorInvalidContext;
  }
  static Call contextId(CUcontext context, uint64_t &id) {
    unsigned long long value = 0;
    Call call = GPUASYNC_CUDA_CALL(cuCtxGetId, context, &value);
    id = value;
    return call;
  }

  //===--- Streams and events

  static Call streamCreate(CUstream &stream) {
    return GPUASYNC_CUDA_CALL(cuStreamCreate, &stream, StreamNonBlocking);
  }
  static Call streamDestroy(CUstream stream) {
    return GPUASYNC_CUDA_CALL(cuStreamDestroy, stream);
  }
  static Call streamQuery(CUstream stream) {
    return GPUASYNC_CUDA_CALL(cuStreamQuery, stream);
  }
  static Call streamWaitEvent(CUstream stream, CUevent event) {
    return GPUASYNC_CUDA_CALL(cuStreamWaitEvent, stream, event, 0);
  }
  /// `status`: of CaptureState::Kind, whose values are the vendor's.
  static Call streamCaptureInfo(CUstream stream, int &status, uint64_t &id) {
    if (table.cuStreamGetCaptureInfo)
      return GPUASYNC_CUDA_CALL(cuStreamGetCaptureInfo, stream, &status, &id,
                                nullptr, nullptr, nullptr, nullptr);
    // Before 12.3: all captures have one number, and CUDA itself refuses to mix
    // them.
    id = 1;
    if (table.cuStreamIsCapturing)
      return GPUASYNC_CUDA_CALL(cuStreamIsCapturing, stream, &status);
    return {ErrorNotSupported, "cuStreamIsCapturing"};
  }
  static constexpr int captureModeRelaxed = StreamCaptureModeRelaxed;
  /// Sets the calling thread's mode and returns the former one in it; false if
  /// that failed.
  static bool exchangeCaptureMode(int &mode) {
    return table.cuThreadExchangeStreamCaptureMode &&
           GPUASYNC_CUDA_CALL(cuThreadExchangeStreamCaptureMode, &mode).code ==
               success;
  }
  static Call streamWriteValue(CUstream stream, uint32_t *slot,
                               uint32_t value) {
    return GPUASYNC_CUDA_CALL(cuStreamWriteValue32, stream, address(slot),
                              value, 0);
  }
  static Call eventCreate(CUevent &event) {
    return GPUASYNC_CUDA_CALL(cuEventCreate, &event, EventDisableTiming);
  }
  static Call eventDestroy(CUevent event) {
    return GPUASYNC_CUDA_CALL(cuEventDestroy, event);
  }
  static Call eventRecord(CUevent event, CUstream stream) {
    return GPUASYNC_CUDA_CALL(cuEventRecord, event, stream);
  }
  static Call eventQuery(CUevent event) {
    return GPUASYNC_CUDA_CALL(cuEventQuery, event);
  }

  //===--- Modules and functions

  static const char *imageName(uint32_t format);
  static uint32_t imageRank(const VendorLimits &limits,
                            const gpuasync_image &image,
                            std::string *why = nullptr);
  /// The number of parameters that `kernel` has in the image, -1 if the image
  /// does not tell. The driver itself is not asked: it could only be asked for
  /// one parameter too many, and checking tools report that as an error.
  static int64_t imageParamCount(const gpuasync_image &image,
                                 const char *kernel);
  /// False if there are no built-in kernels for the device.
  static bool builtinImage(const VendorLimits &limits, gpuasync_image &image);
  /// Loads what the driver made of this PTX for this chip in an earlier
  /// process, or makes it and keeps it on disk. False if it cannot: the disk
  /// cache is off, or the driver refuses, and is then asked to load the PTX
  /// itself. The context is current.
  static bool loadFromDisk(const gpuasync_image &image, CUmodule &module);
  /// On failure `log` holds what the driver's compiler said, in one line.
  static Call moduleLoad(const gpuasync_image &image, CUmodule &module,
                         char *log, size_t logBytes);
  static Call moduleUnload(CUmodule module) {
    return GPUASYNC_CUDA_CALL(cuModuleUnload, module);
  }
  static Call moduleGetFunction(CUmodule module, const char *name,
                                CUfunction &function) {
    return GPUASYNC_CUDA_CALL(cuModuleGetFunction, &function, module, name);
  }
  /// Before 12.4 the calls of functionInfo load it.
  static Call functionLoad(CUfunction function) {
    if (!table.cuFuncLoad)
      return {Success, "cuFuncLoad"};
    return GPUASYNC_CUDA_CALL(cuFuncLoad, function);
  }
  static Call functionInfo(CUfunction function, int &maxThreads,
                           int &staticShared, int &localBytes);
  static Call functionSetDynamicShared(CUfunction function, uint32_t bytes) {
    return GPUASYNC_CUDA_CALL(cuFuncSetAttribute, function,
                              FuncMaxDynamicSharedSizeBytes, int(bytes));
  }
  /// Leaves offset and size alone where the driver cannot tell.
  static Call functionParamInfo(CUfunction function, uint32_t index,
                                size_t &offset, size_t &size) {
    if (!table.cuFuncGetParamInfo)
      return {Success, "cuFuncGetParamInfo"};
    return GPUASYNC_CUDA_CALL(cuFuncGetParamInfo, function, index, &offset,
                              &size);
  }
  static Call reserveLocalMemory(uint32_t bytesPerThread);
  /// Blocks that one multiprocessor holds; 0 if unknown.
  static int residentBlocks(CUfunction function, int threads, size_t shared);

  static Call launch(CUfunction function, CUstream stream,
                     const gpuasync_kernel &, const gpuasync_block &block,
                     uint32_t paramBytes) {
    size_t bytes = paramBytes;
    void *extra[] = {reinterpret_cast<void *>(LaunchParamBufferPointer),
                     const_cast<void *>(block.params),
                     reinterpret_cast<void *>(LaunchParamBufferSize), &bytes,
                     reinterpret_cast<void *>(LaunchParamEnd)};
    bool plain = block.flags == 0 && block.cluster[0] <= 1 &&
                 block.cluster[1] <= 1 && block.cluster[2] <= 1;
    if (__builtin_expect(!plain, 0))
      return launchExtended(function, stream, block, nullptr,
                            paramBytes ? extra : nullptr);
    return GPUASYNC_CUDA_CALL(
        cuLaunchKernel, function, unsigned(block.grid[0]),
        unsigned(block.grid[1]), unsigned(block.grid[2]),
        unsigned(block.block[0]), unsigned(block.block[1]),
        unsigned(block.block[2]), unsigned(block.dynamicSharedBytes), stream,
        nullptr, paramBytes ? extra : nullptr);
  }
  static Call launchPointers(CUfunction function, CUstream stream,
                             const gpuasync_block &block, void **parameters) {
    bool plain = block.flags == 0 && block.cluster[0] <= 1 &&
                 block.cluster[1] <= 1 && block.cluster[2] <= 1;
    if (!plain)
      return launchExtended(function, stream, block, parameters, nullptr);
    return GPUASYNC_CUDA_CALL(
        cuLaunchKernel, function, unsigned(block.grid[0]),
        unsigned(block.grid[1]), unsigned(block.grid[2]),
        unsigned(block.block[0]), unsigned(block.block[1]),
        unsigned(block.block[2]), unsigned(block.dynamicSharedBytes), stream,
        parameters, nullptr);
  }
  static Call launchExtended(CUfunction function, CUstream stream,
                             const gpuasync_block &block, void **parameters,
                             void **extra);

  //===--- Copies and fills

  static Call copy(void *destination, const void *source, uint64_t bytes,
                   CUstream stream) {
    return GPUASYNC_CUDA_CALL(cuMemcpyAsync, address(destination),
                              address(source), bytes, stream);
  }
  static Call copy2D(void *destination, size_t destinationPitch,
                     const void *source, size_t sourcePitch, size_t width,
                     size_t height, CUstream stream);
  /// `bytes` is 1, 2 or 4.
  static Call fill(void *destination, uint32_t value, uint32_t bytes,
                   size_t count, CUstream stream);
  /// Whether fill2D takes elements of that many bytes.
  static constexpr bool fills2D(uint32_t) { return true; }
  static Call fill2D(void *destination, size_t pitch, uint32_t value,
                     uint32_t bytes, size_t width, size_t height,
                     CUstream stream);

  //===--- Memory

  static Call poolCreate(int32_t ordinal, CUmemoryPool &pool);
  static Call poolDestroy(CUmemoryPool pool) {
    return GPUASYNC_CUDA_CALL(cuMemPoolDestroy, pool);
  }
  static Call poolTrim(CUmemoryPool pool, uint64_t keepBytes) {
    return GPUASYNC_CUDA_CALL(cuMemPoolTrimTo, pool, keepBytes);
  }
  static Call allocAsync(void *&out, uint64_t bytes, CUmemoryPool pool,
                         CUstream stream) {
    CUdeviceptr pointer = 0;
    Call call = GPUASYNC_CUDA_CALL(cuMemAllocFromPoolAsync, &pointer, bytes,
                                   pool, stream);
    out = reinterpret_cast<void *>(pointer);
    return call;
  }
  static Call freeAsync(void *pointer, CUstream stream) {
    return GPUASYNC_CUDA_CALL(cuMemFreeAsync, address(pointer), stream);
  }
  static Call alloc(void *&out, uint64_t bytes) {
    CUdeviceptr pointer = 0;
    Call call = GPUASYNC_CUDA_CALL(cuMemAlloc, &pointer, bytes);
    out = reinterpret_cast<void *>(pointer);
    return call;
  }
  static Call allocManaged(void *&out, uint64_t bytes) {
    CUdeviceptr pointer = 0;
    Call call =
        GPUASYNC_CUDA_CALL(cuMemAllocManaged, &pointer, bytes, MemAttachGlobal);
    out = reinterpret_cast<void *>(pointer);
    return call;
  }
  static Call allocPinned(void *&out, uint64_t bytes) {
    return GPUASYNC_CUDA_CALL(cuMemHostAlloc, &out, bytes,
                              HostAllocPortable | HostAllocDeviceMap);
  }
  /// Device and managed memory.
  static Call free(void *pointer) {
    return GPUASYNC_CUDA_CALL(cuMemFree, address(pointer));
  }
  static Call freePinned(void *pointer) {
    return GPUASYNC_CUDA_CALL(cuMemFreeHost, pointer);
  }
  static Call memoryInfo(size_t &freeBytes, size_t &totalBytes) {
    return GPUASYNC_CUDA_CALL(cuMemGetInfo, &freeBytes, &totalBytes);
  }
  static Call hostRegister(void *pointer, uint64_t bytes, bool readOnly) {
    return GPUASYNC_CUDA_CALL(cuMemHostRegister, pointer, bytes,
                              HostRegisterPortable | HostRegisterDeviceMap |
                                  (readOnly ? HostRegisterReadOnly : 0u));
  }
  static Call hostUnregister(void *pointer) {
    return GPUASYNC_CUDA_CALL(cuMemHostUnregister, pointer);
  }
  static Call pointerKind(const void *pointer, PointerKind &kind);
  static Call encodeTensorMap(const TensorMap &map, void *out);

private:
  static CUdeviceptr address(const void *pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
  }
};

} // namespace cuda
} // namespace gpuasync

#endif // GPUASYNC_DRIVERS_CUDA_CUDAAPI_H

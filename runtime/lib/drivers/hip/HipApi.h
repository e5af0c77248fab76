//===- HipApi.h - HIP as a parameter of the vendor driver -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One static function per vendor call that drivers/shared makes, over the table
// of entry points; what is peculiar to HIP is behind it in HipApi.cpp and
// HipImage.cpp.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DRIVERS_HIP_HIPAPI_H
#define GPUASYNC_DRIVERS_HIP_HIPAPI_H

#include "core/Driver.h"
#include "drivers/hip/HipTypes.h"
#include "drivers/shared/VendorDevice.h"

namespace gpuasync {
namespace hip {

/// Filled once by HipApi::load, constant after that.
extern HipTable table;

/// The built-in kernels compiled for one chip.
struct BuiltinObject {
  const char *arch;
  const char *data;
  size_t bytes;
};
extern const BuiltinObject builtinObjects[];
extern const size_t builtinObjectCount;

/// What a vendor call returned, and its name for messages.
struct HipCall {
  hipError_t code;
  const char *name;
};

#define GPUASYNC_HIP_CALL(function, ...)                                       \
  ::gpuasync::hip::HipCall {                                                   \
    (++::gpuasync::driverCallCount,                                            \
     ::gpuasync::hip::table.function(__VA_ARGS__)),                            \
        #function                                                              \
  }

struct HipApi {
  using Call = HipCall;
  /// HIP has no contexts: each thread has a current device, 0 at first.
  using Context = int;
  using Stream = hipStream_t;
  using Event = hipEvent_t;
  using Module = hipModule_t;
  using Function = hipFunction_t;
  using Pool = hipMemPool_t;

  static constexpr hipError_t success = Success;
  static constexpr hipError_t notReady = ErrorNotReady;
  static constexpr hipError_t notSupported = ErrorNotSupported;
  static constexpr hipError_t notFound = ErrorNotFound;
  static constexpr hipError_t invalidValue = ErrorInvalidValue;
  static constexpr hipError_t alreadyRegistered =
      ErrorHostMemoryAlreadyRegistered;
  static constexpr hipError_t cooperativeTooLarge =
      ErrorCooperativeLaunchTooLarge;
  /// Registered memory has an address of its own on many devices.
  static constexpr bool hostAddressesMayDiffer = true;

  static const char *name() { return "hip"; }

  //===--- Library, devices, errors

  /// Opens the library, fills the table, checks its version, initialises it.
  static Status load();
  static Call deviceCount(int &count) {
    return GPUASYNC_HIP_CALL(hipGetDeviceCount, &count);
  }
  static Status describeDevice(int32_t ordinal, DeviceInfo &info,
                               VendorLimits &limits);
  static const char *errorName(hipError_t code);
  static const char *errorText(hipError_t code);
  static bool losesDevice(hipError_t code);
  /// Of gpuasync_status_code.
  static uint32_t statusCode(hipError_t code);

  //===--- The current device in place of contexts

  static void *toPointer(int device) {
    return reinterpret_cast<void *>(intptr_t(device));
  }
  static int toContext(void *pointer) {
    return int(reinterpret_cast<intptr_t>(pointer));
  }
  static constexpr bool hasContexts = false;
  static constexpr bool hasTensorMaps = false;
  static constexpr size_t maxPlainParameterBytes = SIZE_MAX;
  static Call contextDevice(int context, int32_t &ordinal) {
    ordinal = context;
    return {Success, "hipGetDevice"};
  }
  static Call retainContext(int32_t ordinal, int &context) {
    context = ordinal;
    return {Success, "hipSetDevice"};
  }
  static Call releaseContext(int32_t) { return {Success, "hipSetDevice"}; }
  static Call currentContext(int &context) {
    return GPUASYNC_HIP_CALL(hipGetDevice, &context);
  }
  static Call setCurrentContext(int context) {
    return GPUASYNC_HIP_CALL(hipSetDevice, context);
  }
  static bool contextIsGone(hipError_t code) {
    return code == ErrorContextIsDestroyed;
  }
  /// Nothing tells that other code has reset the device.
  static Call contextId(int, uint64_t &id) {
    id = 0;
    return {Success, "hipGetDevice"};
  }

  //===--- Streams and events

  static Call streamCreate(hipStream_t &stream) {
    return GPUASYNC_HIP_CALL(hipStreamCreateWithFlags, &stream,
                             StreamNonBlocking);
  }
  static Call streamDestroy(hipStream_t stream) {
    return GPUASYNC_HIP_CALL(hipStreamDestroy, stream);
  }
  static Call streamQuery(hipStream_t stream) {
    return GPUASYNC_HIP_CALL(hipStreamQuery, stream);
  }
  static Call streamWaitEvent(hipStream_t stream, hipEvent_t event) {
    return GPUASYNC_HIP_CALL(hipStreamWaitEvent, stream, event, 0);
  }
  /// `status`: of CaptureState::Kind, whose values are the vendor's.
  static Call streamCaptureInfo(hipStream_t stream, int &status, uint64_t &id) {
    if (!table.hipStreamGetCaptureInfo)
      return {ErrorNotSupported, "hipStreamGetCaptureInfo"};
    unsigned long long number = 0;
    Call call =
        GPUASYNC_HIP_CALL(hipStreamGetCaptureInfo, stream, &status, &number);
    id = number;
    return call;
  }
  static constexpr int captureModeRelaxed = StreamCaptureModeRelaxed;
  /// Sets the calling thread's mode and returns the former one in it; false if
  /// that failed.
  static bool exchangeCaptureMode(int &mode) {
    return table.hipThreadExchangeStreamCaptureMode &&
           GPUASYNC_HIP_CALL(hipThreadExchangeStreamCaptureMode, &mode).code ==
               success;
  }
  static Call streamWriteValue(hipStream_t stream, uint32_t *slot,
                               uint32_t value) {
    return GPUASYNC_HIP_CALL(hipStreamWriteValue32, stream, slot, value, 0);
  }
  /// Any event may become a token that the host waits for, and what the work
  /// wrote must be visible then.
  static Call eventCreate(hipEvent_t &event) {
    return GPUASYNC_HIP_CALL(hipEventCreateWithFlags, &event,
                             EventDisableTiming | EventReleaseToSystem);
  }
  static Call eventDestroy(hipEvent_t event) {
    return GPUASYNC_HIP_CALL(hipEventDestroy, event);
  }
  static Call eventRecord(hipEvent_t event, hipStream_t stream) {
    return GPUASYNC_HIP_CALL(hipEventRecord, event, stream);
  }
  static Call eventQuery(hipEvent_t event) {
    return GPUASYNC_HIP_CALL(hipEventQuery, event);
  }

  //===--- Modules and functions

  static const char *imageName(uint32_t format);
  static uint32_t imageRank(const VendorLimits &limits,
                            const gpuasync_image &image,
                            std::string *why = nullptr);
  /// The number of parameters that `kernel` has in the image, -1 if the image
  /// does not tell.
  static int64_t imageParamCount(const gpuasync_image &image,
                                 const char *kernel);
  /// False if there are no built-in kernels for the device.
  static bool builtinImage(const VendorLimits &limits, gpuasync_image &image);
  /// On failure `log` is empty: nothing is compiled here.
  static Call moduleLoad(const gpuasync_image &image, hipModule_t &module,
                         char *log, size_t logBytes) {
    if (logBytes)
      log[0] = '\0';
    return GPUASYNC_HIP_CALL(hipModuleLoadData, &module, image.data);
  }
  static Call moduleUnload(hipModule_t module) {
    return GPUASYNC_HIP_CALL(hipModuleUnload, module);
  }
  static Call moduleGetFunction(hipModule_t module, const char *name,
                                hipFunction_t &function) {
    return GPUASYNC_HIP_CALL(hipModuleGetFunction, &function, module, name);
  }
  /// Modules are loaded wholly.
  static Call functionLoad(hipFunction_t) {
    return {Success, "hipModuleGetFunction"};
  }
  static Call functionInfo(hipFunction_t function, int &maxThreads,
                           int &staticShared, int &localBytes);
  /// A block may use all there is without asking for it.
  static Call functionSetDynamicShared(hipFunction_t, uint32_t) {
    return {Success, "hipFuncSetAttribute"};
  }
  /// The image has told the number; offsets and sizes nobody tells.
  static Call functionParamInfo(hipFunction_t, uint32_t, size_t &, size_t &) {
    return {Success, "hipFuncGetAttribute"};
  }
  /// Grown by the driver beside running work; there is nothing to set.
  static Call reserveLocalMemory(uint32_t) {
    return {Success, "hipDeviceSetLimit"};
  }
  /// Blocks that one multiprocessor holds; 0 if unknown.
  static int residentBlocks(hipFunction_t function, int threads, size_t shared);

  static Call launch(hipFunction_t function, hipStream_t stream,
                     const gpuasync_kernel &kernel, const gpuasync_block &block,
                     uint32_t paramBytes) {
    if (__builtin_expect(block.flags != 0, 0))
      return launchCooperative(function, stream, kernel, block);
    size_t bytes = paramBytes;
    void *extra[] = {reinterpret_cast<void *>(LaunchParamBufferPointer),
                     const_cast<void *>(block.params),
                     reinterpret_cast<void *>(LaunchParamBufferSize), &bytes,
                     reinterpret_cast<void *>(LaunchParamEnd)};
    return GPUASYNC_HIP_CALL(hipModuleLaunchKernel, function,
                             unsigned(block.grid[0]), unsigned(block.grid[1]),
                             unsigned(block.grid[2]), unsigned(block.block[0]),
                             unsigned(block.block[1]), unsigned(block.block[2]),
                             unsigned(block.dynamicSharedBytes), stream,
                             nullptr, paramBytes ? extra : nullptr);
  }
  /// Without clusters and flags, which no caller has here.
  static Call launchPointers(hipFunction_t function, hipStream_t stream,
                             const gpuasync_block &block, void **parameters) {
    return GPUASYNC_HIP_CALL(hipModuleLaunchKernel, function,
                             unsigned(block.grid[0]), unsigned(block.grid[1]),
                             unsigned(block.grid[2]), unsigned(block.block[0]),
                             unsigned(block.block[1]), unsigned(block.block[2]),
                             unsigned(block.dynamicSharedBytes), stream,
                             parameters, nullptr);
  }
  static Call launchCooperative(hipFunction_t function, hipStream_t stream,
                                const gpuasync_kernel &kernel,
                                const gpuasync_block &block);

  //===--- Copies and fills

  static Call copy(void *destination, const void *source, uint64_t bytes,
                   hipStream_t stream) {
    return GPUASYNC_HIP_CALL(hipMemcpyAsync, destination, source, bytes,
                             MemcpyDefault, stream);
  }
  static Call copy2D(void *destination, size_t destinationPitch,
                     const void *source, size_t sourcePitch, size_t width,
                     size_t height, hipStream_t stream) {
    return GPUASYNC_HIP_CALL(hipMemcpy2DAsync, destination, destinationPitch,
                             source, sourcePitch, width, height, MemcpyDefault,
                             stream);
  }
  /// `bytes` is 1, 2 or 4.
  static Call fill(void *destination, uint32_t value, uint32_t bytes,
                   size_t count, hipStream_t stream);
  /// Whether fill2D takes elements of that many bytes.
  static constexpr bool fills2D(uint32_t bytes) { return bytes == 1; }
  static Call fill2D(void *destination, size_t pitch, uint32_t value, uint32_t,
                     size_t width, size_t height, hipStream_t stream) {
    return GPUASYNC_HIP_CALL(hipMemset2DAsync, destination, pitch, int(value),
                             width, height, stream);
  }

  //===--- Memory

  static Call poolCreate(int32_t ordinal, hipMemPool_t &pool);
  static Call poolDestroy(hipMemPool_t pool) {
    return GPUASYNC_HIP_CALL(hipMemPoolDestroy, pool);
  }
  static Call poolTrim(hipMemPool_t pool, uint64_t keepBytes) {
    return GPUASYNC_HIP_CALL(hipMemPoolTrimTo, pool, keepBytes);
  }
  static Call allocAsync(void *&out, uint64_t bytes, hipMemPool_t pool,
                         hipStream_t stream) {
    return GPUASYNC_HIP_CALL(hipMallocFromPoolAsync, &out, bytes, pool, stream);
  }
  static Call freeAsync(void *pointer, hipStream_t stream) {
    return GPUASYNC_HIP_CALL(hipFreeAsync, pointer, stream);
  }
  static Call alloc(void *&out, uint64_t bytes) {
    return GPUASYNC_HIP_CALL(hipMalloc, &out, bytes);
  }
  static Call allocManaged(void *&out, uint64_t bytes) {
    return GPUASYNC_HIP_CALL(hipMallocManaged, &out, bytes, MemAttachGlobal);
  }
  static Call allocPinned(void *&out, uint64_t bytes) {
    return GPUASYNC_HIP_CALL(hipHostMalloc, &out, bytes,
                             HostMallocPortable | HostMallocMapped);
  }
  /// Device and managed memory.
  static Call free(void *pointer) {
    return GPUASYNC_HIP_CALL(hipFree, pointer);
  }
  static Call freePinned(void *pointer) {
    return GPUASYNC_HIP_CALL(hipHostFree, pointer);
  }
  static Call memoryInfo(size_t &freeBytes, size_t &totalBytes) {
    return GPUASYNC_HIP_CALL(hipMemGetInfo, &freeBytes, &totalBytes);
  }
  /// Never asked for read-only memory: VendorLimits::readOnlyRegister is false.
  static Call hostRegister(void *pointer, uint64_t bytes, bool) {
    return GPUASYNC_HIP_CALL(hipHostRegister, pointer, bytes,
                             HostRegisterPortable | HostRegisterMapped);
  }
  static Call hostUnregister(void *pointer) {
    return GPUASYNC_HIP_CALL(hipHostUnregister, pointer);
  }
  /// Where the device sees registered or pinned host memory.
  static Call deviceAddress(const void *host, void *&device) {
    return GPUASYNC_HIP_CALL(hipHostGetDevicePointer, &device,
                             const_cast<void *>(host), 0);
  }
  static Call pointerKind(const void *pointer, PointerKind &kind);
};

} // namespace hip
} // namespace gpuasync

#endif // GPUASYNC_DRIVERS_HIP_HIPAPI_H

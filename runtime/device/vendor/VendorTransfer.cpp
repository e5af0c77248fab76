//===- VendorTransfer.cpp - Copies and fills of cuda and hip --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy or fill is a call of the vendor, or a built-in kernel where no call
// does it.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorContext.h"

#include <string.h>

using namespace gpuasync;

Status VendorContext::prepareBuiltin(BuiltinKernel kernel,
                                     const BuiltinArguments &arguments,
                                     BuiltinLaunch &out) {
  if (!builtins[kernel])
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "%s has no built-in kernels for %s, and no call of the "
                      "driver does this %s",
                      driver.name(), device.info.arch,
                      kernel == BuiltinCopy
                          ? "copy: make both sides contiguous, or one of them "
                            "device memory"
                          : "fill: use elements of at most 4 bytes in "
                            "contiguous memory");
  out.arguments = arguments;
  void *source = const_cast<void *>(arguments.source);
  RETURN_IF_ERROR(toDeviceAddress(out.arguments.destination));
  RETURN_IF_ERROR(toDeviceAddress(source));
  out.arguments.source = source;
  const uint64_t threads = 256;
  // Enough blocks to fill the device; each thread takes its share in a loop.
  uint64_t blocks = (arguments.count + threads - 1) / threads;
  uint64_t most = uint64_t(device.info.multiprocessors) * 16;
  gpuasync_launch_config &block = out.block;
  block.grid[0] = int64_t(!blocks ? 1 : blocks < most ? blocks : most);
  block.grid[1] = block.grid[2] = 1;
  block.block[0] = int64_t(threads);
  block.block[1] = block.block[2] = 1;
  block.paramBytes = sizeof(out.arguments);
  block.params = &out.arguments;
  return Status();
}

Status VendorContext::launchBuiltin(NativeStream stream, BuiltinKernel kernel,
                                    const BuiltinArguments &arguments) {
  BuiltinLaunch launch;
  RETURN_IF_ERROR(prepareBuiltin(kernel, arguments, launch));
  return submit(stream, Command(builtins[kernel], builtinKernels()[kernel],
                                launch.block, nullptr));
}

// A vendor's copy between two places in host memory is done by the caller's
// thread once the stream gets there; ours never waits for the stream.
bool VendorContext::bothOnHost(const void *destination, const void *source) {
  return pointerKind(destination) == PointerKind::Registered &&
         pointerKind(source) == PointerKind::Registered;
}

Status VendorContext::copyBytes(NativeStream stream, const ByteCopy &copy) {
  const uint64_t bytes = copy.bytes;
  if (__builtin_expect(!bothOnHost(copy.destination, copy.source), 1))
    return check(table.copy
                     ? VENDOR_CALL(copy, copy.destination, copy.source, bytes,
                                   asStream(stream))
                     : VENDOR_CALL(copyOfKind, copy.destination, copy.source,
                                   bytes, MemcpyDefault, asStream(stream)));
  // An odd end must not make the whole copy one of single bytes.
  uint64_t tail = bytes > 16 ? bytes % 16 : 0;
  StridedCopy part;
  part.destination = copy.destination;
  part.source = copy.source;
  part.elementBytes = bytes - tail;
  Status status =
      launchBuiltin(stream, BuiltinCopy, builtinCopyArguments(part));
  if (!status.ok() || !tail)
    return status;
  part.destination = static_cast<char *>(copy.destination) + bytes - tail;
  part.source = static_cast<const char *>(copy.source) + bytes - tail;
  part.elementBytes = tail;
  return launchBuiltin(stream, BuiltinCopy, builtinCopyArguments(part));
}

Status VendorContext::copyStrided(NativeStream stream,
                                  const StridedCopy &copy) {
  // The copy engine takes rows; short ones are faster in the kernel.
  int64_t width = int64_t(copy.elementBytes);
  if (copy.rank == 1 && width >= 64 && copy.destinationStrides[0] >= width &&
      copy.sourceStrides[0] >= width &&
      uint64_t(copy.destinationStrides[0]) <= device.limits.maxPitch &&
      uint64_t(copy.sourceStrides[0]) <= device.limits.maxPitch &&
      !bothOnHost(copy.destination, copy.source))
    return check(driver.copyRows(
        copy.destination, size_t(copy.destinationStrides[0]), copy.source,
        size_t(copy.sourceStrides[0]), copy.elementBytes, size_t(copy.sizes[0]),
        asStream(stream)));
  return launchBuiltin(stream, BuiltinCopy, builtinCopyArguments(copy));
}

/// What the vendors' own fills can do: at most 4 bytes, contiguous rows. False
/// if that is not it.
bool VendorContext::fillByVendor(NativeStream native, const StridedFill &fill,
                                 VendorCall &call) {
  StreamHandle stream = asStream(native);
  uint32_t element = fill.elementBytes;
  uint64_t width = fill.rank ? uint64_t(fill.sizes[fill.rank - 1]) : 1;
  const uint64_t rowBytes = width * element;
  if (element > 4) {
    for (uint32_t i = 4; i < element; ++i)
      if (fill.pattern[i] != fill.pattern[i - 4])
        return false;
    width *= element / 4;
    element = 4;
  }
  if (fill.rank > 2 ||
      (fill.rank && fill.strides[fill.rank - 1] != int64_t(fill.elementBytes)))
    return false;
  if (reinterpret_cast<uintptr_t>(fill.destination) % element)
    return false;
  uint32_t value = 0;
  memcpy(&value, fill.pattern, element);
  void *to = fill.destination;
  if (fill.rank < 2) {
    call = element == 1 ? VENDOR_CALL(fill8, to, uint8_t(value), width, stream)
           : element == 2
               ? VENDOR_CALL(fill16, to, uint16_t(value), width, stream)
               : VENDOR_CALL(fill32, to, value, width, stream);
    return true;
  }
  if (fill.strides[0] < int64_t(rowBytes) ||
      uint64_t(fill.strides[0]) > device.limits.maxPitch ||
      fill.strides[0] % element)
    return false;
  size_t pitch = size_t(fill.strides[0]);
  uint64_t height = uint64_t(fill.sizes[0]);
  if (table.fillRows8)
    call = element == 1   ? VENDOR_CALL(fillRows8, to, pitch, uint8_t(value),
                                        width, height, stream)
           : element == 2 ? VENDOR_CALL(fillRows16, to, pitch, uint16_t(value),
                                        width, height, stream)
                          : VENDOR_CALL(fillRows32, to, pitch, value, width,
                                        height, stream);
  else if (element == 1)
    call = VENDOR_CALL(fillRows, to, pitch, int(value), width, height, stream);
  else
    return false;
  return true;
}

Status VendorContext::fillStrided(NativeStream stream,
                                  const StridedFill &fill) {
  VendorCall call = {};
  if (fillByVendor(stream, fill, call))
    return check(call);
  return launchBuiltin(stream, BuiltinFill, builtinFillArguments(fill));
}

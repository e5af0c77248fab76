//===- VendorLaunch.cpp - Launches of cuda and hip ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a block to one call of the vendor, and the words for one that exceeds a
// limit or fails.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorContext.h"

#include "shim/base/Text.h"
#include "shim/command/Packed.h"

#include <string.h>

using namespace gpuasync;

inline Status VendorContext::start(const VendorFunction &function,
                                   NativeStream stream,
                                   const gpuasync_kernel &kernel,
                                   const gpuasync_launch_config &block,
                                   void **parameters, void **extra) {
  VendorCall call =
      __builtin_expect(!isExtended(block), 1)
          ? VENDOR_CALL(launchKernel, function.handle, unsigned(block.grid[0]),
                        unsigned(block.grid[1]), unsigned(block.grid[2]),
                        unsigned(block.block[0]), unsigned(block.block[1]),
                        unsigned(block.block[2]),
                        unsigned(block.dynamicSharedBytes), asStream(stream),
                        parameters, extra)
          : driver.launchExtended(function.handle, asStream(stream), kernel,
                                  block, parameters, extra);
  return call.ok() ? Status() : launchFailed(call, function, kernel, block);
}

[[gnu::always_inline]] inline Status
VendorContext::launchWith(NativeStream stream, const VendorFunction &function,
                          const gpuasync_kernel &kernel,
                          const gpuasync_launch_config &block,
                          const KernelSignal &signal) {
  bool fits = this->fits(function, block);
  size_t bytes = block.paramBytes;
  if (function.paramBytes != UINT32_MAX) {
    fits &= bytes >= function.paramBytes;
    bytes = function.paramBytes;
  }
  if (__builtin_expect(!fits, 0))
    return launchRefused(function, kernel, block);
  if (__builtin_expect(function.takesPointers, 0))
    return launchByPointers(stream, function, kernel, block, signal);
  auto *params = static_cast<unsigned char *>(const_cast<void *>(block.params));
  if (function.signals) {
    // Images that say so have 4096 bytes of parameters at most.
    const size_t place = KernelSignal::placeAfter(bytes);
    auto *both = static_cast<unsigned char *>(
        __builtin_alloca(place + sizeof(KernelSignal)));
    if (bytes)
      memcpy(both, params, bytes);
    memcpy(both + place, &signal, sizeof(signal));
    params = both;
    bytes = place + sizeof(signal);
  }
  void *extra[] = {reinterpret_cast<void *>(LaunchParamBufferPointer), params,
                   reinterpret_cast<void *>(LaunchParamBufferSize), &bytes,
                   reinterpret_cast<void *>(driver.facts.launchParamEnd)};
  return start(function, stream, kernel, block, nullptr,
               bytes ? extra : nullptr);
}

inline Status VendorContext::launch(NativeStream stream,
                                    const Command &command) {
  const auto &function =
      *static_cast<const VendorFunction *>(command.launch.function);
  const gpuasync_kernel &kernel = *command.launch.kernel;
  const gpuasync_launch_config &block = *command.launch.block;
  Completion *const completion = command.completion;
  const bool signals =
      completion && function.signals && KernelSignal::counts(block.grid);
  Status status =
      launchWith(stream, function, kernel, block,
                 signals ? kernelSignal(completion->signal) : KernelSignal());
  if (__builtin_expect(signals, 0) && status.ok()) {
    completion->word = slotOf(completion->signal);
    completion->value = ++signalCounts[completion->signal];
  }
  return status;
}

Status VendorContext::submit(NativeStream stream, const Command &command) {
  if (__builtin_expect(command.kind == Command::Kind::Launch, 1))
    return launch(stream, command);
  switch (command.kind) {
  case Command::Kind::CopyBytes:
    return copyBytes(stream, command.bytes);
  case Command::Kind::Copy:
    return copyStrided(stream, *command.copy);
  case Command::Kind::Fill:
    return fillStrided(stream, *command.fill);
  case Command::Kind::HostCall:
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "host functions are enqueued on the cpu device only: "
                      "enqueue on the vendor's stream");
  default:
    return makeStatus(GPUASYNC_UNSUPPORTED, "no such work on %s",
                      driver.name());
  }
}

Status VendorContext::launchPointers(NativeStream stream,
                                     const Command::Launch &launch,
                                     void **parameters,
                                     const gpuasync_site *site) {
  const auto &function = *static_cast<const VendorFunction *>(launch.function);
  if (function.signals) // it takes more than these
    return launchPacked(*this, stream, launch, parameters, site);
  if (__builtin_expect(!fits(function, *launch.block), 0))
    return launchRefused(function, *launch.kernel, *launch.block);
  return start(function, stream, *launch.kernel, *launch.block, parameters,
               nullptr);
}

/// A pointer to each of the packed parameters.
Status VendorContext::launchByPointers(NativeStream stream,
                                       const VendorFunction &function,
                                       const gpuasync_kernel &kernel,
                                       const gpuasync_launch_config &block,
                                       const KernelSignal &signal) {
  auto **parameters = static_cast<void **>(
      __builtin_alloca((kernel.paramCount + 2) * sizeof(void *)));
  parameters[kernel.paramCount] = const_cast<uint32_t **>(&signal.slot);
  parameters[kernel.paramCount + 1] = const_cast<uint64_t **>(&signal.count);
  for (uint32_t i = 0; i < kernel.paramCount; ++i)
    parameters[i] = static_cast<char *>(const_cast<void *>(block.params)) +
                    kernel.paramOffsets[i];
  return start(function, stream, kernel, block, parameters, nullptr);
}

Status VendorContext::launchRefused(const VendorFunction &function,
                                    const gpuasync_kernel &kernel,
                                    const gpuasync_launch_config &block) {
  const VendorLimits &limits = device.limits;
  for (int i = 0; i < 3; ++i) {
    auto beyond = [&](const char *what, int64_t given, uint32_t limit) {
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "kernel @%s: %jd %s in %c, the device's limit is %u",
                        kernel.name, given, what, "xyz"[i], limit);
    };
    if (uint64_t(block.grid[i]) > limits.maxGrid[i])
      return beyond("blocks", block.grid[i], limits.maxGrid[i]);
    if (uint64_t(block.block[i]) > limits.maxBlock[i])
      return beyond("threads", block.block[i], limits.maxBlock[i]);
  }
  uint64_t threads = uint64_t(block.block[0] * block.block[1] * block.block[2]);
  if (threads > function.maxThreads)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "kernel @%s: %ju threads per block, the limit for this "
                      "kernel's registers is %u",
                      kernel.name, threads, function.maxThreads);
  if (uint64_t(block.dynamicSharedBytes) > function.maxDynamicShared)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "kernel @%s: %jd bytes of dynamic shared memory, the "
                      "limit beside its %u static bytes is %u",
                      kernel.name, block.dynamicSharedBytes,
                      function.staticShared, function.maxDynamicShared);
  return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                    "kernel @%s: %u bytes of parameters are passed, it takes "
                    "%u",
                    kernel.name, block.paramBytes, function.paramBytes);
}

int64_t VendorContext::mostResident(const VendorFunction &function,
                                    const gpuasync_launch_config &block) {
  int perUnit = 0;
  return table.residentBlocks &&
                 VENDOR_CALL(
                     residentBlocks, &perUnit, function.handle,
                     int(block.block[0] * block.block[1] * block.block[2]),
                     size_t(block.dynamicSharedBytes))
                     .ok()
             ? int64_t(perUnit) * device.info.multiprocessors
             : INT64_MAX;
}

Status VendorContext::launchFailed(VendorCall call,
                                   const VendorFunction &function,
                                   const gpuasync_kernel &kernel,
                                   const gpuasync_launch_config &block) {
  char detail[320];
  Text text(detail, sizeof(detail));
  text.add(", for kernel @%s with %s blocks of %s threads", kernel.name,
           Sizes(block.grid).text, Sizes(block.block).text);
  if (call.code == ErrorCooperativeLaunchTooLarge)
    if (const int64_t most = mostResident(function, block);
        most > 0 && most < INT64_MAX)
      text.add("; a cooperative launch of it holds at most %jd blocks here",
               most);
  return error(call, detail);
}

//===- BuiltinKernels.h - The runtime's own kernels -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and fills that no vendor call does (any rank, any stride, patterns of
// 8 and 16 bytes), a kernel that does nothing, and one that tells the host that
// a graph has come to its end. They are in
// BuiltinKernels.dev.c; each driver embeds them compiled.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_VENDOR_BUILTINKERNELS_H
#define GPUASYNC_DEVICE_VENDOR_BUILTINKERNELS_H

#include "device/Driver.h"

namespace gpuasync {

enum BuiltinKernel : uint32_t {
  BuiltinCopy,
  BuiltinFill,
  BuiltinNothing,
  BuiltinSignal,
  BuiltinKernelCount
};

/// The one parameter of copies and fills; BuiltinKernels.dev.c declares the
/// same.
struct BuiltinArguments {
  /// One more than a copy has: the element may be several units.
  static constexpr uint32_t maxRank = 9;
  void *destination = nullptr;
  const void *source = nullptr;
  uint64_t count = 0; ///< units in all
  uint32_t rank = 0;
  uint32_t unit = 0;              ///< bytes moved at once: 1, 2, 4, 8 or 16
  unsigned char pattern[16] = {}; ///< of a fill, whose source it is
  int64_t sizes[maxRank] = {};    ///< in units
  int64_t destinationStrides[maxRank] = {};
  int64_t sourceStrides[maxRank] = {};
};
static_assert(sizeof(BuiltinArguments) == 264, "as in BuiltinKernels.dev.c");

/// Streams and graphs of a context that signal the end of kernels; the module
/// counts what they signalled, in an array of this name.
constexpr uint32_t maxSignals = 1024;
constexpr const char *signalCountsName = "gpuasync_counts";
/// The parameters of BuiltinSignal.
struct SignalArguments {
  uint32_t *slot = nullptr;
  uint32_t index = 0;
};

BuiltinArguments builtinCopyArguments(const StridedCopy &copy);
BuiltinArguments builtinFillArguments(const StridedFill &fill);

/// The kernel table, indexed by BuiltinKernel, and a module that holds it.
const gpuasync_kernel *builtinKernels();
const gpuasync_module &builtinKernelModule();

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_VENDOR_BUILTINKERNELS_H

//===- Mgpu.h - Beside upstream's wrapper symbols ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libgpuasync_mgpu.so exports the mgpu* symbols of MLIR 22.1's CUDA and ROCm
// runtime wrappers, over this project's runtime. Their signatures are
// upstream's; these functions are what upstream has no way to say.
// docs/how-to/Mgpu.md has the rules.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_MGPU_H
#define GPUASYNC_MGPU_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The first error, one line that begins with the call's name; null if there
/// was none. Thread safe; lives until gpuasync_mgpu_close.
GPUASYNC_API const char *gpuasync_mgpu_error(void) GPUASYNC_NOEXCEPT;

typedef struct gpuasync_mgpu_stats {
  GPUASYNC_STRUCT_SIZE(gpuasync_mgpu_stats);
  uint64_t streams, events;  ///< handles that were created and not destroyed
  uint64_t handleBytes;      ///< memory of all handles
  uint64_t physicalStreams;  ///< streams of the device that handles hold now
  uint64_t destroyedTwice;   ///< destructions of a destroyed handle
  uint64_t waitsOnDestroyed; ///< waits for a destroyed handle
  uint64_t mixedUp;          ///< streams used as events, and the reverse
} gpuasync_mgpu_stats;

/// Thread safe. GPUASYNC_INVALID_ARGUMENT if `out->structSize` is not set.
GPUASYNC_API gpuasync_status *
gpuasync_mgpu_read_stats(gpuasync_mgpu_stats *out) GPUASYNC_NOEXCEPT;

/// Waits for all work of mgpu calls, gives back every stream and event, forgets
/// the devices and the first error, and returns that error's code
/// (gpuasync_status_code; 0: there was none). All handles are invalid after it,
/// modules are unloaded; memory stays the program's. No other mgpu call may run
/// meanwhile.
GPUASYNC_API uint32_t gpuasync_mgpu_close(void) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // GPUASYNC_MGPU_H

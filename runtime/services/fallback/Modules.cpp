//===- Modules.cpp - The entries of Program.h without a policy ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module stays loaded until its program is released or its context closes.
//===----------------------------------------------------------------------===//

#include "gpuasync/Program.h"
#include "services/fallback/Absent.h"
#include "shim/context/Entry.h"

using namespace gpuasync;

extern "C" {

/// Loads one program after the other, on this thread.
gpuasync_status *gpuasync_prepare(const gpuasync_program *const *programs,
                                  uint32_t programCount,
                                  gpuasync_context *const *contexts,
                                  uint32_t contextCount, uint32_t) noexcept {
  if ((!programs && programCount) || (!contexts && contextCount))
    return nullArgument("gpuasync_prepare").release();
  Status first;
  for (uint32_t i = 0; i < programCount; ++i)
    for (uint32_t j = 0; j < (contextCount ? contextCount : 1); ++j) {
      if (!programs[i] || (contextCount && !contexts[j]))
        return nullArgument("gpuasync_prepare").release();
      Status status(
          gpuasync_program_load(programs[i], contexts ? contexts[j] : nullptr));
      if (first.ok())
        first = std::move(status);
    }
  return first.release();
}

uint64_t gpuasync_modules_release(gpuasync_context *) noexcept { return 0; }

gpuasync_status *gpuasync_modules_limit(gpuasync_context *, uint64_t, uint64_t,
                                        uint32_t) noexcept {
  return absent("gpuasync_modules_limit", "limits of modules").release();
}

gpuasync_status *gpuasync_modules_hook(gpuasync_context *,
                                       const gpuasync_module_hooks *) noexcept {
  return absent("gpuasync_modules_hook", "hooks of modules").release();
}

gpuasync_status *gpuasync_modules_insert(gpuasync_context *,
                                         const gpuasync_program *, uint32_t,
                                         const gpuasync_image *) noexcept {
  return absent("gpuasync_modules_insert", "hooks of modules").release();
}
}

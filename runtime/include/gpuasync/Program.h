//===- Program.h - Loading programs: warm-up, limits, hooks -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For whoever decides when and how the modules of lowered programs are loaded
// and unloaded. Nobody has to: frames load what they reach.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PROGRAM_H
#define GPUASYNC_PROGRAM_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Warm-up and release. All functions of this header are thread safe.
//===----------------------------------------------------------------------===//

/// Loads every module of `programCount` programs into each of `contextCount`
/// contexts (none: each program's default one) on up to `threads` threads (0:
/// one per processor), so that their first frames find them. Modules load side
/// by side, as do devices. Loading may wait for work that is running there.
/// Everything is tried; the result is the first error in the order of programs.
GPUASYNC_API gpuasync_status *
gpuasync_prepare(const gpuasync_program *const *programs, uint32_t programCount,
                 gpuasync_context *const *contexts, uint32_t contextCount,
                 uint32_t threads) GPUASYNC_NOEXCEPT;

/// Gives up the modules of `context` (null: of every open context) that are
/// loaded now and returns their number; those given up before do not count, so
/// a second call returns 0. Those with kernels in a captured graph stay until
/// their program is released. Each is unloaded once nothing of its context
/// runs: at once if that is so, else at a later frame's enter. Never waits;
/// frames go on, and a program's next frame after the unloading loads again.
GPUASYNC_API uint64_t gpuasync_modules_release(gpuasync_context *context)
    GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

enum gpuasync_module_limit_flags {
  /// Modules of released programs stay loaded until the limits need their
  /// place, for programs of equal content that come later. Never the code of
  /// `cpu` images, which goes away with its program.
  GPUASYNC_MODULES_KEEP = 1
};

/// Limits the modules loaded in `context` to `maxEntries` with images of
/// `maxBytes` bytes together; UINT64_MAX: no limit, the default. Beyond them
/// the least recently used ones that no frame uses are unloaded when nothing of
/// the context runs; what is in use is never touched, so the limits may be
/// exceeded for a while. First values: GPU_ASYNC_MODULE_ENTRIES,
/// GPU_ASYNC_MODULE_BYTES, GPU_ASYNC_MODULE_KEEP=1.
GPUASYNC_API gpuasync_status *
gpuasync_modules_limit(gpuasync_context *context, uint64_t maxBytes,
                       uint64_t maxEntries, uint32_t flags) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Hooks
//===----------------------------------------------------------------------===//

/// What a hook is asked for. Lives for the call.
typedef struct gpuasync_module_request {
  GPUASYNC_STRUCT_SIZE(gpuasync_module_request); ///< set by the runtime
  gpuasync_context *context; ///< current on the calling thread
  const char *device;        ///< "cuda:0"
  const char *arch;          ///< of the device: "sm_90"; "" for cpu
  const gpuasync_program *program;
  const gpuasync_module *module;
  /// The image to load; in `compile` the module's best fitting one, null if
  /// none fits.
  const gpuasync_image *image;
} gpuasync_module_request;

/// Calls in place of or before the driver's loading. Each may be null. They are
/// called by any thread that enters a frame, no lock of the runtime is held,
/// one call per module at a time: other threads that need that module wait, all
/// others go on. A status that a hook returns reaches every one of them; the
/// next frame asks again.
typedef struct gpuasync_module_hooks {
  GPUASYNC_STRUCT_SIZE(gpuasync_module_hooks);
  void *user; ///< passed to each; lives until the last module they loaded goes
  /// What the hooks' results depend on besides the image, part of the cache's
  /// key; copied. Null is "".
  const char *options;
  /// Gives the image to load instead of request->image: `*image` is that or
  /// zero, and is replaced or left alone. It may be in any format that the
  /// device takes.
  gpuasync_status *(*compile)(void *user,
                              const gpuasync_module_request *request,
                              gpuasync_image *image);
  /// The image that `compile` gave is not needed any more, loaded or not.
  void (*discard)(void *user, const gpuasync_image *image);
  /// Loads request->image itself: `*module` is the vendor's handle (CUmodule;
  /// on cpu a gpuasync_cpu_kernel table). Left null: the driver loads it.
  gpuasync_status *(*load)(void *user, const gpuasync_module_request *request,
                           void **module);
  /// Unloads what `load` returned: its kernels have ended, or it lacked one.
  void (*unload)(void *user, void *module);
} gpuasync_module_hooks;

/// Sets the hooks (null: none) for modules that `context` loads from now on.
GPUASYNC_API gpuasync_status *
gpuasync_modules_hook(gpuasync_context *context,
                      const gpuasync_module_hooks *hooks) GPUASYNC_NOEXCEPT;

/// Loads `image` now as module `module` of `program`, in place of the image
/// that would be chosen: frames of this program, and of others with equal
/// content, then find it. A module that is loaded already is
/// GPUASYNC_INVALID_ARGUMENT. `image` is not needed after the call, except for
/// `cpu` (its code).
GPUASYNC_API gpuasync_status *
gpuasync_modules_insert(gpuasync_context *context,
                        const gpuasync_program *program, uint32_t module,
                        const gpuasync_image *image) GPUASYNC_NOEXCEPT;

/// An error for a hook to return; the message is copied, on one line.
GPUASYNC_API gpuasync_status *
gpuasync_status_make(uint32_t code, const char *message) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // GPUASYNC_PROGRAM_H

//===- Program.h - Programs that the process knows --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration at the first frame, the choice of the default context, pins.
// All of it is cold: a warm frame enter finds its pin in the thread's cache.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_CONTEXT_PROGRAM_H
#define GPUASYNC_SHIM_CONTEXT_PROGRAM_H

#include "shim/context/ContextImpl.h"

namespace gpuasync {

/// Finds a program, which is not released while this lives.
class ProgramVisit {
public:
  ProgramVisit() = default;
  ProgramVisit(const ProgramVisit &) = delete;
  ~ProgramVisit();
  /// Checks the ABI version and registers the program unless it is.
  /// GPUASYNC_SHUT_DOWN while it is being released.
  Status find(const gpuasync_program &program);
  Registration &operator*() const { return *registration; }

private:
  Registration *registration = nullptr;
};

/// The context of frames outside any scope: GPU_ASYNC_DEVICE, else the first
/// device for which every module has an image. Opened on first use and when the
/// one before was closed, kept until shutdown. The result has a reference for
/// the caller, as that of the next one.
Status chooseDefault(Registration &registration, gpuasync_context *&out);

/// The process's own context on `device` (as openContext takes it).
Status defaultOn(const char *device, gpuasync_context *&out);

/// Gives up the process's own contexts that were closed.
void dropClosedDefaults();

/// The thread's pin of the program's instance in `context`, made on first use.
/// While the context is paused it waits, unless the thread is `inside` a frame;
/// then the pin comes `held`, since it cannot be held in the usual way.
Status makePin(ThreadState &thread, gpuasync_context &context,
               Registration &registration, bool inside, Pin *&out, bool &held);

/// Opens a context on a device of a driver. `adopted`: the caller's context to
/// open it in, or null.
Status openOn(Driver &driver, int32_t ordinal, void *adopted,
              gpuasync_context *&out);

/// Opens a context on "cpu", "cuda", "cuda:N", "hip:N", or on what "auto" or
/// null is: GPU_ASYNC_DEVICE, else the first device there is.
Status openContext(const char *device, gpuasync_context *&out);
/// Opens a context in the caller's `native` one.
Status adoptContext(const char *driver, void *native, gpuasync_context *&out);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_CONTEXT_PROGRAM_H

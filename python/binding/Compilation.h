//===- Compilation.h - Compiling on a thread of its own ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// So that Python's main thread hears of signals meanwhile: Ctrl-C is a
// KeyboardInterrupt at once, and the compiler stops at the next place where it
// can.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_COMPILATION_H
#define GPUASYNC_PYTHON_BINDING_COMPILATION_H

#include "GPUAsync-C/GPUAsync.h"
#include "Python.h"
#include "gpuasync/Status.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace binding {

/// One compilation: what it is given, how far it is, and what comes of it. The
/// last owner frees it, which may be its thread.
struct Compilation : std::enable_shared_from_this<Compilation> {
  Compilation() = default;
  Compilation(const Compilation &) = delete;
  ~Compilation();

  /// Begins to compile, here and now if the system gives no thread.
  void start();
  /// Waits for the end, with the GIL. False after an error of Python's, as a
  /// KeyboardInterrupt: then the compilation ends by itself, later. `report`,
  /// unless it is null, is called with the name of the stage and the seconds so
  /// far, from the second second on, each second and for each stage, and at the
  /// end with None.
  bool wait(PyObject *report);

  std::string program, name, device, options;
  std::optional<std::string> source; ///< by which the disk cache knows it
  gpuasync::Status status;
  gpuasync_executable *executable = nullptr;

private:
  void run();
  static int32_t hear(void *self, const char *stage);

  std::atomic<bool> isStopped{false};
  std::mutex mutex; ///< of what follows
  std::condition_variable changed;
  std::string stage;
  bool hasEnded = false;
};

/// wait_compilations(): waits for those that were interrupted. At exit, since
/// the compiler's global state goes then.
PyObject *waitCompilations(PyObject *, PyObject *);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_COMPILATION_H

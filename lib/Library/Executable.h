//===- Executable.h - What a compiled program is ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects behind the handles of the library's functions.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_EXECUTABLE_H
#define GPUASYNC_LIB_LIBRARY_EXECUTABLE_H

#include "Execution/Link.h"
#include "Library/Callable.h"
#include "Library/RankCalls.h"
#include "Library/SharedDevice.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

/// The code and all that calls need. References are the executable's and its
/// callables'.
struct gpuasync_executable {
  std::atomic<size_t> references{1};
  std::shared_ptr<gpuexec::SharedDevice> device;
  bool deviceArrays = false; ///< arrays are where the device reaches them
  bool keepsArrays = false;  ///< and results stay there
  bool takesStream = false;  ///< functions have one for the caller's
  std::string variable;      ///< of kernels, which ranks would share, or empty
  gpuexec::LinkedProgram linked;
  std::vector<gpuexec::Callable> callables;
  /// Contexts of ranks that no call uses: those of each call of so many.
  gpuexec::IdleRanks idleRanks;
  std::string said;
  std::string timing; ///< a table; empty without the option
};

struct gpuasync_callable {
  gpuasync_executable *executable;
  const gpuexec::Callable *callable;
};

namespace gpuexec {

/// Finds a function that can be called from here.
gpuasync_status *findToCall(const gpuasync_executable *executable,
                            const char *name, const Callable *&out);

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_EXECUTABLE_H

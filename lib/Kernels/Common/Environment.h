//===- Environment.h - What the environment says of files -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's only way to environment variables, which name toolkits,
// programs and the folder of temporary files. A process with more rights than
// whoever set them (setuid, capabilities) ignores them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_COMMON_ENVIRONMENT_H
#define GPUASYNC_LIB_KERNELS_COMMON_ENVIRONMENT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/ErrorOr.h"
#include <optional>
#include <string>

namespace mlir::gpuasync {

/// The value of a variable; nothing if it is unset, empty or ignored.
std::optional<std::string> getVariable(const char *name);

/// The path of the program `name`, which is a path or a name in `folders`, by
/// default those of PATH, or the system's where PATH is ignored.
llvm::ErrorOr<std::string> findProgram(StringRef name,
                                       ArrayRef<StringRef> folders = {});

/// A file that nobody else can read, in the folder that TMPDIR names, or in
/// /tmp where that is ignored. It goes with this object.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile();
  /// Makes it, empty; its name ends as said. Once.
  std::error_code create(StringRef suffix);
  StringRef getPath() const { return path.str(); }
  /// Fills it.
  std::error_code write(StringRef bytes);

private:
  llvm::SmallString<128> path;
};

/// Is told of each temporary file before it is there and after it is gone.
using TemporaryFileListener = void (*)(const char *path, bool isThere);
/// For a program that removes them when a signal ends it; before any is made.
void setTemporaryFileListener(TemporaryFileListener listener);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_ENVIRONMENT_H

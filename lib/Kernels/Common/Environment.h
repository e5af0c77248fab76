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

/// Makes an empty file that nobody else can read, whose name ends as said, in
/// the folder that TMPDIR names, or /tmp where that is ignored.
std::error_code makeTemporaryFile(StringRef suffix, int &descriptor,
                                  SmallVectorImpl<char> &path);
/// The same, closed.
std::error_code makeTemporaryFile(StringRef suffix,
                                  SmallVectorImpl<char> &path);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_ENVIRONMENT_H

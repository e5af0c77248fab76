//===- LinkFile.h - Shared objects and programs -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links an object of a program, with the runtime, by a linker of this machine.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_LINKFILE_H
#define GPUASYNC_TOOLS_GPURUNNER_LINKFILE_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace gpurunner {

struct LinkJob {
  bool isShared;
  std::string name;   ///< of the file that it becomes, without folder
  std::string linker; ///< a name in PATH or a path; empty: the first there is
  llvm::ArrayRef<std::string> libraries; ///< paths of what the program calls
};

struct LinkedFile {
  std::string bytes;
  std::string linker;        ///< its path
  std::string runtimeFolder; ///< where the runtime's library is
};

/// Links the bytes of an object. What the linker says against it goes to
/// `emitError`, and the error is then gpuexec::reportedError.
llvm::Expected<LinkedFile>
linkFile(llvm::StringRef object, const LinkJob &job,
         llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_LINKFILE_H

//===- Files.h - Files that the runner writes -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One way to write a file, and one message if it does not work.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_FILES_H
#define GPUASYNC_TOOLS_GPURUNNER_FILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

namespace gpurunner {

/// Makes the file of what `write` writes; "-" is the standard output.
inline llvm::Error
writeFile(llvm::StringRef path,
          llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code, llvm::sys::fs::OF_None);
  if (!code) {
    write(os);
    os.close();
    code = os.error();
    os.clear_error();
  }
  if (!code)
    return llvm::Error::success();
  std::string name =
      path == "-" ? "the standard output" : ("'" + path + "'").str();
  return llvm::createStringError(name +
                                 " cannot be written: " + code.message());
}

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_FILES_H

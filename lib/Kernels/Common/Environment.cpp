//===- Environment.cpp - What the environment says of files ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Environment.h.
//===----------------------------------------------------------------------===//

#include "Environment.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

#include <cstdlib>
#include <sys/auxv.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::gpuasync;

/// Whether the process has more rights than whoever set its environment.
static bool isPrivileged() { return getauxval(AT_SECURE) != 0; }

std::optional<std::string> gpuasync::getVariable(const char *name) {
  const char *value = secure_getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

llvm::ErrorOr<std::string> gpuasync::findProgram(StringRef name,
                                                 ArrayRef<StringRef> folders) {
  static const StringRef own[] = {"/usr/local/bin", "/usr/bin", "/bin"};
  if (folders.empty() && isPrivileged())
    folders = own;
  return llvm::sys::findProgramByName(name, folders);
}

std::error_code gpuasync::makeTemporaryFile(StringRef suffix, int &descriptor,
                                            SmallVectorImpl<char> &path) {
  if (isPrivileged())
    return llvm::sys::fs::createUniqueFile(
        "/tmp/gpu-async-%%%%%%." + suffix, descriptor, path,
        llvm::sys::fs::OF_None,
        llvm::sys::fs::owner_read | llvm::sys::fs::owner_write);
  return llvm::sys::fs::createTemporaryFile("gpu-async", suffix, descriptor,
                                            path);
}

std::error_code gpuasync::makeTemporaryFile(StringRef suffix,
                                            SmallVectorImpl<char> &path) {
  int descriptor;
  std::error_code error = makeTemporaryFile(suffix, descriptor, path);
  if (!error)
    close(descriptor);
  return error;
}

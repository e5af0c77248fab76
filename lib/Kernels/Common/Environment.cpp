//===- Environment.cpp - What the environment says of files ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Environment.h.
//===----------------------------------------------------------------------===//

#include "Environment.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

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

static TemporaryFileListener listener;

void gpuasync::setTemporaryFileListener(TemporaryFileListener wanted) {
  listener = wanted;
}

std::error_code TemporaryFile::create(StringRef suffix) {
  SmallString<128> folder("/tmp");
  if (!isPrivileged())
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  for (int attempt = 0; attempt < 16; ++attempt) {
    llvm::sys::fs::createUniquePath(folder + "/gpu-async-%%%%%%%%%%%%." +
                                        suffix,
                                    path, /*MakeAbsolute=*/false);
    path.c_str();
    if (listener)
      listener(path.data(), true);
    int descriptor;
    std::error_code error = llvm::sys::fs::openFileForWrite(
        path, descriptor, llvm::sys::fs::CD_CreateNew, llvm::sys::fs::OF_None,
        llvm::sys::fs::owner_read | llvm::sys::fs::owner_write);
    if (!error) {
      ::close(descriptor);
      return error;
    }
    if (listener)
      listener(path.data(), false);
    path.clear();
    if (error != std::errc::file_exists)
      return error;
  }
  return std::make_error_code(std::errc::file_exists);
}

TemporaryFile::~TemporaryFile() {
  if (path.empty())
    return;
  llvm::sys::fs::remove(path);
  path.c_str();
  if (listener)
    listener(path.data(), false);
}

std::error_code TemporaryFile::write(StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error, llvm::sys::fs::CD_OpenExisting,
                              llvm::sys::fs::FA_Write, llvm::sys::fs::OF_None);
  if (error)
    return error;
  stream << bytes;
  stream.close();
  error = stream.error();
  // LLVM ends the process over an error that it believes unseen.
  stream.clear_error();
  return error;
}

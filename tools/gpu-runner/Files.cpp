//===- Files.cpp - Files that the runner writes ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Files.h.
//===----------------------------------------------------------------------===//

#include "Files.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace llvm::sys::fs;

namespace gpurunner {

Error NewFile::error(std::error_code code) const {
  if (!code)
    return Error::success();
  std::string name = path == "-" ? "the standard output" : "'" + path + "'";
  return createStringError(name + " cannot be written: " + code.message());
}

Expected<NewFile> NewFile::create(StringRef path, bool isExecutable) {
  NewFile file;
  file.path = file.target = path.str();
  file_status there;
  bool exists = path != "-" && !status(path, there);
  SmallString<128> real, temporary;
  if (exists && !real_path(path, real))
    file.target = real.str().str();
  int descriptor = -1;
  if (path != "-" && (!exists || there.type() == file_type::regular_file) &&
      !createUniqueFile(file.target + ".%%%%%%", descriptor, temporary, OF_None,
                        isExecutable ? all_all : all_read | all_write)) {
    file.temporary = temporary.str().str();
    file.os =
        std::make_unique<raw_fd_ostream>(descriptor, /*shouldClose=*/true);
    if (exists && !isExecutable)
      (void)setPermissions(temporary, there.permissions());
    return std::move(file);
  }
  std::error_code code;
  file.os = std::make_unique<raw_fd_ostream>(path, code, OF_None);
  if (code)
    return file.error(code);
  return std::move(file);
}

NewFile::~NewFile() {
  if (os)
    os->clear_error();
  if (!temporary.empty())
    (void)remove(temporary);
}

Error NewFile::close() {
  os->close();
  std::error_code code = os->error();
  // LLVM ends the process over an error that it believes unseen.
  os->clear_error();
  return error(code);
}

Error NewFile::commit() {
  if (temporary.empty())
    return Error::success();
  std::string from;
  std::swap(from, temporary);
  std::error_code code = rename(from, target);
  if (code)
    (void)remove(from);
  return error(code);
}

Error writeFile(StringRef path, function_ref<void(raw_ostream &)> write) {
  Expected<NewFile> file = NewFile::create(path);
  if (!file)
    return file.takeError();
  write(file->stream());
  if (Error error = file->close())
    return error;
  return file->commit();
}

} // namespace gpurunner

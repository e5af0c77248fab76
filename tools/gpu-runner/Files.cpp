//===- Files.cpp - Files that the runner writes ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Files.h.
//===----------------------------------------------------------------------===//

#include "Files.h"

#include <system_error>
#include <vector>

using namespace llvm;

namespace gpurunner {

Error NewFile::error(std::error_code code) const {
  if (!code)
    return Error::success();
  std::string name = path == "-" ? "the standard output" : "'" + path + "'";
  return createStringError(name + " cannot be written: " + code.message());
}

static std::error_code toCode(int error) {
  return std::error_code(error, std::generic_category());
}

Expected<NewFile> NewFile::create(StringRef path, bool isExecutable) {
  NewFile made;
  made.path = path.str();
  std::error_code code;
  if (path == "-") {
    made.os = std::make_unique<raw_fd_ostream>("-", code);
  } else {
    code = toCode(made.file.create(made.path, isExecutable));
    if (!code)
      made.os = std::make_unique<raw_fd_ostream>(made.file.getDescriptor(),
                                                 /*shouldClose=*/false);
  }
  if (code)
    return made.error(code);
  return std::move(made);
}

NewFile::~NewFile() {
  // LLVM ends the process over an error that it believes unseen.
  if (os)
    os->clear_error();
}

Error NewFile::close() {
  os->flush();
  std::error_code code = os->error();
  os->clear_error();
  if (!code && path != "-")
    code = toCode(file.close());
  return error(code);
}

Error NewFile::commit() { return error(toCode(file.commit())); }

Expected<NewFile> makeFile(StringRef path,
                           function_ref<void(raw_ostream &)> write,
                           bool isExecutable) {
  Expected<NewFile> file = NewFile::create(path, isExecutable);
  if (!file)
    return file;
  write(file->stream());
  if (Error error = file->close())
    return std::move(error);
  return file;
}

Error commit(MutableArrayRef<NewFile> files) {
  std::vector<gpuasync::NewFile *> together;
  for (NewFile &file : files)
    together.push_back(&file.file);
  size_t failed = 0;
  int code = gpuasync::commit(together, failed);
  return code ? files[failed].error(toCode(code)) : Error::success();
}

Error writeFile(StringRef path, function_ref<void(raw_ostream &)> write) {
  Expected<NewFile> file = makeFile(path, write);
  return file ? file->commit() : file.takeError();
}

} // namespace gpurunner

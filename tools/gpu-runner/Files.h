//===- Files.h - Files that the runner writes -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One way to write a file, whole or not at all, and one message if it does not
// work.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_FILES_H
#define GPUASYNC_TOOLS_GPURUNNER_FILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>
#include <utility>

namespace gpurunner {

/// A file under another name until it is complete: what is there stays until
/// then. "-" is the standard output; to that, and to pipes and devices, it is
/// written at once.
class NewFile {
public:
  static llvm::Expected<NewFile> create(llvm::StringRef path,
                                        bool isExecutable = false);
  NewFile(NewFile &&other)
      : path(std::move(other.path)), target(std::move(other.target)),
        temporary(std::exchange(other.temporary, "")), os(std::move(other.os)) {
  }
  NewFile &operator=(NewFile &&) = delete;
  /// Without commit nothing has happened.
  ~NewFile();

  llvm::raw_ostream &stream() { return *os; }
  /// Ends writing. An error says that not all was written.
  llvm::Error close();
  /// Gives it its name, after close.
  llvm::Error commit();

private:
  NewFile() = default;
  llvm::Error error(std::error_code code) const;

  std::string path, target, temporary; ///< target: where links lead to
  std::unique_ptr<llvm::raw_fd_ostream> os;
};

/// Makes the file of what `write` writes.
llvm::Error writeFile(llvm::StringRef path,
                      llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_FILES_H

//===- Files.h - Files that the runner writes -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One way to write a file, whole or not at all, and one message if it does not
// work.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_FILES_H
#define GPUASYNC_TOOLS_GPURUNNER_FILES_H

#include "libs/aot/NewFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

namespace gpurunner {

/// A gpuasync::NewFile as a stream. "-" is the standard output.
class NewFile {
public:
  static llvm::Expected<NewFile> create(llvm::StringRef path,
                                        bool isExecutable = false);
  NewFile(NewFile &&) = default;
  NewFile &operator=(NewFile &&) = delete;
  /// Without commit nothing has happened.
  ~NewFile();

  llvm::raw_ostream &stream() { return *os; }
  /// Ends writing. An error says that not all was written.
  llvm::Error close();
  /// Gives it its name, after close.
  llvm::Error commit();

private:
  friend llvm::Error commit(llvm::MutableArrayRef<NewFile> files);

  NewFile() = default;
  llvm::Error error(std::error_code code) const;

  std::string path;
  gpuasync::NewFile file; ///< not open for the standard output
  std::unique_ptr<llvm::raw_fd_ostream> os;
};

/// A closed file of what `write` writes, which has no name yet.
llvm::Expected<NewFile>
makeFile(llvm::StringRef path,
         llvm::function_ref<void(llvm::raw_ostream &)> write,
         bool isExecutable = false);
/// Gives each its name, all or none if a signal ends the process: for files of
/// which none is replaced unless all are complete.
llvm::Error commit(llvm::MutableArrayRef<NewFile> files);
/// Makes the file of what `write` writes.
llvm::Error writeFile(llvm::StringRef path,
                      llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_FILES_H

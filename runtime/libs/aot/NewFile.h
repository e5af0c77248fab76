//===- NewFile.h - The files that our tools make ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one way in which gpu-runner and programs ahead of time make a file: under
// a name that nobody can guess, in the same folder, until it is complete. Then
// it takes the place of what is there. An error leaves all as it was.
//===----------------------------------------------------------------------===//
//
// - A symbolic link stays, and what it leads to is replaced or made; those of
//   other users in a folder such as /tmp are refused. Another hard link to a
//   file that is replaced keeps the old contents.
// - A new file has the mode that the umask leaves. One that is replaced keeps
//   its mode and, where the process may say so, its group and owner. A file
//   that may not be written is not replaced.
// - Pipes, devices and the process's own open files (/dev/stdout, /dev/fd/3)
//   are written at once, as is a file in a folder that takes no other.
// - A file that cannot be replaced, such as another user's in /tmp, or one that
//   is mounted by itself, is written over when the new one is complete.
// - A process that ends by a signal leaves nothing: removeFilesOnSignals. Files
//   that are committed together are all new after it, or all old.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_AOT_NEWFILE_H
#define GPUASYNC_LIBS_AOT_NEWFILE_H

#include <cstddef>
#include <string>
#include <sys/types.h>
#include <vector>

namespace gpuasync {

/// A file that is being made. One thread at a time.
class NewFile {
public:
  NewFile() = default;
  NewFile(NewFile &&other) { *this = static_cast<NewFile &&>(other); }
  NewFile &operator=(NewFile &&other);
  /// Without commit nothing has happened.
  ~NewFile();

  /// Opens it. These return 0 or an errno.
  int create(const std::string &path, bool isExecutable = false);
  int write(const void *bytes, size_t size);
  /// Ends writing.
  int close();
  /// Gives it its name, after close.
  int commit();

  /// Of the open file; it belongs to this object.
  int getDescriptor() const { return descriptor; }

private:
  friend int commit(const std::vector<NewFile *> &files, size_t &failed);

  int descriptor = -1;
  std::string target;    ///< where links lead to
  std::string temporary; ///< empty: it is written in place
};

/// Gives each its name, after close. A signal that ends the process comes
/// before the first or after the last. Returns 0, or an errno and the file it
/// is of.
int commit(const std::vector<NewFile *> &files, size_t &failed);

/// Whether a file made under one name would be lost if one is made under the
/// other: both lead to one name, or to one file that is written in place. Pipes
/// and devices take several. False where a path leads nowhere.
bool isSameNewFile(const std::string &one, const std::string &other);

/// What is to be removed if the process ends by a signal, until it is
/// forgotten. Any thread.
void addUnfinishedFile(const char *path);
void forgetUnfinishedFile(const char *path);
/// Removes those of this process, which has to end then: no file is committed
/// any more. Waits for a commit on another thread. Safe in a signal handler.
void removeUnfinishedFiles();

/// Has signals that end the process (SIGINT, SIGTERM, SIGHUP, SIGXCPU and
/// others) remove them first, where these are not ignored. SIGXFSZ is ignored:
/// a write that is too large fails. For the main function of a program.
void removeFilesOnSignals();

} // namespace gpuasync

#endif // GPUASYNC_LIBS_AOT_NEWFILE_H

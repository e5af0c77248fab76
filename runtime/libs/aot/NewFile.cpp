//===- NewFile.cpp - The files that our tools make ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See NewFile.h.
//===----------------------------------------------------------------------===//

#include "NewFile.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace gpuasync {

//===----------------------------------------------------------------------===//
// What a signal removes
//===----------------------------------------------------------------------===//

/// More than that many files at once are not removed.
static constexpr size_t maxUnfinished = 64;
namespace {
struct Unfinished {
  pid_t process; ///< a forked child leaves its parent's alone
  char path[1];  ///< as long as it is
};
} // namespace
static std::atomic<Unfinished *> unfinished[maxUnfinished];
/// Between threads; a signal's handler only takes what is there.
static std::mutex unfinishedMutex;

void addUnfinishedFile(const char *path) {
  const size_t length = std::strlen(path) + 1;
  auto *copy = static_cast<Unfinished *>(
      std::malloc(offsetof(Unfinished, path) + length));
  if (!copy)
    return;
  copy->process = getpid();
  std::memcpy(copy->path, path, length);
  std::lock_guard<std::mutex> lock(unfinishedMutex);
  for (std::atomic<Unfinished *> &slot : unfinished) {
    Unfinished *none = nullptr;
    if (slot.compare_exchange_strong(none, copy))
      return;
  }
  std::free(copy);
}

void forgetUnfinishedFile(const char *path) {
  std::lock_guard<std::mutex> lock(unfinishedMutex);
  for (std::atomic<Unfinished *> &slot : unfinished) {
    Unfinished *known = slot.load();
    if (!known || std::strcmp(known->path, path) != 0 ||
        !slot.compare_exchange_strong(known, nullptr))
      continue;
    std::free(known);
    return;
  }
}

/// The process in the upper half, for a forked child's parent has its own. In
/// the lower half the thread that commits files, or 0: they have been removed.
static std::atomic<uint64_t> phase{0};

static uint64_t thisProcess() { return uint64_t(getpid()) << 32; }
static bool isOfThisProcess(uint64_t phase) {
  return phase >> 32 == thisProcess() >> 32;
}

void removeUnfinishedFiles() {
  const uint64_t removed = thisProcess();
  const uint64_t own = removed | uint32_t(syscall(SYS_gettid));
  for (uint64_t now = phase.load();;) {
    if (!isOfThisProcess(now) || now == removed || now == own) {
      if (phase.compare_exchange_weak(now, removed))
        break;
      continue;
    }
    const timespec shortly = {0, 200000};
    nanosleep(&shortly, nullptr);
    now = phase.load();
  }
  for (std::atomic<Unfinished *> &slot : unfinished)
    if (Unfinished *file = slot.exchange(nullptr))
      if (file->process == getpid())
        unlink(file->path); // not freed: this may be a signal handler
}

static void onSignal(int signal) {
  int error = errno;
  removeUnfinishedFiles();
  errno = error;
  // Its own action, once the handler has returned.
  std::signal(signal, SIG_DFL);
  raise(signal);
}

/// Signals that end a process and that others send it, a limit of its time
/// among them. A fault of its own leaves all as it is.
static constexpr int endingSignals[] = {SIGINT,  SIGTERM, SIGHUP,   SIGPIPE,
                                        SIGQUIT, SIGALRM, SIGUSR1,  SIGUSR2,
                                        SIGXCPU, SIGPROF, SIGVTALRM};

void removeFilesOnSignals() {
  for (int signal : endingSignals) {
    struct sigaction action = {};
    // Whoever has them ignored (nohup) wants the process to go on.
    if (sigaction(signal, nullptr, &action) == 0 &&
        action.sa_handler == SIG_IGN)
      continue;
    action = {};
    action.sa_handler = onSignal;
    sigaction(signal, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

//===----------------------------------------------------------------------===//
// Where a path leads
//===----------------------------------------------------------------------===//

/// The folder of a path, with its slash; "" for the current one.
static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

/// The number of an open file of this process that `path` names; -1 if none.
static int openFileOf(const std::string &path) {
  if (path == "/dev/stdin")
    return 0;
  if (path == "/dev/stdout")
    return 1;
  if (path == "/dev/stderr")
    return 2;
  const std::string own = "/proc/" + std::to_string(getpid()) + "/fd/";
  for (const std::string &folder :
       {std::string("/dev/fd/"), std::string("/proc/self/fd/"), own}) {
    if (path.compare(0, folder.size(), folder) != 0)
      continue;
    char *end = nullptr;
    const char *digits = path.c_str() + folder.size();
    long number = std::strtol(digits, &end, 10);
    if (end != digits && !*end && number >= 0 && number <= INT_MAX)
      return int(number);
  }
  return -1;
}

/// As Linux has it (fs.protected_symlinks): in a folder for all, such as /tmp,
/// the links of other users lead nowhere.
static bool mayFollow(const std::string &link) {
  std::string folder = folderOf(link);
  struct stat in, own;
  if (stat(folder.empty() ? "." : folder.c_str(), &in) != 0 ||
      lstat(link.c_str(), &own) != 0)
    return false;
  bool isForAll = (in.st_mode & S_ISVTX) && (in.st_mode & S_IWOTH);
  errno = EACCES;
  return !isForAll || own.st_uid == geteuid() || own.st_uid == in.st_uid;
}

/// Follows symbolic links, also to what is not there. Stops in front of one of
/// the process's own open files. False, with errno, where that is not possible.
static bool followLinks(std::string &path) {
  for (int links = 0; links < 40; ++links) {
    if (openFileOf(path) >= 0)
      return true;
    char to[PATH_MAX];
    ssize_t length = readlink(path.c_str(), to, sizeof(to));
    if (length < 0)
      return true; // no link
    if (!mayFollow(path))
      return false;
    std::string next(to, size_t(length));
    path = next[0] == '/' ? next : folderOf(path) + next;
  }
  errno = ELOOP;
  return false;
}

bool isSameNewFile(const std::string &one, const std::string &other) {
  struct Place {
    std::string path, folder;
    struct stat file, in;
    bool exists = false, isOpen = false;

    explicit Place(const std::string &path) : path(path) {}
    /// False: there is no file here, and none is made.
    bool find() {
      if (path.empty() || !followLinks(path))
        return false;
      if (int open = openFileOf(path); open >= 0) {
        isOpen = exists = true;
        return fstat(open, &file) == 0 && S_ISREG(file.st_mode);
      }
      folder = folderOf(path);
      exists = stat(path.c_str(), &file) == 0;
      if (exists ? !S_ISREG(file.st_mode) : errno != ENOENT)
        return false;
      return stat(folder.empty() ? "." : folder.c_str(), &in) == 0;
    }
    bool isInPlace() const {
      return faccessat(AT_FDCWD, folder.empty() ? "." : folder.c_str(),
                       W_OK | X_OK, AT_EACCESS) != 0;
    }
  };
  auto isSame = [](const struct stat &a, const struct stat &b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  };
  Place a(one), b(other);
  if (!a.find() || !b.find())
    return false;
  // The other one would take the place of what is open, or be written over it.
  if (a.isOpen || b.isOpen)
    return a.exists && b.exists && isSame(a.file, b.file);
  if (isSame(a.in, b.in) &&
      a.path.substr(a.folder.size()) == b.path.substr(b.folder.size()))
    return true;
  // Hard links become two files, unless their folders take no new one.
  return a.exists && b.exists && isSame(a.file, b.file) && a.isInPlace() &&
         b.isInPlace();
}

//===----------------------------------------------------------------------===//
// NewFile
//===----------------------------------------------------------------------===//

NewFile &NewFile::operator=(NewFile &&other) {
  std::swap(descriptor, other.descriptor);
  std::swap(target, other.target);
  std::swap(temporary, other.temporary);
  return *this;
}

NewFile::~NewFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (temporary.empty())
    return;
  unlink(temporary.c_str());
  forgetUnfinishedFile(temporary.c_str());
}

/// Opens a file of a name that nobody else has, in `folder`; -1 after an error.
static int openUnguessed(const std::string &folder, mode_t mode,
                         std::string &path) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    unsigned long long number = 0;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
      return -1;
    char name[64];
    std::snprintf(name, sizeof(name), ".gpu-async-%016llx", number);
    path = folder + name;
    // Before it is there: a signal may come in between.
    addUnfinishedFile(path.c_str());
    int descriptor =
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
             mode);
    if (descriptor >= 0)
      return descriptor;
    int error = errno;
    forgetUnfinishedFile(path.c_str());
    errno = error;
    if (error != EEXIST)
      return -1;
  }
  return -1;
}

/// The owner, group and mode of what is replaced, as far as they can be kept.
static void keepOwner(int descriptor, const struct stat &old) {
  struct stat own;
  if (fstat(descriptor, &own) != 0)
    return;
  bool isKept = own.st_gid == old.st_gid;
  if (own.st_uid != old.st_uid || !isKept)
    isKept = fchown(descriptor, old.st_uid, old.st_gid) == 0 ||
             fchown(descriptor, uid_t(-1), old.st_gid) == 0 || isKept;
  // What the old group might is not for another one.
  fchmod(descriptor, old.st_mode & (isKept ? 0777 : 0707));
}

int NewFile::create(const std::string &path, bool isExecutable) {
  target = path;
  if (path.empty())
    return ENOENT;
  if (!followLinks(target))
    return errno;
  if (int open = openFileOf(target); open >= 0) {
    // With the position that other output has reached.
    descriptor = fcntl(open, F_DUPFD_CLOEXEC, 0);
    return descriptor < 0 ? errno : 0;
  }
  struct stat there;
  bool exists = stat(target.c_str(), &there) == 0;
  if (!exists && errno != ENOENT)
    return errno;
  if (exists && S_ISDIR(there.st_mode))
    return EISDIR;
  if (exists && !S_ISREG(there.st_mode)) {
    descriptor = open(target.c_str(), O_WRONLY | O_CLOEXEC);
    return descriptor < 0 ? errno : 0;
  }
  if (exists && faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0)
    return errno;
  // One with another mode is for nobody else until it has that.
  mode_t mode = isExecutable ? 0777 : 0666;
  descriptor =
      openUnguessed(folderOf(target), exists ? mode & 0700 : mode, temporary);
  if (descriptor >= 0) {
    if (exists)
      keepOwner(descriptor, there);
    struct stat made;
    if (exists && isExecutable && fstat(descriptor, &made) == 0)
      fchmod(descriptor, (made.st_mode & 0777) | ((made.st_mode & 0444) >> 2));
    return 0;
  }
  int error = errno;
  temporary.clear();
  // In a folder that takes no file, one that is there can be written.
  if (!exists || (error != EACCES && error != EPERM && error != EROFS))
    return error;
  descriptor = open(target.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  return descriptor < 0 ? error : 0;
}

static int writeAll(int descriptor, const void *bytes, size_t size) {
  auto *next = static_cast<const char *>(bytes);
  while (size) {
    // Linux writes no more than 2 GiB at once.
    ssize_t done = ::write(descriptor, next, size < (1 << 30) ? size : 1 << 30);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return done < 0 ? errno : EIO;
    next += done;
    size -= size_t(done);
  }
  return 0;
}

int NewFile::write(const void *bytes, size_t size) {
  return writeAll(descriptor, bytes, size);
}

int NewFile::close() {
  // A server may say only here that its disk is full.
  int failed = ::close(std::exchange(descriptor, -1));
  return failed ? errno : 0;
}

namespace {
/// While one lives no signal ends the process: this thread takes none, and
/// other threads' handlers wait. One thread at a time.
class CommitScope {
public:
  CommitScope() {
    sigset_t ending;
    sigemptyset(&ending);
    for (int signal : endingSignals)
      sigaddset(&ending, signal);
    pthread_sigmask(SIG_BLOCK, &ending, &before);
    mutex.lock();
    const uint64_t own = thisProcess() | uint32_t(syscall(SYS_gettid));
    uint64_t now = phase.load();
    do {
      while (isOfThisProcess(now)) // the files are removed, the process ends
        pause();
    } while (!phase.compare_exchange_weak(now, own));
  }
  CommitScope(const CommitScope &) = delete;
  ~CommitScope() {
    phase.store(0);
    mutex.unlock();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

private:
  static std::mutex mutex;
  sigset_t before;
};
std::mutex CommitScope::mutex;
} // namespace

/// Writes one file over another, which stays the file that it is. Returns 0, or
/// an errno.
static int writeOver(const std::string &from, const std::string &to) {
  int source = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0)
    return errno;
  int target = open(to.c_str(), O_WRONLY | O_CLOEXEC);
  int error = target < 0 ? errno : 0;
  off_t size = 0;
  while (!error) {
    char bytes[1 << 14];
    ssize_t count = read(source, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      error = count < 0 ? errno : 0;
      break;
    }
    error = writeAll(target, bytes, size_t(count));
    size += count;
  }
  if (!error && ftruncate(target, size) != 0)
    error = errno;
  ::close(source);
  if (target >= 0 && ::close(target) != 0 && !error)
    error = errno;
  return error;
}

/// Gives a file its name. Where that cannot be done, such as for another user's
/// file in /tmp or one that is mounted by itself, what is there is written
/// over.
static int takePlace(const std::string &temporary, const std::string &target) {
  if (rename(temporary.c_str(), target.c_str()) == 0)
    return 0;
  int error = errno;
  if ((error != EPERM && error != EACCES && error != EBUSY) ||
      writeOver(temporary, target) != 0)
    return error;
  unlink(temporary.c_str());
  return 0;
}

int commit(const std::vector<NewFile *> &files, size_t &failed) {
  int error = 0;
  size_t done = 0;
  {
    const CommitScope scope;
    for (; done < files.size(); ++done) {
      const NewFile &file = *files[done];
      if (!file.temporary.empty())
        error = takePlace(file.temporary, file.target);
      if (error) {
        failed = done; // its destructor removes it
        break;
      }
    }
  }
  for (size_t i = 0; i < done; ++i) {
    NewFile &file = *files[i];
    if (!file.temporary.empty())
      forgetUnfinishedFile(file.temporary.c_str());
    file.temporary.clear();
  }
  return error;
}

int NewFile::commit() {
  size_t failed = 0;
  return gpuasync::commit({this}, failed);
}

} // namespace gpuasync

//===- TraceFile.cpp - The file of a trace --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See TraceFile.h.
//===----------------------------------------------------------------------===//

#include "libs/trace/TraceFile.h"
#include "shim/base/Uncancelled.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace gpuasync;

/// Bytes of the character that begins here; 0 if none does.
static size_t characterBytes(const unsigned char *text) {
  size_t more = text[0] < 0x80                       ? 0
                : text[0] >= 0xc2 && text[0] <= 0xdf ? 1
                : (text[0] & 0xf0) == 0xe0           ? 2
                : text[0] >= 0xf0 && text[0] <= 0xf4 ? 3
                                                     : SIZE_MAX;
  if (more == SIZE_MAX)
    return 0;
  for (size_t i = 1; i <= more; ++i)
    if ((text[i] & 0xc0) != 0x80)
      return 0;
  // Too long a form, half of a pair, beyond the last one.
  if ((text[0] == 0xe0 && text[1] < 0xa0) ||
      (text[0] == 0xed && text[1] >= 0xa0) ||
      (text[0] == 0xf0 && text[1] < 0x90) ||
      (text[0] == 0xf4 && text[1] >= 0x90))
    return 0;
  return more + 1;
}

void gpuasync::appendQuoted(std::string &out, const char *text) {
  out += '"';
  auto *at = reinterpret_cast<const unsigned char *>(text);
  while (*at) {
    size_t bytes = characterBytes(at);
    char escaped[8];
    if (!bytes) {
      out += '?';
    } else if (*at == '"' || *at == '\\') {
      out += '\\';
      out += char(*at);
    } else if (*at < 0x20) {
      snprintf(escaped, sizeof(escaped), "\\u%04x", unsigned(*at));
      out += escaped;
    } else {
      out.append(reinterpret_cast<const char *>(at), bytes);
    }
    at += bytes ? bytes : 1;
  }
  out += '"';
}

void gpuasync::appendTime(std::string &out, int64_t ns) {
  if (ns < 0)
    out += '-';
  const uint64_t size = ns < 0 ? 0 - uint64_t(ns) : uint64_t(ns);
  char text[32];
  snprintf(text, sizeof(text), "%" PRIu64 ".%03u", size / 1000,
           unsigned(size % 1000));
  out += text;
}

/// Opens it for writing. In a folder for all, such as /tmp, the links of other
/// users lead nowhere, as Linux has it (fs.protected_symlinks).
static int openForWriting(const std::string &path) {
  // Opening a pipe would wait for its reader.
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK;
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "./" : path.substr(0, slash + 1);
  struct stat in, link;
  const bool isForAll = stat(folder.c_str(), &in) == 0 &&
                        (in.st_mode & S_ISVTX) && (in.st_mode & S_IWOTH);
  if (!isForAll)
    return ::open(path.c_str(), flags, 0666);
  const int descriptor = ::open(path.c_str(), flags | O_NOFOLLOW, 0666);
  if (descriptor >= 0 || errno != ELOOP)
    return descriptor;
  // Nobody else can put another one in the place of an own link.
  if (lstat(path.c_str(), &link) == 0 &&
      (link.st_uid == geteuid() || link.st_uid == in.st_uid))
    return ::open(path.c_str(), flags, 0666);
  errno = EACCES;
  return -1;
}

Status TraceFile::open(const char *wanted, uint64_t most, const char *other) {
  name.clear();
  for (const char *at = wanted; *at; ++at) {
    if (at[0] == '%' && at[1] == 'p') {
      name += std::to_string(getpid());
      ++at;
    } else {
      name += *at;
    }
  }
  const Uncancelled uncancelled;
  descriptor = openForWriting(name);
  if (descriptor < 0 && errno == ENXIO)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "trace file '%s' cannot be written: it is a pipe that "
                      "nobody reads; start its reader first, or name a file",
                      name.c_str());
  if (descriptor < 0)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "trace file '%s' cannot be written: %s; name one in a "
                      "folder that can",
                      name.c_str(), strerror(errno));
  (void)fcntl(descriptor, F_SETFL, 0); // writes wait for the reader
  seekable = lseek(descriptor, 0, SEEK_CUR) >= 0;
  gathered = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  end = 0;
  error = 0;
  limit = most;
  droppedCount = written = 0;
  flush(other);
  return error ? close(other) : Status();
}

bool TraceFile::append(const std::string &event) {
  if (uint64_t(end) + gathered.size() + event.size() > limit || error) {
    drop();
    return false;
  }
  gathered += written++ ? ",\n" : "\n";
  gathered += event;
  return true;
}

void TraceFile::write(const char *bytes, size_t size, int64_t at) {
  const WriteScope scope;
  while (size && !error) {
    ssize_t done = seekable ? pwrite(descriptor, bytes, size, at)
                            : ::write(descriptor, bytes, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0) {
      error = done < 0 ? errno : EIO;
      return;
    }
    bytes += done;
    at += done;
    size -= size_t(done);
  }
}

void TraceFile::flush(const char *other) {
  const size_t size = gathered.size();
  if (seekable) // the end is written over by what comes next
    gathered += std::string("\n],\"otherData\":") + other + "}\n";
  write(gathered.data(), gathered.size(), end);
  end += int64_t(size);
  gathered.clear();
  flushed = nowNs();
}

Status TraceFile::close(const char *other) {
  (void)guard([&] {
    if (!seekable)
      gathered += std::string("\n],\"otherData\":") + other + "}\n";
    flush(other);
    return Status();
  });
  const Uncancelled uncancelled;
  if (::close(descriptor) != 0 && !error)
    error = errno;
  descriptor = -1;
  if (!error)
    return Status();
  return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                    "trace file '%s' is not whole: %s", name.c_str(),
                    strerror(error));
}

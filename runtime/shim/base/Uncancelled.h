//===- Uncancelled.h - What must not be interrupted -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pthread_cancel unwinds a thread that waits or writes, and our entries cannot
// be unwound: the process would end. And what an embedder limits, the size of
// its files for one, must not end it by a signal.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_BASE_UNCANCELLED_H
#define GPUASYNC_SHIM_BASE_UNCANCELLED_H

#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace gpuasync {

/// While one lives the calling thread is not cancelled; a request stays for the
/// time after. It costs tens of nanoseconds, so it is where a thread sleeps.
class Uncancelled {
public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); }
  Uncancelled(const Uncancelled &) = delete;
  ~Uncancelled() { pthread_setcancelstate(before, nullptr); }

private:
  int before = PTHREAD_CANCEL_ENABLE;
};

/// The same, and writes of the calling thread beyond RLIMIT_FSIZE, or to a pipe
/// that nobody reads, are errors (EFBIG, EPIPE) without a signal. What the
/// process does about such signals stays as it is.
class WriteScope {
public:
  WriteScope() {
    sigset_t pending;
    sigpending(&pending);
    sigemptyset(&ours);
    sigemptyset(&raised);
    const int signals[] = {SIGXFSZ, SIGPIPE};
    for (int signal : signals) {
      sigaddset(&ours, signal);
      if (!sigismember(&pending, signal))
        sigaddset(&raised, signal);
    }
    pthread_sigmask(SIG_BLOCK, &ours, &before);
  }
  WriteScope(const WriteScope &) = delete;
  ~WriteScope() {
    // The kernel sends them to the thread that writes.
    const timespec now = {0, 0};
    while (sigtimedwait(&raised, nullptr, &now) > 0)
      ;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

private:
  Uncancelled uncancelled;
  sigset_t ours, raised, before;
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_BASE_UNCANCELLED_H

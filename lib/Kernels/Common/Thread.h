//===- Thread.h - Threads that the system may refuse ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::thread and llvm::thread end the process where the system gives no
// thread: the compiler is built without exceptions.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_COMMON_THREAD_H
#define GPUASYNC_LIB_KERNELS_COMMON_THREAD_H

#include "llvm/ADT/FunctionExtras.h"
#include "llvm/Support/Error.h"

#include <cassert>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <pthread.h>
#include <system_error>
#include <utility>

namespace mlir::gpuasync {

/// A thread. Once started it is joined or detached before this object goes.
class Thread {
public:
  using Body = llvm::unique_function<void()>;

  Thread() = default;
  Thread(Thread &&other)
      : thread(other.thread), isRunning(std::exchange(other.isRunning, false)) {
  }
  Thread &operator=(Thread &&) = delete;
  ~Thread() { assert(!isRunning && "neither joined nor detached"); }

  /// Runs `body` on a stack of `stackBytes`, 0: of the default size. An error
  /// if the system gives no thread; then `body` does not run.
  llvm::Error start(Body body, size_t stackBytes = 0) {
    auto held = std::make_unique<Body>(std::move(body));
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (!error) {
      if (stackBytes)
        error = pthread_attr_setstacksize(&attributes, stackBytes);
      if (!error)
        error = pthread_create(&thread, &attributes, run, held.get());
      pthread_attr_destroy(&attributes);
    }
    if (error)
      return llvm::createStringError(
          std::error_code(error, std::generic_category()),
          "the system gives no thread: %s%s",
          std::generic_category().message(error).c_str(),
          error == EAGAIN ? "; raise the limit of threads (ulimit -u)" : "");
    (void)held.release();
    isRunning = true;
    return llvm::Error::success();
  }
  bool isJoinable() const { return isRunning; }
  void join() {
    pthread_join(thread, nullptr);
    isRunning = false;
  }
  void detach() {
    pthread_detach(thread);
    isRunning = false;
  }

private:
  static void *run(void *argument) {
    std::unique_ptr<Body> body(static_cast<Body *>(argument));
    (*body)();
    return nullptr;
  }

  pthread_t thread = {};
  bool isRunning = false;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_THREAD_H

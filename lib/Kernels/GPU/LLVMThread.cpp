//===- LLVMThread.cpp - LLVM code that may fail fatally ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See LLVMThread.h.
//===----------------------------------------------------------------------===//

#include "LLVMThread.h"
#include "Kernels/Common/Thread.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/raw_ostream.h"
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <unistd.h>

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// What the thread tells the one that waits. The thread may outlive that.
class Outcome {
public:
  void finish(std::optional<FatalError> failed) {
    std::lock_guard<std::mutex> lock(mutex);
    error = std::move(failed);
    done = true;
    changed.notify_one();
  }
  std::optional<FatalError> wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return done; });
    return std::move(error);
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::optional<FatalError> error;
};

/// Installs the process's handlers while any thread runs LLVM here.
class Handlers {
public:
  Handlers() {
    std::lock_guard<std::mutex> lock(mutex);
    if (users++ == 0) {
      llvm::CrashRecoveryContext::Enable();
      llvm::install_fatal_error_handler(handle, nullptr);
    }
  }
  ~Handlers() {
    std::lock_guard<std::mutex> lock(mutex);
    if (--users == 0) {
      llvm::remove_fatal_error_handler();
      llvm::CrashRecoveryContext::Disable();
    }
  }

private:
  static void handle(void *, const char *reason, bool);

  static std::mutex mutex;
  static unsigned users;
};
std::mutex Handlers::mutex;
unsigned Handlers::users = 0;

/// The outcome that this thread is to tell.
thread_local Outcome *current = nullptr;
} // namespace

/// Passes leave it on the stack, with their names, for reports of crashes.
std::string gpuasync::getFunctionOfLLVM() {
  for (auto *entry = static_cast<const llvm::PrettyStackTraceEntry *>(
           llvm::SavePrettyStackState());
       entry; entry = entry->getNextEntry()) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    entry->print(stream);
    StringRef rest = text;
    size_t at = rest.find(" on function '@");
    if (at == StringRef::npos)
      continue;
    rest = rest.drop_front(at + StringRef(" on function '@").size());
    return rest.take_until([](char c) { return c == '\''; }).str();
  }
  return "";
}

/// Tells of the failure and never returns.
[[noreturn]] static void fail(FatalError error) {
  current->finish(std::move(error));
  // Signals to the process are for its other threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (true)
    pause();
}

void Handlers::handle(void *, const char *reason, bool) {
  if (current)
    fail({reason, getFunctionOfLLVM()});
  llvm::errs() << "LLVM ERROR: " << reason << "\n";
}

/// Runs `work` far enough down the stack that what fail() calls, back at the
/// top after a crash, overwrites nothing of it.
LLVM_ATTRIBUTE_NOINLINE static void runBelow(function_ref<void()> work) {
  volatile char gap[1 << 16];
  gap[0] = gap[sizeof(gap) - 1] = 0;
  work();
  (void)gap[0];
}

std::optional<FatalError> gpuasync::runLLVM(function_ref<void()> work) {
  Handlers handlers;
  auto outcome = std::make_shared<Outcome>();
  auto body = [outcome, work] {
    current = outcome.get();
    llvm::CrashRecoveryContext recovery;
    if (!recovery.RunSafely([&] { runBelow(work); })) {
      // LLVM prints nodes of its graphs without ending the line.
      (void)!write(STDERR_FILENO, "\n", 1);
      // What passes left on the stack may be gone, so no function is known.
      fail({"LLVM's code generator crashed", ""});
    }
    outcome->finish(std::nullopt);
  };
  // As much as a main thread has, and more: code generators are recursive.
  constexpr size_t stackBytes = 64u << 20;
  Thread thread;
  if (llvm::Error refused = thread.start(std::move(body), stackBytes))
    return FatalError{llvm::toString(std::move(refused)), ""};
  std::optional<FatalError> error = outcome->wait();
  if (error)
    thread.detach();
  else
    thread.join();
  return error;
}

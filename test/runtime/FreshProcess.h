//===- FreshProcess.h - Tests in processes of their own ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test that has to be the first to use something, or that ends its process,
// runs in this program once more, as a test that is disabled elsewhere.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_FRESHPROCESS_H
#define GPUASYNC_TEST_RUNTIME_FRESHPROCESS_H

#include <gtest/gtest.h>

#include <stdio.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuasync_test {

/// What a shell says of such an end: the exit code, or 128 and the signal.
inline int exitCodeOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Runs the disabled test `<suite>Body.DISABLED_<name>` in a process that has
/// used nothing yet, and returns its exit code. `pid` receives its number.
inline int inFreshProcess(const char *suite, const char *name,
                          int *pid = nullptr) {
  fflush(nullptr);
  pid_t child = fork();
  if (pid)
    *pid = child;
  if (child == 0) {
    execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
          (std::string("--gtest_filter=") + suite + "Body.DISABLED_" + name)
              .c_str(),
          nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return exitCodeOf(status);
}

/// A test whose body runs in a fresh process and returns 0 if all is right. A
/// hang ends it.
#define FRESH_PROCESS_TEST(suite, name)                                        \
  int name##Body();                                                            \
  TEST(suite##Body, DISABLED_##name) {                                         \
    alarm(300);                                                                \
    EXPECT_EQ(name##Body(), 0);                                                \
  }                                                                            \
  TEST(suite, name) {                                                          \
    EXPECT_EQ(gpuasync_test::inFreshProcess(#suite, #name), 0);                \
  }                                                                            \
  int name##Body()

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_FRESHPROCESS_H

//===- EnvironmentTest.cpp - The environment of privileged programs -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process with more rights than whoever set its environment heeds none of it:
// variables name files that the runtime writes and libraries that it loads.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "shim/base/Settings.h"
#include "gtest/gtest.h"

#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

/// In a process of its own, whose environment the parent chose: opens a
/// context, as a program would, and says by its exit code whether a variable
/// counts.
TEST(EnvironmentBody, DISABLED_Open) {
  {
    gpuasync::Context context;
    gpuasync::Status status = gpuasync::Context::open("cpu", context);
    if (!status.ok())
      _exit(3);
  }
  gpuasync_status_free(gpuasync_shutdown());
  _exit(gpuasync::setting("GPU_ASYNC_TEST_SEED") ? 1 : 0);
}

/// Its exit code.
int open(const std::string &program, std::vector<const char *> environment) {
  pid_t child = fork();
  if (child == 0) {
    environment.push_back(nullptr);
    execle(program.c_str(), "self", "--gtest_also_run_disabled_tests",
           "--gtest_brief=1", "--gtest_filter=EnvironmentBody.DISABLED_Open",
           nullptr, environment.data());
    _exit(127);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

TEST(Environment, SetuidProgramsHeedNone) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer does not start in a setuid program";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer does not start in a setuid program";
#endif
#endif
  if (geteuid() != 0)
    GTEST_SKIP() << "needs root, to make a program of another user";
  char folder[] = "/tmp/gpu-async-environment-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  std::string work = folder, program = work + "/setuid",
              trace = work + "/trace.json";
  ASSERT_EQ(
      system(
          ("cp /proc/" + std::to_string(getpid()) + "/exe " + program).c_str()),
      0);
  ASSERT_EQ(chmod(folder, 0777), 0);
  ASSERT_EQ(chmod(program.c_str(), 0755), 0);
  std::string variable = "GPU_ASYNC_TRACE=" + trace;
  std::vector<const char *> set{variable.c_str(), "GPU_ASYNC_TEST_SEED=1"};
  // Beside an ordinary one, which does.
  EXPECT_EQ(open(program, set), 1);
  EXPECT_TRUE(exists(trace));
  EXPECT_EQ(unlink(trace.c_str()), 0);
  ASSERT_EQ(chown(program.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  EXPECT_EQ(open(program, set), 0);
  EXPECT_FALSE(exists(trace));
  // What would be an error is none, either.
  EXPECT_EQ(open(program, {"GPU_ASYNC_TIMEOUT=soon"}), 0);
  EXPECT_EQ(system(("rm -rf " + work).c_str()), 0);
}

} // namespace

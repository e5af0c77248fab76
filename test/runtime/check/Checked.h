//===- Checked.h - Programs under the checker -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What gpu-runner --check does with a program, by hand: the functions come from
// gpuasync_check_find, and kernels call the checker before they touch memory.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_CHECK_CHECKED_H
#define GPUASYNC_TEST_RUNTIME_CHECK_CHECKED_H

#include "../CpuKernel.h"
#include "../Sites.h"
#include "gpuasync/Check.h"
#include "gpuasync/Context.h"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace gpuasync_test {

/// An op at this line.
#define OP(text)                                                               \
  ([]() -> uint32_t {                                                          \
    static const uint32_t site =                                               \
        gpuasync_test::testSite("host.mlir", text, __LINE__, 3);               \
    return site;                                                               \
  }())

constexpr unsigned checkRead = GPUASYNC_CHECK_READ;
constexpr unsigned checkWrite = GPUASYNC_CHECK_WRITE;
constexpr unsigned checkAtomic =
    GPUASYNC_CHECK_READ | GPUASYNC_CHECK_WRITE | GPUASYNC_CHECK_ATOMIC;

/// The function that stands in for one of RuntimeABI.h's.
template <typename Function>
Function *standIn(Function *, const char *name) {
  return reinterpret_cast<Function *>(gpuasync_check_find(name));
}
#define STAND_IN(name) gpuasync_test::standIn(&name, #name)

/// What a block does; called once for each block.
using Body = std::function<void(const gpuasync_cpu_block_ctx *, char *)>;

/// A program with one kernel, which runs the body that it is given.
class CheckedProgram {
public:
  static constexpr uint64_t workgroupBytes = 1024;
  CheckedProgram();
  CheckedProgram(const CheckedProgram &) = delete;
  ~CheckedProgram() {
    gpuasync_status_free(gpuasync_program_release(&program));
  }

  gpuasync_cpu_kernel cpu;
  uint32_t paramOffset = 0, paramSize = 8, moduleIndex = 0;
  gpuasync_kernel kernel;
  gpuasync_image image;
  gpuasync_module module;
  void *slot = nullptr;
  gpuasync_program program;
  gpuasync_function function;
};

/// A call of a function of the program, as the lowered code makes it.
class CheckedFrame {
public:
  explicit CheckedFrame(CheckedProgram &program) {
    STAND_IN(gpuasync_frame_enter)(&frame, &program.function);
  }
  CheckedFrame(const CheckedFrame &) = delete;
  ~CheckedFrame() {
    if (open)
      EXPECT_EQ(leave(), "");
  }
  /// The error's message.
  std::string leave();

  gpuasync_stream *stream() {
    return STAND_IN(gpuasync_stream_create)(&frame, 0, OP("stream.create"));
  }
  void destroy(gpuasync_stream *stream) {
    STAND_IN(gpuasync_stream_destroy)(&frame, stream, 0, OP("stream.destroy"));
  }
  /// `body` must live until the kernel has run.
  void launch(gpuasync_stream *stream, uint32_t site, const Body &body,
              int64_t grid = 1, int64_t block = 1);
  char *alloc(gpuasync_stream *stream, uint64_t bytes,
              uint32_t site = OP("alloc"), uint32_t flags = 0) {
    return static_cast<char *>(
        STAND_IN(gpuasync_alloc)(&frame, 0, stream, bytes, flags, site));
  }
  void dealloc(gpuasync_stream *stream, void *memory,
               uint32_t site = OP("dealloc")) {
    STAND_IN(gpuasync_dealloc)(&frame, 0, stream, memory, site);
  }
  void copy(gpuasync_stream *stream, void *to, const void *from, uint64_t bytes,
            uint32_t site = OP("memcpy")) {
    STAND_IN(gpuasync_memcpy)(&frame, stream, to, from, bytes, site);
  }
  void fill(gpuasync_stream *stream, void *to, uint64_t bytes,
            uint32_t site = OP("memset")) {
    char zero = 0;
    STAND_IN(gpuasync_memset)(&frame, stream, to, &zero, 1, bytes, site);
  }
  /// `second` goes on after what `first` has been given so far.
  void order(gpuasync_stream *first, gpuasync_stream *second);
  void wait(gpuasync_stream *stream) {
    STAND_IN(gpuasync_stream_synchronize)(&frame, &stream, 1, OP("wait"));
  }
  bool query(gpuasync_stream *stream) {
    return STAND_IN(gpuasync_stream_query)(&frame, stream, OP("query"));
  }
  void hostRegister(void *memory, uint64_t bytes) {
    STAND_IN(gpuasync_host_register)(&frame, memory, bytes, OP("register"));
  }
  void hostUnregister(void *memory) {
    STAND_IN(gpuasync_host_unregister)(&frame, memory, OP("unregister"));
  }

  gpuasync_frame frame;

private:
  bool open = true;
};

/// An access of a kernel at `line` of kernel.mlir. Whether it may happen.
bool access(const void *memory, uint64_t bytes, unsigned flags, unsigned line,
            uint32_t thread = 0, const void *base = nullptr);
/// A thread comes to the barrier at `line` of kernel.mlir.
void barrier(unsigned line, uint32_t thread);
/// Host code accesses memory at `line` of kernel.mlir.
bool hostAccess(const void *memory, uint64_t bytes, unsigned flags,
                unsigned line, const void *base = nullptr);

/// Begins with no reports; all that were made must have been asked for.
class CheckTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;
  /// All reports since the test began or asked last, each with its notes.
  std::vector<std::string> take();
  /// The only report.
  std::string takeOne();

  CheckedProgram program, library;
  std::mutex mutex;
  std::vector<std::string> reports;
};

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_CHECK_CHECKED_H

//===- Entries.h - Each public entry, called once ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line an entry: how it is called with what is there. The list is complete:
// it is compared with what the shared libraries export.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_ENTRIES_ENTRIES_H
#define GPUASYNC_TEST_RUNTIME_ENTRIES_ENTRIES_H

#include "Fixture.h"
#include "gpuasync/Check.h"
#include "gpuasync/DiskCache.h"
#include "gpuasync/Mgpu.h"
#include "gpuasync/Program.h"

#include <functional>
#include <vector>

namespace gpuasync_test {

/// What entries are called with: an open frame of this thread with one of
/// everything, and the same outside of it. Plain data: where calls do nothing,
/// it can be put back to what it was.
struct Handles {
  gpuasync_context *context = nullptr;
  gpuasync_frame frame;
  bool open = false; ///< `frame`
  gpuasync_stream *stream = nullptr, *callers = nullptr;
  gpuasync_event *event = nullptr, *token = nullptr;
  uint32_t *x = nullptr;
  uint32_t *flag = nullptr; ///< what Gate kernels wait for
  gpuasync_disk_cache *cache = nullptr;
  /// Of upstream's symbols; the cpu has no module.
  void *mgpuStream = nullptr, *mgpuEvent = nullptr, *mgpuModule = nullptr,
       *mgpuFunction = nullptr, *mgpuMemory = nullptr;
};

class World : public Handles {
public:
  explicit World(const char *device);
  World(const World &) = delete;
  /// Makes what there is not of the handles; the first error.
  Status make();
  void leave(); ///< the frame
  /// Gives back what is left after an entry was called, whatever came of that.
  void end();

  const char *device;
  TestProgram program{TestProgram::All, "first"};
  TestProgram second{TestProgram::All, "second"};
  std::vector<uint32_t> host = std::vector<uint32_t>(1024);

private:
  /// The first program's kernels, and an array.
  gpuasync_module modules[2];
  gpuasync_image constant = {GPUASYNC_IMAGE_DATA, 0, "", "constant", 8, {7, 7}};
  const uint32_t indices[2] = {0, 1};
};

struct EntryCall {
  enum Kind {
    Refuses,  ///< with a status, where it must not work
    Reads,    ///< refuses with a status in a forked child, serves at exit
    IsSilent, ///< has none to refuse with
    Serves,   ///< works everywhere
    Ends,     ///< what other entries are called with
    Aborts,   ///< the process, where it must not work
    Missing,  ///< never works
    InKernels ///< only kernels call it
  };
  const char *name;
  Kind kind;
  /// What it says; success if it says nothing.
  std::function<Status(World &)> call;
};
const std::vector<EntryCall> &entryCalls();

/// An entry with null for each of its pointers.
struct NullCall {
  const char *name;
  /// For each pointer: '-' it is never null (said in the headers), 'r' refused,
  /// 'm' null means something.
  const char *expected;
  /// Calls it with null for the pointer number `which`; false if there is none.
  /// What it says, if it returns that.
  bool (*call)(World &world, int which, Status &said);
};
const std::vector<NullCall> &nullCalls();

/// What a call of upstream's has said.
Status errorOfMgpu();

/// The functions that a shared library of ours exports.
std::vector<std::string> exportsOf(const char *library);

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_ENTRIES_ENTRIES_H

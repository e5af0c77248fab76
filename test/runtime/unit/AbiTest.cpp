//===- AbiTest.cpp - What versions of the ABI promise each other ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of sites, structs of callers with other headers, programs of other
// versions.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "WatchedDriver.h"
#include "gpuasync/Check.h"
#include "gpuasync/DiskCache.h"

#include <sys/mman.h>

using namespace gpuasync_test;

namespace {

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

constexpr auto table = [] {
  gpuasync::SiteTable<2, 21> made;
  made.add("a.mlir", "first", 3, 4);
  made.add("", "second", 5, 6, 7, 8, 9);
  return made;
}();
static_assert(table.size() == 2);

TEST(Sites, TableIsConstantAndNeedsNoAddress) {
  // Wherever the bytes are.
  alignas(8) char bytes[sizeof(table)];
  memcpy(bytes, &table, sizeof(table));
  auto *sites = reinterpret_cast<const gpuasync_site *>(bytes);
  EXPECT_STREQ(gpuasync_site_file(sites), "a.mlir");
  EXPECT_STREQ(gpuasync_site_op(sites), "first");
  EXPECT_EQ(sites[0].line, 3u);
  EXPECT_EQ(sites[0].column, 4u);
  EXPECT_EQ(sites[0].id, UINT32_MAX);
  EXPECT_STREQ(gpuasync_site_file(sites + 1), "");
  EXPECT_STREQ(gpuasync_site_op(sites + 1), "second");
  EXPECT_EQ(sites[1].id, 7u);
  EXPECT_EQ(sites[1].module, 8u);
  EXPECT_EQ(sites[1].kernel, 9u);
}

TEST(Sites, TableIsFull) {
  gpuasync::SiteTable<2, 8> small;
  EXPECT_EQ(small.add("a", "b"), 0u);
  EXPECT_EQ(small.add("a", "bcd"), GPUASYNC_NO_SITE); // 6 bytes of 4
  EXPECT_EQ(small.add("a", "b"), 1u);
  EXPECT_EQ(small.add("", ""), GPUASYNC_NO_SITE);
  EXPECT_EQ(small.size(), 2u);
}

// A call without a site works; its errors have no place. A launch needs one.
TEST(Sites, CallsWithoutOne) {
  TestProgram program;
  Context context;
  ASSERT_TRUE(Context::open("cpu", context).ok());
  ContextScope scope(context);
  for (uint32_t none : {GPUASYNC_NO_SITE, maxTestSites}) {
    FrameScope frame(program);
    gpuasync_stream *stream = gpuasync_stream_create(frame, 0, none);
    EXPECT_NE(stream, nullptr);
    EXPECT_EQ(gpuasync_stream_synchronize(frame, &stream, 1, none), 0);
    detail::StoreParams params = {};
    gpuasync_launch_config block = makeLaunch(1, 1, params);
    gpuasync_launch(frame, stream, none, &block);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    EXPECT_STREQ(status.message(), "a launch of program 'test' without a site, "
                                   "which names its kernel");
  }
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Memory in which an object ends where no memory can be read any more.
class EndOfMemory {
public:
  EndOfMemory()
      : pages(
            static_cast<char *>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_NE(static_cast<void *>(pages), MAP_FAILED);
    EXPECT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  }
  EndOfMemory(const EndOfMemory &) = delete;
  ~EndOfMemory() { munmap(pages, 2 * page); }
  template <typename T>
  T *put(const T &value) {
    return new (pages + page - sizeof(T)) T(value);
  }

private:
  static constexpr size_t page = 4096;
  char *pages;
};

/// Enters and leaves a frame of a function that a program of an earlier version
/// contains; the message of its error.
std::string enterOld(const gpuasync_function *function, void *&slot) {
  gpuasync_frame frame;
  EXPECT_EQ(gpuasync_frame_enter(&frame, function), 1);
  EXPECT_EQ(gpuasync_stream_create(&frame, 0, 0), nullptr);
  Status status(gpuasync_frame_leave(&frame));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
  EXPECT_EQ(slot, nullptr);
  return status.message();
}

TEST(Versions, ProgramOfVersion1IsRefused) {
  // Ends before what version 2 added.
  struct Program1 {
    uint32_t abiVersion, moduleCount;
    const char *name;
    const gpuasync_module *modules;
    void **slot;
  };
  static_assert(offsetof(Program1, name) == offsetof(gpuasync_program, name));
  static_assert(offsetof(Program1, slot) == offsetof(gpuasync_program, slot));
  void *slot = nullptr;
  EndOfMemory memory;
  auto *old = memory.put(Program1{0x00010002, 0, "old", nullptr, &slot});
  gpuasync_function function{};
  function.name = "main";
  function.file = "old.mlir";
  function.line = 3;
  function.column = 1;
  function.program = reinterpret_cast<gpuasync_program *>(old);
  EXPECT_EQ(enterOld(&function, slot),
            "old.mlir:3:1: main: program 'old' was compiled for runtime ABI "
            "1.2, this runtime has 3.1: compile it again");
}

TEST(Versions, ProgramOfVersion2IsRefused) {
  // Ends before what version 3 added.
  struct Function2 {
    const char *name, *file;
    uint32_t line, column;
    const gpuasync_program *program;
    const uint32_t *modules;
    uint32_t moduleCount, flags;
  };
  static_assert(offsetof(Function2, program) ==
                offsetof(gpuasync_function, program));
  static_assert(sizeof(Function2) < sizeof(gpuasync_function));
  void *slot = nullptr;
  const gpuasync_program program = {0x00020004, 0,       "old", nullptr,
                                    &slot,      nullptr, 0,     0};
  EndOfMemory memory;
  auto *old =
      memory.put(Function2{"main", "old.mlir", 3, 1, &program, nullptr, 0, 0});
  EXPECT_EQ(enterOld(reinterpret_cast<gpuasync_function *>(old), slot),
            "old.mlir:3:1: main: program 'old' was compiled for runtime ABI "
            "2.4, this runtime has 3.1: compile it again");
}

TEST(Versions, NewerProgramIsRefused) {
  void *slot = nullptr;
  const gpuasync_program program = {0x00030002, 0,       "new", nullptr,
                                    &slot,      nullptr, 0,     0};
  const gpuasync_function function = {"main",  "new.mlir", 3, 1, &program,
                                      nullptr, 0,          0, 1, 0};
  EXPECT_EQ(enterOld(&function, slot),
            "new.mlir:3:1: main: program 'new' was compiled for runtime ABI "
            "3.2, this runtime has 3.1: compile it again");
}

//===----------------------------------------------------------------------===//
// Structs of callers
//===----------------------------------------------------------------------===//

/// A struct as a caller with a header of another version sees it.
template <typename T>
struct Longer {
  T known;
  uint64_t later[4];
};

/// `read(pointer)` fills a struct of the caller's, and gives a status or null.
template <typename T, typename Read>
void checkOut(Read read) {
  // Not set: nothing is written.
  T none;
  memset(static_cast<void *>(&none), 0xab, sizeof(none));
  for (uint64_t size : {uint64_t(0), uint64_t(sizeof(uint64_t))}) {
    none.structSize = size;
    Status status(read(&none));
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    EXPECT_NE(std::string(status.message())
                  .find("structSize is " + std::to_string(size)),
              std::string::npos)
        << status.message();
    auto *bytes = reinterpret_cast<unsigned char *>(&none);
    for (size_t i = sizeof(uint64_t); i < sizeof(none); ++i)
      EXPECT_EQ(bytes[i], 0xab);
  }
  // A newer caller: what the runtime does not know is zeros, and no more.
  Longer<T> longer;
  memset(static_cast<void *>(&longer), 0xab, sizeof(longer));
  longer.known.structSize = sizeof(T) + 2 * sizeof(uint64_t);
  EXPECT_TRUE(Status(read(&longer.known)).ok());
  EXPECT_EQ(longer.known.structSize, sizeof(T) + 2 * sizeof(uint64_t));
  EXPECT_EQ(longer.later[0], 0u);
  EXPECT_EQ(longer.later[1], 0u);
  EXPECT_EQ(longer.later[2], 0xababababababababu);
}

TEST(Structs, StatsOfOtherVersions) {
  Context context;
  ASSERT_TRUE(Context::open("cpu", context).ok());
  checkOut<gpuasync_stats>([&](gpuasync_stats *out) {
    return gpuasync_stats_read(context.get(), out);
  });
  checkOut<gpuasync_disk_cache_stats>([&](gpuasync_disk_cache_stats *out) {
    return gpuasync_disk_cache_stats_read(gpuasync_disk_cache_default(), out);
  });
}

TEST(Structs, DiskEntryWithoutSizeIsAMiss) {
  gpuasync_digest key = {};
  gpuasync_disk_entry entry;
  memset(static_cast<void *>(&entry), 0xab, sizeof(entry));
  entry.structSize = 0;
  EXPECT_EQ(
      gpuasync_disk_cache_lookup(gpuasync_disk_cache_default(), &key, &entry),
      0);
  EXPECT_EQ(entry.size, 0xababababababababu);
}

TEST(Structs, HooksOfOtherVersions) {
  Context context;
  ASSERT_TRUE(Context::open("cpu", context).ok());
  Longer<gpuasync_module_hooks> hooks = {};
  auto install = [&](uint64_t size) {
    hooks.known.structSize = size;
    return Status(gpuasync_modules_hook(context.get(), &hooks.known));
  };
  EXPECT_EQ(install(0).code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_EQ(install(sizeof(uint64_t)).code(),
            uint32_t(GPUASYNC_INVALID_ARGUMENT));
  // What it does not know must not be asked for.
  EXPECT_TRUE(install(sizeof(hooks)).ok());
  hooks.later[1] = 1;
  Status status = install(sizeof(hooks));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
  EXPECT_NE(std::string(status.message()).find("needs a newer one"),
            std::string::npos)
      << status.message();
  // Nor is more read than there is.
  EXPECT_TRUE(install(sizeof(gpuasync_module_hooks)).ok());
}

TEST(Structs, CheckHooksWithoutSizeAreRefused) {
  gpuasync_cpu_check_hooks hooks = {};
  hooks.structSize = 0;
  Status status(gpuasync_cpu_check_install(&hooks));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_EQ(gpuasync_cpu_check_install(nullptr), nullptr);
}

// A hook reads which version it is asked by.
TEST(Structs, RequestsSayTheirSize) {
  Context context;
  ASSERT_TRUE(Context::open("cpu", context).ok());
  uint64_t size = 0;
  gpuasync_module_hooks hooks = {};
  hooks.user = &size;
  hooks.compile = [](void *user, const gpuasync_module_request *request,
                     gpuasync_image *) -> gpuasync_status * {
    *static_cast<uint64_t *>(user) = request->structSize;
    return nullptr;
  };
  ASSERT_TRUE(Status(gpuasync_modules_hook(context.get(), &hooks)).ok());
  TestProgram program(TestProgram::Cpu);
  {
    ContextScope scope(context);
    FrameScope frame(program);
    EXPECT_TRUE(frame.entered);
  }
  EXPECT_EQ(size, sizeof(gpuasync_module_request));
}

} // namespace

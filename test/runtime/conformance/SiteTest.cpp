//===- SiteTest.cpp - Sites and the end of their program ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What outlives a program keeps saying where it comes from, but looks at
// nothing of the program's: its sites are in memory that then cannot be read.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <sys/mman.h>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// A program with a table of its own.
class OwnSites {
public:
  enum : uint32_t { Work, Launch };

  OwnSites() {
    void *memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    table = new (memory) Table;
    table->add("gone.mlir", "work", 7, 3);
    table->add("gone.mlir", "launch", 8, 3, UINT32_MAX, 0, Store);
    program.program.sites = table->data();
    program.program.siteCount = table->size();
  }
  ~OwnSites() { munmap(table, sizeof(Table)); }
  void vanish() {
    gpuasync_status_free(gpuasync_program_release(&program.program));
    EXPECT_EQ(program.slot, nullptr);
    mprotect(table, sizeof(Table), PROT_NONE);
  }
  TestProgram program;

private:
  using Table = gpuasync::SiteTable<2, 64>;
  Table *table;
};

std::vector<std::string> leaksOf(const Context &context) {
  std::vector<std::string> lines;
  gpuasync_leaks_list(
      context.get(),
      [](void *user, const char *line) {
        static_cast<std::vector<std::string> *>(user)->push_back(line);
      },
      &lines);
  return lines;
}

class Sites : public DeviceTest {
protected:
  OwnSites gone;
};
INSTANTIATE_OVER_DEVICES(Sites);

TEST_P(Sites, LabelsOutliveTheirProgram) {
  std::vector<uint32_t> host(1024);
  gpuasync_event *token = nullptr;
  void *x = nullptr;
  {
    FrameScope frame(gone.program);
    gpuasync_stream *stream = gpuasync_stream_create(frame, 0, gone.Work);
    x = gpuasync_alloc(frame, 0, stream, 256, 0, gone.Work);
    gpuasync_host_register(frame, host.data(), 4096, gone.Work);
    token = gpuasync_event_export(
        frame, gpuasync_event_record(frame, stream, gone.Work), gone.Work);
    gpuasync_stream_destroy(frame, stream, 0, gone.Work);
  }
  gone.vanish();
  std::vector<std::string> expected = {
      "gone.mlir:7:3: work: 256 bytes never freed",
      "gone.mlir:7:3: work: registration of 4096 bytes never undone",
      "gone.mlir:7:3: work: event never released"};
  EXPECT_EQ(leaksOf(context), expected);
  EXPECT_EQ(gpuasync_event_wait(token), nullptr);
  gpuasync_event_release(token);
  FrameScope frame(*program);
  gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
  frame.dealloc(nullptr, x);
}

// An event is of whoever imported it last.
TEST_P(Sites, EventsPassThroughOtherPrograms) {
  gpuasync_event *token = nullptr;
  {
    FrameScope frame(gone.program);
    gpuasync_stream *stream = gpuasync_stream_create(frame, 0, gone.Work);
    token = gpuasync_event_export(
        frame, gpuasync_event_record(frame, stream, gone.Work), gone.Work);
    gpuasync_stream_destroy(frame, stream, 0, gone.Work);
  }
  {
    FrameScope frame(*program);
    token = gpuasync_event_import(frame, token, SITE("argument"));
    std::thread([&] { gone.vanish(); }).join();
    token = gpuasync_event_export(frame, token, SITE("result"));
  }
  std::vector<std::string> lines = leaksOf(context);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find(": argument: event never released"),
            std::string::npos)
      << lines[0];
  gpuasync_event_release(token);
}

// A stream of the pool brings nothing along: a timeout lists what the frame
// did.
TEST_P(Sites, ListedIsTheFramesOwnWork) {
  uint32_t *flag = nullptr;
  {
    FrameScope frame(gone.program);
    gpuasync_stream *streams[20];
    gpuasync_event *ends[10];
    auto *x = static_cast<uint32_t *>(
        gpuasync_alloc(frame, 0, nullptr, 20 * 256, 0, gone.Work));
    for (gpuasync_stream *&stream : streams) {
      stream = gpuasync_stream_create(frame, 0, gone.Work);
      StoreParams params{x + (&stream - streams) * 64, 1};
      gpuasync_launch_config block = makeLaunch(1, 64, params);
      gpuasync_launch(frame, stream, gone.Launch, &block);
    }
    // Some idle, some pending.
    for (int i = 0; i < 10; ++i)
      gpuasync_stream_synchronize(frame, &streams[i], 1, gone.Work);
    for (int i = 0; i < 10; ++i)
      ends[i] = gpuasync_event_record(frame, streams[10 + i], gone.Work);
    for (int i = 0; i < 20; ++i)
      gpuasync_stream_destroy(frame, streams[i],
                              i < 5 ? uint32_t(GPUASYNC_STREAM_IDLE) : 0,
                              gone.Work);
    gpuasync_stream *last = gpuasync_stream_create(frame, 0, gone.Work);
    for (gpuasync_event *end : ends) {
      gpuasync_stream_wait(frame, last, end, gone.Work);
      gpuasync_event_destroy(frame, end, gone.Work);
    }
    gpuasync_dealloc(frame, 0, last, x, gone.Work);
  }
  gone.vanish();
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
  }
  gpuasync_set_timeout(0.02);
  {
    FrameScope frame(*program);
    std::vector<gpuasync_stream *> streams;
    for (int i = 0; i < 20; ++i) {
      streams.push_back(frame.stream());
      frame.launch(streams.back(), Gate, 1, 1, GateParams{flag});
    }
    EXPECT_EQ(frame.wait(streams), 1);
    std::thread opener([&] { openGate(flag); });
    Status status = frame.leave();
    opener.join();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
    EXPECT_EQ(std::string(status.message()).find("gone.mlir"),
              std::string::npos)
        << status.message();
  }
  gpuasync_set_timeout(0);
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// A context whose work does not end is closed, but its resources stay behind,
// longer than the program.
TEST_P(Sites, OfAContextThatIsLeftBehind) {
  const LeftBehind meant;
  Context left;
  ASSERT_TRUE(Context::open(device().c_str(), left).ok());
  static uint32_t flag;
  flag = 0;
  // Whose kernel runs at an unknown time, after which nothing waits for it.
  static TestProgram &work = *new TestProgram;
  {
    ContextScope scope(left);
    {
      FrameScope frame(gone.program);
      EXPECT_NE(gpuasync_alloc(frame, 0, nullptr, 256, 0, gone.Work), nullptr);
    }
    FrameScope frame(work);
    frame.launch(frame.stream(), Gate, 1, 1, GateParams{&flag});
  }
  gpuasync_set_timeout(0.02);
  EXPECT_EQ(left.close().code(), uint32_t(GPUASYNC_TIMEOUT));
  gpuasync_set_timeout(0);
  gone.vanish();
  std::vector<std::string> lines = leaksOf(left);
  EXPECT_NE(std::find(lines.begin(), lines.end(),
                      "gone.mlir:7:3: work: 256 bytes never freed"),
            lines.end());
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
}

} // namespace

//===- SubscriberTest.cpp - The callback of an embedder's profiler --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Its records against what the program did and what the runtime counted, and
// what the callback may not do.
//===----------------------------------------------------------------------===//

#include "TimedFixture.h"
#include "gpuasync/Program.h"
#include "gpuasync/Trace.h"
#include "services/trace/Interface.h"

#include <map>
#include <mutex>
#include <stdexcept>
#include <stdlib.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

struct Record {
  gpuasync_trace_record fields;
  std::string name, file, device, played;
  std::thread::id by = std::this_thread::get_id();

  explicit Record(const gpuasync_trace_record &record)
      : fields(record), name(record.name), file(record.file),
        device(record.device), played(record.played) {}
  bool is(uint32_t phase, uint32_t kind) const {
    return fields.phase == phase && fields.kind == kind;
  }
};

class Subscribers : public TimedTest {
protected:
  static void keep(void *user, const gpuasync_trace_record *record) {
    auto &self = *static_cast<Subscribers *>(user);
    std::lock_guard<std::mutex> lock(self.mutex);
    self.records.emplace_back(*record);
  }
  void subscribe(gpuasync_trace_callback callback = &keep) {
    Status status(gpuasync_trace_subscribe(callback, this));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void unsubscribe() {
    Status status(gpuasync_trace_unsubscribe());
    EXPECT_TRUE(status.ok()) << status.message();
  }
  uint64_t number(uint32_t phase, uint32_t kind) const {
    uint64_t found = 0;
    for (const Record &record : records)
      found += record.is(phase, kind);
    return found;
  }

  /// What begins ends, once, and things of one thread nest.
  void expectNested() const {
    std::map<std::thread::id, std::vector<const Record *>> open;
    std::map<uint64_t, int> ids;
    for (const Record &record : records) {
      ++ids[record.fields.id];
      std::vector<const Record *> &stack = open[record.by];
      if (record.fields.phase == GPUASYNC_TRACE_BEGIN) {
        stack.push_back(&record);
      } else if (record.fields.phase == GPUASYNC_TRACE_END) {
        ASSERT_FALSE(stack.empty()) << record.name;
        EXPECT_EQ(stack.back()->fields.id, record.fields.id) << record.name;
        EXPECT_EQ(stack.back()->name, record.name);
        EXPECT_EQ(stack.back()->fields.thread, record.fields.thread);
        EXPECT_EQ(stack.back()->fields.beginNs, record.fields.beginNs);
        EXPECT_GE(record.fields.endNs, record.fields.beginNs);
        stack.pop_back();
      }
    }
    for (const Record &record : records)
      EXPECT_EQ(ids[record.fields.id],
                record.fields.phase == GPUASYNC_TRACE_RAN ? 1 : 2)
          << record.name;
  }

  std::mutex mutex;
  std::vector<Record> records;
};
INSTANTIATE_OVER_DEVICES(Subscribers);

TEST_P(Subscribers, AgreeWithTheCounters) {
  gpuasync_stats before = readStats(context);
  subscribe();
  for (uint32_t i = 0; i < 20; ++i)
    forkAndJoin(*program, i);
  unsubscribe();
  gpuasync_stats after = readStats(context);
  const size_t told = records.size();
  forkAndJoin(*program, 20);
  EXPECT_EQ(records.size(), told);
  EXPECT_EQ(number(GPUASYNC_TRACE_BEGIN, GPUASYNC_TRACE_FUNCTION), 20u);
  EXPECT_EQ(number(GPUASYNC_TRACE_BEGIN, GPUASYNC_TRACE_WAIT),
            after.hostWaits - before.hostWaits);
  EXPECT_EQ(number(GPUASYNC_TRACE_RAN, GPUASYNC_TRACE_KERNEL),
            after.launches - before.launches);
  EXPECT_EQ(number(GPUASYNC_TRACE_RAN, GPUASYNC_TRACE_COPY), 20 * copies);
  expectNested();
}

TEST_P(Subscribers, DeviceWorkHasItsCauseAndPlace) {
  subscribe();
  for (uint32_t i = 0; i < 20; ++i)
    forkAndJoin(*program, i);
  unsubscribe();
  std::map<uint64_t, std::string> begun;
  std::map<uint32_t, int64_t> ends;
  const int64_t step = onCpu() ? 0 : 1000; // a vendor says times in steps
  for (const Record &record : records) {
    const gpuasync_trace_record &fields = record.fields;
    EXPECT_EQ(fields.structSize, sizeof(gpuasync_trace_record));
    if (fields.phase == GPUASYNC_TRACE_BEGIN)
      begun[fields.id] = record.name;
    if (fields.phase != GPUASYNC_TRACE_RAN)
      continue;
    EXPECT_EQ(record.device, gpuasync_context_device(context.get()));
    EXPECT_GE(fields.endNs, fields.beginNs);
    EXPECT_GE(fields.beginNs, ends[fields.stream] - step);
    ends[fields.stream] = fields.endNs;
    EXPECT_NE(fields.line, 0u);
    if (fields.kind == GPUASYNC_TRACE_KERNEL) {
      EXPECT_EQ(begun[fields.cause], "launch " + record.name);
      EXPECT_EQ(record.file, "test.mlir");
      EXPECT_EQ(fields.block[0], count);
      EXPECT_EQ(fields.launches, 1u);
    } else {
      EXPECT_EQ(fields.bytes, count * 4);
      // The cpu device's memory is the host's, which copies itself.
      if (!onCpu() || fields.cause)
        EXPECT_EQ(begun[fields.cause], "copy");
    }
  }
  EXPECT_GE(ends.size(), 2u);
}

TEST_P(Subscribers, RegionsAndLibraries) {
  play("stream");
  subscribe();
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, count);
    RegionScope region(frame, REGION);
    frame.launch(stream, Store, 1, count, StoreParams{x, 3});
    region.end();
    ASSERT_NE(gpuasync_call_begin(frame, &stream, 1, SITE("call")), nullptr);
    gpuasync_call_end(frame, 0, SITE("call"));
    frame.wait({stream});
    frame.dealloc(stream, x);
  }
  unsubscribe();
  expectNested();
  EXPECT_EQ(number(GPUASYNC_TRACE_END, GPUASYNC_TRACE_LIBRARY), 1u);
  for (const Record &record : records)
    EXPECT_EQ(record.played,
              record.is(GPUASYNC_TRACE_END, GPUASYNC_TRACE_REGION) ? "stream"
                                                                   : "");
}

// An error keeps the others from their ends until the frame is left.
TEST_P(Subscribers, ErrorsLeaveNothingOpen) {
  subscribe();
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    gpuasync_region_begin(frame, REGION);
    ASSERT_NE(gpuasync_call_begin(frame, &stream, 1, SITE("call")), nullptr);
    gpuasync_call_end(frame, 5, SITE("call"));
    EXPECT_TRUE(frame.failed());
    gpuasync_region_end(frame, REGION);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_DRIVER_ERROR));
  }
  unsubscribe();
  expectNested();
  EXPECT_EQ(number(GPUASYNC_TRACE_END, GPUASYNC_TRACE_REGION), 1u);
}

TEST_P(Subscribers, OfThreads) {
  constexpr int threads = 4, calls = 25;
  subscribe();
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      ContextScope inner(context);
      for (uint32_t i = 0; i < calls; ++i)
        forkAndJoin(*program, 1000 * t + i);
    });
  for (std::thread &thread : all)
    thread.join();
  unsubscribe();
  expectNested();
  EXPECT_EQ(number(GPUASYNC_TRACE_RAN, GPUASYNC_TRACE_KERNEL),
            threads * calls * launches);
  std::map<uint32_t, int> functions;
  for (const Record &record : records)
    if (record.is(GPUASYNC_TRACE_END, GPUASYNC_TRACE_FUNCTION))
      ++functions[record.fields.thread];
  EXPECT_EQ(functions.size(), size_t(threads));
}

// Neither takes anything from the other, whichever comes first or goes last.
TEST_P(Subscribers, BesideTraces) {
  const std::string path = testing::TempDir() + "gpuasync-subscriber-" +
                           std::to_string(getpid()) + ".json";
  auto kernelsOf = [](const std::string &file) {
    std::string text, kernel = "\"cat\":\"kernel\"";
    if (FILE *in = fopen(file.c_str(), "r")) {
      for (int c; (c = getc(in)) != EOF;)
        text += char(c);
      fclose(in);
    }
    uint64_t found = 0;
    for (size_t at = 0; (at = text.find(kernel, at)) != std::string::npos; ++at)
      ++found;
    EXPECT_NE(text.find("\"unfinished\":0"), std::string::npos);
    // Rows have their names, though the streams are older than the file.
    EXPECT_NE(text.find("{\"name\":\"stream "), std::string::npos);
    return found;
  };
  auto start = [&] {
    Status status(gpuasync_trace_start(path.c_str()));
    ASSERT_TRUE(status.ok()) << status.message();
  };
  auto stop = [&] {
    Status status(gpuasync_trace_stop());
    EXPECT_TRUE(status.ok()) << status.message();
  };
  subscribe();
  forkAndJoin(*program, 1);
  start();
  forkAndJoin(*program, 2);
  stop();
  EXPECT_EQ(kernelsOf(path), launches);
  forkAndJoin(*program, 3);
  start();
  forkAndJoin(*program, 4);
  unsubscribe();
  EXPECT_EQ(number(GPUASYNC_TRACE_RAN, GPUASYNC_TRACE_KERNEL), 4 * launches);
  forkAndJoin(*program, 5);
  subscribe();
  forkAndJoin(*program, 6);
  stop();
  EXPECT_EQ(kernelsOf(path), 3 * launches);
  forkAndJoin(*program, 7);
  unsubscribe();
  EXPECT_EQ(number(GPUASYNC_TRACE_RAN, GPUASYNC_TRACE_KERNEL), 6 * launches);
  expectNested();
  EXPECT_EQ(Status(gpuasync_trace_stop()).code(),
            uint32_t(GPUASYNC_INVALID_ARGUMENT));
  unlink(path.c_str());
}

// The times of what runs when the callback goes are not told to the next one.
TEST_P(Subscribers, WorkThatIsNotOver) {
  subscribe();
  FrameScope frame(*program);
  uint32_t *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  gpuasync_stream *stream = frame.stream();
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  unsubscribe();
  subscribe();
  openGate(flag);
  frame.wait({stream});
  unsubscribe();
  EXPECT_EQ(number(GPUASYNC_TRACE_RAN, GPUASYNC_TRACE_KERNEL), 0u);
  frame.dealloc(stream, flag);
}

// It comes and goes while others work, and is not called once it has gone.
TEST_P(Subscribers, ThatComeAndGo) {
  struct Watch {
    std::atomic<bool> gone{false};
    std::atomic<uint64_t> calls{0}, late{0};
  };
  std::atomic<bool> over{false};
  std::vector<std::thread> all;
  for (uint32_t t = 0; t < 3; ++t)
    all.emplace_back([&, t] {
      ContextScope inner(context);
      for (uint32_t i = 0; !over; ++i)
        forkAndJoin(*program, 1000 * t + i);
    });
  for (int i = 0; i < 20; ++i) {
    Watch watch;
    Status status(gpuasync_trace_subscribe(
        [](void *user, const gpuasync_trace_record *) {
          auto &watch = *static_cast<Watch *>(user);
          ++watch.calls;
          watch.late += watch.gone;
        },
        &watch));
    ASSERT_TRUE(status.ok()) << status.message();
    forkAndJoin(*program, 5);
    unsubscribe();
    watch.gone = true;
    forkAndJoin(*program, 6);
    EXPECT_GT(watch.calls, 0u);
    EXPECT_EQ(watch.late, 0u);
  }
  over = true;
  for (std::thread &thread : all)
    thread.join();
}

// Taking it off waits for a call that runs on another thread.
TEST_P(Subscribers, GoOnceTheirCallsAreOver) {
  struct Call {
    std::atomic<bool> inside{false}, open{false}, over{false};
  } call;
  Status status(gpuasync_trace_subscribe(
      [](void *user, const gpuasync_trace_record *record) {
        auto &call = *static_cast<Call *>(user);
        if (record->phase != GPUASYNC_TRACE_BEGIN || call.inside.exchange(true))
          return;
        while (!call.open)
          std::this_thread::yield();
        call.over = true;
      },
      &call));
  ASSERT_TRUE(status.ok()) << status.message();
  std::thread worker([&] {
    ContextScope inner(context);
    forkAndJoin(*program, 1);
  });
  while (!call.inside)
    std::this_thread::yield();
  bool overBefore = false;
  Watched taker([&] {
    unsubscribe();
    overBefore = call.over;
  });
  // It is on its way: no call begins any more.
  while (static_cast<gpuasync::TraceService *>(gpuasync::tracer.load())
             ->isSubscribed())
    std::this_thread::yield();
  EXPECT_FALSE(taker.isOver());
  call.open = true;
  taker.join();
  worker.join();
  EXPECT_TRUE(overBefore);
}

TEST_P(Subscribers, CallNothing) {
  struct Tried {
    TestProgram *program;
    gpuasync_context *context;
    std::vector<uint32_t> codes;
  } tried = {program.get(), context.get(), {}};
  Status status(gpuasync_trace_subscribe(
      [](void *user, const gpuasync_trace_record *) {
        auto &tried = *static_cast<Tried *>(user);
        if (!tried.codes.empty())
          return;
        auto take = [&](gpuasync_status *raw) {
          tried.codes.push_back(Status(raw).code());
        };
        take(gpuasync_trace_unsubscribe());
        take(gpuasync_trace_start(nullptr));
        take(gpuasync_trace_stop());
        gpuasync_context *opened = nullptr;
        take(gpuasync_context_open("cpu", &opened));
        take(gpuasync_context_trim(tried.context, 1));
        take(gpuasync_context_close(tried.context));
        gpuasync_stats stats;
        take(gpuasync_stats_read(tried.context, &stats));
        take(gpuasync_program_release(&tried.program->program));
        gpuasync_frame frame;
        EXPECT_EQ(gpuasync_frame_enter(&frame, &tried.program->function), 1);
        take(gpuasync_frame_leave(&frame));
      },
      &tried));
  ASSERT_TRUE(status.ok()) << status.message();
  forkAndJoin(*program, 1);
  unsubscribe();
  EXPECT_EQ(tried.codes,
            std::vector<uint32_t>(9, uint32_t(GPUASYNC_INVALID_ARGUMENT)));
  forkAndJoin(*program, 2);
}

TEST_P(Subscribers, ThatThrow) {
  int calls = 0;
  Status status(gpuasync_trace_subscribe(
      [](void *user, const gpuasync_trace_record *) {
        ++*static_cast<int *>(user);
        throw std::runtime_error("no");
      },
      &calls));
  ASSERT_TRUE(status.ok()) << status.message();
  forkAndJoin(*program, 1);
  status = Status(gpuasync_trace_unsubscribe());
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_DRIVER_ERROR));
  EXPECT_NE(std::string(status.message()).find("threw a C++ exception"),
            std::string::npos);
  EXPECT_EQ(calls, 1);
  // The next one has nothing of it.
  subscribe();
  forkAndJoin(*program, 2);
  unsubscribe();
  EXPECT_EQ(number(GPUASYNC_TRACE_RAN, GPUASYNC_TRACE_KERNEL), launches);
}

TEST_P(Subscribers, Misuse) {
  auto expectError = [](gpuasync_status *raw, const char *part) {
    Status status(raw);
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    EXPECT_NE(std::string(status.message()).find(part), std::string::npos)
        << status.message();
  };
  expectError(gpuasync_trace_subscribe(nullptr, nullptr), "null argument");
  expectError(gpuasync_trace_unsubscribe(), "there is no callback");
  subscribe();
  expectError(gpuasync_trace_subscribe(&keep, this),
              "there is a callback already");
  unsubscribe();
}

} // namespace

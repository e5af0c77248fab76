//===- TimepointTest.cpp - Points of streams ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timepoints of the cpu device, and of the same with flags. All driver calls
// are counted. Work is held back by gates.
//===----------------------------------------------------------------------===//

#include "device/DeviceWrapper.h"
#include "device/Vendors.h"
#include "gpuasync/Context.h"
#include "shim/context/ContextImpl.h"
#include "shim/timepoint/Timepoints.h"

#include <condition_variable>
#include <deque>
#include <gtest/gtest.h>
#include <mutex>
#include <vector>

using namespace gpuasync;

namespace {

using Kind = Timepoint::Kind;

struct Calls {
  int flags = 0, made = 0, records = 0, waits = 0, eventQueries = 0,
      streamQueries = 0;
  int all() const {
    return flags + made + records + waits + eventQueries + streamQueries;
  }
};

/// The cpu device, whose streams can write words.
class FlagDevice final : public DeviceWrapper, CompletionFlags {
public:
  FlagDevice(Calls &calls, std::unique_ptr<Device> device)
      : DeviceWrapper(*device, extensionsOf(*device)), calls(calls),
        owned(std::move(device)) {}

  Status writeFlag(NativeStream stream, uint32_t *slot,
                   uint32_t value) override {
    ++calls.flags;
    written.push_back({slot, value});
    return inner.submit(stream, Command(
                                    [](void *argument) {
                                      auto *flag =
                                          static_cast<Written *>(argument);
                                      __atomic_store_n(flag->slot, flag->value,
                                                       __ATOMIC_RELEASE);
                                    },
                                    &written.back()));
  }
  Status createEvent(NativeEvent &out) override {
    ++calls.made;
    return inner.createEvent(out);
  }
  Status recordEvent(NativeEvent event, NativeStream stream) override {
    ++calls.records;
    return inner.recordEvent(event, stream);
  }
  Status streamWaitEvent(NativeStream stream, NativeEvent event) override {
    ++calls.waits;
    return inner.streamWaitEvent(stream, event);
  }
  Status queryEvent(NativeEvent event, bool &done) override {
    ++calls.eventQueries;
    return inner.queryEvent(event, done);
  }
  Status queryStream(NativeStream stream, bool &done) override {
    ++calls.streamQueries;
    return inner.queryStream(stream, done);
  }

private:
  struct Written {
    uint32_t *slot;
    uint32_t value;
  };
  Extensions extensionsOf(Device &device) {
    Extensions all = device.extensions;
    all.flags = this;
    return all;
  }
  Calls &calls;
  std::deque<Written> written; ///< stays where it is
  std::unique_ptr<Device> owned;
};

/// Holds the work of a stream back, and then lets it fail or succeed.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool isOpen = false;
  int result = 0;
  void open() {
    std::lock_guard<std::mutex> lock(mutex);
    isOpen = true;
    changed.notify_all();
  }
  static int32_t pass(void *argument) {
    Gate &gate = **static_cast<Gate **>(argument);
    std::unique_lock<std::mutex> lock(gate.mutex);
    gate.changed.wait(lock, [&] { return gate.isOpen; });
    return gate.result;
  }
};

/// A stream as the pools have one.
struct TestStream {
  NativeStream native = nullptr;
  Timeline timeline;
  uint32_t word = 0;
  explicit TestStream(bool isShared = false) : timeline(native, isShared) {}
};

class TimepointTest : public testing::Test {
protected:
  void SetUp() override {
    std::unique_ptr<Device> device;
    Driver &cpu = vendorNamed("cpu")->driver();
    ASSERT_TRUE(cpu.available().ok());
    ASSERT_TRUE(cpu.openContext(0, nullptr, device).ok());
    slot.open(std::make_unique<FlagDevice>(calls, std::move(device)));
    for (TestStream *each : {&plain, &flagged, &other, &shared})
      ASSERT_TRUE(slot->createStream(each->native).ok());
    flagged.timeline.takeFlag(&flagged.word);
    calls = Calls();
  }
  void TearDown() override {
    gate.open();
    for (TestStream *each : {&plain, &flagged, &other, &shared}) {
      bool done = false;
      (void)slot->waitStream(each->native, -1, done); // its error was expected
      EXPECT_TRUE(done);
      slot->destroyStream(each->native);
    }
    points.destroy(/*alive=*/true);
    EXPECT_EQ(events.load(), 0u);
    EXPECT_EQ(slot->close(/*lost=*/false), 0u);
  }

  /// One operation that waits for the gate.
  void put(TestStream &stream, Gate &gate) {
    stream.timeline.note();
    Gate *argument = &gate;
    ASSERT_TRUE(
        slot->submit(stream.native, Command(Command::HostCall{{Gate::pass},
                                                              &argument,
                                                              sizeof(argument)},
                                            nullptr))
            .ok());
  }
  bool isReached(const Timepoint &point) {
    bool reached = false;
    EXPECT_TRUE(points.query(point, reached).ok());
    return reached;
  }
  bool isDone(const Timepoint &point, int64_t timeoutNs = -1) {
    bool done = false;
    EXPECT_TRUE(points.wait(point, Deadline(timeoutNs), done).ok());
    return done;
  }

  Calls calls;
  DriverSlot slot;
  std::atomic<uint64_t> events{0};
  Timepoints points{slot, events};
  TestStream plain, flagged, other, shared{true};
  Gate gate;
};

TEST_F(TimepointTest, NamingMakesNoCall) {
  put(plain, gate);
  put(flagged, gate);
  EXPECT_EQ(plain.timeline.now().kind, Kind::Named);
  EXPECT_EQ(flagged.timeline.now().kind, Kind::Word);
  EXPECT_FALSE(isReached(plain.timeline.now()));
  EXPECT_FALSE(isReached(flagged.timeline.now()));
  EXPECT_EQ(calls.all(), 0);
  EXPECT_FALSE(isReached(plain.timeline.whenIdle()));
  EXPECT_EQ(calls.all(), 1);
  gate.open();
  EXPECT_TRUE(isDone(plain.timeline.whenIdle()));
  EXPECT_TRUE(isDone(flagged.timeline.whenIdle()));
}

TEST_F(TimepointTest, TheNextFlagTellsOfPointsThatWereNamedBefore) {
  put(flagged, gate);
  const Timepoint first = flagged.timeline.now();
  put(flagged, gate);
  Timepoint second;
  ASSERT_TRUE(points.make(flagged.timeline, second).ok());
  put(flagged, gate);
  const Timepoint third = flagged.timeline.now();
  EXPECT_FALSE(isReached(first));
  EXPECT_FALSE(isReached(second));
  EXPECT_EQ(calls.all(), 1);
  EXPECT_EQ(calls.flags, 1);
  gate.open();
  EXPECT_TRUE(isDone(second));
  EXPECT_TRUE(first.isTold());
  EXPECT_FALSE(third.isTold()); // nobody has asked for its flag
  EXPECT_TRUE(isDone(flagged.timeline.whenIdle()));
  EXPECT_FALSE(third.isTold());
  flagged.timeline.finish();
  EXPECT_TRUE(third.isCounted());
}

TEST_F(TimepointTest, AFlagBehindAWholeOperationServesTwice) {
  gate.open();
  put(flagged, gate);
  Timepoint first, second;
  ASSERT_TRUE(points.make(flagged.timeline, first).ok());
  ASSERT_TRUE(points.make(flagged.timeline, second).ok());
  EXPECT_EQ(calls.flags, 2); // the operation may have had more parts
  flagged.timeline.seal();
  EXPECT_FALSE(flagged.timeline.wantsFlag());
  ASSERT_TRUE(points.make(flagged.timeline, first).ok());
  EXPECT_EQ(calls.flags, 2);
  EXPECT_EQ(first.value, second.value);
  EXPECT_TRUE(isDone(first));
  put(flagged, gate);
  EXPECT_TRUE(flagged.timeline.wantsFlag());
}

TEST_F(TimepointTest, ASignalTellsOfTheNewestOperationOnly) {
  gate.open();
  uint32_t word = 6;
  put(flagged, gate);
  Completion completion;
  completion.word = &word;
  completion.value = 7;
  flagged.timeline.noteSignal(completion);
  EXPECT_FALSE(flagged.timeline.wantsFlag());
  Timepoint point;
  ASSERT_TRUE(points.make(flagged.timeline, point).ok());
  EXPECT_EQ(calls.all(), 0);
  EXPECT_FALSE(isReached(point));
  word = 7;
  EXPECT_TRUE(isReached(point));
  put(flagged, gate);
  EXPECT_TRUE(flagged.timeline.wantsFlag());
  EXPECT_EQ(flagged.timeline.now().word, &flagged.word);
  flagged.timeline.moveSignal();
  EXPECT_EQ(flagged.timeline.now().word, &word);
  EXPECT_TRUE(isDone(flagged.timeline.whenIdle()));
}

TEST_F(TimepointTest, AnEventIsMadeWhereThereAreNoFlagsAndUsedAgain) {
  put(plain, gate);
  Timepoint point;
  ASSERT_TRUE(points.make(plain.timeline, point).ok());
  EXPECT_EQ(point.kind, Kind::Event);
  EXPECT_EQ(calls.made, 1);
  EXPECT_EQ(calls.records, 1);
  EXPECT_FALSE(points.isOver(point));
  EXPECT_EQ(calls.eventQueries, 1);
  EXPECT_FALSE(isDone(point, /*timeoutNs=*/0));
  gate.open();
  EXPECT_TRUE(isDone(point));
  EXPECT_TRUE(points.isOver(point));
  EXPECT_FALSE(point.isSet());
  ASSERT_TRUE(points.make(plain.timeline, point).ok());
  EXPECT_EQ(calls.made, 1);
  EXPECT_EQ(events.load(), 1u);
  // The host's own count needs no question.
  EXPECT_TRUE(isDone(point));
  plain.timeline.finish();
  const int queries = calls.eventQueries;
  EXPECT_TRUE(points.isOver(point));
  EXPECT_EQ(calls.eventQueries, queries);
}

TEST_F(TimepointTest, AWaitEndsAtItsTimeLimit) {
  put(flagged, gate);
  Timepoint point;
  ASSERT_TRUE(points.make(flagged.timeline, point).ok());
  EXPECT_FALSE(isDone(point, /*timeoutNs=*/0));
  EXPECT_FALSE(isDone(flagged.timeline.whenIdle(), /*timeoutNs=*/0));
  gate.open();
  EXPECT_TRUE(isDone(point));
  EXPECT_TRUE(isDone(Timepoint()));
}

// Nobody writes the word of a stream that has failed, so the wait asks the
// stream. Its memory is free, but its data is not there.
TEST_F(TimepointTest, AFailedStreamIsAsked) {
  gate.result = 1;
  put(flagged, gate);
  Timepoint point;
  ASSERT_TRUE(points.make(flagged.timeline, point).ok());
  gate.open();
  bool done = false;
  Status status = points.wait(point, Deadline(-1), done);
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(done);
  EXPECT_GE(calls.streamQueries, 1);
  EXPECT_EQ(flagged.word, 0u);
  EXPECT_FALSE(isReached(point));
  EXPECT_FALSE(points.isOver(point));
  // The pool does so when it has seen the end of the stream.
  flagged.timeline.finish();
  EXPECT_FALSE(isReached(point));
  bool reached = false;
  EXPECT_TRUE(points.settle(point, reached).ok());
  EXPECT_FALSE(reached);
  EXPECT_TRUE(points.isOver(point));
}

// Nobody counts the work that a caller puts on its own stream.
TEST_F(TimepointTest, ASharedStreamIsNotKnownByItsCount) {
  put(shared, gate);
  shared.timeline.finish(); // another frame takes it
  EXPECT_TRUE(shared.timeline.isIdle());
  Timepoint point = shared.timeline.now();
  EXPECT_FALSE(point.isCounted());
  EXPECT_FALSE(points.isOver(point));
  EXPECT_FALSE(isDone(point, /*timeoutNs=*/0));
  gate.open();
  EXPECT_TRUE(isDone(point));
}

// A pool destroys the native stream and keeps the timeline. Old points are
// reached, and those of the next native stream are not.
TEST(StreamPoolTest, PointsOfADestroyedStreamStayReached) {
  gpuasync_context *context = nullptr;
  ASSERT_TRUE(Status(gpuasync_context_open("cpu", &context)).ok());
  {
    CurrentContext current(*context);
    ASSERT_TRUE(current.status.ok());
    StreamPool &pool = context->streams;
    constexpr size_t keptIdle = 64;
    std::vector<Stream *> streams(keptIdle + 1);
    for (Stream *&stream : streams)
      ASSERT_TRUE(pool.take(nullptr, /*isUrgent=*/false, stream).ok());
    Stream *gone = streams.back();
    gone->note(nullptr);
    const Timepoint old = gone->timeline.now();
    EXPECT_FALSE(old.isCounted());
    for (Stream *stream : streams)
      pool.give(nullptr, stream, /*idle=*/true);
    EXPECT_EQ(context->physicalStreams.load(), keptIdle + 1);
    pool.destroyRetired();
    EXPECT_EQ(context->physicalStreams.load(), keptIdle);
    EXPECT_EQ(gone->native, nullptr);
    EXPECT_TRUE(old.isCounted());
    EXPECT_EQ(old.position, gone->timeline.position());

    for (Stream *&stream : streams)
      ASSERT_TRUE(pool.take(nullptr, /*isUrgent=*/false, stream).ok());
    EXPECT_EQ(streams.back(), gone);
    EXPECT_NE(gone->native, nullptr);
    gone->note(nullptr);
    EXPECT_TRUE(old.isCounted());
    EXPECT_GT(gone->timeline.position(), old.position);
    EXPECT_FALSE(gone->timeline.now().isCounted());
    for (Stream *stream : streams)
      pool.give(nullptr, stream, /*idle=*/true);
  }
  gpuasync_context_release(context);
}

} // namespace

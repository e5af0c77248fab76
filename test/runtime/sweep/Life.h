//===- Life.h - One program's life with one failure in it -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The public entries as the sweep's programs call them. Only what happens
// inside an entry, or on the runtime's own threads, can be made to fail; after
// each entry the caller's stack of contexts must be what it was (X01).
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_SWEEP_LIFE_H
#define GPUASYNC_TEST_RUNTIME_SWEEP_LIFE_H

#include "Fixture.h"
#include "HostCalls.h"
#include "gpuasync/Program.h"

#include <array>
#include <mutex>
#include <optional>
#include <string.h>

namespace gpuasync_test {

/// What is made to fail: the nth of its kind, from 1. After the first, the
/// kinds of HostCall.
enum class Fault { VendorCall, Allocation, Mapping, Thread, File, None };
constexpr int faultKinds = 1 + hostCallKinds;

/// The vendor's code of an error that loses the device.
constexpr int deviceFault = 719;

struct Injection {
  Fault fault = Fault::None;
  uint64_t index = 0;
  /// Of the vendor call, or as a hook of HostCalls says it.
  int code = 0;
  bool lasting = false; ///< all calls after it fail too, to the program's
                        ///< end; not of vendor calls
  bool callersContext = false; ///< the caller has a context of its own current
};

/// What a child process tells. Plain data in shared memory.
struct Outcome {
  uint64_t counts[faultKinds];    ///< calls that could have failed
  uint64_t inProgram[faultKinds]; ///< of them, before the end of everything
  bool ended;                     ///< the child came to its end
  bool fired;                     ///< the failure happened
  bool failed;                    ///< an error was reported
  char call[64];                  ///< that was made to fail
  char first[500];                ///< the first error
  char problem[900];              ///< what was wrong; empty if nothing
};

class Life {
public:
  /// `folder`: for files of the program's; it is not there yet.
  Life(const Injection &injection, const char *device, std::string folder,
       Outcome &outcome);

  /// From here on the failure may come; programs call it once.
  void arm();
  void note(gpuasync_status *status);
  /// The result of the program is wrong unless it reported an error.
  void expect(bool right, const char *what);
  /// So it is if nothing has failed: it need not come to an error.
  void expectUnlessFired(bool right, const char *what) {
    if (!right && !fired())
      problem("%s is wrong", what);
  }
  /// Whether the failure has happened.
  bool fired() const;
  /// It comes no more. Not of vendor calls.
  void disarm();
  void problem(const char *format, ...) __attribute__((format(printf, 2, 3)));

  void openContext();
  /// Kernels of this name do not begin, or do again.
  void hold(const char *kernel) { mock.mock_gate_close(kernel); }
  /// Events may have times.
  void allowTiming() { mock.mock_configure("timing", 1); }
  void letGo(const char *kernel) { mock.mock_gate_open(kernel); }
  /// Frames of this thread run in `context` from here on, or no longer.
  /// false if they do not.
  bool scope(bool begin);
  /// A frame of `usable` after the failure, the end of all programs and of the
  /// context; then everything must be given back.
  void finish();
  /// After a device fault objects of the driver stay behind.
  bool lost() const;

  gpuasync_context *context = nullptr, *another = nullptr;
  const std::string device, folder;
  bool usesShutdown = false; ///< the end is gpuasync_shutdown
  bool inParallel = false;   ///< a fault may show in other threads first
  bool byCaller = false;     ///< the call that failed was the program's own
  TestProgram program{TestProgram::All, "first"};
  TestProgram second{TestProgram::All, "second"};

private:
  friend class Entry;
  friend class LifeFrame;
  void checkUsable();
  void checkFirstError();
  void checkGivenBack();
  void closeContext(gpuasync_context *context);
  void readCounts(uint64_t (&counts)[faultKinds]);

  Mock &mock;
  const Injection injection;
  Outcome &outcome;
  std::mutex mutex; ///< of `outcome` and `wrong`
  bool deviceLost = false;
  bool pushed = false;              ///< the caller's context
  std::vector<std::string> wrong;   ///< results, if no error comes
  uint64_t numberedBefore = 0;      ///< vendor calls
  int64_t files, mappings, threads; ///< of before
};

/// Marks the calling thread as inside a public entry, which must leave the
/// caller's stack of contexts as it was.
class Entry {
public:
  explicit Entry(Life &life);
  ~Entry();
  Entry(const Entry &) = delete;
  /// Instead what it was then: entering a frame changes it, leaving restores.
  void expectChanged() { checked = false; }
  void expectAsBefore(uint32_t enteredDepth, void *enteredTop) {
    depth = enteredDepth;
    top = enteredTop;
  }
  uint32_t depth;
  void *top;

private:
  Life &life;
  bool checked = true;
};

/// FrameScope for programs in which anything may fail.
class LifeFrame {
public:
  LifeFrame(Life &life, TestProgram &program) : life(life), program(program) {
    outer = midFrame(0);
    Entry entry(life);
    entry.expectChanged();
    callersDepth = entry.depth;
    callersTop = entry.top;
    gpuasync_frame_enter(&frame, &program.function);
    midFrame(1);
    builder.holdsCopies = true;
    builder.around = [this](bool begins) {
      if (begins)
        inBuilder.emplace(this->life);
      else
        inBuilder.reset();
    };
  }
  ~LifeFrame() { leave(); }
  LifeFrame(const LifeFrame &) = delete;
  void leave() {
    if (left)
      return;
    builder.flush();
    left = true;
    gpuasync_status *status;
    {
      Entry entry(life);
      entry.expectAsBefore(callersDepth, callersTop);
      status = gpuasync_frame_leave(&frame);
    }
    midFrame(outer);
    succeeded = !status;
    life.note(status);
  }

  gpuasync_stream *stream() { return builder.create(0, SITE("stream.create")); }
  gpuasync_stream *external(void *native) {
    Entry entry(life);
    return gpuasync_stream_external(&frame, 0, native, SITE("external"));
  }
  void *native(gpuasync_stream *stream) {
    Entry entry(life);
    return gpuasync_stream_native(&frame, stream, SITE("library"));
  }
  /// A library's function, which enqueues on the cpu device.
  void call(gpuasync_stream *stream) {
    Entry entry(life);
    const gpuasync_call *library =
        gpuasync_call_begin(&frame, &stream, 1, SITE("call"));
    if (!library)
      return;
    const std::array<char, 300> arguments = {};
    int32_t result = 0;
    if (!strcmp(library->driver, "cpu")) {
      Status status(gpuasync_stream_enqueue_host(
          stream, [](void *) -> int32_t { return 0; }, arguments.data(),
          arguments.size()));
      library->report(library, status.message());
      result = !status.ok();
    }
    gpuasync_call_end(&frame, result, SITE("call"));
  }
  /// A call of one that may be recorded: x[i] *= factor for 32 words.
  void multiply(gpuasync_stream *stream, uint32_t *x, uint32_t factor) {
    struct Arguments {
      TestProgram *library;
      uint32_t *x;
      uint64_t factor;
    };
    const Arguments arguments = {&program, x, factor};
    auto function = [](const gpuasync_call *call,
                       const void *bytes) -> int32_t {
      const auto &[library, x, factor] = *static_cast<const Arguments *>(bytes);
      gpuasync_frame inner;
      gpuasync_frame_enter(&inner, &library->function);
      gpuasync_stream *stream =
          gpuasync_stream_external(&inner, 0, call->stream, SITE("external"));
      detail::MulAddParams params = {x, 32, static_cast<uint32_t>(factor), 0};
      gpuasync_launch_config launch = makeLaunch(1, 32, params);
      launch.paramBytes = library->kernels[MulAdd].paramBytes;
      gpuasync_launch(&inner, stream, library->launchSites[MulAdd], &launch);
      gpuasync_stream_destroy(&inner, stream, 0, SITE("stream.destroy"));
      const gpuasync::Status status(gpuasync_frame_leave(&inner));
      call->report(call, status.message());
      return !status.ok();
    };
    if (builder.isActive())
      return builder.call(stream, function, &arguments, sizeof(arguments),
                          SITE("call"));
    Entry entry(life);
    gpuasync_call_replayable(&frame, &stream, 1, function, &arguments,
                             sizeof(arguments), SITE("call"));
  }
  /// Takes over an error of a call between those of the frame.
  void fail(const char *message) {
    Entry entry(life);
    gpuasync_frame_fail(&frame,
                        gpuasync_status_make(GPUASYNC_DRIVER_ERROR, message));
  }
  void destroy(gpuasync_stream *stream, bool idle) {
    builder.destroy(stream, idle ? GPUASYNC_STREAM_IDLE : 0,
                    SITE("stream.destroy"));
  }
  template <typename Params>
  void launch(gpuasync_stream *stream, KernelIndex kernel, int64_t grid,
              int64_t block, const Params &params, uint32_t shared = 0) {
    alignas(16) Params aligned = params;
    gpuasync_launch_config launch = makeLaunch(grid, block, aligned, shared);
    launch.paramBytes = program.kernels[kernel].paramBytes;
    if (builder.isActive())
      return builder.launch(stream, program.launchSites[kernel], launch);
    Entry entry(life);
    gpuasync_launch(&frame, stream, program.launchSites[kernel], &launch);
  }
  uint32_t *alloc(gpuasync_stream *stream, uint64_t count,
                  bool shared = false) {
    Entry entry(life);
    return static_cast<uint32_t *>(
        gpuasync_alloc(&frame, 0, stream, count * 4,
                       shared ? GPUASYNC_ALLOC_HOST_SHARED : 0, SITE("alloc")));
  }
  void dealloc(gpuasync_stream *stream, void *pointer) {
    Entry entry(life);
    gpuasync_dealloc(&frame, 0, stream, pointer, SITE("dealloc"));
  }
  void copy(gpuasync_stream *stream, void *to, const void *from,
            uint64_t bytes) {
    if (builder.isActive())
      return builder.copy(stream, to, from, bytes, SITE("memcpy"));
    Entry entry(life);
    gpuasync_memcpy(&frame, stream, to, from, bytes, SITE("memcpy"));
  }
  void copyStrided(gpuasync_stream *stream, void *to,
                   std::vector<int64_t> toStrides, const void *from,
                   std::vector<int64_t> fromStrides,
                   std::vector<int64_t> sizes) {
    Entry entry(life);
    gpuasync_memcpy_strided(
        &frame, stream, to, toStrides.data(), from, fromStrides.data(),
        sizes.data(), static_cast<uint32_t>(sizes.size()), 4, SITE("memcpy"));
  }
  void fill(gpuasync_stream *stream, void *to, const void *pattern,
            uint32_t element, uint64_t count) {
    Entry entry(life);
    gpuasync_memset(&frame, stream, to, pattern, element, count,
                    SITE("memset"));
  }
  void registerHost(void *pointer, uint64_t bytes) {
    Entry entry(life);
    gpuasync_host_register(&frame, pointer, bytes, SITE("register"));
  }
  void unregisterHost(void *pointer) {
    Entry entry(life);
    gpuasync_host_unregister(&frame, pointer, SITE("unregister"));
  }
  void wait(std::vector<gpuasync_stream *> streams) {
    Entry entry(life);
    gpuasync_stream_synchronize(&frame, streams.data(),
                                static_cast<uint32_t>(streams.size()),
                                SITE("synchronize"));
  }
  void query(gpuasync_stream *stream) {
    Entry entry(life);
    gpuasync_stream_query(&frame, stream, SITE("query"));
  }
  gpuasync_event *record(gpuasync_stream *stream) {
    return builder.record(stream, SITE("record"));
  }
  void waitEvent(gpuasync_stream *stream, gpuasync_event *event) {
    builder.wait(stream, event, SITE("wait"));
  }
  void beginRegion(uint32_t site) { builder.begin(site); }
  void endRegion(uint32_t site) { builder.end(site); }
  void waitHost(gpuasync_event *event) {
    Entry entry(life);
    gpuasync_event_synchronize(&frame, &event, 1, SITE("event.synchronize"));
  }
  void destroy(gpuasync_event *event) {
    builder.destroy(event, SITE("event.destroy"));
  }
  gpuasync_event *exported(gpuasync_event *event) {
    Entry entry(life);
    return gpuasync_event_export(&frame, event, SITE("return"));
  }
  gpuasync_event *imported(gpuasync_event *event) {
    Entry entry(life);
    return gpuasync_event_import(&frame, event, SITE("argument"));
  }
  void resume() {
    Entry entry(life);
    gpuasync_frame_resume(&frame);
  }
  bool failed() const { return frame.failed; }
  /// Leaves a frame that must have failed; its own error is no failure's.
  void leaveWithError(const char *text) {
    left = true;
    Entry entry(life);
    entry.expectAsBefore(callersDepth, callersTop);
    Status status(gpuasync_frame_leave(&frame));
    midFrame(outer);
    if (status.ok())
      life.problem("no error");
    else if (!strstr(status.message(), text))
      life.note(status.release());
  }

  bool succeeded = false; ///< after leave

private:
  int midFrame(int inside) { return life.mock.mock_mid_frame(inside); }

  Life &life;
  TestProgram &program;
  gpuasync_frame frame;
  FragmentBuilder builder{frame};
  std::optional<Entry> inBuilder; ///< a call of the builder's
  uint32_t callersDepth = 0;
  void *callersTop = nullptr;
  int outer = 0;
  bool left = false;
};

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_SWEEP_LIFE_H

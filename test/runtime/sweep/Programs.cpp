//===- Programs.cpp - what the sweep makes fail ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each arms the failure, does what a lowered program or an embedder does, and
// says what came out.
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "gpuasync/DiskCache.h"
#include "gpuasync/Program.h"
#include "gpuasync/Trace.h"

#include <dlfcn.h>
#include <filesystem>
#include <numeric>
#include <stdlib.h>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

using Words = std::vector<uint32_t>;

static Words counted(uint32_t count) {
  Words result(count);
  std::iota(result.begin(), result.end(), 0u);
  return result;
}

/// A context opened, used once and closed: the failure may come in opening it.
void gpuasync_test::openAndClose(Life &life) {
  life.arm();
  life.openContext();
}

void gpuasync_test::useDefault(Life &life) {
  setenv("GPU_ASYNC_DEVICE", life.device.c_str(), 1);
  life.usesShutdown = true;
  life.arm();
  Words out(64);
  LifeFrame frame(life, life.program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, 64);
  frame.launch(stream, Store, 1, 64, StoreParams{x, 9});
  frame.copy(stream, out.data(), x, 256);
  frame.dealloc(stream, x);
  frame.wait({stream});
  frame.leave();
  life.expect(out == Words(64, 9), "the copy");
}

static void forkAndJoinTwice(Life &life) {
  if (!life.scope(true))
    return;
  for (int round = 0; round < 2; ++round) {
    Words in = counted(256), out(256), expected(256);
    for (uint32_t i = 0; i < 256; ++i)
      expected[i] = (i + 10) * 2 + 1;
    LifeFrame frame(life, life.program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 256), *y = frame.alloc(a, 256);
    frame.copy(a, x, in.data(), 1024);
    gpuasync_event *fork = frame.record(a);
    frame.waitEvent(b, fork);
    frame.destroy(fork);
    frame.launch(b, AddUp, 2, 128, AddUpParams{y, x, 256, 10});
    gpuasync_event *join = frame.record(b);
    frame.waitEvent(a, join);
    frame.destroy(join);
    frame.launch(a, MulAdd, 2, 128, MulAddParams{y, 256, 2, 1});
    frame.copy(a, out.data(), y, 1024);
    frame.dealloc(a, x);
    frame.dealloc(a, y);
    frame.query(a);
    frame.wait({a, b});
    frame.destroy(b, true);
    frame.destroy(a, true);
    frame.leave();
    life.expect(out == expected, "the download");
  }
  life.scope(false);
}
void gpuasync_test::forkAndJoin(Life &life) {
  life.openContext();
  life.arm();
  forkAndJoinTwice(life);
}

/// The same while there are a trace and a callback. What only they meet is no
/// error of the program.
void gpuasync_test::traced(Life &life) {
  life.allowTiming();
  life.openContext();
  life.arm();
  bool begun = false, heard = false;
  const std::string file = life.folder + ".json";
  {
    Entry inside(life);
    begun = Status(gpuasync_trace_start(file.c_str())).ok();
  }
  life.expectUnlessFired(begun, "the begin of a trace");
  {
    Entry inside(life);
    heard = Status(gpuasync_trace_subscribe(
                       [](void *, const gpuasync_trace_record *) {}, nullptr))
                .ok();
  }
  life.expectUnlessFired(heard, "a callback");
  forkAndJoinTwice(life);
  if (heard) {
    Entry inside(life);
    heard = !Status(gpuasync_trace_unsubscribe()).ok();
  }
  life.expectUnlessFired(!heard, "the end of a callback");
  if (begun) {
    Entry inside(life);
    begun = !Status(gpuasync_trace_stop()).ok();
  }
  life.expectUnlessFired(!begun, "the end of a trace");
}

/// Host-shared memory, the other streams' memory, more of each than once.
void gpuasync_test::hostShared(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  for (int round = 0; round < 2; ++round) {
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream();
    for (uint32_t count : {1u, 1000u, 100000u}) {
      uint32_t *shared = frame.alloc(nullptr, count, true);
      uint32_t *device = frame.alloc(nullptr, count);
      if (shared)
        std::fill(shared, shared + count, 4u);
      int64_t blocks = (count + 255) / 256;
      frame.copy(stream, device, shared, 4ull * count);
      frame.launch(stream, MulAdd, blocks, 256,
                   MulAddParams{device, count, 3, 2});
      frame.copy(stream, shared, device, 4ull * count);
      frame.wait({stream});
      if (shared && !frame.failed())
        life.expect(shared[0] == 14 && shared[count - 1] == 14,
                    "shared memory");
      frame.dealloc(stream, shared);
      frame.dealloc(stream, device);
    }
    frame.wait({stream});
  }
  life.scope(false);
}

/// A region with copies of pageable memory and a library's call that becomes a
/// graph, is played with other arguments, with such as no update takes and in
/// another shape, behind memory of two streams, and whose modules are released
/// between two calls.
void gpuasync_test::regions(Life &life) {
  life.openContext();
  life.note(gpuasync_set_play("graph"));
  life.arm();
  if (!life.scope(true))
    return;
  for (uint32_t round = 0; round < 7; ++round) {
    const bool longer = round >= 4, empty = round % 3 == 1;
    Words in(32, 7 + round), out(64), expected(64);
    const uint32_t factor = 2 + round / 3;
    for (uint32_t i = 0; i < 64; ++i)
      expected[i] = ((i < 32 ? 7 + round : round) * 2 + 1) * (longer ? 3 : 1) *
                    (i < 32 ? 1 : factor);
    if (empty)
      std::fill_n(expected.begin() + 32, 32, round * (longer ? 3 : 1) * factor);
    LifeFrame frame(life, life.program);
    gpuasync_stream *a = frame.stream();
    uint32_t *x = frame.alloc(a, 64), *half = x ? x + 32 : nullptr;
    gpuasync_stream *c = frame.stream();
    uint32_t *z = frame.alloc(c, 32);
    const uint32_t site = SITE("region");
    frame.beginRegion(site);
    frame.launch(a, Store, 2, 32, StoreParams{x, round});
    gpuasync_event *fork = frame.record(a);
    gpuasync_stream *b = frame.stream();
    frame.waitEvent(b, fork);
    frame.destroy(fork);
    frame.copy(a, x, in.data(), 128);
    frame.launch(b, MulAdd, empty ? 0 : 1, 32, MulAddParams{half, 32, 2, 1});
    frame.multiply(b, half, factor);
    frame.launch(a, MulAdd, 1, 32, MulAddParams{x, 32, 2, 1});
    frame.launch(c, Store, 1, 32, StoreParams{z, round});
    if (longer)
      frame.launch(b, MulAdd, 1, 32, MulAddParams{half, 32, 3, 0});
    gpuasync_event *join = frame.record(b);
    frame.destroy(b, false);
    frame.waitEvent(a, join);
    frame.destroy(join);
    if (longer)
      frame.launch(a, MulAdd, 1, 32, MulAddParams{x, 32, 3, 0});
    frame.copy(a, out.data(), x, 256);
    frame.endRegion(site);
    frame.dealloc(a, x);
    frame.dealloc(c, z);
    frame.wait({a, c});
    frame.destroy(a, true);
    frame.destroy(c, true);
    frame.leave();
    life.expect(out == expected, "the download of a region's work");
    if (round == 5)
      gpuasync_modules_release(life.context);
  }
  life.scope(false);
}

void gpuasync_test::fillsAndStrides(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  {
    Words out(1024, 1), in = counted(1024), rows(1024, 0);
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 1024);
    const unsigned char pattern[16] = {7, 7, 7, 7, 7, 7, 7, 7,
                                       7, 7, 7, 7, 7, 7, 7, 8};
    for (uint32_t element : {1u, 2u, 4u, 8u, 16u})
      frame.fill(stream, x, pattern, element, 4096 / element);
    frame.copy(stream, out.data(), x, 4096);
    frame.wait({stream});
    life.expect(frame.failed() ||
                    (out[0] == 0x07070707 && out[3] == 0x08070707),
                "the fill");
    frame.copyStrided(stream, x, {64, 1}, in.data(), {64, 1}, {16, 32});
    frame.copyStrided(stream, rows.data(), {64, 1}, x, {64, 1}, {16, 32});
    frame.copyStrided(stream, rows.data() + 512, {1, 16}, x, {64, 2}, {8, 8});
    frame.dealloc(stream, x);
    frame.wait({stream});
    life.expect(frame.failed() || (rows[64 + 5] == 69 && rows[32] == 0),
                "the strided copy");
  }
  life.scope(false);
}

/// More streams than the pools keep; the surplus goes at a later enter.
void gpuasync_test::manyStreams(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  for (int round = 0; round < 2; ++round) {
    Words out(64); // until the frame is left, also after an error
    LifeFrame frame(life, life.program);
    std::vector<gpuasync_stream *> streams;
    uint32_t *x = frame.alloc(nullptr, 64);
    gpuasync_event *last = nullptr;
    for (int i = 0; i < 20; ++i) {
      streams.push_back(frame.stream());
      if (last)
        frame.waitEvent(streams.back(), last);
      frame.launch(streams.back(), Store, 1, 64, StoreParams{x, uint32_t(i)});
      last = frame.record(streams.back());
    }
    frame.copy(streams.back(), out.data(), x, 256);
    for (gpuasync_stream *stream : streams)
      if (stream != streams.back())
        frame.destroy(stream, false);
    frame.wait({streams.back()});
    life.expect(frame.failed() || out == Words(64, 19), "the last store");
    frame.dealloc(streams.back(), x);
  }
  life.scope(false);
}

/// Two modules, one frame inside another, a program released and used again.
void gpuasync_test::modules(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  for (int round = 0; round < 2; ++round) {
    Words out(32);
    {
      LifeFrame outer(life, life.program);
      gpuasync_stream *stream = outer.stream();
      uint32_t *x = outer.alloc(stream, 32);
      outer.launch(stream, Store, 1, 32, StoreParams{x, 4});
      outer.wait({stream});
      {
        LifeFrame inner(life, life.second);
        gpuasync_stream *own = inner.stream();
        if (x)
          inner.launch(own, MulAdd, 1, 32, MulAddParams{x, 32, 2, 0});
        inner.wait({own});
      }
      outer.resume();
      outer.copy(stream, out.data(), x, 128);
      outer.wait({stream});
      outer.dealloc(stream, x);
    }
    life.expect(out == Words(32, 8), "the inner frame's product");
    Entry entry(life);
    gpuasync_status_free(gpuasync_program_release(&life.second.program));
  }
  {
    Entry entry(life);
    life.note(gpuasync_program_load(&life.second.program, life.context));
  }
  life.scope(false);
}

/// The caller's stream, ordered both ways and synchronised by the caller.
void gpuasync_test::callersStream(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  gpuasync_stream *mine = nullptr;
  if (life.context) {
    Entry entry(life);
    life.note(gpuasync_context_stream_create(life.context, &mine));
  }
  if (mine) {
    void *native = gpuasync_context_stream_native(mine);
    Words in(64, 6), out(64);
    uint32_t *x = nullptr, *shared = nullptr;
    {
      LifeFrame frame(life, life.program);
      gpuasync_stream *stream = frame.external(native);
      gpuasync_stream *own = frame.stream();
      x = frame.alloc(stream, 64);
      shared = frame.alloc(nullptr, 64, true);
      frame.copy(stream, x, in.data(), 256);
      frame.waitEvent(own, frame.record(stream));
      // By a library; null may be a stream, so it is only called without error.
      void *handle = frame.native(own);
      if (!frame.failed()) {
        LifeFrame library(life, life.program);
        gpuasync_stream *theirs = library.external(handle);
        library.launch(theirs, MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
        library.destroy(theirs, false);
        library.leave();
        if (!library.succeeded)
          frame.fail("the library failed");
      }
      frame.call(own);
      frame.waitEvent(stream, frame.record(own));
      frame.copy(stream, shared, x, 256);
      frame.destroy(own, false);
      frame.destroy(stream, false);
      frame.leave();
      if (!frame.succeeded)
        x = shared = nullptr; // the frame has freed them
    }
    {
      Entry entry(life);
      life.note(gpuasync_context_stream_synchronize(mine));
    }
    if (shared)
      life.expect(Words(shared, shared + 64) == Words(64, 19),
                  "what the caller's stream copied");
    {
      LifeFrame frame(life, life.program);
      frame.dealloc(nullptr, x);
      frame.dealloc(nullptr, shared);
    }
    Entry entry(life);
    gpuasync_context_stream_destroy(mine);
  }
  life.scope(false);
}

/// Registered memory, some of it never released.
void gpuasync_test::registrations(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  static uint32_t memory[3][4096];
  for (auto &piece : memory)
    std::fill(std::begin(piece), std::end(piece), 2u);
  for (int round = 0; round < 2; ++round) {
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *host = memory[round];
    frame.registerHost(host, sizeof(memory[0]));
    frame.registerHost(host, sizeof(memory[0]));
    frame.launch(stream, MulAdd, 16, 256, MulAddParams{host, 4096, 2, 1});
    uint32_t *x = frame.alloc(stream, 4096);
    frame.copy(stream, x, host, sizeof(memory[0]));
    frame.copy(stream, host, x, sizeof(memory[0]));
    frame.wait({stream});
    life.expect(frame.failed() || (host[0] == 5 && host[4095] == 5),
                "registered memory");
    frame.unregisterHost(host);
    frame.unregisterHost(host);
    frame.dealloc(stream, x);
    frame.registerHost(memory[2], sizeof(memory[2]));
  }
  life.scope(false);
}

/// Tokens that leave their frame, with downloads that a later wait finishes.
void gpuasync_test::tokens(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  // Outlives a wait that fails: the download may come later.
  static Words out(32);
  uint32_t *x = nullptr;
  gpuasync_event *token = nullptr;
  bool made = false;
  {
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream();
    x = frame.alloc(stream, 32);
    frame.launch(stream, Store, 1, 32, StoreParams{x, 6});
    token = frame.exported(frame.record(stream));
    frame.leave();
    made = frame.succeeded;
  }
  if (!made) {
    // Results of a failed function are not read.
    token = nullptr;
    x = nullptr;
  }
  {
    LifeFrame frame(life, life.program);
    token = frame.imported(token);
    gpuasync_stream *stream = frame.stream();
    frame.waitEvent(stream, token);
    if (x) {
      frame.launch(stream, MulAdd, 1, 32, MulAddParams{x, 32, 2, 1});
      frame.copy(stream, out.data(), x, 128);
    }
    frame.dealloc(stream, x);
    gpuasync_event *second = frame.record(stream);
    token = frame.exported(second);
    frame.leave();
    if (!frame.succeeded)
      token = nullptr;
  }
  {
    Entry entry(life);
    life.note(gpuasync_event_wait(token));
  }
  {
    Entry entry(life);
    gpuasync_event_release(token);
  }
  life.expect(out == Words(32, 13), "the download of a token's past");
  life.scope(false);
}

/// Large pageable copies that wait behind a held kernel, one feeding another.
/// No vendor call may be out of memory: what is given back then waits for the
/// kernel (docs/reference/Runtime.md).
void gpuasync_test::staging(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  {
    constexpr uint32_t count = 1100000; // more than is staged at a time
    Words in(count, 5), middle(512), out(count);
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream(), *other = frame.stream();
    uint32_t *x = frame.alloc(stream, count), *y = frame.alloc(other, 256);
    life.hold("store");
    frame.launch(stream, Store, 1, 64, StoreParams{x, 0});
    frame.copy(stream, x, in.data(), 4ull * count);
    std::fill(in.begin(), in.end(), 9u);
    frame.copy(stream, middle.data(), x, 2048);
    frame.copy(stream, y, middle.data(), 1024);
    frame.copy(stream, out.data(), x, 4ull * count);
    frame.copy(stream, in.data(), y, 1024);
    life.letGo("store");
    frame.wait({stream, other});
    life.expect(frame.failed() || (out == Words(count, 5) && in[0] == 5 &&
                                   in[255] == 5 && in[256] == 9),
                "the staged copies");
    frame.dealloc(stream, x);
    frame.dealloc(stream, y);
    frame.leave();
  }
  life.scope(false);
}

/// An error of the program itself while work runs; then a frame that leaks.
void gpuasync_test::errorsAndLeaks(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  {
    LifeFrame frame(life, life.program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 64), *shared = frame.alloc(nullptr, 64, true);
    frame.launch(a, Store, 1, 64, StoreParams{x, 1});
    frame.waitEvent(b, frame.record(a));
    Words out(64);
    frame.copy(b, out.data(), x, 256);
    frame.copy(b, shared, x, 256);
    frame.fill(b, x, &out, 3, 5); // refused: three bytes
    frame.wait({a, b});
    frame.leaveWithError("fill with elements of 3 bytes");
  }
  {
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 5000);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
  }
  life.scope(false);
}

/// Two devices at once, and a thread that shares the first's context.
void gpuasync_test::devicesAndThreads(Life &life) {
  life.openContext();
  life.arm();
  auto work = [](Life &life, TestProgram &program, uint32_t value) {
    Words out(128);
    LifeFrame frame(life, program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 128);
    frame.launch(a, Store, 1, 128, StoreParams{x, value});
    frame.waitEvent(b, frame.record(a));
    frame.launch(b, MulAdd, 1, 128, MulAddParams{x, 128, 2, 1});
    frame.copy(b, out.data(), x, 512);
    frame.dealloc(b, x);
    frame.wait({a, b});
    frame.leave();
    life.expect(out == Words(128, 2 * value + 1), "a thread's product");
  };
  life.inParallel = true;
  std::thread other([&] {
    if (!life.scope(true))
      return;
    work(life, life.program, 3);
    life.scope(false);
  });
  // The end of all contexts closes this one too.
  gpuasync_context *&second = life.another;
  {
    Entry entry(life);
    std::string other = life.device == "cpu" ? "cpu" : life.device + ":1";
    life.note(gpuasync_context_open(other.c_str(), &second));
  }
  if (second) {
    gpuasync_status *pushed;
    {
      Entry entry(life);
      pushed = gpuasync_scope_push(second);
    }
    bool scoped = !pushed;
    life.note(pushed);
    if (scoped) {
      work(life, life.second, 5);
      Entry entry(life);
      gpuasync_scope_pop();
    }
  }
  other.join();
}

/// Two threads that register the same memory, use it and give it back.
void gpuasync_test::sharedRegistration(Life &life) {
  life.openContext();
  life.arm();
  life.inParallel = true;
  static uint32_t memory[2][1024];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i)
    threads[i] = std::thread([&life, i] {
      if (!life.scope(true))
        return;
      for (auto &piece : memory) {
        Words out(512);
        LifeFrame frame(life, i ? life.second : life.program);
        gpuasync_stream *stream = frame.stream();
        frame.registerHost(piece, sizeof(piece));
        uint32_t *x = frame.alloc(stream, 512), *part = piece + 512 * i;
        frame.launch(stream, Store, 2, 256, StoreParams{part, 7});
        frame.copy(stream, x, part, 2048);
        frame.copy(stream, out.data(), x, 2048);
        frame.wait({stream});
        life.expect(frame.failed() || out == Words(512, 7),
                    "memory that two threads registered");
        frame.dealloc(stream, x);
        frame.unregisterHost(piece);
      }
      life.scope(false);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// What is left behind goes back on demand, and what is needed comes again.
void gpuasync_test::trimmed(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  static uint32_t host[1024];
  for (int round = 0; round < 2; ++round) {
    Words out(64);
    {
      LifeFrame frame(life, life.program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *shared = frame.alloc(nullptr, 64, true);
      frame.registerHost(host, sizeof(host));
      frame.launch(stream, Store, 1, 64, StoreParams{shared, 4});
      frame.copy(stream, out.data(), shared, 256);
      frame.wait({stream});
      frame.unregisterHost(host);
      frame.dealloc(nullptr, shared);
      frame.leave();
    }
    life.expect(out == Words(64, 4), "the copy");
    Entry entry(life);
    if (life.context) {
      gpuasync_modules_release(life.context);
      life.note(gpuasync_context_trim(life.context, -1));
    }
  }
  life.scope(false);
}

/// A kernel's own error, on one of two streams, and the frames after it.
void gpuasync_test::kernelAssert(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  static uint32_t host[1024];
  for (int round = 0; round < 2; ++round) {
    Words out(64);
    LifeFrame frame(life, life.program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(b, 64);
    frame.registerHost(host, sizeof(host));
    frame.launch(a, Fail, 1, 1, FailParams{1});
    frame.launch(b, Store, 1, 64, StoreParams{x, 2});
    frame.copy(b, out.data(), x, 256);
    frame.waitEvent(b, frame.record(a));
    frame.wait({b, a});
    frame.leaveWithError("assertion failed");
  }
  life.scope(false);
}

/// Two functions in one capture of the caller's stream, and the graph's run.
void gpuasync_test::captured(Life &life) {
  Mock &mock = *mockOf("cuda-on-mock");
  void *library = dlopen(getenv("GPU_ASYNC_CUDA_LIBRARY"), RTLD_NOW);
  void *vendorContext = nullptr;
  // The caller repeats what fails.
  auto call = [&](const char *name, auto... arguments) {
    using Function = int (*)(decltype(arguments)...);
    auto function = reinterpret_cast<Function>(dlsym(library, name));
    mock.mock_context_push(vendorContext);
    bool firedBefore = life.fired();
    if (function(arguments...))
      function(arguments...);
    life.byCaller |= !firedBefore && life.fired();
    mock.mock_context_pop();
  };
  life.openContext();
  if (!life.scope(true))
    return;
  gpuasync_stream *mine = nullptr;
  life.note(gpuasync_context_stream_create(life.context, &mine));
  void *native = gpuasync_context_stream_native(mine);
  uint32_t *x = nullptr;
  {
    LifeFrame frame(life, life.program);
    vendorContext = mock.mock_context_top();
    x = frame.alloc(nullptr, 64);
  }
  constexpr int relaxed = 2;
  call("cuStreamBeginCapture_v2", native, relaxed);
  life.arm();
  bool whole = true;
  for (int i = 0; i < 2; ++i) {
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.external(native), *own = frame.stream();
    frame.waitEvent(own, frame.record(stream));
    frame.launch(own, Store, 1, 64, StoreParams{x, 3});
    frame.launch(own, MulAdd, 1, 64, MulAddParams{x, 64, 2, 1});
    frame.destroy(own, false);
    frame.leave();
    whole &= frame.succeeded;
  }
  {
    // The capture's streams are not for this one.
    LifeFrame frame(life, life.program);
    gpuasync_stream *own = frame.stream();
    uint32_t *y = frame.alloc(own, 64);
    frame.launch(own, Store, 1, 64, StoreParams{y, 1});
    frame.dealloc(own, y);
    frame.wait({own});
    frame.destroy(own, true);
  }
  void *graph = nullptr, *executable = nullptr;
  call("cuStreamEndCapture", native, &graph);
  if (graph) {
    call("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
    call("cuGraphDestroy", graph);
    call("cuGraphLaunch", executable, native);
    call("cuStreamSynchronize", native);
    call("cuGraphExecDestroy", executable);
  }
  Words out(64);
  {
    LifeFrame frame(life, life.program);
    gpuasync_stream *own = frame.stream();
    frame.copy(own, out.data(), x, 256);
    frame.wait({own});
    frame.dealloc(nullptr, x);
  }
  life.expect(!whole || out == Words(64, 7), "what the graph made");
  {
    Entry entry(life);
    gpuasync_context_stream_destroy(mine);
  }
  life.scope(false);
}

/// Kernels that spin until others of their stream's neighbours run, and one
/// with workgroup memory.
void gpuasync_test::meetingKernels(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  for (int round = 0; round < 2; ++round) {
    Words out(1);
    LifeFrame frame(life, life.program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *flags = frame.alloc(nullptr, 64, true);
    uint32_t *x = frame.alloc(b, 1);
    if (flags)
      flags[0] = flags[1] = flags[2] = 0;
    if (!frame.failed()) {
      frame.launch(a, Meet, 1, 1, MeetParams{flags, flags + 1});
      frame.launch(b, Meet, 1, 1, MeetParams{flags + 1, flags});
      // Who waits in vain for one that could not be launched goes on.
      if (frame.failed())
        flags[0] = flags[1] = 1;
    }
    frame.launch(b, Shared, 1, 1, SharedParams{x, 512}, 2048);
    frame.copy(b, out.data(), x, 4);
    frame.wait({a, b});
    // A kernel without a thread of its own has failed, and nobody meets it.
    if (flags && frame.failed())
      openGate(flags), openGate(flags + 1);
    life.expect(frame.failed() || out[0] == 511, "what a block shared");
    frame.dealloc(b, x);
    frame.dealloc(nullptr, flags);
  }
  life.scope(false);
}

/// A kernel of each of the two programs.
static void runBothPrograms(Life &life) {
  for (TestProgram *program : {&life.program, &life.second}) {
    Words out(64);
    LifeFrame frame(life, *program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 8});
    frame.copy(stream, out.data(), x, 256);
    frame.dealloc(stream, x);
    frame.wait({stream});
    frame.leave();
    life.expect(out == Words(64, 8), "the copy");
  }
}

/// Loading ahead of time on several threads.
void gpuasync_test::prepared(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  life.inParallel = true;
  {
    const gpuasync_program *programs[] = {&life.program.program,
                                          &life.second.program};
    Entry entry(life);
    life.note(gpuasync_prepare(programs, 2, &life.context, 1, 4));
  }
  runBothPrograms(life);
  life.scope(false);
}

/// Machine code that goes to the disk cache and comes from there: the second
/// program has the same PTX, and another hash.
void gpuasync_test::ptxCache(Life &life) {
  setenv("GPU_ASYNC_CACHE", "on", 1);
  setenv("GPU_ASYNC_CACHE_DIR", life.folder.c_str(), 1);
  life.arm();
  life.openContext();
  if (!life.scope(true))
    return;
  runBothPrograms(life);
  life.scope(false);
  gpuasync_disk_cache_stats stats = {};
  gpuasync_status_free(
      gpuasync_disk_cache_stats_read(gpuasync_disk_cache_default(), &stats));
  life.expectUnlessFired(stats.stores == 2 && stats.hits == 1,
                         "what was kept on disk");
}

static gpuasync_digest digest(uint8_t byte) {
  gpuasync_digest result;
  memset(result.bytes, byte, sizeof(result.bytes));
  return result;
}

/// Looks for one of the sweep's entries: 1 if it is there, and then it must be
/// what was stored.
static int lookUp(Life &life, gpuasync_disk_cache *cache, uint8_t number,
                  size_t bytes) {
  gpuasync_digest key = digest(number);
  gpuasync_disk_entry entry;
  int found;
  {
    Entry inside(life);
    found = gpuasync_disk_cache_lookup(cache, &key, &entry);
  }
  if (found && (entry.size != bytes ||
                Words(static_cast<uint32_t *>(entry.data),
                      static_cast<uint32_t *>(entry.data) + bytes / 4) !=
                    Words(bytes / 4, number)))
    life.problem("the disk cache returns what was never stored");
  Entry inside(life);
  gpuasync_disk_entry_free(&entry);
  return found;
}

/// A folder of the program's own: more than fits, an entry that is damaged,
/// another cache on the same folder.
void gpuasync_test::diskCache(Life &life) {
  constexpr size_t bytes = 8192;
  life.arm();
  std::string folder = life.folder + "/sub/folder";
  gpuasync_disk_cache *cache = nullptr;
  auto store = [&](uint8_t number) {
    Words data(bytes / 4, number);
    gpuasync_digest key = digest(number);
    int stored;
    {
      Entry inside(life);
      stored = gpuasync_disk_cache_store(cache, &key, data.data(), bytes);
    }
    char name[65] = "";
    for (int i = 0; i < 32; ++i)
      snprintf(name + 2 * i, 3, "%02x", number);
    if (stored && !std::filesystem::exists(folder + "/" + name))
      life.problem("false success: a store");
    return stored;
  };
  for (int round = 0; round < 2; ++round) {
    {
      Entry inside(life);
      cache = gpuasync_disk_cache_open(folder.c_str(), 3 * (bytes + 100));
    }
    if (!cache)
      break;
    for (uint8_t number = 1; number <= 4; ++number) {
      int stored = store(number), found = lookUp(life, cache, number, bytes);
      life.expectUnlessFired(stored, "a store");
      life.expectUnlessFired(found, "a lookup");
    }
    life.expectUnlessFired(!lookUp(life, cache, 1, bytes), "making room");
    std::error_code none;
    for (auto &file : std::filesystem::directory_iterator(folder, none))
      if (file.path().filename().string().compare(0, 2, "03") == 0)
        std::filesystem::resize_file(file, bytes, none);
    if (lookUp(life, cache, 3, bytes) && !life.fired())
      life.problem("a damaged entry was found");
    gpuasync_disk_cache_stats stats = {};
    gpuasync_status_free(gpuasync_disk_cache_stats_read(cache, &stats));
    life.expectUnlessFired(stats.damaged == 1 && stats.evictions > 0,
                           "what was counted");
    Entry inside(life);
    Status warning(gpuasync_disk_cache_take_warning(cache));
    if (!warning.ok() && !life.fired())
      life.problem("a warning: %s", warning.message());
    gpuasync_disk_cache_close(cache);
  }
  // Whatever happened, the next process's cache works, and what a store left
  // unfinished is swept away.
  life.disarm();
  cache = gpuasync_disk_cache_open(folder.c_str(), 3 * (bytes + 100));
  if (!store(5) || !lookUp(life, cache, 5, bytes))
    life.problem("after the failure the disk cache does not work");
  for (uint8_t number = 1; number <= 4; ++number)
    lookUp(life, cache, number, bytes);
  gpuasync_disk_cache_close(cache);
  for (auto &file : std::filesystem::directory_iterator(folder))
    if (file.path().filename().string().size() != 64)
      life.problem("%s is left", file.path().filename().c_str());
}

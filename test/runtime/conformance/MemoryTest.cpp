//===- MemoryTest.cpp - Copies, fills, registration, leaks ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kind of copy and fill against plain loops; errors of memory use.
//===----------------------------------------------------------------------===//

#include "gpuasync/Memory.h"
#include "Fixture.h"

#include <random>
#include <set>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Memory : public DeviceTest {};
INSTANTIATE_OVER_DEVICES(Memory);

std::string leakText(const Context &context) {
  std::string text;
  gpuasync_leaks_list(
      context.get(),
      [](void *user, const char *line) {
        static_cast<std::string *>(user)->append(line).append("\n");
      },
      &text);
  return text;
}

TEST_P(Memory, FillsOfEachElementSize) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  for (uint32_t size : {1u, 2u, 4u, 8u, 16u})
    for (uint64_t count : {0ull, 1ull, 7ull, 1000ull, 100000ull}) {
      unsigned char pattern[16];
      for (uint32_t i = 0; i < 16; ++i)
        pattern[i] = static_cast<unsigned char>(17 * i + size);
      std::vector<unsigned char> out(count * size + 1, 0xee);
      void *x = frame.alloc<char>(stream, count * size);
      gpuasync_memset(frame, stream, x, pattern, size, count, SITE("memset"));
      frame.copy(stream, out.data(), x, count * size);
      frame.dealloc(stream, x);
      ASSERT_EQ(frame.wait({stream}), 0);
      for (uint64_t i = 0; i < count * size; ++i)
        ASSERT_EQ(out[i], pattern[i % size]) << size << " " << count;
      ASSERT_EQ(out[count * size], 0xee);
    }
}

TEST_P(Memory, FillOfAnOddElementIsRefused) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, 64);
  char pattern[16] = {};
  gpuasync_memset(frame, stream, x, pattern, 3, 4, SITE("memset"));
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
}

/// Sizes whose product is not the number of elements.
TEST_P(Memory, SizesThatWrapAreRefused) {
  constexpr int64_t big = int64_t(1) << 32;
  struct Case {
    std::vector<int64_t> sizes, strides;
    uint32_t elementBytes;
    const char *message;
  };
  const Case cases[] = {
      {{big, big}, {big, 1}, 4, "4294967296 x 4294967296 elements of 4 bytes"},
      {{big, big}, {0, 0}, 1, "too large"},
      {{int64_t(1) << 60}, {1}, 16, "too large"},
      {{3, big},
       {int64_t(1) << 61, 1},
       8,
       "strides of 2305843009213693952 x 1"},
      {{3, 3}, {INT64_MAX / 2, INT64_MIN / 2}, 1, "too large"},
      {{-5, 20}, {20, 1}, 4, "negative size: -5 x 20 elements of 4 bytes"},
      {{0, -1}, {1, 1}, 4, "negative size: 0 x -1"},
      {{INT64_MIN}, {1}, 1, "negative size: -9223372036854775808"}};
  uint64_t word = 0;
  for (const Case &each : cases) {
    auto rank = static_cast<uint32_t>(each.sizes.size());
    const int64_t *sizes = each.sizes.data(), *strides = each.strides.data();
    for (int call = 0; call < 4; ++call) {
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      auto *x = frame.alloc<char>(stream, 4096);
      const int64_t dense[] = {1, 1};
      if (call == 0)
        EXPECT_EQ(gpuasync_extent(frame, sizes, strides, rank,
                                  each.elementBytes, SITE("alloc")),
                  0u);
      if (call == 1)
        gpuasync_memcpy_strided(frame, stream, x, strides, &word, dense, sizes,
                                rank, each.elementBytes, SITE("memcpy"));
      if (call == 2)
        gpuasync_memcpy_strided(frame, stream, &word, dense, x, strides, sizes,
                                rank, each.elementBytes, SITE("memcpy"));
      if (call == 3)
        gpuasync_memset_strided(frame, stream, x, strides, sizes, rank, &word,
                                each.elementBytes, SITE("memset"));
      Status status = frame.leave();
      EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT)) << call;
      EXPECT_NE(std::string(status.message()).find(each.message),
                std::string::npos)
          << call << ": " << status.message();
      EXPECT_NE(std::string(status.message()).find("test.mlir:"),
                std::string::npos);
    }
  }
  for (int call = 0; call < 3; ++call) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    auto *x = frame.alloc<char>(stream, 4096);
    if (call == 0)
      gpuasync_memset(frame, stream, x, &word, 4, uint64_t(1) << 63,
                      SITE("memset"));
    if (call == 1)
      gpuasync_memcpy(frame, stream, x, &word, UINT64_MAX - 3, SITE("memcpy"));
    if (call == 2)
      gpuasync_host_register(frame, &word, UINT64_MAX - 3, SITE("register"));
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT)) << call;
    EXPECT_NE(std::string(status.message()).find("too large"),
              std::string::npos)
        << status.message();
  }
}

/// A copy or fill lies in the memory of its first element, also where strides
/// lead below that; what is there may be another buffer.
TEST_P(Memory, StridesThatLeaveTheirBufferAreRefused) {
  constexpr int64_t words = 64;
  std::vector<uint32_t> host(3 * words), one(words, 1);
  Status added(gpuasync_host_memory_add(host.data() + words, words * 4,
                                        "argument 0", nullptr));
  ASSERT_TRUE(added.ok()) << added.message();
  // So that there is something below and above it.
  Status below(
      gpuasync_host_memory_add(host.data(), words * 4, "below", nullptr));
  ASSERT_TRUE(below.ok()) << below.message();
  struct Case {
    int64_t first; ///< of the words
    std::vector<int64_t> sizes, strides;
    const char *message; ///< "" if it is right
  };
  const Case cases[] = {
      {0,
       {2, 2},
       {-16, 1},
       "72 bytes at offset -64 of 256 (a negative stride)"},
      {40, {4, 2}, {-16, 1}, "200 bytes at offset -32 of 256 (a negative"},
      {63, {3}, {-32}, "260 bytes at offset -4 of 256 (a negative stride)"},
      {0, {3}, {-64}, "516 bytes at offset -512 of 256 (a negative stride)"},
      {32, {2, 2}, {40, -1}, "168 bytes at offset 124 of 256 (a negative"},
      {32, {2, 2}, {40, 1}, "168 bytes at offset 128 of 256"},
      {1,
       {2, 1, 2, 2, 2, 2, 2, 2, 2, 2},
       {-2, 7, 3, 3, 3, 3, 3, 3, 3, 3},
       "-4 of"},
      {1, {2, 1, 2, 2, 2, 2, 2, 2, 2, 2}, {-1, 7, 3, 3, 3, 3, 3, 3, 3, 3}, ""},
      {63, {8, 8}, {-8, -1}, ""},
      {56, {8, 8}, {-8, 1}, ""},
      {7, {8, 8}, {8, -1}, ""},
      {63, {2}, {-63}, ""}};
  for (const Case &each : cases)
    for (bool onDevice : {true, false})
      for (int call = 0; call < 3; ++call) {
        std::fill(host.begin(), host.end(), 1);
        std::vector<uint32_t> dense(1024, 7), result(3 * words);
        FrameScope frame(*program);
        gpuasync_stream *stream = frame.stream();
        // One of three, as host memory is.
        uint32_t *x[3];
        for (uint32_t *&part : x) {
          part = frame.alloc(stream, words);
          frame.copy(stream, part, one.data(), words * 4);
        }
        uint32_t *other = frame.alloc(stream, dense.size());
        frame.copy(stream, other, dense.data(), dense.size() * 4);
        uint32_t *first = (onDevice ? x[1] : host.data() + words) + each.first;
        auto rank = static_cast<uint32_t>(each.sizes.size());
        const int64_t *sizes = each.sizes.data();
        std::vector<int64_t> packed(rank, 1);
        for (uint32_t i = rank; i-- > 1;)
          packed[i - 1] = packed[i] * sizes[i];
        if (call == 0)
          gpuasync_memset_strided(frame, stream, first, each.strides.data(),
                                  sizes, rank, dense.data(), 4, SITE("memset"));
        if (call == 1)
          gpuasync_memcpy_strided(frame, stream, first, each.strides.data(),
                                  other, packed.data(), sizes, rank, 4,
                                  SITE("memcpy"));
        if (call == 2)
          gpuasync_memcpy_strided(frame, stream, other, packed.data(), first,
                                  each.strides.data(), sizes, rank, 4,
                                  SITE("memcpy"));
        for (int i = 0; i < 3; ++i)
          frame.copy(stream, result.data() + i * words, x[i], words * 4);
        for (uint32_t *part : x)
          frame.dealloc(stream, part);
        frame.dealloc(stream, other);
        frame.wait({stream});
        frame.destroy(stream);
        Status status = frame.leave();
        std::string message = status.message();
        if (*each.message) {
          EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT))
              << each.message << call << onDevice;
          EXPECT_NE(message.find(each.message), std::string::npos) << message;
          EXPECT_NE(message.find(onDevice ? "exceeds its buffer: "
                                          : "exceeds argument 0: "),
                    std::string::npos)
              << message;
          EXPECT_EQ(message.find("test.mlir:"), 0u) << message;
          EXPECT_EQ(host, std::vector<uint32_t>(3 * words, 1));
          continue;
        }
        EXPECT_EQ(message, "") << call << onDevice;
        const std::vector<uint32_t> &got = onDevice ? result : host;
        std::set<int64_t> written;
        std::vector<int64_t> index(rank, 0);
        for (bool more = true; more;) {
          int64_t at = each.first;
          for (uint32_t i = 0; i < rank; ++i)
            at += index[i] * each.strides[i];
          written.insert(at);
          uint32_t dim = rank;
          while (dim-- > 0 && ++index[dim] == sizes[dim])
            index[dim] = 0;
          more = dim != UINT32_MAX;
        }
        for (int64_t i = 0; i < 3 * words; ++i)
          EXPECT_EQ(got[size_t(i)],
                    call < 2 && written.count(i - words) ? 7u : 1u)
              << i;
      }
  gpuasync_host_memory_remove(host.data());
  gpuasync_host_memory_remove(host.data() + words);
}

/// Memory that the caller has announced ends where it said.
TEST_P(Memory, CopiesThatLeaveKnownHostMemoryAreRefused) {
  std::vector<uint32_t> words(64, 7);
  uint32_t *known = words.data() + 16;
  Status added(gpuasync_host_memory_add(known, 32 * 4, "argument 0", nullptr));
  ASSERT_TRUE(added.ok()) << added.message();
  struct Case {
    uint32_t *at;
    uint64_t count;
    const char *message;
  };
  const Case wrong[] = {
      {known, 33, "exceeds argument 0: 132 bytes at offset 0 of 128"},
      {known + 31, 2, "exceeds argument 0: 8 bytes at offset 124 of 128"},
      {known - 1, 2, "begins 4 bytes before argument 0: 8 bytes"},
      {known - 16, 64, "begins 64 bytes before argument 0"}};
  const Case right[] = {{known, 32, ""},
                        {known + 31, 1, ""},
                        {known - 16, 16, ""},
                        {known + 32, 16, ""}};
  enum { Upload, Download, Rows, Fill, Register, NumCalls };
  auto run = [&](const Case &each, int call) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 128);
    int64_t sizes[] = {int64_t(each.count), 1}, dense[] = {1, 1};
    int64_t pairs[] = {2, 1};
    uint32_t nine = 9;
    if (call == Upload)
      frame.copy(stream, x, each.at, each.count * 4);
    if (call == Download)
      frame.copy(stream, each.at, x, each.count * 4);
    if (call == Rows)
      gpuasync_memcpy_strided(frame, stream, x, pairs, each.at, dense, sizes, 2,
                              4, SITE("memcpy"));
    if (call == Fill)
      gpuasync_memset(frame, stream, each.at, &nine, 4, each.count,
                      SITE("memset"));
    if (call == Register) {
      gpuasync_host_register(frame, each.at, each.count * 4, SITE("register"));
      gpuasync_host_unregister(frame, each.at, SITE("unregister"));
    }
    frame.dealloc(stream, x);
    frame.wait({stream});
    frame.destroy(stream);
    return frame.leave();
  };
  for (int call = 0; call < NumCalls; ++call) {
    for (const Case &each : wrong) {
      Status status = run(each, call);
      EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT)) << call;
      EXPECT_NE(std::string(status.message()).find(each.message),
                std::string::npos)
          << call << ": " << status.message();
    }
    for (const Case &each : right) {
      Status status = run(each, call);
      EXPECT_TRUE(status.ok()) << call << ": " << status.message();
    }
  }

  // Others may begin where it ends; one in its place takes it.
  Status behind(gpuasync_host_memory_add(known + 32, 4, "argument 1", nullptr));
  EXPECT_TRUE(behind.ok());
  EXPECT_TRUE(run({known, 32, ""}, Upload).ok());
  Status status = run({known, 33, ""}, Upload);
  EXPECT_NE(std::string(status.message()).find("argument 0"),
            std::string::npos);
  Status inPlace(gpuasync_host_memory_add(words.data(), 256, "all", nullptr));
  EXPECT_TRUE(run({words.data(), 64, ""}, Download).ok());
  const void *found = nullptr;
  uint64_t bytes = 0;
  const char *what = nullptr, *place = "";
  EXPECT_TRUE(
      gpuasync_host_memory_find(known, 1, &found, &bytes, &what, &place));
  EXPECT_EQ(found, words.data());
  EXPECT_EQ(bytes, 256u);
  EXPECT_STREQ(what, "all");
  EXPECT_EQ(place, nullptr);
  gpuasync_host_memory_remove(words.data());
  EXPECT_FALSE(
      gpuasync_host_memory_find(known, 1, nullptr, nullptr, nullptr, nullptr));
  EXPECT_TRUE(run({known, 33, ""}, Upload).ok());
  gpuasync_host_memory_remove(known); // no longer there
  Status null(gpuasync_host_memory_add(nullptr, 4, "nothing", nullptr));
  EXPECT_EQ(null.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
}

/// The arrays of a call end where the caller said. They may overlap: a copy
/// lies in one of those that it begins in. Calls nest, and threads have their
/// own.
TEST_P(Memory, CopiesThatLeaveTheArraysOfACallAreRefused) {
  std::vector<uint32_t> words(64, 7);
  uint32_t *at = words.data();
  gpuasync_call_array outerArrays[] = {{at, 40 * 4, "all"},
                                       {nullptr, 0, "null"}};
  gpuasync_call_array innerArrays[] = {{at + 4, 12, "argument 0"},
                                       {at + 50, 0, "empty"}};
  gpuasync_call_arrays outer = {outerArrays, 2, nullptr};
  gpuasync_call_arrays inner = {innerArrays, 2, nullptr};
  auto copy = [&](uint32_t *to, uint64_t count) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 256);
    frame.copy(stream, to, x, count * 4);
    frame.dealloc(stream, x);
    frame.wait({stream});
    frame.destroy(stream);
    return frame.leave();
  };
  auto expect = [&](const Status &status, const char *message) {
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    EXPECT_NE(std::string(status.message()).find(message), std::string::npos)
        << status.message();
  };
  gpuasync_call_arrays_push(&inner);
  EXPECT_TRUE(copy(at + 4, 3).ok());
  EXPECT_TRUE(copy(at + 6, 1).ok());
  expect(copy(at + 4, 8), "exceeds argument 0: 32 bytes at offset 0 of 12");
  expect(copy(at + 6, 2), "exceeds argument 0: 8 bytes at offset 8 of 12");
  expect(copy(at + 50, 1), "exceeds empty: 4 bytes at offset 0 of 0");
  EXPECT_TRUE(copy(at + 20, 8).ok()); // of none of them
  std::thread other([&] {
    ContextScope scope(context);
    EXPECT_TRUE(copy(at + 4, 8).ok());
  });
  other.join();
  gpuasync_call_arrays_pop();

  gpuasync_call_arrays_push(&outer);
  gpuasync_call_arrays_push(&inner);
  EXPECT_TRUE(copy(at + 4, 8).ok()); // the outer one has room
  expect(copy(at + 4, 37), "exceeds all: 148 bytes at offset 16 of 160");
  gpuasync_call_arrays_pop();
  expect(copy(at, 41), "exceeds all: 164 bytes at offset 0 of 160");
  gpuasync_call_arrays_pop();
  EXPECT_TRUE(copy(at, 64).ok());
  gpuasync_call_arrays_pop(); // none is there
  gpuasync_call_arrays_push(nullptr);
  EXPECT_TRUE(copy(at, 64).ok());
}

/// What an extent is, at the edges of what it can be.
TEST_P(Memory, Extents) {
  constexpr int64_t big = int64_t(1) << 32;
  FrameScope frame(*program);
  auto extent = [&](std::vector<int64_t> sizes, std::vector<int64_t> strides,
                    uint64_t elementBytes) {
    return gpuasync_extent(
        frame, sizes.data(), strides.empty() ? nullptr : strides.data(),
        static_cast<uint32_t>(sizes.size()), elementBytes, SITE("alloc"));
  };
  EXPECT_EQ(extent({}, {}, 4), 4u);
  EXPECT_EQ(extent({7}, {}, 4), 28u);
  EXPECT_EQ(extent({3, 5}, {8, 1}, 4), 4u * (2 * 8 + 5));
  // Nothing is as large as it may be, if a size is 0.
  EXPECT_EQ(extent({big, big, 0}, {}, 4), 0u);
  EXPECT_EQ(extent({big, 0, big}, {big, big, 1}, 4), 0u);
  EXPECT_EQ(extent({INT64_MAX}, {}, 1), uint64_t(INT64_MAX));
  EXPECT_EQ(extent({big, big / 4}, {}, 1), uint64_t(1) << 62);
  // The stride of one element means nothing.
  EXPECT_EQ(extent({1, 3}, {INT64_MAX, 1}, 8), 24u);
  EXPECT_EQ(extent({4}, {0}, 8), 8u);
  EXPECT_FALSE(frame.failed());
  EXPECT_EQ(extent({4}, {-1}, 8), 0u);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
  EXPECT_NE(
      std::string(status.message()).find("24 bytes before the first element"),
      std::string::npos);
}

/// Random strided copies between all pairs of memory kinds.
TEST_P(Memory, StridedCopies) {
  std::mt19937 random(7);
  constexpr int64_t extent = 40000;
  for (int round = 0; round < 200; ++round) {
    uint32_t rank = 1 + random() % 4;
    std::vector<int64_t> sizes(rank), from(rank), to(rank);
    int64_t sourceSpan = 1, destinationSpan = 1;
    for (int64_t &size : sizes)
      size = 1 + random() % 6;
    for (uint32_t i = rank; i-- > 0;) {
      to[i] = destinationSpan * (1 + random() % 2);
      destinationSpan = to[i] * sizes[i];
    }
    bool transposed = random() % 3 == 0;
    for (uint32_t i = 0; i < rank; ++i) {
      uint32_t dim = transposed ? i : rank - 1 - i;
      from[dim] = sourceSpan * (1 + random() % 2);
      sourceSpan = from[dim] * sizes[dim];
    }
    // Some dimensions run backwards: the first element is not the lowest.
    int64_t firstSource = 0, firstDestination = 0;
    for (uint32_t i = 0; i < rank; ++i) {
      if (random() % 4 == 0) {
        firstSource += from[i] * (sizes[i] - 1);
        from[i] = -from[i];
      }
      if (random() % 4 == 0) {
        firstDestination += to[i] * (sizes[i] - 1);
        to[i] = -to[i];
      }
    }
    bool sourceOnDevice = random() % 2, destinationOnDevice = random() % 2;
    uint32_t element = 1u << (random() % 4);
    std::vector<unsigned char> source(extent * element),
        destination(extent * element), expected;
    for (auto &byte : source)
      byte = static_cast<unsigned char>(random());
    for (auto &byte : destination)
      byte = static_cast<unsigned char>(random());
    expected = destination;
    std::vector<int64_t> index(rank, 0);
    while (true) {
      int64_t a = firstSource, b = firstDestination;
      for (uint32_t i = 0; i < rank; ++i) {
        a += index[i] * from[i];
        b += index[i] * to[i];
      }
      ASSERT_LT(a, extent);
      ASSERT_LT(b, extent);
      memcpy(&expected[b * element], &source[a * element], element);
      uint32_t dim = rank;
      while (dim-- > 0 && ++index[dim] == sizes[dim])
        index[dim] = 0;
      if (dim == UINT32_MAX)
        break;
    }
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint64_t bytes = extent * element;
    void *deviceSource = frame.alloc<char>(stream, bytes);
    void *deviceDestination = frame.alloc<char>(stream, bytes);
    frame.copy(stream, deviceSource, source.data(), bytes);
    frame.copy(stream, deviceDestination, destination.data(), bytes);
    gpuasync_memcpy_strided(
        frame, stream,
        static_cast<char *>(destinationOnDevice
                                ? deviceDestination
                                : static_cast<void *>(destination.data())) +
            firstDestination * element,
        to.data(),
        static_cast<char *>(sourceOnDevice
                                ? deviceSource
                                : static_cast<void *>(source.data())) +
            firstSource * element,
        from.data(), sizes.data(), rank, element, SITE("memcpy"));
    if (destinationOnDevice)
      frame.copy(stream, destination.data(), deviceDestination, bytes);
    frame.dealloc(stream, deviceSource);
    frame.dealloc(stream, deviceDestination);
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(destination, expected) << "round " << round;
  }
}

TEST_P(Memory, StridedFill) {
  std::vector<uint32_t> out(1000, 1);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, 1000);
  frame.copy(stream, x, out.data(), 4000);
  int64_t sizes[] = {5, 7, 3}, strides[] = {100, 10, 2};
  uint32_t pattern = 99;
  gpuasync_memset_strided(frame, stream, x, strides, sizes, 3, &pattern, 4,
                          SITE("memset"));
  frame.copy(stream, out.data(), x, 4000);
  frame.dealloc(stream, x);
  ASSERT_EQ(frame.wait({stream}), 0);
  std::vector<uint32_t> expected(1000, 1);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 7; ++j)
      for (int k = 0; k < 3; ++k)
        expected[i * 100 + j * 10 + k * 2] = 99;
  EXPECT_EQ(out, expected);
}

// Pageable to pageable and into pageable, held by a gate.
TEST_P(Memory, PageableOnBothSides) {
  std::vector<uint32_t> in(5000, 3), out(5000, 0), filled(5000, 0);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  frame.copy(stream, out.data(), in.data(), 20000);
  uint32_t pattern = 12;
  gpuasync_memset(frame, stream, filled.data(), &pattern, 4, 5000,
                  SITE("memset"));
  std::fill(in.begin(), in.end(), 4);
  openGate(flag);
  ASSERT_EQ(frame.wait({stream}), 0);
  EXPECT_EQ(out, std::vector<uint32_t>(5000, 3));
  EXPECT_EQ(filled, std::vector<uint32_t>(5000, 12));
  frame.dealloc(nullptr, flag);
}

// M08: registration counts; what a failed frame registered is undone.
TEST_P(Memory, Registration_M08) {
  std::vector<uint32_t> host(4096, 2), out(4096);
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    for (int i = 0; i < 2; ++i)
      gpuasync_host_register(frame, host.data(), 16384, SITE("register"));
    frame.launch(stream, MulAdd, 16, 256,
                 MulAddParams{host.data(), 4096, 2, 1});
    ASSERT_EQ(frame.wait({stream}), 0);
    for (int i = 0; i < 2; ++i)
      gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
    EXPECT_FALSE(frame.failed());
    EXPECT_EQ(host[4095], 5u);
  }
  {
    FrameScope frame(*program);
    gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  }
  {
    FrameScope frame(*program);
    gpuasync_host_register(frame, host.data(), 16384, SITE("register"));
    gpuasync_frame_fail(frame, nullptr);
    EXPECT_FALSE(frame.failed());
    gpuasync_dealloc(frame, 0, nullptr, &out, SITE("dealloc"));
    EXPECT_FALSE(frame.leave().ok());
  }
  EXPECT_EQ(leakText(context), "");
  {
    FrameScope frame(*program);
    gpuasync_host_register(frame, host.data(), 16384, SITE("register"));
  }
  EXPECT_NE(leakText(context).find("registration of 16384 bytes"),
            std::string::npos);
}

// Fills of elements that are not aligned to their size, with and without
// gaps between them. A GPU stores aligned units only.
TEST_P(Memory, FillsOfAnyAlignment) {
  constexpr uint64_t bytes = 512;
  unsigned char pattern[16];
  for (uint32_t i = 0; i < sizeof(pattern); ++i)
    pattern[i] = static_cast<unsigned char>(100 + i);
  for (uint32_t element : {1u, 2u, 4u, 8u, 16u})
    for (uint64_t shift : {0u, 1u, 2u, 4u, 6u, 8u})
      for (int64_t stride : {1, 3}) {
        SCOPED_TRACE(std::to_string(element) + " bytes at " +
                     std::to_string(shift) + ", stride " +
                     std::to_string(stride));
        std::vector<unsigned char> out(bytes), expected(bytes, 1);
        const int64_t size = 5;
        for (int64_t i = 0; i < size; ++i)
          memcpy(&expected[shift + uint64_t(i * stride) * element], pattern,
                 element);
        FrameScope frame(*program);
        gpuasync_stream *stream = frame.stream();
        auto *x = reinterpret_cast<unsigned char *>(
            frame.alloc(stream, bytes / sizeof(uint32_t)));
        const unsigned char one = 1;
        gpuasync_memset(frame, stream, x, &one, 1, bytes, SITE("memset"));
        gpuasync_memset_strided(frame, stream, x + shift, &stride, &size, 1,
                                pattern, element, SITE("memset"));
        frame.copy(stream, out.data(), x, bytes);
        frame.dealloc(stream, reinterpret_cast<uint32_t *>(x));
        ASSERT_EQ(frame.wait({stream}), 0);
        ASSERT_EQ(out, expected);
      }
}

// B06, M08: a fill of which one element lies across the end of a registration,
// then a copy of it.
TEST_P(Memory, FillsAcrossARegistrationsEnd_B06_M08) {
  alignas(4096) static unsigned char host[8192];
  unsigned char out[sizeof(host)], pattern[16];
  memset(host, 1, sizeof(host));
  for (uint32_t i = 0; i < sizeof(pattern); ++i)
    pattern[i] = static_cast<unsigned char>(100 + i);
  const uint64_t registered = 4096, first = registered - 2 * 16 + 8;
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    gpuasync_host_register(frame, host, registered, SITE("register"));
    gpuasync_memset(frame, stream, host + first, pattern, 16, 3,
                    SITE("memset"));
    gpuasync_memcpy(frame, stream, out, host, sizeof(host), SITE("memcpy"));
    ASSERT_EQ(frame.wait({stream}), 0);
    gpuasync_host_unregister(frame, host, SITE("unregister"));
  }
  for (uint64_t i = 0; i < sizeof(host); ++i) {
    const bool isFilled = i >= first && i < first + 48;
    const int expected = isFilled ? 100 + int((i - first) % 16) : 1;
    ASSERT_EQ(int(host[i]), expected) << i;
    ASSERT_EQ(int(out[i]), expected) << i;
  }
}

// M08, B06: of a copy that leaves registered memory, or comes into it, the
// device reads and writes its part when the stream gets there.
TEST_P(Memory, PartlyRegistered_B06_M08) {
  constexpr uint32_t count = 8192, half = count / 2, width = 3;
  uint32_t *gate = nullptr;
  {
    FrameScope frame(*program);
    gate = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  }
  for (uint32_t registered : {0u, half}) {
    for (bool rows : {false, true}) {
      SCOPED_TRACE(registered + rows);
      std::vector<uint32_t> host(count, 2), out(count, 9);
      *gate = 0;
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, count);
      const int64_t sizes[] = {count / 4, width}, strides[] = {4, 1};
      auto copy = [&](uint32_t *to, const uint32_t *from) {
        if (rows)
          gpuasync_memcpy_strided(frame, stream, to, strides, from, strides,
                                  sizes, 2, 4, SITE("memcpy"));
        else
          frame.copy(stream, to, from, 4 * count);
      };
      for (uint32_t *each : {host.data(), out.data()})
        gpuasync_host_register(frame, each + registered, 4 * half,
                               SITE("register"));
      frame.launch(stream, Store, count / 32, 32, StoreParams{x, 7});
      frame.launch(stream, Gate, 1, 1, GateParams{gate});
      frame.launch(stream, Store, half / 32, 32,
                   StoreParams{host.data() + registered, 5});
      copy(x, host.data());
      std::fill_n(host.data() + (half - registered), half, 3); // it was read
      copy(out.data(), x);
      frame.launch(stream, MulAdd, half / 32, 32,
                   MulAddParams{out.data() + registered, half, 2, 1});
      const uint32_t four = 4;
      gpuasync_memset(frame, stream, host.data(), &four, 4, count,
                      SITE("memset"));
      frame.launch(stream, MulAdd, half / 32, 32,
                   MulAddParams{host.data() + registered, half, 2, 1});
      openGate(gate);
      ASSERT_EQ(frame.wait({stream}), 0);
      for (uint32_t i = 0; i < count; ++i) {
        const bool isRegistered = i / half == registered / half;
        const bool isGap = rows && i % 4 == width;
        const uint32_t copied = isGap ? 9 : isRegistered ? 5 : 2;
        ASSERT_EQ(out[i], isRegistered ? 2 * copied + 1 : copied) << i;
        ASSERT_EQ(host[i], isRegistered ? 9u : 4u) << i;
      }
      for (uint32_t *each : {host.data(), out.data()})
        gpuasync_host_unregister(frame, each + registered, SITE("unregister"));
      frame.dealloc(stream, x);
    }
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, gate);
}

// M08, B06: memory in several registrations is registered as far as any of them
// says, so the device reads it when the stream gets there.
TEST_P(Memory, RegistrationsThatOverlap_B06_M08) {
  constexpr uint32_t count = 4096;
  const uint64_t bytes = 4 * count;
  uint32_t *gate = nullptr;
  {
    FrameScope frame(*program);
    gate = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  }
  for (bool largestFirst : {true, false}) {
    if (!largestFirst && !onCpu())
      continue; // see Registration.LargerThanOneThereIs_M08
    SCOPED_TRACE(largestFirst);
    std::vector<uint32_t> host(count, 2), out(count, 9);
    const std::pair<uint32_t *, uint64_t> parts[] = {
        {host.data(), bytes},
        {host.data(), 64},
        {host.data() + 32, 64},
        {host.data() + 40, bytes - 160}};
    *gate = 0;
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, count);
    auto add = [&](auto &part) {
      gpuasync_host_register(frame, part.first, part.second, SITE("register"));
    };
    for (int i = 0; i < 4; ++i)
      add(parts[largestFirst ? i : 3 - i]);
    frame.launch(stream, Gate, 1, 1, GateParams{gate});
    frame.launch(stream, Store, count / 32, 32, StoreParams{host.data(), 7});
    // The nearest of two registrations, or three, is too short.
    for (uint32_t from : {0u, 33u, 60u})
      frame.copy(stream, x + from, host.data() + from, 4 * (count - from));
    frame.copy(stream, out.data(), x, bytes);
    openGate(gate);
    ASSERT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(out, std::vector<uint32_t>(count, 7));
    for (auto &part : parts)
      gpuasync_host_unregister(frame, part.first, SITE("unregister"));
    frame.dealloc(stream, x);
    EXPECT_FALSE(frame.failed());
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, gate);
  EXPECT_EQ(leakText(context), "");
}

// B06: work on memory that was just registered runs after an earlier copy into
// it, though the host writes that copy.
TEST_P(Memory, RegistrationBehindADownload_B06_M08) {
  for (const char *how : {"copy", "fill", "kernel", "read"}) {
    SCOPED_TRACE(how);
    std::vector<uint32_t> host(1024, 1), out(64);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64), *y = frame.alloc(stream, 64);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 10});
    frame.launch(stream, Store, 1, 64, StoreParams{y, 11});
    frame.copy(stream, host.data(), x, 256);
    gpuasync_host_register(frame, host.data(), 256, SITE("register"));
    const uint32_t value = 11;
    if (*how == 'c')
      frame.copy(stream, host.data(), y, 256);
    else if (*how == 'f')
      gpuasync_memset(frame, stream, host.data(), &value, 4, 64, SITE("fill"));
    else if (*how == 'k')
      frame.launch(stream, Store, 1, 64, StoreParams{host.data(), 11});
    else
      frame.copy(stream, y, host.data(), 256);
    frame.copy(stream, out.data(), y, 256);
    ASSERT_EQ(frame.wait({stream}), 0);
    const bool reads = *how == 'r';
    EXPECT_EQ(host[0], reads ? 10u : 11u);
    EXPECT_EQ(out, std::vector<uint32_t>(64, reads ? 10 : 11));
    gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
    frame.dealloc(stream, x);
    frame.dealloc(stream, y);
  }
}

// M08: what only another context has registered is pageable, whether that
// context still counts on it or has yet to tell the driver of the end.
TEST_P(Memory, AnotherContextsRegistration_M08) {
  Context other;
  ASSERT_TRUE(Context::open(device().c_str(), other).ok());
  std::vector<uint32_t> host(1024, 5);
  uint32_t *gates[2] = {};
  {
    FrameScope frame(*program);
    gates[0] = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *gates[0] = 0;
    ContextScope inner(other);
    FrameScope its(*program);
    gates[1] = its.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *gates[1] = 0;
  }
  FrameScope busy(*program);
  gpuasync_stream *held = busy.stream();
  busy.launch(held, Gate, 1, 1, GateParams{gates[0]});
  for (bool ended : {false, true}) {
    {
      FrameScope frame(*program);
      if (!ended)
        gpuasync_host_register(frame, host.data(), 256, SITE("register"));
      else
        gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
    }
    for (uint32_t count : {64u, 128u}) {
      SCOPED_TRACE(count);
      ContextScope inner(other);
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, count);
      std::vector<uint32_t> out(count);
      std::fill(host.begin(), host.end(), 5);
      *gates[1] = 0;
      frame.launch(stream, Gate, 1, 1, GateParams{gates[1]});
      frame.copy(stream, x, host.data(), 4 * count);
      std::fill(host.begin(), host.end(), 6); // it has been read
      frame.copy(stream, out.data(), x, 4 * count);
      openGate(gates[1]);
      ASSERT_EQ(frame.wait({stream}), 0);
      EXPECT_EQ(out, std::vector<uint32_t>(count, 5)) << ended;
      frame.dealloc(stream, x);
    }
  }
  openGate(gates[0]);
  EXPECT_EQ(busy.wait({held}), 0);
  busy.dealloc(nullptr, gates[0]);
  {
    ContextScope inner(other);
    FrameScope frame(*program);
    frame.dealloc(nullptr, gates[1]);
  }
  EXPECT_TRUE(busy.leave().ok());
  program.reset();
  EXPECT_TRUE(other.close().ok());
}

// M08: of two registrations of one place the larger one ends on its own.
TEST_P(Memory, LargerRegistrationEnds_M08) {
  std::vector<uint32_t> host(4096, 2);
  FrameScope frame(*program);
  {
    FrameScope inner(*program);
    gpuasync_host_register(inner, host.data(), 16384, SITE("register"));
    gpuasync_host_register(frame, host.data(), 64, SITE("register"));
    gpuasync_host_unregister(inner, host.data(), SITE("unregister"));
    EXPECT_FALSE(inner.failed());
  }
  EXPECT_NE(leakText(context).find("registration of 64 bytes"),
            std::string::npos)
      << leakText(context);
  gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
  EXPECT_FALSE(frame.failed());
  EXPECT_EQ(leakText(context), "");
}

// E03, M08: a frame that fails gives back its own registrations, not those of
// others, whoever came first.
TEST_P(Memory, FailedFrameKeepsOthersRegistrations_E03_M08) {
  std::vector<uint32_t> host(4096, 2);
  auto add = [&](gpuasync_frame *frame) {
    gpuasync_host_register(frame, host.data(), 16384, SITE("register"));
  };
  for (bool failingFirst : {true, false}) {
    SCOPED_TRACE(failingFirst);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    {
      FrameScope inner(*program);
      if (!failingFirst)
        add(frame);
      add(inner);
      add(inner);
      if (failingFirst)
        add(frame);
      gpuasync_dealloc(inner, 0, nullptr, &stream, SITE("dealloc"));
      EXPECT_FALSE(inner.leave().ok());
    }
    EXPECT_NE(leakText(context), "");
    frame.launch(stream, MulAdd, 16, 256,
                 MulAddParams{host.data(), 4096, 1, 1});
    frame.wait({stream});
    gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
    EXPECT_FALSE(frame.failed());
    frame.destroy(stream);
    EXPECT_EQ(leakText(context), "");
  }
  EXPECT_EQ(host[4095], 4u);
}

// M03: foreign pointers and double frees are located errors.
TEST_P(Memory, WrongFrees_M03) {
  int local = 0;
  {
    FrameScope frame(*program);
    frame.dealloc(nullptr, &local);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    EXPECT_NE(std::string(status.message()).find("dealloc: "),
              std::string::npos);
  }
  {
    FrameScope frame(*program);
    auto *x = frame.alloc(nullptr, 64);
    frame.dealloc(nullptr, x + 1); // not its beginning
    EXPECT_FALSE(frame.leave().ok());
  }
  if (onCpu()) { // a pool may have handed the address out again elsewhere
    FrameScope frame(*program);
    auto *x = frame.alloc(nullptr, 64);
    frame.dealloc(nullptr, x);
    frame.dealloc(nullptr, x);
    EXPECT_FALSE(frame.leave().ok());
  }
  EXPECT_EQ(readStats(context).buffers.live, 0u);
}

// M03: memory of no stream freed on one, and the reverse, the free ordered on
// the stream that frees, from another thread too.
TEST_P(Memory, FreesOfEachKind_M03) {
  for (uint32_t flags : {0u, uint32_t(GPUASYNC_ALLOC_HOST_SHARED)}) {
    std::vector<uint32_t> out(64);
    uint32_t *flag = nullptr, *x = nullptr, *y = nullptr;
    {
      FrameScope frame(*program);
      flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
      *flag = 0;
      gpuasync_stream *a = frame.stream(), *b = frame.stream();
      x = frame.alloc(nullptr, 64, flags);
      y = frame.alloc(a, 64, flags);
      frame.launch(a, Gate, 1, 1, GateParams{flag});
      frame.launch(a, Store, 1, 64, StoreParams{x, 7});
      frame.launch(a, AddUp, 1, 64, AddUpParams{y, x, 64, 1});
      frame.copy(a, out.data(), y, 256);
      // Behind its use, on the stream that did not allocate it.
      frame.waitEvent(b, frame.record(a));
      frame.dealloc(b, x);
      uint32_t *reused = frame.alloc(b, 64, flags);
      frame.launch(b, Store, 1, 64, StoreParams{reused, 99});
      ASSERT_FALSE(frame.failed());
      openGate(flag);
      ASSERT_EQ(frame.wait({a, b}), 0);
      frame.dealloc(b, reused);
    }
    EXPECT_EQ(out, std::vector<uint32_t>(64, 8));
    std::thread([&] {
      ContextScope own(context);
      FrameScope frame(*program);
      frame.dealloc(nullptr, y);
      frame.dealloc(nullptr, flag);
    }).join();
    EXPECT_EQ(readStats(context).buffers.live, 0u);
  }
}

TEST_P(Memory, CopyBeyondABuffer) {
  std::vector<uint32_t> host(200);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, 100);
  frame.copy(stream, x + 50, host.data(), 204);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_NE(std::string(status.message()).find("exceeds its buffer"),
            std::string::npos);
}

// M04: out of memory names the sizes and leaves the context usable.
TEST_P(Memory, OutOfMemory_M04) {
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    frame.alloc(stream, 1024);
    frame.alloc<char>(stream, 1ull << 46);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_OUT_OF_MEMORY));
    EXPECT_NE(std::string(status.message()).find("70368744177664 bytes"),
              std::string::npos)
        << status.message();
  }
  EXPECT_EQ(readStats(context).buffers.live, 0u);
  FrameScope frame(*program);
  uint32_t *x = frame.alloc(nullptr, 1024);
  EXPECT_NE(x, nullptr);
  frame.dealloc(nullptr, x);
}

// M06: of a size class at most a quarter is rounding
// (docs/reference/Runtime.md), of what the driver's pool gives nothing.
TEST_P(Memory, RoundingIsBounded_M06) {
  std::mt19937 random(5);
  FrameScope frame(*program);
  for (uint32_t flags : {0u, uint32_t(GPUASYNC_ALLOC_HOST_SHARED)}) {
    std::vector<uint32_t *> all;
    for (int i = 0; i < 50; ++i) {
      uint64_t words = (9 << 10) + random() % (200 << 10); // no slab's pieces
      uint64_t before = readStats(context).deviceBytes;
      all.push_back(frame.alloc(nullptr, words, flags));
      uint64_t took = readStats(context).deviceBytes - before;
      EXPECT_GE(took, 4 * words);
      EXPECT_LE(took, 5 * words);
    }
    for (uint32_t *x : all)
      frame.dealloc(nullptr, x);
  }
}

// M04, M05, M07: idle memory goes back on demand, and of that context only.
TEST_P(Memory, TrimGivesBackIdleMemory_M05_M07) {
  Context other;
  Status status = Context::open(device().c_str(), other);
  ASSERT_TRUE(status.ok()) << status.message();
  uint32_t *kept = nullptr;
  for (const Context *each : {&context, &other}) {
    ContextScope inner(*each);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    std::vector<uint32_t *> all;
    for (uint32_t i = 0; i < 4; ++i) {
      all.push_back(
          frame.alloc(stream, 100000 << i, GPUASYNC_ALLOC_HOST_SHARED));
      frame.launch(stream, Store, 1, 64, StoreParams{all.back(), i});
    }
    for (uint32_t *x : all)
      frame.dealloc(stream, x);
    kept = frame.alloc(stream, 100000, GPUASYNC_ALLOC_HOST_SHARED);
    frame.launch(stream, Store, 1, 64, StoreParams{kept, 5});
    ASSERT_EQ(frame.wait({stream}), 0);
    frame.destroy(stream);
    if (each == &context)
      frame.dealloc(nullptr, kept);
  }
  uint64_t before = readStats(context).deviceBytes,
           others = readStats(other).deviceBytes;
  EXPECT_GE(before, 4 * 1500000u);
  status = context.trim();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_LE(readStats(context).deviceBytes, before - 4 * 1500000u);
  EXPECT_EQ(readStats(other).deviceBytes, others);
  EXPECT_EQ(kept[63], 5u);
  {
    ContextScope inner(other);
    FrameScope frame(*program);
    frame.dealloc(nullptr, kept);
  }
  status = other.close();
  EXPECT_TRUE(status.ok()) << status.message();
}

// M06: zero bytes are valid and distinct.
TEST_P(Memory, ZeroBytes_M06) {
  FrameScope frame(*program);
  void *a = frame.alloc(nullptr, 0), *b = frame.alloc(nullptr, 0);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(a, b);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 256, 0u);
  frame.dealloc(nullptr, a);
  frame.dealloc(nullptr, b);
}

// Buffers that the program never freed are listed with their op and reclaimed;
// that is no error, also after the program itself is gone.
TEST_P(Memory, LeaksAreListed) {
  {
    FrameScope frame(*program);
    frame.alloc(nullptr, 1000);
  }
  EXPECT_NE(leakText(context).find("alloc: 4000 bytes never freed"),
            std::string::npos);
  program.reset();
  EXPECT_NE(leakText(context).find("test.mlir:"), std::string::npos);
  Status status = context.close();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_NE(leakText(context).find("alloc: 4000 bytes never freed"),
            std::string::npos);
}

// M05: a repeated shape reaches a steady state.
TEST_P(Memory, SteadyState_M05) {
  uint64_t after10 = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<uint32_t> host(100000, 1);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 100000), *y = frame.alloc(b, 391 * 256);
    frame.copy(a, x, host.data(), 400000);
    frame.launch(b, Store, 391, 256, StoreParams{y, 1});
    frame.copy(a, host.data(), x, 400000);
    frame.dealloc(a, x);
    frame.dealloc(b, y);
    frame.wait({a, b});
    frame.destroy(a);
    frame.destroy(b);
    if (i == 10)
      after10 = readStats(context).deviceBytes;
  }
  EXPECT_EQ(readStats(context).deviceBytes, after10);
}

} // namespace

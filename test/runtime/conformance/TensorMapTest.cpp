//===- TensorMapTest.cpp - Tensors as copies of boxes see them ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor map is encoded on the host and passed by value; devices that have
// none say so. What copies make of one is tested by test/Integration/tma-*.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// A tensor of f32 and the box of a copy.
struct Tensor {
  std::vector<int64_t> sizes, strides, box;
  gpuasync_tensor_format format = {7, 2, 0, 0, 0, 0};

  static Tensor matrix() { return {{64, 48}, {48, 1}, {8, 16}}; }
};

struct alignas(64) Map {
  uint64_t words[16] = {};
};

void encode(gpuasync_frame *frame, Map &map, void *base, const Tensor &tensor) {
  gpuasync_tensor_map_encode(frame, 0, &map, base, tensor.sizes.data(),
                             tensor.strides.data(),
                             static_cast<uint32_t>(tensor.sizes.size()),
                             tensor.box.data(), &tensor.format, SITE("tma"));
}

class TensorMaps : public DeviceTest {
protected:
  /// From sm_90 on; the fake library is one.
  bool hasThem() const {
    if (device() != "cuda")
      return false;
    if (mock)
      return true;
    bool found = false;
    gpuasync_device_list(
        [](void *user, const char *name, const char *, const char *arch,
           uint64_t, const char *) {
          bool *result = static_cast<bool *>(user);
          if (!strncmp(name, "cuda", 4) && arch && atoi(arch + 3) >= 90)
            *result = true;
        },
        &found);
    return found;
  }
  /// Encodes in a frame of its own and returns its error.
  Status fails(const Tensor &tensor, int64_t misalignment = 0) {
    FrameScope frame(*program);
    Map map;
    char *x = frame.alloc<char>(nullptr, 1 << 16);
    encode(frame, map, x + misalignment, tensor);
    frame.dealloc(nullptr, x);
    return frame.leave();
  }
};
INSTANTIATE_OVER_DEVICES(TensorMaps);

TEST_P(TensorMaps, KernelSeesWhatTheHostEncoded) {
  if (!hasThem())
    GTEST_SKIP() << "no tensor maps";
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  void *x = frame.alloc(stream, 64 * 48);
  int64_t *out = frame.alloc<int64_t>(stream, 16);
  Map map, seen;
  encode(frame, map, x, Tensor::matrix());
  ReadMapParams params = {};
  params.out = out;
  memcpy(params.map, map.words, sizeof(map));
  frame.launch(stream, ReadMap, 1, 1, params);
  frame.copy(stream, seen.words, out, sizeof(seen));
  frame.dealloc(stream, x);
  frame.dealloc(stream, out);
  ASSERT_EQ(frame.wait({stream}), 0);
  EXPECT_EQ(memcmp(map.words, seen.words, sizeof(map)), 0);
  EXPECT_NE(map.words[0], 0u);
}

/// A parameter of 128 bytes aligned to 64 behind one of 8, whatever is in it.
TEST_P(TensorMaps, LargeParametersAreAlignedTo64) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  int64_t *out = frame.alloc<int64_t>(stream, 16);
  int64_t seen[16] = {};
  ReadMapParams params = {};
  params.out = out;
  for (int i = 0; i < 16; ++i)
    params.map[i] = 1000 + 7 * i;
  frame.launch(stream, ReadMap, 1, 1, params);
  frame.copy(stream, seen, out, sizeof(seen));
  frame.dealloc(stream, out);
  ASSERT_EQ(frame.wait({stream}), 0);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(seen[i], 1000 + 7 * i);
}

/// One vendor call, no matter what runs.
TEST_P(TensorMaps, EncodingDoesNotBlock_B01) {
  if (!hasThem())
    GTEST_SKIP() << "no tensor maps";
  uint64_t buffers = readStats(context).buffers.live;
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  void *x = frame.alloc(stream, 64 * 48);
  *flag = 0;
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  uint64_t calls = mock ? mock->mock_calls(nullptr) : 0;
  Map map;
  for (int i = 0; i < 100; ++i)
    encode(frame, map, x, Tensor::matrix());
  if (mock)
    EXPECT_EQ(mock->mock_calls(nullptr) - calls, 100u);
  EXPECT_FALSE(frame.failed());
  EXPECT_EQ(readStats(context).buffers.live, buffers + 2);
  openGate(flag);
  frame.dealloc(stream, x);
  ASSERT_EQ(frame.wait({stream}), 0);
  frame.dealloc(nullptr, flag);
}

/// The fake library writes down what it is told: innermost dimension first,
/// strides in bytes.
TEST_P(TensorMaps, AllRanks) {
  if (!hasThem())
    GTEST_SKIP() << "no tensor maps";
  for (uint32_t rank = 1; rank <= 5; ++rank) {
    Tensor tensor;
    int64_t stride = 1;
    for (uint32_t i = 0; i < rank; ++i) {
      tensor.sizes.insert(tensor.sizes.begin(), 8 + 4 * i);
      tensor.strides.insert(tensor.strides.begin(), stride);
      tensor.box.insert(tensor.box.begin(), 4 + i);
      stride *= 8 + 4 * i;
    }
    tensor.format = {7, rank, 0, 0, 2, 1};
    FrameScope frame(*program);
    char *x = frame.alloc<char>(nullptr, 4 * static_cast<uint64_t>(stride));
    Map map;
    encode(frame, map, x, tensor);
    ASSERT_FALSE(frame.failed()) << rank;
    if (mock) {
      EXPECT_EQ(map.words[0], reinterpret_cast<uintptr_t>(x));
      EXPECT_EQ(map.words[2], rank);
      uint64_t bytes = 4;
      for (uint32_t i = 0; i < rank; ++i) {
        EXPECT_EQ(map.words[3 + i], 8 + 4 * i);
        bytes *= 8 + 4 * i;
        EXPECT_EQ(map.words[8 + i],
                  uint64_t(4 + i) << 40 | (i + 1 < rank ? bytes : 0));
      }
      EXPECT_EQ(map.words[14], 2u);
      EXPECT_EQ(map.words[15], 1u);
    }
    frame.dealloc(nullptr, x);
  }
}

TEST_P(TensorMaps, OtherDevicesRefuseThem) {
  if (hasThem())
    GTEST_SKIP() << "has them";
  Status status = fails(Tensor::matrix());
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
  std::string message = status.message();
  EXPECT_EQ(message.find("test.mlir:"), 0u) << message;
  if (device() != "cuda")
    EXPECT_NE(message.find(": tma: this device has no tensor map descriptors"),
              std::string::npos)
        << message;
}

/// What no device can have is found before one is asked.
TEST_P(TensorMaps, RanksAndBoxesAreChecked) {
  auto expectInvalid = [&](const Tensor &tensor, const char *text) {
    Status status = fails(tensor);
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    EXPECT_NE(strstr(status.message(), text), nullptr) << status.message();
  };
  Tensor tensor = Tensor::matrix();
  tensor.format.boxRank = 3;
  expectInvalid(tensor, "the tensor has 2 dimensions and the box 3");
  tensor = {{8, 8, 8, 8, 8, 8}, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}};
  tensor.format.boxRank = 6;
  expectInvalid(tensor, "the tensor has 6 dimensions");
  tensor = Tensor::matrix();
  tensor.strides = {1, 64};
  expectInvalid(tensor, "the last dimension of the tensor has stride 64");
  for (int64_t size : {int64_t(0), int64_t(257), int64_t(1) << 32 | 8}) {
    tensor = Tensor::matrix();
    tensor.box[0] = size;
    expectInvalid(tensor, "elements in dimension 0: 1 to 256 are possible");
  }
  tensor = Tensor::matrix();
  tensor.sizes[0] = -64;
  expectInvalid(tensor, "the tensor has -64 elements in dimension 0");
  for (int64_t stride : {int64_t(-48), int64_t(1) << 62}) {
    tensor = Tensor::matrix();
    tensor.strides[0] = stride;
    expectInvalid(tensor, "dimension 0 of the tensor has a stride of");
  }
  tensor = Tensor::matrix();
  tensor.format.elementType = 13;
  expectInvalid(tensor, "unknown element type 13");
}

/// The vendor says "invalid argument"; we say what the rules are.
TEST_P(TensorMaps, VendorErrorsSayWhatWasAsked_E01) {
  if (!hasThem())
    GTEST_SKIP() << "no tensor maps";
  Tensor odd = Tensor::matrix();
  odd.strides[0] = 50;
  for (bool misaligned : {false, true}) {
    Status status =
        misaligned ? fails(Tensor::matrix(), /*misalignment=*/4) : fails(odd);
    std::string message = status.message();
    EXPECT_EQ(message.find("test.mlir:"), 0u) << message;
    for (const char *text :
         {": tma: cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE (1)",
          "a tensor of 64 x 48 elements",
          "a box of 8 x 16:", "must be multiples of 16 bytes"})
      EXPECT_NE(message.find(text), std::string::npos) << message;
    EXPECT_NE(message.find(misaligned ? "strides of (192) bytes"
                                      : "strides of (200) bytes"),
              std::string::npos)
        << message;
  }
}

TEST_P(TensorMaps, AFailedFrameEncodesNothing) {
  FrameScope frame(*program);
  Map map;
  void *base = frame.alloc(nullptr, 64);
  Tensor tensor = Tensor::matrix();
  tensor.box[0] = 0;
  encode(frame, map, base, tensor);
  EXPECT_TRUE(frame.failed());
  uint64_t calls = mock ? mock->mock_calls(nullptr) : 0;
  encode(frame, map, base, Tensor::matrix());
  if (mock)
    EXPECT_EQ(mock->mock_calls(nullptr), calls);
  EXPECT_EQ(map.words[0], 0u);
  EXPECT_NE(strstr(frame.leave().message(), "the box has 0 elements"), nullptr);
}

} // namespace

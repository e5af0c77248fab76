//===- ResidentTest.cpp - Copies that stay, where the driver fails --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Out of memory at an upload, and an upload that fails.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "gpuasync/Memory.h"

#include <stdlib.h>
#include <string.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class ResidentOnMock : public DeviceTest {
protected:
  std::string allocation() const {
    const char *variant = getenv("GPUASYNC_MOCK");
    if (variant && strstr(variant, "pools=0"))
      return device() == "cuda" ? "cuMemAlloc" : "hipMalloc";
    return device() == "cuda" ? "cuMemAllocFromPoolAsync"
                              : "hipMallocFromPoolAsync";
  }
  int outOfMemory() const { return 2; } // of both vendors
  void *find(FrameScope &frame) {
    return gpuasync_resident(frame, 0, data.data(), data.size() * 4,
                             SITE("resident"));
  }
  std::vector<uint32_t> data = std::vector<uint32_t>(1 << 20, 3);
};
INSTANTIATE_OVER_DEVICES(ResidentOnMock);

// Once more, after idle memory is given back; then the error is the frame's,
// and the next call tries anew.
TEST_P(ResidentOnMock, OutOfMemory_M04_M10) {
  mock->mock_fail(allocation().c_str(), 1, outOfMemory());
  {
    FrameScope frame(*program);
    EXPECT_NE(find(frame), nullptr);
  }
  EXPECT_NE(mock->mock_failed(), nullptr);
  EXPECT_EQ(readStats(context).residentUploads, 1u);
  FrameScope frame(*program);
  constexpr uint64_t tooMuch = uint64_t(1) << 50;
  EXPECT_EQ(gpuasync_resident(frame, 0, data.data(), tooMuch, SITE("resident")),
            nullptr);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_OUT_OF_MEMORY));
  EXPECT_NE(std::string(status.message())
                .find(std::to_string(tooMuch) + " bytes asked for"),
            std::string::npos)
      << status.message();
}

// What a frame has found stays while it is open, though it was given up since
// and another upload looks for room.
TEST_P(ResidentOnMock, GivenUpInAnOpenFrame_M10) {
  auto findTooMuch = [&](FrameScope &frame) {
    return gpuasync_resident(frame, 0, data.data(), uint64_t(1) << 50,
                             SITE("resident"));
  };
  {
    FrameScope frame(*program);
    EXPECT_NE(find(frame), nullptr);
  }
  {
    // What idles goes.
    FrameScope frame(*program);
    EXPECT_EQ(findTooMuch(frame), nullptr);
    EXPECT_FALSE(frame.leave().ok());
  }
  FrameScope frame(*program);
  EXPECT_NE(find(frame), nullptr);
  gpuasync_host_memory_changed(data.data(), 4);
  uint64_t held = readStats(context).deviceBytes;
  EXPECT_GE(held, data.size() * 4);
  EXPECT_EQ(findTooMuch(frame), nullptr);
  EXPECT_EQ(readStats(context).deviceBytes, held);
  EXPECT_FALSE(frame.leave().ok());
}

// An upload that fails leaves nothing behind.
TEST_P(ResidentOnMock, FailedUpload_M10) {
  std::string copy = device() == "cuda" ? "cuMemcpyAsync" : "hipMemcpyAsync";
  mock->mock_fail(copy.c_str(), 1, /*CUDA_ERROR_INVALID_VALUE=*/1);
  {
    FrameScope frame(*program);
    EXPECT_EQ(find(frame), nullptr);
    EXPECT_FALSE(frame.leave().ok());
  }
  EXPECT_NE(mock->mock_failed(), nullptr);
  FrameScope frame(*program);
  EXPECT_NE(find(frame), nullptr);
  EXPECT_EQ(readStats(context).residentUploads, 1u);
}

} // namespace

//===- CudaAdoptTest.cpp - Contexts of the embedder's, on a GPU -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A context made by cuCtxCreate serves ours beside the primary one, and may go
// away at the wrong time; skipped without a GPU. The fake library has the rest.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <dlfcn.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

void *find(const char *name) {
  static void *library = dlopen("libcuda.so.1", RTLD_NOW);
  return library ? dlsym(library, name) : nullptr;
}

class CudaAdopt : public testing::Test {
protected:
  void SetUp() override {
    Context primary;
    Status status = Context::open("cuda", primary);
    if (status.code() == GPUASYNC_UNAVAILABLE)
      GTEST_SKIP() << status.message();
    auto create = reinterpret_cast<int (*)(void **, unsigned, int)>(
        find("cuCtxCreate_v2"));
    ASSERT_EQ(create(&native, 0, 0), 0);
    status = Context::adopt("cuda", native, context);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void *current() {
    void *context = nullptr;
    EXPECT_EQ(
        reinterpret_cast<int (*)(void **)>(find("cuCtxGetCurrent"))(&context),
        0);
    return context;
  }
  void destroy() {
    EXPECT_EQ(
        reinterpret_cast<int (*)(void *)>(find("cuCtxDestroy_v2"))(native), 0);
  }
  Status work(const Context &where) {
    ContextScope scope(where);
    std::vector<uint32_t> data(64, 5);
    FrameScope frame(program);
    if (frame.entered) {
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, 64);
      frame.copy(stream, x, data.data(), 256);
      frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
      frame.copy(stream, data.data(), x, 256);
      frame.wait({stream});
      frame.dealloc(stream, x);
      frame.destroy(stream);
    }
    Status status = frame.leave();
    if (status.ok())
      EXPECT_EQ(data, std::vector<uint32_t>(64, 16));
    return status;
  }
  void *native = nullptr;
  Context context;
  TestProgram program;
};

TEST_F(CudaAdopt, BesideThePrimaryContext_X05) {
  Context primary;
  ASSERT_TRUE(Context::open("cuda", primary).ok());
  for (int i = 0; i < 100; ++i)
    for (const Context *where : {&context, &primary}) {
      Status status = work(*where);
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(current(), native);
    }
  for (Context *each : {&context, &primary}) {
    Status status = each->close();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(current(), native);
  destroy();
}

TEST_F(CudaAdopt, DestroyedTooEarly_X06) {
  Status status = work(context);
  EXPECT_TRUE(status.ok()) << status.message();
  destroy();
  for (int i = 0; i < 2; ++i) {
    status = work(context);
    EXPECT_EQ(status.code(), GPUASYNC_DEVICE_LOST) << status.message();
    EXPECT_NE(std::string(status.message()).find("was destroyed before"),
              std::string::npos)
        << status.message();
  }
  (void)context.close();
  Context primary;
  ASSERT_TRUE(Context::open("cuda", primary).ok());
  status = work(primary);
  EXPECT_TRUE(status.ok()) << status.message();
  status = primary.close();
  EXPECT_TRUE(status.ok()) << status.message();
}

} // namespace

//===- BlasTest.cpp - Products of libgpuasync_blas.so ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In all layouts, over fake vendor libraries and over the CBLAS that there is,
// compared with the sums themselves: small whole numbers, so exactly.
//===----------------------------------------------------------------------===//

#include "gpuasync/Blas.h"
#include "blas/FakeBlasLt.h"
#include "gpuasync/Context.h"
#include "gpuasync/Status.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

using gpuasync::Status;

namespace {

std::string reported;
void keep(const gpuasync_call *, const char *text) { reported = text; }

FakeBlasLt &fakeOf(const std::string &driver) {
  const char *path = getenv(driver == "cuda" ? "GPU_ASYNC_CUBLASLT_LIBRARY"
                                             : "GPU_ASYNC_HIPBLASLT_LIBRARY");
  void *library = dlopen(path, RTLD_NOW);
  return *static_cast<FakeBlasLt *>(dlsym(library, "fake_blaslt"));
}

template <typename T>
struct Matrices {
  int64_t batch, rows, columns;
  bool byRows;
  int64_t leading, batchStride;
  std::vector<T> data;

  Matrices(int64_t batch, int64_t rows, int64_t columns, bool byRows)
      : batch(batch), rows(rows), columns(columns), byRows(byRows),
        leading((byRows ? columns : rows) + 3),
        batchStride(leading * (byRows ? rows : columns) + 5),
        data(static_cast<size_t>(batch * batchStride + 8)) {
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<T>(static_cast<int>(i * 7 % 5) - 2);
  }
  int64_t rowStride() const { return byRows ? leading : 1; }
  int64_t columnStride() const { return byRows ? 1 : leading; }
  T &at(int64_t i, int64_t row, int64_t column) {
    return data[static_cast<size_t>(4 + i * batchStride + row * rowStride() +
                                    column * columnStride())];
  }
};

#define ONE(x)                                                                 \
  x.data.data(), x.data.data(), 4, x.rows, x.columns, x.rowStride(),           \
      x.columnStride()
#define SEVERAL(x)                                                             \
  x.data.data(), x.data.data(), 4, x.batch, x.rows, x.columns, x.batchStride,  \
      x.rowStride(), x.columnStride()
#define WORKSPACE nullptr, nullptr, 0, 0, 1

int32_t call(const gpuasync_call &call, Matrices<float> &a, Matrices<float> &b,
             Matrices<float> &c, int32_t adds) {
  return a.batch == 1
             ? gpuasync_blas_matmul_f32(&call, ONE(a), ONE(b), ONE(c),
                                        WORKSPACE, adds)
             : gpuasync_blas_batch_matmul_f32(&call, SEVERAL(a), SEVERAL(b),
                                              SEVERAL(c), WORKSPACE, adds);
}
int32_t call(const gpuasync_call &call, Matrices<double> &a,
             Matrices<double> &b, Matrices<double> &c, int32_t adds) {
  return a.batch == 1
             ? gpuasync_blas_matmul_f64(&call, ONE(a), ONE(b), ONE(c),
                                        WORKSPACE, adds)
             : gpuasync_blas_batch_matmul_f64(&call, SEVERAL(a), SEVERAL(b),
                                              SEVERAL(c), WORKSPACE, adds);
}
int32_t call(const gpuasync_call &call, Matrices<_Float16> &a,
             Matrices<_Float16> &b, Matrices<_Float16> &c, int32_t adds) {
  return a.batch == 1
             ? gpuasync_blas_matmul_f16(&call, ONE(a), ONE(b), ONE(c),
                                        WORKSPACE, adds)
             : gpuasync_blas_batch_matmul_f16(&call, SEVERAL(a), SEVERAL(b),
                                              SEVERAL(c), WORKSPACE, adds);
}

class Blas : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    reported.clear();
    isCpu = !strcmp(GetParam(), "cpu");
    device.structSize = sizeof(device);
    device.driver = GetParam();
    device.ordinal = 0;
    device.flags = 0;
    device.report = keep;
    device.stream = this; // passed on as it is
    const char *why = gpuasync_blas_why_not(GetParam());
    if (why && isCpu)
      GTEST_SKIP() << why;
    ASSERT_EQ(why, nullptr) << why;
    if (!isCpu) {
      fakeOf(GetParam()).failing = 0;
      return;
    }
    ASSERT_TRUE(gpuasync::Context::open("cpu", context).ok());
    gpuasync_stream *stream = nullptr;
    ASSERT_TRUE(
        Status(gpuasync_context_stream_create(context.get(), &stream)).ok());
    device.stream = stream;
  }
  void TearDown() override {
    if (context.get())
      gpuasync_context_stream_destroy(
          static_cast<gpuasync_stream *>(device.stream));
  }
  void finish() {
    if (!isCpu)
      return;
    Status status(gpuasync_context_stream_synchronize(
        static_cast<gpuasync_stream *>(device.stream)));
    EXPECT_TRUE(status.ok()) << status.message();
  }

  template <typename T>
  void multiply(int64_t batch, int64_t m, int64_t n, int64_t k, int layouts,
                bool adds) {
    Matrices<T> a(batch, m, k, layouts & 1), b(batch, k, n, layouts & 2),
        c(batch, m, n, layouts & 4), expected = c;
    for (int64_t i = 0; i < batch; ++i)
      for (int64_t row = 0; row < m; ++row)
        for (int64_t column = 0; column < n; ++column) {
          T &to = expected.at(i, row, column);
          float sum = adds ? static_cast<float>(to) : 0;
          for (int64_t inner = 0; inner < k; ++inner)
            sum += static_cast<float>(a.at(i, row, inner)) *
                   static_cast<float>(b.at(i, inner, column));
          to = static_cast<T>(sum);
        }
    ASSERT_EQ(call(device, a, b, c, adds), 0) << reported;
    finish();
    EXPECT_TRUE(c.data == expected.data)
        << batch << " x " << m << " x " << n << " x " << k << ", layouts "
        << layouts << (adds ? ", added" : "");
  }

  bool isCpu = false;
  gpuasync_call device;
  gpuasync::Context context;
};
INSTANTIATE_TEST_SUITE_P(Drivers, Blas, testing::Values("cuda", "hip", "cpu"),
                         [](auto &info) { return std::string(info.param); });

// Rows and columns in each of the three, with gaps between them, batches, and
// sizes of 1, whose strides say nothing.
TEST_P(Blas, EachLayout) {
  const int64_t sizes[][4] = {{1, 5, 3, 4}, {1, 4, 7, 2},   {3, 2, 5, 6},
                              {1, 1, 6, 5}, {1, 6, 1, 5},   {1, 3, 4, 1},
                              {2, 1, 1, 1}, {1, 16, 16, 16}};
  for (auto &[batch, m, n, k] : sizes)
    for (int layouts = 0; layouts < 8; ++layouts)
      for (bool adds : {false, true}) {
        multiply<float>(batch, m, n, k, layouts, adds);
        multiply<double>(batch, m, n, k, layouts, adds);
        if (!isCpu)
          multiply<_Float16>(batch, m, n, k, layouts, adds);
      }
  if (!isCpu) {
    EXPECT_EQ(fakeOf(GetParam()).stream, this);
    EXPECT_EQ(fakeOf(GetParam()).live, 0);
    EXPECT_EQ(fakeOf(GetParam()).created, 1);
  }
}

TEST_P(Blas, WhatIsWrongIsSaid) {
  auto expect = [&](Matrices<float> a, Matrices<float> b, Matrices<float> c,
                    const char *text) {
    EXPECT_EQ(call(device, a, b, c, 0), 1);
    EXPECT_NE(reported.find(text), std::string::npos) << reported;
  };
  using M = Matrices<float>;
  expect(M(1, 2, 3, true), M(1, 4, 5, true), M(1, 2, 5, true),
         "2 x 3 times 4 x 5 is no 2 x 5 matrix");
  expect(M(2, 2, 3, true), M(3, 3, 4, true), M(2, 2, 4, true),
         "batches of 2, 3 and 2 matrices");
  M narrow(1, 3, 4, true);
  narrow.leading = 2;
  expect(M(1, 2, 3, true), narrow, M(1, 2, 4, true),
         "strides of 2 and 1 elements of a 3 x 4 matrix");
  M one(2, 2, 4, true);
  one.batchStride = 0;
  expect(M(2, 2, 3, true), M(2, 3, 4, true), one,
         "all matrices of the result are one");
  if (!isCpu) {
    // There is one of each, and the number of one is all that 32 bits hold.
    M a(1, 2, 3, true), b(1, 3, 4, true), c(1, 2, 4, true);
    a.batch = b.batch = c.batch = (int64_t(1) << 32) + 1;
    expect(a, b, c, "4294967297 matrices are too many");
  }
  // Nothing to do is nothing wrong.
  M empty(1, 0, 4, true), none(1, 0, 3, true), b(1, 3, 4, true);
  EXPECT_EQ(call(device, none, b, empty, 0), 0);
}

// Asked for once a product, not in a capture; each call of the library's may
// fail, and nothing of it is left.
TEST_P(Blas, Algorithms) {
  if (isCpu) {
    Matrices<_Float16> a(1, 2, 2, true);
    EXPECT_EQ(call(device, a, a, a, 0), 1);
    EXPECT_EQ(reported, "CBLAS has products of f32 and f64 only");
    return;
  }
  FakeBlasLt &fake = fakeOf(GetParam());
  Matrices<float> a(1, 9, 8, true), b(1, 8, 7, true), c(1, 9, 7, true);
  device.flags = GPUASYNC_CALL_CAPTURED;
  EXPECT_EQ(call(device, a, b, c, 0), 1);
  EXPECT_NE(reported.find("cannot be done in a capture: call the function once "
                          "before"),
            std::string::npos)
      << reported;
  device.flags = 0;
  for (int64_t failing = 1;; ++failing) {
    ASSERT_LT(failing, 100);
    fake.failing = fake.calls + failing;
    const int64_t last = fake.failing;
    const int32_t result = call(device, a, b, c, 0);
    EXPECT_EQ(fake.live, 0);
    if (fake.calls < last) {
      EXPECT_EQ(result, 0);
      break;
    }
    EXPECT_EQ(result, 1);
    EXPECT_NE(reported.find("status 7"), std::string::npos) << reported;
  }
  fake.failing = 0;
  const int chosen = fake.chosen, multiplied = fake.multiplied;
  device.flags = GPUASYNC_CALL_CAPTURED;
  EXPECT_EQ(call(device, a, b, c, 0), 0);
  EXPECT_EQ(fake.chosen, chosen);
  EXPECT_EQ(fake.multiplied, multiplied + 1);
  device.flags = 0;
  EXPECT_EQ(call(device, a, b, c, 1), 0);
  EXPECT_EQ(fake.chosen, chosen + 1);
  // It is told what the matrices are aligned to, its a being our b.
  if (!strcmp(GetParam(), "cuda")) {
    const float *const first[] = {&b.at(0, 0, 0), &a.at(0, 0, 0),
                                  &c.at(0, 0, 0), &c.at(0, 0, 0)};
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(first[i]) % fake.alignments[i], 0u);
      EXPECT_TRUE(fake.alignments[i] == 256 ||
                  reinterpret_cast<uintptr_t>(first[i]) %
                      (2 * fake.alignments[i]));
    }
  }
  fake.isOut = true;
  Matrices<float> d(1, 9, 7, false);
  EXPECT_EQ(call(device, a, b, d, 0), 1);
  fake.isOut = false;
  EXPECT_NE(reported.find("has no algorithm for this product"),
            std::string::npos)
      << reported;
  EXPECT_EQ(fake.live, 0);
}

// It is asked for by functions of programs, of which there is none here.
TEST(BlasDrivers, OutsideOfFunctions) {
  EXPECT_EQ(gpuasync_blas_has_f16(), 0);
  EXPECT_EQ(gpuasync_blas_has_bf16(), 0);
  EXPECT_EQ(gpuasync_blas_has_f32(), 0);
  EXPECT_EQ(gpuasync_blas_has_f64(), 0);
}

TEST(BlasDrivers, UnknownOne) {
  EXPECT_STREQ(gpuasync_blas_why_not("metal"),
               "no library for the driver 'metal'");
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  char path[4096] = {};
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
    return 1;
  const std::string folder(path,
                           static_cast<size_t>(strrchr(path, '/') - path));
  setenv("GPU_ASYNC_CUBLASLT_LIBRARY",
         (folder + "/libfake_cublaslt.so").c_str(), 1);
  setenv("GPU_ASYNC_HIPBLASLT_LIBRARY",
         (folder + "/libfake_hipblaslt.so").c_str(), 1);
  return RUN_ALL_TESTS();
}

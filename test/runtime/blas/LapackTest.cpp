//===- LapackTest.cpp - LAPACK's functions of libgpuasync_blas.so ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Over functions that the test provides: errors, sizes, order of elements, and
// matrices for which there is no answer. Python/lapack.py compares numbers.
//===----------------------------------------------------------------------===//

#include "gpuasync/Lapack.h"

#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <string.h>
#include <vector>

namespace {

#define ARRAY(x) x.data(), x.data(), 0, static_cast<int64_t>(x.size()), 1
#define NOTHING nullptr, nullptr, 0, 0, 1

/// Returns the diagonal as eigenvalues and the matrix as eigenvectors. A matrix
/// with a 7 in front has no answer.
void fakeSyevd(const char *, const char *uplo, int *n, double *a, int *,
               double *w, double *work, int *lwork, int *iwork, int *liwork,
               int *info, size_t, size_t) {
  *info = 0;
  if (*lwork == -1 || *liwork == -1) {
    work[0] = iwork[0] = 5;
    return;
  }
  for (int i = 0; i < *n; ++i)
    w[i] = *uplo == 'L' ? a[i * *n + i] : -a[i * *n + i];
  *info = a[0] == 7;
}

/// Returns the eigenvalues 1 +- 2i and 3, and vectors whose columns begin with
/// 10, 20 and 30.
void fakeGeev(const char *, const char *, int *n, float *, int *, float *wr,
              float *wi, float *, int *, float *vr, int *, float *work,
              int *lwork, int *info, size_t, size_t) {
  *info = 0;
  work[0] = 1;
  if (*lwork == -1)
    return;
  const float real[] = {1, 1, 3}, imaginary[] = {2, -2, 0};
  for (int j = 0; j < 3; ++j) {
    wr[j] = real[j];
    wi[j] = imaginary[j];
    for (int i = 0; i < *n; ++i)
      vr[j * *n + i] = static_cast<float>(10 * (j + 1) + i);
  }
}

/// Leaves the matrix, and counts the factors.
void fakeGeqrf(int *m, int *n, float *, int *, float *tau, float *work,
               int *lwork, int *info) {
  *info = 0;
  work[0] = 1;
  if (*lwork == -1)
    return;
  for (int i = 0; i < std::min(*m, *n); ++i)
    tau[i] = static_cast<float>(i);
}

class Lapack : public testing::Test {
protected:
  static void SetUpTestSuite() {
    // No library of this machine's is to answer.
    setenv("GPU_ASYNC_LAPACK_LIBRARY", "/not/there.so", 1);
    ASSERT_NE(gpuasync_lapack_why_not(), nullptr);
    unsetenv("GPU_ASYNC_LAPACK_LIBRARY");
    provide("dsyevd", reinterpret_cast<void *>(&fakeSyevd));
    provide("sgeev", reinterpret_cast<void *>(&fakeGeev));
    provide("sgeqrf", reinterpret_cast<void *>(&fakeGeqrf));
  }
  static void provide(const char *name, void *function) {
    ASSERT_EQ(gpuasync_lapack_provide(name, function), 0);
  }
};

TEST_F(Lapack, MissingLibrary) {
  EXPECT_NE(strstr(gpuasync_lapack_why_not(), "/not/there.so"), nullptr);
  EXPECT_NE(strstr(gpuasync_lapack_why_not(), "GPU_ASYNC_LAPACK_LIBRARY names"),
            nullptr);
  std::vector<double> a(4), s(2);
  EXPECT_EQ(gpuasync_lapack_gesdd_f64(ARRAY(a), ARRAY(s), NOTHING, NOTHING, 1,
                                      2, 2, 0, 0),
            GPUASYNC_LAPACK_MISSING);
  EXPECT_NE(gpuasync_lapack_provide(nullptr, nullptr), 0);
}

TEST_F(Lapack, MatricesWithoutAnswerAreNaN) {
  std::vector<double> a = {1, 2, 3, 4, 7, 8, 9, 10, 5, 6, 7, 8}, v(12), w(6);
  ASSERT_EQ(gpuasync_lapack_syevd_f64(ARRAY(a), ARRAY(v), ARRAY(w), 3, 2,
                                      /*lower=*/1),
            0);
  EXPECT_EQ(std::vector<double>(v.begin(), v.begin() + 4),
            std::vector<double>({1, 2, 3, 4}));
  EXPECT_EQ(std::vector<double>(v.begin() + 8, v.end()),
            std::vector<double>({5, 6, 7, 8}));
  EXPECT_EQ(std::vector<double>({w[0], w[1], w[4], w[5]}),
            std::vector<double>({1, 4, 5, 8}));
  for (int i = 4; i < 8; ++i)
    EXPECT_TRUE(std::isnan(v[i])) << i;
  EXPECT_TRUE(std::isnan(w[2]) && std::isnan(w[3]));
  // The other triangle.
  ASSERT_EQ(gpuasync_lapack_syevd_f64(ARRAY(a), ARRAY(v), ARRAY(w), 3, 2, 0),
            0);
  EXPECT_EQ(w[0], -1);
}

TEST_F(Lapack, WrongSizes) {
  std::vector<double> a(4), v(4), w(2), w3(3);
  const int64_t huge = int64_t(1) << 40;
  auto call = [&](std::vector<double> &w, int64_t batch, int64_t n) {
    return gpuasync_lapack_syevd_f64(ARRAY(a), ARRAY(v), ARRAY(w), batch, n, 1);
  };
  EXPECT_EQ(call(w, 1, 2), 0);
  EXPECT_EQ(call(w3, 1, 2), GPUASYNC_LAPACK_WRONG_SIZES);
  EXPECT_EQ(call(w, 2, 2), GPUASYNC_LAPACK_WRONG_SIZES);
  EXPECT_EQ(call(w, 1, huge), GPUASYNC_LAPACK_TOO_LARGE);
  EXPECT_EQ(call(w, huge, 1 << 30), GPUASYNC_LAPACK_TOO_LARGE);
  EXPECT_EQ(call(w, 1, -1), GPUASYNC_LAPACK_TOO_LARGE);
  EXPECT_EQ(gpuasync_lapack_syevd_f64(nullptr, a.data(), 0, 4, /*stride=*/2,
                                      ARRAY(v), ARRAY(w), 1, 2, 1),
            GPUASYNC_LAPACK_WRONG_SIZES);
  std::vector<float> q(6), tau(3);
  // More reflectors than columns, and fewer rows than columns.
  EXPECT_EQ(
      gpuasync_lapack_orgqr_f32(ARRAY(q), ARRAY(tau), ARRAY(q), 1, 3, 2, 3),
      GPUASYNC_LAPACK_WRONG_SIZES);
  tau.resize(2);
  EXPECT_EQ(
      gpuasync_lapack_orgqr_f32(ARRAY(q), ARRAY(tau), ARRAY(q), 1, 2, 3, 2),
      GPUASYNC_LAPACK_WRONG_SIZES);
}

TEST_F(Lapack, ConjugatePairs) {
  using Complex = std::complex<float>;
  std::vector<float> a(9, 1);
  std::vector<Complex> w(3), vr(9);
  auto call = [&] {
    return gpuasync_lapack_geev_f32(ARRAY(a), ARRAY(w), NOTHING, ARRAY(vr), 1,
                                    3, 0, 1);
  };
  ASSERT_EQ(call(), 0);
  EXPECT_EQ(w, std::vector<Complex>({{1, 2}, {1, -2}, {3, 0}}));
  EXPECT_EQ(vr, std::vector<Complex>({{10, 20},
                                      {10, -20},
                                      {30, 0},
                                      {11, 21},
                                      {11, -21},
                                      {31, 0},
                                      {12, 22},
                                      {12, -22},
                                      {32, 0}}));
  a[4] = INFINITY;
  ASSERT_EQ(call(), 0);
  EXPECT_TRUE(std::isnan(w[2].real()) && std::isnan(w[2].imag()));
  EXPECT_TRUE(std::isnan(vr[8].real()) && std::isnan(vr[8].imag()));
}

TEST_F(Lapack, Empty) {
  std::vector<float> a, tau, rows(6);
  EXPECT_EQ(gpuasync_lapack_geqrf_f32(ARRAY(a), ARRAY(a), ARRAY(tau), 0, 2, 3),
            0);
  EXPECT_EQ(gpuasync_lapack_geqrf_f32(ARRAY(a), ARRAY(a), ARRAY(tau), 4, 0, 3),
            0);
  // LAPACK itself leaves vectors of an empty matrix as they are.
  EXPECT_EQ(gpuasync_lapack_gesdd_f32(ARRAY(a), ARRAY(a), NOTHING, NOTHING, 1,
                                      0, 3, 0, 0),
            GPUASYNC_LAPACK_WRONG_SIZES);
  tau.resize(2);
  std::vector<float> r(6);
  rows = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(
      gpuasync_lapack_geqrf_f32(ARRAY(rows), ARRAY(r), ARRAY(tau), 1, 2, 3), 0);
  EXPECT_EQ(r, rows);
  EXPECT_EQ(tau, std::vector<float>({0, 1}));
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

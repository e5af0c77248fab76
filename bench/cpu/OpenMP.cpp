//===- OpenMP.cpp - The programs as plain loops ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a C++ programmer writes for the host: loops with `omp parallel for`, no
// tiles and no intrinsics. Compiled by bench/cpu/run for this very processor.
//===----------------------------------------------------------------------===//

#include <cmath>
#include <stdint.h>

extern "C" {

void omp_saxpy(float a, const float *x, float *y, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i)
    y[i] = a * x[i] + y[i];
}

void omp_stencil(const float *in, float *out, int64_t rows, int64_t columns) {
#pragma omp parallel for
  for (int64_t y = 1; y < rows - 1; ++y)
    for (int64_t x = 1; x < columns - 1; ++x) {
      int64_t i = y * columns + x;
      out[i] = 0.5f * in[i] + 0.125f * ((in[i - 1] + in[i + 1]) +
                                        (in[i - columns] + in[i + columns]));
    }
}

void omp_histogram(const int32_t *values, int32_t *bins, int64_t n) {
  for (int i = 0; i < 256; ++i)
    bins[i] = 0;
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i)
#pragma omp atomic
    ++bins[values[i]];
}

void omp_histogram_shared(const int32_t *values, int32_t *bins, int64_t n) {
  for (int i = 0; i < 256; ++i)
    bins[i] = 0;
#pragma omp parallel for reduction(+ : bins[ : 256])
  for (int64_t i = 0; i < n; ++i)
    ++bins[values[i]];
}

/// The order that vectorises: i, k, j.
void omp_matmul(const float *a, const float *b, float *c, int64_t m, int64_t n,
                int64_t k) {
#pragma omp parallel for
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j)
      c[i * n + j] = 0;
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j)
        c[i * n + j] += a[i * k + l] * b[l * n + j];
  }
}

/// The order of the textbook: i, j, k.
void omp_matmul_ijk(const float *a, const float *b, float *c, int64_t m,
                    int64_t n, int64_t k) {
#pragma omp parallel for
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += a[i * k + l] * b[l * n + j];
      c[i * n + j] = sum;
    }
}

/// One sum for each 256 values, as the kernels make them.
void omp_reduce(const float *x, float *sums, int64_t n) {
#pragma omp parallel for
  for (int64_t block = 0; block < (n + 255) / 256; ++block) {
    int64_t end = block * 256 + 256 < n ? block * 256 + 256 : n;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = block * 256; i < end; ++i)
      sum += x[i];
    sums[block] = sum;
  }
}

void omp_transpose(const float *in, float *out, int64_t rows, int64_t columns) {
#pragma omp parallel for
  for (int64_t x = 0; x < columns; ++x)
    for (int64_t y = 0; y < rows; ++y)
      out[x * rows + y] = in[y * columns + x];
}

void omp_softmax(const float *in, float *out, int64_t rows, int64_t columns) {
#pragma omp parallel for
  for (int64_t row = 0; row < rows; ++row) {
    const float *x = in + row * columns;
    float *y = out + row * columns;
    float largest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : largest)
    for (int64_t i = 0; i < columns; ++i)
      largest = x[i] > largest ? x[i] : largest;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < columns; ++i) {
      y[i] = std::exp(x[i] - largest);
      sum += y[i];
    }
    float scale = 1 / sum;
    for (int64_t i = 0; i < columns; ++i)
      y[i] *= scale;
  }
}

/// `count` parallel regions with nothing in them.
void omp_empty(int64_t count) {
  for (int64_t i = 0; i < count; ++i)
#pragma omp parallel
  {
    // Keeps the compiler from leaving the region out.
    __asm__ volatile("");
  }
}
}

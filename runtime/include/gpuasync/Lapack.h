//===- Lapack.h - Decompositions of matrices by LAPACK ----------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of libgpuasync_blas.so that programs call on the host. A LAPACK
// computes; it is opened at the first call. docs/reference/Lapack.md shows a
// program.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LAPACK_H
#define GPUASYNC_LAPACK_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A memref<?xT> as calls pass it. Its elements follow each other.
#define GPUASYNC_LAPACK_ARRAY(name)                                            \
  void *, void *name, int64_t name##Offset, int64_t name##Size,                \
      int64_t name##Stride

/// Results of the functions below. Matrices for which LAPACK finds no answer
/// are no error: their results are NaN, as in JAX.
enum gpuasync_lapack_result {
  GPUASYNC_LAPACK_OK = 0,
  GPUASYNC_LAPACK_MISSING = 1,    /**< gpuasync_lapack_why_not says why */
  GPUASYNC_LAPACK_NO_MEMORY = 2,  /**< for LAPACK's workspace */
  GPUASYNC_LAPACK_TOO_LARGE = 3,  /**< LAPACK counts in 32 bits */
  GPUASYNC_LAPACK_WRONG_SIZES = 4 /**< an array is not of the sizes given */
};

/// Each function takes `batch` matrices in row-major order, one after the
/// other, and writes results of the same order. No array overlaps another one.
/// `type` is f32, f64, c64 or c128; S, W and the diagonals are real. Thread
/// safe. A result other than 0 leaves the result arrays as they may be.
///
/// geqrf: A of m x n to R and reflectors in one matrix, and their min(m, n)
/// factors tau.
/// geqp3: the same of A with its columns permuted. `pivots` (i32, n) tells
/// which columns are to be in front, and `order` gets the columns, from 1 on.
/// orgqr: the m x n matrix Q of k reflectors in the m x n matrix A.
/// syevd: the eigenvalues W, ascending, of Hermitian matrices of n x n, and
/// eigenvectors V, columns. It reads one triangle of A: `lower` 1 or 0.
/// gesdd: the min(m, n) singular values S, descending, and with `vectors` U and
/// V^H. Of these, `full` asks for all of m x m and n x n, and else for the
/// first min(m, n) columns and rows. Without `vectors` U and V^H are not
/// touched. gesvd: the same by the QR algorithm. geev: the eigenvalues W of any
/// matrices of n x n, and the left and right eigenvectors where `left` and
/// `right` are 1. All three are complex. gees: the Schur form, and with
/// `vectors` the Schur vectors.
#define GPUASYNC_LAPACK_FUNCTIONS(type)                                        \
  GPUASYNC_API int32_t gpuasync_lapack_geqrf_##type(                           \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(r),                      \
      GPUASYNC_LAPACK_ARRAY(tau), int64_t batch, int64_t m, int64_t n)         \
      GPUASYNC_NOEXCEPT;                                                       \
  GPUASYNC_API int32_t gpuasync_lapack_geqp3_##type(                           \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(pivots),                 \
      GPUASYNC_LAPACK_ARRAY(r), GPUASYNC_LAPACK_ARRAY(order),                  \
      GPUASYNC_LAPACK_ARRAY(tau), int64_t batch, int64_t m, int64_t n)         \
      GPUASYNC_NOEXCEPT;                                                       \
  GPUASYNC_API int32_t gpuasync_lapack_orgqr_##type(                           \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(tau),                    \
      GPUASYNC_LAPACK_ARRAY(q), int64_t batch, int64_t m, int64_t n,           \
      int64_t k) GPUASYNC_NOEXCEPT;                                            \
  GPUASYNC_API int32_t gpuasync_lapack_syevd_##type(                           \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(v),                      \
      GPUASYNC_LAPACK_ARRAY(w), int64_t batch, int64_t n, int64_t lower)       \
      GPUASYNC_NOEXCEPT;                                                       \
  GPUASYNC_API int32_t gpuasync_lapack_gesdd_##type(                           \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(s),                      \
      GPUASYNC_LAPACK_ARRAY(u), GPUASYNC_LAPACK_ARRAY(vt), int64_t batch,      \
      int64_t m, int64_t n, int64_t vectors, int64_t full) GPUASYNC_NOEXCEPT;  \
  GPUASYNC_API int32_t gpuasync_lapack_gesvd_##type(                           \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(s),                      \
      GPUASYNC_LAPACK_ARRAY(u), GPUASYNC_LAPACK_ARRAY(vt), int64_t batch,      \
      int64_t m, int64_t n, int64_t vectors, int64_t full) GPUASYNC_NOEXCEPT;  \
  GPUASYNC_API int32_t gpuasync_lapack_geev_##type(                            \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(w),                      \
      GPUASYNC_LAPACK_ARRAY(vl), GPUASYNC_LAPACK_ARRAY(vr), int64_t batch,     \
      int64_t n, int64_t left, int64_t right) GPUASYNC_NOEXCEPT;               \
  GPUASYNC_API int32_t gpuasync_lapack_gees_##type(                            \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(t),                      \
      GPUASYNC_LAPACK_ARRAY(z), int64_t batch, int64_t n, int64_t vectors)     \
      GPUASYNC_NOEXCEPT;
GPUASYNC_LAPACK_FUNCTIONS(f32)
GPUASYNC_LAPACK_FUNCTIONS(f64)
GPUASYNC_LAPACK_FUNCTIONS(c64)
GPUASYNC_LAPACK_FUNCTIONS(c128)

/// Gives a function of a LAPACK with 32-bit integers that the process has
/// already, by its Fortran name ("dgesdd"). It is used unless
/// GPU_ASYNC_LAPACK_LIBRARY names a library. It stays in use for the process's
/// life. Returns 0, or another number if there is no memory. Thread safe.
GPUASYNC_API int32_t gpuasync_lapack_provide(const char *name,
                                             void *function) GPUASYNC_NOEXCEPT;

/// Whether there is a LAPACK: null, or why not, in memory of the process's.
/// Opens the library to see that.
GPUASYNC_API const char *gpuasync_lapack_why_not(void) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // GPUASYNC_LAPACK_H

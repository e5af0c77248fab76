//===- Blas.h - Matrix products for gpu_async.call --------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What libgpuasync_blas.so has: functions that gpu_async.call names, over
// cuBLASLt, hipBLASLt, and on the cpu device a CBLAS, opened when they are
// first called. docs/reference/Blas.md shows a program.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_BLAS_H
#define GPUASYNC_BLAS_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A memref of rank 2 or 3 as calls pass it: strides in elements.
#define GPUASYNC_BLAS_MATRIX(name)                                             \
  void *, void *name##Data, int64_t name##Offset, int64_t name##Rows,          \
      int64_t name##Columns, int64_t name##RowStride,                          \
      int64_t name##ColumnStride
#define GPUASYNC_BLAS_MATRICES(name)                                           \
  void *, void *name##Data, int64_t name##Offset, int64_t name##Batch,         \
      int64_t name##Rows, int64_t name##Columns, int64_t name##BatchStride,    \
      int64_t name##RowStride, int64_t name##ColumnStride
/// A workspace: memref<?xi8>. None is needed; the vendors' fastest algorithms
/// want up to 32 MiB.
#define GPUASYNC_BLAS_WORKSPACE                                                \
  void *, void *workspace, int64_t workspaceOffset, int64_t workspaceBytes,    \
      int64_t

/// c = a b, or with `adds` (1) c += a b. Each matrix has a stride of 1 in one
/// of its last two dimensions, the other one is at least as long as the matrix
/// there, and c lies apart from the others. Sums are in f32, of f64 in f64; no
/// tf32. Thread safe. An error is a result other than 0, with a text.
///
/// The first product of a kind (sizes, strides, alignment) on a GPU asks the
/// library for an algorithm, which cannot be done while the stream is captured.
///
/// gpuasync_blas_has_...: for lowered functions, which call it on their thread:
/// 1, if there is a library for products of that element on their device, else
/// 0. It is opened to see that, once a process. On the cpu device the reference
/// BLAS is none, unless GPU_ASYNC_CBLAS_LIBRARY names it.
#define GPUASYNC_BLAS_FUNCTIONS(type)                                          \
  GPUASYNC_API int32_t gpuasync_blas_has_##type(void) GPUASYNC_NOEXCEPT;       \
  GPUASYNC_API int32_t gpuasync_blas_matmul_##type(                            \
      const gpuasync_call *call, GPUASYNC_BLAS_MATRIX(a),                      \
      GPUASYNC_BLAS_MATRIX(b), GPUASYNC_BLAS_MATRIX(c),                        \
      GPUASYNC_BLAS_WORKSPACE, int32_t adds) GPUASYNC_NOEXCEPT;                \
  GPUASYNC_API int32_t gpuasync_blas_batch_matmul_##type(                      \
      const gpuasync_call *call, GPUASYNC_BLAS_MATRICES(a),                    \
      GPUASYNC_BLAS_MATRICES(b), GPUASYNC_BLAS_MATRICES(c),                    \
      GPUASYNC_BLAS_WORKSPACE, int32_t adds) GPUASYNC_NOEXCEPT;
GPUASYNC_BLAS_FUNCTIONS(f16)
GPUASYNC_BLAS_FUNCTIONS(bf16)
GPUASYNC_BLAS_FUNCTIONS(f32)
GPUASYNC_BLAS_FUNCTIONS(f64)

/// Whether there is a library for products on devices of that driver ("cuda",
/// "hip", "cpu"): null, or why not, in memory of the process's.
GPUASYNC_API const char *
gpuasync_blas_why_not(const char *driver) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // GPUASYNC_BLAS_H

//===- CFunction.h - C functions of compiled programs -----------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `gpu-runner --emit=shared` and `--emit=exe` put into a program for each
// function that C calls: constant tables, and the call that they are for. It is
// in libgpuasync_aot.a, which is linked into such files.
// docs/how-to/AheadOfTime.md has the functions themselves.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CFUNCTION_H
#define GPUASYNC_CFUNCTION_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

enum gpuasync_c_kind {
  GPUASYNC_C_NUMBER = 1,
  GPUASYNC_C_TENSOR = 2, ///< as an argument never written
  GPUASYNC_C_MEMREF = 3
};

/// In place of a size or stride that is a parameter of its own.
#define GPUASYNC_C_DYNAMIC INT64_MIN

/// An argument or a result. In C it is these parameters, in this order:
///   a number argument   the number; of a complex one a pointer to its parts
///   an array argument   a pointer to the element of indices 0, 0, ...; each
///                       dynamic size; each dynamic stride
///   a number result     where it is written
///   a tensor result     of constant sizes: memory for the elements; else where
///                       a pointer to them is written, and each dynamic size
///   a memref result     where a pointer to the elements is written, each
///                       dynamic size, each dynamic stride
typedef struct gpuasync_c_value {
  const char *name;   ///< of the first parameter: "arg0", "result1"
  const char *type;   ///< "tensor<4x?xf32>"
  const char *format; ///< NumPy's name of a number or element: "<f4"
  uint32_t kind;      ///< gpuasync_c_kind
  uint32_t rank;
  uint32_t elementBytes;
  uint32_t reserved;
  const int64_t *shape;   ///< `rank` sizes
  const int64_t *strides; ///< `rank` of them, in elements; null: row-major
  int64_t offset;         ///< of the memref's type, in elements
  /// The packed list's place (docs/reference/ABI.md) of an argument, or of a
  /// result that the caller has the memory for; -1: the function returns it.
  int64_t place;
  uint64_t returned; ///< with place -1 the byte in the storage of the results
} gpuasync_c_value;

/// A size of an argument that an op of the function wants.
typedef struct gpuasync_c_rule {
  uint32_t argument, dimension;
  int64_t other;  ///< another argument, whose dimension `size` is as large; or
  int64_t size;   ///< -1: it is `size`
  const char *op; ///< "linalg.matmul at f.mlir:3:8"
} gpuasync_c_rule;

typedef struct gpuasync_c_function {
  const char *name;
  void (*packed)(void **args); ///< the packed wrapper of docs/reference/ABI.md
  const gpuasync_c_value *arguments, *results;
  const gpuasync_c_rule *rules;
  uint32_t argumentCount, resultCount, ruleCount;
  uint32_t storagePlace; ///< of the results' storage in the packed list
  uint64_t storageBytes;
} gpuasync_c_function;

/// Checks the parameters and calls the function. A parameter is a word: a
/// pointer, a size, or a number in its lowest bytes. Returns null, or a status
/// that the caller owns; then no result was written, but for memory that was
/// given for one. Any number of threads may call at once.
gpuasync_status *gpuasync_c_call(const gpuasync_c_function *function,
                                 const uint64_t *parameters) GPUASYNC_NOEXCEPT;

/// The function that the `main` of --emit=exe calls.
extern const gpuasync_c_function _gpuasync_c_main;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // GPUASYNC_CFUNCTION_H

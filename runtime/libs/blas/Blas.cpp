//===- Blas.cpp - Matrix products for gpu_async.call ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Blas.h: what they are given is checked here.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "libs/blas/Product.h"
#include "shim/base/Settings.h"

#include <dlfcn.h>
#include <mutex>
#include <new>
#include <set>
#include <stdlib.h>
#include <string.h>

using namespace gpuasync::blas;

void *gpuasync::blas::openLibrary(const char *variable,
                                  const char *const *names, Error &why) {
  const char *named = gpuasync::setting(variable);
  const char *const only[] = {named, nullptr};
  why = "tried ";
  for (const char *const *name = named ? only : names; *name; ++name) {
    if (void *library = dlopen(*name, RTLD_NOW | RTLD_LOCAL)) {
      why.clear();
      return library;
    }
    const char *error = dlerror();
    if (why != "tried ")
      why += "; ";
    why += error ? error : *name;
  }
  why += std::string(" (") + variable + " names another one)";
  return nullptr;
}

static std::string sizes(const Matrix &matrix) {
  return std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns);
}

/// Makes c one of rows, and says what is wrong.
static Error prepare(Product &product) {
  Matrix &a = product.a, &b = product.b, &c = product.c;
  if (a.columns != b.rows || c.rows != a.rows || c.columns != b.columns)
    return sizes(a) + " times " + sizes(b) + " is no " + sizes(c) + " matrix";
  if (a.batch != b.batch || a.batch != c.batch)
    return "batches of " + std::to_string(a.batch) + ", " +
           std::to_string(b.batch) + " and " + std::to_string(c.batch) +
           " matrices";
  for (const Matrix *matrix : {&a, &b, &c})
    if ((!matrix->hasRows() && !matrix->hasColumns()) ||
        matrix->leading() <
            (matrix->hasRows() ? matrix->columns : matrix->rows))
      return "strides of " + std::to_string(matrix->rowStride) + " and " +
             std::to_string(matrix->columnStride) + " elements of a " +
             sizes(*matrix) +
             " matrix: one has to be 1, the other as long as the matrix there";
  if (c.batch > 1 && !c.batchStride)
    return "all matrices of the result are one";
  if (c.hasRows())
    return Error();
  // c^T = b^T a^T
  for (Matrix *matrix : {&a, &b, &c})
    matrix->transpose();
  std::swap(a, b);
  return Error();
}

static int32_t multiply(const gpuasync_call &call, Product &product) {
  Error error;
  try {
    error = prepare(product);
    const bool isEmpty = !product.c.batch || !product.c.rows ||
                         !product.c.columns ||
                         (!product.a.columns && product.adds);
    if (error.empty() && isEmpty)
      return 0;
    if (error.empty())
      error = strcmp(call.driver, "cpu") ? multiplyOnGPU(call, product)
                                         : multiplyOnHost(call, product);
    if (error.empty())
      return 0;
    call.report(&call, error.c_str());
  } catch (const std::bad_alloc &) {
    call.report(&call, "out of host memory");
  }
  return 1;
}

static Matrix makeMatrix(Element element, void *data, int64_t offset,
                         int64_t batch, int64_t rows, int64_t columns,
                         int64_t batchStride, int64_t rowStride,
                         int64_t columnStride) {
  return {static_cast<char *>(data) + offset * bytesOf(element),
          batch,
          rows,
          columns,
          batchStride,
          rowStride,
          columnStride};
}

static int32_t isThere(Element element) {
  const char *driver = gpuasync_thread_driver();
  if (!driver)
    return 0;
  try {
    if (strcmp(driver, "cpu"))
      return whyNotOnGPU(driver).empty();
    return isFastOnHost(element);
  } catch (const std::bad_alloc &) {
    return 0;
  }
}

#define ONE(name)                                                              \
  makeMatrix(element, name##Data, name##Offset, 1, name##Rows, name##Columns,  \
             0, name##RowStride, name##ColumnStride)
#define SEVERAL(name)                                                          \
  makeMatrix(element, name##Data, name##Offset, name##Batch, name##Rows,       \
             name##Columns, name##BatchStride, name##RowStride,                \
             name##ColumnStride)
#define DEFINE(type, value)                                                    \
  int32_t gpuasync_blas_has_##type() noexcept { return isThere(value); }       \
  int32_t gpuasync_blas_matmul_##type(                                         \
      const gpuasync_call *call, GPUASYNC_BLAS_MATRIX(a),                      \
      GPUASYNC_BLAS_MATRIX(b), GPUASYNC_BLAS_MATRIX(c),                        \
      GPUASYNC_BLAS_WORKSPACE, int32_t adds) noexcept {                        \
    constexpr Element element = value;                                         \
    Product product = {element,                                                \
                       ONE(a),                                                 \
                       ONE(b),                                                 \
                       ONE(c),                                                 \
                       adds != 0,                                              \
                       static_cast<char *>(workspace) + workspaceOffset,       \
                       static_cast<uint64_t>(workspaceBytes)};                 \
    return multiply(*call, product);                                           \
  }                                                                            \
  int32_t gpuasync_blas_batch_matmul_##type(                                   \
      const gpuasync_call *call, GPUASYNC_BLAS_MATRICES(a),                    \
      GPUASYNC_BLAS_MATRICES(b), GPUASYNC_BLAS_MATRICES(c),                    \
      GPUASYNC_BLAS_WORKSPACE, int32_t adds) noexcept {                        \
    constexpr Element element = value;                                         \
    Product product = {element,                                                \
                       SEVERAL(a),                                             \
                       SEVERAL(b),                                             \
                       SEVERAL(c),                                             \
                       adds != 0,                                              \
                       static_cast<char *>(workspace) + workspaceOffset,       \
                       static_cast<uint64_t>(workspaceBytes)};                 \
    return multiply(*call, product);                                           \
  }

extern "C" {

DEFINE(f16, Element::F16)
DEFINE(bf16, Element::BF16)
DEFINE(f32, Element::F32)
DEFINE(f64, Element::F64)

const char *gpuasync_blas_why_not(const char *driver) noexcept {
  if (!driver)
    return "null driver";
  try {
    Error why = strcmp(driver, "cpu") ? whyNotOnGPU(driver) : whyNotOnHost();
    if (why.empty())
      return nullptr;
    // Few texts, of few drivers: kept for who reads them.
    static std::mutex mutex;
    static auto &kept = *new std::set<std::string>;
    std::lock_guard<std::mutex> lock(mutex);
    return kept.insert(std::move(why)).first->c_str();
  } catch (const std::bad_alloc &) {
    return "out of host memory";
  }
}
}

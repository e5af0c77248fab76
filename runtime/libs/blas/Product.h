//===- Product.h - One matrix product ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call asks for, as the libraries take it, and who does it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_BLAS_PRODUCT_H
#define GPUASYNC_LIBS_BLAS_PRODUCT_H

#include "gpuasync/Blas.h"

#include <string>
#include <utility>

namespace gpuasync {
namespace blas {

enum class Element : uint32_t { F16, BF16, F32, F64 };
inline int64_t bytesOf(Element element) {
  return element == Element::F64 ? 8 : element == Element::F32 ? 4 : 2;
}

/// `batch` matrices of `rows` x `columns` elements.
struct Matrix {
  char *data;
  int64_t batch, rows, columns;
  int64_t batchStride, rowStride, columnStride; ///< in elements

  /// Whether the elements of a row, or of a column, follow each other.
  bool hasRows() const { return columns == 1 || columnStride == 1; }
  bool hasColumns() const { return rows == 1 || rowStride == 1; }
  /// From one of these to the next, at least their length.
  int64_t leading() const {
    const int64_t length = hasRows() ? columns : rows;
    const int64_t stride = hasRows() ? rowStride : columnStride;
    const int64_t count = hasRows() ? rows : columns;
    return count == 1 ? length : stride;
  }
  void transpose() {
    std::swap(rows, columns);
    std::swap(rowStride, columnStride);
  }
};

/// c = a b, or c += a b.
struct Product {
  Element element;
  Matrix a, b, c;
  bool adds;
  void *workspace;
  uint64_t workspaceBytes;
};

/// An error: its text is for gpuasync_call::report. Empty: none.
using Error = std::string;

/// By a vendor's library, on the stream of the call (Vendor.cpp).
Error multiplyOnGPU(const gpuasync_call &call, const Product &product);
Error whyNotOnGPU(const char *driver);

/// By a CBLAS, in a function of the host (Cblas.cpp).
Error multiplyOnHost(const gpuasync_call &call, const Product &product);
Error whyNotOnHost();
/// Whether there is one that is better than a kernel of ours.
bool isFastOnHost(Element element);
inline bool hostMultiplies(Element element) {
  return element == Element::F32 || element == Element::F64;
}

/// Opens the library that `variable` of the environment names, else the first
/// of `names` (ended by null) that there is. Null: `why` lists what was tried.
void *openLibrary(const char *variable, const char *const *names, Error &why);

} // namespace blas
} // namespace gpuasync

#endif // GPUASYNC_LIBS_BLAS_PRODUCT_H

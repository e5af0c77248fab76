//===- Product.h - matrix products that a library may compute ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which linalg ops are what a function of libgpuasync_blas.so does, and what is
// asked of it (docs/reference/Blas.md).
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_PRODUCT_H
#define GPUASYNC_LIB_OFFLOAD_PRODUCT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>
#include <string>

namespace mlir::gpuasync::offload {

/// c += a b, of matrices or batches of them, on tensors or memrefs.
class Product {
public:
  /// None if the op is no such thing, or too little to be worth a call. `why`,
  /// if it is one that the library has no function for.
  static std::optional<Product> match(linalg::LinalgOp op, std::string &why);
  /// How the remark with `why` begins.
  static constexpr llvm::StringLiteral isNotCalled =
      "is not for a library (blas=auto): ";

  linalg::LinalgOp op;
  /// Operands, each with the places of its batch, if there is one, its rows and
  /// its columns among its dimensions.
  struct Matrix {
    OpOperand *operand;
    SmallVector<unsigned, 3> places;
  };
  Matrix a, b, c;
  bool isBatch;
  llvm::StringRef element; ///< in the names of functions: f32

private:
  explicit Product(linalg::LinalgOp op) : op(op) {}
};

/// Whether it asks for a library: the functions declared by
/// gpu-async-call-products.
bool isProductQuery(func::CallOp call);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_PRODUCT_H

//===- BoolVectors.cpp - vectors of booleans in memory --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See BoolVectors.h.
//===----------------------------------------------------------------------===//

#include "BoolVectors.h"
#include "GPUAsync/Kernels/Common/IntegersInMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace {

struct BoolVectorsPass
    : public PassWrapper<BoolVectorsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BoolVectorsPass)

  StringRef getArgument() const final { return "gpu-async-bool-vectors"; }
  StringRef getDescription() const final {
    return "Make vector ops read and write booleans in memory as bytes";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect>();
  }
  void runOnOperation() final {
    gpuasync::accessBoolVectorsAsBytes(getOperation());
  }
};

} // namespace

std::unique_ptr<Pass> gpuasync::createBoolVectorsPass() {
  return std::make_unique<BoolVectorsPass>();
}

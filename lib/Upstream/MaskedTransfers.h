//===- MaskedTransfers.h - masked transfers of whole tensors ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to lib/Upstream.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_UPSTREAM_MASKEDTRANSFERS_H
#define GPUASYNC_LIB_UPSTREAM_MASKEDTRANSFERS_H

#include "mlir/IR/Operation.h"

namespace mlir::gpuasync {

/// Gives reads and writes of whole tensors under `root` an arith.select in
/// place of their mask. MLIR takes a write of such a read for no change of the
/// tensor that was read, and does not look at the masks.
void selectInMaskedTransfers(Operation *root);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_UPSTREAM_MASKEDTRANSFERS_H

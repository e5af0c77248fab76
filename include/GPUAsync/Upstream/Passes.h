//===- Passes.h - passes of lib/Upstream ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations and registration of the passes of Upstream/Passes.td.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_UPSTREAM_PASSES_H
#define GPUASYNC_UPSTREAM_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::gpuasync {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "GPUAsync/Upstream/Passes.h.inc"

} // namespace mlir::gpuasync

#endif // GPUASYNC_UPSTREAM_PASSES_H

//===- RegionTokens.h - tokens and region ops -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ops with regions may use, take and return tokens, and how to give one
// more of them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_IR_REGIONTOKENS_H
#define GPUASYNC_IR_REGIONTOKENS_H

#include "mlir/IR/Operation.h"

namespace mlir::gpuasync {

/// Whether the value is a token of this dialect.
bool isToken(Value value);

/// Of a ready token (a wait without dependencies) that stands where no token is
/// defined, since the path that has it does not use it.
inline constexpr llvm::StringLiteral kUndefinedTokenAttrName =
    "gpu_async.undefined";

/// Each region runs at most once, and exactly one of them does (scf.if has, or
/// gets, an else): scf.if, scf.index_switch, scf.execute_region.
bool runsOneRegionOnce(Operation *op);

/// scf.for and scf.while, which carry the tokens that they use.
bool isTokenLoop(Operation *op);

/// Whether `op` is one of these, and its regions are single blocks.
bool carriesTokens(Operation *op);

/// Replaces `op`, one of these, by one with `inits` behind its operands (none
/// but for loops) and `count` tokens behind its results. The regions stay the
/// blocks that they are: their arguments and terminators are the caller's
/// business.
Operation *appendTokens(Operation *op, ValueRange inits, unsigned count);

} // namespace mlir::gpuasync

#endif // GPUASYNC_IR_REGIONTOKENS_H

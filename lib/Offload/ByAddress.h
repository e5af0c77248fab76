//===- ByAddress.h - host code that finds memory by address -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host may reach an array by its address, which a program can keep in
// memory or pass as a number. Then no memref says which array it is.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_BYADDRESS_H
#define GPUASYNC_LIB_OFFLOAD_BYADDRESS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::gpuasync::offload {

/// Whether the op reads or writes memory through a pointer, other than that of
/// a variable of the stack.
bool accessesByAddress(Operation *op);

/// Whether the op makes a memref of an address: of a pointer, or by reading one
/// that was stored. Calls are not looked into.
bool makesMemRefOfAddress(Operation *op);

/// Whether host code of the module does one of these.
bool hasAccessesByAddress(ModuleOp module);

/// On a function, a unit attribute: no host code of the program does so.
inline constexpr llvm::StringLiteral kNoAccessesByAddressAttrName =
    "gpu_async.no_accesses_by_address";

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_BYADDRESS_H

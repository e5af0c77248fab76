//===- Addresses.h - arithmetic that addresses are made by ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's lowerings of memref promise LLVM that address arithmetic does not
// wrap. Views with negative or huge strides break these promises, and LLVM then
// computes other addresses. Kernels and host code use what is here instead.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_COMMON_ADDRESSES_H
#define GPUASYNC_LIB_KERNELS_COMMON_ADDRESSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::gpuasync {

/// A pass that lowers affine ops, then expands views of memrefs
/// (expand-strided-metadata) by arithmetic that may wrap: the stride of a
/// dimension of size 1 is any number.
std::unique_ptr<Pass> createLowerViewsPass();

/// After the conversion to LLVM: weakens what the lowering of memref.load and
/// memref.store promises. Indices may be negative, and sums of them may wrap on
/// the way to an element. An access still does not leave the address space, so
/// its offset is a signed number that does not wrap.
void weakenAddresses(Operation *root);
/// The same as a pass.
std::unique_ptr<Pass> createWeakenAddressesPass();

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_ADDRESSES_H

//===- DataLayout.h - the data layout of code for a machine -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a module says of itself before it is translated to LLVM IR.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_KERNELS_COMMON_DATALAYOUT_H
#define GPUASYNC_KERNELS_COMMON_DATALAYOUT_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/IR/DataLayout.h"

namespace mlir::gpuasync {

/// Gives `module`, in the LLVM dialect, the data layout of the machine that its
/// code is for, before it is translated to LLVM IR: the translation folds sizes
/// and offsets that are constant. With no layout, or one that only the LLVM
/// module gets afterwards, it takes LLVM's default, in which an i64 in a struct
/// is aligned to 4 bytes and an i96 takes 12.
inline void setDataLayout(Operation *module, const llvm::DataLayout &layout) {
  module->setAttr(
      LLVM::LLVMDialect::getDataLayoutAttrName(),
      StringAttr::get(module->getContext(), layout.getStringRepresentation()));
}

} // namespace mlir::gpuasync

#endif // GPUASYNC_KERNELS_COMMON_DATALAYOUT_H

//===- StackUse.cpp - what kernels keep on the stack ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See StackUse.h.
//===----------------------------------------------------------------------===//

#include "StackUse.h"

#include "Allocas.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;

StackUse StackUses::get(LLVM::LLVMFuncOp function) {
  // A function that calls itself comes upon this entry.
  StackUse recursive;
  recursive.isBounded = false;
  auto [entry, isNew] = known.try_emplace(function, recursive);
  if (!isNew)
    return entry->second;
  StackUse use;
  auto add = [&](int64_t bytes) {
    use.bytes = std::min<uint64_t>(
        llvm::SaturatingAdd<uint64_t>(use.bytes, bytes), INT64_MAX);
  };
  int64_t most = 0;
  auto setLargest = [&](Operation *slot) {
    int64_t bytes = slot ? getSlotBytes(slot).value_or(0) : 0;
    if (bytes <= most)
      return;
    most = bytes;
    use.largest = slot;
  };
  Block *first = function.isExternal() ? nullptr : &function.getBody().front();
  function.walk([&](Operation *op) {
    if (isAlloca(op)) {
      std::optional<int64_t> bytes = getSlotBytes(op);
      use.isBounded &= bytes && op->getBlock() == first;
      add(bytes.value_or(0));
      setLargest(op);
    } else if (auto call = dyn_cast<LLVM::CallOp>(op)) {
      std::optional<StringRef> name = call.getCallee();
      auto callee = name ? symbols.lookup<LLVM::LLVMFuncOp>(*name) : nullptr;
      if (!callee)
        return;
      StackUse inner = get(callee);
      use.isBounded &= inner.isBounded;
      add(inner.bytes);
      setLargest(inner.largest);
    }
  });
  known[function] = use;
  return use;
}

LogicalResult gpuasync::checkPrivateMemory(LLVM::LLVMFuncOp kernel,
                                           StringRef name, const StackUse &use,
                                           int64_t most, StringRef where) {
  if (use.bytes <= most)
    return success();
  InFlightDiagnostic error =
      emitError(use.largest ? use.largest->getLoc() : kernel.getLoc())
      << "kernel @" << name << " has " << use.bytes
      << " bytes of private memory for each thread, where " << most
      << " are allowed on " << where
      << ": allocate it before the launch, with a part for each thread";
  error.attachNote(kernel.getLoc()) << "the kernel";
  return error;
}

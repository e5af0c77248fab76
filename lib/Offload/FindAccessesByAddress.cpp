//===- FindAccessesByAddress.cpp - host code that uses addresses ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ByAddress.h. Code of the whole module counts, before kernels are made.
//===----------------------------------------------------------------------===//

#include "ByAddress.h"
#include "GPUAsync/Offload/Passes.h"
#include "Offloaded.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCFINDACCESSESBYADDRESS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct FindAccessesByAddress
    : public gpuasync::impl::GPUAsyncFindAccessesByAddressBase<
          FindAccessesByAddress> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions = offload::getOffloaded(getOperation());
    if (functions.empty() || offload::hasAccessesByAddress(getOperation()))
      return markAllAnalysesPreserved();
    for (func::FuncOp function : functions)
      function->setAttr(offload::kNoAccessesByAddressAttrName,
                        UnitAttr::get(&getContext()));
  }
};
} // namespace

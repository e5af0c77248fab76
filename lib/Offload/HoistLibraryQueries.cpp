//===- HoistLibraryQueries.cpp - libraries are asked for once -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call by which the host asks for a library ends a region of device work.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"
#include "Product.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCHOISTLIBRARYQUERIES
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct HoistLibraryQueries
    : public gpuasync::impl::GPUAsyncHoistLibraryQueriesBase<
          HoistLibraryQueries> {
  void runOnOperation() override {
    SmallVector<func::CallOp> queries;
    getOperation().walk([&](func::CallOp call) {
      if (offload::isProductQuery(call))
        queries.push_back(call);
    });
    if (queries.empty())
      return markAllAnalysesPreserved();
    Block &entry = getOperation().front();
    for (func::CallOp query : llvm::reverse(queries))
      query->moveBefore(&entry, entry.begin());
  }
};
} // namespace

//===- Names.cpp - names of what a gpu.module defines -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assemblers of GPUs take fewer names than MLIR and LLVM do, and a few mean
// something else to them.
//===----------------------------------------------------------------------===//

#include "Kernels/Common/KernelLowering.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// Whether every assembler takes `name`: PTX wants a letter and letters,
/// digits, _ and $, or _ or $ and at least one of those.
static bool isPortable(StringRef name) {
  auto isInner = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '$';
  };
  if (name.empty() || !llvm::all_of(name, isInner) || llvm::isDigit(name[0]) ||
      (name.size() == 1 && !llvm::isAlpha(name[0])))
    return false;
  // A constant of PTX; the driver's functions; variables that LLVM's writer of
  // PTX leaves out.
  return !llvm::is_contained(
             {"WARP_SZ", "vprintf", "malloc", "free", "__assertfail"}, name) &&
         !name.starts_with("unrollpragma") && !name.starts_with("filename");
}

static std::string makePortable(StringRef name) {
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) || c == '_' || c == '$' ? c : '_';
  return isPortable(result) ? result : "_" + result + "_";
}

LogicalResult gpuasync::makeNamesPortable(gpu::GPUModuleOp kernels) {
  SymbolTable table(kernels);
  for (Operation &op : llvm::make_early_inc_range(*kernels.getBody())) {
    auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
    if (!name || isPortable(name))
      continue;
    // What is only declared here has its name elsewhere.
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (function && function.isExternal())
      continue;
    std::string base = makePortable(name), unique = base;
    for (unsigned i = 0; table.lookup(unique); ++i)
      unique = base + "_" + std::to_string(i);
    auto to = StringAttr::get(kernels.getContext(), unique);
    // The program around it launches kernels.
    if (failed(SymbolTable::replaceAllSymbolUses(&op, to,
                                                 kernels->getParentOp())) ||
        failed(table.rename(&op, to)))
      return op.emitError("'")
             << name.getValue()
             << "' cannot be a name in a device's code, and not everything "
                "that uses it is known";
  }
  return success();
}

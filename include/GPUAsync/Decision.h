//===- Decision.h - what a pass decided, for who wants to see it -*- C++ -*-==//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/reference/Passes.md says how to see decisions.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DECISION_H
#define GPUASYNC_DECISION_H

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Config/abi-breaking.h"
#include "llvm/Support/Debug.h"

namespace mlir::gpuasync {

/// Reports a decision of a pass at a place, when it is destroyed. It is a
/// remark "passed" of MLIR, and LLVM's debug output. The remark's category and
/// the type of the debug output are the pass's argument.
class Decision {
public:
  /// `name` says what was decided, and must live as long as the context.
  Decision(Pass &pass, Operation *op, StringRef name)
      : Decision(pass, op, op->getLoc(), name) {}
  /// For a decision at `loc`, in the function that `op` is, or is in.
  Decision(Pass &pass, Operation *op, Location loc, StringRef name)
      : category(pass.getArgument()),
        remark(remark::passed(
            loc, remark::RemarkOpts::name(name).category(category).function(
                     getFunctionName(op)))) {
    DEBUG_WITH_TYPE(category.data(), llvm::raw_string_ostream(text)
                                         << loc << ": " << name);
  }
  Decision(const Decision &) = delete;
  ~Decision() {
    DEBUG_WITH_TYPE(category.data(), llvm::dbgs()
                                         << category << ": " << text << "\n");
  }

  /// Adds `number` to a statistic of the pass. The report has the number, too,
  /// by the statistic's name: the statistic itself only has it in some LLVMs.
  Decision &count(Pass::Statistic &statistic, StringRef name,
                  uint64_t number = 1) {
    // An LLVM without statistics leaves the value of one uninitialised.
#if LLVM_ENABLE_STATS &&                                                       \
    (LLVM_ENABLE_ABI_BREAKING_CHECKS || LLVM_FORCE_ENABLE_STATS)
    statistic += number;
#endif
    remark << remark::metric(name, number);
    DEBUG_WITH_TYPE(category.data(), llvm::raw_string_ostream(text)
                                         << ", " << name << "=" << number);
    return *this;
  }

private:
  static StringRef getFunctionName(Operation *op) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function)
      function = op->getParentOfType<FunctionOpInterface>();
    return function ? function.getName() : StringRef();
  }

  StringRef category;
  remark::detail::InFlightRemark remark;
  std::string text; ///< of the debug output
};

/// Returns how many ops of the classes `Ops` are in `root`.
template <typename... Ops>
uint64_t countOps(Operation *root) {
  uint64_t number = 0;
  root->walk([&](Operation *op) { number += isa<Ops...>(op); });
  return number;
}

} // namespace mlir::gpuasync

#endif // GPUASYNC_DECISION_H

//===- Barriers.cpp - who meets at a kernel's barriers ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that has ended keeps nobody from a barrier. One that comes to a
// barrier of ours instead of ending would meet the others at theirs, and a
// block would be counted that still works: so kernels may have a barrier at
// their end where all threads come to all others, which is looked for here in
// what decides of branches, and where all threads return.
//===----------------------------------------------------------------------===//

#include "NVPTXLowering.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
enum class Meets {
  Nobody,
  Block, ///< all threads that have not ended
  Some   ///< a number of them, or it cannot be said; or a thread ends
};

/// The barriers of a module's functions.
class Barriers {
public:
  explicit Barriers(gpu::GPUModuleOp module) : symbols(module) {}
  Meets of(Operation *op);
  Meets of(LLVM::LLVMFuncOp function);

private:
  SymbolTable symbols;
  DenseMap<Operation *, Meets> functions;
};

/// What the threads of a block agree about in a function.
class Agreement {
public:
  Agreement(LLVM::LLVMFuncOp function, PostDominanceInfo &order);
  /// Blocks that some threads may run while others do not.
  const DenseSet<Block *> &partial() const { return alone; }

private:
  bool agrees(Operation *op) const;
  bool differ(Value value) { return different.insert(value).second; }
  bool spread(Operation *branch);

  LLVM::LLVMFuncOp function;
  PostDominanceInfo &order;
  DenseSet<Value> different;
  DenseSet<Block *> alone;
};
} // namespace

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// Of the name of an intrinsic.
static Meets ofIntrinsic(StringRef name) {
  if (!name.consume_front("llvm.nvvm."))
    return Meets::Nobody;
  if (name == "exit")
    return Meets::Some;
  if (!name.starts_with("bar") || name.starts_with("bar.warp") ||
      name.starts_with("barrier.cluster"))
    return Meets::Nobody;
  return name.starts_with("barrier0") || name.ends_with(".all") ? Meets::Block
                                                                : Meets::Some;
}

/// Of inline assembly.
static Meets ofAssembly(StringRef text) {
  auto isPart = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$' || c == '%';
  };
  while (!text.empty()) {
    text = text.drop_until(isPart);
    StringRef word = text.take_while(isPart);
    text = text.drop_front(word.size());
    const bool isBarrier =
        (word.starts_with("bar.") && !word.starts_with("bar.warp.")) ||
        (word.starts_with("barrier.") && !word.starts_with("barrier.cluster"));
    if (isBarrier || word == "exit" || word == "ret" ||
        word.starts_with("ret."))
      return Meets::Some;
  }
  return Meets::Nobody;
}

Meets Barriers::of(Operation *op) {
  if (isa<NVVM::Barrier0Op>(op))
    return Meets::Block;
  if (isa<NVVM::Exit, NVVM::BarrierArriveOp>(op))
    return Meets::Some;
  if (auto barrier = dyn_cast<NVVM::BarrierOp>(op)) {
    if (!barrier.getNumberOfThreads())
      return Meets::Block;
    // What some threads have for themselves nobody else meets at.
    APInt id;
    return barrier.getBarrierId() &&
                   matchPattern(barrier.getBarrierId(), m_ConstantInt(&id)) &&
                   !id.isZero()
               ? Meets::Nobody
               : Meets::Some;
  }
  if (auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op))
    return ofIntrinsic(intrinsic.getIntrin());
  if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op))
    return ofAssembly(assembly.getAsmString());
  auto call = dyn_cast<LLVM::CallOp>(op);
  if (!call)
    return Meets::Nobody;
  if (!call.getCallee())
    return Meets::Some;
  auto callee = symbols.lookup<LLVM::LLVMFuncOp>(*call.getCallee());
  return callee && !callee.isExternal() ? of(callee)
                                        : ofIntrinsic(*call.getCallee());
}

Meets Barriers::of(LLVM::LLVMFuncOp function) {
  auto [known, isNew] = functions.try_emplace(function, Meets::Nobody);
  if (!isNew)
    return known->second;
  Meets most = Meets::Nobody;
  function.walk([&](Operation *op) { most = std::max(most, of(op)); });
  return functions[function] = most;
}

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

Agreement::Agreement(LLVM::LLVMFuncOp function, PostDominanceInfo &order)
    : function(function), order(order) {
  if (!isKernel(function))
    for (Value argument : function.getArguments())
      differ(argument);
  bool changed = true;
  while (changed) {
    changed = false;
    for (Block &block : function.getBody()) {
      for (Operation &op : block.without_terminator())
        if (!agrees(&op))
          for (Value result : op.getResults())
            changed |= differ(result);
      Operation *end = block.getTerminator();
      auto isDifferent = [&](Value value) { return different.contains(value); };
      if (auto branch = dyn_cast<BranchOpInterface>(end))
        for (auto [i, to] : llvm::enumerate(end->getSuccessors())) {
          SuccessorOperands operands =
              branch.getSuccessorOperands(static_cast<unsigned>(i));
          for (auto [k, argument] : llvm::enumerate(to->getArguments())) {
            Value given = operands[static_cast<unsigned>(k)];
            if (!given || isDifferent(given))
              changed |= differ(argument);
          }
        }
      // What it hands over decides of nothing, but is rarely different.
      if (end->getNumSuccessors() > 1 &&
          llvm::any_of(end->getOperands(), isDifferent))
        changed |= spread(end);
    }
  }
}

/// Whether all threads have the same results, if they all run it.
bool Agreement::agrees(Operation *op) const {
  StringRef name = op->getName().getStringRef();
  if (name.consume_front("nvvm.read.ptx.sreg."))
    return name.starts_with("ctaid") || name.starts_with("nctaid") ||
           name.starts_with("ntid") || name.starts_with("cluster") ||
           name.starts_with("nclusterid") || name == "warpsize";
  return isa<NVVM::BarrierOp>(op) ||
         (isa<LLVM::LLVMDialect>(op->getDialect()) && isMemoryEffectFree(op) &&
          !isa<LLVM::CallIntrinsicOp, LLVM::InlineAsmOp, LLVM::AllocaOp>(op) &&
          llvm::none_of(op->getOperands(), [&](Value operand) {
            return different.contains(operand);
          }));
}

/// Threads take different ways at `branch`, up to where all come together.
bool Agreement::spread(Operation *branch) {
  auto &tree = order.getDomTree(&function.getBody());
  auto *node = tree.getNode(branch->getBlock());
  Block *meeting =
      node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
  bool changed = false;
  auto differAll = [&](ValueRange values) {
    for (Value value : values)
      changed |= differ(value);
  };
  DenseSet<Block *> seen;
  SmallVector<Block *> open(branch->getSuccessors());
  while (!open.empty()) {
    Block *block = open.pop_back_val();
    if (!seen.insert(block).second)
      continue;
    differAll(block->getArguments());
    if (block == meeting)
      continue;
    changed |= alone.insert(block).second;
    llvm::append_range(open, block->getSuccessors());
  }
  // Of a loop, as many turns as each thread takes have made what comes of it.
  if (seen.contains(branch->getBlock()))
    for (Block *block : seen)
      if (block != meeting)
        for (Operation &op : *block)
          differAll(op.getResults());
  return changed;
}

bool gpuasync::allThreadsMeet(gpu::GPUModuleOp module) {
  Barriers barriers(module);
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    const Meets meets = barriers.of(function);
    if (meets == Meets::Some)
      return false;
    if (meets == Meets::Nobody || function.getBody().hasOneBlock())
      continue;
    PostDominanceInfo order(function);
    Agreement agreement(function, order);
    for (Block *block : agreement.partial())
      for (Operation &op : *block)
        if (barriers.of(&op) == Meets::Block)
          return false;
  }
  return true;
}

//===- Barriers.cpp - who meets at a kernel's barriers ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that has ended keeps nobody from a barrier, a shuffle or a vote. One
// that comes to a barrier of ours instead of ending would meet the others at
// theirs, and a block would be counted that still works; or the others of its
// warp would wait for it for ever. So kernels may have a barrier at their end
// where all threads come to all others, which is looked for here in what
// decides of branches, and where all threads return.
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
  Warp,  ///< those of its warp that have not ended
  Block, ///< all threads of its block, or its cluster, that have not ended
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
  /// Branches at which they may take different ways.
  ArrayRef<Operation *> forks() const { return branches.getArrayRef(); }
  /// Where all that did so come together again; null: nowhere.
  Block *meeting(Block *block);
  /// The blocks up to there.
  DenseSet<Block *> between(Operation *branch);

private:
  bool agrees(Operation *op) const;
  bool differ(Value value) { return different.insert(value).second; }
  bool spread(Operation *branch);

  LLVM::LLVMFuncOp function;
  PostDominanceInfo &order;
  DenseSet<Value> different;
  SetVector<Operation *> branches;
};
} // namespace

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

static bool isOfWarp(StringRef name) {
  return llvm::any_of(ArrayRef<StringRef>{"shfl.", "vote.", "bar.warp.",
                                          "redux.", "match.", "elect."},
                      [&](StringRef start) { return name.starts_with(start); });
}

/// Of the name of an intrinsic.
static Meets ofIntrinsic(StringRef name) {
  if (!name.consume_front("llvm.nvvm."))
    return Meets::Nobody;
  if (name == "exit")
    return Meets::Some;
  if (isOfWarp(name))
    return Meets::Warp;
  if (!name.starts_with("bar"))
    return Meets::Nobody;
  return name.starts_with("barrier0") || name.starts_with("barrier.cluster") ||
                 name.ends_with(".all")
             ? Meets::Block
             : Meets::Some;
}

/// Of inline assembly.
static Meets ofAssembly(StringRef text) {
  Meets most = Meets::Nobody;
  auto isPart = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$' || c == '%';
  };
  while (!text.empty()) {
    text = text.drop_until(isPart);
    StringRef word = text.take_while(isPart);
    text = text.drop_front(word.size());
    if (isOfWarp(word))
      most = std::max(most, Meets::Warp);
    else if (word.starts_with("bar.") || word.starts_with("barrier.") ||
             word == "exit" || word == "ret" || word.starts_with("ret."))
      return Meets::Some;
  }
  return most;
}

Meets Barriers::of(Operation *op) {
  if (isa<NVVM::ShflOp, NVVM::VoteSyncOp, NVVM::SyncWarpOp, NVVM::ReduxOp,
          NVVM::MatchSyncOp, NVVM::ElectSyncOp>(op))
    return Meets::Warp;
  if (isa<NVVM::Barrier0Op, NVVM::ClusterArriveOp, NVVM::ClusterArriveRelaxedOp,
          NVVM::ClusterWaitOp>(op))
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
         (isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()) &&
          isMemoryEffectFree(op) &&
          !isa<LLVM::CallIntrinsicOp, LLVM::InlineAsmOp, LLVM::AllocaOp>(op) &&
          llvm::none_of(op->getOperands(), [&](Value operand) {
            return different.contains(operand);
          }));
}

Block *Agreement::meeting(Block *block) {
  auto *node = order.getDomTree(&function.getBody()).getNode(block);
  return node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
}

DenseSet<Block *> Agreement::between(Operation *branch) {
  Block *end = meeting(branch->getBlock());
  DenseSet<Block *> seen;
  SmallVector<Block *> open(branch->getSuccessors());
  while (!open.empty()) {
    Block *block = open.pop_back_val();
    if (block != end && seen.insert(block).second)
      llvm::append_range(open, block->getSuccessors());
  }
  return seen;
}

/// Threads take different ways at `branch`, up to where all come together.
bool Agreement::spread(Operation *branch) {
  bool changed = branches.insert(branch);
  auto differAll = [&](ValueRange values) {
    for (Value value : values)
      changed |= differ(value);
  };
  DenseSet<Block *> blocks = between(branch);
  for (Block *block : blocks)
    differAll(block->getArguments());
  if (Block *end = meeting(branch->getBlock()))
    differAll(end->getArguments());
  // Of a loop, as many turns as each thread takes have made what comes of it.
  if (blocks.contains(branch->getBlock()))
    for (Block *block : blocks)
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
    auto most = [&](Block *block) {
      Meets most = Meets::Nobody;
      for (Operation &op : *block)
        most = std::max(most, barriers.of(&op));
      return most;
    };
    for (Operation *branch : agreement.forks()) {
      // Threads that wait for the others anyway do not end before them.
      bool ends = true;
      for (Block *block = agreement.meeting(branch->getBlock()); block && ends;
           block = agreement.meeting(block))
        ends = most(block) != Meets::Block;
      for (Block *block : agreement.between(branch))
        if (Meets meets = most(block);
            meets == Meets::Block || (meets == Meets::Warp && ends))
          return false;
    }
  }
  return true;
}

//===- Uniformity.cpp - values that all ranks have in common --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Uniformity.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Ranks/Uniformity.h"

#include "GPUAsync/Analysis/Memory/MemoryAccesses.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/OpKinds.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Uniformity::Uniformity(Operation *program, FlatSymbolRefAttr group)
    : group(group) {
  collect(program);
  findWriters();
  contents = shared;
  bool changed = true;
  while (changed) {
    changed = false;
    for (const Node &node : nodes)
      changed |= visit(node);
  }
}

void Uniformity::collect(Operation *program) {
  SmallVector<FunctionOpInterface> functions;
  program->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (holdsKernels(op) || isKernelCode(op))
      return WalkResult::skip();
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (function && !function.isExternal()) {
      functions.push_back(function);
      auto symbol = dyn_cast<SymbolOpInterface>(op);
      if (!symbol || !symbol.isPrivate())
        openFunctions.insert(op);
    }
    if (auto call = dyn_cast<CallOpInterface>(op))
      if (Operation *callee = call.resolveCallableInTable(&symbols))
        callsOf[callee].push_back(call);
    if (auto address = dyn_cast<func::ConstantOp>(op))
      openFunctions.insert(
          symbols.lookupNearestSymbolFrom(address, address.getValueAttr()));
    return WalkResult::advance();
  });
  for (FunctionOpInterface function : functions)
    addFunction(function);

  // Results that an op makes itself, as of parallel reductions.
  DenseSet<Value> handed;
  for (const Node &node : nodes)
    for (auto [from, to] : node.handed)
      handed.insert(to);
  for (const Node &node : nodes)
    if (isa<RegionBranchOpInterface>(node.op))
      for (Value result : node.op->getResults())
        if (!handed.contains(result)) {
          mark(result, node.op);
          if (leadsToMemory(result.getType()))
            shared.insert(result);
        }

  // Classes are complete now.
  DenseSet<Value> leaders;
  for (Value memory : shared)
    leaders.insert(classes.getOrInsertLeaderValue(memory));
  shared = std::move(leaders);
}

void Uniformity::addFunction(FunctionOpInterface function) {
  if (openFunctions.contains(function))
    for (Value argument : function.getArguments())
      if (leadsToMemory(argument.getType()))
        shared.insert(argument);
  function.getFunctionBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (holdsKernels(op) || isKernelCode(op))
      return WalkResult::skip();
    nodeOf[op] = nodes.size();
    Node &node = nodes.emplace_back();
    node.op = op;
    auto parent = dyn_cast<RegionBranchOpInterface>(op->getParentOp());
    if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
      addRegionBranch(node, branch);
    else if (auto branch = dyn_cast<BranchOpInterface>(op))
      addBlockBranch(node, branch);
    else if (parent && isa<RegionBranchTerminatorOpInterface>(op))
      addRegionEnd(node, parent);
    else if (op->hasTrait<OpTrait::ReturnLike>() &&
             op->getParentOp() == function)
      for (CallOpInterface call : callsOf.lookup(function))
        addHanded(node, op->getOperands(), call->getResults());
    else if (auto call = dyn_cast<CallOpInterface>(op))
      addCall(node, call);
    else
      addComputation(node);
    return WalkResult::advance();
  });
}

void Uniformity::addHanded(Node &node, ValueRange from, ValueRange to) {
  for (auto [source, target] : llvm::zip(from, to)) {
    node.handed.emplace_back(source, target);
    if (leadsToMemory(target.getType()))
      classes.unionSets(source, target);
  }
}

/// Appends the operands of `op` that `handed` does not name.
static void addOthers(Operation *op, const llvm::BitVector &handed,
                      SmallVectorImpl<Value> &others) {
  for (OpOperand &operand : op->getOpOperands())
    if (!handed.test(operand.getOperandNumber()))
      others.push_back(operand.get());
}

static void setRange(llvm::BitVector &operands, OperandRange range) {
  if (!range.empty())
    operands.set(range.getBeginOperandIndex(),
                 range.getBeginOperandIndex() + range.size());
}

void Uniformity::addRegionBranch(Node &node, RegionBranchOpInterface branch) {
  llvm::BitVector handed(branch->getNumOperands());
  SmallVector<RegionSuccessor> successors;
  branch.getSuccessorRegions(RegionBranchPoint::parent(), successors);
  for (const RegionSuccessor &successor : successors) {
    OperandRange operands = branch.getEntrySuccessorOperands(successor);
    addHanded(node, operands, successor.getSuccessorInputs());
    setRange(handed, operands);
  }
  node.branch = branch;
  addOthers(branch, handed, node.conditions);
}

void Uniformity::addRegionEnd(Node &node, RegionBranchOpInterface branch) {
  auto end = cast<RegionBranchTerminatorOpInterface>(node.op);
  llvm::BitVector handed(end->getNumOperands());
  SmallVector<RegionSuccessor> successors;
  branch.getSuccessorRegions(RegionBranchPoint(end), successors);
  for (const RegionSuccessor &successor : successors) {
    OperandRange operands = end.getSuccessorOperands(successor);
    addHanded(node, operands, successor.getSuccessorInputs());
    setRange(handed, operands);
  }
  node.branch = branch;
  addOthers(end, handed, node.conditions);
}

void Uniformity::addBlockBranch(Node &node, BranchOpInterface branch) {
  llvm::BitVector handed(branch->getNumOperands());
  for (auto [number, block] : llvm::enumerate(branch->getSuccessors())) {
    SuccessorOperands operands = branch.getSuccessorOperands(number);
    unsigned made = operands.getProducedOperandCount();
    addHanded(node, operands.getForwardedOperands(),
              block->getArguments().drop_front(made));
    setRange(handed, operands.getForwardedOperands());
  }
  node.branch = branch;
  addOthers(branch, handed, node.conditions);
}

void Uniformity::addCall(Node &node, CallOpInterface call) {
  auto callee = dyn_cast_or_null<FunctionOpInterface>(
      call.resolveCallableInTable(&symbols));
  if (!callee || callee.isExternal())
    return addComputation(node);
  node.callee = callee;
  node.mayWriteShared = true;
  addHanded(node, call.getArgOperands(), callee.getArguments());
}

/// Memory that nobody else knows at first, and whose contents all ranks share.
static bool makesOwnMemory(Operation *op, SymbolTableCollection &symbols) {
  if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
    auto global = symbols.lookupNearestSymbolFrom<memref::GlobalOp>(
        op, get.getNameAttr());
    return global && global.getConstant();
  }
  if (isa<AllocOp, ConstantOp>(op))
    return true;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return effects && llvm::all_of(op->getResults(), [&](Value result) {
           return effects.getEffectOnValue<MemoryEffects::Allocate>(result);
         });
}

void Uniformity::addComputation(Node &node) {
  Operation *op = node.op;
  if (isa<SizeOp>(op))
    return;
  // A promise about the lists of another group says nothing of this one's.
  if (auto uniform = dyn_cast<UniformOp>(op);
      uniform && (!uniform.getGroup() || uniform.getGroupAttr() == group))
    return;
  node.isComputation = true;
  node.isOpaque = isa<RankOp>(op) || !addAccesses(node);
  SmallVector<Value> memory, made;
  for (Value operand : op->getOperands())
    if (leadsToMemory(operand.getType()))
      memory.push_back(operand);
  for (Value result : op->getResults())
    if (leadsToMemory(result.getType()))
      made.push_back(result);
  // Operands of unknown code are known outside from then on.
  bool isKnown = !node.isOpaque || isa<RankOp, WorkOpInterface>(op);
  node.mayWriteShared |= !isKnown;
  if (!isKnown)
    shared.insert(memory.begin(), memory.end());
  if (!isKnown || (memory.empty() && !makesOwnMemory(op, symbols)))
    shared.insert(made.begin(), made.end());
  for (Value result : made)
    for (Value operand : memory)
      classes.unionSets(operand, result);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Value argument : block.getArguments()) {
        mark(argument, op);
        if (leadsToMemory(argument.getType()))
          shared.insert(argument);
      }
}

/// Adds the memory that a kernel, or a function of a library, touches.
void Uniformity::addCode(Node &node) {
  auto work = cast<WorkOpInterface>(node.op);
  const KernelEffects &effects =
      runsKernel(work) ? kernels.lookup(work, work.getCode())
                       : kernels.lookupLibrary(work, work.getCode());
  OperandRange operands = work.getCodeArguments();
  bool isKnown = effects.arguments.size() == operands.size();
  for (auto [index, operand] : llvm::enumerate(operands))
    if (leadsToMemory(operand.getType()) &&
        (!isKnown || effects.arguments[index].writes))
      node.writes.push_back(operand);
  // Through a pointer, for instance.
  node.mayWriteShared =
      llvm::any_of(deviceAccesses(work, kernels), [](const Access &access) {
        return access.writes && access.base.kind == Base::Unknown;
      });
}

/// Adds the memory that the op reads and writes. Returns false if the op is
/// unknown, or does more than compute results and memory of its operands.
bool Uniformity::addAccesses(Node &node) {
  Operation *op = node.op;
  if (auto work = dyn_cast<WorkOpInterface>(op)) {
    if (work.getCode()) {
      addCode(node);
      return false;
    }
    SmallVector<WorkAccess> accesses;
    work.getWorkAccesses(accesses);
    bool isWhole = true;
    for (const WorkAccess &access : accesses) {
      Value memory = access.operand->get();
      if (access.reads)
        node.reads.push_back({memory});
      if (access.writes)
        node.writes.push_back(memory);
      isWhole &= access.sizes.empty();
    }
    bool isKnown =
        isa<AllocOp, DeallocOp, MemcpyOp, MemsetOp, CollectiveOp>(op);
    node.isFullWrite = isWhole && isKnown && node.writes.size() == 1;
    return isKnown;
  }
  if (isAsyncOp(op) && !op->getNumRegions())
    return true;
  if (isa<cf::AssertOp>(op))
    return true;
  if (op->hasTrait<OpTrait::IsTerminator>())
    return llvm::none_of(op->getOperandTypes(), leadsToMemory);
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface || op->getNumRegions())
    return false;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  DenseSet<Value> touched;
  for (const MemoryEffects::EffectInstance &effect : effects) {
    Value memory = effect.getValue();
    bool reads = isa<MemoryEffects::Read>(effect.getEffect());
    bool writes = isa<MemoryEffects::Write>(effect.getEffect());
    if (memory)
      touched.insert(memory);
    if ((reads || writes) && (!memory || !leadsToMemory(memory.getType())))
      return false;
    if (reads)
      node.reads.push_back({memory});
    if (writes)
      node.writes.push_back(memory);
  }
  node.isFullWrite = isa<memref::CopyOp>(op);
  // A memref that goes elsewhere: an address, or a memref in memory.
  bool isView = llvm::any_of(op->getResultTypes(), leadsToMemory) ||
                isa<ShapedDimOpInterface, memref::RankOp>(op);
  return isView || llvm::all_of(op->getOperands(), [&](Value operand) {
           return touched.contains(operand) ||
                  !leadsToMemory(operand.getType());
         });
}

/// Finds the write of a whole memref that each read in its block sees.
void Uniformity::findWriters() {
  // The last writes by the leader of their memory: of memory that other code
  // may know, and of other memory.
  using Writes = DenseMap<Value, std::pair<Operation *, Value>>;
  Writes lastShared, lastOwn;
  auto lastOf = [&](Value leader) -> Writes & {
    return shared.contains(leader) ? lastShared : lastOwn;
  };
  auto forget = [&](Operation *op) {
    auto found = nodeOf.find(op);
    if (found == nodeOf.end())
      return;
    const Node &node = nodes[found->second];
    if (node.mayWriteShared)
      lastShared.clear();
    if (node.callee)
      lastOwn.clear();
    for (Value memory : node.writes) {
      Value leader = classes.getOrInsertLeaderValue(memory);
      lastOwn.erase(leader);
      if (shared.contains(leader))
        lastShared.clear();
    }
  };
  DenseSet<Block *> blocks;
  for (const Node &each : nodes)
    blocks.insert(each.op->getBlock());
  for (Block *block : blocks) {
    lastShared.clear();
    lastOwn.clear();
    for (Operation &op : *block) {
      auto found = nodeOf.find(&op);
      if (found == nodeOf.end())
        continue;
      Node &node = nodes[found->second];
      for (Read &read : node.reads) {
        Value leader = classes.getOrInsertLeaderValue(read.memory);
        auto [writer, memory] = lastOf(leader).lookup(leader);
        if (memory == read.memory)
          read.writer = writer;
      }
      op.walk(forget);
      if (!node.isFullWrite)
        continue;
      Value memory = node.writes.front();
      Value leader = classes.getLeaderValue(memory);
      lastOf(leader)[leader] = {&op, memory};
    }
  }
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

bool Uniformity::mark(Value value, Operation *source) {
  // Tokens, streams and events order work, and are no data.
  return source && !isa<GPUAsyncDialect>(value.getType().getDialect()) &&
         values.try_emplace(value, source).second;
}

Operation *Uniformity::findBranch(Operation *op) const {
  for (Operation *parent; (parent = op->getParentOp()); op = parent) {
    Operation *graph = graphs.lookup(op->getParentRegion());
    if (graph && !op->getBlock()->isEntryBlock())
      return graph;
    if (branches.contains(parent))
      return parent;
    if (isa<FunctionOpInterface>(parent))
      return calls.lookup(parent);
  }
  return nullptr;
}

bool Uniformity::diverge(Operation *branch, Operation *source) {
  if (!branches.try_emplace(branch, source).second)
    return false;
  for (Value result : branch->getResults())
    mark(result, source);
  if (!isa<BranchOpInterface>(branch))
    return true;
  Region *region = branch->getParentRegion();
  graphs.try_emplace(region, branch);
  for (Block &block : llvm::drop_begin(*region))
    for (Value argument : block.getArguments())
      mark(argument, source);
  return true;
}

/// Whether the ranks of the group have the same in the destination.
bool Uniformity::isUniformCollective(Operation *op) const {
  auto collective = dyn_cast<CollectiveOp>(op);
  if (!collective)
    return false;
  CollectiveKind kind = collective.getWhat().getKind();
  return (kind == CollectiveKind::AllReduce ||
          kind == CollectiveKind::AllGather ||
          kind == CollectiveKind::Broadcast) &&
         (!collective.getGroupAttr() || collective.getGroupAttr() == group);
}

bool Uniformity::compute(const Node &node) {
  Operation *op = node.op;
  Operation *source = node.isOpaque ? op : nullptr;
  if (isa<CollectiveOp>(op)) {
    source = isUniformCollective(op) ? nullptr : op;
  } else if (!source) {
    for (Value operand : op->getOperands())
      if (!source)
        source = values.lookup(operand);
    for (const Read &read : node.reads)
      if (read.writer ? written.contains(read.writer)
                      : contents.contains(classes.getLeaderValue(read.memory)))
        source = op;
  }
  bool changed = false;
  for (Value result : op->getResults())
    changed |= mark(result, source);
  if (source && !node.writes.empty())
    changed |= written.insert(op).second;
  for (Value memory : node.writes)
    if (source || values.contains(memory) || findBranch(op))
      changed |= contents.insert(classes.getLeaderValue(memory)).second;
  return changed;
}

bool Uniformity::visit(const Node &node) {
  bool changed = false;
  Operation *graph = node.op->hasTrait<OpTrait::IsTerminator>()
                         ? graphs.lookup(node.op->getParentRegion())
                         : nullptr;
  for (auto [from, to] : node.handed)
    changed |= mark(to, graph ? branches.lookup(graph) : values.lookup(from));
  for (Value condition : node.conditions)
    if (Operation *source = values.lookup(condition))
      changed |= diverge(node.branch, source);
  if (node.callee && !calls.contains(node.callee) && findBranch(node.op))
    changed |= calls.try_emplace(node.callee, node.op).second;
  return (node.isComputation && compute(node)) || changed;
}

std::optional<Divergence> Uniformity::findDivergence(Operation *op) const {
  Divergence found;
  while ((op = findBranch(op))) {
    if (Operation *source = branches.lookup(op)) {
      found.branch = op;
      found.source = source;
      return found;
    }
    found.calls.push_back(op);
  }
  return std::nullopt;
}

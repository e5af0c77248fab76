//===- BlockImport.cpp - the schedule of one block --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nodes of the schedule, what each comes after, and the waits of the host.
//===----------------------------------------------------------------------===//

#include "BlockImport.h"
#include "GPUAsync/Analysis/Memory/Hazards.h"
#include "GPUAsync/IR/RegionTokens.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::upstream;

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

unsigned BlockImport::addNode(Node::Kind kind, Value token, Location loc,
                              ArrayRef<Value> dependencies, Accesses accesses,
                              Fiber &fiber, bool isUsed) {
  SmallVector<unsigned, 2> predecessors(nodesOf(dependencies));
  unsigned number = nodes.size();
  nodes.push_back({kind, token, loc, std::move(predecessors),
                   std::move(accesses), &fiber, isUsed});
  nodeOfToken[token] = number;
  live.push_back(number);
  return number;
}

/// A token whose maker is not in this block has a past that may touch anything.
/// But what an enclosing block knows of is that block's business: it has waited
/// for all that ops in here must start after without taking a token.
unsigned BlockImport::nodeOf(Value token) {
  auto it = nodeOfToken.find(token);
  if (it != nodeOfToken.end())
    return it->second;
  for (BlockImport *outer = parent; outer; outer = outer->parent) {
    auto known = outer->nodeOfToken.find(token);
    if (known == outer->nodeOfToken.end())
      continue;
    unsigned number = addNode(Node::Outside, token, token.getLoc(), {}, {},
                              *fibers.front(), /*isUsed=*/true);
    nodes[number].isDone = outer->nodes[known->second].isDone;
    return number;
  }
  return addNode(Node::Outside, token, token.getLoc(), {},
                 {{Base(), /*writes=*/true}}, *fibers.front(),
                 /*isUsed=*/true);
}

/// A tail in an enclosing block is the one at the region op.
Value BlockImport::tailOf(Value token) {
  for (BlockImport *import = this; import; import = import->parent)
    if (Value tail = import->tails.lookup(token))
      return tail;
  assert(isToken(token) && "checked: a token is made before it is used");
  return token;
}

SmallVector<Value> BlockImport::tailsOf(ValueRange tokens) {
  return llvm::map_to_vector(tokens,
                             [&](Value token) { return tailOf(token); });
}

/// Marks `node` and all of its past that the host has not waited for.
void BlockImport::markPast(unsigned node) {
  SmallVector<unsigned> worklist{node};
  while (!worklist.empty()) {
    Node &current = nodes[worklist.pop_back_val()];
    if (current.isDone || current.mark == searches)
      continue;
    current.mark = searches;
    worklist.append(current.predecessors.begin(), current.predecessors.end());
  }
}

/// Whether `node` is one of the dependencies or in the past of one. Nodes are
/// numbered in a topological order, which bounds the search.
bool BlockImport::isCovered(unsigned node, ArrayRef<Value> dependencies) {
  if (nodes[node].isDone)
    return true;
  ++searches;
  auto known = afterAllocation.find(node);
  SmallVector<unsigned> worklist = nodesOf(dependencies);
  while (!worklist.empty()) {
    unsigned number = worklist.pop_back_val();
    if (number == node)
      return true;
    Node &current = nodes[number];
    if (number < node || current.isDone || current.mark == searches)
      continue;
    current.mark = searches;
    if (known != afterAllocation.end() && known->second.contains(number))
      return true;
    worklist.append(current.predecessors.begin(), current.predecessors.end());
  }
  return false;
}

/// Whether nobody takes the token, as seen from `fiber`: work of an
/// async.execute whose token is taken is ordered by that token.
bool BlockImport::isTail(const Node &node, const Fiber &fiber) const {
  if (node.isUsed)
    return false;
  for (const Fiber *inner = node.fiber;
       inner != &fiber && inner->isWithin(&fiber); inner = inner->parent)
    if (inner->isUsed)
      return false;
  return true;
}

/// The outstanding nodes that are wanted, without those in the past of a seed
/// or of another one; in program order.
SmallVector<unsigned>
BlockImport::collect(ArrayRef<unsigned> seeds,
                     function_ref<bool(const Node &)> wanted) {
  llvm::erase_if(live, [&](unsigned number) { return nodes[number].isDone; });
  ++searches;
  for (unsigned seed : seeds)
    markPast(seed);
  SmallVector<unsigned> result;
  for (unsigned number : llvm::reverse(live)) {
    const Node &node = nodes[number];
    if (node.mark == searches || !wanted(node))
      continue;
    result.push_back(number);
    markPast(number);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

void BlockImport::addUncovered(ArrayRef<unsigned> added,
                               SetVector<Value> &dependencies) {
  // Newest first, since these may cover older ones; listed in program order.
  SmallVector<unsigned> sorted(added);
  llvm::sort(sorted, std::greater<unsigned>());
  SetVector<Value> all = dependencies;
  SmallVector<Value> uncovered;
  for (unsigned number : sorted)
    if (!isCovered(number, all.getArrayRef())) {
      all.insert(nodes[number].token);
      uncovered.push_back(nodes[number].token);
    }
  for (Value token : llvm::reverse(uncovered))
    dependencies.insert(token);
}

/// The tokens of allocations in enclosing blocks that the host has not waited
/// for: those of `bases`, or any that an op which may use all memory needs.
SetVector<Value> BlockImport::enclosingAllocations(ArrayRef<Base> bases,
                                                   bool any) {
  SetVector<Value> tokens;
  for (BlockImport *outer = parent; outer; outer = outer->parent) {
    for (const Base &base : bases) {
      auto it = outer->allocations.find(base.identity.getValue());
      if (it != outer->allocations.end() && !outer->nodes[it->second].isDone)
        tokens.insert(outer->nodes[it->second].token);
    }
    if (!any)
      continue;
    for (unsigned number : outer->live) {
      const Node &node = outer->nodes[number];
      if (!node.isDone && node.kind == Node::Alloc && node.predecessors.empty())
        tokens.insert(node.token);
    }
  }
  return tokens;
}

/// Whether one of the dependencies comes after an allocation of an enclosing
/// block: through nodes of this block, and then those of the enclosing ones.
bool BlockImport::isCoveredOutside(Value allocation,
                                   ArrayRef<Value> dependencies) {
  auto own = nodeOfToken.find(allocation);
  if (own != nodeOfToken.end() && nodes[own->second].kind == Node::Alloc)
    return isCovered(own->second, dependencies);
  if (own != nodeOfToken.end() && nodes[own->second].isDone)
    return true;
  SmallVector<unsigned> worklist = nodesOf(dependencies);
  ++searches;
  auto known = afterEnclosing.find(allocation);
  SetVector<Value> outside;
  while (!worklist.empty()) {
    unsigned number = worklist.pop_back_val();
    Node &current = nodes[number];
    if (current.token == allocation)
      return true;
    if (current.mark == searches)
      continue;
    current.mark = searches;
    if (known != afterEnclosing.end() && known->second.contains(number))
      return true;
    if (isFromOutside(current))
      outside.insert(current.token);
    if (Value start = startOf.lookup(current.token))
      outside.insert(start);
    worklist.append(current.predecessors.begin(), current.predecessors.end());
  }
  return parent && !outside.empty() &&
         parent->isCoveredOutside(allocation, outside.getArrayRef());
}

/// An allocation precedes the users of its memref, whatever tokens they take.
/// An op that touches memory from who knows where comes after all allocations
/// that the program gives no token.
void BlockImport::addAllocations(Operation *op, ArrayRef<Access> accesses,
                                 SetVector<Value> &dependencies) {
  SmallVector<Base, 4> bases;
  for (Value operand : op->getOperands())
    if (leadsToMemory(operand.getType()))
      findBases(operand, bases);
  bool isAnywhere = llvm::any_of(accesses, [](const Access &access) {
    return access.base.kind == Base::Unknown;
  });

  SetVector<Value> enclosing = enclosingAllocations(bases, isAnywhere);
  for (Value allocation : enclosing)
    if (!isCoveredOutside(allocation, dependencies.getArrayRef())) {
      dependencies.insert(allocation);
      nodeOf(allocation);
    }
  // The caller's node is the next one.
  for (Value allocation : enclosing)
    afterEnclosing[allocation].insert(nodes.size());

  auto addAllocation = [&](unsigned allocation) {
    if (!isCovered(allocation, dependencies.getArrayRef()))
      dependencies.insert(nodes[allocation].token);
    afterAllocation[allocation].insert(nodes.size());
  };
  for (const Base &base : bases) {
    auto it = allocations.find(base.identity.getValue());
    if (it != allocations.end())
      addAllocation(it->second);
  }
  if (!isAnywhere)
    return;
  SmallVector<unsigned> outstanding(live.begin(), live.end());
  for (unsigned number : outstanding)
    if (!nodes[number].isDone && nodes[number].kind == Node::Alloc &&
        nodes[number].predecessors.empty())
      addAllocation(number);
}

/// With import=check or strict: unordered ops that touch the same memory, one
/// of them writing.
void BlockImport::addRaces(Operation *op, ArrayRef<Access> accesses,
                           SetVector<Value> &dependencies) {
  if (state.mode == ImportMode::Trust || accesses.empty())
    return;
  SmallVector<unsigned> races =
      collect(nodesOf(dependencies), [&](const Node &node) {
        return node.kind != Node::Outside && node.kind != Node::Carried &&
               mayConflict(node.accesses, accesses);
      });
  for (unsigned number : races) {
    if (state.mode == ImportMode::Strict) {
      dependencies.insert(nodes[number].token);
      continue;
    }
    Conflict conflict = findConflict(nodes[number].accesses, accesses);
    InFlightDiagnostic diagnostic =
        op->emitWarning("may race with an earlier op: no token orders them, ")
        << (conflict.isKnown() ? "they touch the same memory, and one writes"
                               : "they may touch the same memory, and one "
                                 "writes");
    diagnostic.attachNote(nodes[number].loc) << "the earlier op";
    if (std::string unknown = explainUnknown(conflict); !unknown.empty())
      diagnostic.attachNote(op->getLoc()) << unknown;
  }
}

//===----------------------------------------------------------------------===//
// Host waits
//===----------------------------------------------------------------------===//

void BlockImport::setDone(ArrayRef<unsigned> waited) {
  SmallVector<unsigned> worklist(waited);
  while (!worklist.empty()) {
    Node &node = nodes[worklist.pop_back_val()];
    if (node.isDone)
      continue;
    node.isDone = true;
    worklist.append(node.predecessors.begin(), node.predecessors.end());
  }
}

/// Makes the host wait for `waited`, as far as it has not yet.
void BlockImport::hostWait(ArrayRef<unsigned> waited, Operation *before) {
  llvm::DenseSet<unsigned> wanted(waited.begin(), waited.end());
  ++searches;
  SmallVector<unsigned> leaves(wanted.begin(), wanted.end());
  llvm::sort(leaves, std::greater<unsigned>());
  SmallVector<Value> tokens;
  for (unsigned number : leaves) {
    if (nodes[number].isDone || nodes[number].mark == searches)
      continue;
    tokens.push_back(nodes[number].token);
    markPast(number);
  }
  if (tokens.empty())
    return;
  std::reverse(tokens.begin(), tokens.end());
  OpBuilder builder(before);
  WaitOp::create(builder, before->getLoc(), Type(), tokens);
  setDone(leaves);
}

/// The fiber waits: the host at once, the body of an async.execute later, if
/// something in it depends on that.
void BlockImport::observe(ArrayRef<unsigned> waited, Operation *before,
                          Fiber &fiber) {
  if (!fiber.isLazy())
    return hostWait(waited, before);
  for (unsigned number : waited)
    if (!nodes[number].isDone && !llvm::is_contained(fiber.cursor, number))
      fiber.cursor.push_back(number);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Whether control flow or an arith.select may or may not consume the token.
/// That is the program's business; what it drops is complete when the function
/// returns.
static bool isUsedConditionally(Value token, Block *block) {
  return llvm::any_of(token.getUsers(), [&](Operation *user) {
    return user->getBlock() != block || user->getNumRegions() ||
           isa<arith::SelectOp>(user);
  });
}

/// The end of the block: nothing stays outstanding but what the block returns
/// as tokens.
void BlockImport::finish() {
  if (!block.mightHaveTerminator())
    return;
  Operation *terminator = block.getTerminator();
  SmallVector<unsigned> returned;
  for (OpOperand &operand : terminator->getOpOperands()) {
    Type type = operand.get().getType();
    if (!isUpstreamToken(type) && !isa<TokenType>(type))
      continue;
    operand.set(tailOf(operand.get()));
    returned.push_back(nodeOf(operand.get()));
  }
  returned.append(nodesOf(tailsOf(retied)));
  if (atEnd == AtEnd::Leave)
    return;
  for (unsigned number : live)
    if (isUsedConditionally(nodes[number].token, &block))
      returned.push_back(number);
  // Tokens from elsewhere stand for others' work. A free needs no wait, but
  // what it comes after does.
  SmallVector<unsigned> left = collect(returned, [&](const Node &node) {
    bool isOthers = node.kind == Node::External || node.kind == Node::Outside ||
                    (node.kind == Node::Carried && node.isUsed);
    return !isOthers;
  });
  bool isWorkOpen = llvm::any_of(
      left, [&](unsigned number) { return nodes[number].kind != Node::Alloc; });
  if (atEnd == AtEnd::CarryOut) {
    // Nobody but users of the memory comes after an allocation, and they are in
    // here unless the block returns it.
    bool returnsMemory =
        llvm::any_of(terminator->getOperandTypes(), leadsToMemory);
    if (isWorkOpen || returnsMemory)
      open = tokensOf(left);
    return;
  }
  if (isWorkOpen) {
    InFlightDiagnostic diagnostic =
        mlir::emitRemark(terminator->getLoc(),
                         "the host waits here for device work that the program "
                         "does not wait for");
    unsigned shown = 0;
    for (unsigned number : left)
      if (nodes[number].kind != Node::Alloc && ++shown <= 8)
        diagnostic.attachNote(nodes[number].loc) << "nobody takes this token";
  }
  hostWait(left, terminator);
}

void BlockImport::importOp(Operation *op, Fiber &fiber) {
  if (holdsKernels(op))
    return;
  if (isUpstreamWork(op))
    return importWork(op, fiber);
  if (auto wait = dyn_cast<gpu::WaitOp>(op))
    return importWait(wait, fiber);
  if (isa<gpu::HostRegisterOp>(op)) {
    build(op, {});
    return;
  }
  if (isa<gpu::HostUnregisterOp>(op))
    return importUnregister(op, fiber);
  if (auto execute = dyn_cast<async::ExecuteOp>(op))
    return importExecute(execute, fiber);
  if (auto await = dyn_cast<async::AwaitOp>(op))
    return importAwait(await, fiber);
  if (isAsyncOp(op))
    return readTokenForm(op, fiber);
  if (isa<func::CallOp>(op) && hasTokens(op))
    return importTokenCall(cast<func::CallOp>(op), fiber);
  if (isa<arith::SelectOp>(op) && hasTokens(op))
    return importSelect(cast<arith::SelectOp>(op), fiber);
  if (op->getNumRegions() && !isPlainHostCode(op))
    return importRegionOp(op, fiber);
  importHostOp(op, fiber);
}

LogicalResult BlockImport::run() {
  Fiber &fiber = *fibers.front();
  // What a caller's tokens stand for may still run, and may touch anything.
  for (BlockArgument argument : block.getArguments())
    if (!parent && isToken(argument))
      nodeOf(argument);
  for (Operation &op : llvm::make_early_inc_range(block))
    if (!op.hasTrait<OpTrait::IsTerminator>())
      importOp(&op, fiber);
  finish();
  return failure(failedNested);
}

/// Op by op, for functions without tokens.
void BlockImport::runSequential() {
  isSequential = true;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (holdsKernels(&op))
      continue;
    if (isUpstreamWork(&op) ||
        isa<gpu::HostRegisterOp, gpu::HostUnregisterOp>(op))
      build(&op, {});
    else if (isa<gpu::WaitOp>(op))
      state.replaced.push_back(&op);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        BlockImport(state, inner).runSequential();
  }
}

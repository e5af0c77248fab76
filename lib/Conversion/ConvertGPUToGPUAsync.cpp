//===- ConvertGPUToGPUAsync.cpp - import of upstream gpu and async --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From upstream's gpu and async ops to the token form, by the import rule that
// the pass description in Passes.td states. Blocks are scheduled one by one.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/MemoryAccesses.h"
#include "GPUAsync/Conversion/Passes.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_CONVERTGPUTOGPUASYNC
#include "GPUAsync/Conversion/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

//===----------------------------------------------------------------------===//
// What can be imported
//===----------------------------------------------------------------------===//

bool isUpstreamToken(Type type) { return isa<gpu::AsyncTokenType>(type); }

bool isAsyncDialectType(Type type) {
  return isa<async::TokenType, async::ValueType, async::GroupType>(type);
}

bool isUpstreamOrder(Type type) {
  return isUpstreamToken(type) || isAsyncDialectType(type);
}

bool isOurToken(Type type) { return isa<TokenType>(type); }

bool holdsKernels(Operation *op) {
  return isa<gpu::GPUModuleOp, gpu::BinaryOp, BinaryOp>(op);
}

/// Upstream ops that do device work in our sense, in order of tokens.
bool isUpstreamWork(Operation *op) {
  return isa<gpu::AllocOp, gpu::DeallocOp, gpu::LaunchFuncOp, gpu::MemcpyOp,
             gpu::MemsetOp>(op);
}

bool isSparse(Operation *op) {
  return isa<gpu::CreateDnTensorOp, gpu::DestroyDnTensorOp, gpu::CreateCooOp,
             gpu::CreateCooAoSOp, gpu::CreateCsrOp, gpu::CreateCscOp,
             gpu::CreateBsrOp, gpu::Create2To4SpMatOp, gpu::DestroySpMatOp,
             gpu::SpMVBufferSizeOp, gpu::SpMVOp, gpu::SpMMBufferSizeOp,
             gpu::SpMMOp, gpu::SDDMMBufferSizeOp, gpu::SDDMMOp,
             gpu::SpGEMMCreateDescrOp, gpu::SpGEMMDestroyDescrOp,
             gpu::SpGEMMWorkEstimationOrComputeOp, gpu::SpGEMMCopyOp,
             gpu::SpMatGetSizeOp, gpu::SetCsrPointersOp>(op);
}

/// Refuses ops that no rule of ours covers, each by name.
LogicalResult checkOp(Operation *op) {
  Dialect *dialect = op->getDialect();
  if (isa_and_nonnull<gpu::GPUDialect>(dialect)) {
    if (isa<gpu::LaunchOp>(op))
      return op->emitOpError("has its kernel inline: run gpu-kernel-outlining "
                             "first, as gpu-async-pipeline does");
    if (isa<gpu::SetDefaultDeviceOp>(op))
      return op->emitOpError(
          "is not supported: a frame's device is the caller's choice (an "
          "explicit context, a ContextScope, or GPU_ASYNC_DEVICE); remove the "
          "op and choose the device there");
    if (isSparse(op))
      return op->emitOpError("is an op of cuSPARSE, which is not supported: "
                             "call the library from host code, or write the "
                             "operation as a kernel");
    if (!isUpstreamWork(op) &&
        !isa<gpu::HostRegisterOp, gpu::HostUnregisterOp, gpu::WaitOp>(op))
      return op->emitOpError("is not supported in host code");
    if (!op->getParentOfType<FunctionOpInterface>())
      return op->emitOpError("expected to be in a function");
    if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op)) {
      Value object = launch.getAsyncObject();
      if (object && !isa<LLVM::LLVMPointerType>(object.getType()))
        return op->emitOpError("expected the caller's stream to be an "
                               "!llvm.ptr, got ")
               << object.getType();
    }
  } else if (isa_and_nonnull<async::AsyncDialect>(dialect)) {
    if (!isa<async::ExecuteOp, async::YieldOp, async::AwaitOp>(op))
      return op->emitOpError("is not supported: of the async dialect only "
                             "async.execute, async.yield and async.await are");
  }
  return success();
}

constexpr StringLiteral structureFirst =
    "run gpu-async-structure-control-flow first, which turns control-flow "
    "graphs into scf ops";

/// Refuses a token that `op` makes in a way that we do not follow.
LogicalResult checkResult(Operation *op, OpResult result) {
  Type type = result.getType();
  if (!isUpstreamOrder(type) || isUpstreamWork(op) ||
      isa<gpu::WaitOp, async::ExecuteOp, async::AwaitOp, func::CallOp>(op))
    return success();
  if (isUpstreamToken(type) && (carriesTokens(op) || isa<arith::SelectOp>(op)))
    return success();
  if (isUpstreamToken(type) && runsOneRegionOnce(op))
    return op->emitOpError("returns a token from a region of several blocks: ")
           << structureFirst;
  if (isUpstreamToken(type) && op->getNumRegions())
    return op->emitOpError(
        "returns a token: of ops with regions only scf.if, scf.index_switch, "
        "scf.execute_region, scf.for and scf.while can; wait for the token "
        "(gpu.wait) in the region that makes it");
  return op->emitOpError("makes a value of type ")
         << type << ", which is not supported";
}

LogicalResult checkArgument(BlockArgument argument) {
  Type type = argument.getType();
  Block *block = argument.getOwner();
  Operation *parent = block->getParentOp();
  if (!isUpstreamOrder(type) || isa<async::ExecuteOp>(parent))
    return success();
  bool isEntry = isa<FunctionOpInterface>(parent) && block->isEntryBlock();
  if (isUpstreamToken(type) && (isEntry || carriesTokens(parent)))
    return success();
  if (isEntry)
    return parent->emitOpError("takes an argument of type ")
           << type
           << ", which is not supported: the async runtime's values cannot be "
              "passed in; take a !gpu.async.token instead";
  InFlightDiagnostic diagnostic =
      parent->emitOpError("has a block argument that is a token: ");
  if (isUpstreamToken(type) && !block->isEntryBlock())
    diagnostic << structureFirst;
  else
    diagnostic << "only a !gpu.async.token can be one, of scf.for and "
                  "scf.while; wait for it before";
  diagnostic.attachNote(argument.getLoc()) << "this argument";
  return diagnostic;
}

/// Refuses a use of a token that cannot be followed from where it is made.
LogicalResult checkUse(OpOperand &use) {
  Value token = use.get();
  Operation *user = use.getOwner();
  auto refuse = [&](const Twine &what) {
    InFlightDiagnostic diagnostic = user->emitOpError(what);
    diagnostic.attachNote(token.getLoc()) << "the token is made here";
    return diagnostic;
  };
  bool isToken = isUpstreamToken(token.getType());
  for (Block *block = user->getBlock(); block != token.getParentBlock();) {
    Operation *parent = block->getParentOp();
    if (block->getParent() == token.getParentRegion() ||
        (runsOneRegionOnce(parent) && !carriesTokens(parent)))
      return refuse("takes a token of another block: ") << structureFirst;
    if (!isa<async::ExecuteOp>(parent) && !(isToken && carriesTokens(parent)))
      return refuse("takes a token from outside of '")
             << parent->getName()
             << "', which is not supported: wait for it (gpu.wait, "
                "async.await) before";
    block = parent->getBlock();
  }
  if (isUpstreamWork(user) || isa<gpu::WaitOp, func::CallOp, async::ExecuteOp,
                                  async::YieldOp, async::AwaitOp>(user))
    return success();
  if (isToken) {
    if (isa<func::ReturnOp, arith::SelectOp>(user) || carriesTokens(user))
      return success();
    if (isa<scf::YieldOp, scf::ConditionOp>(user) &&
        carriesTokens(user->getParentOp()))
      return success();
    if (user->getNumSuccessors())
      return refuse("takes a token to another block: ") << structureFirst;
  }
  if (user->hasTrait<OpTrait::IsTerminator>() || user->getNumRegions())
    return refuse(
        "takes a token, which it cannot carry: wait for it (gpu.wait, "
        "async.await) before");
  return refuse("takes a token, which is not supported");
}

/// All of the above for host code in `root`; reports every op that is refused.
LogicalResult checkImportable(Operation *root) {
  bool failedAny = false;
  auto check = [&](LogicalResult result) { failedAny |= failed(result); };
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (holdsKernels(op))
      return WalkResult::skip();
    if (failed(checkOp(op))) {
      failedAny = true;
      return WalkResult::skip();
    }
    for (OpResult result : op->getResults())
      check(checkResult(op, result));
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      if (function.isExternal() &&
          llvm::any_of(function.getArgumentTypes(), isAsyncDialectType))
        check(op->emitOpError("takes values of the async dialect, which is "
                              "not supported"));
      if (llvm::any_of(function.getResultTypes(), isAsyncDialectType))
        check(op->emitOpError("returns values of the async dialect, which is "
                              "not supported; return a !gpu.async.token"));
    }
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          check(checkArgument(argument));
    for (OpOperand &use : op->getOpOperands())
      if (isUpstreamOrder(use.get().getType()))
        check(checkUse(use));
    return WalkResult::advance();
  });
  return failure(failedAny);
}

//===----------------------------------------------------------------------===//
// The schedule of one block
//===----------------------------------------------------------------------===//

enum class Mode { Trust, Check, Strict };

/// State that all blocks of a module share.
struct ImportState {
  KernelTable kernels;
  Mode mode = Mode::Trust;
  /// Upstream ops that have been replaced, in program order.
  SmallVector<Operation *> replaced;
};

/// A line of host control: the function's own, which waits at once, or the body
/// of an async.execute. The latter's waits are put off: what it waited for is
/// its cursor, and all that it does later starts after that. So independent
/// bodies overlap although they are enqueued one after the other.
struct Fiber {
  Fiber *parent = nullptr;
  /// Whether somebody takes the token or a value of the async.execute.
  bool isUsed = false;
  /// Numbers of nodes.
  SmallVector<unsigned> cursor;

  bool isLazy() const { return parent; }
  bool isWithin(const Fiber *other) const {
    for (const Fiber *fiber = this; fiber; fiber = fiber->parent)
      if (fiber == other)
        return true;
    return false;
  }
};

/// Something that a token stands for.
struct Node {
  /// Outside: made by another block. Carried: what a loop hands its iterations,
  /// the work of earlier ones.
  enum Kind { Work, Alloc, Join, External, Outside, Carried };
  Kind kind;
  /// The token in the token form.
  Value token;
  Location loc;
  SmallVector<unsigned, 2> predecessors;
  Accesses accesses;
  Fiber *fiber;
  /// Whether the program takes the token, so that its order is trusted.
  bool isUsed;
  /// Whether the host has waited for it.
  bool isDone = false;
  /// Number of the last search that came by.
  unsigned mark = 0;
};

/// What becomes of work that is outstanding at the end of a block.
enum class AtEnd {
  /// The host waits for it.
  Wait,
  /// The function was given a stream, and stream assignment orders all that is
  /// outstanding into that stream.
  Leave,
  /// The op whose region it is returns it as tokens.
  CarryOut,
};

/// What the regions of an op touch and take.
struct RegionUses {
  bool isOpaque = false;
  bool hasSync = false;
  bool hasWork = false;
  /// Whether device work may use any allocation, and those that it does.
  bool usesAny = false;
  llvm::DenseSet<Value> used;
  Accesses sync;
  Accesses host;
  Accesses device;
};

class BlockImport {
public:
  BlockImport(ImportState &state, Block &block, AtEnd atEnd = AtEnd::Wait,
              BlockImport *parent = nullptr)
      : state(state), block(block), atEnd(atEnd), parent(parent) {
    fibers.push_back(std::make_unique<Fiber>());
  }

  LogicalResult run();
  void runSequential();

private:
  // Nodes.
  unsigned addNode(Node::Kind kind, Value token, Location loc,
                   ArrayRef<Value> dependencies, Accesses accesses,
                   Fiber &fiber, bool isUsed);
  unsigned nodeOf(Value token);
  Value tailOf(Value token);
  SmallVector<Value> tailsOf(ValueRange tokens);
  void markPast(unsigned node);
  bool isCovered(unsigned node, ArrayRef<Value> dependencies);
  bool isTail(const Node &node, const Fiber &fiber) const;
  /// Whether enclosing blocks may know the token. Those of an arith.select in
  /// this block have an unknown past, too, but are nobody else's business.
  bool isFromOutside(const Node &node) const {
    Value token = node.token;
    return node.kind == Node::Outside && token.getParentBlock() != &block;
  }
  static bool isVisible(const Node &node, const Fiber &fiber) {
    return node.fiber->isWithin(&fiber) || fiber.isWithin(node.fiber);
  }
  SmallVector<unsigned> collect(ArrayRef<unsigned> seeds,
                                function_ref<bool(const Node &)> wanted);
  void addUncovered(ArrayRef<unsigned> nodes, SetVector<Value> &dependencies);
  void addAllocations(Operation *op, ArrayRef<Access> accesses,
                      SetVector<Value> &dependencies);
  SetVector<Value> enclosingAllocations(ArrayRef<Base> bases, bool any);
  bool isCoveredOutside(Value allocation, ArrayRef<Value> dependencies);
  void addRaces(Operation *op, ArrayRef<Access> accesses,
                SetVector<Value> &dependencies);

  // Host waits.
  void setDone(ArrayRef<unsigned> nodes);
  void hostWait(ArrayRef<unsigned> nodes, Operation *before);
  void observe(ArrayRef<unsigned> nodes, Operation *before, Fiber &fiber);

  // Ops.
  void importOp(Operation *op, Fiber &fiber);
  void importWork(Operation *op, Fiber &fiber);
  void importWait(gpu::WaitOp op, Fiber &fiber);
  void importUnregister(Operation *op, Fiber &fiber);
  void importExecute(async::ExecuteOp op, Fiber &fiber);
  void importAwait(async::AwaitOp op, Fiber &fiber);
  void importTokenCall(func::CallOp op, Fiber &fiber);
  void importSelect(arith::SelectOp op, Fiber &fiber);
  RegionUses findUses(Operation *op);
  void waitBefore(Operation *op, const RegionUses &uses, Fiber &fiber);
  void importRegionOp(Operation *op, Fiber &fiber);
  void importBranches(Operation *op, const RegionUses &uses, Fiber &fiber);
  void importLoop(Operation *op, const RegionUses &uses, Fiber &fiber);
  void addCarried(BlockArgument argument, const RegionUses &uses, bool isUsed);
  void addResults(Operation *op, ArrayRef<std::unique_ptr<BlockImport>> imports,
                  const RegionUses &uses, Fiber &fiber);
  SetVector<Value> pastOfResult(Operation *op, unsigned number,
                                ArrayRef<std::unique_ptr<BlockImport>> imports);
  bool comesAfterArgument(Value passed, Value argument);
  llvm::DenseSet<Value> pastOutside(Value token);
  Value joinOpen(OpBuilder &builder, Location loc);
  void importHostOp(Operation *op, Fiber &fiber);
  void readTokenForm(Operation *op, Fiber &fiber);
  void finish();
  Operation *build(Operation *op, ValueRange dependencies);
  Value externalStream(Value pointer, Operation *before);

  ImportState &state;
  Block &block;
  AtEnd atEnd;
  /// The import of the block that this one is nested in, if tokens go through.
  BlockImport *parent;
  SmallVector<std::unique_ptr<Fiber>> fibers;
  std::vector<Node> nodes;
  /// Nodes that the host may not have waited for, in program order.
  std::vector<unsigned> live;
  unsigned searches = 0;
  llvm::DenseMap<Value, unsigned> nodeOfToken;
  llvm::DenseMap<Value, Value> tails;
  /// The nodes that an async.execute's token and values stand for.
  llvm::DenseMap<Value, SmallVector<unsigned>> executed;
  /// The plain value in an !async.value.
  llvm::DenseMap<Value, Value> forwarded;
  /// Allocations by their memref, and the nodes known to come after each.
  llvm::DenseMap<Value, unsigned> allocations;
  llvm::DenseMap<unsigned, llvm::DenseSet<unsigned>> afterAllocation;
  /// Allocations of enclosing blocks by their token, and the nodes known to
  /// come after each.
  llvm::DenseMap<Value, llvm::DenseSet<unsigned>> afterEnclosing;
  /// Tokens that a loop carries, and what they start as, if each later one
  /// comes after the one before.
  llvm::DenseMap<Value, Value> startOf;
  /// Tokens of enclosing blocks whose tails change in here, and what is
  /// outstanding at the end besides: what the op carries out.
  SmallVector<Value> retied;
  SmallVector<Value> open;
  /// Callers' streams by their pointer, with the last launch on each.
  llvm::DenseMap<Value, Value> externals;
  llvm::DenseMap<Value, unsigned> lastOnStream;
  /// Whether the ops get no tokens.
  bool isSequential = false;
  /// Set when a nested block could not be imported.
  bool failedNested = false;
};

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

unsigned BlockImport::addNode(Node::Kind kind, Value token, Location loc,
                              ArrayRef<Value> dependencies, Accesses accesses,
                              Fiber &fiber, bool isUsed) {
  SmallVector<unsigned, 2> predecessors;
  for (Value dependency : dependencies)
    predecessors.push_back(nodeOf(dependency));
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
  assert(isOurToken(token.getType()) &&
         "checked: a token is made before it is used");
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
  SmallVector<unsigned> worklist;
  for (Value dependency : dependencies)
    worklist.push_back(nodeOf(dependency));
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
      auto it = outer->allocations.find(base.value);
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
  SmallVector<unsigned> worklist;
  for (Value dependency : dependencies)
    worklist.push_back(nodeOf(dependency));
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
    auto it = allocations.find(base.value);
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
  if (state.mode == Mode::Trust || accesses.empty())
    return;
  SmallVector<unsigned> seeds;
  for (Value dependency : dependencies)
    seeds.push_back(nodeOf(dependency));
  SmallVector<unsigned> races = collect(seeds, [&](const Node &node) {
    return node.kind != Node::Outside && node.kind != Node::Carried &&
           mayConflict(node.accesses, accesses);
  });
  for (unsigned number : races) {
    if (state.mode == Mode::Strict) {
      dependencies.insert(nodes[number].token);
      continue;
    }
    InFlightDiagnostic diagnostic =
        op->emitWarning("may race with an earlier op: no token orders them, "
                        "they touch the same memory, and one writes");
    diagnostic.attachNote(nodes[number].loc) << "the earlier op";
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
// Device work
//===----------------------------------------------------------------------===//

Value BlockImport::externalStream(Value pointer, Operation *before) {
  Value &stream = externals[pointer];
  if (!stream) {
    OpBuilder builder(before);
    stream = StreamExternalOp::create(builder, before->getLoc(),
                                      builder.getType<StreamType>(), pointer);
  }
  return stream;
}

/// The op in the token form, before `op`.
Operation *BlockImport::build(Operation *op, ValueRange dependencies) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Type token;
  if (!isSequential)
    token = builder.getType<TokenType>();
  IntegerAttr id;
  DenseI64ArrayAttr after;
  Operation *result =
      llvm::TypeSwitch<Operation *, Operation *>(op)
          .Case([&](gpu::AllocOp alloc) {
            auto created = AllocOp::create(
                builder, loc, alloc.getMemref().getType(), token, dependencies,
                Value(), id, after, alloc.getDynamicSizes(),
                alloc.getSymbolOperands(), alloc.getHostShared());
            alloc.getMemref().replaceAllUsesWith(created.getMemref());
            return created;
          })
          .Case([&](gpu::DeallocOp dealloc) {
            return DeallocOp::create(builder, loc, token, dependencies, Value(),
                                     id, after, dealloc.getMemref());
          })
          .Case([&](gpu::MemcpyOp copy) {
            return MemcpyOp::create(builder, loc, token, dependencies, Value(),
                                    id, after, copy.getDst(), copy.getSrc());
          })
          .Case([&](gpu::MemsetOp set) {
            return MemsetOp::create(builder, loc, token, dependencies, Value(),
                                    id, after, set.getDst(), set.getValue());
          })
          .Case([&](gpu::LaunchFuncOp launch) {
            llvm::SmallDenseMap<Value, Value, 4> casts;
            auto toIndex = [&](Value size) -> Value {
              if (size.getType().isIndex())
                return size;
              Value &cast = casts[size];
              if (!cast)
                cast = builder.createOrFold<arith::IndexCastOp>(
                    loc, builder.getIndexType(), size);
              return cast;
            };
            Value stream;
            if (Value pointer = launch.getAsyncObject())
              stream = externalStream(pointer, op);
            SmallVector<Value> clusters;
            if (launch.hasClusterSize())
              clusters = {toIndex(launch.getClusterSizeX()),
                          toIndex(launch.getClusterSizeY()),
                          toIndex(launch.getClusterSizeZ())};
            Value sizes[] = {toIndex(launch.getGridSizeX()),
                             toIndex(launch.getGridSizeY()),
                             toIndex(launch.getGridSizeZ()),
                             toIndex(launch.getBlockSizeX()),
                             toIndex(launch.getBlockSizeY()),
                             toIndex(launch.getBlockSizeZ())};
            return LaunchOp::create(
                builder, loc, token, dependencies, stream, id, after,
                launch.getKernel(), sizes[0], sizes[1], sizes[2], sizes[3],
                sizes[4], sizes[5], clusters,
                launch.getDynamicSharedMemorySize(), /*cooperative=*/false,
                launch.getKernelOperands());
          });
  result->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  state.replaced.push_back(op);
  return result;
}

void BlockImport::importWork(Operation *op, Fiber &fiber) {
  auto asyncOp = cast<gpu::AsyncOpInterface>(op);
  Value upstreamToken = asyncOp.getAsyncToken();
  auto launch = dyn_cast<gpu::LaunchFuncOp>(op);
  Value pointer = launch ? launch.getAsyncObject() : Value();
  bool isAlloc = isa<gpu::AllocOp>(op);
  // A launch on a caller's stream is never waited for, `async` or not.
  bool isSync = !upstreamToken && !pointer && !isAlloc;

  SetVector<Value> dependencies;
  for (Value dependency : asyncOp.getAsyncDependencies()) {
    dependencies.insert(tailOf(dependency));
    nodeOf(dependencies.back());
  }

  Accesses accesses;
  if (!isAlloc)
    accesses = deviceAccesses(op, state.kernels);
  if (pointer) {
    auto last = lastOnStream.find(pointer);
    if (last != lastOnStream.end())
      dependencies.insert(nodes[last->second].token);
  }
  if (!isAlloc || upstreamToken)
    addUncovered(fiber.cursor, dependencies);
  if (!upstreamToken && !isAlloc) {
    // After all tails and after every op that may conflict.
    SmallVector<unsigned> seeds;
    for (Value dependency : dependencies)
      seeds.push_back(nodeOf(dependency));
    SmallVector<unsigned> earlier = collect(seeds, [&](const Node &node) {
      if (!isVisible(node, fiber))
        return false;
      bool isSyncTail = node.kind != Node::Alloc &&
                        node.kind != Node::External && isTail(node, fiber) &&
                        !pointer;
      return isSyncTail || mayConflict(node.accesses, accesses);
    });
    for (unsigned number : earlier)
      dependencies.insert(nodes[number].token);
  }
  addAllocations(op, accesses, dependencies);
  addRaces(op, accesses, dependencies);

  // The host waits before a free rather than after it: the free itself is
  // ordered by the device.
  bool isEagerFree = isSync && isa<gpu::DeallocOp>(op) && !fiber.isLazy();
  if (isEagerFree) {
    SmallVector<unsigned> waited;
    for (Value dependency : dependencies)
      waited.push_back(nodeOf(dependency));
    hostWait(waited, op);
    dependencies.clear();
  }

  Operation *created = build(op, dependencies.getArrayRef());
  Value token = cast<WorkOpInterface>(created).getAsyncToken();
  bool isUsed = upstreamToken && !upstreamToken.use_empty();
  if (isAlloc)
    accesses = deviceAccesses(created, state.kernels);
  Node::Kind kind = isAlloc   ? Node::Alloc
                    : pointer ? Node::External
                              : Node::Work;
  unsigned number =
      addNode(kind, token, op->getLoc(), dependencies.getArrayRef(),
              std::move(accesses), fiber, isUsed);
  if (isAlloc)
    allocations[cast<AllocOp>(created).getMemref()] = number;
  if (pointer)
    lastOnStream[pointer] = number;

  if (isUsed)
    tails[upstreamToken] = token;
  else if (upstreamToken)
    for (Value dependency : asyncOp.getAsyncDependencies())
      tails[dependency] = token;
  if (isEagerFree)
    nodes[number].isDone = true;
  else if (isSync && fiber.isLazy())
    fiber.cursor.assign({number});
  else if (isSync)
    hostWait({number}, op);
}

void BlockImport::importWait(gpu::WaitOp op, Fiber &fiber) {
  OpBuilder builder(op);
  state.replaced.push_back(op);
  SetVector<Value> dependencies;
  for (Value dependency : op.getAsyncDependencies())
    dependencies.insert(tailOf(dependency));

  if (Value upstreamToken = op.getAsyncToken()) {
    if (dependencies.empty()) {
      // A token without a past: nothing depends on it if nobody takes it.
      if (upstreamToken.use_empty())
        return;
      addUncovered(fiber.cursor, dependencies);
    }
    auto wait =
        WaitOp::create(builder, op.getLoc(), builder.getType<TokenType>(),
                       dependencies.getArrayRef());
    wait->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    bool isUsed = !upstreamToken.use_empty();
    unsigned number = addNode(Node::Join, wait.getAsyncToken(), op.getLoc(),
                              dependencies.getArrayRef(), {}, fiber, isUsed);
    nodes[number].isDone = dependencies.empty();
    if (isUsed)
      tails[upstreamToken] = wait.getAsyncToken();
    else
      for (Value dependency : op.getAsyncDependencies())
        tails[dependency] = wait.getAsyncToken();
    return;
  }

  SmallVector<unsigned> waited;
  for (Value dependency : dependencies)
    waited.push_back(nodeOf(dependency));
  if (waited.empty()) {
    // A sync op without tokens: after all tails.
    waited = collect({}, [&](const Node &node) {
      return node.kind != Node::External && isVisible(node, fiber) &&
             isTail(node, fiber);
    });
    return observe(waited, op, fiber);
  }
  if (fiber.isLazy())
    return observe(waited, op, fiber);
  // What the program waits for is waited for as written, twice if it says so.
  auto wait =
      WaitOp::create(builder, op.getLoc(), Type(), dependencies.getArrayRef());
  wait->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  setDone(waited);
}

/// Work that may still touch the memory is finished first: the host may give
/// the memory back right after.
void BlockImport::importUnregister(Operation *op, Fiber &fiber) {
  Accesses accesses = deviceAccesses(op, state.kernels);
  SmallVector<unsigned> users = collect({}, [&](const Node &node) {
    return node.kind != Node::Alloc && node.kind != Node::External &&
           isVisible(node, fiber) && mayConflict(node.accesses, accesses);
  });
  hostWait(users, op);
  if (auto unregister = dyn_cast<gpu::HostUnregisterOp>(op)) {
    OpBuilder builder(op);
    HostUnregisterOp::create(builder, op->getLoc(), unregister.getValue());
    state.replaced.push_back(op);
  }
}

/// Device work that is in the token form already keeps its tokens as they are.
void BlockImport::readTokenForm(Operation *op, Fiber &fiber) {
  if (auto wait = dyn_cast<WaitOp>(op)) {
    SmallVector<Value> dependencies(wait.getAsyncDependencies());
    if (!wait.isHostWait()) {
      unsigned number =
          addNode(Node::Join, wait.getAsyncToken(), op->getLoc(), dependencies,
                  {}, fiber, !wait.getAsyncToken().use_empty());
      nodes[number].isDone = dependencies.empty();
      return;
    }
    SmallVector<unsigned> waited;
    for (Value dependency : dependencies)
      waited.push_back(nodeOf(dependency));
    setDone(waited);
    return;
  }
  if (auto work = dyn_cast<WorkOpInterface>(op)) {
    Value token = work.getAsyncToken();
    if (!token)
      return;
    SmallVector<Value> dependencies(work.getAsyncDependencies());
    Node::Kind kind = isa<AllocOp>(op)   ? Node::Alloc
                      : work.getStream() ? Node::External
                                         : Node::Work;
    unsigned number =
        addNode(kind, token, op->getLoc(), dependencies,
                deviceAccesses(op, state.kernels), fiber, !token.use_empty());
    if (auto alloc = dyn_cast<AllocOp>(op))
      allocations[alloc.getMemref()] = number;
    return;
  }
  if (isa<HostUnregisterOp>(op))
    importUnregister(op, fiber);
}

//===----------------------------------------------------------------------===//
// The async dialect
//===----------------------------------------------------------------------===//

/// Enqueues the body here, in program order, as a fiber of its own.
void BlockImport::importExecute(async::ExecuteOp op, Fiber &fiber) {
  Fiber &inner = *fibers.emplace_back(std::make_unique<Fiber>());
  inner.parent = &fiber;
  inner.isUsed = !op->use_empty();
  auto follow = [&](ArrayRef<unsigned> earlier) {
    for (unsigned number : earlier)
      if (!nodes[number].isDone && !llvm::is_contained(inner.cursor, number))
        inner.cursor.push_back(number);
  };
  follow(fiber.cursor);
  for (Value dependency : op.getDependencies())
    follow(executed[dependency]);
  Block *body = op.getBody();
  for (auto [operand, argument] :
       llvm::zip_equal(op.getBodyOperands(), body->getArguments())) {
    follow(executed[operand]);
    argument.replaceAllUsesWith(isa<async::ValueType>(operand.getType())
                                    ? forwarded.lookup(operand)
                                    : operand);
  }
  for (Operation &bodyOp :
       llvm::make_early_inc_range(body->without_terminator())) {
    bodyOp.moveBefore(op);
    importOp(&bodyOp, inner);
  }

  // The token and the values are ready when all of the body's work is done.
  llvm::DenseSet<Value> waited;
  for (unsigned number : inner.cursor)
    waited.insert(nodes[number].token);
  SmallVector<unsigned> last = collect({}, [&](const Node &node) {
    return node.kind != Node::External &&
           (node.fiber->isWithin(&inner) || waited.contains(node.token));
  });
  bool hasDependents = llvm::any_of(op->getUsers(), [](Operation *user) {
    return !isa<async::AwaitOp>(user);
  });
  if (last.size() > 1 && hasDependents) {
    OpBuilder builder(op);
    SmallVector<Value> tokens;
    for (unsigned number : last)
      tokens.push_back(nodes[number].token);
    auto join = WaitOp::create(builder, op.getLoc(),
                               builder.getType<TokenType>(), tokens);
    last = {addNode(Node::Join, join.getAsyncToken(), op.getLoc(), tokens, {},
                    fiber, /*isUsed=*/true)};
  }
  executed[op.getToken()] = last;
  for (auto [result, value] : llvm::zip_equal(
           op.getBodyResults(), body->getTerminator()->getOperands())) {
    executed[result] = last;
    forwarded[result] = value;
  }
  state.replaced.push_back(op);
}

void BlockImport::importAwait(async::AwaitOp op, Fiber &fiber) {
  observe(executed[op.getOperand()], op, fiber);
  if (op.getResult())
    op.getResult().replaceAllUsesWith(forwarded.lookup(op.getOperand()));
  state.replaced.push_back(op);
}

//===----------------------------------------------------------------------===//
// Host code
//===----------------------------------------------------------------------===//

bool hasTokens(Operation *op) {
  auto isToken = [](Type type) {
    return isUpstreamToken(type) || isOurToken(type);
  };
  return llvm::any_of(op->getOperandTypes(), isToken) ||
         llvm::any_of(op->getResultTypes(), isToken);
}

/// A call that takes or returns tokens is ordered by them alone.
void BlockImport::importTokenCall(func::CallOp op, Fiber &fiber) {
  SmallVector<Value> dependencies;
  Accesses accesses;
  SmallVector<Base, 4> bases;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (isUpstreamToken(value.getType()) || isOurToken(value.getType())) {
      operand.set(tailOf(value));
      dependencies.push_back(operand.get());
    }
    if (leadsToMemory(value.getType())) {
      addAccess(value, /*writes=*/true, accesses);
      findBases(value, bases);
    }
  }
  SmallVector<unsigned> seeds(fiber.cursor);
  for (Value dependency : dependencies)
    seeds.push_back(nodeOf(dependency));
  // What the tokens do not tell is told by waiting: allocations, tails that the
  // callee may touch, and what the fiber has waited for.
  SmallVector<unsigned> waited = collect(seeds, [&](const Node &node) {
    bool matters = node.kind == Node::Alloc ||
                   (node.kind != Node::External && isTail(node, fiber));
    return matters && isVisible(node, fiber) &&
           mayConflict(node.accesses, accesses);
  });
  waited.append(fiber.cursor);
  for (Value allocation : enclosingAllocations(bases, /*any=*/false))
    if (!isCoveredOutside(allocation, dependencies))
      waited.push_back(nodeOf(allocation));
  hostWait(waited, op);

  auto tokenType = TokenType::get(op.getContext());
  for (OpResult result : op->getResults()) {
    if (isUpstreamToken(result.getType()))
      result.setType(tokenType);
    if (!isOurToken(result.getType()))
      continue;
    addNode(Node::Work, result, op.getLoc(), dependencies,
            {{Base(), /*writes=*/true}}, fiber, !result.use_empty());
    tails[result] = result;
  }
}

void BlockImport::importHostOp(Operation *op, Fiber &fiber) {
  std::optional<Accesses> accesses = hostAccesses(op);
  if (!accesses) {
    // Nobody knows what it does: it starts after all outstanding work.
    SmallVector<unsigned> all = collect(
        {}, [](const Node &node) { return node.kind != Node::External; });
    return hostWait(all, op);
  }
  if (accesses->empty())
    return;
  // Host-shared memory can be used as soon as its allocation is enqueued.
  auto conflicts = [&](const Node &node) {
    return node.kind != Node::External && node.kind != Node::Alloc &&
           mayConflict(node.accesses, *accesses);
  };
  SmallVector<unsigned> waited = collect({}, [&](const Node &node) {
    return isVisible(node, fiber) && isTail(node, fiber) && conflicts(node);
  });
  // What the fiber has waited for must be true now, if it can be seen.
  if (!fiber.cursor.empty()) {
    ++searches;
    for (unsigned number : fiber.cursor)
      markPast(number);
    if (llvm::any_of(live, [&](unsigned number) {
          return nodes[number].mark == searches && conflicts(nodes[number]);
        }))
      waited.append(fiber.cursor);
  }
  hostWait(waited, op);

  SetVector<Value> races;
  addRaces(op, *accesses, races);
  SmallVector<unsigned> racing;
  for (Value token : races)
    racing.push_back(nodeOf(token));
  hostWait(racing, op);
}

/// Whether `op` is of no interest to blocks: nothing in it is ordered.
bool isPlainHostCode(Operation *op) {
  return !op->walk<WalkOrder::PreOrder>([](Operation *inner) {
              if (isa_and_nonnull<gpu::GPUDialect, async::AsyncDialect,
                                  GPUAsyncDialect>(inner->getDialect()) ||
                  hasTokens(inner))
                return WalkResult::interrupt();
              return WalkResult::advance();
            }).wasInterrupted();
}

/// Either token, so that waiting for the result says nothing of the others.
void BlockImport::importSelect(arith::SelectOp op, Fiber &fiber) {
  op.getTrueValueMutable().set(tailOf(op.getTrueValue()));
  op.getFalseValueMutable().set(tailOf(op.getFalseValue()));
  op.getResult().setType(TokenType::get(op.getContext()));
  addNode(Node::Outside, op.getResult(), op.getLoc(), {}, {}, fiber,
          /*isUsed=*/true);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

RegionUses BlockImport::findUses(Operation *op) {
  RegionUses uses;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (inner == op)
      return;
    bool isDevice = isUpstreamWork(inner) || isa<WorkOpInterface>(inner);
    bool isTokenCall = isa<func::CallOp>(inner) && hasTokens(inner);
    if (isDevice)
      uses.device.append(deviceAccesses(inner, state.kernels));
    if (isTokenCall) {
      uses.device.push_back({Base(), /*writes=*/true});
      for (Value operand : inner->getOperands())
        if (leadsToMemory(operand.getType()))
          addAccess(operand, /*writes=*/true, uses.host);
    }
    if (isDevice || isTokenCall) {
      uses.hasWork = true;
      for (Value operand : inner->getOperands())
        if (leadsToMemory(operand.getType())) {
          SmallVector<Base, 2> bases;
          findBases(operand, bases);
          for (const Base &base : bases) {
            uses.used.insert(base.value);
            uses.usesAny |= base.kind == Base::Unknown;
          }
        } else if (isa<LLVM::LLVMPointerType>(operand.getType()) ||
                   mayBeAddress(operand)) {
          uses.usesAny = true;
        }
    }
    auto asyncOp = dyn_cast<gpu::AsyncOpInterface>(inner);
    if ((asyncOp && !asyncOp.getAsyncToken() && !isa<gpu::AllocOp>(inner)) ||
        isa<gpu::HostUnregisterOp, HostUnregisterOp>(inner)) {
      // A wait for tokens concerns nobody else.
      if (isa<gpu::WaitOp>(inner) && inner->getNumOperands())
        return;
      uses.hasSync = true;
      uses.sync.append(deviceAccesses(inner, state.kernels));
      return;
    }
    if (isDevice || asyncOp || hasTokens(inner) ||
        isa_and_nonnull<gpu::GPUDialect, async::AsyncDialect, GPUAsyncDialect>(
            inner->getDialect()))
      return;
    if (inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      return;
    if (std::optional<Accesses> accesses = hostAccesses(inner))
      uses.host.append(*accesses);
    else
      uses.isOpaque = true;
  });
  return uses;
}

/// What ops of the regions must start after, and no token tells them, is waited
/// for before the op.
void BlockImport::waitBefore(Operation *op, const RegionUses &uses,
                             Fiber &fiber) {
  bool takesTokens = carriesTokens(op);
  SmallVector<unsigned> waited = collect({}, [&](const Node &node) {
    if (uses.isOpaque)
      return node.kind != Node::External;
    if (!isVisible(node, fiber))
      return false;
    if (node.kind == Node::Alloc)
      return !takesTokens &&
             ((uses.usesAny && (node.predecessors.empty() || !node.isUsed)) ||
              llvm::any_of(node.accesses, [&](const Access &access) {
                return uses.used.contains(access.base.value);
              }));
    if (mayConflict(node.accesses, uses.sync))
      return true;
    return node.kind != Node::External && isTail(node, fiber) &&
           (uses.hasSync || mayConflict(node.accesses, uses.host));
  });
  if (uses.hasWork || uses.hasSync || !uses.host.empty())
    waited.append(fiber.cursor);
  if (!takesTokens) {
    SmallVector<Base, 4> bases;
    for (const Access &access : uses.device)
      bases.push_back(access.base);
    for (Value allocation : enclosingAllocations(bases, uses.usesAny))
      waited.push_back(nodeOf(allocation));
  }
  hostWait(waited, op);
}

/// Tokens from outside whose tails ops in the regions become: those that an op
/// takes whose own token nobody does.
SetVector<Value> findRetied(Operation *op) {
  SetVector<Value> tokens;
  op->walk([&](gpu::AsyncOpInterface inner) {
    Value token = inner.getAsyncToken();
    if (!token || !token.use_empty())
      return;
    for (Value dependency : inner.getAsyncDependencies())
      if (!op->isAncestor(dependency.getParentBlock()->getParentOp()))
        tokens.insert(dependency);
  });
  return tokens;
}

void convertTokens(ValueRange values) {
  for (Value value : values)
    if (isUpstreamToken(value.getType()))
      value.setType(TokenType::get(value.getContext()));
}

/// One token for all that is outstanding at the end of this block.
Value BlockImport::joinOpen(OpBuilder &builder, Location loc) {
  if (open.size() == 1)
    return open.front();
  Value token = WaitOp::create(builder, loc, builder.getType<TokenType>(), open)
                    .getAsyncToken();
  unsigned number = addNode(Node::Join, token, loc, open, {}, *fibers.front(),
                            /*isUsed=*/true);
  nodes[number].isDone = open.empty();
  return token;
}

/// A region op whose regions do device work. Tokens go in and out: used ones as
/// the program says, tails and all that is outstanding besides as further
/// results. Through other ops no token goes: their blocks wait for their work.
void BlockImport::importRegionOp(Operation *op, Fiber &fiber) {
  RegionUses uses = findUses(op);
  waitBefore(op, uses, fiber);
  if (isTokenLoop(op))
    return importLoop(op, uses, fiber);
  if (carriesTokens(op))
    return importBranches(op, uses, fiber);
  for (Region &region : op->getRegions())
    for (Block &inner : region)
      if (failed(BlockImport(state, inner).run()))
        failedNested = true;
}

/// Whether `token` stands for nothing on the only path that has it.
bool isUndefined(Value token) {
  Operation *op = token.getDefiningOp();
  return op && op->hasAttr(kUndefinedTokenAttrName);
}

/// Whether `token` is undefined wherever `flag` is 0: what a lifted loop passes
/// to its next iteration is so when it ends.
bool isUndefinedUnless(Value flag, Value token) {
  if (isUndefined(token) || matchPattern(flag, m_NonZero()))
    return true;
  auto tokenResult = dyn_cast<OpResult>(token);
  auto flagResult = dyn_cast<OpResult>(flag);
  if (!tokenResult || !flagResult ||
      tokenResult.getOwner() != flagResult.getOwner() ||
      !runsOneRegionOnce(tokenResult.getOwner()))
    return false;
  return llvm::all_of(tokenResult.getOwner()->getRegions(),
                      [&](Region &region) {
                        Operation *end = region.front().getTerminator();
                        return isUndefinedUnless(
                            end->getOperand(flagResult.getResultNumber()),
                            end->getOperand(tokenResult.getResultNumber()));
                      });
}

bool isUndefinedResult(OpResult result) {
  auto loop = dyn_cast<scf::WhileOp>(result.getOwner());
  if (!loop)
    return false;
  scf::ConditionOp end = loop.getConditionOp();
  auto flag = end.getCondition().getDefiningOp<arith::TruncIOp>();
  return flag && isUndefinedUnless(flag.getIn(),
                                   end.getArgs()[result.getResultNumber()]);
}

/// Tokens of enclosing blocks, and those that the block's loop carries, which
/// `token` comes after.
llvm::DenseSet<Value> BlockImport::pastOutside(Value token) {
  SmallVector<unsigned> worklist{nodeOf(token)};
  ++searches;
  llvm::DenseSet<Value> past;
  while (!worklist.empty()) {
    Node &current = nodes[worklist.pop_back_val()];
    if (current.mark == searches)
      continue;
    current.mark = searches;
    if (isFromOutside(current) || current.kind == Node::Carried)
      past.insert(current.token);
    worklist.append(current.predecessors.begin(), current.predecessors.end());
  }
  return past;
}

/// Whether `passed`, at the end of this block, comes after what the block was
/// given as `argument`.
bool BlockImport::comesAfterArgument(Value passed, Value argument) {
  return isUndefined(passed) || nodes[nodeOf(argument)].isDone ||
         pastOutside(passed).contains(argument);
}

/// Tokens of this block that a result of `op` comes after, whichever way the
/// regions go.
SetVector<Value>
BlockImport::pastOfResult(Operation *op, unsigned number,
                          ArrayRef<std::unique_ptr<BlockImport>> imports) {
  SetVector<Value> past;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (imports.front()->comesAfterArgument(loop.getYieldedValues()[number],
                                            loop.getRegionIterArg(number)))
      past.insert(loop.getInitArgs()[number]);
    return past;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    // Through the condition, and round by way of each token passed on.
    BlockImport &before = *imports.front();
    BlockImport &after = *imports.back();
    OperandRange passed = loop.getConditionOp().getArgs();
    for (auto [argument, init, yielded] :
         llvm::zip_equal(loop.getBeforeArguments(), loop.getInits(),
                         loop.getYieldOp().getResults())) {
      if (!isOurToken(argument.getType()) ||
          !before.comesAfterArgument(passed[number], argument))
        continue;
      bool comesRound = false;
      for (auto [next, value] :
           llvm::zip_equal(loop.getAfterArguments(), passed))
        comesRound |= isOurToken(next.getType()) &&
                      after.comesAfterArgument(yielded, next) &&
                      before.comesAfterArgument(value, argument);
      if (comesRound)
        past.insert(init);
    }
    return past;
  }
  bool isFirst = true;
  for (const std::unique_ptr<BlockImport> &inner : imports) {
    Value yielded = inner->block.getTerminator()->getOperand(number);
    if (isUndefined(yielded))
      continue;
    llvm::DenseSet<Value> ofRegion = inner->pastOutside(yielded);
    if (isFirst)
      // In the order of nodes, so that it does not depend on that of the set.
      for (const Node &node : inner->nodes) {
        if (ofRegion.contains(node.token))
          past.insert(node.token);
      }
    else
      past.remove_if([&](Value token) { return !ofRegion.contains(token); });
    isFirst = false;
  }
  return past;
}

/// Nodes for the tokens that a region op returns. One is in the past of another
/// if it is so wherever the op's results come from.
void BlockImport::addResults(Operation *op,
                             ArrayRef<std::unique_ptr<BlockImport>> imports,
                             const RegionUses &uses, Fiber &fiber) {
  // The results of scf.while are what its condition passes on.
  ArrayRef<std::unique_ptr<BlockImport>> sources = imports;
  if (isa<scf::WhileOp>(op))
    sources = sources.take_front();
  auto loop = dyn_cast<scf::ForOp>(op);
  auto comesBefore = [&](OpResult first, OpResult second) {
    if (loop && !isCovered(nodeOf(loop.getInitArgs()[first.getResultNumber()]),
                           loop.getInitArgs()[second.getResultNumber()]))
      return false;
    return llvm::all_of(sources, [&](const auto &inner) {
      Operation *end = inner->block.getTerminator();
      // scf.condition has its condition first.
      unsigned skipped = end->getNumOperands() - op->getNumResults();
      Value before = end->getOperand(skipped + first.getResultNumber());
      Value after = end->getOperand(skipped + second.getResultNumber());
      return isUndefined(before) || isUndefined(after) ||
             inner->isCovered(inner->nodeOf(before), after);
    });
  };
  struct Result {
    OpResult token;
    SmallVector<Value, 2> past;
  };
  SmallVector<Result> results;
  for (OpResult result : op->getResults())
    if (isOurToken(result.getType()) && !isUndefinedResult(result))
      results.push_back({result, {}});
  for (Result &result : results)
    for (Result &other : results)
      if (other.token != result.token &&
          comesBefore(other.token, result.token) &&
          (other.token.getResultNumber() < result.token.getResultNumber() ||
           !comesBefore(result.token, other.token)))
        result.past.push_back(other.token);
  // What comes before others comes first: nodes have topological numbers.
  llvm::sort(results, [](const Result &a, const Result &b) {
    return std::make_pair(a.past.size(), a.token.getResultNumber()) <
           std::make_pair(b.past.size(), b.token.getResultNumber());
  });
  for (Result &result : results) {
    llvm::append_range(
        result.past, pastOfResult(op, result.token.getResultNumber(), imports));
    addNode(Node::Work, result.token, op->getLoc(), result.past, uses.device,
            fiber, !result.token.use_empty());
  }
}

void BlockImport::importBranches(Operation *op, const RegionUses &uses,
                                 Fiber &fiber) {
  SetVector<Value> retied = findRetied(op);
  convertTokens(op->getResults());
  SmallVector<std::unique_ptr<BlockImport>> imports;
  bool isOpen = false;
  for (Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    imports.push_back(std::make_unique<BlockImport>(state, region.front(),
                                                    AtEnd::CarryOut, this));
    imports.back()->retied.assign(retied.begin(), retied.end());
    failedNested |= failed(imports.back()->run());
    isOpen |= !imports.back()->open.empty();
  }

  unsigned first = op->getNumResults();
  if (!retied.empty() || isOpen) {
    if (auto branch = dyn_cast<scf::IfOp>(op);
        branch && branch.getElseRegion().empty()) {
      OpBuilder builder(op->getContext());
      Block *block = builder.createBlock(&branch.getElseRegion());
      scf::YieldOp::create(builder, op->getLoc());
      imports.push_back(
          std::make_unique<BlockImport>(state, *block, AtEnd::CarryOut, this));
    }
    for (const std::unique_ptr<BlockImport> &inner : imports) {
      Operation *terminator = inner->block.getTerminator();
      OpBuilder builder(terminator);
      SmallVector<Value> carried = inner->tailsOf(retied.getArrayRef());
      if (isOpen)
        carried.push_back(inner->joinOpen(builder, op->getLoc()));
      terminator->insertOperands(terminator->getNumOperands(), carried);
    }
    op = appendTokens(op, {}, retied.size() + isOpen);
  }

  for (auto [index, token] : llvm::enumerate(retied))
    tails[token] = op->getResult(first + index);
  addResults(op, imports, uses, fiber);
}

/// Whether `token` is made from `argument` by ops that start after it.
bool comesAfter(Value token, BlockArgument argument) {
  SmallVector<Value> worklist{token};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (value == argument)
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (auto asyncOp = dyn_cast<gpu::AsyncOpInterface>(op))
      llvm::append_range(worklist, asyncOp.getAsyncDependencies());
    else if (auto work = dyn_cast<WorkOpInterface>(op))
      llvm::append_range(worklist, work.getAsyncDependencies());
    else if (isa<WaitOp, func::CallOp>(op))
      llvm::append_range(worklist, op->getOperands());
  }
  return false;
}

/// A token that a loop carries stands for work of earlier iterations.
void BlockImport::addCarried(BlockArgument argument, const RegionUses &uses,
                             bool isUsed) {
  addNode(Node::Carried, argument, argument.getLoc(), {}, uses.device,
          *fibers.front(), isUsed);
}

/// Takes a token out of lists of dependencies. A host wait for nothing else
/// goes.
void dropDependency(Value token) {
  while (!token.use_empty()) {
    Operation *user = *token.user_begin();
    auto wait = dyn_cast<WaitOp>(user);
    MutableOperandRange dependencies =
        wait ? wait.getAsyncDependenciesMutable()
             : cast<WorkOpInterface>(user).getAsyncDependenciesMutable();
    SmallVector<Value> kept = llvm::to_vector(llvm::make_filter_range(
        OperandRange(dependencies),
        [&](Value dependency) { return dependency != token; }));
    dependencies.assign(kept);
    if (wait && wait.isHostWait() && kept.empty())
      wait.erase();
  }
}

/// Besides what the program carries, the loop carries the tails that its body
/// changes, and a join of what its iterations leave outstanding.
void BlockImport::importLoop(Operation *op, const RegionUses &uses,
                             Fiber &fiber) {
  SetVector<Value> retied = findRetied(op);
  SmallVector<Value> carried = tailsOf(retied.getArrayRef());
  for (OpOperand &operand : op->getOpOperands())
    if (isUpstreamToken(operand.get().getType()) ||
        isOurToken(operand.get().getType()))
      operand.set(tailOf(operand.get()));
  convertTokens(op->getResults());

  SmallVector<std::unique_ptr<BlockImport>> imports;
  SmallVector<BlockArgument> leftOvers;
  bool isOpen = false;
  for (Region &region : op->getRegions()) {
    Block &block = region.front();
    BlockImport &inner = *imports.emplace_back(
        std::make_unique<BlockImport>(state, block, AtEnd::CarryOut, this));
    convertTokens(block.getArguments());
    for (BlockArgument argument : block.getArguments())
      if (isOurToken(argument.getType()))
        inner.addCarried(argument, uses, /*isUsed=*/true);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (auto [index, argument] : llvm::enumerate(loop.getRegionIterArgs()))
        if (isOurToken(argument.getType()) &&
            comesAfter(loop.getYieldedValues()[index], argument))
          inner.startOf[argument] = loop.getInitArgs()[index];
    Type type = TokenType::get(op->getContext());
    inner.retied.assign(retied.begin(), retied.end());
    for (auto [token, start] : llvm::zip_equal(retied, carried)) {
      BlockArgument argument = block.addArgument(type, op->getLoc());
      inner.addCarried(argument, uses, /*isUsed=*/false);
      inner.tails[token] = argument;
      inner.startOf[argument] = start;
    }
    leftOvers.push_back(block.addArgument(type, op->getLoc()));
    inner.addCarried(leftOvers.back(), uses, /*isUsed=*/false);
    failedNested |= failed(inner.run());
    isOpen |= llvm::any_of(
        inner.open, [&](Value token) { return token != leftOvers.back(); });
  }

  unsigned first = op->getNumResults();
  for (auto [inner, leftOver] : llvm::zip_equal(imports, leftOvers)) {
    Operation *terminator = inner->block.getTerminator();
    OpBuilder builder(terminator);
    SmallVector<Value> passed = inner->tailsOf(retied.getArrayRef());
    if (isOpen) {
      passed.push_back(inner->joinOpen(builder, op->getLoc()));
    } else {
      dropDependency(leftOver);
      inner->block.eraseArgument(leftOver.getArgNumber());
    }
    terminator->insertOperands(terminator->getNumOperands(), passed);
  }
  if (isOpen) {
    OpBuilder builder(op);
    carried.push_back(WaitOp::create(builder, op->getLoc(),
                                     builder.getType<TokenType>(), ValueRange())
                          .getAsyncToken());
    nodes[nodeOf(carried.back())].isDone = true;
  }
  if (!carried.empty())
    op = appendTokens(op, carried, carried.size());

  for (auto [index, token] : llvm::enumerate(retied))
    tails[token] = op->getResult(first + index);
  addResults(op, imports, uses, fiber);
}

void BlockImport::importOp(Operation *op, Fiber &fiber) {
  if (holdsKernels(op))
    return;
  if (isUpstreamWork(op))
    return importWork(op, fiber);
  if (auto wait = dyn_cast<gpu::WaitOp>(op))
    return importWait(wait, fiber);
  if (auto hostRegister = dyn_cast<gpu::HostRegisterOp>(op)) {
    OpBuilder builder(op);
    HostRegisterOp::create(builder, op->getLoc(), hostRegister.getValue());
    state.replaced.push_back(op);
    return;
  }
  if (isa<gpu::HostUnregisterOp>(op))
    return importUnregister(op, fiber);
  if (auto execute = dyn_cast<async::ExecuteOp>(op))
    return importExecute(execute, fiber);
  if (auto await = dyn_cast<async::AwaitOp>(op))
    return importAwait(await, fiber);
  if (isa_and_nonnull<GPUAsyncDialect>(op->getDialect()))
    return readTokenForm(op, fiber);
  if (isa<func::CallOp>(op) && hasTokens(op))
    return importTokenCall(cast<func::CallOp>(op), fiber);
  if (isa<arith::SelectOp>(op) && hasTokens(op))
    return importSelect(cast<arith::SelectOp>(op), fiber);
  if (op->getNumRegions() && !isPlainHostCode(op))
    return importRegionOp(op, fiber);
  importHostOp(op, fiber);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Whether control flow or an arith.select may or may not consume the token.
/// That is the program's business; what it drops is complete when the function
/// returns.
bool isUsedConditionally(Value token, Block *block) {
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
    if (!isUpstreamToken(type) && !isOurToken(type))
      continue;
    operand.set(tailOf(operand.get()));
    returned.push_back(nodeOf(operand.get()));
  }
  for (Value tail : tailsOf(retied))
    returned.push_back(nodeOf(tail));
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
      for (unsigned number : left)
        open.push_back(nodes[number].token);
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

LogicalResult BlockImport::run() {
  Fiber &fiber = *fibers.front();
  // What a caller's tokens stand for may still run, and may touch anything.
  for (BlockArgument argument : block.getArguments())
    if (!parent && isOurToken(argument.getType()))
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
    if (isUpstreamWork(&op)) {
      build(&op, {});
    } else if (isa<gpu::WaitOp>(op)) {
      state.replaced.push_back(&op);
    } else if (auto hostRegister = dyn_cast<gpu::HostRegisterOp>(op)) {
      OpBuilder builder(&op);
      HostRegisterOp::create(builder, op.getLoc(), hostRegister.getValue());
      state.replaced.push_back(&op);
    } else if (auto unregister = dyn_cast<gpu::HostUnregisterOp>(op)) {
      OpBuilder builder(&op);
      HostUnregisterOp::create(builder, op.getLoc(), unregister.getValue());
      state.replaced.push_back(&op);
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        BlockImport(state, inner).runSequential();
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether nothing in the function says what order device work has: no token,
/// no op of the async dialect, no stream.
bool isTokenFree(FunctionOpInterface function) {
  if (llvm::any_of(function.getArgumentTypes(), isUpstreamToken) ||
      llvm::any_of(function.getArgumentTypes(), isOurToken))
    return false;
  return !function
              ->walk([&](Operation *op) {
                auto launch = dyn_cast<gpu::LaunchFuncOp>(op);
                bool isOrdered =
                    hasTokens(op) || isa<StreamExternalOp>(op) ||
                    isa_and_nonnull<async::AsyncDialect>(op->getDialect()) ||
                    (launch && launch.getAsyncObject());
                return isOrdered ? WalkResult::interrupt()
                                 : WalkResult::advance();
              })
              .wasInterrupted();
}

/// An op that says that streams have been assigned, or forks been made
/// explicit, already.
Operation *findLaterForm(Operation *function) {
  Operation *found = nullptr;
  function->walk([&](Operation *op) {
    auto work = dyn_cast<WorkOpInterface>(op);
    if (isa<ForkOp, ReleaseOp, StreamCreateOp, StreamWaitOp,
            StreamSynchronizeOp, EventRecordOp, EventReadyOp, EventDestroyOp,
            EventSynchronizeOp>(op) ||
        (work && work.getStream() && !work.getAsyncToken()))
      found = op;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

/// An upstream op that is to be imported.
Operation *findUpstreamOp(Operation *function) {
  Operation *found = nullptr;
  function->walk([&](Operation *op) {
    if (isa_and_nonnull<gpu::GPUDialect, async::AsyncDialect>(op->getDialect()))
      found = op;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

/// Whether the function launches on a stream that its body is given.
bool usesCallersStream(FunctionOpInterface function) {
  return function
      ->walk([&](Operation *op) {
        Value pointer;
        if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
          pointer = launch.getAsyncObject();
        else if (auto external = dyn_cast<StreamExternalOp>(op))
          pointer = external.getPointer();
        bool isOurs =
            pointer && pointer.getParentRegion() == &function.getFunctionBody();
        return isOurs ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Gives the function's type and entry block our tokens.
void convertSignature(FunctionOpInterface function) {
  Type token = TokenType::get(function.getContext());
  auto convert = [&](ArrayRef<Type> types) {
    return llvm::map_to_vector(
        types, [&](Type type) { return isUpstreamToken(type) ? token : type; });
  };
  SmallVector<Type> inputs = convert(function.getArgumentTypes());
  SmallVector<Type> results = convert(function.getResultTypes());
  function.setType(function.cloneTypeWith(inputs, results));
  if (function.isExternal())
    return;
  for (BlockArgument argument : function.getArguments())
    if (isUpstreamToken(argument.getType()))
      argument.setType(token);
}

struct ConvertGPUToGPUAsync
    : public gpuasync::impl::ConvertGPUToGPUAsyncBase<ConvertGPUToGPUAsync> {
  using ConvertGPUToGPUAsyncBase::ConvertGPUToGPUAsyncBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    ImportState state;
    if (importMode == "trust") {
      state.mode = Mode::Trust;
    } else if (importMode == "check") {
      state.mode = Mode::Check;
    } else if (importMode == "strict") {
      state.mode = Mode::Strict;
    } else {
      module.emitError("convert-gpu-to-gpu-async: unknown import mode '")
          << importMode << "', expected trust, check or strict";
      return signalPassFailure();
    }
    if (failed(checkImportable(module)))
      return signalPassFailure();

    SmallVector<FunctionOpInterface> functions;
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (holdsKernels(op))
        return WalkResult::skip();
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        functions.push_back(function);
      return WalkResult::advance();
    });
    for (FunctionOpInterface function : functions) {
      if (llvm::any_of(function.getArgumentTypes(), isUpstreamToken) ||
          llvm::any_of(function.getResultTypes(), isUpstreamToken))
        convertSignature(function);
    }
    bool failedAny = false;
    for (FunctionOpInterface function : functions) {
      if (function.isExternal() || isPlainHostCode(function))
        continue;
      if (Operation *later = findLaterForm(function)) {
        if (Operation *upstream = findUpstreamOp(function)) {
          failedAny = true;
          upstream->emitOpError("is in a function that is past the token form")
                  .attachNote(later->getLoc())
              << "this op belongs to the linear or the stream form";
        }
        continue;
      }
      if (isTokenFree(function)) {
        for (Block &block : function.getFunctionBody())
          BlockImport(state, block).runSequential();
        continue;
      }
      bool hasCallersStream = usesCallersStream(function);
      for (Block &block : function.getFunctionBody()) {
        bool returns = block.hasNoSuccessors();
        BlockImport blockImport(state, block,
                                hasCallersStream && returns ? AtEnd::Leave
                                                            : AtEnd::Wait);
        failedAny |= failed(blockImport.run());
      }
    }
    for (Operation *op : llvm::reverse(state.replaced)) {
      op->dropAllUses();
      op->erase();
    }
    if (failedAny)
      signalPassFailure();
  }
};

} // namespace

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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
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

/// Refuses a token that `op` makes in a way that we do not follow.
LogicalResult checkResult(Operation *op, OpResult result) {
  if (!isUpstreamOrder(result.getType()) || isUpstreamWork(op) ||
      isa<gpu::WaitOp, async::ExecuteOp, async::AwaitOp, func::CallOp>(op))
    return success();
  if (op->getNumRegions())
    return op->emitOpError(
        "returns a token: tokens that cross control flow are "
        "not supported yet; wait for the token in the region "
        "that makes it");
  return op->emitOpError("makes a value of type ")
         << result.getType() << ", which is not supported";
}

LogicalResult checkArgument(BlockArgument argument) {
  Type type = argument.getType();
  Operation *parent = argument.getOwner()->getParentOp();
  if (!isUpstreamOrder(type) || isa<async::ExecuteOp>(parent))
    return success();
  bool isEntry =
      isa<FunctionOpInterface>(parent) && argument.getOwner()->isEntryBlock();
  if (isEntry && isUpstreamToken(type))
    return success();
  if (isEntry)
    return parent->emitOpError("takes an argument of type ")
           << type
           << ", which is not supported: the async runtime's values cannot be "
              "passed in; take a !gpu.async.token instead";
  return parent
             ->emitOpError("has a block argument that is a token: tokens that "
                           "cross control "
                           "flow are not supported yet; wait for the token "
                           "before the branch")
             .attachNote(argument.getLoc())
         << "this argument";
}

/// Refuses a use of a token outside of the block that makes it.
LogicalResult checkUse(OpOperand &use) {
  Value token = use.get();
  Operation *user = use.getOwner();
  Block *block = user->getBlock();
  while (block != token.getParentBlock()) {
    auto execute = dyn_cast_or_null<async::ExecuteOp>(block->getParentOp());
    if (!execute) {
      InFlightDiagnostic diagnostic =
          user->emitOpError("takes a token of another block: tokens that cross "
                            "control flow are not supported yet; wait for it "
                            "(gpu.wait, async.await) where it is made, or keep "
                            "its users in that block");
      diagnostic.attachNote(token.getLoc()) << "the token is made here";
      return diagnostic;
    }
    block = execute->getBlock();
  }
  if (isUpstreamWork(user) || isa<gpu::WaitOp, func::CallOp, async::ExecuteOp,
                                  async::YieldOp, async::AwaitOp>(user))
    return success();
  if (isa<func::ReturnOp>(user) && isUpstreamToken(token.getType()))
    return success();
  InFlightDiagnostic diagnostic =
      user->hasTrait<OpTrait::IsTerminator>() || user->getNumRegions()
          ? user->emitOpError("takes a token: tokens that cross control flow "
                              "are not supported yet; wait for it before")
          : user->emitOpError("takes a token, which is not supported");
  diagnostic.attachNote(token.getLoc()) << "the token is made here";
  return diagnostic;
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
  enum Kind { Work, Alloc, Join, External, Outside };
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

class BlockImport {
public:
  BlockImport(ImportState &state, Block &block,
              bool leavesWorkToCallersStream = false)
      : state(state), block(block),
        leavesWorkToCallersStream(leavesWorkToCallersStream) {
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
  Value tailOf(Value upstreamToken);
  void markPast(unsigned node);
  bool isCovered(unsigned node, ArrayRef<Value> dependencies);
  bool isTail(const Node &node, const Fiber &fiber) const;
  static bool isVisible(const Node &node, const Fiber &fiber) {
    return node.fiber->isWithin(&fiber) || fiber.isWithin(node.fiber);
  }
  SmallVector<unsigned> collect(ArrayRef<unsigned> seeds,
                                function_ref<bool(const Node &)> wanted);
  void addUncovered(ArrayRef<unsigned> nodes, SetVector<Value> &dependencies);
  void addAllocations(Operation *op, ArrayRef<Access> accesses,
                      SetVector<Value> &dependencies);
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
  void importRegionOp(Operation *op, Fiber &fiber);
  void importHostOp(Operation *op, Fiber &fiber);
  void readTokenForm(Operation *op, Fiber &fiber);
  void finish();
  Operation *build(Operation *op, ValueRange dependencies);
  Value externalStream(Value pointer, Operation *before);

  ImportState &state;
  Block &block;
  /// Whether the block returns from a function that was given a stream: stream
  /// assignment orders all that is outstanding into that stream.
  bool leavesWorkToCallersStream;
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
unsigned BlockImport::nodeOf(Value token) {
  auto it = nodeOfToken.find(token);
  if (it != nodeOfToken.end())
    return it->second;
  return addNode(Node::Outside, token, token.getLoc(), {},
                 {{Base(), /*writes=*/true}}, *fibers.front(),
                 /*isUsed=*/true);
}

Value BlockImport::tailOf(Value upstreamToken) {
  Value tail = tails.lookup(upstreamToken);
  assert(tail && "checked: a token is made before it is used");
  return tail;
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

/// An allocation precedes the users of its memref, whatever tokens they take.
/// An op that touches memory from who knows where comes after all allocations
/// that the program gives no token.
void BlockImport::addAllocations(Operation *op, ArrayRef<Access> accesses,
                                 SetVector<Value> &dependencies) {
  auto addAllocation = [&](unsigned allocation) {
    if (!isCovered(allocation, dependencies.getArrayRef()))
      dependencies.insert(nodes[allocation].token);
    // The caller's node is the next one.
    afterAllocation[allocation].insert(nodes.size());
  };
  for (Value operand : op->getOperands()) {
    if (!isMemory(operand.getType()))
      continue;
    SmallVector<Base, 2> bases;
    findBases(operand, bases);
    for (const Base &base : bases) {
      auto it = allocations.find(base.value);
      if (it != allocations.end())
        addAllocation(it->second);
    }
  }
  bool isAnywhere = llvm::any_of(accesses, [](const Access &access) {
    return access.base.kind == Base::Unknown;
  });
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
    return node.kind != Node::Outside && mayConflict(node.accesses, accesses);
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
    addNode(Node::Join, wait.getAsyncToken(), op.getLoc(),
            dependencies.getArrayRef(), {}, fiber, isUsed);
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
      addNode(Node::Join, wait.getAsyncToken(), op->getLoc(), dependencies, {},
              fiber, !wait.getAsyncToken().use_empty());
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
  for (OpOperand &operand : op->getOpOperands()) {
    if (isUpstreamToken(operand.get().getType()))
      operand.set(tailOf(operand.get()));
    if (isOurToken(operand.get().getType()))
      dependencies.push_back(operand.get());
    if (isMemory(operand.get().getType()))
      addAccess(operand.get(), /*writes=*/true, accesses);
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

/// A region op whose regions do device work: no order can be carried in or out,
/// so that what its ops must start after is waited for before it, and each of
/// its blocks waits for its own work at its end.
void BlockImport::importRegionOp(Operation *op, Fiber &fiber) {
  bool isOpaque = false;
  bool hasSync = false;
  bool hasWork = false;
  bool usesAny = false;
  Accesses sync;
  Accesses host;
  llvm::DenseSet<Value> used;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (inner == op)
      return;
    bool isDevice = isUpstreamWork(inner) || isa<WorkOpInterface>(inner);
    if (isDevice || (isa<func::CallOp>(inner) && hasTokens(inner))) {
      hasWork = true;
      for (Value operand : inner->getOperands())
        if (isMemory(operand.getType())) {
          SmallVector<Base, 2> bases;
          findBases(operand, bases);
          for (const Base &base : bases) {
            used.insert(base.value);
            usesAny |= base.kind == Base::Unknown;
          }
        } else if (isa<LLVM::LLVMPointerType>(operand.getType()) ||
                   mayBeAddress(operand)) {
          usesAny = true;
        }
    }
    auto asyncOp = dyn_cast<gpu::AsyncOpInterface>(inner);
    if ((asyncOp && !asyncOp.getAsyncToken() && !isa<gpu::AllocOp>(inner)) ||
        isa<gpu::HostUnregisterOp, HostUnregisterOp>(inner)) {
      // A wait for tokens that are local concerns nobody else.
      if (isa<gpu::WaitOp>(inner) && inner->getNumOperands())
        return;
      hasSync = true;
      sync.append(deviceAccesses(inner, state.kernels));
      return;
    }
    if (isDevice || asyncOp || hasTokens(inner) ||
        isa_and_nonnull<gpu::GPUDialect, async::AsyncDialect, GPUAsyncDialect>(
            inner->getDialect()))
      return;
    if (inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      return;
    if (std::optional<Accesses> accesses = hostAccesses(inner))
      host.append(*accesses);
    else
      isOpaque = true;
  });

  SmallVector<unsigned> waited = collect({}, [&](const Node &node) {
    if (isOpaque)
      return node.kind != Node::External;
    if (!isVisible(node, fiber))
      return false;
    if (node.kind == Node::Alloc)
      return (usesAny && (node.predecessors.empty() || !node.isUsed)) ||
             llvm::any_of(node.accesses, [&](const Access &access) {
               return used.contains(access.base.value);
             });
    if (mayConflict(node.accesses, sync))
      return true;
    return node.kind != Node::External && isTail(node, fiber) &&
           (hasSync || mayConflict(node.accesses, host));
  });
  if (hasWork || hasSync || !host.empty())
    waited.append(fiber.cursor);
  hostWait(waited, op);

  for (Region &region : op->getRegions())
    for (Block &inner : region)
      if (failed(BlockImport(state, inner).run()))
        failedNested = true;
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
  if (op->getNumRegions() && !isPlainHostCode(op))
    return importRegionOp(op, fiber);
  importHostOp(op, fiber);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// The end of the block: nothing stays outstanding but what a function returns
/// as tokens.
void BlockImport::finish() {
  if (!block.mightHaveTerminator())
    return;
  Operation *terminator = block.getTerminator();
  SmallVector<unsigned> returned;
  for (OpOperand &operand : terminator->getOpOperands()) {
    if (isUpstreamToken(operand.get().getType()))
      operand.set(tailOf(operand.get()));
    if (isOurToken(operand.get().getType()))
      returned.push_back(nodeOf(operand.get()));
  }
  if (leavesWorkToCallersStream)
    return;
  // Tokens from elsewhere stand for others' work; tokens of ours that are taken
  // in another block are waited for there. A free needs no wait, but what it
  // comes after does.
  SmallVector<unsigned> open = collect(returned, [&](const Node &node) {
    if (node.kind == Node::External || node.kind == Node::Outside)
      return false;
    return llvm::all_of(node.token.getUsers(), [&](Operation *user) {
      return user->getBlock() == &block;
    });
  });
  bool isWorkOpen = llvm::any_of(
      open, [&](unsigned number) { return nodes[number].kind != Node::Alloc; });
  if (isWorkOpen) {
    InFlightDiagnostic diagnostic =
        mlir::emitRemark(terminator->getLoc(),
                         "the host waits here for device work that the program "
                         "does not wait for");
    unsigned shown = 0;
    for (unsigned number : open)
      if (nodes[number].kind != Node::Alloc && ++shown <= 8)
        diagnostic.attachNote(nodes[number].loc) << "nobody takes this token";
  }
  hostWait(open, terminator);
}

LogicalResult BlockImport::run() {
  Fiber &fiber = *fibers.front();
  for (BlockArgument argument : block.getArguments())
    if (isOurToken(argument.getType()))
      tails[argument] = argument;
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
        BlockImport blockImport(state, block, hasCallersStream && returns);
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

//===- BlockImport.h - import of one block of upstream ops ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule that convert-gpu-to-gpu-async makes of a block: what its ops
// touch, what each comes after, and what the host has waited for.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_CONVERSION_GPUTOGPUASYNC_BLOCKIMPORT_H
#define GPUASYNC_LIB_CONVERSION_GPUTOGPUASYNC_BLOCKIMPORT_H

#include "GPUAsync/Analysis/Memory/MemoryAccesses.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/OpKinds.h"
#include "GPUAsync/IR/RegionTokens.h"
#include "GPUAsync/Options.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include <memory>

namespace mlir::gpuasync::upstream {

bool isUpstreamToken(Type type);
bool isAsyncDialectType(Type type);
/// A token or value of either dialect that orders work.
bool isUpstreamOrder(Type type);
/// Upstream ops that do device work in our sense, in order of tokens.
bool isUpstreamWork(Operation *op);
/// Whether `op` takes or returns tokens.
bool hasTokens(Operation *op);
/// Whether `op` is of no interest to blocks: nothing in it is ordered.
bool isPlainHostCode(Operation *op);
/// Makes upstream's tokens ours.
void convertTokens(ValueRange values);

/// Whether the host code in `root` can be imported; reports every op that is
/// refused.
LogicalResult checkImportable(Operation *root);

/// State that all blocks of a module share.
struct ImportState {
  /// What a call that takes or returns tokens may touch of what its caller
  /// knows: what it is given, by memrefs, pointers and addresses in numbers.
  Accesses accessesOf(func::CallOp call);
  /// Whether device work of the function may touch memory that nothing is known
  /// of.
  bool touchesAnywhere(FunctionOpInterface function);

  KernelTable kernels;
  SymbolTableCollection symbols;
  llvm::DenseMap<Operation *, bool> anywhere;
  ImportMode mode = ImportMode::Trust;
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
  template <typename Tokens>
  SmallVector<unsigned> nodesOf(const Tokens &tokens) {
    return llvm::map_to_vector(tokens,
                               [&](Value token) { return nodeOf(token); });
  }
  SmallVector<Value> tokensOf(ArrayRef<unsigned> numbers) {
    return llvm::map_to_vector(
        numbers, [&](unsigned number) { return nodes[number].token; });
  }
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

} // namespace mlir::gpuasync::upstream

#endif // GPUASYNC_LIB_CONVERSION_GPUTOGPUASYNC_BLOCKIMPORT_H

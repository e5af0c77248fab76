//===- BlockImportOps.cpp - ops of one block --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device work, waits, the async dialect, calls that carry tokens, and host
// code.
//===----------------------------------------------------------------------===//

#include "BlockImport.h"
#include "GPUAsync/Analysis/Memory/NumberSources.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::upstream;

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
          .Case([&](gpu::HostRegisterOp host) {
            return HostRegisterOp::create(builder, loc, host.getValue());
          })
          .Case([&](gpu::HostUnregisterOp host) {
            return HostUnregisterOp::create(builder, loc, host.getValue());
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
    SmallVector<unsigned> earlier =
        collect(nodesOf(dependencies), [&](const Node &node) {
          if (!isVisible(node, fiber))
            return false;
          bool isSyncTail = node.kind != Node::Alloc &&
                            node.kind != Node::External &&
                            isTail(node, fiber) && !pointer;
          return isSyncTail || mayConflict(node.accesses, accesses);
        });
    dependencies.insert_range(tokensOf(earlier));
  }
  addAllocations(op, accesses, dependencies);
  addRaces(op, accesses, dependencies);

  // The host waits before a free rather than after it: the free itself is
  // ordered by the device.
  bool isEagerFree = isSync && isa<gpu::DeallocOp>(op) && !fiber.isLazy();
  if (isEagerFree) {
    hostWait(nodesOf(dependencies), op);
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

  SmallVector<unsigned> waited = nodesOf(dependencies);
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
  if (isa<gpu::HostUnregisterOp>(op))
    build(op, {});
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
    setDone(nodesOf(dependencies));
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
  if (isa<ResidentOp>(op))
    importHostOp(op, fiber);
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
    SmallVector<Value> tokens = tokensOf(last);
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

bool upstream::hasTokens(Operation *op) {
  auto isToken = [](Type type) {
    return isUpstreamToken(type) || isa<TokenType>(type);
  };
  return llvm::any_of(op->getOperandTypes(), isToken) ||
         llvm::any_of(op->getResultTypes(), isToken);
}

bool ImportState::touchesAnywhere(FunctionOpInterface function) {
  auto [known, isNew] = anywhere.try_emplace(function, false);
  if (!isNew)
    return known->second;
  bool result = false;
  function->walk([&](Operation *op) {
    auto isAnywhere = [](const Access &access) {
      return access.base.kind == Base::Unknown;
    };
    if (isUpstreamWork(op) || isa<WorkOpInterface>(op))
      result |= llvm::any_of(deviceAccesses(op, kernels), isAnywhere);
    else if (auto call = dyn_cast<func::CallOp>(op); call && hasTokens(op))
      result |= llvm::any_of(accessesOf(call), isAnywhere);
  });
  return anywhere[function] = result;
}

Accesses ImportState::accessesOf(func::CallOp call) {
  Accesses accesses;
  bool passesAddress = false;
  for (Value operand : call.getOperands()) {
    if (leadsToMemory(operand.getType()))
      addAccess(operand, /*writes=*/true, accesses);
    else if (!isUpstreamToken(operand.getType()) && !isToken(operand))
      passesAddress |= isPointer(operand.getType()) || mayBeAddress(operand);
  }
  if (!passesAddress)
    return accesses;
  auto callee = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      call, call.getCalleeAttr());
  if (!callee || callee.isExternal() || touchesAnywhere(callee))
    accesses.push_back({Base(), /*writes=*/true});
  return accesses;
}

/// A call that takes or returns tokens is ordered by them alone.
void BlockImport::importTokenCall(func::CallOp op, Fiber &fiber) {
  SmallVector<Value> dependencies;
  Accesses accesses = state.accessesOf(op);
  bool isAnywhere = llvm::any_of(accesses, [](const Access &access) {
    return access.base.kind == Base::Unknown;
  });
  SmallVector<Base, 4> bases;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (isUpstreamToken(value.getType()) || isToken(value)) {
      operand.set(tailOf(value));
      dependencies.push_back(operand.get());
    }
    if (leadsToMemory(value.getType()))
      findBases(value, bases);
  }
  SmallVector<unsigned> seeds(fiber.cursor);
  seeds.append(nodesOf(dependencies));
  // What the tokens do not tell is told by waiting: allocations, tails that the
  // callee may touch, and what the fiber has waited for.
  SmallVector<unsigned> waited = collect(seeds, [&](const Node &node) {
    bool matters = node.kind == Node::Alloc ||
                   (node.kind != Node::External && isTail(node, fiber));
    return matters && isVisible(node, fiber) &&
           mayConflict(node.accesses, accesses);
  });
  waited.append(fiber.cursor);
  for (Value allocation : enclosingAllocations(bases, isAnywhere))
    if (!isCoveredOutside(allocation, dependencies))
      waited.push_back(nodeOf(allocation));
  hostWait(waited, op);

  auto tokenType = TokenType::get(op.getContext());
  for (OpResult result : op->getResults()) {
    if (isUpstreamToken(result.getType()))
      result.setType(tokenType);
    if (!isToken(result))
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
  hostWait(nodesOf(races), op);
}

bool upstream::isPlainHostCode(Operation *op) {
  return !op->walk<WalkOrder::PreOrder>([](Operation *inner) {
              if (isUpstreamOp(inner) || isAsyncOp(inner) || hasTokens(inner))
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

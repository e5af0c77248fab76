//===- BlockFunctions.cpp - the loops over the threads of a block *- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block function (gpuasync_cpu_block_fn) loads the parameters of a kernel and
// calls it for every thread of a block, or once if it is cut at its barriers.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "Lowering.h"
#include "gpuasync/RuntimeABI.h"
#include <cstddef>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

/// Marks what a thread reads and writes through the function's arguments as
/// independent of the block's other threads. Without a barrier between them,
/// one thread may not rely on another's plain accesses: that is a data race.
/// Atomic and volatile accesses are left out, and so are what stands for an
/// atomic and the thread's own stack, which all threads of the loop share once
/// the thread function is inlined.
void CPULowering::markParallelAccesses(LLVM::LLVMFuncOp thread,
                                       Attribute group) {
  auto throughArgument = [&](Value address) {
    while (true) {
      if (auto gep = address.getDefiningOp<LLVM::GEPOp>())
        address = gep.getBase();
      else if (auto cast = address.getDefiningOp<LLVM::BitcastOp>())
        address = cast.getArg();
      else
        break;
    }
    auto argument = dyn_cast<BlockArgument>(address);
    return argument && argument.getOwner() == &thread.getBody().front();
  };
  ArrayAttr groups = builder.getArrayAttr(group);
  thread.walk([&](Operation *op) {
    if (op->hasAttr(inOrderName))
      return;
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      if (!load.getVolatile_() &&
          load.getOrdering() == LLVM::AtomicOrdering::not_atomic &&
          throughArgument(load.getAddr()))
        load.setAccessGroupsAttr(groups);
    } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
      if (!store.getVolatile_() &&
          store.getOrdering() == LLVM::AtomicOrdering::not_atomic &&
          throughArgument(store.getAddr()))
        store.setAccessGroupsAttr(groups);
    }
  });
}

/// A launch with another block size than known_block_size fails. Returns the
/// block in which the kernel goes on.
Block *CPULowering::buildPromiseCheck(Block *entry, const Function &kernel,
                                      ArrayRef<Value> given) {
  Location loc = source.getLoc();
  Type i32 = builder.getI32Type();
  std::string message = "launched with another block size than its "
                        "known_block_size, ";
  Value differs;
  for (auto [i, size] : llvm::enumerate(kernel.blockSize)) {
    Value known = LLVM::ConstantOp::create(builder, loc, i64,
                                           builder.getI64IntegerAttr(size));
    Value differsHere = LLVM::ICmpOp::create(
        builder, loc, LLVM::ICmpPredicate::ne, given[i], known);
    differs =
        differs ? Value(LLVM::OrOp::create(builder, loc, differs, differsHere))
                : differsHere;
    message += (i ? " x " : "") + std::to_string(size);
  }
  Block *refuse =
      builder.createBlock(entry->getParent(), entry->getParent()->end());
  Block *rest =
      builder.createBlock(entry->getParent(), entry->getParent()->end());
  builder.setInsertionPointToEnd(entry);
  LLVM::CondBrOp::create(builder, loc, differs, refuse, rest);
  builder.setInsertionPointToStart(refuse);
  auto number = [&](Type type) -> Value {
    return LLVM::ConstantOp::create(builder, loc, type,
                                    builder.getIntegerAttr(type, 0));
  };
  LLVM::CallOp::create(builder, loc, getAssertFail(),
                       ValueRange{entry->getArgument(0),
                                  makeString(loc, message), makeString(loc, ""),
                                  number(i32), number(i32), number(i64),
                                  number(i64), number(i64)});
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  builder.setInsertionPointToEnd(rest);
  return rest;
}

/// The parameters of a kernel, of these types, from the packed buffer.
SmallVector<Value> CPULowering::loadParams(const Function &kernel,
                                           TypeRange types, Value params) {
  Location loc = source.getLoc();
  SmallVector<Value> values;
  for (auto [type, size, offset] :
       llvm::zip(types, kernel.params, getKernelParamOffsets(kernel.params))) {
    Value address = params;
    if (offset)
      address =
          LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(),
                              params, ArrayRef<LLVM::GEPArg>{int32_t(offset)},
                              LLVM::GEPNoWrapFlags::inbounds);
    Value carrier =
        LLVM::LoadOp::create(builder, loc, getKernelParamCarrier(type), address,
                             /*alignment=*/size);
    values.push_back(unpackKernelParam(builder, loc, carrier, type));
  }
  return values;
}

/// Builds
///   double count(sizes, params) { return operations(parameters..., sizes...);
///   }
LLVM::LLVMFuncOp CPULowering::buildCounter(const Function &kernel) {
  Location loc = source.getLoc();
  auto counts = work.lookupSymbol<LLVM::LLVMFuncOp>(kernel.counts);
  counts.setLinkage(LLVM::Linkage::Internal);
  counts.setAlwaysInline(true);
  builder.setInsertionPointAfter(counts);
  auto type =
      LLVM::LLVMFunctionType::get(builder.getF64Type(), {pointer, pointer});
  auto counter = LLVM::LLVMFuncOp::create(builder, loc,
                                          (counts.getName() + "_count").str(),
                                          type, LLVM::Linkage::Internal);
  counter.setVisibility(SymbolTable::Visibility::Private);
  Block *entry = counter.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  SmallVector<Value> arguments =
      loadParams(kernel, counts.getArgumentTypes(), entry->getArgument(1));
  const unsigned env = arguments.size();
  for (Type type : counts.getArgumentTypes().drop_front(env))
    arguments.push_back(LLVM::ZeroOp::create(builder, loc, type));
  for (auto [which, place] : {std::pair(GridDim, 0), std::pair(BlockDim, 3)})
    for (int dim : {0, 1, 2})
      arguments[env + which + dim] = LLVM::LoadOp::create(
          builder, loc, i64,
          LLVM::GEPOp::create(builder, loc, pointer, i64, entry->getArgument(0),
                              ArrayRef<LLVM::GEPArg>{int32_t(place + dim)}));
  LLVM::ReturnOp::create(
      builder, loc,
      LLVM::CallOp::create(builder, loc, counts, arguments).getResult());
  return counter;
}

/// Builds
///   void block(ctx, params, workgroup) {
///     load the parameters and the grid position;
///     for z, y, x: thread(parameters..., x, y, z, ...);
///   }
/// where x goes on through the blocks of a run.
/// The body of a kernel that was cut has the loops inside and is called once.
LLVM::LLVMFuncOp CPULowering::buildBlockFunction(LLVM::LLVMFuncOp thread,
                                                 const Function &kernel,
                                                 Attribute group) {
  Location loc = thread.getLoc();
  builder.setInsertionPointAfter(thread);
  StringRef name = thread.getName();
  name.consume_back("_thread");
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, pointer, pointer});
  auto block = LLVM::LLVMFuncOp::create(builder, loc, (name + "_block").str(),
                                        type, LLVM::Linkage::Internal);
  block.setVisibility(SymbolTable::Visibility::Private);
  // The three buffers are the runtime's own; no argument of a kernel points
  // there.
  StringRef noAlias = LLVM::LLVMDialect::getNoAliasAttrName();
  StringRef readOnly = LLVM::LLVMDialect::getReadonlyAttrName();
  for (unsigned i = 0; i < 3; ++i) {
    block.setArgAttr(i, noAlias, builder.getUnitAttr());
    if (i < 2)
      block.setArgAttr(i, readOnly, builder.getUnitAttr());
  }
  Block *entry = block.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  Value ctx = entry->getArgument(0), params = entry->getArgument(1),
        workgroup = entry->getArgument(2);
  auto address = [&](Value base, int64_t offset) -> Value {
    if (!offset)
      return base;
    return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{int32_t(offset)},
                               LLVM::GEPNoWrapFlags::inbounds);
  };
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, i64,
                                    builder.getI64IntegerAttr(value));
  };

  SmallVector<Value> arguments =
      loadParams(kernel, thread.getArgumentTypes(), params);
  unsigned env = arguments.size();
  arguments.resize(env + EnvSize);
  auto loadField = [&](unsigned which, size_t offset) {
    for (int i = 0; i < 3; ++i)
      arguments[env + which + i] =
          LLVM::LoadOp::create(builder, loc, i64, address(ctx, offset + 8 * i));
  };
  loadField(GridDim, offsetof(gpuasync_cpu_block_ctx, gridDim));
  loadField(BlockDim, offsetof(gpuasync_cpu_block_ctx, blockDim));
  SmallVector<Value> given(arguments.begin() + env + BlockDim,
                           arguments.begin() + env + BlockDim + 3);
  for (int i = 0; i < 3; ++i)
    if (kernel.blockSize[i] > 0)
      arguments[env + BlockDim + i] = constant(kernel.blockSize[i]);
  loadField(BlockId, offsetof(gpuasync_cpu_block_ctx, blockIdx));
  arguments[env + RunBlocks] =
      kernel.takesRuns
          ? Value(LLVM::LoadOp::create(
                builder, loc, i64,
                address(ctx, offsetof(gpuasync_cpu_block_ctx, runBlocks))))
          : constant(1);
  arguments[env + Context] = ctx;
  arguments[env + Workgroup] = workgroup;
  arguments[env + Dynamic] =
      address(workgroup, llvm::alignTo(kernel.workgroupBytes, 16));

  if (kernel.isPromised)
    entry = buildPromiseCheck(entry, kernel, given);
  Value zero = constant(0), one = constant(1);
  if (kernel.isCut) {
    for (int dim : {0, 1, 2})
      arguments[env + ThreadId + dim] = zero;
    LLVM::CallOp::create(builder, loc, thread, arguments);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
    return block;
  }

  // The loops are built from the outside in: a header per dimension, which
  // either runs the next one or goes on with the one around it.
  Block *exit = builder.createBlock(&block.getBody(), block.getBody().end());
  builder.setInsertionPointToStart(exit);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  Block *outerLatch = exit, *from = entry;
  SmallVector<Value, 3> numIds(arguments.begin() + env + BlockDim,
                               arguments.begin() + env + BlockDim + 3);
  if (kernel.takesRuns) {
    builder.setInsertionPointToEnd(entry);
    numIds[0] = LLVM::MulOp::create(builder, loc, numIds[0],
                                    arguments[env + RunBlocks]);
  }
  for (int dim : {2, 1, 0}) {
    Block *header = builder.createBlock(exit, {i64}, {loc});
    Block *body = builder.createBlock(exit);
    Block *latch = builder.createBlock(outerLatch);
    builder.setInsertionPointToEnd(from);
    LLVM::BrOp::create(builder, loc, zero, header);
    builder.setInsertionPointToEnd(header);
    Value id = header->getArgument(0);
    Value more = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt,
                                      id, numIds[dim]);
    LLVM::CondBrOp::create(builder, loc, more, body, outerLatch);
    builder.setInsertionPointToEnd(latch);
    Value next = LLVM::AddOp::create(builder, loc, id, one,
                                     LLVM::IntegerOverflowFlags::nsw |
                                         LLVM::IntegerOverflowFlags::nuw);
    auto back = LLVM::BrOp::create(builder, loc, next, header);
    if (dim == 0)
      back.setLoopAnnotationAttr(
          buildParallelAnnotation(cast<LLVM::AccessGroupAttr>(group),
                                  kernel.takesRuns ? 0 : kernel.blockSize[0]));
    arguments[env + ThreadId + dim] = id;
    outerLatch = latch;
    from = body;
  }
  builder.setInsertionPointToEnd(from);
  LLVM::CallOp::create(builder, loc, thread, arguments);
  LLVM::BrOp::create(builder, loc, outerLatch);
  return block;
}

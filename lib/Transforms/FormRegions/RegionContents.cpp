//===- RegionContents.cpp - what a region may hold ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See RegionContents.h.
//===----------------------------------------------------------------------===//

#include "RegionContents.h"
#include "GPUAsync/Transforms/Passes.h"

#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::regions;

//===----------------------------------------------------------------------===//
// What is behind kernels that may block
//===----------------------------------------------------------------------===//

RegionContents::RegionContents(FunctionOpInterface function,
                               BlockingTable &kernels)
    : function(function), kernels(kernels) {
  Blocked blocked;
  Region &body = function.getFunctionBody();
  // What comes in, or out of calls, has a past that is not known.
  for (BlockArgument argument : body.getArguments())
    if (isa<EventType>(argument.getType()))
      blocked.insert(argument);
  flow(body, blocked);
}

/// Blocks of a graph in any order, until nothing is new: `blocked` only grows
/// where ways meet.
void RegionContents::flow(Region &region, Blocked &blocked) {
  if (region.hasOneBlock()) {
    for (Operation &op : region.front())
      flow(&op, blocked);
    return;
  }
  for (size_t before = blocked.size() + 1; before != blocked.size();) {
    before = blocked.size();
    for (Block &block : region) {
      Blocked here = blocked;
      for (Operation &op : block)
        flow(&op, here);
      blocked.insert(here.begin(), here.end());
    }
  }
}

void RegionContents::flow(Operation *op, Blocked &blocked) {
  if (op->getNumRegions()) {
    if (op->hasTrait<OpTrait::IsIsolatedFromAbove>())
      return;
    // Any of the regions, any number of times.
    for (size_t before = blocked.size() + 1; before != blocked.size();) {
      before = blocked.size();
      for (Region &region : op->getRegions()) {
        if (region.empty())
          continue;
        Blocked here = blocked;
        flow(region, here);
        blocked.insert(here.begin(), here.end());
      }
    }
    return;
  }
  if (auto wait = dyn_cast<StreamSynchronizeOp>(op)) {
    for (Value stream : wait.getStreams())
      blocked.erase(stream);
    return;
  }
  if (auto wait = dyn_cast<StreamWaitOp>(op);
      wait && blocked.contains(wait.getEvent()))
    blocked.insert(wait.getStream());
  if (isa<CallOpInterface>(op))
    for (Value result : op->getResults())
      if (isa<EventType>(result.getType()))
        blocked.insert(result);
  if (auto work = dyn_cast<WorkOpInterface>(op); work && kernels.lookup(op))
    blocked.insert(work.getStream());
  if (auto record = dyn_cast<EventRecordOp>(op);
      record && blocked.contains(record.getStream()))
    blocked.insert(record.getEvent());
  if (isa<StreamDestroyOp>(op))
    return;
  if (llvm::any_of(op->getOperands(), [&](Value operand) {
        return isa<StreamType>(operand.getType()) && blocked.contains(operand);
      }))
    behindBlocked.insert(op);
}

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

/// Whether it is on a stream that the program names itself. The one into which
/// gpu-async-take-stream orders a function has the function's own work.
static bool isOnNamedStream(Operation *op) {
  return llvm::any_of(op->getOperands(), [](Value operand) {
    if (!isa<StreamType>(operand.getType()) ||
        operand.getDefiningOp<StreamCreateOp>())
      return false;
    auto external = operand.getDefiningOp<StreamExternalOp>();
    auto argument =
        external ? dyn_cast<BlockArgument>(external->getOperand(0)) : nullptr;
    auto function =
        argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                 : nullptr;
    return !function ||
           !function.getArgAttr(argument.getArgNumber(), kStreamAttrName);
  });
}

unsigned RegionContents::countWork(Operation *op) {
  unsigned count = 0;
  op->walk([&](WorkOpInterface work) {
    ++count;
    for (Operation *parent = work; parent != op;
         parent = parent->getParentOp()) {
      auto loop = dyn_cast<RegionBranchOpInterface>(parent->getParentOp());
      if (!loop || !loop.hasLoop())
        continue;
      ++count;
      break;
    }
  });
  return count;
}

/// Whether each round of a loop has device work of its own, not only in some
/// branch.
static bool hasWorkEachRound(Operation *loop) {
  for (Region &region : loop->getRegions())
    for (Block &block : region)
      for (Operation &op : block)
        if (auto work = dyn_cast<WorkOpInterface>(op);
            work && work.takesDeviceTime())
          return true;
  return false;
}

/// `known` has each function that was asked for, false from its beginning on:
/// one that calls itself does more than compute, and so does all that calls it.
static bool onlyComputes(Operation *called,
                         llvm::DenseMap<Operation *, bool> &known) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(called);
  if (!function || !function.getFunctionBody().hasOneBlock())
    return false;
  auto [entry, isNew] = known.try_emplace(function, false);
  if (!isNew)
    return entry->second;
  WalkResult result =
      function.getFunctionBody().walk([&](Operation *op) -> WalkResult {
        auto branch = dyn_cast<RegionBranchOpInterface>(op);
        bool is = branch ? op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
                               !branch.hasLoop()
                         : op->getNumRegions() == 0;
        if (auto call = dyn_cast<CallOpInterface>(op))
          is = onlyComputes(call.resolveCallable(), known);
        else if (!branch)
          is = is && isMemoryEffectFree(op);
        return is ? WalkResult::advance() : WalkResult::interrupt();
      });
  const bool only = !result.wasInterrupted();
  known[function] = only; // `entry` may have moved
  return only;
}

bool mlir::gpuasync::regions::onlyComputes(CallOpInterface call) {
  llvm::DenseMap<Operation *, bool> known;
  return ::onlyComputes(call.resolveCallable(), known);
}

std::optional<Border> RegionContents::findBorderIn(Operation *op) {
  auto border = [&](StringRef reason) { return Border{op, reason}; };
  if (op->hasTrait<OpTrait::IsTerminator>() && op->getParentOp() == function)
    return border("the function's block ends");
  if (isOnNamedStream(op) || isa<StreamExternalOp>(op))
    return border("it is on a caller's stream");
  auto work = dyn_cast<WorkOpInterface>(op);
  SymbolRefAttr code = getCode(op);
  if (code && !runsKernel(op)) {
    Operation *callee = kernels.getSymbols().lookupNearestSymbolFrom(op, code);
    if (!callee || !callee->hasAttr(GPUAsyncDialect::getReplayableName()))
      return border("it calls a library's function that is not said to be "
                    "replayable");
  }
  if (std::optional<BlockingPoint> point = kernels.lookup(op)) {
    if (work.callsLibrary())
      return border("the library's function may wait for other work");
    return Border{op, "the kernel may wait for other work", *point};
  }
  if (behindBlocked.contains(op))
    return border("it is behind a kernel that may wait for other work");
  // Where memory lies the runtime knows, and deals with it.
  if ((work && work.isReplayable()) ||
      isa<StreamCreateOp, StreamDestroyOp, StreamWaitOp, EventRecordOp,
          EventReadyOp, EventDestroyOp>(op))
    return std::nullopt;
  if (isa<StreamSynchronizeOp, EventSynchronizeOp>(op))
    return border("the host waits");
  if (work)
    return border(work.takesDeviceTime() ? "it cannot be recorded"
                                         : "memory is allocated or freed");
  // Makes a value at once.
  if (isa<nvgpu::TmaCreateDescriptorOp>(op))
    return std::nullopt;
  if (isa<RegionOp>(op))
    return border("there is a region already");
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    if (onlyComputes(call))
      return std::nullopt;
    return border("it calls a function that does more than compute");
  }
  if (op->getNumRegions() == 0) {
    if (isMemoryEffectFree(op))
      return std::nullopt;
    return border("the host reads or writes memory, or does what is not known");
  }

  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch || !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
    return border("nothing is known of how control flows through it");
  for (Region &region : op->getRegions()) {
    if (!region.empty() && !region.hasOneBlock())
      return border("it holds a control-flow graph");
    for (Operation &inner : region.getOps())
      if (std::optional<Border> found = findBorder(&inner))
        return found;
  }
  if (branch.hasLoop() && !hasWorkEachRound(op))
    return border("how long the host is in this loop is not known, nor that "
                  "each round has work for the device");
  return std::nullopt;
}

std::optional<Border> RegionContents::findBorder(Operation *op) {
  // Each op that holds others would ask for all of them again.
  if (!op->getNumRegions())
    return findBorderIn(op);
  auto known = borders.find(op);
  if (known != borders.end())
    return known->second;
  std::optional<Border> border = findBorderIn(op);
  borders[op] = border;
  return border;
}

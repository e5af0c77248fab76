//===- AccessTable.cpp - what ops of a function touch ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AccessTable.h.
//===----------------------------------------------------------------------===//

#include "AccessTable.h"
#include "GPUAsync/Analysis/Hazards.h"

#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::infer;

/// Whether the host may overwrite the source of a copy as soon as that has been
/// enqueued: memory of the host's own that nobody registers.
bool AccessTable::readsAtEnqueue(Value source) {
  Accesses accesses;
  addAccess(source, /*writes=*/false, accesses);
  return llvm::all_of(accesses, [&](const Access &access) {
    Value base = access.base.value;
    if (access.base.kind != Base::Allocation ||
        !isa<memref::AllocOp, memref::AllocaOp>(base.getDefiningOp()))
      return false;
    auto [it, isNew] = pageable.try_emplace(base, true);
    if (!isNew)
      return it->second;
    SmallVector<Value> worklist{base};
    llvm::SmallPtrSet<void *, 8> seen;
    bool result = true;
    while (result && !worklist.empty()) {
      Value value = worklist.pop_back_val();
      if (!seen.insert(value.getAsOpaquePointer()).second)
        continue;
      for (Operation *user : value.getUsers()) {
        bool isKnown =
            isa<MemcpyOp, memref::LoadOp, memref::StoreOp, memref::DeallocOp,
                memref::DimOp, memref::CopyOp>(user);
        if (auto call = dyn_cast<CallOpInterface>(user))
          isKnown = facts.hostAccesses(user).has_value() &&
                    user->getNumResults() == 0;
        for (Value view : user->getResults())
          if (isMemory(view.getType())) {
            isKnown |= user->getNumRegions() == 0;
            worklist.push_back(view);
          }
        result &= isKnown;
      }
    }
    pageable[base] = result;
    return result;
  });
}

unsigned AccessTable::addKey(Access access) {
  access.writes = false;
  llvm::hash_code hash = llvm::hash_combine(
      unsigned(access.base.kind), access.base.value, access.base.symbol,
      access.window.offset.value_or(-1), access.window.root);
  for (const Window::Dim &dim : access.window.dims)
    hash = llvm::hash_combine(hash, dim.stride, dim.count);
  for (const Window::Range &range : access.window.ranges)
    hash = llvm::hash_combine(hash, range.start, range.step, range.count);
  for (Value value : access.distinct)
    hash = llvm::hash_combine(hash, value);
  SmallVector<unsigned, 1> &candidates = keysByHash[size_t(hash)];
  for (unsigned key : candidates)
    if (keys[key].base == access.base && keys[key].window == access.window &&
        keys[key].distinct == access.distinct)
      return key;
  candidates.push_back(keys.size());
  keys.push_back(std::move(access));
  return keys.size() - 1;
}

void AccessTable::addAccesses(Operation *op, OpInfo::Kind kind,
                              ArrayRef<Access> accesses) {
  auto &info = infos.try_emplace(op, OpInfo{kind, {}}).first->second;
  for (const Access &access : accesses)
    info.touches.push_back({addKey(access), access.writes});
}

LogicalResult AccessTable::visit(Operation *op) {
  positions[op] = position++;
  if (op->getNumRegions()) {
    auto it = regions.find(op);
    bool descends =
        it != regions.end() || isa<scf::IfOp, scf::IndexSwitchOp>(op);
    if (descends) {
      bool hasWork = it != regions.end();
      if (hasWork && !isa<scf::ForOp, scf::WhileOp, scf::IfOp,
                          scf::IndexSwitchOp, memref::AllocaScopeOp>(op))
        return op->emitOpError(
            "has device work without tokens in it, whose order cannot be found "
            "here: run gpu-async-structure-control-flow first, which leaves "
            "scf.if, scf.index_switch, scf.for and scf.while");
      for (Region &region : op->getRegions())
        if (!region.empty() && !region.hasOneBlock())
          return op->emitOpError(
              "has several blocks in a region with device work: run "
              "gpu-async-structure-control-flow first");
      RegionInfo &info = regions[op];
      info.begin = positions[op];
      info.hasWork = hasWork;
      for (Operation *parent = op->getParentOp(); parent != function;
           parent = parent->getParentOp())
        if (isLoop(parent))
          info.loop = positions[parent];
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Operation &inner : block)
            if (failed(visit(&inner)))
              return failure();
      regions[op].end = position++;
      return success();
    }
  }
  if (auto work = dyn_cast<WorkOpInterface>(op)) {
    Accesses accesses = deviceAccesses(op, kernels);
    if (auto launch = dyn_cast<LaunchOp>(op))
      if (!kernels.lookup(op, launch.getKernel()).isKnown)
        accesses.push_back(
            {{Base::Module, Value(), launch.getKernelModuleName()},
             /*writes=*/true});
    addAccesses(op, isSequential(op) ? OpInfo::Sequential : OpInfo::Token,
                accesses);
    if (auto copy = dyn_cast<MemcpyOp>(op))
      if (readsAtEnqueue(copy.getSource()))
        for (Touch &touch : infos[op].touches)
          touch.isAtEnqueue = !touch.writes;
    return success();
  }
  if (isa<HostUnregisterOp>(op)) {
    addAccesses(op, OpInfo::Host, deviceAccesses(op, kernels));
    return success();
  }
  if (isa_and_nonnull<GPUAsyncDialect>(op->getDialect()))
    return success();
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    // The end of a block of a control-flow graph: what is outstanding cannot be
    // followed.
    if (op->getNumSuccessors())
      addAccesses(op, OpInfo::Host, {{Base(), /*writes=*/true}});
    return success();
  }
  if (isa<CallOpInterface>(op) && takesTokens(op)) {
    addAccesses(op, OpInfo::Token, {{Base(), /*writes=*/true}});
    return success();
  }
  std::optional<Accesses> accesses = facts.hostAccesses(op);
  if (!accesses)
    accesses = Accesses{{Base(), /*writes=*/true}};
  for (Access &access : *accesses)
    access.writes |= access.base.kind == Base::Unknown;
  if (!accesses->empty())
    addAccesses(op, OpInfo::Host, *accesses);
  return success();
}

/// Memory of a scope is not left before the device is done with it.
void AccessTable::addScopeEnds() {
  for (unsigned key = 0, end = keys.size(); key < end; ++key) {
    Value base = keys[key].base.value;
    if (keys[key].base.kind != Base::Allocation ||
        !base.getDefiningOp<memref::AllocaOp>())
      continue;
    Operation *scope = base.getDefiningOp()->getParentOp();
    while (scope != function &&
           !scope->hasTrait<OpTrait::AutomaticAllocationScope>())
      scope = scope->getParentOp();
    for (Block &block : scope->getRegion(0)) {
      Operation *terminator = block.getTerminator();
      if (terminator->getNumSuccessors() || !positions.count(terminator))
        continue;
      auto &info =
          infos.try_emplace(terminator, OpInfo{OpInfo::Host, {}}).first->second;
      info.touches.push_back({key, /*writes=*/true});
    }
  }
}

/// What a remark calls the memory; its note is at the place of an allocation.
static std::string nameOf(const Access &key) {
  std::string name;
  llvm::raw_string_ostream os(name);
  if (key.base.kind == Base::Allocation)
    os << (key.window.isAny() ? "this buffer" : "a part of this buffer");
  else
    printMemory(os, key);
  return name;
}

/// Accesses of a group may overlap each other, and nothing outside of it.
void AccessTable::makeCellsOfGroup(ArrayRef<unsigned> group) {
  // Beyond that, a base is one piece: comparing all pairs would take too long.
  constexpr unsigned maxWindows = 1024;
  if (group.size() > maxWindows)
    for (unsigned key : group)
      keys[key].window = Window();
  SmallVector<SmallVector<unsigned>> overlaps(group.size());
  for (unsigned i = 0; i < group.size(); ++i) {
    overlaps[i].push_back(i);
    if (group.size() > maxWindows && keys[group[i]].base.value &&
        keys[group[i]].base.kind == Base::Allocation) {
      overlaps[i].assign({0});
      continue;
    }
    for (unsigned j = 0; j < i; ++j)
      if (facts.mayOverlap(keys[group[i]], keys[group[j]])) {
        overlaps[i].push_back(j);
        overlaps[j].push_back(i);
      }
  }
  std::map<SmallVector<unsigned>, unsigned> cellOfSet;
  SmallVector<unsigned> cellOf;
  unsigned first = cells.size();
  for (unsigned i = 0; i < group.size(); ++i) {
    llvm::sort(overlaps[i]);
    auto [it, isNew] = cellOfSet.try_emplace(overlaps[i], cells.size());
    if (isNew) {
      const Access &key = keys[group[i]];
      Cell &cell = cells.emplace_back();
      cell.name = nameOf(key);
      if (key.base.value)
        cell.loc = key.base.value.getLoc();
    }
    cellOf.push_back(it->second);
    cellOfKey[group[i]] = it->second;
  }
  for (auto &[set, number] : cellOfSet) {
    Cell &cell = cells[number];
    for (unsigned member : set)
      cell.overlaps.push_back(cellOf[member]);
    llvm::sort(cell.overlaps);
    cell.overlaps.erase(llvm::unique(cell.overlaps), cell.overlaps.end());
  }
  for (unsigned number = first; number < cells.size(); ++number)
    for (unsigned other : cells[number].overlaps)
      if (other != number &&
          llvm::includes(cells[number].overlaps, cells[other].overlaps))
        cells[number].covers.push_back(other);
}

void AccessTable::makeCells() {
  cells.emplace_back();
  cells.front().name = "memory that may be anywhere";
  cells.front().overlaps.push_back(0);
  cellOfKey.assign(keys.size(), 0);
  llvm::MapVector<std::pair<void *, const void *>, SmallVector<unsigned>>
      groups;
  for (auto [number, key] : llvm::enumerate(keys)) {
    const Base &base = key.base;
    if (base.kind == Base::Unknown)
      continue;
    bool isShared = base.kind == Base::Argument || base.kind == Base::Global;
    groups[isShared ? std::pair<void *, const void *>()
                    : std::pair<void *, const void *>(
                          base.value.getAsOpaquePointer(),
                          base.value    ? nullptr
                          : base.symbol ? base.symbol.getAsOpaquePointer()
                                        : static_cast<const void *>(this))]
        .push_back(number);
  }
  for (auto &[base, group] : groups)
    makeCellsOfGroup(group);

  // A copy of what a download may still be writing reads later.
  llvm::BitVector isWritten(cells.size());
  for (auto &[op, info] : infos)
    for (const Touch &touch : info.touches)
      if (info.kind != OpInfo::Host && touch.writes)
        for (unsigned other : cells[cellOfKey[touch.cell]].overlaps)
          isWritten.set(other);
  for (auto &[op, info] : infos)
    for (Touch &touch : info.touches)
      touch.isAtEnqueue &= !isWritten.test(cellOfKey[touch.cell]);

  // From keys to cells.
  for (auto &[op, info] : infos) {
    SmallVector<Operation *> around;
    for (Operation *parent = op->getParentOp(); parent != function;
         parent = parent->getParentOp())
      around.push_back(parent);
    llvm::SmallMapVector<unsigned, Touch, 4> touches;
    for (const Touch &touch : info.touches) {
      unsigned number = cellOfKey[touch.cell];
      Touch &merged =
          touches.try_emplace(number, Touch{number, false, true}).first->second;
      merged.writes |= touch.writes;
      merged.isAtEnqueue &= touch.isAtEnqueue;
    }
    for (const Touch &touch : info.touches) {
      Value base = keys[touch.cell].base.value;
      for (Operation *parent : around) {
        // Memory that is made in the region is gone when that is left.
        if (base && base.getDefiningOp() &&
            parent->isAncestor(base.getDefiningOp()))
          break;
        unsigned flag =
            touch.writes ? RegionInfo::DeviceWrite : RegionInfo::DeviceRead;
        if (info.kind == OpInfo::Token)
          flag <<= 2;
        else if (info.kind == OpInfo::Host)
          flag <<= 4;
        if (touch.isAtEnqueue)
          flag = 0;
        regions[parent].touched[cellOfKey[touch.cell]] |= flag;
      }
    }
    // All device work touches memory that may be anywhere.
    if (info.kind != OpInfo::Host) {
      for (Operation *parent : around)
        regions[parent].touched[0] |= info.kind == OpInfo::Token
                                          ? RegionInfo::TokenRead
                                          : RegionInfo::DeviceRead;
      cells[0].lastAny = std::max(cells[0].lastAny, positions[op]);
    }
    info.touches.clear();
    for (auto &[cell, touch] : touches) {
      bool writes = touch.writes;
      info.touches.push_back(touch);
      for (unsigned other : cells[cell].overlaps) {
        unsigned &any = cells[other].lastAny;
        any = std::max(any, positions[op]);
        unsigned &write = cells[other].lastWrite;
        if (writes)
          write = std::max(write, positions[op]);
      }
    }
  }
}

LogicalResult AccessTable::build() {
  position = 1;
  // Region ops around device work.
  function->walk([&](Operation *op) {
    if (!isa<WorkOpInterface>(op))
      return;
    for (Operation *parent = op->getParentOp(); parent != function;
         parent = parent->getParentOp())
      if (!regions.try_emplace(parent).second)
        break;
  });
  for (Block &block : function.getFunctionBody())
    for (Operation &op : block)
      if (failed(visit(&op)))
        return failure();
  addScopeEnds();
  makeCells();
  return success();
}

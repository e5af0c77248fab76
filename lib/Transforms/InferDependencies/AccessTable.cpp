//===- AccessTable.cpp - what ops of a function touch ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AccessTable.h.
//===----------------------------------------------------------------------===//

#include "AccessTable.h"
#include "GPUAsync/Analysis/Memory/Hazards.h"

#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::infer;

/// The accesses of `op` to memory that may be the host's own. At most one of
/// them reads.
static SmallVector<WorkAccess> getPageable(Operation *op) {
  SmallVector<WorkAccess> accesses;
  if (auto work = dyn_cast<WorkOpInterface>(op))
    work.getWorkAccesses(accesses);
  llvm::erase_if(
      accesses, [](const WorkAccess &access) { return !access.mayBePageable; });
  return accesses;
}

/// Whether the host may overwrite the source of a copy as soon as that has been
/// enqueued: memory of the host's own that nobody registers.
bool AccessTable::readsAtEnqueue(Value source) {
  Accesses accesses;
  addAccess(source, /*writes=*/false, accesses);
  return llvm::all_of(accesses, [&](const Access &access) {
    Value base = access.base.identity.getValue();
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
        TypeRange results = user->getResultTypes();
        bool isKnown = isa<memref::LoadOp, memref::DeallocOp, memref::DimOp,
                           memref::CopyOp>(user) ||
                       !getPageable(user).empty();
        if (auto store = dyn_cast<memref::StoreOp>(user))
          isKnown = store.getValueToStore() != value;
        else if (isa<CallOpInterface>(user))
          // What it hands out may be what it was given and has registered.
          isKnown = facts.hostAccesses(user) && llvm::all_of(results, isMemory);
        else if (llvm::any_of(results, isMemory))
          isKnown = isMemoryEffectFree(user) && !user->getNumRegions();
        for (Value view : user->getResults())
          if (isMemory(view.getType()))
            worklist.push_back(view);
        result &= isKnown;
      }
    }
    pageable[base] = result;
    return result;
  });
}

KeyIndex AccessTable::intern(Access access) {
  access.writes = false;
  llvm::hash_code hash = llvm::hash_combine(
      unsigned(access.base.kind), access.base.identity, access.base.symbol,
      access.window.offset.value_or(-1), access.window.root);
  for (const Window::Dim &dim : access.window.dims)
    hash = llvm::hash_combine(hash, dim.stride, dim.count);
  for (const Window::Range &range : access.window.ranges)
    hash = llvm::hash_combine(hash, range.start, range.step, range.count);
  for (const MemoryIdentity &object : access.distinct)
    hash = llvm::hash_combine(hash, object);
  SmallVector<KeyIndex, 1> &candidates = keysByHash[size_t(hash)];
  for (KeyIndex key : candidates)
    if (keys[key].access.isSameButForWriting(access))
      return key;
  candidates.push_back(keys.next());
  return keys.push_back({std::move(access)});
}

/// The key of an access of `op`. Those that it has outside of the loops around
/// `op` are made, too.
KeyIndex AccessTable::addKey(const Access &access, Operation *op) {
  KeyIndex first = intern(access);
  Access left = keys[first].access;
  KeyIndex inner = first;
  for (Operation *parent = op->getParentOp(); parent != function;
       parent = parent->getParentOp()) {
    if (!left.window.root && left.distinct.empty())
      break;
    if (!isa<LoopLikeOpInterface>(parent))
      continue;
    left.leave(parent);
    if (left.isSameButForWriting(keys[inner].access))
      continue;
    KeyIndex outer = intern(left);
    keys[inner].loop = parent;
    keys[inner].outer = outer;
    inner = outer;
  }
  return first;
}

void AccessTable::addAccesses(Operation *op, OpInfo::Kind kind,
                              ArrayRef<Access> accesses) {
  infos.try_emplace(op, OpInfo{kind, {}});
  KeyTouches &touches = keyTouches[op];
  for (const Access &access : accesses)
    touches.push_back({addKey(access, op), access.writes});
}

LogicalResult AccessTable::visit(Operation *op) {
  positions[op] = addPosition();
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
        if (isa<LoopLikeOpInterface>(parent))
          info.loop = positions[parent];
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Operation &inner : block)
            if (failed(visit(&inner)))
              return failure();
      regions[op].end = addPosition();
      return success();
    }
  }
  if (auto work = dyn_cast<WorkOpInterface>(op)) {
    Accesses accesses = deviceAccesses(op, kernels);
    if (runsKernel(op) && !kernels.lookup(op, work.getCode()).isKnown)
      accesses.push_back({{Base::Module, {}, work.getCode().getRootReference()},
                          /*writes=*/true});
    addAccesses(op, isSequential(op) ? OpInfo::Sequential : OpInfo::Token,
                accesses);
    if (llvm::any_of(getPageable(op), [&](const WorkAccess &access) {
          return access.reads && readsAtEnqueue(access.operand->get());
        }))
      for (KeyTouch &touch : keyTouches[op])
        touch.isAtEnqueue = !touch.writes;
    return success();
  }
  if (isa<HostUnregisterOp>(op)) {
    addAccesses(op, OpInfo::Host, deviceAccesses(op, kernels));
    return success();
  }
  if (isAsyncOp(op) && !isa<ResidentOp>(op))
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

/// The op with whose end the memory of an alloca ends.
static Operation *getScope(memref::AllocaOp alloca) {
  Operation *scope = alloca->getParentOp();
  while (!scope->hasTrait<OpTrait::AutomaticAllocationScope>() &&
         !isa<FunctionOpInterface>(scope))
    scope = scope->getParentOp();
  return scope;
}

/// Memory of a scope is not left before the device is done with it.
void AccessTable::addScopeEnds() {
  for (KeyIndex key : keys.indices()) {
    const Base &base = keys[key].access.base;
    auto alloca = dyn_cast_or_null<memref::AllocaOp>(
        base.kind == Base::Allocation ? base.identity.getDefiningOp()
                                      : nullptr);
    if (!alloca)
      continue;
    for (Block &block : getScope(alloca)->getRegion(0)) {
      Operation *terminator = block.getTerminator();
      if (terminator->getNumSuccessors() || !positions.count(terminator))
        continue;
      infos.try_emplace(terminator, OpInfo{OpInfo::Host, {}});
      keyTouches[terminator].push_back({key, /*writes=*/true});
    }
  }
}

/// Whether the memory that the op's regions make is gone when that is left. It
/// is, for all that goes by its name, unless its scope is a larger one.
static bool isGoneOutside(const Base &base, Operation *op) {
  if (!base.identity.isMadeIn(op))
    return false;
  auto alloca =
      dyn_cast_or_null<memref::AllocaOp>(base.identity.getDefiningOp());
  return !alloca || op->isAncestor(getScope(alloca));
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

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

/// Keys of the group in classes that are one to us, so that all pairs of them
/// can be compared: beyond a limit the bases with the most windows, and then
/// all of them, are one piece each.
AccessTable::Classes AccessTable::dropWindows(ArrayRef<KeyIndex> group) {
  constexpr unsigned maxClasses = 1024;
  Classes classes;
  if (group.size() <= maxClasses) {
    for (KeyIndex key : group)
      classes.push_back({key});
    return classes;
  }
  llvm::MapVector<std::pair<void *, const void *>, SmallVector<KeyIndex>>
      byBase;
  for (KeyIndex key : group) {
    const Base &base = keys[key].access.base;
    byBase[{base.identity.getValue().getAsOpaquePointer(),
            base.symbol.getAsOpaquePointer()}]
        .push_back(key);
  }
  auto bases = byBase.takeVector();
  llvm::sort(bases, [](const auto &a, const auto &b) {
    return std::pair(b.second.size(), a.second.front()) <
           std::pair(a.second.size(), b.second.front());
  });
  unsigned left = group.size();
  for (auto &[base, members] : bases) {
    if (left <= maxClasses) {
      for (KeyIndex key : members)
        classes.push_back({key});
      continue;
    }
    left -= members.size() - 1;
    for (KeyIndex key : members) {
      keys[key].access.window = Window();
      keys[key].access.distinct.clear();
    }
    classes.push_back(std::move(members));
  }
  if (left <= maxClasses)
    return classes;
  // Globals are distinct. Arguments may be any of them, and each other, as may
  // windows of an allocation.
  bool mayBeOne = llvm::any_of(group, [&](KeyIndex key) {
    const Base &base = keys[key].access.base;
    return base.kind == Base::Argument ||
           isa_and_nonnull<WindowOp>(base.identity.getDefiningOp());
  });
  if (!mayBeOne)
    return classes;
  Classes one;
  one.push_back(SmallVector<KeyIndex>(group));
  return one;
}

/// Accesses of a group may overlap each other, and nothing outside of it but
/// memory that may be anywhere.
void AccessTable::makeCellsOfGroup(ArrayRef<KeyIndex> group) {
  Classes classes = dropWindows(group);
  llvm::DenseMap<KeyIndex, ClassIndex> classOf;
  for (ClassIndex number : classes.indices())
    for (KeyIndex key : classes[number])
      classOf[key] = number;
  auto keyOf = [&](ClassIndex number) -> Key & {
    return keys[classes[number].front()];
  };
  IndexedVector<ClassIndex, SmallVector<ClassIndex>> overlaps(classes.size());
  // Too many to be compared are bases that are distinct.
  bool comparesAll = classes.size() <= 1024;
  for (ClassIndex i : classes.indices()) {
    for (ClassIndex j : classes.indices()) {
      if (!comparesAll || j == i)
        break;
      if (facts.mayOverlap(keyOf(i).access, keyOf(j).access)) {
        overlaps[i].push_back(j);
        overlaps[j].push_back(i);
      }
    }
    overlaps[i].push_back(i);
  }
  for (SmallVector<ClassIndex> &list : overlaps)
    llvm::sort(list);

  // What is the same outside of the loop stands for what is in it if that is
  // told apart from nothing more.
  auto outerOf = [&](ClassIndex number) -> std::optional<ClassIndex> {
    const Key &key = keyOf(number);
    return key.loop ? classOf.lookup(key.outer) : std::optional<ClassIndex>();
  };
  using Shape = std::tuple<SmallVector<ClassIndex>, Operation *, CellIndex>;
  std::map<Shape, CellIndex> cellOfShape;
  SmallVector<std::pair<CellIndex, SmallVector<ClassIndex>>> shapes;
  IndexedVector<ClassIndex, std::optional<CellIndex>> cellOf(classes.size());
  CellIndex first = cells.next();
  auto makeCell = [&](auto &self, ClassIndex number) -> CellIndex {
    std::optional<CellIndex> &known = cellOf[number];
    if (known)
      return *known;
    const Key &key = keyOf(number);
    std::optional<ClassIndex> outer = outerOf(number);
    if (outer == number)
      outer = std::nullopt;
    CellIndex outerCell = outer ? self(self, *outer) : anywhere;
    if (outer && overlaps[number] == overlaps[*outer]) {
      known = outerCell;
      return outerCell;
    }
    auto [it, isNew] = cellOfShape.try_emplace(
        {overlaps[number], outer ? key.loop : nullptr, outerCell},
        cells.next());
    known = it->second;
    if (!isNew)
      return it->second;
    Cell &cell = cells[cells.push_back(Cell())];
    cell.name = nameOf(key.access);
    if (Value base = key.access.base.identity.getValue())
      cell.loc = base.getLoc();
    if (outer) {
      cell.loop = key.loop;
      cell.outer = outerCell;
    }
    shapes.push_back({it->second, overlaps[number]});
    return it->second;
  };
  for (ClassIndex number : classes.indices()) {
    CellIndex cell = makeCell(makeCell, number);
    for (KeyIndex key : classes[number])
      keys[key].cell = cell;
  }
  for (auto &[cell, shape] : shapes) {
    SmallVector<CellIndex, 2> &list = cells[cell].overlaps;
    for (ClassIndex member : shape)
      list.push_back(*cellOf[member]);
    llvm::sort(list);
    list.erase(llvm::unique(list), list.end());
  }
  for (CellIndex cell : cells.indices(first))
    for (CellIndex other : cells[cell].overlaps)
      if (other != cell && covers(cell, other))
        cells[cell].covers.push_back(other);
}

/// The cell as seen from outside of the loop.
CellIndex AccessTable::leave(CellIndex cell, Operation *loop) const {
  while (cells[cell].loop && loop->isAncestor(cells[cell].loop))
    cell = cells[cell].outer;
  return cell;
}

/// Whether all that overlaps `other` overlaps `cell`, as long as what touched
/// them may be asked for.
bool AccessTable::covers(CellIndex cell, CellIndex other) const {
  if (cell == other)
    return true;
  if (!llvm::includes(cells[cell].overlaps, cells[other].overlaps))
    return false;
  Operation *loop = cells[other].loop;
  return !loop || covers(leave(cell, loop), cells[other].outer);
}

/// Adds what an op does, still in terms of keys, to the region ops around it.
void AccessTable::addToRegions(Operation *op, OpInfo::Kind kind,
                               ArrayRef<KeyTouch> touches,
                               const Touch *ofAllMemory) {
  auto flagOf = [&](bool isAtEnqueue, bool writes) -> unsigned {
    if (isAtEnqueue)
      return 0;
    unsigned flag = writes ? RegionInfo::DeviceWrite : RegionInfo::DeviceRead;
    return flag << (kind == OpInfo::Host ? 4 : kind == OpInfo::Token ? 2 : 0);
  };
  for (const KeyTouch &touch : touches) {
    const Base &base = keys[touch.key].access.base;
    CellIndex cell = keys[touch.key].cell;
    for (Operation *parent = op->getParentOp(); parent != function;
         parent = parent->getParentOp()) {
      if (isGoneOutside(base, parent))
        break;
      cell = leave(cell, parent);
      regions[parent].touched[cell] |= flagOf(touch.isAtEnqueue, touch.writes);
    }
  }
  if (!ofAllMemory)
    return;
  bool isDevice = kind != OpInfo::Host;
  for (Operation *parent = op->getParentOp(); parent != function;
       parent = parent->getParentOp())
    regions[parent].touched[allMemory] |=
        flagOf(ofAllMemory->isAtEnqueue, isDevice || ofAllMemory->writes);
}

void AccessTable::makeCells() {
  cells.resize(2);
  for (Cell &cell : cells)
    cell.name = "memory that may be anywhere";
  cells[anywhere].overlaps = {anywhere, allMemory};
  cells[allMemory].overlaps = {anywhere};
  llvm::MapVector<std::pair<void *, const void *>, SmallVector<KeyIndex>>
      groups;
  bool hasAnywhere = false;
  for (KeyIndex number : keys.indices()) {
    const Base &base = keys[number].access.base;
    if (base.kind == Base::Unknown) {
      hasAnywhere = true;
      continue;
    }
    Value value = base.identity.getValue();
    // Windows of an allocation may share bytes.
    if (auto window = value ? value.getDefiningOp<WindowOp>() : WindowOp())
      value = window.getSlab();
    bool isShared = base.kind == Base::Argument || base.kind == Base::Global;
    groups[isShared ? std::pair<void *, const void *>()
                    : std::pair<void *, const void *>(
                          value.getAsOpaquePointer(),
                          value         ? nullptr
                          : base.symbol ? base.symbol.getAsOpaquePointer()
                                        : static_cast<const void *>(this))]
        .push_back(number);
  }
  for (auto &[base, group] : groups)
    makeCellsOfGroup(group);
  for (CellIndex number : cells.indices())
    if (Operation *loop = cells[number].loop)
      if (auto region = regions.find(loop); region != regions.end())
        region->second.ownCells.push_back(number);

  // A copy of what a download may still be writing reads later.
  IndexedVector<CellIndex, char> isWritten(cells.size());
  for (auto &[op, info] : infos)
    for (const KeyTouch &touch : keyTouches[op]) {
      if (info.kind == OpInfo::Host || !touch.writes)
        continue;
      for (CellIndex cell = keys[touch.key].cell;; cell = cells[cell].outer) {
        for (CellIndex other : cells[cell].overlaps)
          isWritten[other] = true;
        if (!cells[cell].loop)
          break;
      }
    }
  for (auto &[op, touches] : keyTouches)
    for (KeyTouch &touch : touches)
      touch.isAtEnqueue &= !isWritten[keys[touch.key].cell];

  // From keys to cells.
  for (auto &[op, info] : infos) {
    const KeyTouches &ofKeys = keyTouches[op];
    llvm::SmallMapVector<CellIndex, Touch, 4> touches;
    auto add = [&](CellIndex cell, const KeyTouch &touch) {
      Touch &merged =
          touches.try_emplace(cell, Touch{cell, false, true}).first->second;
      merged.writes |= touch.writes;
      merged.isAtEnqueue &= touch.isAtEnqueue;
    };
    for (const KeyTouch &touch : ofKeys)
      add(keys[touch.key].cell, touch);
    auto unknown = touches.find(anywhere);
    if (hasAnywhere && (unknown == touches.end() || !unknown->second.writes))
      for (const KeyTouch &touch : ofKeys)
        if (keys[touch.key].cell != anywhere)
          add(allMemory, touch);
    auto others = touches.find(allMemory);
    addToRegions(op, info.kind, ofKeys,
                 others == touches.end() ? nullptr : &others->second);
    for (auto &[cell, touch] : touches) {
      info.touches.push_back(touch);
      for (CellIndex other : cells[cell].overlaps) {
        Position &any = cells[other].lastAny;
        any = std::max(any, positions[op]);
        Position &write = cells[other].lastWrite;
        if (touch.writes)
          write = std::max(write, positions[op]);
        Position &use = cells[other].lastUse;
        if (!isa<DeallocOp>(op))
          use = std::max(use, positions[op]);
      }
    }
  }
  keyTouches.clear();
  // Who asks for what touched a cell in an earlier iteration asks for this one.
  for (Cell &cell : cells)
    if (cell.loop) {
      const Cell &outer = cells[cell.outer];
      cell.lastAny = std::max(cell.lastAny, outer.lastAny);
      cell.lastWrite = std::max(cell.lastWrite, outer.lastWrite);
      cell.lastUse = std::max(cell.lastUse, outer.lastUse);
    }
}

LogicalResult AccessTable::build() {
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

//===- InferDependencies.cpp - tokens for sequential ops ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives every sequential op a token and the dependencies that memory asks for,
// and makes the host wait where host code touches what the device works on.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/MemoryAccesses.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Transforms/Passes.h"

#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCINFERDEPENDENCIES
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

bool isToken(Type type) { return isa<TokenType>(type); }

bool isSequential(Operation *op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  return work && !work.getAsyncToken() && !work.getStream();
}

bool takesTokens(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isToken) ||
         llvm::any_of(op->getResultTypes(), isToken);
}

//===----------------------------------------------------------------------===//
// Cells: what of memory is told apart
//===----------------------------------------------------------------------===//

/// Cell 0 is memory anywhere. Accesses of a function whose overlaps with all
/// others are the same share a cell.
struct Cell {
  std::string name;
  std::optional<Location> loc;
  /// Cells that overlap this one, itself included, without cell 0.
  SmallVector<unsigned, 2> overlaps;
  /// Those whose overlaps are all overlaps of this one: what comes after a
  /// write here comes after what touched them.
  SmallVector<unsigned, 2> covers;
  /// The last op in program order that touches an overlapping cell, or writes.
  unsigned lastAny = 0;
  unsigned lastWrite = 0;
};

/// An access of an op to a cell.
struct Touch {
  unsigned cell;
  bool writes;
  /// Read when the op is enqueued, by a copy of memory that no device work
  /// writes: nothing need come after it.
  bool isAtEnqueue = false;
};

/// What an op does that has no device work in a region.
struct OpInfo {
  enum Kind { Sequential, Token, Host };
  Kind kind;
  SmallVector<Touch, 4> touches;
};

/// What the ops of a region op do.
struct RegionInfo {
  enum Flags {
    DeviceRead = 1,
    DeviceWrite = 2,
    TokenRead = 4,
    TokenWrite = 8,
    HostRead = 16,
    HostWrite = 32
  };
  unsigned begin = 0;
  unsigned end = 0;
  /// Position of the outermost loop around the op; nothing if there is none.
  std::optional<unsigned> loop;
  bool hasWork = false;
  /// Cells of memory that outlives the op.
  llvm::MapVector<unsigned, unsigned> touched;
};

bool isLoop(Operation *op) { return isa<LoopLikeOpInterface>(op); }

/// Finds out what all ops of a function touch.
class AccessTable {
public:
  AccessTable(FunctionOpInterface function, KernelTable &kernels,
              MemoryFacts &facts)
      : function(function), kernels(kernels), facts(facts) {}

  LogicalResult build();

  const OpInfo *lookup(Operation *op) const {
    auto it = infos.find(op);
    return it == infos.end() ? nullptr : &it->second;
  }
  const RegionInfo *lookupRegion(Operation *op) const {
    auto it = regions.find(op);
    return it == regions.end() ? nullptr : &it->second;
  }
  ArrayRef<Cell> getCells() const { return cells; }

private:
  unsigned addKey(Access access);
  LogicalResult visit(Operation *op);
  void addAccesses(Operation *op, OpInfo::Kind kind, ArrayRef<Access> accesses);
  void addScopeEnds();
  void makeCells();
  void makeCellsOfGroup(ArrayRef<unsigned> group);
  bool readsAtEnqueue(Value source);

  FunctionOpInterface function;
  KernelTable &kernels;
  MemoryFacts &facts;

  /// Distinct accesses but for writing, found by their hash.
  std::vector<Access> keys;
  llvm::DenseMap<size_t, SmallVector<unsigned, 1>> keysByHash;
  std::vector<unsigned> cellOfKey;
  std::vector<Cell> cells;

  /// Ops in program order; touches hold keys until cells are made.
  llvm::MapVector<Operation *, OpInfo> infos;
  llvm::MapVector<Operation *, RegionInfo> regions;
  llvm::DenseMap<Operation *, unsigned> positions;
  unsigned position = 0;
  llvm::DenseMap<Value, bool> pageable;
};

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

std::string nameOf(const Access &key) {
  std::string name;
  llvm::raw_string_ostream os(name);
  switch (key.base.kind) {
  case Base::Allocation:
    os << (key.window.isAny() ? "this buffer" : "a part of this buffer");
    break;
  case Base::Argument:
  case Base::NoAliasArgument:
    os << (key.window.isAny() ? "argument " : "a part of argument ")
       << cast<BlockArgument>(key.base.value).getArgNumber();
    break;
  case Base::Global:
    os << "global @" << cast<StringAttr>(Attribute(key.base.symbol)).getValue();
    break;
  case Base::Module:
    os << "the globals of " << key.base.symbol;
    break;
  case Base::Output:
    os << "what kernels print";
    break;
  case Base::Unknown:
    os << "memory that may be anywhere";
    break;
  }
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

//===----------------------------------------------------------------------===//
// The state: who touched what last
//===----------------------------------------------------------------------===//

struct Entry {
  Value token;
  Location loc;
};
using Entries = SmallVector<Entry, 2>;

/// Lists of a cell: what wrote last, and what has read since. Work whose order
/// the program states is listed apart, since none is ever put behind another.
enum ListKind { Writers, Readers, TokenWriters, TokenReaders, NumLists };
struct CellState {
  Entries lists[NumLists];
};

/// A token that a loop carries for a list of a cell.
struct Slot {
  unsigned cell;
  unsigned kind;
  Entries init;
  Value argument;
  /// The list at the end of the body.
  SmallVector<Value> yields;
  /// scf.while: the list at the condition, and the second region's argument.
  SmallVector<Value> condition;
  Value afterArgument;
  /// Never changed by the loop.
  bool isInvariant = false;
  bool isLive = false;
  /// Needless: nothing is ever in the list when an iteration begins.
  bool isGone = false;
  /// The slot that stands for this one.
  unsigned leader;
  Value result;
};

class DependencyInference {
public:
  DependencyInference(FunctionOpInterface function, const AccessTable &table,
                      bool remarks)
      : function(function), table(table), wantsRemarks(remarks),
        tokenType(TokenType::get(function.getContext())),
        state(table.getCells().size()) {}

  void run();

private:
  struct Hazard {
    const char *name;
    unsigned cell;
    Entry entry;
  };
  struct Scope {
    llvm::MapVector<unsigned, CellState> saved;
    SmallVector<Value> done;
  };
  struct Remark {
    Location loc;
    std::string text;
    Location other;
    unsigned cell;
    Value token;
  };

  // State.
  CellState &modify(unsigned cell);
  void dropDone(Entries &entries);
  void addConflicts(unsigned cell, bool writes, bool isHost, bool isTokenWork,
                    SmallVectorImpl<Hazard> &hazards);
  void addToList(unsigned cell, unsigned kind, Entry entry,
                 const llvm::SetVector<Value> &dependencies);
  void enter(const OpInfo &info, Entry entry, bool isTokenWork,
             const llvm::SetVector<Value> &dependencies);
  void clearAll();
  bool isDone(Value token) const { return done.contains(token); }
  void setDone(ArrayRef<Value> tokens);
  void pushScope() { scopes.emplace_back(); }
  llvm::MapVector<unsigned, CellState> popScope();
  SmallVector<Value> past(Value token) const;
  bool reaches(ArrayRef<Value> from, ArrayRef<Value> tokens, Operation *within);

  // Ops.
  void process(Block &block);
  void makeAsync(Operation *op, const OpInfo &info);
  void gatherUsers(Operation *free, llvm::SetVector<Value> &dependencies);
  void orderTokenWork(Operation *op, const OpInfo &info);
  void waitBefore(Operation *op, const OpInfo &info);
  void hostWait(ArrayRef<Hazard> hazards, Operation *before);
  void processBranches(Operation *op, const RegionInfo &info);
  void processLoop(Operation *op, const RegionInfo &info);
  bool isLiveAfter(unsigned cell, unsigned kind, const RegionInfo &info) const;

  // Loops.
  std::vector<Slot> findSlots(Operation *op, const RegionInfo &info);
  void reduceSlots(Operation *op, MutableArrayRef<Slot> slots);
  void dropSlot(Operation *op, Slot &slot);
  void mergeSlots(Operation *op, MutableArrayRef<Slot> slots);
  Value join(ArrayRef<Value> tokens, OpBuilder &builder, Location loc);
  Operation *rebuild(Operation *op, ValueRange operands, unsigned results);

  void remark(Location loc, StringRef what, ArrayRef<Hazard> hazards);

  FunctionOpInterface function;
  const AccessTable &table;
  bool wantsRemarks;
  TokenType tokenType;
  std::vector<CellState> state;
  /// Cells that may have something in their lists.
  SmallVector<unsigned> used;
  SmallVector<Scope> scopes;
  llvm::DenseSet<Value> done;
  /// Tokens of device work in program order, and their places in it.
  std::vector<Value> order;
  llvm::DenseMap<Value, size_t> placeOf;
  /// Tokens that an op of their own block depends on.
  llvm::DenseSet<Value> taken;
  /// What is before a token of a region op or of a block.
  llvm::DenseMap<Value, SmallVector<Value, 2>> pastOf;
  SmallVector<Remark> remarks;
};

CellState &DependencyInference::modify(unsigned cell) {
  if (!scopes.empty())
    scopes.back().saved.try_emplace(cell, state[cell]);
  return state[cell];
}

/// The lists as they were before the scope; returns what they became.
llvm::MapVector<unsigned, CellState> DependencyInference::popScope() {
  Scope scope = scopes.pop_back_val();
  for (auto &[cell, saved] : scope.saved) {
    std::swap(state[cell], saved);
    used.push_back(cell);
  }
  for (Value token : scope.done)
    done.erase(token);
  return std::move(scope.saved);
}

void DependencyInference::dropDone(Entries &entries) {
  llvm::erase_if(entries,
                 [&](const Entry &entry) { return isDone(entry.token); });
}

/// The tokens right before `token`, as far as they are known.
SmallVector<Value> DependencyInference::past(Value token) const {
  auto it = pastOf.find(token);
  if (it != pastOf.end())
    return SmallVector<Value>(it->second.begin(), it->second.end());
  Operation *op = token.getDefiningOp();
  if (auto work = dyn_cast_or_null<WorkOpInterface>(op))
    return SmallVector<Value>(work.getAsyncDependencies());
  if (auto wait = dyn_cast_or_null<WaitOp>(op))
    return SmallVector<Value>(wait.getAsyncDependencies());
  return {};
}

void DependencyInference::setDone(ArrayRef<Value> tokens) {
  SmallVector<Value> worklist(tokens);
  while (!worklist.empty()) {
    Value token = worklist.pop_back_val();
    if (!done.insert(token).second)
      continue;
    if (!scopes.empty())
      scopes.back().done.push_back(token);
    worklist.append(past(token));
  }
}

/// Whether all of `tokens` are among `from` or before one of them, looking no
/// further back than the ops within `within`.
bool DependencyInference::reaches(ArrayRef<Value> from, ArrayRef<Value> tokens,
                                  Operation *within) {
  llvm::SmallDenseSet<Value, 8> missing(tokens.begin(), tokens.end());
  llvm::SmallDenseSet<Value, 16> seen;
  SmallVector<Value> worklist(from);
  while (!worklist.empty() && !missing.empty()) {
    Value token = worklist.pop_back_val();
    if (!seen.insert(token).second)
      continue;
    missing.erase(token);
    if (within->isAncestor(token.getParentBlock()->getParentOp()))
      worklist.append(past(token));
  }
  return missing.empty();
}

/// What an access to `cell` comes after.
void DependencyInference::addConflicts(unsigned cell, bool writes, bool isHost,
                                       bool isTokenWork,
                                       SmallVectorImpl<Hazard> &hazards) {
  auto add = [&](unsigned other, unsigned kind, const char *name) {
    for (const Entry &entry : state[other].lists[kind]) {
      if (isDone(entry.token))
        continue;
      // Host-shared memory is there once its allocation has been enqueued; not
      // so for device work of somebody else.
      bool isAllocation = entry.token.getDefiningOp<AllocOp>();
      if (isAllocation && isHost && cell != 0)
        continue;
      hazards.push_back(
          {isAllocation ? "allocation before use" : name, cell, entry});
    }
  };
  auto addCell = [&](unsigned other, bool readersToo) {
    const char *afterWrite = writes ? "write-after-write" : "read-after-write";
    add(other, Writers, afterWrite);
    if (readersToo)
      add(other, Readers, "write-after-read");
    // The program orders work with tokens and what the host does meanwhile.
    if (isTokenWork || (isHost && cell != 0))
      return;
    add(other, TokenWriters, afterWrite);
    if (readersToo)
      add(other, TokenReaders, "write-after-read");
  };
  if (cell == 0)
    return addCell(0, /*readersToo=*/true);
  for (unsigned other : table.getCells()[cell].overlaps)
    addCell(other, writes);
  addCell(0, /*readersToo=*/false);
}

void DependencyInference::addToList(
    unsigned cell, unsigned kind, Entry entry,
    const llvm::SetVector<Value> &dependencies) {
  Entries &entries = modify(cell).lists[kind];
  // The new one stands for those that it comes after.
  auto isCovered = [&](Entry &other) {
    if (other.token.getParentBlock() != entry.token.getParentBlock())
      return false;
    return cell == 0 ? taken.contains(other.token)
                     : dependencies.contains(other.token);
  };
  if (entries.size() < 16 || llvm::isPowerOf2_64(entries.size()))
    llvm::erase_if(entries, isCovered);
  entries.push_back(entry);
  used.push_back(cell);
}

void DependencyInference::clearAll() {
  llvm::sort(used);
  used.erase(llvm::unique(used), used.end());
  for (unsigned cell : used)
    modify(cell) = CellState();
  used.clear();
}

/// Device work has been given its token: it is what touched its cells last.
void DependencyInference::enter(const OpInfo &info, Entry entry,
                                bool isTokenWork,
                                const llvm::SetVector<Value> &dependencies) {
  placeOf[entry.token] = order.size();
  order.push_back(entry.token);
  for (Value token : dependencies)
    if (token.getParentBlock() == entry.token.getParentBlock())
      taken.insert(token);
  unsigned writers = isTokenWork ? TokenWriters : Writers;
  unsigned readers = isTokenWork ? TokenReaders : Readers;
  for (const Touch &touch : info.touches) {
    if (!touch.writes)
      continue;
    if (isTokenWork) {
      addToList(touch.cell, writers, entry, dependencies);
      continue;
    }
    if (touch.cell == 0) {
      clearAll();
    } else {
      modify(touch.cell) = CellState();
      for (unsigned covered : table.getCells()[touch.cell].covers)
        if (llvm::any_of(state[covered].lists,
                         [](const Entries &list) { return !list.empty(); }))
          modify(covered) = CellState();
    }
  }
  bool isAnywhere = false;
  for (const Touch &touch : info.touches) {
    isAnywhere |= touch.cell == 0;
    if (touch.isAtEnqueue)
      continue;
    if (!touch.writes)
      addToList(touch.cell, readers, entry, dependencies);
    else if (!isTokenWork) {
      modify(touch.cell).lists[Writers].assign({entry});
      used.push_back(touch.cell);
    }
  }
  // Nobody asks if nobody touches memory that may be anywhere.
  if (!isAnywhere && table.getCells()[0].lastWrite)
    addToList(0, readers, entry, dependencies);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void DependencyInference::remark(Location loc, StringRef what,
                                 ArrayRef<Hazard> hazards) {
  if (!wantsRemarks)
    return;
  for (const Hazard &hazard : hazards)
    remarks.push_back({loc,
                       (what + ": " + hazard.name + " of " +
                        table.getCells()[hazard.cell].name)
                           .str(),
                       hazard.entry.loc, hazard.cell, hazard.entry.token});
}

/// Nothing waits for a free, so that it can as well come after the first op
/// that is after all users of the memory: one dependency, and a stream that has
/// waited for the users already.
void DependencyInference::gatherUsers(Operation *free,
                                      llvm::SetVector<Value> &dependencies) {
  // How far ahead it is looked for such an op.
  constexpr size_t maxDistance = 2048;
  if (dependencies.size() < 2)
    return;
  size_t first = order.size();
  llvm::SmallDenseMap<Value, unsigned, 8> numbers;
  for (Value token : dependencies) {
    auto place = placeOf.find(token);
    if (place == placeOf.end() || token.getParentBlock() != free->getBlock())
      return;
    first = std::min(first, place->second);
    numbers.try_emplace(token, numbers.size());
  }
  if (order.size() - first > maxDistance)
    return;
  llvm::SmallDenseMap<Value, llvm::BitVector, 32> covered;
  for (size_t place = first; place < order.size(); ++place) {
    Value token = order[place];
    if (token.getParentBlock() != free->getBlock())
      continue;
    llvm::BitVector bits(dependencies.size());
    for (Value before : past(token)) {
      auto it = covered.find(before);
      if (it != covered.end())
        bits |= it->second;
    }
    auto number = numbers.find(token);
    if (number != numbers.end())
      bits.set(number->second);
    if (bits.none())
      continue;
    if (bits.all()) {
      dependencies.clear();
      dependencies.insert(token);
      return;
    }
    covered[token] = std::move(bits);
  }
}

void DependencyInference::makeAsync(Operation *op, const OpInfo &info) {
  SmallVector<Hazard> hazards;
  if (!isa<AllocOp>(op))
    for (const Touch &touch : info.touches)
      addConflicts(touch.cell, touch.writes, /*isHost=*/false,
                   /*isTokenWork=*/false, hazards);
  llvm::SetVector<Value> dependencies;
  SmallVector<Hazard> firsts;
  for (const Hazard &hazard : hazards)
    if (dependencies.insert(hazard.entry.token))
      firsts.push_back(hazard);
  remark(op->getLoc(), "starts after another op", firsts);
  if (isa<DeallocOp>(op))
    gatherUsers(op, dependencies);

  OpBuilder builder(op);
  OperationState created(op->getLoc(), op->getName());
  created.addOperands(dependencies.getArrayRef());
  created.addOperands(op->getOperands());
  created.addTypes(op->getResultTypes());
  created.addTypes(tokenType);
  NamedAttrList attributes(op->getAttrDictionary());
  StringRef segmentsName = "operandSegmentSizes";
  auto segments = cast<DenseI32ArrayAttr>(attributes.get(segmentsName));
  SmallVector<int32_t> sizes(segments.asArrayRef());
  sizes.front() = dependencies.size();
  attributes.set(segmentsName, builder.getDenseI32ArrayAttr(sizes));
  created.addAttributes(attributes.getAttrs());
  Operation *result = builder.create(created);
  for (auto [before, after] : llvm::zip(op->getResults(), result->getResults()))
    before.replaceAllUsesWith(after);
  op->erase();

  Value token = cast<WorkOpInterface>(result).getAsyncToken();
  enter(info, {token, result->getLoc()}, /*isTokenWork=*/false, dependencies);
}

/// Work that has tokens comes after sequential work that it conflicts with.
void DependencyInference::orderTokenWork(Operation *op, const OpInfo &info) {
  SmallVector<Hazard> hazards;
  for (const Touch &touch : info.touches)
    addConflicts(touch.cell, touch.writes, /*isHost=*/false,
                 /*isTokenWork=*/true, hazards);
  auto work = dyn_cast<WorkOpInterface>(op);
  if (!work) {
    hostWait(hazards, op);
    for (OpResult result : op->getResults())
      if (isToken(result.getType()))
        enter(info, {result, op->getLoc()}, /*isTokenWork=*/true, {});
    return;
  }
  llvm::SetVector<Value> dependencies(work.getAsyncDependencies().begin(),
                                      work.getAsyncDependencies().end());
  SmallVector<Hazard> firsts;
  for (const Hazard &hazard : hazards)
    if (dependencies.insert(hazard.entry.token))
      firsts.push_back(hazard);
  remark(op->getLoc(), "starts after another op", firsts);
  if (dependencies.size() != work.getAsyncDependencies().size())
    work.getAsyncDependenciesMutable().assign(dependencies.getArrayRef());
  if (work.getAsyncToken())
    enter(info, {work.getAsyncToken(), op->getLoc()}, /*isTokenWork=*/true,
          dependencies);
}

void DependencyInference::hostWait(ArrayRef<Hazard> hazards,
                                   Operation *before) {
  llvm::SetVector<Value> tokens;
  SmallVector<Hazard> firsts;
  for (const Hazard &hazard : hazards)
    if (tokens.insert(hazard.entry.token))
      firsts.push_back(hazard);
  if (tokens.empty())
    return;
  remark(before->getLoc(), "the host waits for device work", firsts);
  OpBuilder builder(before);
  WaitOp::create(builder, before->getLoc(), Type(), tokens.getArrayRef());
  setDone(tokens.getArrayRef());
}

void DependencyInference::waitBefore(Operation *op, const OpInfo &info) {
  SmallVector<Hazard> hazards;
  for (const Touch &touch : info.touches)
    addConflicts(touch.cell, touch.writes, /*isHost=*/true,
                 /*isTokenWork=*/false, hazards);
  hostWait(hazards, op);
  for (const Touch &touch : info.touches) {
    if (touch.cell == 0)
      return clearAll();
    for (unsigned other : table.getCells()[touch.cell].overlaps)
      for (unsigned kind = 0; kind < NumLists; ++kind)
        if (llvm::any_of(state[other].lists[kind], [&](const Entry &entry) {
              return isDone(entry.token);
            }))
          dropDone(modify(other).lists[kind]);
  }
}

void DependencyInference::process(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (const RegionInfo *info = table.lookupRegion(&op)) {
      if (isLoop(&op))
        processLoop(&op, *info);
      else
        processBranches(&op, *info);
      continue;
    }
    if (auto wait = dyn_cast<WaitOp>(&op)) {
      if (wait.isHostWait())
        setDone(SmallVector<Value>(wait.getAsyncDependencies()));
      continue;
    }
    const OpInfo *info = table.lookup(&op);
    if (!info)
      continue;
    switch (info->kind) {
    case OpInfo::Sequential:
      makeAsync(&op, *info);
      break;
    case OpInfo::Token:
      orderTokenWork(&op, *info);
      break;
    case OpInfo::Host:
      waitBefore(&op, *info);
      break;
    }
  }
}

bool DependencyInference::isLiveAfter(unsigned cell, unsigned kind,
                                      const RegionInfo &info) const {
  bool isWriter = kind == Writers || kind == TokenWriters;
  const Cell &found = table.getCells()[cell];
  unsigned last = isWriter ? found.lastAny : found.lastWrite;
  return last >= info.loop.value_or(info.end);
}

//===----------------------------------------------------------------------===//
// Regions that run at most once
//===----------------------------------------------------------------------===//

/// One token for all of `tokens`.
Value DependencyInference::join(ArrayRef<Value> tokens, OpBuilder &builder,
                                Location loc) {
  if (tokens.size() == 1)
    return tokens.front();
  return WaitOp::create(builder, loc, tokenType, tokens).getAsyncToken();
}

/// The op with more operands and token results at their ends, and the same
/// regions.
Operation *DependencyInference::rebuild(Operation *op, ValueRange operands,
                                        unsigned results) {
  OpBuilder builder(op);
  OperationState created(op->getLoc(), op->getName());
  created.addOperands(op->getOperands());
  created.addOperands(operands);
  created.addTypes(op->getResultTypes());
  created.addTypes(SmallVector<Type>(results, tokenType));
  created.addAttributes(op->getAttrs());
  for (Region &region : op->getRegions())
    created.addRegion()->takeBody(region);
  Operation *result = builder.create(created);
  for (auto [before, after] : llvm::zip(op->getResults(), result->getResults()))
    before.replaceAllUsesWith(after);
  op->erase();
  return result;
}

SmallVector<Value> tokensOf(ArrayRef<Entry> entries) {
  return llvm::map_to_vector(entries,
                             [](const Entry &entry) { return entry.token; });
}

void DependencyInference::processBranches(Operation *op,
                                          const RegionInfo &info) {
  SmallVector<llvm::MapVector<unsigned, CellState>> ends;
  llvm::SetVector<unsigned> modified;
  for (Region &region : op->getRegions()) {
    pushScope();
    if (!region.empty())
      process(region.front());
    for (auto &[cell, saved] : scopes.back().saved)
      for (Entries &list : state[cell].lists)
        dropDone(list);
    ends.push_back(popScope());
    for (auto &[cell, end] : ends.back())
      modified.insert(cell);
  }

  // What each region yields for each result.
  using Yields = SmallVector<SmallVector<Value>>;
  SmallVector<Yields> results;
  struct Update {
    unsigned cell, kind;
    Entries kept;
    unsigned result;
  };
  SmallVector<Update> updates;
  for (unsigned cell : modified) {
    for (unsigned kind = 0; kind < NumLists; ++kind) {
      Entries &old = state[cell].lists[kind];
      SmallVector<Entries *> lists;
      for (auto &end : ends) {
        auto it = end.find(cell);
        lists.push_back(it == end.end() ? &old : &it->second.lists[kind]);
      }
      if (!isLiveAfter(cell, kind, info)) {
        if (!old.empty())
          modify(cell).lists[kind].clear();
        continue;
      }
      llvm::SmallDenseSet<Value, 4> before;
      for (const Entry &entry : old)
        before.insert(entry.token);
      auto isOld = [&](const Entry &entry) {
        return before.contains(entry.token);
      };
      if (llvm::all_of(lists, [&](Entries *list) {
            return llvm::all_of(*list, isOld);
          })) {
        llvm::SmallDenseSet<Value, 4> left;
        for (Entries *list : lists)
          for (const Entry &entry : *list)
            left.insert(entry.token);
        if (left.size() != old.size())
          llvm::erase_if(modify(cell).lists[kind], [&](const Entry &entry) {
            return !left.contains(entry.token);
          });
        continue;
      }
      // What all regions leave in the list need not go through the op.
      Update update{cell, kind, {}, unsigned(results.size())};
      bool keepsOld = llvm::all_of(lists, [&](Entries *list) {
        return llvm::count_if(*list, isOld) == ptrdiff_t(old.size());
      });
      Yields yields;
      for (Entries *list : lists) {
        yields.emplace_back();
        for (const Entry &entry : *list)
          if (!keepsOld || !isOld(entry))
            yields.back().push_back(entry.token);
      }
      if (keepsOld)
        update.kept = old;
      auto same = llvm::find(results, yields);
      update.result = same - results.begin();
      if (same == results.end())
        results.push_back(std::move(yields));
      updates.push_back(std::move(update));
    }
  }
  if (results.empty())
    return;

  unsigned first = op->getNumResults();
  for (auto [number, region] : llvm::enumerate(op->getRegions())) {
    if (region.empty()) {
      OpBuilder builder(op->getContext());
      builder.createBlock(&region);
      scf::YieldOp::create(builder, op->getLoc());
    }
    Operation *terminator = region.front().getTerminator();
    OpBuilder builder(terminator);
    SmallVector<Value> operands(terminator->getOperands());
    for (const Yields &yields : results)
      operands.push_back(join(yields[number], builder, terminator->getLoc()));
    terminator->setOperands(operands);
  }
  Location loc = op->getLoc();
  op = rebuild(op, {}, results.size());
  for (Update &update : updates) {
    Value token = op->getResult(first + update.result);
    Entries &list = modify(update.cell).lists[update.kind];
    SmallVector<Value> old = tokensOf(list);
    if (!old.empty() && update.kept.empty() && !pastOf.count(token) &&
        llvm::all_of(results[update.result], [&](ArrayRef<Value> yields) {
          return reaches(yields, old, op);
        }))
      pastOf[token].append(old.begin(), old.end());
    list = std::move(update.kept);
    list.push_back({token, loc});
    used.push_back(update.cell);
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A slot for each list that an iteration may change and a later one, or what
/// follows the loop, asks for; and for each list that iterations ask for only.
std::vector<Slot> DependencyInference::findSlots(Operation *op,
                                                 const RegionInfo &info) {
  std::vector<Slot> slots;
  llvm::DenseSet<std::pair<unsigned, unsigned>> seen;
  auto add = [&](unsigned cell, unsigned kind, bool isInvariant) {
    Entries init = state[cell].lists[kind];
    dropDone(init);
    if ((isInvariant && init.empty()) || !seen.insert({cell, kind}).second)
      return;
    Slot &slot = slots.emplace_back();
    slot.cell = cell;
    slot.kind = kind;
    slot.init = std::move(init);
    slot.isInvariant = isInvariant;
    slot.isLive = !isInvariant && isLiveAfter(cell, kind, info);
    slot.leader = slots.size() - 1;
  };
  using Flags = RegionInfo::Flags;
  for (auto [cell, flags] : info.touched) {
    // In this loop, behind it, or in the next iteration of a loop around it.
    bool meetsWrite =
        table.getCells()[cell].lastWrite >= info.loop.value_or(info.begin);
    if (flags & Flags::DeviceWrite)
      add(cell, Writers, false);
    if ((flags & Flags::DeviceRead) && meetsWrite)
      add(cell, Readers, false);
    if (flags & Flags::TokenWrite)
      add(cell, TokenWriters, false);
    if ((flags & Flags::TokenRead) && meetsWrite)
      add(cell, TokenReaders, false);
  }
  for (auto [cell, flags] : info.touched) {
    bool writes =
        flags & (Flags::DeviceWrite | Flags::TokenWrite | Flags::HostWrite);
    auto addInvariant = [&](unsigned other) {
      add(other, Writers, true);
      add(other, TokenWriters, true);
      if (writes) {
        add(other, Readers, true);
        add(other, TokenReaders, true);
      }
    };
    for (unsigned other : table.getCells()[cell].overlaps)
      addInvariant(other);
  }
  return slots;
}

/// Takes a token out of all lists of dependencies.
void DependencyInference::dropSlot(Operation *op, Slot &slot) {
  for (Value token : {slot.argument, slot.afterArgument}) {
    if (!token)
      continue;
    llvm::erase_if(remarks,
                   [&](const Remark &other) { return other.token == token; });
    llvm::SmallSetVector<Operation *, 4> users(token.user_begin(),
                                               token.user_end());
    for (Operation *user : users) {
      auto work = dyn_cast<WorkOpInterface>(user);
      auto wait = dyn_cast<WaitOp>(user);
      if (!work && !wait)
        continue;
      MutableOperandRange range = work ? work.getAsyncDependenciesMutable()
                                       : wait.getAsyncDependenciesMutable();
      SmallVector<Value> kept;
      for (OpOperand &operand : range)
        if (operand.get() != token)
          kept.push_back(operand.get());
      range.assign(kept);
      if (wait && wait.isHostWait() && kept.empty())
        wait.erase();
    }
    if (!token.use_empty()) {
      OpBuilder builder(op);
      token.replaceAllUsesWith(join({}, builder, op->getLoc()));
    }
  }
}

/// Slots that are always empty go; those that always stand for the same point
/// become one.
void DependencyInference::reduceSlots(Operation *op,
                                      MutableArrayRef<Slot> slots) {
  llvm::DenseMap<Value, unsigned> slotOf;
  for (auto [number, slot] : llvm::enumerate(slots)) {
    slotOf[slot.argument] = number;
    if (slot.afterArgument)
      slotOf[slot.afterArgument] = number;
  }
  auto isOwn = [&](const Slot &slot, Value token) {
    return token == slot.argument || token == slot.afterArgument;
  };
  for (Slot &slot : slots) {
    if (llvm::all_of(slot.yields, [&](Value v) { return isOwn(slot, v); }) &&
        slot.yields.size() == 1 && slot.condition.size() <= 1 &&
        llvm::all_of(slot.condition, [&](Value v) { return isOwn(slot, v); }))
      slot.isInvariant = true;
    slot.isGone = slot.init.empty();
  }
  // Empty before the loop, and nothing comes in.
  bool isChanged = true;
  while (isChanged) {
    isChanged = false;
    for (Slot &slot : slots) {
      auto isEmpty = [&](Value token) {
        auto it = slotOf.find(token);
        return it != slotOf.end() && slots[it->second].isGone;
      };
      if (slot.isGone && (!llvm::all_of(slot.yields, isEmpty) ||
                          !llvm::all_of(slot.condition, isEmpty))) {
        slot.isGone = false;
        isChanged = true;
      }
    }
  }
  auto isGoneToken = [&](Value token) {
    auto it = slotOf.find(token);
    return it != slotOf.end() && slots[it->second].isGone;
  };
  for (Slot &slot : slots) {
    llvm::erase_if(slot.yields, isGoneToken);
    llvm::erase_if(slot.condition, isGoneToken);
  }
  for (Slot &slot : slots)
    if (slot.isGone)
      dropSlot(op, slot);
  mergeSlots(op, slots);
}

void DependencyInference::mergeSlots(Operation *op,
                                     MutableArrayRef<Slot> slots) {
  SmallVector<unsigned> live;
  llvm::DenseMap<Value, unsigned> slotOf;
  for (auto [number, slot] : llvm::enumerate(slots))
    if (!slot.isGone) {
      live.push_back(number);
      slotOf[slot.argument] = number;
    }
  // Comparing all pairs is for loops of usual size.
  if (live.size() < 2 || live.size() > 256)
    return;

  // The slots in the past of each token within the loop.
  llvm::DenseMap<Value, llvm::BitVector> covered;
  auto cover = [&](Value root) -> const llvm::BitVector & {
    SmallVector<Value> stack{root};
    while (!stack.empty()) {
      Value token = stack.back();
      if (covered.count(token)) {
        stack.pop_back();
        continue;
      }
      llvm::BitVector bits(slots.size());
      auto it = slotOf.find(token);
      SmallVector<Value> before;
      if (it != slotOf.end())
        bits.set(it->second);
      else if (op->isAncestor(token.getParentBlock()->getParentOp()))
        before = past(token);
      bool isReady = true;
      for (Value other : before) {
        auto known = covered.find(other);
        if (known == covered.end()) {
          stack.push_back(other);
          isReady = false;
        } else {
          bits |= known->second;
        }
      }
      if (!isReady)
        continue;
      stack.pop_back();
      covered[token] = std::move(bits);
    }
    return covered[root];
  };
  auto coverAll = [&](ValueRange tokens) {
    llvm::BitVector bits(slots.size());
    for (Value token : tokens)
      bits |= cover(token);
    return bits;
  };

  SmallVector<llvm::BitVector> covers(slots.size());
  SmallVector<SmallVector<llvm::BitVector>> users(slots.size());
  for (unsigned number : live) {
    Slot &slot = slots[number];
    covers[number] = coverAll(slot.yields);
    for (Value token : {slot.argument, slot.afterArgument}) {
      if (!token)
        continue;
      for (Operation *user : token.getUsers()) {
        auto work = dyn_cast<WorkOpInterface>(user);
        auto wait = dyn_cast<WaitOp>(user);
        if (work)
          users[number].push_back(coverAll(work.getAsyncDependencies()));
        else if (wait)
          users[number].push_back(coverAll(wait.getAsyncDependencies()));
        else
          users[number].push_back(cover(token));
      }
    }
  }
  auto isSubset = [](ArrayRef<Entry> inner, ArrayRef<Entry> outer) {
    return llvm::all_of(inner, [&](const Entry &entry) {
      return llvm::any_of(outer, [&](const Entry &other) {
        return other.token == entry.token;
      });
    });
  };
  auto isSame = [](ArrayRef<Value> a, ArrayRef<Value> b) {
    return a.size() == b.size() && llvm::all_of(a, [&](Value value) {
             return llvm::is_contained(b, value);
           });
  };

  // A list that grows by readers which another slot's token comes after needs
  // not keep the old ones.
  for (unsigned number : live) {
    Slot &slot = slots[number];
    if (slot.isInvariant || slot.afterArgument ||
        !llvm::is_contained(slot.yields, slot.argument))
      continue;
    SmallVector<Value> added;
    for (Value token : slot.yields)
      if (token != slot.argument)
        added.push_back(token);
    llvm::BitVector addedCover = coverAll(added);
    for (unsigned other : live) {
      if (other == number || !addedCover.test(other) ||
          !covers[other].test(other) ||
          !isSubset(slot.init, slots[other].init) ||
          !reaches(slots[other].yields, added, op))
        continue;
      slot.yields = added;
      covers[number] = addedCover;
      break;
    }
  }

  // Slots that stand for the same points in all that ops ask for.
  SmallVector<llvm::BitVector> members(slots.size());
  for (unsigned number : live) {
    members[number].resize(slots.size());
    members[number].set(number);
  }
  auto coversClass = [&](const llvm::BitVector &bits, unsigned leader) {
    return bits.anyCommon(members[leader]);
  };
  auto mayMerge = [&](unsigned leader, unsigned other) {
    const Slot &a = slots[leader];
    const Slot &b = slots[other];
    if (a.isInvariant && !b.isInvariant)
      return false;
    auto passesOn = [](const Slot &slot) {
      return !slot.afterArgument || (slot.condition.size() == 1 &&
                                     slot.condition.front() == slot.argument);
    };
    if (!passesOn(a) || !passesOn(b))
      return false;
    bool isSameYield = isSame(a.yields, b.yields);
    // The other's point is never after the leader's.
    if (!isSameYield) {
      SmallVector<Value> inside;
      for (Value token : b.yields) {
        if (token != b.argument && token != b.afterArgument) {
          inside.push_back(token);
          continue;
        }
        if (!covers[leader].test(other) && !coversClass(covers[leader], leader))
          return false;
      }
      if (!reaches(a.yields, inside, op))
        return false;
      bool isOneCell =
          a.cell == b.cell && a.kind == Writers && b.kind == Readers;
      if (b.isLive && !isOneCell)
        return false;
    }
    auto usersCover = [&](unsigned from, unsigned by) {
      return llvm::all_of(users[from], [&](const llvm::BitVector &bits) {
        return coversClass(bits, by);
      });
    };
    // In the first iteration each is what was before the loop, in later ones
    // the leader is what the last one left.
    if (!usersCover(other, leader) &&
        !(isSubset(a.init, b.init) && isSameYield))
      return false;
    return usersCover(leader, other) || isSubset(b.init, a.init);
  };
  for (unsigned leader : live) {
    if (slots[leader].leader != leader)
      continue;
    for (unsigned other : live) {
      if (other == leader || slots[other].leader != other ||
          members[other].count() != 1 || !mayMerge(leader, other))
        continue;
      slots[other].leader = leader;
      members[leader].set(other);
      users[leader].append(users[other]);
      for (const Entry &entry : slots[other].init)
        if (!isSubset({entry}, slots[leader].init))
          slots[leader].init.push_back(entry);
      slots[leader].isLive |= slots[other].isLive;
    }
  }
}

/// Names tokens by what they are now; null: nothing that is known.
static void changeTokens(SmallVectorImpl<Value> &tokens,
                         const llvm::DenseMap<Value, Value> &changed) {
  llvm::SetVector<Value> result;
  for (Value token : tokens) {
    auto it = changed.find(token);
    if (it == changed.end())
      result.insert(token);
    else if (it->second)
      result.insert(it->second);
  }
  tokens.assign(result.begin(), result.end());
}

void DependencyInference::processLoop(Operation *op, const RegionInfo &info) {
  using Flags = RegionInfo::Flags;
  // Host code that meets only what was there before the loop waits before it,
  // once.
  OpInfo hoisted{OpInfo::Host, {}};
  for (auto [cell, flags] : info.touched) {
    if (!(flags & (Flags::HostRead | Flags::HostWrite)) || cell == 0)
      continue;
    unsigned device = Flags::DeviceWrite | Flags::TokenWrite;
    if (flags & Flags::HostWrite)
      device |= Flags::DeviceRead | Flags::TokenRead;
    if (llvm::none_of(table.getCells()[cell].overlaps, [&](unsigned other) {
          return info.touched.lookup(other) & device;
        }))
      hoisted.touches.push_back({cell, bool(flags & Flags::HostWrite)});
  }
  if (!hoisted.touches.empty())
    waitBefore(op, hoisted);

  std::vector<Slot> slots = findSlots(op, info);
  Location loc = op->getLoc();
  Block *before = &op->getRegion(0).front();
  Block *after = isa<scf::WhileOp>(op) ? &op->getRegion(1).front() : nullptr;
  unsigned firstArgument = before->getNumArguments();
  unsigned firstAfter = after ? after->getNumArguments() : 0;

  pushScope();
  auto setLists = [&](Value Slot::*argument) {
    for (Slot &slot : slots)
      modify(slot.cell).lists[slot.kind].assign({{slot.*argument, loc}});
  };
  auto listOf = [&](const Slot &slot) {
    Entries &list = state[slot.cell].lists[slot.kind];
    dropDone(list);
    return tokensOf(list);
  };
  for (Slot &slot : slots) {
    slot.argument = before->addArgument(tokenType, loc);
    used.push_back(slot.cell);
  }
  setLists(&Slot::argument);
  process(*before);
  if (after) {
    for (Slot &slot : slots) {
      slot.condition = listOf(slot);
      slot.afterArgument = after->addArgument(tokenType, loc);
      pastOf[slot.afterArgument].assign(slot.condition.begin(),
                                        slot.condition.end());
      used.push_back(slot.cell);
    }
    setLists(&Slot::afterArgument);
    process(*after);
  }
  for (Slot &slot : slots)
    slot.yields = listOf(slot);
  popScope();

  reduceSlots(op, slots);

  // Slots that no iteration changes are taken from outside.
  OpBuilder builder(op);
  SmallVector<unsigned> carried;
  SmallVector<Value> inits;
  // What block arguments that will be erased stand for from here on, if
  // anything.
  llvm::DenseMap<Value, Value> changed;
  for (auto [number, slot] : llvm::enumerate(slots)) {
    if (slot.isGone)
      for (Value argument : {slot.argument, slot.afterArgument})
        if (argument)
          changed[argument] = Value();
    if (slot.isGone || slot.leader != number)
      continue;
    SmallVector<Value> tokens = tokensOf(slot.init);
    if (slot.isInvariant) {
      bool isUsed = !slot.argument.use_empty() ||
                    (slot.afterArgument && !slot.afterArgument.use_empty());
      Value token = isUsed ? join(tokens, builder, loc) : Value();
      for (Value argument : {slot.argument, slot.afterArgument}) {
        if (!argument)
          continue;
        changed[argument] = token;
        if (token)
          argument.replaceAllUsesWith(token);
      }
      continue;
    }
    carried.push_back(number);
    inits.push_back(join(tokens, builder, loc));
  }
  for (Slot &slot : slots) {
    const Slot &leader = slots[slot.leader];
    if (slot.isGone || leader.argument == slot.argument)
      continue;
    if (leader.isInvariant)
      continue;
    changed[slot.argument] = leader.argument;
    slot.argument.replaceAllUsesWith(leader.argument);
    if (slot.afterArgument) {
      changed[slot.afterArgument] = leader.afterArgument;
      slot.afterArgument.replaceAllUsesWith(leader.afterArgument);
    }
  }
  // Invariant slots that follow an invariant leader.
  for (Slot &slot : slots) {
    Slot &leader = slots[slot.leader];
    if (slot.isGone || !leader.isInvariant || &leader == &slot)
      continue;
    Value token = join(tokensOf(leader.init), builder, loc);
    for (Value argument : {slot.argument, slot.afterArgument})
      if (argument) {
        changed[argument] = token;
        argument.replaceAllUsesWith(token);
      }
  }
  // One list may have named two that are one now.
  auto removeDuplicates = [](Operation *user) {
    auto work = dyn_cast<WorkOpInterface>(user);
    auto wait = dyn_cast<WaitOp>(user);
    if (!work && !wait)
      return;
    MutableOperandRange range = work ? work.getAsyncDependenciesMutable()
                                     : wait.getAsyncDependenciesMutable();
    llvm::SetVector<Value> unique;
    for (OpOperand &operand : range)
      unique.insert(operand.get());
    if (unique.size() != range.size())
      range.assign(unique.getArrayRef());
  };
  auto addOperands = [&](Operation *terminator, auto member) {
    OpBuilder inner(terminator);
    SmallVector<Value> operands(terminator->getOperands());
    for (unsigned number : carried) {
      SmallVector<Value> &tokens = slots[number].*member;
      changeTokens(tokens, changed);
      operands.push_back(join(tokens, inner, loc));
    }
    terminator->setOperands(operands);
  };
  for (unsigned number : carried) {
    const Slot &slot = slots[number];
    for (Value argument : {slot.argument, slot.afterArgument})
      if (argument)
        for (Operation *user : llvm::SmallSetVector<Operation *, 4>(
                 argument.user_begin(), argument.user_end()))
          removeDuplicates(user);
  }
  if (after)
    addOperands(before->getTerminator(), &Slot::condition);
  addOperands((after ? after : before)->getTerminator(), &Slot::yields);

  // Block arguments that are left over. A new value may get the place of an
  // erased one, so nobody may know it by then.
  for (auto &[argument, token] : changed) {
    pastOf.erase(argument);
    taken.erase(argument);
  }
  for (auto &[token, tokens] : pastOf)
    changeTokens(tokens, changed);
  for (Remark &other : remarks)
    if (auto it = changed.find(other.token); it != changed.end())
      other.token = it->second;
  llvm::SmallDenseSet<unsigned> kept(carried.begin(), carried.end());
  for (size_t number = slots.size(); number-- > 0;) {
    if (kept.contains(number))
      continue;
    before->eraseArgument(firstArgument + number);
    if (after)
      after->eraseArgument(firstAfter + number);
  }
  unsigned firstResult = op->getNumResults();
  if (!carried.empty())
    op = rebuild(op, inits, carried.size());
  for (auto [index, number] : llvm::enumerate(carried)) {
    Slot &slot = slots[number];
    slot.result = op->getResult(firstResult + index);
    if (reaches(after ? slot.condition : slot.yields, {slot.argument}, op))
      pastOf[slot.result].assign({inits[index]});
  }
  for (Slot &slot : slots) {
    if (slot.isInvariant || slot.isGone)
      continue;
    Entries &list = modify(slot.cell).lists[slot.kind];
    list.clear();
    if (slot.isLive)
      list.push_back({slots[slot.leader].result, loc});
    used.push_back(slot.cell);
  }
}

void DependencyInference::run() {
  for (Block &block : function.getFunctionBody())
    process(block);
  for (const Remark &remark : remarks) {
    InFlightDiagnostic diagnostic = mlir::emitRemark(remark.loc) << remark.text;
    diagnostic.attachNote(remark.other) << "the earlier work";
    const Cell &cell = table.getCells()[remark.cell];
    if (cell.loc && *cell.loc != remark.other)
      diagnostic.attachNote(*cell.loc) << "the memory";
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// What is in an scf.execute_region is in the block around it.
void inlineExecuteRegions(FunctionOpInterface function) {
  SmallVector<scf::ExecuteRegionOp> ops;
  function->walk([&](scf::ExecuteRegionOp op) {
    bool hasWork = op->walk([](Operation *inner) {
                       return isSequential(inner) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
                     }).wasInterrupted();
    if (hasWork && op.getRegion().hasOneBlock())
      ops.push_back(op);
  });
  for (scf::ExecuteRegionOp op : ops) {
    Block &block = op.getRegion().front();
    Operation *yield = block.getTerminator();
    op->replaceAllUsesWith(yield->getOperands());
    yield->erase();
    op->getBlock()->getOperations().splice(op->getIterator(),
                                           block.getOperations());
    op->erase();
  }
}

struct InferDependencies
    : public gpuasync::impl::GPUAsyncInferDependenciesBase<InferDependencies> {
  using GPUAsyncInferDependenciesBase::GPUAsyncInferDependenciesBase;

  void runOnOperation() override {
    SmallVector<FunctionOpInterface> functions;
    for (Operation &op : getOperation().getBody()->getOperations()) {
      auto function = dyn_cast<FunctionOpInterface>(&op);
      if (!function || function.isExternal())
        continue;
      WalkResult result = function->walk([](Operation *inner) {
        return isSequential(inner) ? WalkResult::interrupt()
                                   : WalkResult::advance();
      });
      if (result.wasInterrupted())
        functions.push_back(function);
    }
    if (functions.empty())
      return;
    KernelTable kernels;
    MemoryFacts facts(getOperation());
    for (FunctionOpInterface function : functions) {
      inlineExecuteRegions(function);
      AccessTable table(function, kernels, facts);
      if (failed(table.build()))
        return signalPassFailure();
      DependencyInference(function, table, remarks).run();
    }
  }
};

} // namespace

//===- DependencyInference.cpp - tokens of one function -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What touched each cell last, and what an op must come after. Ops with regions
// are in DependencyRegions.cpp.
//===----------------------------------------------------------------------===//

#include "DependencyInference.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::infer;

CellState &DependencyInference::modify(CellIndex cell) {
  if (!scopes.empty())
    scopes.back().saved.try_emplace(cell, state[cell]);
  return state[cell];
}

/// The lists as they were before the scope; returns what they became.
llvm::MapVector<CellIndex, CellState> DependencyInference::popScope() {
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

/// What the op comes after.
SmallVector<DependencyInference::Hazard>
DependencyInference::findConflicts(const OpInfo &info) const {
  SmallVector<Hazard> hazards;
  bool isHost = info.kind == OpInfo::Host;
  // The program orders work with tokens, and what the host does meanwhile.
  auto asksTokenWork = [&](const Touch &touch) {
    return info.kind == OpInfo::Sequential ||
           (isHost && touch.cell == anywhere);
  };
  for (const Touch &touch : info.touches) {
    auto add = [&](CellIndex other, ListKind kind, const char *name) {
      for (const Entry &entry : state[other].lists[kind]) {
        if (isDone(entry.token))
          continue;
        // Host-shared memory is there once its allocation has been enqueued;
        // not so for device work of somebody else.
        bool isAllocation = entry.token.getDefiningOp<AllocOp>();
        if (isAllocation && isHost && touch.cell != anywhere)
          continue;
        // What may be anywhere meets the op in what it touches first.
        CellIndex cell =
            touch.cell == allMemory ? info.touches.front().cell : touch.cell;
        hazards.push_back(
            {isAllocation ? "allocation before use" : name, cell, entry});
      }
    };
    const char *afterWrite =
        touch.writes ? "write-after-write" : "read-after-write";
    for (CellIndex other : table.getCells()[touch.cell].overlaps) {
      bool readersToo = touch.writes && other != allMemory;
      add(other, Writers, afterWrite);
      if (readersToo)
        add(other, Readers, "write-after-read");
      if (!asksTokenWork(touch))
        continue;
      add(other, TokenWriters, afterWrite);
      if (readersToo)
        add(other, TokenReaders, "write-after-read");
    }
  }
  return hazards;
}

void DependencyInference::addToList(
    CellIndex cell, ListKind kind, Entry entry,
    const llvm::SetVector<Value> &dependencies) {
  Entries &entries = modify(cell).lists[kind];
  // The new one stands for those that it comes after.
  auto isCovered = [&](Entry &other) {
    if (other.token.getParentBlock() != entry.token.getParentBlock())
      return false;
    return cell == allMemory ? taken.contains(other.token)
                             : dependencies.contains(other.token);
  };
  // Long lists are looked through now and then, and by those who had to before.
  if (entries.size() < 16 || llvm::isPowerOf2_64(entries.size()) ||
      entries.size() <= 2 * dependencies.size())
    llvm::erase_if(entries, isCovered);
  entries.push_back(entry);
  used.push_back(cell);
}

void DependencyInference::clearAll() {
  llvm::sort(used);
  used.erase(llvm::unique(used), used.end());
  for (CellIndex cell : used)
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
  ListKind writers = isTokenWork ? TokenWriters : Writers;
  ListKind readers = isTokenWork ? TokenReaders : Readers;
  for (const Touch &touch : info.touches) {
    if (!touch.writes || isTokenWork || touch.cell == allMemory)
      continue;
    if (touch.cell == anywhere) {
      clearAll();
      continue;
    }
    modify(touch.cell) = CellState();
    for (CellIndex covered : table.getCells()[touch.cell].covers)
      if (llvm::any_of(state[covered].lists,
                       [](const Entries &list) { return !list.empty(); }))
        modify(covered) = CellState();
  }
  for (const Touch &touch : info.touches) {
    if (touch.isAtEnqueue)
      continue;
    bool isListed = isTokenWork || touch.cell == allMemory || !touch.writes;
    bool isWriter = touch.writes || touch.cell == allMemory;
    if (isListed) {
      addToList(touch.cell, isWriter ? writers : readers, entry, dependencies);
    } else {
      modify(touch.cell).lists[Writers].assign({entry});
      used.push_back(touch.cell);
    }
  }
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
    hazards = findConflicts(info);
  llvm::SetVector<Value> dependencies;
  SmallVector<Hazard> firsts;
  for (const Hazard &hazard : hazards)
    if (dependencies.insert(hazard.entry.token))
      firsts.push_back(hazard);
  remark(op->getLoc(), "starts after another op", firsts);
  if (isa<DeallocOp>(op))
    gatherUsers(op, dependencies);

  OpBuilder builder(op);
  SmallVector<Value> operands(dependencies.begin(), dependencies.end());
  llvm::append_range(operands, op->getOperands());
  SmallVector<Type> types(op->getResultTypes());
  types.push_back(tokenType);
  Operation *result = builder.insert(Operation::create(
      op->getLoc(), op->getName(), types, operands,
      op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
      /*successors=*/{}, /*numRegions=*/0));
  StringAttr segmentsName = builder.getStringAttr("operandSegmentSizes");
  auto segments = cast<DenseI32ArrayAttr>(*op->getInherentAttr(segmentsName));
  SmallVector<int32_t> sizes(segments.asArrayRef());
  sizes.front() = dependencies.size();
  result->setInherentAttr(segmentsName, builder.getDenseI32ArrayAttr(sizes));
  for (auto [before, after] : llvm::zip(op->getResults(), result->getResults()))
    before.replaceAllUsesWith(after);
  op->erase();

  Value token = cast<WorkOpInterface>(result).getAsyncToken();
  enter(info, {token, result->getLoc()}, /*isTokenWork=*/false, dependencies);
}

/// Work that has tokens comes after sequential work that it conflicts with.
void DependencyInference::orderTokenWork(Operation *op, const OpInfo &info) {
  SmallVector<Hazard> hazards = findConflicts(info);
  auto work = dyn_cast<WorkOpInterface>(op);
  if (!work) {
    hostWait(hazards, op);
    for (OpResult result : op->getResults())
      if (isToken(result))
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
  hostWait(findConflicts(info), op);
  for (const Touch &touch : info.touches) {
    if (touch.cell == anywhere)
      return clearAll();
    for (CellIndex other : table.getCells()[touch.cell].overlaps)
      for (ListKind kind : allLists)
        if (llvm::any_of(state[other].lists[kind], [&](const Entry &entry) {
              return isDone(entry.token);
            }))
          dropDone(modify(other).lists[kind]);
  }
}

void DependencyInference::process(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (const RegionInfo *info = table.lookupRegion(&op)) {
      if (isa<LoopLikeOpInterface>(op))
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

bool DependencyInference::isLiveAfter(CellIndex cell, ListKind kind,
                                      const RegionInfo &info) const {
  bool isWriter = kind == Writers || kind == TokenWriters;
  const Cell &found = table.getCells()[cell];
  Position last = isWriter ? found.lastAny : found.lastWrite;
  return last >= info.loop.value_or(info.end);
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

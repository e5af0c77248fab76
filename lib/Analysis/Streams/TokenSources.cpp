//===- TokenSources.cpp - the points that tokens stand for ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk from a token to its points, and what region ops make of tokens.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/TokenSources.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include <map>

using namespace mlir;
using namespace mlir::gpuasync;

Operation *mlir::gpuasync::getRegionOp(Block *block) {
  Operation *op = block->getParentOp();
  return isa<FunctionOpInterface>(op) ? nullptr : op;
}

SmallVector<CarriedToken> mlir::gpuasync::getCarriedTokens(Operation *op) {
  SmallVector<CarriedToken> all;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [argument, init, yielded, result] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs(),
                         loop.getYieldedValues(), loop.getResults()))
      if (isToken(argument))
        all.push_back({{argument, result}, init, {yielded}});
    return all;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [argument, init, yielded] :
         llvm::zip_equal(loop.getBeforeArguments(), loop.getInits(),
                         loop.getYieldOp().getResults()))
      if (isToken(argument))
        all.push_back({{argument}, init, {yielded}});
    for (auto [argument, passed, result] :
         llvm::zip_equal(loop.getAfterArguments(),
                         loop.getConditionOp().getArgs(), loop.getResults()))
      if (isToken(argument))
        all.push_back({{argument, result}, Value(), {passed}});
    return all;
  }
  for (OpResult result : op->getResults()) {
    if (!isToken(result))
      continue;
    CarriedToken carried{{result}, Value(), {}};
    for (Region &region : op->getRegions())
      if (!region.empty())
        carried.updates.push_back(region.front().getTerminator()->getOperand(
            result.getResultNumber()));
    all.push_back(std::move(carried));
  }
  return all;
}

void TokenSources::keep(WaitOp join) {
  kept.insert(join);
  isAnalyzed = hasNeeds = false;
}

Operation *mlir::gpuasync::getCarrier(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getRegionOp(argument.getOwner());
  Operation *op = value.getDefiningOp();
  return op->getNumRegions() ? op : nullptr;
}

void TokenSources::resolve(ValueRange tokens, Through through, bool expandKept,
                           llvm::SetVector<Value> &points) const {
  SmallVector<Value> worklist(llvm::reverse(tokens));
  llvm::SmallDenseSet<Value, 8> seen;
  while (!worklist.empty()) {
    Value token = worklist.pop_back_val();
    if (!isToken(token) || !seen.insert(token).second)
      continue;
    if (Operation *carrier = getCarrier(token)) {
      auto known = meaning.find(token);
      if (known == meaning.end()) { // not analysed yet
        points.insert(token);
        continue;
      }
      for (Value value : llvm::reverse(known->second)) {
        if (getCarrier(value) == carrier)
          points.insert(value);
        else
          worklist.push_back(value);
      }
      continue;
    }
    Operation *op = token.getDefiningOp();
    if (auto fork = dyn_cast_if_present<ForkOp>(op)) {
      worklist.push_back(fork.getToken());
      continue;
    }
    ValueRange dependencies;
    if (auto join = dyn_cast_if_present<WaitOp>(op);
        join && (expandKept || !kept.contains(join))) {
      dependencies = join.getAsyncDependencies();
    } else {
      auto work = dyn_cast_if_present<WorkOpInterface>(op);
      auto alloc = dyn_cast_if_present<AllocOp>(op);
      bool stands =
          !work || work.takesDeviceTime() || through == Through::Nothing ||
          (through == Through::Unwaited && alloc && !alloc.getHostShared());
      if (stands) {
        points.insert(token);
        continue;
      }
      dependencies = work.getAsyncDependencies();
    }
    for (Value dependency : llvm::reverse(dependencies))
      worklist.push_back(dependency);
  }
}

llvm::SetVector<Value> TokenSources::get(ValueRange tokens,
                                         Through through) const {
  analyzeAll();
  llvm::SetVector<Value> points;
  resolve(tokens, through, /*expandKept=*/false, points);
  return points;
}

llvm::SetVector<Value> TokenSources::getExpanded(ValueRange tokens,
                                                 Through through) const {
  analyzeAll();
  llvm::SetVector<Value> points;
  resolve(tokens, through, /*expandKept=*/true, points);
  return points;
}

bool gpuasync::isInside(Value value, Operation *op) {
  return op->isAncestor(value.getParentBlock()->getParentOp());
}

/// Inner ops first. What outer ones carry stands for itself until then.
void TokenSources::analyzeAll() const {
  if (isAnalyzed)
    return;
  isAnalyzed = true;
  meaning.clear();
  carriedBy.clear();
  carriedAs.clear();
  function->walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (op->getNumRegions() && op != function.getOperation() &&
        isa<RegionBranchOpInterface>(op))
      carriedBy[op] = getCarriedTokens(op);
  });
  for (auto &[op, all] : carriedBy) {
    for (const CarriedToken &carried : all)
      carriedAs[carried.names.front()] = &carried;
    analyze(op, all);
  }
}

/// Finds what each token that the op carries stands for.
void TokenSources::analyze(Operation *op, ArrayRef<CarriedToken> all) const {
  auto sourcesOf = [&](Value value) {
    llvm::SetVector<Value> points;
    resolve(value, Through::Nothing, /*expandKept=*/false, points);
    return points;
  };
  // Equal ones share a point: by what they are at first and become, and where
  // they are seen.
  std::map<std::tuple<Block *, bool, SmallVector<void *>>, Value> known;
  SmallVector<std::pair<const CarriedToken *, SmallVector<Value, 1>>> found;
  for (const CarriedToken &carried : all) {
    Value name = carried.names.front();
    SmallVector<llvm::SetVector<Value>, 2> updates;
    for (Value update : carried.updates)
      updates.push_back(sourcesOf(update));
    if (carried.init && isa<scf::ForOp>(op) && updates.front().size() == 1 &&
        updates.front().front() == name) {
      found.push_back({&carried, {carried.init}});
      continue;
    }
    if (!isTokenLoop(op) && llvm::all_equal(updates) &&
        llvm::none_of(updates.front(),
                      [&](Value point) { return isInside(point, op); })) {
      found.push_back({&carried, llvm::to_vector<1>(updates.front())});
      continue;
    }
    SmallVector<void *> becomes;
    auto add = [&](const llvm::SetVector<Value> &points) {
      for (Value point : points)
        becomes.push_back(point.getAsOpaquePointer());
      becomes.push_back(nullptr);
    };
    if (carried.init)
      add(sourcesOf(carried.init));
    llvm::for_each(updates, add);
    Value &same = known[{name.getParentBlock(), isa<BlockArgument>(name),
                         std::move(becomes)}];
    if (!same)
      same = name;
    found.push_back({&carried, {same}});
  }
  // A token that goes through an scf.while unchanged: the condition hands it on
  // and the body hands it back.
  if (isa<scf::WhileOp>(op)) {
    llvm::DenseMap<Value, Value> from; // after argument -> before argument
    for (const CarriedToken &carried : all)
      if (!carried.init)
        if (auto points = sourcesOf(carried.updates.front());
            points.size() == 1)
          from[carried.names.front()] = points.front();
    llvm::DenseMap<Value, Value> unchanged;
    for (const CarriedToken &carried : all) {
      if (!carried.init)
        continue;
      auto points = sourcesOf(carried.updates.front());
      Value name = carried.names.front();
      if (points.size() == 1 &&
          (points.front() == name || from.lookup(points.front()) == name))
        unchanged[name] = carried.init;
    }
    // A token that is equal to one of these is unchanged, too.
    for (auto &[carried, values] : found)
      if (carried->init)
        if (Value init = unchanged.lookup(values.front()))
          unchanged.try_emplace(carried->names.front(), init);
    for (auto &[carried, values] : found) {
      Value name = carried->names.front();
      Value init = unchanged.lookup(carried->init ? name : from.lookup(name));
      if (init)
        values = {init};
    }
  }
  for (auto &[carried, values] : found)
    for (Value name : carried->names)
      meaning[name] = values;
}

bool TokenSources::isPoint(Value name) const {
  llvm::SetVector<Value> points = get(name, Through::Nothing);
  return points.size() == 1 && points.front() == name;
}

/// From those who take tokens backwards.
void TokenSources::findNeeds() const {
  analyzeAll();
  hasNeeds = true;
  SmallVector<Value> worklist;
  auto take = [&](ValueRange tokens) {
    for (Value point : get(tokens, Through::Nothing))
      if (needed.insert(point).second)
        worklist.push_back(point);
  };
  function->walk([&](Operation *op) {
    // What a call leaves open under a token that is carried on.
    if (auto all = carriedBy.find(op); all != carriedBy.end())
      for (const CarriedToken &carried : all->second) {
        auto isFromCall = [&](Value token) {
          return llvm::any_of(get(token, Through::Floating), [](Value point) {
            Operation *maker = point.getDefiningOp();
            return maker && isa<CallOpInterface>(maker);
          });
        };
        if ((carried.init && isFromCall(carried.init)) ||
            llvm::any_of(carried.updates, isFromCall))
          take(carried.names.front());
      }
    if (isa<ForkOp, ReleaseOp>(op) || op->getNumRegions())
      return;
    if (op->hasTrait<OpTrait::IsTerminator>() &&
        op->getParentOp() != function.getOperation())
      return;
    if (llvm::any_of(op->getOperands(), isToken))
      take(op->getOperands());
  });
  while (!worklist.empty()) {
    const CarriedToken *carried = getCarried(worklist.pop_back_val());
    if (!carried)
      continue;
    if (carried->init)
      take(carried->init);
    take(carried->updates);
  }
}

bool TokenSources::isNeeded(const CarriedToken &carried) const {
  if (!hasNeeds) {
    needed.clear();
    findNeeds();
  }
  return needed.contains(carried.names.front());
}

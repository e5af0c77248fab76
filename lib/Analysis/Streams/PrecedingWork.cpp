//===- PrecedingWork.cpp - what work comes before work --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See PrecedingWork.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/PrecedingWork.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// In ascending order, each once.
static void sortNumbers(SmallVector<unsigned> &numbers) {
  llvm::sort(numbers);
  numbers.erase(llvm::unique(numbers), numbers.end());
}

static void sortWorks(SmallVector<unsigned> &works) {
  sortNumbers(works);
  if (works.size() > PrecedingWork::maxWorks)
    works.erase(works.begin(), works.end() - PrecedingWork::maxWorks);
}

static bool contains(ArrayRef<unsigned> numbers, unsigned number) {
  return std::binary_search(numbers.begin(), numbers.end(), number);
}

void PrecedingWork::Frontier::add(const Frontier &other) {
  works.append(other.works);
  open.append(other.open);
  if (works.size() > 4 * maxWorks || open.size() > 4 * maxWorks)
    sort();
}

void PrecedingWork::Frontier::sort() {
  sortWorks(works);
  sortNumbers(open);
}

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

PrecedingWork::PrecedingWork(FunctionOpInterface function,
                             const TokenSources &sources)
    : sources(sources) {
  auto addWork = [&](Value token) {
    if (isToken(token)) {
      numberOf[token] = works.size();
      works.push_back(token);
    }
  };
  llvm::for_each(function.getArguments(), addWork);
  function->walk([&](Operation *op, const WalkStage &stage) {
    if (!op->getNumRegions()) {
      llvm::for_each(op->getResults(), addWork);
      return;
    }
    if (stage.isBeforeAllRegions())
      inside[op].first = works.size();
    inside[op].second = works.size();
    if (stage.isAfterAllRegions() && op != function.getOperation() &&
        isa<RegionBranchOpInterface>(op))
      carriedBy[op] = getCarriedTokens(op);
  });
  number(function.getFunctionBody());
  function->walk([&](Operation *op) {
    if (carriedBy.count(op))
      findBehind(op);
  });
}

/// Numbers open points so that each rests on those before it: a loop's where
/// they come into a region, those of branches behind these.
void PrecedingWork::number(Region &region) {
  for (Operation &op : region.getOps()) {
    if (!op.getNumRegions())
      continue;
    auto addPoints = [&](auto isHere) {
      if (auto all = carriedBy.find(&op); all != carriedBy.end())
        for (const CarriedToken &carried : all->second)
          if (isHere(carried)) {
            pointOf[carried.names.front()] = points.size();
            points.push_back({&op, {}, {}});
          }
    };
    addPoints([](const CarriedToken &carried) { return bool(carried.init); });
    for (Region &inner : op.getRegions()) {
      number(inner);
      bool isEnd = isTokenLoop(&op) ? inner.getRegionNumber() == 0
                                    : &inner == &op.getRegions().back();
      addPoints(
          [&](const CarriedToken &carried) { return !carried.init && isEnd; });
    }
  }
}

bool PrecedingWork::isInside(unsigned work, Operation *op) const {
  auto [first, end] = inside.lookup(op);
  return first <= work && work < end;
}

//===----------------------------------------------------------------------===//
// Frontiers
//===----------------------------------------------------------------------===//

/// Joins that are not known yet are left out, and listed.
void PrecedingWork::add(Value token, Operation *at, Frontier &frontier,
                        SmallVectorImpl<WaitOp> *missing) {
  while (auto fork = token.getDefiningOp<ForkOp>())
    token = fork.getToken();
  if (auto join = token.getDefiningOp<WaitOp>()) {
    if (auto known = joins.find(join); known != joins.end())
      frontier.add(known->second);
    else if (missing)
      missing->push_back(join);
    else
      frontier.add(ofJoin(join));
    return;
  }
  for (Value point : sources.getExpanded(token, Through::Unwaited)) {
    Operation *carrier = getCarrier(point);
    auto open = pointOf.find(point);
    if (!carrier) {
      if (auto work = numberOf.find(point); work != numberOf.end())
        frontier.works.push_back(work->second);
    } else if (carrier->isProperAncestor(at)) {
      if (open != pointOf.end())
        frontier.open.push_back(open->second);
    } else if (auto known = behind.find(point); known != behind.end()) {
      frontier.add(known->second);
    }
  }
}

/// Joins of joins of joins, without recursion.
const PrecedingWork::Frontier &PrecedingWork::ofJoin(WaitOp join) {
  SmallVector<WaitOp> stack{join};
  while (!stack.empty()) {
    WaitOp next = stack.back();
    SmallVector<WaitOp> missing;
    Frontier frontier;
    for (Value token : next.getAsyncDependencies())
      add(token, next, frontier, &missing);
    if (missing.empty()) {
      frontier.sort();
      joins[next] = std::move(frontier);
      stack.pop_back();
    } else {
      stack.append(missing);
    }
  }
  return joins[join];
}

PrecedingWork::Frontier PrecedingWork::find(ValueRange tokens, Operation *at) {
  Frontier frontier;
  for (Value token : tokens)
    if (isToken(token))
      add(token, at, frontier, nullptr);
  frontier.sort();
  return frontier;
}

/// What the tokens that `op` carries stand for behind it; of those of ops in it
/// and before it that is known.
void PrecedingWork::findBehind(Operation *op) {
  bool isWhile = isa<scf::WhileOp>(op);
  auto endOf = [&](unsigned region) {
    return op->getRegion(region).front().getTerminator();
  };
  for (const CarriedToken &carried : carriedBy[op]) {
    unsigned number = pointOf.lookup(carried.names.front());
    OpenPoint &point = points[number];
    Frontier result;
    if (carried.init) {
      Frontier updates = find(carried.updates, endOf(isWhile));
      for (unsigned work : close(updates, nullptr, op))
        if (isInside(work, op))
          point.ofRound.push_back(work);
      result = find(carried.init, op);
      point.parts = {result};
      result.works.append(point.ofRound);
    } else if (isWhile) {
      // What leaves a condition has just passed it.
      result = find(carried.updates, endOf(0));
      point.parts = {result};
    } else {
      // What leaves a branch is what the branch did, and from outside of it
      // only what all branches name.
      SmallVector<Frontier, 0> branches;
      for (Region &region : op->getRegions())
        if (!region.empty())
          branches.push_back(find(carried.updates[branches.size()],
                                  region.front().getTerminator()));
      // Open points may stand for more of what the branch did, or of what all
      // branches name.
      bool mayShareMore = true, isOpen = false, isOpenInside = false;
      for (const Frontier &branch : branches) {
        bool namesOutside = !branch.open.empty();
        isOpen |= namesOutside;
        for (unsigned other : branch.open)
          isOpenInside |= op->isProperAncestor(points[other].op);
        for (unsigned work : branch.works) {
          bool isOfAll = llvm::all_of(branches, [&](const Frontier &other) {
            return contains(other.works, work);
          });
          namesOutside |= !isOfAll && !isInside(work, op);
          if (isOfAll || isInside(work, op))
            result.works.push_back(work);
        }
        mayShareMore &= namesOutside;
      }
      if (isOpenInside || (mayShareMore && isOpen)) {
        result.open.push_back(number);
        point.parts = std::move(branches);
      }
    }
    result.sort();
    behind[carried.names.front()] = std::move(result);
  }
}

//===----------------------------------------------------------------------===//
// Who asks
//===----------------------------------------------------------------------===//

static Operation *getLoopAround(Operation *op) {
  do
    op = op->getParentOp();
  while (op && !isTokenLoop(op));
  return op;
}

/// Whether the work, in the loop, runs between the start of a round and `user`
/// in the same round, so that its latest run is not that of the last round.
bool PrecedingWork::runsBefore(unsigned work, Operation *user,
                               Operation *loop) const {
  Operation *maker = works[work].getDefiningOp();
  // Itself, if a loop in between has it run again.
  if (maker == user)
    return getLoopAround(user) != loop;
  for (Region &region : loop->getRegions()) {
    Operation *a = region.findAncestorOpInRegion(*maker);
    Operation *b = region.findAncestorOpInRegion(*user);
    if (a && b)
      return a == b || a->isBeforeInBlock(b);
    if (a || b)
      return a;
  }
  return false;
}

/// The works that an open point stands for at `user`, if those of all that it
/// rests on are known.
PrecedingWork::Numbers
PrecedingWork::close(const OpenPoint &point, Operation *user,
                     const llvm::DenseMap<unsigned, Numbers> &closed) const {
  SmallVector<Numbers> parts;
  for (const Frontier &part : point.parts) {
    Numbers &of = parts.emplace_back(part.works);
    for (unsigned other : part.open)
      if (auto known = closed.find(other); known != closed.end())
        of.append(known->second);
    sortWorks(of);
  }
  Numbers result;
  for (const Numbers &part : parts)
    for (unsigned work : part)
      if ((!isTokenLoop(point.op) && isInside(work, point.op)) ||
          llvm::all_of(parts, [&](const Numbers &other) {
            return contains(other, work);
          }))
        result.push_back(work);
  // What a loop hands on is a round late by then, and of another time when an
  // inner loop is entered again.
  bool isAround = user && point.op->isProperAncestor(user);
  if (!isAround || !getLoopAround(point.op))
    for (unsigned work : point.ofRound)
      if (!isAround || !runsBefore(work, user, point.op))
        result.push_back(work);
  sortWorks(result);
  return result;
}

/// The works that a frontier stands for at `user`, null if that is outside of
/// all loops; as far as open points in `within` tell if that is not null.
PrecedingWork::Numbers PrecedingWork::close(const Frontier &frontier,
                                            Operation *user,
                                            Operation *within) {
  if (frontier.open.empty())
    return frontier.works;
  llvm::SetVector<unsigned> open;
  auto add = [&](const Frontier &part) {
    for (unsigned point : part.open)
      if (!within || within->isProperAncestor(points[point].op))
        open.insert(point);
  };
  add(frontier);
  for (size_t next = 0; next < open.size(); ++next)
    for (const Frontier &part : points[open[next]].parts)
      add(part);
  SmallVector<unsigned> sorted(open.begin(), open.end());
  llvm::sort(sorted);
  llvm::DenseMap<unsigned, Numbers> closed;
  for (unsigned point : sorted)
    closed[point] = close(points[point], user, closed);
  Numbers result = frontier.works;
  for (unsigned point : frontier.open)
    result.append(closed[point]);
  sortWorks(result);
  return result;
}

SmallVector<Value> PrecedingWork::get(WorkOpInterface user) {
  Frontier frontier = find(user.getAsyncDependencies(), user);
  return llvm::map_to_vector(close(frontier, user, nullptr),
                             [&](unsigned work) { return works[work]; });
}

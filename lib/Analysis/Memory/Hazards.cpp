//===- Hazards.cpp - unordered ops that touch the same memory -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Hazards.h; what is before what is HappensBefore's.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/Hazards.h"
#include "GPUAsync/Analysis/Streams/HappensBefore.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::gpuasync;

StringRef Hazard::getName() const {
  if (!secondAccess.writes)
    return "read-after-write";
  return firstAccess.writes ? "write-after-write" : "write-after-read";
}

void gpuasync::printMemory(raw_ostream &os, const Access &access) {
  bool isPart = !access.window.isAny();
  switch (access.base.kind) {
  case Base::Allocation:
    os << (isPart ? "a part of the buffer of " : "the buffer of ")
       << access.base.identity.getValue().getLoc();
    break;
  case Base::Argument:
  case Base::NoAliasArgument:
    os << (isPart ? "a part of argument " : "argument ")
       << cast<BlockArgument>(access.base.identity.getValue()).getArgNumber();
    break;
  case Base::Global:
    os << "global @" << cast<StringAttr>(access.base.symbol).getValue();
    break;
  case Base::Module:
    os << "the globals of @" << cast<StringAttr>(access.base.symbol).getValue();
    break;
  case Base::Output:
    os << "what kernels print";
    break;
  case Base::Serial:
    os << "what work with the serial name " << access.base.symbol << " shares";
    break;
  case Base::Unknown:
    os << "memory that may be anywhere";
    break;
  }
}

bool Conflict::isKnown() const {
  return first->base == second->base && first->base.kind != Base::Unknown;
}

Conflict gpuasync::findConflict(ArrayRef<Access> first,
                                ArrayRef<Access> second) {
  Conflict found;
  for (const Access &a : first)
    for (const Access &b : second) {
      if ((!a.writes && !b.writes) || !mayOverlap(a, b))
        continue;
      Conflict conflict{&a, &b};
      if (conflict.isKnown())
        return conflict;
      if (!found.first)
        found = conflict;
    }
  return found;
}

std::string gpuasync::explainUnknown(const Conflict &conflict) {
  const Base &first = conflict.first->base, &second = conflict.second->base;
  if (conflict.isKnown() || first.kind == Base::Unknown ||
      second.kind == Base::Unknown)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  printMemory(os, *conflict.second);
  os << " may be ";
  printMemory(os, *conflict.first);
  if (first.kind == Base::Argument && second.kind == Base::Argument)
    os << "; if it never is, give one of the two the attribute llvm.noalias";
  else if (first.kind == Base::Argument || second.kind == Base::Argument)
    os << "; if it never is, give the argument the attribute llvm.noalias";
  return text;
}

namespace {

class HazardFinder : public HappensBefore<llvm::BitVector> {
public:
  HazardFinder(FunctionOpInterface function, KernelTable &kernels,
               MemoryFacts &facts)
      : HappensBefore(function), kernels(kernels), facts(facts) {}

  std::vector<Hazard> find();

private:
  struct Item {
    Operation *op;
    Accesses accesses;
    bool isHost;
  };

  bool addItem(Operation *op) override;
  void visit(Operation *op, const llvm::BitVector &before) override;
  bool waitsForAll(Operation *call) override {
    return !facts.hostAccesses(call);
  }
  bool keepsOrder(Operation *call) override { return true; }

  KernelTable &kernels;
  MemoryFacts &facts;
  std::vector<Item> items;
  std::vector<Hazard> hazards;
};

bool HazardFinder::addItem(Operation *op) {
  if (auto work = dyn_cast<WorkOpInterface>(op)) {
    if (work.getAsyncToken())
      items.push_back({op, deviceAccesses(op, kernels), /*isHost=*/false});
    return static_cast<bool>(work.getAsyncToken());
  }
  if (isa<WaitOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
      llvm::any_of(op->getOperands(), isToken) ||
      llvm::any_of(op->getResults(), isToken))
    return false;
  std::optional<Accesses> accesses = isa<HostUnregisterOp>(op)
                                         ? deviceAccesses(op, kernels)
                                         : facts.hostAccesses(op);
  if (!accesses || accesses->empty())
    return false;
  items.push_back({op, std::move(*accesses), /*isHost=*/true});
  return true;
}

/// Whether each iteration of `loop` makes the memory anew.
static bool isOfIteration(const Base &base, Operation *loop) {
  return base.kind == Base::Allocation && base.identity.isMadeIn(loop);
}

void HazardFinder::visit(Operation *op, const llvm::BitVector &before) {
  std::optional<unsigned> number = getNumber(op);
  if (!number)
    return;
  const Item &second = items[*number];
  Accesses accesses = second.accesses;
  if (carriedLoop)
    for (Access &access : accesses)
      access.leave(carriedLoop);
  for (unsigned other : getEnqueued().set_bits()) {
    if (before.test(other))
      continue;
    const Item &first = items[other];
    [&] {
      for (const Access &a : first.accesses)
        for (const Access &b : accesses) {
          if ((!a.writes && !b.writes) || !facts.mayOverlap(a, b))
            continue;
          // Memory of an iteration's own is another one in the next.
          if (carriedLoop && isOfIteration(a.base, carriedLoop) &&
              isOfIteration(b.base, carriedLoop))
            continue;
          // The host can use host-shared memory at once.
          if (second.isHost && isa<AllocOp>(first.op))
            continue;
          hazards.push_back(
              {first.op, second.op, a, b, carriedLoop != nullptr});
          return;
        }
    }();
  }
}

std::vector<Hazard> HazardFinder::find() {
  run();
  llvm::sort(hazards, [&](const Hazard &a, const Hazard &b) {
    return std::tuple(a.isCarried, getNumber(a.second), getNumber(a.first)) <
           std::tuple(b.isCarried, getNumber(b.second), getNumber(b.first));
  });
  // Two ops that are unordered in one iteration are so in two, and what is in
  // several loops is seen in each.
  llvm::DenseSet<std::pair<Operation *, Operation *>> pairs;
  llvm::erase_if(hazards, [&](const Hazard &hazard) {
    return !pairs.insert({hazard.first, hazard.second}).second;
  });
  return std::move(hazards);
}

} // namespace

std::vector<Hazard> gpuasync::findHazards(FunctionOpInterface function,
                                          KernelTable &kernels,
                                          MemoryFacts &facts) {
  return HazardFinder(function, kernels, facts).find();
}

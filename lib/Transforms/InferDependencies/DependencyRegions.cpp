//===- DependencyRegions.cpp - tokens through branches and loops ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of DependencyInference that is about ops with regions: what branches
// yield, and which tokens a loop carries.
//===----------------------------------------------------------------------===//

#include "DependencyInference.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::infer;

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

void DependencyInference::processBranches(Operation *op,
                                          const RegionInfo &info) {
  SmallVector<llvm::MapVector<CellIndex, CellState>> ends;
  llvm::SetVector<CellIndex> modified;
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
    CellIndex cell;
    ListKind kind;
    Entries kept;
    unsigned result;
  };
  SmallVector<Update> updates;
  for (CellIndex cell : modified) {
    for (ListKind kind : allLists) {
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

  // Nothing waits for a free: memory that is only freed behind the op needs no
  // token of its own where another one comes after all that uses it. That one
  // comes after the allocation, too, which takes no time.
  constexpr size_t mostCompared = 64;
  auto isAllocation = [](Value token) {
    auto alloc = token.getDefiningOp<AllocOp>();
    return alloc && !alloc.getHostShared();
  };
  for (unsigned number = results.size() <= mostCompared ? results.size() : 0;
       number-- > 0;) {
    auto isOf = [&](const Update &update) { return update.result == number; };
    bool isFreed = llvm::all_of(updates, [&](const Update &update) {
      return !isOf(update) || table.getCells()[update.cell].lastUse <
                                  info.loop.value_or(info.end);
    });
    auto isAfter = [&](const Yields &other) {
      return &other != &results[number] &&
             llvm::all_of(llvm::zip(other, results[number]), [&](auto pair) {
               auto &[comes, before] = pair;
               SmallVector<Value> uses(before);
               llvm::erase_if(uses, isAllocation);
               return reaches(comes, uses, op);
             });
    };
    auto after = isFreed ? llvm::find_if(results, isAfter) : results.end();
    if (after == results.end())
      continue;
    unsigned other = after - results.begin();
    for (Update &update : updates)
      if (isOf(update))
        update.result = other;
    for (auto [comes, before] : llvm::zip(*after, results[number]))
      for (Value token : before)
        if (isAllocation(token) && !reaches(comes, token, op))
          comes.push_back(token);
    results.erase(results.begin() + number);
    for (Update &update : updates)
      update.result -= update.result > number;
  }

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
  op = appendTokens(op, {}, results.size());
  for (Update &update : updates) {
    Value token = op->getResult(first + update.result);
    Entries &list = modify(update.cell).lists[update.kind];
    SmallVector<Value> old = tokensOf(list);
    if (!old.empty() && update.kept.empty() && !pastOf.count(token) &&
        llvm::all_of(results[update.result], [&](ArrayRef<Value> yields) {
          return reaches(yields, old, op);
        }))
      setPast(token, old);
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
  llvm::DenseSet<std::pair<CellIndex, ListKind>> seen;
  auto add = [&](CellIndex cell, ListKind kind, bool isInvariant) {
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
    Position start = info.loop.value_or(info.begin);
    bool meetsAny = table.getCells()[cell].lastAny >= start;
    bool meetsWrite = table.getCells()[cell].lastWrite >= start;
    if ((flags & Flags::DeviceWrite) && meetsAny)
      add(cell, Writers, false);
    if ((flags & Flags::DeviceRead) && meetsWrite)
      add(cell, Readers, false);
    if ((flags & Flags::TokenWrite) && meetsAny)
      add(cell, TokenWriters, false);
    if ((flags & Flags::TokenRead) && meetsWrite)
      add(cell, TokenReaders, false);
  }
  for (auto [cell, flags] : info.touched) {
    bool writes =
        flags & (Flags::DeviceWrite | Flags::TokenWrite | Flags::HostWrite);
    auto addInvariant = [&](CellIndex other) {
      add(other, Writers, true);
      add(other, TokenWriters, true);
      if (writes) {
        add(other, Readers, true);
        add(other, TokenReaders, true);
      }
    };
    for (CellIndex other : table.getCells()[cell].overlaps)
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

/// From here on the loop's own cells are other memory: what has touched them is
/// kept with the cells that they are of as seen from another iteration.
void DependencyInference::endIteration(const RegionInfo &info) {
  for (CellIndex cell : info.ownCells) {
    CellState ended = state[cell];
    if (llvm::all_of(ended.lists,
                     [](const Entries &list) { return list.empty(); }))
      continue;
    modify(cell) = CellState();
    CellIndex outer = table.getCells()[cell].outer;
    for (ListKind kind : allLists)
      for (const Entry &entry : ended.lists[kind]) {
        SmallVector<Value> before = past(entry.token);
        llvm::SetVector<Value> dependencies(before.begin(), before.end());
        dependencies.insert(entry.token);
        // A writer comes after the readers before it.
        if (kind == Writers)
          llvm::erase_if(modify(outer).lists[Readers], [&](Entry &other) {
            return dependencies.contains(other.token);
          });
        if (!isDone(entry.token))
          addToList(outer, kind, entry, dependencies);
      }
  }
}

void DependencyInference::processLoop(Operation *op, const RegionInfo &info) {
  using Flags = RegionInfo::Flags;
  // Host code that meets only what was there before the loop waits before it,
  // once.
  OpInfo hoisted{OpInfo::Host, {}};
  for (auto [cell, flags] : info.touched) {
    if (!(flags & (Flags::HostRead | Flags::HostWrite)) || cell == anywhere)
      continue;
    unsigned device = Flags::DeviceWrite | Flags::TokenWrite;
    if (flags & Flags::HostWrite)
      device |= Flags::DeviceRead | Flags::TokenRead;
    if (llvm::none_of(table.getCells()[cell].overlaps, [&](CellIndex other) {
          return info.touched.lookup(other) & device;
        }))
      hoisted.touches.push_back({cell, bool(flags & Flags::HostWrite)});
  }
  if (!hoisted.touches.empty())
    waitBefore(op, hoisted);

  size_t firstPast = pastOrder.size();
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
  endIteration(info);
  if (after) {
    for (Slot &slot : slots) {
      slot.condition = listOf(slot);
      slot.afterArgument = after->addArgument(tokenType, loc);
      setPast(slot.afterArgument, slot.condition);
      used.push_back(slot.cell);
    }
    setLists(&Slot::afterArgument);
    process(*after);
    endIteration(info);
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
  for (Value token : llvm::ArrayRef(pastOrder).drop_front(firstPast))
    if (auto it = pastOf.find(token); it != pastOf.end())
      changeTokens(it->second, changed);
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
    op = appendTokens(op, inits, carried.size());
  for (auto [index, number] : llvm::enumerate(carried)) {
    Slot &slot = slots[number];
    slot.result = op->getResult(firstResult + index);
    if (reaches(after ? slot.condition : slot.yields, {slot.argument}, op))
      setPast(slot.result, {inits[index]});
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

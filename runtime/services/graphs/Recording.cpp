//===- Recording.cpp - What a region asked for ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Recording.h.
//===----------------------------------------------------------------------===//

#include "services/graphs/Recording.h"

#include "shim/command/Strided.h"

#include <algorithm>
#include <utility>

using namespace gpuasync;

static size_t roundUp(size_t bytes) { return (bytes + 15) & ~size_t(15); }

void Recording::assign(Recording &other, size_t itemCount, size_t callCount) {
  // Whatever fails for want of memory comes before staging has two owners.
  staged.reserve(other.staged.size());
  items.assign(other.items.begin(),
               other.items.begin() + static_cast<ptrdiff_t>(itemCount));
  calls.assign(other.calls.begin(),
               other.calls.begin() + static_cast<ptrdiff_t>(callCount));
  used = 0;
  size_t laneCount = 0;
  for (Item &item : items) {
    item.stale = false;
    if (!item.prepared)
      continue;
    const gpuasync_fragment &fragment = item.prepared->fragment;
    laneCount = item.lanes + fragment.laneCount;
    used = std::max(used, item.block + roundUp(fragment.argumentBytes));
  }
  for (Call &call : calls) {
    call.dirty = false;
    used = std::max(used, call.arguments + roundUp(call.bytes));
  }
  lanes.assign(other.lanes.begin(),
               other.lanes.begin() + static_cast<ptrdiff_t>(laneCount));
  units.assign(other.units.begin(),
               other.units.begin() + static_cast<ptrdiff_t>(used / 16));
  for (uint32_t each : other.staged)
    if (each < callCount) {
      staged.push_back(each);
      other.calls[each].staging = nullptr;
    }
}

void Recording::dropLast(MemoryPool &memory) {
  const Item item = items.back();
  while (!staged.empty() && staged.back() >= item.firstCall) {
    if (PoolAllocation *staging = calls[staged.back()].staging)
      memory.dropStaging(staging);
    staged.pop_back();
  }
  calls.resize(item.firstCall);
  lanes.resize(item.lanes);
  items.pop_back();
}

void Recording::dropStaging(MemoryPool &memory) {
  for (uint32_t each : staged)
    if (PoolAllocation *staging = std::exchange(calls[each].staging, nullptr))
      memory.dropStaging(staging);
}

Status Recording::takeStaging(Call &call, MemoryPool &memory) {
  auto takeFor = [&](auto &copy, uint64_t bytes) -> Status {
    RETURN_IF_ERROR(memory.takeStaging(bytes, call.staging));
    setStaging(copy, call.staged, call.staging->pointer);
    return Status();
  };
  if (call.kind == Command::Kind::CopyBytes) {
    auto &copy = argumentsAs<ByteCopy>(call);
    return takeFor(copy, copy.bytes);
  }
  auto &copy = argumentsAs<StridedCopy>(call);
  return takeFor(copy, gpuasync::bytesOf(copy));
}

size_t Recording::reserve(size_t bytes) {
  const size_t begin = used, end = used + roundUp(bytes);
  if (units.size() * 16 < end)
    units.resize(std::max(units.size() * 2, end / 16));
  used = end;
  return begin;
}

Item &Recording::append(const PreparedFragment &prepared,
                        const uint32_t *numbers, const void *block) {
  const gpuasync_fragment &fragment = prepared.fragment;
  Item item;
  item.prepared = &prepared;
  item.firstCall = static_cast<uint32_t>(calls.size());
  item.lanes = static_cast<uint32_t>(lanes.size());
  item.block = reserve(fragment.argumentBytes);
  if (fragment.argumentBytes)
    memcpy(at(item.block), block, fragment.argumentBytes);
  lanes.insert(lanes.end(), numbers, numbers + fragment.laneCount);
  items.push_back(item);
  return items.back();
}

void Recording::appendEvent(bool isWait, uint32_t stream, uint32_t event) {
  Item item;
  item.isWait = isWait;
  item.stream = stream;
  item.event = event;
  item.firstCall = static_cast<uint32_t>(calls.size());
  items.push_back(item);
}

Call &Recording::append(Command::Kind kind, uint32_t stream,
                        const gpuasync_site *site, size_t bytes,
                        Staged isStaged) {
  const size_t begin = bytes ? reserve(bytes) : 0;
  calls.emplace_back();
  if (isStaged !=
      Staged::No) // a number of a call that is there, whatever fails
    staged.push_back(static_cast<uint32_t>(calls.size() - 1));
  Call &call = calls.back();
  call.kind = kind;
  call.staged = isStaged;
  call.stream = stream;
  call.bytes = static_cast<uint32_t>(bytes);
  call.arguments = begin;
  call.site = site;
  return call;
}

bool Recording::isBehind(const std::vector<bool> &first) const {
  std::vector<bool> behind = first, eventBehind(events, false);
  for (const Item &item : items) {
    if (!item.prepared) {
      if (!item.isWait)
        eventBehind[item.event] = behind[item.stream];
      else if (eventBehind[item.event])
        behind[item.stream] = true;
      continue;
    }
    const gpuasync_fragment &fragment = item.prepared->fragment;
    const uint32_t *const numbers = &lanes[item.lanes];
    uint64_t behindBefore = 0;
    for (uint32_t i = 0; i < fragment.laneCount; ++i)
      behindBefore |= uint64_t(behind[numbers[i]]) << i;
    for (uint32_t i = 0; i < fragment.commandCount; ++i) {
      const gpuasync_command &command = fragment.commands[i];
      bool isBehind = behind[numbers[command.lane]];
      // All earlier commands are, or this one does not matter.
      forEachWait(
          fragment, command, [&](uint32_t) { isBehind = true; },
          [&](uint32_t lane) { isBehind |= behindBefore >> lane & 1; });
      if (!isBehind)
        return false;
      behind[numbers[command.lane]] = true;
    }
  }
  return true;
}

bool Recording::gainsAsGraph() const {
  return calls.size() > 1 ||
         (!calls.empty() && calls.front().kind == Command::Kind::Launch);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

uint64_t Recording::hashShape(bool exactCalls) const {
  uint64_t hash = calls.size();
  for (const Item &item : items) {
    hash = mix(hash, reinterpret_cast<uintptr_t>(item.prepared));
    hash = mix(hash, uint64_t(item.stream) << 32 | item.event << 1 |
                         uint32_t(item.isWait));
  }
  for (uint32_t number : lanes)
    hash = mix(hash, number);
  for (const Call &call : calls) {
    hash = mix(hash, static_cast<uint64_t>(call.kind) << 8 |
                         static_cast<uint64_t>(call.staged));
    if (exactCalls && call.kind == Command::Kind::Captured)
      for (size_t i = 0; i < call.bytes; ++i)
        hash = mix(hash, argumentsOf(call)[i]);
    if (call.kind != Command::Kind::Launch || call.config)
      continue;
    const gpuasync_launch_config block = blockOf(call);
    hash = mix(hash, block.flags);
    for (int64_t size : block.cluster)
      hash = mix(hash, static_cast<uint64_t>(size));
  }
  return hash;
}

bool Recording::hasShapeOf(const Recording &other, bool exactCalls) const {
  return lanes == other.lanes &&
         std::equal(items.begin(), items.end(), other.items.begin(),
                    other.items.end(),
                    [](const Item &a, const Item &b) {
                      return a.prepared == b.prepared && a.stream == b.stream &&
                             a.event == b.event && a.isWait == b.isWait;
                    }) &&
         std::equal(calls.begin(), calls.end(), other.calls.begin(),
                    other.calls.end(), [&](const Call &a, const Call &b) {
                      return a.kind == b.kind && a.staged == b.staged &&
                             a.command == b.command &&
                             (a.kind != Command::Kind::Launch ||
                              canBecome(blockOf(a), other.blockOf(b))) &&
                             (a.kind != Command::Kind::Captured ||
                              !exactCalls ||
                              memcmp(argumentsOf(a), other.argumentsOf(b),
                                     a.bytes) == 0);
                    });
}

namespace {

/// By stream: what an operation that comes next starts after.
using Front = std::vector<uint32_t>;

/// Adds another one. Of two calls on one stream the later one is enough.
void join(Front &front, const Front &other, const std::vector<Call> &calls) {
  if (other.empty())
    return;
  Front joined;
  std::set_union(front.begin(), front.end(), other.begin(), other.end(),
                 std::back_inserter(joined));
  front.clear();
  for (size_t i = 0; i < joined.size(); ++i)
    if (std::none_of(joined.begin() + static_cast<ptrdiff_t>(i) + 1,
                     joined.end(), [&](uint32_t later) {
                       return calls[later].stream == calls[joined[i]].stream;
                     }))
      front.push_back(joined[i]);
}

} // namespace

std::vector<std::vector<uint32_t>>
gpuasync::edgesOf(const Recording &recording) {
  const std::vector<Call> &calls = recording.calls;
  std::vector<Front> edges(calls.size()), ofStream(recording.streams),
      ofEvent(recording.events);
  size_t call = 0;
  for (const Item &item : recording.items) {
    if (!item.prepared) {
      if (item.isWait)
        join(ofStream[item.stream], ofEvent[item.event], calls);
      else
        ofEvent[item.event] = ofStream[item.stream];
      continue;
    }
    const gpuasync_fragment &fragment = item.prepared->fragment;
    const uint32_t *const numbers = &recording.lanes[item.lanes];
    std::vector<Front> before, behind(fragment.commandCount);
    for (uint32_t i = 0; i < fragment.laneCount; ++i)
      before.push_back(ofStream[numbers[i]]);
    uint64_t begun = 0; ///< lanes; their later commands come after the first
    for (uint32_t i = 0; i < fragment.commandCount; ++i) {
      const gpuasync_command &command = fragment.commands[i];
      Front front;
      if (!(begun >> command.lane & 1))
        front = before[command.lane];
      begun |= uint64_t(1) << command.lane;
      for (uint32_t k = 0; k < command.afterCount; ++k)
        join(front, behind[fragment.indices[command.after + k]], calls);
      forEachWait(
          fragment, command, [](uint32_t) {},
          [&](uint32_t lane) { join(front, before[lane], calls); });
      for (; call < calls.size() && call < recording.endOf(item) &&
             calls[call].command == i;
           ++call)
        edges[call] = std::exchange(front, Front{static_cast<uint32_t>(call)});
      behind[i] = ofStream[numbers[command.lane]] = std::move(front);
    }
  }
  return edges;
}

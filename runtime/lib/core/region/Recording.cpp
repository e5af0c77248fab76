//===- Recording.cpp - What a region asked for ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Recording.h.
//===----------------------------------------------------------------------===//

#include "core/region/Recording.h"

#include "core/command/Strided.h"

#include <algorithm>
#include <utility>

using namespace gpuasync;

void Recording::assign(Recording &other, size_t count) {
  // Whatever fails for want of memory comes before staging has two owners.
  calls.reserve(count);
  staged.reserve(other.staged.size());
  const auto end = other.calls.begin() + static_cast<ptrdiff_t>(count);
  used = count < other.calls.size() ? 0 : other.used;
  for (auto call = other.calls.begin(); call != end; ++call)
    used = std::max(used, call->arguments + ((call->bytes + 15) & ~size_t(15)));
  units.assign(other.units.begin(),
               other.units.begin() + static_cast<ptrdiff_t>(used / 16));
  calls.assign(other.calls.begin(), end);
  for (Call &call : calls)
    call.dirty = false;
  for (uint32_t each : other.staged)
    if (each < count) {
      staged.push_back(each);
      other.calls[each].staging = nullptr;
    }
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

Call &Recording::append(Command::Kind kind, uint32_t stream,
                        const gpuasync_site *site, size_t bytes,
                        Staged isStaged) {
  size_t end = used + ((bytes + 15) & ~size_t(15));
  if (units.size() * 16 < end)
    units.resize(std::max(units.size() * 2, end / 16));
  calls.emplace_back();
  if (isStaged !=
      Staged::No) // a number of a call that is there, whatever fails
    staged.push_back(static_cast<uint32_t>(calls.size() - 1));
  Call &call = calls.back();
  call.kind = kind;
  call.staged = isStaged;
  call.stream = stream;
  call.bytes = static_cast<uint32_t>(bytes);
  call.arguments = used;
  call.site = site;
  used = end;
  return call;
}

bool Recording::isBehind(const std::vector<bool> &first) const {
  std::vector<bool> behind = first, eventBehind(events, false);
  for (const Call &call : calls) {
    if (call.kind == Command::Kind::Record)
      eventBehind[call.event] = behind[call.stream];
    else if (call.kind != Command::Kind::Wait && !behind[call.stream])
      return false;
    else if (call.kind == Command::Kind::Wait && eventBehind[call.event])
      behind[call.stream] = true;
  }
  return true;
}

bool Recording::gainsAsGraph() const {
  size_t others = 0;
  for (const Call &call : calls) {
    if (call.kind == Command::Kind::Launch)
      return true;
    others += call.isWork();
  }
  return others > 1;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

uint64_t Recording::hashShape(bool exactCalls) const {
  uint64_t hash = calls.size();
  for (const Call &call : calls) {
    hash = mix(hash, (static_cast<uint64_t>(call.kind) << 8 |
                      static_cast<uint64_t>(call.staged))
                             << 32 |
                         call.stream);
    hash = mix(hash, uint64_t(call.event) << 32 | call.bytes);
    hash = mix(hash, reinterpret_cast<uintptr_t>(call.site));
    if (exactCalls && call.kind == Command::Kind::Captured)
      for (size_t i = 0; i < call.bytes; ++i)
        hash = mix(hash, argumentsOf(call)[i]);
    if (call.kind != Command::Kind::Launch)
      continue;
    const gpuasync_launch_config block = blockOf(call);
    hash = mix(hash, block.flags);
    for (int64_t size : block.cluster)
      hash = mix(hash, static_cast<uint64_t>(size));
  }
  return hash;
}

bool Recording::hasShapeOf(const Recording &other, bool exactCalls) const {
  return std::equal(calls.begin(), calls.end(), other.calls.begin(),
                    other.calls.end(), [&](const Call &a, const Call &b) {
                      return a.kind == b.kind && a.staged == b.staged &&
                             a.stream == b.stream && a.event == b.event &&
                             a.bytes == b.bytes && a.site == b.site &&
                             (a.kind != Command::Kind::Launch ||
                              takes(a, other.blockOf(b))) &&
                             (a.kind != Command::Kind::Captured ||
                              !exactCalls ||
                              libraryOf(a) == other.libraryOf(b));
                    });
}

Edges::Edges(const Recording &recording) {
  // What a stream's next operation, or one that waits for an event, is behind.
  using Front = std::vector<uint32_t>;
  std::vector<Front> ofStream(recording.streams), ofEvent(recording.events);
  std::vector<uint32_t> seenBy(recording.streams, 0); ///< the last wait, + 1
  edges.resize(recording.calls.size());
  for (uint32_t i = 0; i < recording.calls.size(); ++i) {
    const Call &call = recording.calls[i];
    Front &front = ofStream[call.stream];
    if (call.kind == Command::Kind::Record) {
      ofEvent[call.event] = front;
    } else if (call.kind == Command::Kind::Wait) {
      const Front &other = ofEvent[call.event];
      Front joined;
      joined.reserve(front.size() + other.size());
      std::set_union(front.begin(), front.end(), other.begin(), other.end(),
                     std::back_inserter(joined));
      // Of two calls on one stream the later one is enough.
      front.clear();
      for (size_t at = joined.size(); at-- > 0;) {
        uint32_t &seen = seenBy[recording.calls[joined[at]].stream];
        if (seen != i + 1)
          front.push_back(joined[at]);
        seen = i + 1;
      }
      std::reverse(front.begin(), front.end());
    } else {
      edges[i] = std::move(front);
      front = {i};
    }
  }
}

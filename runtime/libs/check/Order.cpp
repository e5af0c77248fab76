//===- Order.cpp - What comes before what ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Order.h.
//===----------------------------------------------------------------------===//

#include "Order.h"

#include <algorithm>
#include <stdlib.h>
#include <string.h>

using namespace gpuasync::check;

static uint32_t read(const Clock &clock, uint32_t strand) {
  return strand < clock.size() ? clock[strand] : 0;
}

static void join(Clock &clock, const Clock &other) {
  if (clock.size() < other.size())
    clock.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

/// What the host does from now on is not what it had done before.
void Order::tickHost() {
  ++hostClock[0];
  hostOp = 0;
}

/// A strand of a stream that the host has waited for is as good as new.
uint32_t Order::takeStrand() {
  for (uint32_t &strand : retiredStrands)
    if (read(hostClock, strand) >= works[strand]) {
      uint32_t taken = strand;
      strand = retiredStrands.back();
      retiredStrands.pop_back();
      return taken;
    }
  counts.push_back(0);
  works.push_back(0);
  launches.emplace_back();
  return static_cast<uint32_t>(counts.size() - 1);
}

void Order::createStream(gpuasync_stream *stream, gpuasync_frame *frame) {
  std::lock_guard<std::mutex> lock(mutex);
  auto strand = std::make_shared<Strand>();
  strand->id = takeStrand();
  streams[stream] = {std::move(strand), frame};
}

void Order::createExternal(gpuasync_stream *stream, gpuasync_frame *frame,
                           void *native) {
  std::lock_guard<std::mutex> lock(mutex);
  // What gpuasync_stream_native gave for a stream of another frame.
  auto outer = streams.find(static_cast<gpuasync_stream *>(native));
  if (outer != streams.end()) {
    std::shared_ptr<Strand> shared = outer->second.strand;
    streams[stream] = {std::move(shared), frame};
    return;
  }
  std::shared_ptr<Strand> &strand = externals[native];
  if (!strand) {
    strand = std::make_shared<Strand>();
    strand->id = takeStrand();
  }
  streams[stream] = {strand, frame};
}

void Order::destroyStream(gpuasync_stream *stream) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = streams.find(stream);
  if (found == streams.end())
    return;
  // Not while the caller's stream goes on.
  if (found->second.strand.use_count() == 1)
    retiredStrands.push_back(found->second.strand->id);
  streams.erase(found);
}

void Order::recordEvent(gpuasync_event *event, gpuasync_stream *stream) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = streams.find(stream);
  if (!event || found == streams.end())
    return;
  Clock clock = hostClock;
  join(clock, found->second.strand->clock);
  events[event] = std::move(clock);
}

void Order::moveEvent(gpuasync_event *from, gpuasync_event *to) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = events.find(from);
  if (from == to || !to || found == events.end())
    return;
  Clock clock = std::move(found->second);
  events.erase(found);
  events[to] = std::move(clock);
}

void Order::destroyEvent(gpuasync_event *event) {
  std::lock_guard<std::mutex> lock(mutex);
  events.erase(event);
}

void Order::waitOnStream(gpuasync_stream *stream, gpuasync_event *event) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = streams.find(stream);
  auto point = events.find(event);
  if (found != streams.end() && point != events.end())
    join(found->second.strand->clock, point->second);
}

void Order::waitOnHost(gpuasync_stream *stream) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = streams.find(stream);
  if (found == streams.end())
    return;
  join(hostClock, found->second.strand->clock);
  tickHost();
}

void Order::waitOnHost(gpuasync_event *event) {
  std::lock_guard<std::mutex> lock(mutex);
  auto point = events.find(event);
  if (point == events.end())
    return;
  join(hostClock, point->second);
  tickHost();
}

void Order::endFailed(gpuasync_frame *frame) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto entry = streams.begin(); entry != streams.end();) {
    if (entry->second.frame != frame) {
      ++entry;
      continue;
    }
    join(hostClock, entry->second.strand->clock);
    entry = streams.erase(entry);
  }
  tickHost();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

OpIndex Order::addLocked(Strand &strand, const gpuasync_site *site,
                         const gpuasync_launch_config *block, bool isFree) {
  OpIndex index = ++opCount;
  if (index / chunkSize >= maxChunks) {
    // 268 million operations: the last one stands for all that follow.
    --opCount;
    return opCount;
  }
  std::atomic<Op *> &chunk = chunks[index / chunkSize];
  if (!chunk.load(std::memory_order_relaxed))
    chunk.store(new Op[chunkSize], std::memory_order_release);
  Op &op = chunk.load(std::memory_order_relaxed)[index % chunkSize];
  op.strand = strand.id;
  op.site = site;
  if (block) {
    memcpy(op.grid, block->grid, sizeof(op.grid));
    memcpy(op.block, block->block, sizeof(op.block));
  }
  if (strand.id == 0) {
    op.count = hostClock[0];
    op.clock = hostClock;
    return index;
  }
  join(strand.clock, hostClock);
  if (strand.clock.size() <= strand.id)
    strand.clock.resize(strand.id + 1);
  op.count = ++counts[strand.id];
  op.clock = strand.clock;
  strand.clock[strand.id] = op.count;
  // What comes before a free is all that one waits for to be done with it.
  if (isFree)
    return index;
  op.clock = strand.clock;
  works[strand.id] = op.count;
  if (block)
    launches[strand.id].push_back(index);
  tickHost();
  return index;
}

OpIndex Order::add(gpuasync_stream *stream, const gpuasync_site *site,
                   const gpuasync_launch_config *block) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = streams.find(stream);
  if (found != streams.end())
    return addLocked(*found->second.strand, site, block, /*isFree=*/false);
  Strand host;
  OpIndex index = addLocked(host, site, block, /*isFree=*/false);
  tickHost();
  return index;
}

OpIndex Order::addFree(gpuasync_stream *stream, const gpuasync_site *site) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = streams.find(stream);
  if (found != streams.end())
    return addLocked(*found->second.strand, site, nullptr, /*isFree=*/true);
  Strand host;
  OpIndex index = addLocked(host, site, nullptr, /*isFree=*/true);
  tickHost();
  return index;
}

OpIndex Order::host() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!hostOp) {
    Strand host;
    hostOp = addLocked(host, nullptr, nullptr, /*isFree=*/false);
  }
  return hostOp;
}

bool Order::directly(OpIndex first, OpIndex second) const {
  const Op &earlier = at(first), &later = at(second);
  return read(later.clock, earlier.strand) >= earlier.count;
}

bool Order::before(OpIndex first, OpIndex second) const {
  if (first == second)
    return false;
  if (directly(first, second))
    return true;
  if (!hasEdges.load(std::memory_order_acquire))
    return false;
  std::shared_lock<std::shared_mutex> lock(edgesMutex);
  std::vector<bool> taken(edges.size());
  std::vector<OpIndex> reached{first};
  while (!reached.empty()) {
    OpIndex from = reached.back();
    reached.pop_back();
    for (size_t i = 0; i < edges.size(); ++i) {
      auto [earlier, later] = edges[i];
      if (taken[i] || (from != earlier && !directly(from, earlier)))
        continue;
      taken[i] = true;
      if (later == second || directly(later, second))
        return true;
      reached.push_back(later);
    }
  }
  return false;
}

bool Order::isDueLocked(OpIndex op) const {
  const Clock &clock = at(op).clock;
  for (uint32_t i = 0; i < clock.size(); ++i)
    if (clock[i] > read(hostClock, i))
      return false;
  return true;
}

bool Order::isDue(OpIndex op) {
  std::lock_guard<std::mutex> lock(mutex);
  return isDueLocked(op);
}

bool Order::precedesLaunches(OpIndex op, OpIndex later) {
  const Clock &clock = at(op).clock;
  for (uint32_t strand = 0; strand < launches.size(); ++strand) {
    std::deque<OpIndex> &pending = launches[strand];
    while (!pending.empty() &&
           at(pending.front()).count <= read(hostClock, strand))
      pending.pop_front();
    // The first launch here that does not come before `op`. If it comes after
    // `op`, so do all that follow it.
    auto first = std::partition_point(
        pending.begin(), pending.end(), [&](OpIndex launch) {
          return at(launch).count <= read(clock, strand);
        });
    if (first == pending.end() || directly(op, *first))
      continue;
    if (!later || at(*first).count <= read(at(later).clock, strand))
      return false;
  }
  return true;
}

bool Order::isSettled(OpIndex op) {
  std::lock_guard<std::mutex> lock(mutex);
  return isDueLocked(op) && precedesLaunches(op, 0);
}

bool Order::isHidden(OpIndex earlier, OpIndex later) {
  std::lock_guard<std::mutex> lock(mutex);
  return precedesLaunches(earlier, later);
}

void Order::acquire(OpIndex earlier, OpIndex later) {
  if (earlier == later || before(earlier, later))
    return;
  std::unique_lock<std::shared_mutex> lock(edgesMutex);
  edges.push_back({earlier, later});
  hasEdges.store(true, std::memory_order_release);
}

void Order::acquireOnHost(OpIndex op) {
  std::lock_guard<std::mutex> lock(mutex);
  const Op &seen = at(op);
  if (read(hostClock, seen.strand) >= seen.count)
    return;
  join(hostClock, seen.clock);
  tickHost();
}

//===- Adversary.cpp - Worst-case orders of the cpu device ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Adversary.h.
//===----------------------------------------------------------------------===//

#include "libs/check/adversary/Adversary.h"
#include "shim/base/Uncancelled.h"

#include <algorithm>

using namespace gpuasync;
using namespace gpuasync::cpu;

using Clock = std::chrono::steady_clock;

/// How long nothing may happen although something could.
constexpr std::chrono::milliseconds idlePatience(20), blockedPatience(2),
    forEver(-1);

/// A bijection whose results look random (the finalizer of splitmix64).
static uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

//===----------------------------------------------------------------------===//
// Calls of the scheduler
//===----------------------------------------------------------------------===//

SchedulePolicy *gpuasyncMakeSchedulePolicy(StreamRunner &runner, uint64_t seed,
                                           size_t streamBytes) {
  return streamBytes == sizeof(Stream) ? new Adversary(runner, seed) : nullptr;
}

Adversary::Adversary(StreamRunner &runner, uint64_t seed)
    : runner(runner), state(mix(seed + 1)) {
  orderly = random(2);
  drawEpisode();
  thread = std::thread([this] { threadMain(); });
}

Adversary::~Adversary() { stop(); }

void Adversary::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    changed.notify_one();
  }
  const Uncancelled uncancelled;
  if (thread.joinable())
    thread.join();
}

void Adversary::reserve(size_t streams) {
  std::lock_guard<std::mutex> lock(mutex);
  held.reserve(streams);
  candidates.reserve(streams);
  needed.reserve(streams);
}

void Adversary::append(Stream *list) {
  if (list && held.empty())
    lastChange = Clock::now();
  while (Stream *stream = list) {
    list = stream->nextRunnable;
    stream->nextRunnable = nullptr;
    held.push_back(stream);
  }
  changed.notify_one();
}

void Adversary::hold(Stream *list) {
  std::lock_guard<std::mutex> lock(mutex);
  append(list);
}

void Adversary::cameBack(bool mayBlock, Stream *list) {
  std::lock_guard<std::mutex> lock(mutex);
  --running;
  runningThatMayBlock -= mayBlock;
  lastChange = Clock::now();
  append(list);
}

void Adversary::beginWait(Awaited &wait) {
  std::lock_guard<std::mutex> lock(mutex);
  // A good place for other rules: all that the host gave so far is held.
  if (gaveIn || random(8) == 0)
    drawEpisode();
  wait.next = awaited;
  awaited = &wait;
  lastChange = Clock::now();
  changed.notify_one();
}

void Adversary::endWait(Awaited &wait) {
  std::lock_guard<std::mutex> lock(mutex);
  for (Awaited **link = &awaited; *link; link = &(*link)->next)
    if (*link == &wait) {
      *link = wait.next;
      break;
    }
}

void Adversary::delay() {
  uint32_t longest = longestDelayUs.load(std::memory_order_relaxed);
  if (!longest)
    return;
  uint64_t drawn = mix(delays.fetch_add(1, std::memory_order_relaxed));
  std::this_thread::sleep_for(std::chrono::microseconds(drawn % longest));
}

//===----------------------------------------------------------------------===//
// What it makes of it
//===----------------------------------------------------------------------===//

uint64_t Adversary::random(uint64_t below) {
  state += 0x9e3779b97f4a7c15u;
  return mix(state) % below;
}

void Adversary::drawEpisode() {
  order = static_cast<Order>(random(6));
  salt = mix(random(UINT64_MAX));
  lazy = orderly || random(2);
  onlyNeeded = lazy && random(2);
  width = orderly || random(2) ? 1 : 2 + static_cast<uint32_t>(random(7));
  longestDelayUs = width > 1 && random(2) ? 50 : 0;
  decisions = 1 + static_cast<uint32_t>(random(100));
  gaveIn = false;
  last = nullptr;
}

Adversary::Head Adversary::headOf(Stream &stream) {
  std::lock_guard<std::mutex> lock(stream.mutex);
  const Op *op = stream.head;
  if (!op)
    return {};
  bool waits = op->command.kind == Command::Kind::Wait;
  return {op->sequence, waits ? op->targetPosition : 0,
          waits ? op->target : nullptr, op->mayBlock};
}

bool Adversary::hostWaits() const {
  // A wait that is over counts no longer, even if its thread has not woken yet:
  // the order would depend on when it does.
  for (Awaited *wait = awaited; wait; wait = wait->next)
    if (wait->stream->completed.load(std::memory_order_acquire) <
        wait->position)
      return true;
  return false;
}

void Adversary::keepNeeded() {
  ++searches;
  needed.clear();
  const Scheduler &own = candidates.front()->scheduler;
  auto isMarked = [&](const Stream *stream) {
    // The mark of another context's stream is its own policy's.
    return &stream->scheduler == &own ? stream->neededMark == searches
                                      : std::find(needed.begin(), needed.end(),
                                                  stream) != needed.end();
  };
  auto mark = [&](Stream *stream, uint64_t position) {
    if (isMarked(stream) ||
        stream->completed.load(std::memory_order_acquire) >= position)
      return;
    if (&stream->scheduler == &own)
      stream->neededMark = searches;
    needed.push_back(stream);
  };
  for (Awaited *wait = awaited; wait; wait = wait->next)
    mark(wait->stream, wait->position);
  for (size_t i = 0; i < needed.size(); ++i)
    if (Head head = headOf(*needed[i]); head.target)
      mark(head.target, head.targetPosition);
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                  [&](Stream *stream) {
                                    return stream->neededMark != searches;
                                  }),
                   candidates.end());
}

Stream *Adversary::choose(Milliseconds &patience) {
  patience = forEver;
  if (decisions == 0)
    drawEpisode();
  Stream *chosen = held.front();
  if (!gaveIn) {
    if (lazy && !hostWaits()) {
      patience = idlePatience;
      return nullptr;
    }
    // What surely ends is awaited without limit.
    if (runningThatMayBlock == running)
      patience = blockedPatience;
    if (running >= width) {
      if (runningThatMayBlock)
        patience = blockedPatience;
      return nullptr;
    }
    candidates.assign(held.begin(), held.end());
    if (onlyNeeded)
      keepNeeded();
    if (candidates.empty())
      return nullptr;
    chosen = pick();
  }
  --decisions;
  chosen->lastTurn = ++turns;
  last = chosen;
  held.erase(std::find(held.begin(), held.end(), chosen));
  return chosen;
}

Stream *Adversary::pick() {
  // Not the order in which they came, which depends on timing.
  std::sort(candidates.begin(), candidates.end(),
            [](Stream *a, Stream *b) { return a->index < b->index; });
  auto least = [&](auto key) {
    return std::min_element(
        candidates.begin(), candidates.end(),
        [&](Stream *a, Stream *b) { return key(*a) < key(*b); });
  };
  auto byPriority = [&](Stream &stream) { return mix(salt + stream.index); };
  switch (order) {
  case Order::Newest:
    return *least([](Stream &stream) { return ~headOf(stream).sequence; });
  case Order::InTurn:
    return *least([](Stream &stream) { return stream.lastTurn; });
  case Order::Priority:
    return *least(byPriority);
  case Order::Deep:
    if (std::find(candidates.begin(), candidates.end(), last) !=
        candidates.end())
      return last;
    break;
  case Order::Victim:
    if (candidates.size() > 1)
      candidates.erase(least(byPriority));
    break;
  case Order::Random:
    break;
  }
  return candidates[random(candidates.size())];
}

void Adversary::threadMain() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    if (held.empty()) {
      if (stopping)
        return;
      changed.wait(lock);
      continue;
    }
    Milliseconds patience;
    Stream *stream = choose(patience);
    if (!stream) {
      if (patience < Milliseconds(0))
        changed.wait(lock);
      else if (Clock::time_point limit = lastChange + patience;
               changed.wait_until(lock, limit) == std::cv_status::timeout &&
               Clock::now() >= lastChange + patience)
        gaveIn = true;
      continue;
    }
    bool mayBlock = headOf(*stream).mayBlock;
    ++running;
    runningThatMayBlock += mayBlock;
    lastChange = Clock::now();
    // Alone, what surely ends can run here: that saves waking a thread.
    bool here = width == 1 && !gaveIn && !mayBlock;
    lock.unlock();
    if (here)
      runner.runHere(stream);
    else
      runner.runOnThread(stream);
    lock.lock();
  }
}

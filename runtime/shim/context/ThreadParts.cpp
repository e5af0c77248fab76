//===- ThreadParts.cpp - A thread's parts of contexts ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Thread.h.
//===----------------------------------------------------------------------===//

#include "shim/context/ContextImpl.h"

#include <type_traits>

using namespace gpuasync;

ThreadContext *ThreadState::slotFor(gpuasync_context *context) {
  auto isOfContext = [context](const ThreadContext *slot) {
    return slot->context == context;
  };
  if (ThreadContext *slot = contextTable.find(hashOf(context), isOfContext))
    return slot;
  purge(false);
  if (contextTable.reserve(contextCount + 1))
    fillContexts();
  auto slot = std::make_unique<ThreadContext>();
  slot->context = context;
  {
    std::lock_guard<std::mutex> lock(context->poolMutex);
    context->slots.push_back(slot.get());
  }
  context->retainPart();
  slot->nextOfThread = contexts;
  contexts = slot.get();
  ++contextCount;
  putContext(slot.get());
  return slot.release();
}

void ThreadState::putContext(ThreadContext *slot) {
  contextTable.put(hashOf(slot->context), slot,
                   [](const ThreadContext *) { return false; });
}

void ThreadState::fillContexts() {
  contextTable.clear(contextCount);
  for (ThreadContext *slot = contexts; slot; slot = slot->nextOfThread)
    putContext(slot);
}

/// All of them, whatever they are of, are added up.
static void foldCounters(Counters &into, const Counters &from) {
  static_assert(std::is_standard_layout_v<Counters> &&
                    sizeof(Counters) % sizeof(Counter) == 0,
                "nothing but counters");
  auto *to = reinterpret_cast<Counter *>(&into);
  auto *part = reinterpret_cast<const Counter *>(&from);
  for (size_t i = 0; i < sizeof(Counters) / sizeof(Counter); ++i)
    to[i].add(part[i].get());
}

static void eraseOne(std::vector<ThreadContext *> &list, ThreadContext *item) {
  for (auto &entry : list)
    if (entry == item) {
      entry = list.back();
      list.pop_back();
      return;
    }
}

void ThreadState::putPin(Pin *pin, bool replace) {
  Registration *registration = pin->registration;
  gpuasync_context *context = pin->slot->context;
  if (!replace && findPin(registration, context))
    return;
  pinTable.put(hashOf(registration, context), pin, [=](const Pin *other) {
    return other->registration == registration &&
           other->slot->context == context;
  });
}

void ThreadState::fillPins() {
  pinTable.clear(pinCount);
  for (Pin *pin = pins; pin; pin = pin->nextOfThread)
    putPin(pin, /*replace=*/false); // the newest comes first
}

void ThreadState::reservePin() {
  if (pinTable.reserve(pinCount + 1))
    fillPins();
}

void ThreadState::addPin(Pin *pin) {
  pin->nextOfThread = pins;
  pins = pin;
  ++pinCount;
  ++pin->slot->pinCount;
  putPin(pin, /*replace=*/true);
}

void ThreadState::purge(bool everything) {
  const uint64_t now = retirements.load(std::memory_order_seq_cst);
  if (!everything && now == purgedAt)
    return;
  purgedAt = now;
  bool changed = false;
  for (Pin **link = &pins; *link;) {
    Pin *pin = *link;
    bool idle = pin->count.load(std::memory_order_relaxed) == 0;
    if (!idle || !(everything || pin->instance->retired.load())) {
      link = &pin->nextOfThread;
      continue;
    }
    *link = pin->nextOfThread;
    --pinCount;
    --pin->slot->pinCount;
    changed = true;
    {
      std::lock_guard<std::mutex> lock(pin->slot->context->poolMutex);
      auto &list = pin->instance->pins;
      for (auto &entry : list)
        if (entry == pin) {
          entry = list.back();
          list.pop_back();
          break;
        }
    }
    pin->instance->release();
    delete pin;
  }
  if (changed)
    fillPins();
  // No entry of the table is looked at again before it is filled.
  changed = false;
  for (ThreadContext **link = &contexts; *link;) {
    ThreadContext *slot = *link;
    gpuasync_context *context = slot->context;
    bool closed = context->state.load() == gpuasync_context::State::Closed;
    if (slot->pinCount || !(everything || closed)) {
      link = &slot->nextOfThread;
      continue;
    }
    *link = slot->nextOfThread;
    --contextCount;
    changed = true;
    context->streams.takeBack(*slot);
    context->events.takeBack(*slot);
    {
      std::lock_guard<std::mutex> lock(context->poolMutex);
      eraseOne(context->slots, slot);
      foldCounters(context->ended, slot->counters);
    }
    delete slot;
    context->releasePart();
  }
  if (changed)
    fillContexts();
}

bool ThreadState::leaveContexts() {
  try {
    purge(true);
  } catch (...) {
    return false;
  }
  for (const Scope &scope : scopes)
    for (size_t i = 0; i < scope.size(); ++i)
      scope[i]->release();
  return true;
}

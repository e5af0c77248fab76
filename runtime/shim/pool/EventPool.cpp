//===- EventPool.cpp - Events of a context --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See EventPool.h.
//===----------------------------------------------------------------------===//

#include "shim/pool/EventPool.h"
#include "shim/pool/ContextPools.h"

using namespace gpuasync;

EventPool::~EventPool() {
  for (Event *event : all)
    delete event;
}

Status EventPool::takeShared(Event *&out) {
  std::unique_lock<std::mutex> lock(mutex);
  if ((out = idle.pop()))
    return Status();
  Room room(all);
  lock.unlock();
  auto event = std::make_unique<Event>();
  event->context = &context.context;
  RETURN_IF_ERROR(context.timepoints.takeEvent(event->native));
  lock.lock();
  all.push_back(event.get());
  out = event.release();
  return Status();
}

void EventPool::giveShared(Event *event) {
  std::lock_guard<std::mutex> lock(mutex);
  idle.push(event);
}

void EventPool::abandon(Event *event) {
  event->live = event->isImported = false; // no handle is good for it any more
  event->isOverdue.store(false, std::memory_order_relaxed);
  ++event->generation;
  event->frame = nullptr;
  event->previous = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  context.abandoned.fetch_add(1);
  abandoned.append(event);
}

Event *EventPool::takeAbandoned() {
  std::lock_guard<std::mutex> lock(mutex);
  return abandoned.pop();
}

void EventPool::giveAbandoned(Event *event, bool reached) {
  if (reached) {
    context.abandoned.fetch_sub(1);
    return give(nullptr, event);
  }
  std::lock_guard<std::mutex> lock(mutex);
  abandoned.append(event);
}

std::string EventPool::describeAbandoned() {
  std::lock_guard<std::mutex> lock(mutex);
  std::string open;
  for (Event *event = abandoned.first; event; event = event->next)
    appendItem(open, event->origin.text());
  return open;
}

void EventPool::takeBack(ThreadContext &slot) {
  std::lock_guard<std::mutex> lock(mutex);
  while (Event *event = slot.idleEvents.pop())
    idle.push(event);
}

void EventPool::leaveFrame(Event *event) {
  event->frame = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  linkFront(exported, event);
}

void EventPool::enterFrame(Event *event) {
  std::lock_guard<std::mutex> lock(mutex);
  unlink(exported, event);
}

Status EventPool::locate(const Event &event, Status status) {
  std::lock_guard<std::mutex> lock(mutex);
  const Origin &origin = event.origin;
  return origin.site || origin.label.empty()
             ? gpuasync::locate(std::move(status), origin.site)
             : gpuasync::locate(std::move(status), "", 0, 0,
                                origin.label.c_str());
}

void EventPool::keepLabels(const Registration *gone) {
  std::lock_guard<std::mutex> lock(mutex);
  for (Event *event = exported; event; event = event->next)
    event->origin.keepLabel(gone);
  for (Event *event = abandoned.first; event; event = event->next)
    event->origin.keepLabel(gone);
}

void EventPool::destroy() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    idle = {};
    abandoned = {};
  }
  for (Event *event : all)
    if (event->native) // else a close before this one came so far
      context.timepoints.giveEvent(std::exchange(event->native, nullptr));
}

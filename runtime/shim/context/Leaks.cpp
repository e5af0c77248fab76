//===- Leaks.cpp - What a program has not released ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// While the context is open, and what there was when it closed.
//===----------------------------------------------------------------------===//

#include "shim/context/ContextImpl.h"

#include <inttypes.h>
#include <stdio.h>

using namespace gpuasync;

/// Lists what the program still holds, a line each.
static void addLeaks(gpuasync_context &context,
                     std::vector<std::string> &lines) {
  auto add = [&](const Origin &origin, const char *format, uint64_t bytes) {
    char what[80];
    snprintf(what, sizeof(what), format, bytes);
    lines.push_back(origin.text());
    lines.back() += what;
  };
  context.memory.forEachLive([&](const Origin &origin, uint64_t bytes) {
    add(origin, ": %" PRIu64 " bytes never freed", bytes);
  });
  context.registrations.forEach([&](const Origin &origin, uint64_t bytes) {
    add(origin, ": registration of %" PRIu64 " bytes never undone", bytes);
  });
  if (context.state.load() != gpuasync_context::State::Closed)
    context.events.forEachExported([&](const Origin &origin) {
      add(origin, ": event never released", 0);
    });
}

void gpuasync_context::keepLeaks() {
  std::vector<std::string> lines;
  addLeaks(*this, lines);
  std::lock_guard<std::mutex> lock(poolMutex);
  leaks = std::move(lines);
}

extern "C" uint64_t gpuasync_leaks_list(const gpuasync_context *constant,
                                        gpuasync_leak_visitor visitor,
                                        void *user) noexcept {
  auto *context = const_cast<gpuasync_context *>(constant);
  if (!context || isForked())
    return 0;
  std::vector<std::string> lines;
  try {
    {
      std::lock_guard<std::mutex> lock(context->poolMutex);
      lines = context->leaks;
    }
    if (lines.empty()) // else they are all
      addLeaks(*context, lines);
  } catch (const std::bad_alloc &) {
  }
  if (visitor)
    for (const std::string &line : lines)
      visitor(user, line.c_str());
  return lines.size();
}

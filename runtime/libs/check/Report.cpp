//===- Report.cpp - What is said of a bug ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports look like a compiler's: place, error, notes. Each pair of places is
// reported once for each kind of bug.
//===----------------------------------------------------------------------===//

#include "Checker.h"

#include <ctype.h>
#include <set>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

using namespace gpuasync::check;

/// So many are printed; the others are counted.
static constexpr uint64_t maxPrinted = 20;

static std::string format(const char *text, ...)
    __attribute__((format(printf, 1, 2)));
static std::string format(const char *text, ...) {
  char buffer[512];
  va_list args;
  va_start(args, text);
  vsnprintf(buffer, sizeof(buffer), text, args);
  va_end(args);
  return buffer;
}

std::string gpuasync::check::errorAt(const std::string &place,
                                     const std::string &text) {
  return (place.empty() ? std::string("gpu-runner") : place) +
         ": error: " + text + "\n";
}

std::string gpuasync::check::noteAt(const std::string &place,
                                    const std::string &text) {
  return (place.empty() ? std::string("gpu-runner") : place) +
         ": note: " + text + "\n";
}

std::string gpuasync::check::siteLine(const char *site, int line) {
  if (!site)
    return "";
  for (; line > 0 && site; --line)
    if ((site = strchr(site, '\n')))
      ++site;
  if (!site)
    return "";
  const char *end = strchr(site, '\n');
  return end ? std::string(site, end) : std::string(site);
}

std::string gpuasync::check::placeOf(const gpuasync_site *site) {
  if (!site || !*gpuasync_site_file(site))
    return "";
  return format("%s:%u:%u", gpuasync_site_file(site), site->line, site->column);
}

std::string gpuasync::check::placeOf(const Access &access) {
  if (access.site)
    return siteLine(access.site, 0);
  return placeOf(Checker::get().order.at(access.op).site);
}

std::string gpuasync::check::kernelOf(OpIndex op) {
  const gpuasync_site *site = Checker::get().order.at(op).site;
  const char *at = site ? strchr(gpuasync_site_op(site), '@') : nullptr;
  return at ? at : "";
}

std::string gpuasync::check::position(const Op &op, uint32_t block,
                                      uint32_t thread) {
  auto part = [](uint32_t number, const int64_t *sizes) {
    int64_t x = number % sizes[0], rest = number / sizes[0];
    return format("(%lld, %lld, %lld)", static_cast<long long>(x),
                  static_cast<long long>(rest % sizes[1]),
                  static_cast<long long>(rest / sizes[1]));
  };
  return "block " + part(block, op.grid) + ", thread " + part(thread, op.block);
}

std::string gpuasync::check::describe(const Access &access) {
  const Op &op = Checker::get().order.at(access.op);
  if (!access.site)
    return op.site ? gpuasync_site_op(op.site) : "the host";
  const char *verb =
      access.writes()
          ? (access.flags & GPUASYNC_CHECK_READ ? "update" : "write")
          : "read";
  std::string launched = placeOf(op.site);
  return format("%s%s by %s of kernel %s", access.atomic() ? "atomic " : "",
                verb, position(op, access.block, access.thread).c_str(),
                kernelOf(access.op).c_str()) +
         (launched.empty() ? "" : ", launched at " + launched);
}

const char *Allocation::describe() const {
  switch (kind) {
  case MemoryKind::Device:
    return "device memory";
  case MemoryKind::HostShared:
    return "host-shared memory";
  case MemoryKind::Registered:
    return "registered host memory";
  case MemoryKind::Global:
    return "a global variable";
  case MemoryKind::Own:
    return "the kernels' own memory";
  }
  return "memory";
}

void Checker::start(void (*report)(void *user, const char *text), void *user) {
  std::lock_guard<std::mutex> lock(reportMutex);
  print = report;
  printUser = user;
  found = printed = 0;
  reported.clear();
  missesRaces = false;
}

uint64_t Checker::count(uint64_t *unprinted) {
  std::lock_guard<std::mutex> lock(reportMutex);
  if (unprinted)
    *unprinted = found - printed;
  return found;
}

/// The words of a report, without numbers, which differ from thread to thread,
/// and in no order, since either of two accesses may come first.
static std::string listWords(const std::string &text) {
  std::set<std::string> words;
  std::string word;
  for (char c : text + ' ') {
    if (isdigit(static_cast<unsigned char>(c)))
      continue;
    if (!isspace(static_cast<unsigned char>(c))) {
      word += c;
      continue;
    }
    words.insert(word);
    word.clear();
  }
  std::string all;
  for (const std::string &each : words)
    all += each + ' ';
  return all;
}

void Checker::report(Kind kind, const std::string &place,
                     const std::string &other, const std::string &text) {
  // Without locations, bugs are told apart by their kernels.
  const std::string where = place.empty() ? listWords(text) : place;
  std::lock_guard<std::mutex> lock(reportMutex);
  // A race of two places is one bug, whichever is seen first.
  bool swap = other < where;
  std::string key = std::to_string(static_cast<int>(kind)) + "|" +
                    (swap ? other : where) + "|" + (swap ? where : other);
  if (!reported.insert(key).second)
    return;
  ++found;
  if (printed >= maxPrinted)
    return;
  ++printed;
  if (print)
    print(printUser, text.c_str());
}

void Checker::noteMissedRaces(const char *why) {
  std::lock_guard<std::mutex> lock(reportMutex);
  if (missesRaces)
    return;
  missesRaces = true;
  if (print)
    print(printUser, ("gpu-runner: warning: --check: " + std::string(why) +
                      "; from here on races are missed\n")
                         .c_str());
}

void Checker::noteNoShadow() {
  noteMissedRaces("out of memory for the accesses that it remembers");
}

void Checker::reportRace(Kind kind, const Access &access, const Access &other,
                         uintptr_t address, const Allocation *allocation) {
  std::string place = placeOf(access), otherPlace = placeOf(other);
  const char *what = kind == Kind::RaceThreads
                         ? "data race between threads of a block"
                     : kind == Kind::RaceBlocks
                         ? "data race between blocks"
                         : "race between device ops that nothing orders";
  auto at = [](const std::string &where, const char *severity) {
    return (where.empty() ? std::string("gpu-runner") : where) + ": " +
           severity + ": ";
  };
  std::string text = at(place, "error") + what + ": " + describe(access) + "\n";
  text += at(otherPlace, "note") + "the other: " + describe(other) + "\n";
  if (allocation && allocation->base) {
    std::string where = allocation->ownSite ? siteLine(allocation->ownSite, 0)
                                            : placeOf(allocation->site);
    text += at(where, "note") +
            format("at byte %llu of %llu bytes of %s",
                   static_cast<unsigned long long>(address - allocation->base),
                   static_cast<unsigned long long>(allocation->bytes),
                   allocation->describe()) +
            (where.empty() ? "" : " that comes from here") + "\n";
  } else if (kind != Kind::RaceOps) {
    text += at(place, "note") +
            format("at byte %llu of the block's workgroup memory",
                   static_cast<unsigned long long>(
                       currentBlock ? address - currentBlock->workgroup : 0)) +
            "\n";
  }
  report(kind, place, otherPlace, text);
}

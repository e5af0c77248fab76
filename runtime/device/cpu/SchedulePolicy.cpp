//===- SchedulePolicy.cpp - Finding the policy that a setting asks for ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See SchedulePolicy.h.
//===----------------------------------------------------------------------===//

#include "device/cpu/SchedulePolicy.h"
#include "device/Driver.h"
#include "device/cpu/Scheduler.h"
#include "shim/base/OwnLibrary.h"
#include "shim/base/Settings.h"

#include <atomic>
#include <system_error>

using namespace gpuasync;
using namespace gpuasync::cpu;

// Programs that link the runtime statically link the adversary as well.
extern "C" __attribute__((weak)) MakePolicy gpuasyncMakeSchedulePolicy;

/// The choice of gpuasync_set_cpu_schedule: 0 none, 1 fair, else the seed + 2.
static std::atomic<uint64_t> chosenSchedule{0};

static constexpr char variable[] = "GPU_ASYNC_CPU_SCHEDULE";

Status Schedule::parse(const char *text, Schedule &out) {
  out = Schedule();
  if (!strcmp(text, "fair"))
    return Status();
  const char word[] = "adversarial";
  const size_t length = sizeof(word) - 1;
  bool known = !strncmp(text, word, length);
  const char *rest = known ? text + length : text;
  if (known && *rest == ':') {
    known = readWhole(++rest, out.seed) && out.seed <= UINT32_MAX;
  }
  if (!known || *rest)
    return badSetting(variable, text,
                      "none of fair, adversarial, adversarial:SEED (a number "
                      "below 2^32)");
  out.adversarial = true;
  return Status();
}

Status Schedule::current(Schedule &out) {
  out = Schedule();
  if (uint64_t chosen = chosenSchedule.load()) {
    out.adversarial = chosen > 1;
    out.seed = chosen - 2;
    return Status();
  }
  const char *text = setting(variable);
  return text ? parse(text, out) : Status();
}

Status gpuasync::setCpuSchedule(const char *schedule) {
  Schedule parsed;
  Status status = Schedule::parse(schedule, parsed);
  if (status.ok())
    chosenSchedule.store(parsed.adversarial ? parsed.seed + 2 : 1);
  return status;
}

/// Finds the function in libgpuasync_check.so. Its threads run its code, so it
/// stays open.
static Status findMaker(MakePolicy *&out) {
  out = gpuasyncMakeSchedulePolicy;
  if (out)
    return Status();
  void *found = nullptr;
  RETURN_IF_ERROR(findInOwnLibrary("check", "gpuasyncMakeSchedulePolicy",
                                   "the adversarial schedule", found));
  out = reinterpret_cast<MakePolicy *>(found);
  return Status();
}

Status cpu::makePolicy(const Schedule &schedule, StreamRunner &runner,
                       std::unique_ptr<SchedulePolicy> &out) {
  if (!schedule.adversarial)
    return Status();
  MakePolicy *make = nullptr;
  RETURN_IF_ERROR(findMaker(make));
  try {
    out.reset(make(runner, schedule.seed, sizeof(Stream)));
  } catch (const std::system_error &error) {
    return makeStatus(GPUASYNC_UNAVAILABLE,
                      "the thread of the adversarial schedule: %s",
                      error.what());
  }
  return out ? Status()
             : makeStatus(
                   GPUASYNC_UNAVAILABLE,
                   "the adversarial schedule: libgpuasync_check.so is of "
                   "another version than the runtime library");
}

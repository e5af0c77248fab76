//===- SchedulePolicy.cpp - Finding the policy that a setting asks for ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See SchedulePolicy.h.
//===----------------------------------------------------------------------===//

#include "drivers/cpu/SchedulePolicy.h"
#include "core/base/Settings.h"
#include "core/base/StatusImpl.h"
#include "drivers/Driver.h"
#include "drivers/cpu/Scheduler.h"

#include <atomic>
#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string>
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

/// Returns the folder of the file that has this code, with a slash at its end.
/// The loader's name may be relative to a folder that was left since.
static std::string ownFolder() {
  static const char anchor = 0; // no other file can define it instead
  Dl_info self = {};
  std::string path;
  if (dladdr(&anchor, &self) && self.dli_fname)
    path = self.dli_fname;
  if (path.empty() || path[0] != '/') {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 128];
    while (maps && fgets(line, sizeof(line), maps)) {
      uintptr_t begin = 0, end = 0;
      int name = 0;
      if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &begin,
                 &end, &name) == 2 &&
          begin <= reinterpret_cast<uintptr_t>(&anchor) &&
          reinterpret_cast<uintptr_t>(&anchor) < end && line[name] == '/')
        path = line + name;
    }
    if (maps)
      fclose(maps);
  }
  path.resize(path.find_last_of('/') + 1); // 0 if there is none
  return path;
}

/// Finds the function in libgpuasync_check.so, next to the runtime. The library
/// stays open: its threads run its code.
static Status findMaker(MakePolicy *&out) {
  out = gpuasyncMakeSchedulePolicy;
  if (out)
    return Status();
  const std::string folder = ownFolder();
  std::string tried;
  for (const char *name : {"libgpuasync_check.so", "libgpuasync_check.so.0"}) {
    if (void *library =
            dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
      out = reinterpret_cast<MakePolicy *>(
          dlsym(library, "gpuasyncMakeSchedulePolicy"));
      if (out)
        return Status();
      appendItem(tried, std::string(name) + " is of another version");
      continue;
    }
    const char *reason = dlerror();
    appendItem(tried, reason ? reason : name);
  }
  return makeStatus(GPUASYNC_UNAVAILABLE,
                    "the adversarial schedule needs libgpuasync_check.so next "
                    "to the runtime library: %s",
                    tried.c_str());
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

//===- Ranges.cpp - Ranges for the vendors' profilers ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Ranges.h. A profiler that knows NVTX names a library in
// NVTX_INJECTION64_PATH; InitializeInjectionNvtx2 of that asks for tables of
// pointers, and sets those of the functions that it listens to (NVTX 3,
// nvtxDetail/nvtxTypes.h). A profiler that knows roctx brings a library with
// functions to call.
//===----------------------------------------------------------------------===//

#include "libs/trace/Ranges.h"

#include "shim/base/Settings.h"

#include "services/trace/Interface.h"

#include <dlfcn.h>
#include <string>

using namespace gpuasync;

static constexpr char variable[] = "GPU_ASYNC_RANGES";
static constexpr char injection[] = "NVTX_INJECTION64_PATH";

Ranges gpuasync::ranges;

//===----------------------------------------------------------------------===//
// NVTX's side of an injected library
//===----------------------------------------------------------------------===//

namespace {

using Function = void (*)();

/// NvtxExportTableID.
enum : uint32_t { TableOfCallbacks = 1, TableOfVersion = 3 };
/// NvtxCallbackModule, and how many pointers the table of each has.
enum : uint32_t { ModuleCore = 1, ModuleCount = 7 };
constexpr unsigned tableSizes[ModuleCount] = {0, 16, 9, 15, 7, 16, 7};
/// NvtxCallbackIdCore.
enum : uint32_t { RangePushA = 9, RangePop = 11 };
constexpr unsigned tableSize = 16;

/// What the library sets. All that is not ours goes to one place.
Function pushed, popped, ignored;
/// Null at the ends, as in NVTX.
Function *coreTable[tableSize + 1], *otherTable[tableSize + 1];

int moduleTable(uint32_t module, Function ***table, unsigned *size) {
  if (!module || module >= ModuleCount)
    return 0;
  if (table)
    *table = module == ModuleCore ? coreTable : otherTable;
  if (size)
    *size = tableSizes[module];
  return 1;
}

const void *exportTable(uint32_t id) {
  static const struct {
    size_t size;
    int (*moduleTable)(uint32_t, Function ***, unsigned *);
  } callbacks = {sizeof(callbacks), &moduleTable};
  static const struct {
    size_t size;
    uint32_t version, reserved;
    void (*setVersion)(uint32_t);
  } version = {sizeof(version), 3, 0, [](uint32_t) {}};
  if (id == TableOfCallbacks)
    return &callbacks;
  return id == TableOfVersion ? &version : nullptr;
}

/// True if the library listens to ranges. It stays loaded: it may have kept the
/// tables.
bool inject(void *library) {
  using Initialize = int (*)(const void *(*)(uint32_t));
  auto initialize =
      reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  if (!initialize)
    return false;
  for (unsigned i = 1; i < tableSize; ++i)
    coreTable[i] = otherTable[i] = &ignored;
  coreTable[RangePushA] = &pushed;
  coreTable[RangePop] = &popped;
  if (!initialize(&exportTable) || !pushed || !popped)
    return false;
  ranges.push = reinterpret_cast<int (*)(const char *)>(pushed);
  ranges.pop = reinterpret_cast<int (*)()>(popped);
  return true;
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

bool takeFunctions(void *library, const char *push, const char *pop) {
  void *found[] = {dlsym(library, push), dlsym(library, pop)};
  if (!found[0] || !found[1])
    return false;
  ranges.push = reinterpret_cast<int (*)(const char *)>(found[0]);
  ranges.pop = reinterpret_cast<int (*)()>(found[1]);
  return true;
}
bool takeRoctx(void *library) {
  return takeFunctions(library, "roctxRangePushA", "roctxRangePop");
}

Status unavailable(const char *text, const std::string &why) {
  return makeStatus(GPUASYNC_UNAVAILABLE, "%s: '%.100s' is unavailable: %s",
                    variable, text, why.c_str());
}

std::string loaderSays() {
  const char *reason = dlerror();
  return reason ? reason : "unknown error";
}

Status openNvtx(const char *text) {
  const char *path = setting(injection);
  if (!path)
    return unavailable(text, std::string(injection) +
                                 " is not set, so no profiler listens: run the "
                                 "program under one, as in `nsys profile "
                                 "--trace=cuda,nvtx`");
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    return unavailable(text, std::string(injection) + ": " + loaderSays() +
                                 "; a profiler sets it: run the program under "
                                 "one, as in `nsys profile --trace=cuda,nvtx`");
  if (!inject(library))
    return unavailable(text, std::string(injection) + ": '" + path +
                                 "' does not listen to ranges of NVTX; does "
                                 "the profiler trace them?");
  return Status();
}

bool findRoctx() {
  std::string path;
  if (!findLoadedRoctx([&](const char *found) { path = found; }))
    return false;
  void *library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return library && takeRoctx(library);
}

Status openRoctx(const char *text) {
  if (findRoctx())
    return Status();
  std::string tried;
  for (const char *name :
       {"librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so.0",
        "libroctx64.so.4"}) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library && takeRoctx(library))
      return Status();
    appendItem(tried, library ? std::string(name) + " lacks roctxRangePushA"
                              : loaderSays());
  }
  return unavailable(text, tried + "; run the program under a profiler, as in "
                                   "`rocprofv3 --marker-trace`, or give the "
                                   "path of the library");
}

Status openPath(const char *path) {
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    return unavailable(path, loaderSays());
  if (takeRoctx(library) ||
      takeFunctions(library, "nvtxRangePushA", "nvtxRangePop") ||
      inject(library))
    return Status();
  return unavailable(path, "it has neither roctxRangePushA nor nvtxRangePushA, "
                           "and is no library that a profiler injects "
                           "(InitializeInjectionNvtx2)");
}

} // namespace

Status gpuasync::openRanges() {
  const char *text = setting(variable);
  if (!text || !strcmp(text, "auto")) {
    // Whatever goes wrong with a profiler is no error of the program.
    (void)guard([] {
      if (!setting(injection) || !openNvtx("auto").ok())
        (void)findRoctx();
      return Status();
    });
    return Status();
  }
  if (!strcmp(text, "off"))
    return Status();
  if (!strcmp(text, "nvtx"))
    return openNvtx(text);
  if (!strcmp(text, "roctx"))
    return openRoctx(text);
  if (strchr(text, '/'))
    return openPath(text);
  return badSetting(variable, text,
                    "none of auto, nvtx, roctx, off, and no path of a library");
}

//===- Check.cpp - Finding the bugs of a program --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Check.h.
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "gpuasync/Check.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>

using namespace llvm;

namespace gpurunner {

Error Checker::open(StringRef name, StringRef program) {
  Dl_info runtime;
  SmallString<128> path("libgpuasync_check.so");
  if (dladdr(reinterpret_cast<void *>(&gpuasync_launch), &runtime)) {
    path = sys::path::parent_path(runtime.dli_fname);
    sys::path::append(path, "libgpuasync_check.so");
  }
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    handle = dlopen((path + ".0").str().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return createStringError(std::string("--check: ") + dlerror());
  auto start = reinterpret_cast<decltype(&gpuasync_check_start)>(
      dlsym(handle, "gpuasync_check_start"));
  find = reinterpret_cast<decltype(find)>(dlsym(handle, "gpuasync_check_find"));
  finishChecks = reinterpret_cast<decltype(finishChecks)>(
      dlsym(handle, "gpuasync_check_finish"));
  if (!start || !find || !finishChecks)
    return createStringError("--check: " + path +
                             " is not of this version of the project");
  sources.add(name, program);
  start(
      [](void *files, const char *text) {
        static_cast<SourceFiles *>(files)->print(errs(), text);
      },
      &sources);
  return Error::success();
}

bool Checker::finish() {
  if (!finishChecks)
    return false;
  uint64_t unprinted = 0, found = finishChecks(&unprinted);
  if (!found)
    return false;
  errs() << "gpu-runner: error: --check found " << found
         << (found == 1 ? " bug" : " bugs");
  if (unprinted)
    errs() << ", " << unprinted << " of them are not shown";
  errs() << "\n";
  return true;
}

} // namespace gpurunner

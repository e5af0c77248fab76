//===- OwnLibrary.cpp - Libraries that lie next to the runtime ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See OwnLibrary.h.
//===----------------------------------------------------------------------===//

#include "shim/base/OwnLibrary.h"
#include "shim/base/Uncancelled.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string>

using namespace gpuasync;

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

Status gpuasync::findInOwnLibrary(const char *name, const char *function,
                                  const char *purpose, void *&out) {
  const Uncancelled uncancelled;
  const std::string folder = ownFolder();
  const std::string file = std::string("libgpuasync_") + name + ".so";
  std::string tried;
  for (const std::string &each : {file, file + ".0"}) {
    if (void *library =
            dlopen((folder + each).c_str(), RTLD_NOW | RTLD_LOCAL)) {
      out = dlsym(library, function);
      if (out)
        return Status();
      appendItem(tried, each + " is of another version");
      continue;
    }
    const char *reason = dlerror();
    appendItem(tried, reason ? reason : each);
  }
  return makeStatus(GPUASYNC_UNAVAILABLE,
                    "%s needs %s next to the runtime library: %s", purpose,
                    file.c_str(), tried.c_str());
}

//===- Cache.cpp - Keys of runs in the disk cache -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Cache.h.
//===----------------------------------------------------------------------===//

#include "Cache.h"

using namespace llvm;

namespace gpurunner {

gpuasync::KeyBuilder jobKey(const CompileOptions &options, StringRef name,
                            StringRef input) {
  gpuasync::KeyBuilder key;
  key.add("tool", "gpu-runner " GPUASYNC_VERSION ", LLVM " LLVM_VERSION_STRING)
      .addCode();
  addMachine(key);
  // The name is in the line tables and in the messages of errors.
  key.add("file name", name).add("input", input);
  CompileOptions known = options;
  known.targets.clear();
  addOptions(key, known);
  return key;
}

} // namespace gpurunner

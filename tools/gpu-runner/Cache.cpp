//===- Cache.cpp - Keys of runs in the disk cache -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Cache.h.
//===----------------------------------------------------------------------===//

#include "Cache.h"

using namespace llvm;

namespace gpurunner {

gpuasync::KeyBuilder jobKey(const Options &options,
                            const CompileOptions &compile, StringRef name,
                            StringRef input) {
  gpuasync::KeyBuilder key;
  key.add("tool", "gpu-runner " GPUASYNC_VERSION ", LLVM " LLVM_VERSION_STRING)
      .addCode();
  addMachine(key);
  // The name is in the line tables and in the messages of errors.
  key.add("file name", name)
      .add("input", input)
      .add("entry point", options.entryPoint)
      .add("result", options.entryPointResult);
  for (unsigned number : options.residents)
    key.add("resident", number);
  addOptions(key, compile);
  return key;
}

} // namespace gpurunner

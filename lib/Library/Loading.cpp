//===- Loading.cpp - Programs of the disk cache, and linking --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Loading.h.
//===----------------------------------------------------------------------===//

#include "Library/Loading.h"

#include "gpuasync/Program.h"

using namespace llvm;
using namespace gpuexec;

gpuasync_digest gpuexec::keyOf(StringRef kind, StringRef text, StringRef name,
                               const LibraryOptions &options) {
  gpuasync::KeyBuilder key;
  key.add("tool", "libgpuasync, LLVM " LLVM_VERSION_STRING);
  static const char anchor = 0;
  for (const void *address : {static_cast<const void *>(&anchor),
                              reinterpret_cast<const void *>(&gpuasync_launch),
                              addressInVectorMath()}) {
    key.add("library", unsigned(address != nullptr));
    if (address)
      key.addCode(address);
  }
  addMachine(key);
  key.add("name", name).add("kind", kind).add("program", text);
  addOptions(key, options.compile);
  return key.key();
}

Expected<bool> gpuexec::loadProgram(const gpuasync_digest &key,
                                    const LibraryOptions &options,
                                    Libraries &libraries,
                                    gpuasync_executable &executable,
                                    CompiledProgram &compiled) {
  gpuasync::DiskEntry entry;
  if (!entry.lookup(gpuasync_disk_cache_default(), key))
    return false;
  std::optional<CompiledProgram> found = fromBytes(entry.bytes());
  if (!found || found->functions.empty())
    return false;
  if (Error error = libraries.open(options.compile.sharedLibs))
    return std::move(error);
  // The compiler can say which op it is that calls what does not exist.
  if (!LinkedProgram::canLink(*found->object, libraries))
    return false;
  mlir::MLIRContext types(mlir::MLIRContext::Threading::DISABLED);
  std::vector<Callable> callables;
  for (const CompiledFunction &function : found->functions) {
    std::optional<Signature> signature = parseSignature(types, function);
    if (!signature)
      return false;
    callables.push_back(describe(*signature, !executable.deviceArrays));
    if (function.schedule.empty())
      continue;
    callables.back().schedule =
        mlir::gpuasync::Schedule::fromTexts(function.schedule);
    if (!callables.back().schedule)
      return false;
  }
  executable.callables = std::move(callables);
  compiled = std::move(*found);
  return true;
}

Error gpuexec::linkProgram(const CompiledProgram &compiled,
                           const Libraries &libraries,
                           gpuasync_executable &executable) {
  if (Error error = executable.linked.link(*compiled.object, libraries))
    return error;
  for (Callable &callable : executable.callables) {
    Expected<PackedFunction> function = executable.linked.lookup(callable.name);
    if (!function)
      return function.takeError();
    callable.function = *function;
  }
  gpuasync::ContextScope scope(executable.device->context);
  if (!scope.status().ok())
    return createStringError(scope.status().message());
  executable.linked.construct();
  return Error::success();
}

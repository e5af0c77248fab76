//===- Cache.h - Compiled programs in the disk cache ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run keeps of its compile job, so that the next run of the same program
// needs neither MLIR nor LLVM's code generator.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_CACHE_H
#define GPUASYNC_TOOLS_GPURUNNER_CACHE_H

#include "Execution/Compile.h"
#include "Options.h"

#include "gpuasync/DiskCache.h"

#include <optional>
#include <string>
#include <vector>

namespace gpurunner {
using namespace gpuexec;

/// All that running needs.
struct CompiledProgram {
  std::vector<std::string> arguments; ///< types of the entry point, as text
  std::vector<std::string> results;
  std::vector<std::string> destinations; ///< of results, as numbers
  std::vector<std::string> sizeRules;    ///< five texts each
  std::string said; ///< the compiler's remarks and warnings
  std::unique_ptr<llvm::MemoryBuffer> object;
};

/// The program as bytes and back; nothing if they are not such bytes.
std::string toBytes(const CompiledProgram &program);
std::optional<CompiledProgram> fromBytes(llvm::StringRef bytes);

/// The types of a kept signature in a context that knows builtin types and
/// LLVM pointers; nothing if they need more.
std::optional<Signature> parseSignature(mlir::MLIRContext &context,
                                        llvm::StringRef name,
                                        const CompiledProgram &program);
/// Puts a signature's types into the program. False if parseSignature would not
/// get the same types back.
bool printSignature(const Signature &signature, CompiledProgram &program);

/// All that decides what a compile job makes, but for the targets; `name` and
/// `input` are the file's. To be called
/// before libraries are opened: it covers the code that is loaded.
gpuasync::KeyBuilder jobKey(const Options &options, llvm::StringRef name,
                            llvm::StringRef input);
/// The key of the job for these targets.
gpuasync_digest programKey(gpuasync::KeyBuilder job,
                           llvm::ArrayRef<std::string> targets);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_CACHE_H

//===- CompiledProgram.h - Compiled programs as bytes -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the result of a compile job in the disk cache, so that another process
// needs neither MLIR's passes nor LLVM's code generator for it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_EXECUTION_COMPILEDPROGRAM_H
#define GPUASYNC_LIB_EXECUTION_COMPILEDPROGRAM_H

#include "Execution/Compile.h"

#include "gpuasync/DiskCache.h"

#include <optional>
#include <string>
#include <vector>

namespace gpuexec {

/// A function of a compiled program, without types of MLIR.
struct CompiledFunction {
  std::string name;
  std::vector<std::string> arguments; ///< types, as text
  std::vector<std::string> results;
  std::vector<std::string> destinations; ///< of results, as numbers
  std::vector<std::string> takes;        ///< likewise
  std::vector<std::string> donated;      ///< numbers of arguments
  std::vector<std::string> sizeRules;    ///< five texts each
  std::vector<std::string> schedule;     ///< of Schedule; empty: none is kept
};

/// All that running needs.
struct CompiledProgram {
  std::vector<CompiledFunction> functions;
  std::string said; ///< the compiler's remarks and warnings
  std::unique_ptr<llvm::MemoryBuffer> object;
};

/// The program as bytes and back; nothing if they are not such bytes.
std::string toBytes(const CompiledProgram &program);
std::optional<CompiledProgram> fromBytes(llvm::StringRef bytes);

/// The signature of a kept function, with types in a context that knows builtin
/// types and LLVM pointers; nothing if they need more.
std::optional<Signature> parseSignature(mlir::MLIRContext &context,
                                        const CompiledFunction &function);
/// The function without a schedule; nothing if parseSignature would not get the
/// same types back.
std::optional<CompiledFunction> printSignature(const Signature &signature);

/// Adds what decides about machine code beside the program and the code of the
/// compiler: the processor, and the tools that make images of kernels.
void addMachine(gpuasync::KeyBuilder &key);
/// The key of the job for these targets.
gpuasync_digest programKey(gpuasync::KeyBuilder job,
                           llvm::ArrayRef<std::string> targets);

} // namespace gpuexec

#endif // GPUASYNC_LIB_EXECUTION_COMPILEDPROGRAM_H

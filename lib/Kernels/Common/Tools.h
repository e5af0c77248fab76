//===- Tools.h - programs that make files of kernels ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assemblers and linkers that are programs of their own.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_COMMON_TOOLS_H
#define GPUASYNC_LIB_KERNELS_COMMON_TOOLS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/LLVM.h"
#include <string>

namespace mlir::gpuasync {

/// Whether a file holds LLVM bitcode, as far as its beginning tells.
bool isBitcode(StringRef path);

struct Tool {
  StringRef path;
  StringRef name; ///< argv[0]: lld takes its flavour from it
  StringRef inputSuffix, outputSuffix;
  StringRef hint = "";   ///< for errors: what to do without it
  int64_t timeout = 600; ///< seconds until it is killed, 0 for never
  unsigned machine = 0;  ///< of ELF, for which it makes a file; 0: its input's
};

/// Runs `path options.. INPUT -o OUTPUT more..` on a file with `input` and
/// returns what the output holds, an ELF file. Errors quote the beginning of
/// what the program said. Thread-safe: no signals are used.
FailureOr<std::string> runTool(const Tool &tool, ArrayRef<StringRef> options,
                               StringRef input,
                               function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringRef> more = {});

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_TOOLS_H

//===- Emit.h - Programs that are written, not run --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --emit: an object, IR, a shared object with its header, or a program.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_EMIT_H
#define GPUASYNC_TOOLS_GPURUNNER_EMIT_H

#include "Options.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace gpurunner {

/// Compiles `input`, called `name` in messages, and writes what options.emit
/// says. After an error no file has changed.
llvm::Error emitProgram(const Options &options,
                        const gpuexec::CompileOptions &compile,
                        std::unique_ptr<llvm::MemoryBuffer> input,
                        llvm::StringRef name);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_EMIT_H

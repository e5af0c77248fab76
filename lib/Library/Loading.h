//===- Loading.h - Programs of the disk cache, and linking ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes compiled programs from the disk cache, and makes machine code callable.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_LOADING_H
#define GPUASYNC_LIB_LIBRARY_LOADING_H

#include "Execution/CompiledProgram.h"
#include "Library/Executable.h"
#include "Library/Options.h"

namespace gpuexec {

/// The key of a program in the disk cache. It covers the compiler's own code
/// and that of the libraries that decide about machine code: what else is
/// loaded differs between processes that embed the library.
gpuasync_digest keyOf(llvm::StringRef kind, llvm::StringRef text,
                      llvm::StringRef name, const LibraryOptions &options);

/// Takes the program from the cache. False if it has to be compiled.
llvm::Expected<bool> loadProgram(const gpuasync_digest &key,
                                 const LibraryOptions &options,
                                 Libraries &libraries,
                                 gpuasync_executable &executable,
                                 CompiledProgram &compiled);

/// Links the program, and runs its constructors in the device's context.
llvm::Error linkProgram(const CompiledProgram &compiled,
                        const Libraries &libraries,
                        gpuasync_executable &executable);

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_LOADING_H

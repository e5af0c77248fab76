//===- CFunctions.h - Public functions as C calls them ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs compiled ahead of time: their header, and in LLVM IR their functions
// over gpuasync_c_call. docs/how-to/AheadOfTime.md says what a function looks
// like.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_EXECUTION_CFUNCTIONS_H
#define GPUASYNC_LIB_EXECUTION_CFUNCTIONS_H

#include "Execution/Signature.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace gpuexec {

/// A function of the program by its name in C.
struct CFunction {
  std::string name;
  Signature signature;
};

/// The letters, digits and _ of a file's name, without folder, "lib" and what
/// follows a dot: "libf.so" is "f". Not empty, and no digit first.
std::string cIdentifier(llvm::StringRef file);

/// Whether a function of C and C++ can have this name.
bool isCName(llvm::StringRef name);

/// Why C cannot pass its arguments and results, "" if it can. The signature may
/// be that of before findDestinations.
std::string unsupportedInC(const CFunction &function);

/// The text of a header for `source`; `file` names it.
std::string makeCHeader(llvm::ArrayRef<CFunction> functions,
                        llvm::StringRef file, llvm::StringRef source);

/// Defines the functions, which call the packed wrappers. Functions of the
/// module that have such a name get another.
void defineCFunctions(llvm::Module &module,
                      llvm::ArrayRef<CFunction> functions);
/// Defines _gpuasync_c_main, which is this function.
void defineCMain(llvm::Module &module, const CFunction &function);

} // namespace gpuexec

#endif // GPUASYNC_LIB_EXECUTION_CFUNCTIONS_H

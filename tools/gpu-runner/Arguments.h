//===- Arguments.h - What a program is called with --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns --input into argument storage of the packed calling convention and
// results and written arguments into --output.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_ARGUMENTS_H
#define GPUASYNC_TOOLS_GPURUNNER_ARGUMENTS_H

#include "Values.h"

#include "mlir/IR/TypeRange.h"

namespace gpurunner {

/// The arguments and results of one function.
class CallFrame {
public:
  /// Makes the arguments of types `arguments` from the --input values. All
  /// that is wrong with them is found here.
  static llvm::Expected<CallFrame> create(llvm::StringRef function,
                                          mlir::TypeRange arguments,
                                          mlir::TypeRange results,
                                          llvm::ArrayRef<std::string> inputs);

  /// Tells the runtime where the arrays end, until they are forgotten.
  llvm::Error announce();
  void forget();
  /// Puts the inputs in place and clears the results.
  void reset();
  /// The packed list: arguments, results, and `status`.
  void **pack(void **status);
  /// Reads the results after a call.
  llvm::Error readResults();
  /// Writes what the --output values ask for; without any, prints the results.
  llvm::Error writeOutputs(llvm::ArrayRef<std::string> outputs,
                           llvm::raw_ostream &os);
  /// Checks an --output list before anything runs.
  llvm::Error checkOutputs(llvm::ArrayRef<std::string> outputs) const;
  /// Prints the only result as mlir-runner does: just the value.
  void printPlainResult(llvm::raw_ostream &os);

private:
  struct Target {
    bool isResult;
    unsigned index;
    llvm::StringRef where;
  };
  llvm::Expected<std::vector<Target>>
  resolveOutputs(llvm::ArrayRef<std::string> outputs) const;

  std::vector<Value> arguments;
  std::vector<Value> results;
  AlignedBytes resultStorage;
  std::vector<size_t> resultOffsets;
  std::vector<void *> packed;
};

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_ARGUMENTS_H

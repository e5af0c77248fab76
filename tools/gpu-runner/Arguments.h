//===- Arguments.h - What a program is called with --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns --input into argument storage of the packed calling convention, and
// takes results and written arguments to --output and --expect.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_ARGUMENTS_H
#define GPUASYNC_TOOLS_GPURUNNER_ARGUMENTS_H

#include "Execution/Signature.h"
#include "Files.h"
#include "Values.h"

namespace gpurunner {
using namespace gpuexec;

/// The arguments and results of one function.
class CallFrame {
public:
  /// Makes the arguments from the --input values. All that is wrong with them
  /// is found here.
  static llvm::Expected<CallFrame> create(const Signature &signature,
                                          llvm::ArrayRef<std::string> inputs);
  /// Says which results the compiled function takes as arguments, and makes
  /// their memory. Once.
  llvm::Error setDestinations(llvm::ArrayRef<int64_t> destinations);

  /// Tells the runtime where the arrays end, until they are forgotten.
  llvm::Error announce();
  void forget();
  /// Puts the inputs in place and clears the results, before each call.
  void reset();
  /// The packed list: arguments, results, and `status`.
  void **pack(void **status);
  /// Reads the results after a call.
  llvm::Error readResults();
  /// Frees the arrays that a call has returned and the caller owns.
  void freeResults();
  /// Writes what the --output values ask for; without any, prints the results.
  /// Adds files that still have to be committed.
  llvm::Error writeOutputs(llvm::ArrayRef<std::string> outputs,
                           llvm::raw_ostream &os, std::vector<NewFile> &files);
  /// Checks an --output list before anything runs.
  llvm::Error checkOutputs(llvm::ArrayRef<std::string> outputs) const;
  /// Reads what the --expect values name.
  llvm::Error setExpected(llvm::ArrayRef<std::string> expected);
  /// Compares and prints one line for each --expect. An error says which are
  /// further off than `tolerance`.
  llvm::Error checkExpected(double tolerance, llvm::raw_ostream &os);
  /// Prints the only result as mlir-runner does: just the value.
  void printPlainResult(llvm::raw_ostream &os);

private:
  /// Which value an --output or --expect is about.
  struct Target {
    bool isResult;
    unsigned index;
    llvm::StringRef where;
    std::string name() const {
      return (isResult ? "result[" : "arg[") + std::to_string(index) + "]";
    }
  };
  struct Expectation {
    Target target;
    Value reference;
  };
  /// Positions without a name count from the argument `first`.
  llvm::Expected<std::vector<Target>> resolve(llvm::StringRef option,
                                              llvm::ArrayRef<std::string> texts,
                                              size_t first) const;
  llvm::Expected<std::vector<Target>>
  resolveOutputs(llvm::ArrayRef<std::string> outputs) const;
  Value &valueOf(const Target &target) {
    return (target.isResult ? results : arguments)[target.index];
  }
  /// Calls it with each array that the program gets.
  void forEachArray(llvm::function_ref<void(Value &)> visit);

  std::vector<Value> arguments;
  std::vector<Value> results;
  AlignedBytes resultStorage;
  CallLayout layout;
  /// For each result the number of the argument that is its memory, or -1.
  llvm::SmallVector<int64_t> destinations;
  std::vector<Expectation> expectations;
  bool called = false;
  std::vector<void *> packed;
};

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_ARGUMENTS_H

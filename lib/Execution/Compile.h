//===- Compile.h - From an MLIR file to machine code ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses a file of any form, takes it through the pipeline and LLVM, and makes
// an object file or writes what --emit asks for.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_EXECUTION_COMPILE_H
#define GPUASYNC_LIB_EXECUTION_COMPILE_H

#include "Execution/CFunctions.h"
#include "Execution/CompileOptions.h"
#include "Execution/Signature.h"
#include "Execution/ThreadPool.h"
#include "Execution/Timing.h"

#include "GPUAsync/Analysis/Schedule/Schedule.h"
#include "GPUAsync/Conversion/LoweredNames.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace gpuexec {

/// An error that has been printed already, by MLIR's diagnostics.
llvm::Error reportedError();

using mlir::gpuasync::packedPrefix;
using mlir::gpuasync::programSymbol;
/// Functions without arguments that run the program's global constructors and
/// destructors, where it has any.
constexpr llvm::StringLiteral constructorsSymbol = "_gpuasync_constructors";
constexpr llvm::StringLiteral destructorsSymbol = "_gpuasync_destructors";

class Libraries;
class DiagnosticsRecord;

class Program {
public:
  /// Its diagnostics are printed, if `print` says so, and kept.
  explicit Program(bool print);
  ~Program();

  /// Parses the text or bytecode of a file of that name.
  llvm::Error parse(std::unique_ptr<llvm::MemoryBuffer> input,
                    llvm::StringRef name);
  /// The function to call, as the file has it; an error that lists those that
  /// exist. `resultName` is --entry-point-result, which a lowered file needs.
  llvm::Expected<Signature> entryPoint(llvm::StringRef name,
                                       llvm::StringRef resultName);
  /// An error if results take the memory of donated arguments: for callers that
  /// have memory of its own for each result.
  static llvm::Error refuseTaken(const Signature &entry);
  /// Gives these arguments of the function the attribute gpu_async.donated.
  llvm::Error markDonated(llvm::StringRef name,
                          llvm::ArrayRef<unsigned> numbers);
  /// Gives these arguments of the function the attribute gpu_async.resident.
  llvm::Error markResidents(llvm::StringRef name,
                            llvm::ArrayRef<unsigned> numbers);
  /// To the stream form through the pipeline, unless the file is further. The
  /// targets do not matter yet.
  llvm::Error schedule(const CompileOptions &options);
  /// What a function of the stream form does; nothing of a lowered file.
  std::optional<mlir::gpuasync::Schedule> scheduleOf(llvm::StringRef function);
  /// Sets the destinations of the entry point's results, and the stream that it
  /// takes, as the function in the stream form has them.
  llvm::Error findDestinations(Signature &entry);
  /// From there to LLVM dialect.
  llvm::Error lower(const CompileOptions &options);
  /// The names of the public functions that have a body.
  std::vector<std::string> entryPoints();
  /// To optimised LLVM IR: of what `entries` reach, of everything if there are
  /// none.
  llvm::Error translate(const CompileOptions &options,
                        llvm::ArrayRef<Signature> entries);
  /// To optimised LLVM IR of what these functions reach, which C calls by their
  /// names. With `isMain`, of the one function as that of a program's main.
  llvm::Error translateForC(const CompileOptions &options,
                            llvm::ArrayRef<CFunction> functions, bool isMain);
  /// Finds functions that are used and defined nowhere, after translate.
  llvm::Error checkSymbols(Libraries &libraries);
  /// The object file, after translate.
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> makeObject();
  /// Writes the program, not linked: MLIR after lower, the others after
  /// translate.
  llvm::Error emit(Emit kind, llvm::raw_ostream &os);
  /// An error at a function of the file, or at the file.
  mlir::InFlightDiagnostic emitError(llvm::StringRef function = "");

  /// The times of the stages so far. Its mode is set before the first of them.
  Timing timing;

  /// The diagnostics so far.
  std::string said();
  /// Whether the kernels' targets name files that are linked into them.
  bool linksFiles();
  /// Whether kernels can be made of a function without any.
  bool needsOffload();
  /// Whether the file is in LLVM dialect.
  bool isLowered();
  /// Returns a variable of kernels, which ranks that are threads would share,
  /// or null.
  mlir::Operation *findKernelVariable();
  /// Refuses such variables.
  llvm::Error refuseKernelVariables();

private:
  void explainDialect();
  llvm::Error refuseNames();
  llvm::Error refuseUpstreamLaunches();
  bool isStatusFunction(mlir::FunctionOpInterface function);
  llvm::Error runStages(const CompileOptions &options,
                        llvm::ArrayRef<mlir::gpuasync::Form> forms);
  llvm::Error makePackedWrapper(const Signature &entry);
  /// Makes `machine`, once.
  llvm::Error makeMachine(const CompileOptions &options);
  llvm::Error makeModule(const CompileOptions &options);
  void optimize(const CompileOptions &options);

  mlir::MLIRContext *context() { return mlirContext.get(); }

  llvm::SourceMgr sources;
  ThreadPool threads; ///< of the context
  std::unique_ptr<mlir::MLIRContext> mlirContext;
  std::unique_ptr<DiagnosticsRecord> record;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string fileName;
  bool lowered = false;
  /// Whether MLIR has printed an error.
  bool hasReported = false;

  std::unique_ptr<llvm::LLVMContext> llvmContext;
  std::unique_ptr<llvm::Module> llvmModule;
  std::unique_ptr<llvm::TargetMachine> machine;
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_EXECUTION_COMPILE_H

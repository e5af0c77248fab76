//===- Compile.h - From an MLIR file to machine code ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses a file of any form, takes it through the pipeline and LLVM, and either
// writes the result or links it into this process.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_COMPILE_H
#define GPUASYNC_TOOLS_GPURUNNER_COMPILE_H

#include "gpuasync/RuntimeABI.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
namespace orc {
class LLJIT;
}
} // namespace llvm

namespace gpurunner {

/// An error that has been printed already, by MLIR's diagnostics.
llvm::Error reportedError();

struct CompileOptions {
  std::vector<std::string> targets;
  std::vector<std::string> printIRAfter;
  std::optional<unsigned> maxStreams;
  unsigned optLevel = 3;
  /// For this machine and process; else for any machine of its kind, in code
  /// that releases the program by itself.
  bool jit = true;
};

/// A public function of a program.
struct Signature {
  std::string name;
  llvm::SmallVector<mlir::Type> arguments;
  llvm::SmallVector<mlir::Type> results;
};

/// void (void **args), the packed calling convention of docs/ABI.md.
using PackedFunction = void (*)(void **);

class Program {
public:
  Program();
  ~Program();

  /// Parses `file`, "-" for the standard input.
  llvm::Error parse(llvm::StringRef file);
  /// The function to call; an error that lists those that exist. `resultName`
  /// is
  /// --entry-point-result, which a lowered file needs.
  llvm::Expected<Signature> entryPoint(llvm::StringRef name,
                                       llvm::StringRef resultName);
  /// To LLVM dialect through the pipeline, unless the file is that already.
  llvm::Error lower(const CompileOptions &options);
  /// To optimised LLVM IR: of what `entry` reaches, of everything if it is
  /// null.
  llvm::Error translate(const CompileOptions &options, const Signature *entry);
  /// Writes the program: "mlir" after lower, "llvm" and "object" after
  /// translate.
  llvm::Error emit(llvm::StringRef kind, llvm::StringRef file);
  /// Links the program into this process and runs its constructors.
  llvm::Expected<PackedFunction> link(const Signature &entry,
                                      llvm::ArrayRef<std::string> sharedLibs);
  /// Runs the program's destructors, which release it. Its code stays.
  llvm::Error unlink();

private:
  bool isLowered();
  bool isStatusFunction(mlir::FunctionOpInterface function);
  llvm::Error makePackedWrapper(const Signature &entry);
  llvm::Error checkSymbols(llvm::ArrayRef<void *> libraries);

  mlir::MLIRContext *context() { return mlirContext.get(); }

  llvm::SourceMgr sources;
  std::unique_ptr<mlir::MLIRContext> mlirContext;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string fileName;
  bool lowered = false;
  /// Whether MLIR has printed an error.
  bool hasReported = false;

  std::unique_ptr<llvm::LLVMContext> llvmContext;
  std::unique_ptr<llvm::Module> llvmModule;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  const gpuasync_program *program = nullptr;
};

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_COMPILE_H

//===- Serialize.cpp - kernels through LLVM ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chips that LLVM has code for, and code, with LLVM's errors as diagnostics.
//===----------------------------------------------------------------------===//

#include "GPULowering.h"
#include "LLVMThread.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Threading.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <atomic>

using namespace mlir;
using namespace mlir::gpuasync;

/// An error about `name`. It lists the known names, the nearest ones first, or
/// the nearest ones only.
static LogicalResult reportUnknown(StringRef what, StringRef name,
                                   StringRef targetName,
                                   SmallVector<StringRef> known, bool listsAll,
                                   EmitErrorFn emitError) {
  llvm::sort(known, [&](StringRef a, StringRef b) {
    return std::pair(name.edit_distance(a), a) <
           std::pair(name.edit_distance(b), b);
  });
  InFlightDiagnostic diagnostic = emitError();
  diagnostic << "unknown " << what << " '" << name << "' for target "
             << targetName << "; LLVM " << LLVM_VERSION_STRING << " knows "
             << known.size() << ", the nearest are ";
  llvm::interleaveComma(ArrayRef(known).take_front(4), diagnostic);
  if (listsAll && known.size() > 4) {
    diagnostic << "; the others are ";
    llvm::interleaveComma(ArrayRef(known).drop_front(4), diagnostic);
  }
  return diagnostic;
}

LogicalResult gpuasync::checkChip(StringRef chip, StringRef features,
                                  const DeviceKind &kind, StringRef tripleText,
                                  EmitErrorFn emitError) {
  llvm::Triple triple(tripleText);
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return emitError() << "this LLVM has no code generator for " << kind.target
                       << ": " << error;
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  SmallVector<StringRef> chips, known;
  for (const auto &entry : info->getAllProcessorDescriptions())
    if (StringRef(entry.Key).starts_with(kind.chipPrefix()) &&
        !StringRef(entry.Key).contains("generic"))
      chips.push_back(entry.Key);
  if (!llvm::is_contained(chips, chip))
    return reportUnknown("chip", chip, kind.target, chips, /*listsAll=*/true,
                         emitError);
  for (const auto &entry : info->getAllProcessorFeatures())
    known.push_back(entry.Key);
  SmallVector<StringRef> wanted;
  features.split(wanted, ',', -1, /*KeepEmpty=*/false);
  for (StringRef feature : wanted) {
    StringRef name = feature.trim();
    if (!name.consume_front("+") && !name.consume_front("-"))
      return emitError() << "feature '" << feature << "' has no + or -";
    if (!llvm::is_contained(known, name))
      return reportUnknown("feature", name, kind.target, known,
                           /*listsAll=*/false, emitError);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// The function that an error is about.
static std::string getFunction(const llvm::DiagnosticInfo &info) {
  switch (info.getKind()) {
  case llvm::DK_GenericWithLoc:
  case llvm::DK_LegalizationFailure:
  case llvm::DK_RegAllocFailure:
  case llvm::DK_ResourceLimit:
  case llvm::DK_StackSize:
  case llvm::DK_Unsupported:
    return static_cast<const llvm::DiagnosticInfoWithLocationBase &>(info)
        .getFunction()
        .getName()
        .str();
  default:
    return getFunctionOfLLVM();
  }
}

namespace {
/// Collects errors, and lets warnings and remarks go.
struct ErrorCollector : llvm::DiagnosticHandler {
  explicit ErrorCollector(SmallVector<FatalError> &problems)
      : problems(problems) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    StringRef reason = StringRef(text).trim();
    // Kernels have no lines.
    if (reason.consume_front("<unknown>:0:"))
      reason = reason.drop_while([](char c) { return llvm::isDigit(c); })
                   .ltrim(": ");
    problems.push_back({reason.str(), getFunction(info)});
    return true;
  }
  SmallVector<FatalError> &problems;
};
} // namespace

void CodeGenerator::watch(llvm::Module &llvmModule) {
  llvmModule.getContext().setDiagnosticHandler(
      std::make_unique<ErrorCollector>(problems));
}

void CodeGenerator::alignVariables(llvm::Module &llvmModule) {
  const llvm::DataLayout &layout = llvmModule.getDataLayout();
  for (llvm::GlobalVariable &variable : llvmModule.globals()) {
    if (variable.isDeclaration() || variable.getAlign())
      continue;
    llvm::Align alignment = layout.getPreferredAlign(&variable);
    if (variable.getAddressSpace() == workgroupSpace)
      alignment = std::max(
          alignment, llvm::Align(getWorkgroupAlignment(
                         layout.getTypeAllocSize(variable.getValueType()))));
    variable.setAlignment(alignment);
  }
}

FailureOr<SmallVector<char, 0>>
CodeGenerator::emit(llvm::Module &llvmModule, llvm::TargetMachine &machine) {
  // After optimisation a library's own questions about the target
  // (__nvvm_reflect) have been answered.
  for (llvm::Function &function : llvmModule)
    if (function.isDeclaration() && !function.use_empty() &&
        !vendor.isInDriver(function.getName()))
      problems.push_back(
          {"nothing defines the function " + function.getName().str(),
           function.getName().str()});
  SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, fileType)) {
    problems.push_back({"it cannot write this kind of file", ""});
    return failure();
  }
  passes.run(llvmModule);
  return code;
}

FailureOr<std::string> CodeGenerator::run(
    function_ref<std::optional<SmallVector<char, 0>>()> serialize,
    function_ref<InFlightDiagnostic(Location)> emitError) {
  std::optional<SmallVector<char, 0>> code;
  std::optional<FatalError> fatal;
  SmallVector<std::pair<Location, std::string>> reported;
  {
    // Those of the thread alone: others may use the context.
    std::atomic<uint64_t> thread = 0;
    ScopedDiagnosticHandler handler(
        module.getContext(), [&](Diagnostic &diagnostic) {
          if (llvm::get_threadid() != thread)
            return failure();
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            reported.emplace_back(diagnostic.getLocation(), diagnostic.str());
          return success();
        });
    fatal = runLLVM([&] {
      thread = llvm::get_threadid();
      code = serialize();
    });
  }
  if (fatal)
    problems.push_back(*fatal);
  if (problems.empty() && code && !code->empty())
    return std::string(code->begin(), code->end());
  for (const FatalError &problem : problems) {
    Operation *function = module.lookupSymbol(problem.function);
    InFlightDiagnostic diagnostic =
        emitError(function ? function->getLoc() : module.getLoc());
    diagnostic << "LLVM cannot generate code";
    if (function)
      diagnostic << " for @" << problem.function;
    diagnostic << ": " << problem.reason;
  }
  // Upstream complains about a toolkit without libdevice even where none is
  // needed, so its errors count only if there is no result.
  if (problems.empty()) {
    if (reported.empty())
      return emitError(module.getLoc()) << "LLVM generated no code";
    InFlightDiagnostic diagnostic = emitError(reported.front().first);
    diagnostic << "LLVM cannot generate code: " << reported.front().second;
    for (auto &[place, text] : ArrayRef(reported).drop_front())
      diagnostic.attachNote(place) << text;
    return diagnostic;
  }
  return failure();
}

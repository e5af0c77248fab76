//===- KernelSerialize.cpp - kernels through LLVM -----------------*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From LLVM dialect to assembly by a target attribute, with LLVM's errors as
// diagnostics; what the GPU targets do alike before that.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;
using namespace mlir::gpuasync;

LogicalResult
gpuasync::checkChip(StringRef chip, StringRef targetName, StringRef tripleText,
                    function_ref<InFlightDiagnostic()> emitError) {
  llvm::Triple triple(tripleText);
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return emitError() << "this LLVM has no code generator for " << targetName
                       << ": " << error;
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  SmallVector<StringRef> known;
  for (const llvm::SubtargetSubTypeKV &entry :
       info->getAllProcessorDescriptions())
    known.push_back(entry.Key);
  if (llvm::is_contained(known, chip))
    return success();

  llvm::sort(known, [&](StringRef a, StringRef b) {
    return std::pair(chip.edit_distance(a), a) <
           std::pair(chip.edit_distance(b), b);
  });
  InFlightDiagnostic diagnostic = emitError();
  diagnostic << "unknown chip '" << chip << "' for target " << targetName
             << "; LLVM " << LLVM_VERSION_STRING << " knows " << known.size()
             << ", the nearest are ";
  llvm::interleaveComma(ArrayRef(known).take_front(4), diagnostic);
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Kernels in LLVM dialect
//===----------------------------------------------------------------------===//

void gpuasync::passStructsAsIntegers(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal() || !isKernel(function))
      continue;
    Block &entry = function.getBody().front();
    SmallVector<Type> types(function.getFunctionType().getParams());
    bool changed = false;
    for (auto [i, type] : llvm::enumerate(types)) {
      if (!isa<LLVM::LLVMStructType, LLVM::LLVMArrayType>(type))
        continue;
      int64_t bits = DataLayout().getTypeSizeInBits(type);
      auto integer = IntegerType::get(context, bits);
      BlockArgument argument = entry.getArgument(i);
      OpBuilder builder = OpBuilder::atBlockBegin(&entry);
      Location loc = argument.getLoc();
      Value one = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                           builder.getI32IntegerAttr(1));
      Value slot = LLVM::AllocaOp::create(
          builder, loc, LLVM::LLVMPointerType::get(context), integer, one);
      auto store = LLVM::StoreOp::create(builder, loc, argument, slot);
      Value value = LLVM::LoadOp::create(builder, loc, type, slot);
      argument.replaceAllUsesExcept(value, store);
      argument.setType(integer);
      types[i] = integer;
      changed = true;
    }
    if (changed)
      function.setFunctionType(LLVM::LLVMFunctionType::get(
          function.getFunctionType().getReturnType(), types));
  }
}

void gpuasync::dropInterfaceFunctions(gpu::GPUModuleOp module) {
  for (auto interface :
       llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>())) {
    StringRef name = interface.getName();
    if (!name.consume_front("_mlir_ciface_"))
      continue;
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function)
      continue;
    if (interface.isExternal()) {
      function.getBody().dropAllReferences();
      function.getBody().getBlocks().clear();
      function.setLinkage(LLVM::Linkage::External);
    }
    interface.erase();
  }
}

void gpuasync::callIntrinsic(LLVM::CallOp call, StringRef name) {
  Type type = call.getResult().getType();
  OpBuilder builder(call);
  Location loc = call.getLoc();
  OperandRange args = call.getArgOperands();
  Value result;
  if (name == "rsqrt") {
    Value one = LLVM::ConstantOp::create(builder, loc, type,
                                         builder.getFloatAttr(type, 1.0));
    Value root = LLVM::SqrtOp::create(builder, loc, type, args[0]);
    result = LLVM::FDivOp::create(builder, loc, one, root);
  } else if (name == "fmod") {
    result = LLVM::FRemOp::create(builder, loc, args[0], args[1]);
  } else {
    StringRef intrinsic =
        llvm::StringSwitch<StringRef>(name)
            .Case("fabs", LLVM::FAbsOp::getOperationName())
            .Case("ceil", LLVM::FCeilOp::getOperationName())
            .Case("floor", LLVM::FFloorOp::getOperationName())
            .Case("trunc", LLVM::FTruncOp::getOperationName())
            .Case("sqrt", LLVM::SqrtOp::getOperationName())
            .Case("round", LLVM::RoundOp::getOperationName())
            .Case("rint", LLVM::RoundEvenOp::getOperationName())
            .Case("fma", LLVM::FMAOp::getOperationName())
            .Case("copysign", LLVM::CopySignOp::getOperationName())
            .Case("fmin", LLVM::MinNumOp::getOperationName())
            .Case("fmax", LLVM::MaxNumOp::getOperationName())
            .Default("");
    if (intrinsic.empty())
      return;
    OperationState state(loc, intrinsic, args, type);
    result = builder.create(state)->getResult(0);
  }
  call.getResult().replaceAllUsesWith(result);
  call.erase();
}

//===----------------------------------------------------------------------===//
// LLVM's fatal errors
//===----------------------------------------------------------------------===//

namespace {
/// Runs LLVM code whose fatal errors would end the process, and returns them as
/// text instead. What the code held when it failed is leaked. The handler is
/// the process's, so it is installed while any thread is in here; errors of
/// other threads go on as they would without us.
class FatalErrorScope {
public:
  FatalErrorScope() {
    std::lock_guard<std::mutex> lock(mutex);
    if (users++ == 0) {
      llvm::CrashRecoveryContext::Enable();
      llvm::install_fatal_error_handler(handle, nullptr);
    }
  }
  ~FatalErrorScope() {
    std::lock_guard<std::mutex> lock(mutex);
    if (--users == 0) {
      llvm::remove_fatal_error_handler();
      llvm::CrashRecoveryContext::Disable();
    }
  }
  /// Returns false if `work` did not end.
  bool run(function_ref<void()> work, std::string &message) {
    current = &message;
    llvm::CrashRecoveryContext recovery;
    bool ended = recovery.RunSafely(work);
    current = nullptr;
    if (!ended && message.empty())
      message = "LLVM's code generator crashed";
    return ended;
  }

private:
  static void handle(void *, const char *reason, bool) {
    auto *recovery = llvm::CrashRecoveryContext::GetCurrent();
    if (!current || !recovery) {
      llvm::errs() << "LLVM ERROR: " << reason << "\n";
      return;
    }
    *current = reason;
    recovery->HandleExit(1);
  }

  static std::mutex mutex;
  static unsigned users;
  static thread_local std::string *current;
};
std::mutex FatalErrorScope::mutex;
unsigned FatalErrorScope::users = 0;
thread_local std::string *FatalErrorScope::current = nullptr;
} // namespace

//===----------------------------------------------------------------------===//
// To assembly
//===----------------------------------------------------------------------===//

FailureOr<std::string>
gpuasync::serializeToAssembly(MLIRContext *context, StringRef toolkit,
                              function_ref<bool(StringRef)> isDefinedByDriver,
                              SerializeFn serialize,
                              function_ref<InFlightDiagnostic()> error) {
  SmallVector<std::string> problems;
  struct Diagnostics : llvm::DiagnosticHandler {
    explicit Diagnostics(SmallVector<std::string> &problems)
        : problems(problems) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
      if (info.getSeverity() != llvm::DS_Error)
        return true;
      std::string text;
      llvm::raw_string_ostream stream(text);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      problems.push_back(text);
      return true;
    }
    SmallVector<std::string> &problems;
  };
  auto watch = [&](llvm::Module &llvmModule) {
    llvmModule.getContext().setDiagnosticHandler(
        std::make_unique<Diagnostics>(problems));
  };
  auto checkDefined = [&](llvm::Module &llvmModule) {
    for (llvm::Function &function : llvmModule)
      if (function.isDeclaration() && !function.use_empty() &&
          !isDefinedByDriver(function.getName()))
        problems.push_back("nothing defines the function " +
                           function.getName().str());
  };
  gpu::TargetOptions targetOptions(
      toolkit, /*librariesToLink=*/{}, /*cmdOptions=*/"", /*elfSection=*/"",
      gpu::CompilationTarget::Assembly, /*getSymbolTableCallback=*/{}, watch,
      /*linkedLlvmIRCallback=*/{}, checkDefined);

  std::optional<SmallVector<char, 0>> object;
  std::string fatal;
  bool ended;
  SmallVector<std::string> reported;
  {
    // Upstream complains about a toolkit without libdevice even where none is
    // needed, so its errors count only if there is no result.
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        reported.push_back(diagnostic.str());
      return success();
    });
    FatalErrorScope scope;
    ended = scope.run([&] { object = serialize(targetOptions); }, fatal);
  }
  if (!ended)
    problems.push_back(fatal);
  else if (!object || object->empty())
    problems.append(reported);
  if (!ended || !problems.empty() || !object || object->empty()) {
    InFlightDiagnostic diagnostic = error();
    diagnostic << "LLVM cannot generate code: ";
    llvm::interleave(
        problems, [&](StringRef text) { diagnostic << text.trim(); },
        [&] { diagnostic << "; "; });
    return diagnostic;
  }
  StringRef text(object->data(), object->size());
  return text.rtrim('\0').str();
}

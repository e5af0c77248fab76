//===- Compile.cpp - From an MLIR file to machine code --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR through gpu-async-pipeline, LLVM IR through LLVM's own pipeline for this
// processor, one object file.
//===----------------------------------------------------------------------===//

#include "Execution/Compile.h"
#include "Execution/HostAccesses.h"
#include "Execution/Link.h"

#include "GPUAsync/Analysis/Sizes/SizeChecks.h"
#include "GPUAsync/IR/GPUAsyncDialect.h"
#include "GPUAsync/IR/Nesting.h"
#include "GPUAsync/InitAll.h"
#include "GPUAsync/Kernels/CPU/Code.h"
#include "GPUAsync/Kernels/CPU/Object.h"
#include "GPUAsync/Kernels/Common/DataLayout.h"
#include "GPUAsync/Kernels/Passes.h"
#include "GPUAsync/Offload/Offload.h"
#include "GPUAsync/Pipelines/Pipelines.h"
#include "GPUAsync/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Internalize.h"

#include <map>

using namespace llvm;
using mlir::gpuasync::Form;
using mlir::gpuasync::getWord;

namespace gpuexec {

Error reportedError() { return createStringError(""); }

/// Writes diagnostics a second time, to a string. It lives from before the
/// handler that prints, and so is never asked by MLIR itself.
class DiagnosticsRecord : public mlir::SourceMgrDiagnosticHandler {
public:
  DiagnosticsRecord(SourceMgr &sources, mlir::MLIRContext *context)
      : mlir::SourceMgrDiagnosticHandler(sources, context, os) {}
  using mlir::SourceMgrDiagnosticHandler::emitDiagnostic;
  std::string text;

private:
  raw_string_ostream os{text};
};

/// MLIR's handlers would name the file "<unknown>:0". An option may be at
/// fault, or a program that has no places.
static std::string textWithoutPlace(mlir::Diagnostic &diagnostic) {
  using mlir::DiagnosticSeverity;
  std::string text;
  raw_string_ostream os(text);
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error:
    os << "error: ";
    break;
  case DiagnosticSeverity::Warning:
    os << "warning: ";
    break;
  case DiagnosticSeverity::Remark:
    os << "remark: ";
    break;
  case DiagnosticSeverity::Note:
    os << "note: ";
    break;
  }
  os << diagnostic << "\n";
  return text;
}

Program::Program(bool print) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  mlir::gpuasync::registerAllGPUAsyncDialects(registry);
  mlirContext = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  mlirContext->setThreadPool(threads);
  // The message and the source line are enough.
  mlirContext->printOpOnDiagnostic(false);
  record = std::make_unique<DiagnosticsRecord>(sources, mlirContext.get());
  if (print)
    diagnostics = std::make_unique<mlir::SourceMgrDiagnosticHandler>(
        sources, mlirContext.get());
  // The newest handler is asked first; this one passes everything on.
  mlirContext->getDiagEngine().registerHandler(
      [this, print](mlir::Diagnostic &diagnostic) {
        hasReported |=
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        if (mlir::isa<mlir::UnknownLoc>(diagnostic.getLocation()) &&
            diagnostic.getNotes().empty()) {
          std::string text = textWithoutPlace(diagnostic);
          record->text += text;
          if (print)
            errs() << text;
          return mlir::success();
        }
        record->emitDiagnostic(diagnostic);
        return mlir::success(!print);
      });
}

Program::~Program() = default;

std::string Program::said() { return record->text; }

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

Error Program::parse(std::unique_ptr<MemoryBuffer> input, StringRef name) {
  Timing::Stage stage(timing, "parsing");
  if (Error error = timing.checkStopped())
    return error;
  fileName = name.str();
  if (std::optional<mlir::gpuasync::DeepNesting> deep =
          mlir::gpuasync::findDeepNesting(input->getBuffer())) {
    mlir::emitError(mlir::FileLineColLoc::get(mlirContext.get(), fileName,
                                              deep->line, deep->column))
        << deep->message;
    return reportedError();
  }
  sources.AddNewSourceBuffer(std::move(input), SMLoc());
  module = mlir::parseSourceFile<mlir::ModuleOp>(
      sources, mlir::ParserConfig(mlirContext.get()));
  if (!module) {
    explainDialect();
    return reportedError();
  }
  lowered = isLowered();
  if (Error error = refuseNames())
    return error;
  return refuseUpstreamLaunches();
}

/// What a front end writes before its own passes have run.
void Program::explainDialect() {
  StringRef how, text = record->text;
  for (StringRef dialect : {"stablehlo", "chlo", "vhlo", "mhlo"})
    if (text.contains("Dialect `" + dialect.str() + "' not found") ||
        text.contains("!\"" + dialect.str() + "\"<"))
      how =
          "StableHLO: python3 -m gpu_async.frontends.lower_jax, or from Python "
          "gpu_async.jit, make linalg of what JAX traces";
  for (StringRef dialect : {"torch", "torch_c", "tm_tensor"})
    if (text.contains("Dialect `" + dialect.str() + "' not found") ||
        text.contains("!\"" + dialect.str() + "\"<"))
      how = "the torch dialect: python3 -m gpu_async.frontends.lower_torch, or "
            "from Python gpu_async.from_torch, make linalg of it";
  if (!how.empty())
    mlir::emitError(
        mlir::FileLineColLoc::get(mlirContext.get(), fileName, 1, 1))
        << "the program is in " << how << " (docs/reference/FrontEnds.md)";
}

/// Names that end at a null byte wherever they are looked up.
Error Program::refuseNames() {
  for (auto function : module->getOps<mlir::FunctionOpInterface>())
    if (function.isPublic() && function.getName().contains('\0')) {
      function.emitError("the name of a public function has a null byte, "
                         "which no symbol of machine code can have: rename "
                         "it, or make it private");
      return reportedError();
    }
  return Error::success();
}

/// What gpu-to-llvm leaves has streams of upstream's wrappers, which no pass of
/// ours could order.
Error Program::refuseUpstreamLaunches() {
  bool wrapped =
      llvm::any_of(module->getOps<mlir::LLVM::LLVMFuncOp>(), [](auto function) {
        return function.getName().starts_with("mgpu");
      });
  if (!wrapped)
    return Error::success();
  mlir::WalkResult found = module->walk([](mlir::gpu::LaunchFuncOp launch) {
    launch.emitError("the file was lowered by upstream's gpu-to-llvm, whose "
                     "launches only upstream's translation lowers: run the "
                     "file from before that pass, or this one with mlir-runner "
                     "and libgpuasync_mgpu.so");
    return mlir::WalkResult::interrupt();
  });
  return found.wasInterrupted() ? reportedError() : Error::success();
}

mlir::Operation *Program::findKernelVariable() {
  constexpr unsigned ofBlock = 3; // memory of one block, not of the device
  const auto isOfBlock = [](mlir::Attribute space) {
    if (auto named = mlir::dyn_cast_or_null<mlir::gpu::AddressSpaceAttr>(space))
      return named.getValue() == mlir::gpu::AddressSpace::Workgroup;
    auto number = mlir::dyn_cast_or_null<mlir::IntegerAttr>(space);
    return number && number.getInt() == ofBlock;
  };
  mlir::Operation *found = nullptr;
  module->walk([&](mlir::gpu::GPUModuleOp kernels) {
    for (mlir::Operation &op : *kernels.getBody()) {
      bool isVariable = false;
      if (auto global = mlir::dyn_cast<mlir::LLVM::GlobalOp>(op))
        isVariable = !global.getConstant() && global.getAddrSpace() != ofBlock;
      if (auto global = mlir::dyn_cast<mlir::memref::GlobalOp>(op))
        isVariable = !global.getConstant() &&
                     !isOfBlock(global.getType().getMemorySpace());
      if (!isVariable)
        continue;
      found = &op;
      return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return found;
}

Error Program::refuseKernelVariables() {
  mlir::Operation *found = findKernelVariable();
  if (!found)
    return Error::success();
  found->emitOpError("is a variable of kernels, which all ranks of this "
                     "process would share: keep its value in memory that the "
                     "program allocates, or start ranks as processes (mpirun)");
  return reportedError();
}

/// Whether nothing but LLVM dialect is left.
bool Program::isLowered() {
  return !module
              ->walk([](mlir::Operation *op) {
                return mlir::isa<mlir::ModuleOp>(op) ||
                               mlir::isa_and_nonnull<mlir::LLVM::LLVMDialect>(
                                   op->getDialect())
                           ? mlir::WalkResult::advance()
                           : mlir::WalkResult::interrupt();
              })
              .wasInterrupted();
}

bool Program::needsOffload() { return mlir::gpuasync::needsOffload(*module); }

bool Program::linksFiles() {
  bool links = false;
  mlir::AttrTypeWalker walker;
  walker.addWalk([&](mlir::NVVM::NVVMTargetAttr target) {
    links |= target.getLink() && !target.getLink().empty();
  });
  walker.addWalk([&](mlir::ROCDL::ROCDLTargetAttr target) {
    links |= target.getLink() && !target.getLink().empty();
  });
  module->walk(
      [&](mlir::Operation *op) { walker.walk(op->getAttrDictionary()); });
  return links;
}

/// Whether a function of a lowered file returns a status in place of results,
/// as this pipeline makes it.
bool Program::isStatusFunction(mlir::FunctionOpInterface function) {
  return lowered && function.getNumResults() == 1 &&
         mlir::isa<mlir::LLVM::LLVMPointerType>(function.getResultTypes()[0]) &&
         module->lookupSymbol((packedPrefix + function.getName()).str());
}

/// The lowered function takes a pointer to the result as its last argument; its
/// type is lost and comes from --entry-point-result.
static void recoverResult(Signature &signature, StringRef resultName) {
  mlir::MLIRContext *context = signature.results.pop_back_val().getContext();
  mlir::Builder builder(context);
  mlir::Type type = StringSwitch<mlir::Type>(resultName)
                        .Case("i32", builder.getI32Type())
                        .Case("i64", builder.getI64Type())
                        .Case("f32", builder.getF32Type())
                        .Case("f64", builder.getF64Type())
                        .Default({});
  if (type && !signature.arguments.empty()) {
    signature.arguments.pop_back();
    signature.results.push_back(type);
  }
  signature.destinations.assign(signature.results.size(), -1);
  signature.takes.assign(signature.results.size(), -1);
}

/// Reads a function's signature. An argument with gpu_async.result is the
/// memory of that result, and no argument to its caller.
static Error readSignature(mlir::FunctionOpInterface function,
                           Signature &signature) {
  auto results =
      llvm::make_filter_range(function.getResultTypes(), [](mlir::Type type) {
        return !mlir::isa<mlir::LLVM::LLVMVoidType>(type);
      });
  std::map<int64_t, unsigned> memory;
  for (auto [i, type] : enumerate(function.getArgumentTypes())) {
    if (function.getArgAttr(i, mlir::gpuasync::kStreamAttrName)) {
      if (signature.stream || !mlir::isa<mlir::LLVM::LLVMPointerType>(type)) {
        function.emitError()
            << "argument " << i << " of type " << type
            << " cannot be the caller's stream ("
            << mlir::gpuasync::kStreamAttrName << "): that is one !llvm.ptr";
        return reportedError();
      }
      signature.stream = type;
      continue;
    }
    mlir::Attribute attribute =
        function.getArgAttr(i, mlir::gpuasync::kResultAttrName);
    if (!attribute) {
      // Callers pass it behind all that the function takes in the source.
      if (signature.stream) {
        function.emitError() << "argument " << i << " is behind the caller's "
                             << "stream (" << mlir::gpuasync::kStreamAttrName
                             << "), which is the last one";
        return reportedError();
      }
      if (function.getArgAttr(i, mlir::gpuasync::kDonatedAttrName))
        signature.donated.push_back(signature.arguments.size());
      signature.arguments.push_back(type);
      continue;
    }
    auto number = mlir::dyn_cast<mlir::IntegerAttr>(attribute);
    auto memref = mlir::dyn_cast<mlir::MemRefType>(type);
    if (!number || !memref || !memref.hasStaticShape() ||
        !memref.getLayout().isIdentity() ||
        !memory.emplace(number.getInt(), i).second) {
      function.emitError() << "argument " << i << " of type " << type << ", "
                           << mlir::gpuasync::kResultAttrName << " = "
                           << attribute
                           << ", cannot be the memory of a result: that is a "
                              "memref of constant sizes without layout, one a "
                              "result";
      return reportedError();
    }
  }
  size_t count = memory.size() + std::distance(results.begin(), results.end());
  if (!memory.empty() && (memory.begin()->first < 0 ||
                          uint64_t(memory.rbegin()->first) >= count)) {
    function.emitError() << "has " << count << " results, but an argument with "
                         << mlir::gpuasync::kResultAttrName << " = "
                         << (memory.begin()->first < 0
                                 ? memory.begin()->first
                                 : memory.rbegin()->first);
    return reportedError();
  }
  auto next = results.begin();
  for (size_t i = 0; i < count; ++i) {
    auto found = memory.find(i);
    signature.destinations.push_back(
        found == memory.end() ? -1 : int64_t(found->second));
    signature.results.push_back(
        found == memory.end() ? *next++
                              : function.getArgumentTypes()[found->second]);
    auto takes = found == memory.end()
                     ? mlir::IntegerAttr()
                     : function.getArgAttrOfType<mlir::IntegerAttr>(
                           found->second, mlir::gpuasync::kTakesAttrName);
    signature.takes.push_back(takes ? takes.getInt() : -1);
    if (takes && !is_contained(signature.donated, takes.getInt())) {
      function.emitError() << "result " << i << " takes the memory of argument "
                           << takes.getInt() << " ("
                           << mlir::gpuasync::kTakesAttrName
                           << "), which is none that is donated ("
                           << mlir::gpuasync::kDonatedAttrName << ")";
      return reportedError();
    }
    if (takes &&
        (signature.arguments[takes.getInt()] != signature.results[i] ||
         is_contained(llvm::drop_end(signature.takes), takes.getInt()))) {
      function.emitError() << "result " << i << " of " << signature.results[i]
                           << " cannot take the memory of argument "
                           << takes.getInt() << " of "
                           << signature.arguments[takes.getInt()] << " ("
                           << mlir::gpuasync::kTakesAttrName
                           << "): it has another type, or another result takes "
                              "it; leave the attribute to the compiler";
      return reportedError();
    }
  }
  return Error::success();
}

/// Finds what the ops that each call runs want of sizes of arguments that the
/// types leave open.
static void findSizeRules(mlir::FunctionOpInterface function,
                          Signature &signature) {
  DenseMap<mlir::Value, int64_t> numbers;
  for (mlir::BlockArgument argument : function.getArguments())
    if (!function.getArgAttr(argument.getArgNumber(),
                             mlir::gpuasync::kResultAttrName))
      numbers.try_emplace(argument, numbers.size());
  using mlir::gpuasync::SizeTerm;
  auto isOfArgument = [&](const SizeTerm &term) {
    return term.value && term.number >= 0 && numbers.contains(term.value);
  };
  auto addRule = [&](const mlir::gpuasync::SizeCheck &check) {
    if (!check.isEquality() || check.op->getBlock() != &function.front())
      return;
    SizeTerm size = check.terms[0], wanted = check.terms[1];
    if (!isOfArgument(size))
      std::swap(size, wanted);
    if (!isOfArgument(size) || !(wanted.isConstant() || isOfArgument(wanted)))
      return;
    std::string text = check.op->getName().getStringRef().str();
    if (auto place = check.op->getLoc()->findInstanceOf<mlir::FileLineColLoc>())
      text += (" at " + place.getFilename().getValue() + ":" +
               Twine(place.getLine()) + ":" + Twine(place.getColumn()))
                  .str();
    signature.sizeRules.push_back(
        {numbers[size.value], size.number,
         wanted.isConstant() ? -1 : numbers[wanted.value], wanted.number,
         text});
  };
  mlir::gpuasync::SizeChecks(function).forEach(addRule);
}

Error Program::findDestinations(Signature &entry) {
  auto function = module->lookupSymbol<mlir::FunctionOpInterface>(entry.name);
  if (lowered || !function)
    return Error::success();
  Signature now;
  if (Error error = readSignature(function, now))
    return error;
  if (now.arguments.size() != entry.arguments.size() ||
      now.results.size() != entry.results.size())
    return createStringError("internal error: @" + entry.name +
                             " has lost arguments or results on the way to "
                             "the stream form");
  entry.destinations = now.destinations;
  entry.takes = now.takes;
  entry.stream = now.stream;
  return Error::success();
}

static bool isCallable(mlir::FunctionOpInterface function) {
  return !function.isExternal() && function.isPublic() &&
         !function.getName().starts_with(packedPrefix);
}

std::vector<std::string> Program::entryPoints() {
  std::vector<std::string> names;
  for (auto function : module->getOps<mlir::FunctionOpInterface>())
    if (isCallable(function))
      names.push_back(function.getName().str());
  return names;
}

Expected<Signature> Program::entryPoint(StringRef name, StringRef resultName) {
  std::vector<std::string> existing;
  std::string why = "does not exist";
  for (auto function : module->getOps<mlir::FunctionOpInterface>()) {
    bool callable = isCallable(function);
    if (function.getName() == name) {
      if (callable) {
        Signature signature;
        signature.name = name.str();
        if (Error error = readSignature(function, signature))
          return std::move(error);
        findSizeRules(function, signature);
        if (isStatusFunction(function))
          recoverResult(signature, resultName);
        return signature;
      }
      why = function.isExternal() ? "is only declared" : "is private";
    }
    if (!callable)
      continue;
    std::string text;
    raw_string_ostream os(text);
    os << "@" << function.getName() << "(";
    interleaveComma(function.getArgumentTypes(), os);
    os << ")";
    existing.push_back(std::move(text));
  }
  return createStringError(
      "the entry point @" + name + " " + why + " in " + fileName + "; " +
      (existing.empty()
           ? std::string("no public function has a body there")
           : "name one of these with -e: " + join(existing, ", ")));
}

Error Program::refuseTaken(const Signature &entry) {
  for (auto [result, argument] : enumerate(entry.takes))
    if (argument >= 0)
      return createStringError(
          "@" + entry.name + ": result " + Twine(result) +
          " is computed in the memory of argument " + Twine(argument) + " (" +
          mlir::gpuasync::kTakesAttrName +
          "), but here each result has memory of its own; give the file from "
          "before, without the option donate of its compilation");
  return Error::success();
}

Error Program::markDonated(StringRef name, ArrayRef<unsigned> numbers) {
  auto function = module->lookupSymbol<mlir::FunctionOpInterface>(name);
  for (unsigned number : numbers) {
    if (lowered || !function || number >= function.getNumArguments() ||
        !mlir::isa<mlir::RankedTensorType>(function.getArgumentTypes()[number]))
      return createStringError(
          "option donate: argument " + Twine(number) + " of @" + name + ": " +
          (lowered ? Twine(fileName + " is lowered already; give the file from "
                                      "before")
           : function && number < function.getNumArguments()
               ? Twine("it is no tensor, and only a tensor's memory can be "
                       "given up; leave the number out")
               : "there are " +
                     Twine(function ? function.getNumArguments() : 0) +
                     " arguments, counted from 0"));
    function.setArgAttr(number, mlir::gpuasync::kDonatedAttrName,
                        mlir::UnitAttr::get(context()));
  }
  return Error::success();
}

Error Program::markResidents(StringRef name, ArrayRef<unsigned> numbers) {
  auto function = module->lookupSymbol<mlir::FunctionOpInterface>(name);
  if (!function || numbers.empty())
    return Error::success(); // without the function there is another error
  if (lowered)
    return createStringError("--resident: " + fileName +
                             " is lowered already; give it the file from "
                             "before");
  for (unsigned number : numbers) {
    if (number >= function.getNumArguments() ||
        !mlir::isa<mlir::ShapedType>(function.getArgumentTypes()[number]))
      return createStringError(
          "--resident=" + Twine(number) + ": @" + name + " has " +
          Twine(function.getNumArguments()) + " arguments, " +
          (number < function.getNumArguments() ? "and this one is no array"
                                               : "counted from 0"));
    function.setArgAttr(number,
                        mlir::gpuasync::GPUAsyncDialect::getResidentName(),
                        mlir::UnitAttr::get(context()));
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// MLIR
//===----------------------------------------------------------------------===//

/// What --print-schedule asks for.
static Error printSchedule(mlir::ModuleOp module,
                           const CompileOptions &options) {
  using mlir::gpuasync::ScheduleFormat;
  StringRef file = *options.printSchedule, function;
  ScheduleFormat format = file.ends_with(".dot")   ? ScheduleFormat::Dot
                          : file.ends_with(".svg") ? ScheduleFormat::Svg
                                                   : ScheduleFormat::Text;
  if (format == ScheduleFormat::Svg)
    function = options.entryPoint;
  mlir::FailureOr<std::string> text =
      mlir::gpuasync::drawSchedules(module, function, format);
  if (failed(text))
    return reportedError();
  if (!file.empty())
    return options.writeFile(file, *text);
  if (StringRef(*text).trim().empty())
    errs() << "no schedule: no function has device work (docs/reference/"
              "Offload.md says what becomes a kernel)\n";
  else
    errs() << *text;
  return Error::success();
}

Error Program::runStages(const CompileOptions &options, ArrayRef<Form> forms) {
  if (Error error = makeMachine(options))
    return error;
  mlir::gpuasync::GPUAsyncPipelineOptions pipeline;
  for (const std::string &target : options.targets)
    pipeline.targets.push_back(target);
  copyOptions(options, pipeline);
  pipeline.takeStream = options.stream == StreamMode::Caller;
  pipeline.onError = mlir::gpuasync::OnError::Status;
  pipeline.packedWrappers = true;
  pipeline.aotDestructor = !options.jit;
  mlir::gpuasync::VectorRegisters registers =
      mlir::gpuasync::getVectorRegisters(*machine);
  pipeline.vectorRegisters = registers.count;
  pipeline.vectorBits = registers.bits;

  struct Stage {
    Form form;
    void (*build)(mlir::OpPassManager &,
                  const mlir::gpuasync::GPUAsyncPipelineOptions &);
  };
  static const Stage stages[] = {
      {Form::Token, mlir::gpuasync::buildTokenFormPipeline},
      {Form::Linear, mlir::gpuasync::buildLinearFormPipeline},
      {Form::Stream, mlir::gpuasync::buildStreamFormPipeline},
      {Form::Runtime, mlir::gpuasync::buildRuntimeFormPipeline}};
  for (const Stage &stage : stages) {
    if (lowered || !is_contained(forms, stage.form))
      continue;
    Timing::Stage timed(
        timing, ("MLIR, to the " + getWord(stage.form) + " form").str());
    if (Error error = timing.checkStopped())
      return error;
    mlir::PassManager pm(context());
    timing.instrument(pm);
    // Verified once, at the end: after each pass it took a fifth of all time.
    pm.enableVerifier(false);
    stage.build(pm, pipeline);
    if (failed(pm.run(*module)) || failed(mlir::verify(*module)))
      return hasReported ? reportedError()
                         : createStringError("internal error: " + fileName +
                                             " failed on the way "
                                             "to the " +
                                             getWord(stage.form) +
                                             " form without a message");
    if (stage.form == Form::Stream && options.printSchedule)
      if (Error error = printSchedule(*module, options))
        return error;
    if (is_contained(options.printIRAfter, stage.form)) {
      errs() << "// the " << getWord(stage.form) << " form\n";
      module->print(errs());
      errs() << "\n";
    }
  }
  return Error::success();
}

Error Program::schedule(const CompileOptions &options) {
  if (lowered && (options.check || options.printSchedule))
    return createStringError(
        Twine(options.check ? "--check: " : "--print-schedule: ") + fileName +
        " is lowered already; give it the file from before");
  if (options.arraysOnDevice)
    for (auto function : module->getOps<mlir::func::FuncOp>())
      if (function.isPublic())
        function->setAttr(mlir::gpuasync::kArraysOnDeviceAttrName,
                          mlir::UnitAttr::get(context()));
  if (Error error =
          runStages(options, {Form::Token, Form::Linear, Form::Stream}))
    return error;
  if (options.arraysOnDevice && failed(refuseHostAccesses(*module)))
    return reportedError();
  if (!options.check)
    return Error::success();
  mlir::PassManager pm(context());
  pm.addPass(mlir::gpuasync::createGPUAsyncInstrumentAccesses());
  if (failed(pm.run(*module)))
    return reportedError();
  return Error::success();
}

std::optional<mlir::gpuasync::Schedule> Program::scheduleOf(StringRef name) {
  auto function = module->lookupSymbol<mlir::FunctionOpInterface>(name);
  if (lowered || !function)
    return std::nullopt;
  return mlir::gpuasync::Schedule(function);
}

/// The part of `location` that leads to places in files, null if there is none.
/// Upstream's translation gives up on all of it where a part does not.
static mlir::LocationAttr findPlace(mlir::Location location) {
  if (auto name = dyn_cast<mlir::NameLoc>(location))
    return findPlace(name.getChildLoc());
  if (auto opaque = dyn_cast<mlir::OpaqueLoc>(location))
    return findPlace(opaque.getFallbackLocation());
  if (auto site = dyn_cast<mlir::CallSiteLoc>(location)) {
    mlir::LocationAttr callee = findPlace(site.getCallee()),
                       caller = findPlace(site.getCaller());
    if (callee && caller)
      return mlir::CallSiteLoc::get(callee, caller);
    return callee ? callee : caller;
  }
  if (auto fused = dyn_cast<mlir::FusedLoc>(location)) {
    SmallVector<mlir::Location> places;
    for (mlir::Location each : fused.getLocations())
      if (mlir::LocationAttr place = findPlace(each))
        places.push_back(place);
    if (places.empty())
      return nullptr;
    return mlir::FusedLoc::get(location.getContext(), places,
                               fused.getMetadata());
  }
  return dyn_cast<mlir::FileLineColLoc>(location);
}

/// Gives each function and each op in it a place in a file: LLVM refuses calls
/// without one in functions that have line tables.
static void completePlaces(mlir::ModuleOp module, StringRef fileName) {
  auto unknown = mlir::FileLineColLoc::get(module.getContext(), fileName,
                                           /*line=*/0, /*column=*/0);
  module->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (!isa<mlir::LLVM::LLVMFuncOp>(op)) {
      // Upstream's pass wants a function around what was inlined somewhere.
      while (auto site = dyn_cast<mlir::CallSiteLoc>(op->getLoc()))
        op->setLoc(site.getCallee());
      return mlir::WalkResult::advance();
    }
    mlir::LocationAttr known = findPlace(op->getLoc());
    mlir::Location ofFunction = known ? mlir::Location(known) : unknown;
    // A scope that the program brings along stays the function's.
    if (auto own = op->getLoc()
                       ->findInstanceOf<
                           mlir::FusedLocWith<mlir::LLVM::DISubprogramAttr>>();
        own && !known)
      ofFunction = mlir::FusedLoc::get(module.getContext(), {unknown},
                                       own.getMetadata());
    op->walk([&](mlir::Operation *each) {
      mlir::LocationAttr place = findPlace(each->getLoc());
      each->setLoc(place && each != op ? mlir::Location(place) : ofFunction);
    });
    return mlir::WalkResult::skip();
  });
}

Error Program::lower(const CompileOptions &options) {
  if (Error error = runStages(options, {Form::Runtime}))
    return error;

  // Line tables name the place of a crash.
  Timing::Stage stage(timing, "line tables");
  if (Error error = timing.checkStopped())
    return error;
  completePlaces(*module, fileName);
  mlir::PassManager pm(context());
  pm.enableVerifier(false);
  pm.addPass(mlir::LLVM::createDIScopeForLLVMFuncOpPass());
  if (failed(pm.run(*module)))
    return reportedError();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

static Expected<std::unique_ptr<TargetMachine>>
createMachine(const CompileOptions &options) {
  mlir::gpuasync::initializeNativeTarget();
  auto level = options.optLevel == 0   ? CodeGenOptLevel::None
               : options.optLevel == 1 ? CodeGenOptLevel::Less
               : options.optLevel == 2 ? CodeGenOptLevel::Default
                                       : CodeGenOptLevel::Aggressive;
  if (options.jit || options.processor == "native") {
    auto builder = orc::JITTargetMachineBuilder::detectHost();
    if (!builder)
      return builder.takeError();
    builder->setRelocationModel(Reloc::PIC_);
    // Else it is the large one, which loads each address as a number.
    builder->setCodeModel(CodeModel::Small);
    builder->setCodeGenOptLevel(level);
    return builder->createTargetMachine();
  }
  Triple triple(sys::getProcessTriple());
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return createStringError(message);
  // Asked first: a target machine would only complain, and go on without.
  std::unique_ptr<MCSubtargetInfo> known(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!options.processor.empty() && !known->isCPUStringValid(options.processor))
    return createStringError("--mcpu=" + options.processor +
                             ": LLVM knows no such processor for " +
                             triple.str());
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, options.processor, "", TargetOptions(), Reloc::PIC_, std::nullopt,
      level));
}

Error Program::makeMachine(const CompileOptions &options) {
  if (machine)
    return Error::success();
  Expected<std::unique_ptr<TargetMachine>> created = createMachine(options);
  if (!created)
    return created.takeError();
  machine = std::move(*created);
  return Error::success();
}

/// Replaces a table of global constructors or destructors by one function that
/// calls them in the order of their priority, the destructors backwards.
static void gatherFunctions(Module &module, StringRef table, StringRef name) {
  GlobalVariable *global = module.getNamedGlobal(table);
  if (!global)
    return;
  SmallVector<std::tuple<uint64_t, size_t, Constant *>> entries;
  if (auto *list = dyn_cast<ConstantArray>(global->getInitializer()))
    for (Value *entry : list->operand_values()) {
      auto *fields = cast<ConstantStruct>(entry);
      entries.push_back(
          {cast<ConstantInt>(fields->getOperand(0))->getZExtValue(),
           entries.size(), fields->getOperand(1)});
    }
  global->eraseFromParent();
  // Within a priority in the order of the table.
  sort(entries);
  if (name == destructorsSymbol)
    std::reverse(entries.begin(), entries.end());
  auto *type = FunctionType::get(Type::getVoidTy(module.getContext()), false);
  auto *all =
      Function::Create(type, GlobalValue::ExternalLinkage, name, module);
  IRBuilder<> builder(BasicBlock::Create(module.getContext(), "", all));
  for (auto &[priority, index, function] : entries)
    if (!function->isNullValue())
      // Inlined into a function without line tables it would lose its own.
      builder.CreateCall(type, function)->setIsNoInline();
  builder.CreateRetVoid();
}

/// Keeps these symbols and what they need. What is not kept gets another name:
/// the code generator calls functions of the C library by theirs (memcpy,
/// expf), and would find one of the program's that is called so.
static void keepOnly(Module &module, const StringSet<> &names) {
  internalizeModule(module, [&](const GlobalValue &value) {
    return names.contains(value.getName());
  });
  ModuleAnalysisManager analyses;
  PassBuilder().registerModuleAnalyses(analyses);
  GlobalDCEPass().run(module, analyses);
  for (GlobalValue &value : module.global_values())
    if (value.hasInternalLinkage())
      value.setName(value.getName() + ".lowered");
}

/// Translates all that there is.
Error Program::makeModule(const CompileOptions &options) {
  if (Error error = makeMachine(options))
    return error;
  Timing::Stage stage(timing, "translation to LLVM IR");
  if (Error error = timing.checkStopped())
    return error;
  mlir::gpuasync::setDataLayout(*module, machine->createDataLayout());
  llvmContext = std::make_unique<LLVMContext>();
  llvmModule = mlir::translateModuleToLLVMIR(*module, *llvmContext, fileName,
                                             /*disableVerification=*/true);
  if (!llvmModule)
    return reportedError();
  llvmModule->setTargetTriple(machine->getTargetTriple());

  // Line tables are a help only: drop what LLVM does not like about them.
  bool brokenDebugInfo = false;
  std::string message;
  raw_string_ostream os(message);
  if (verifyModule(*llvmModule, &os, &brokenDebugInfo))
    return createStringError("the lowered program is not valid LLVM IR: " +
                             message);
  if (brokenDebugInfo)
    StripDebugInfo(*llvmModule);
  return Error::success();
}

void Program::optimize(const CompileOptions &options) {
  Timing::Stage stage(timing, "LLVM's passes");
  PassInstrumentationCallbacks callbacks;
  timing.instrument(callbacks);
  // Ahead of time it is not known which glibc there will be.
  mlir::gpuasync::optimizeCpuCode(
      *llvmModule, *machine, options.optLevel,
      [&](StringRef name) {
        return options.jit ? findVectorMath(name) != nullptr
                           : machine->getTargetTriple().isGNUEnvironment() &&
                                 mlir::gpuasync::isEarlyVectorFunction(name);
      },
      &callbacks);
}

Error Program::translate(const CompileOptions &options,
                         ArrayRef<Signature> entries) {
  if (Error error = makeModule(options))
    return error;
  if (options.jit) {
    gatherFunctions(*llvmModule, "llvm.global_ctors", constructorsSymbol);
    gatherFunctions(*llvmModule, "llvm.global_dtors", destructorsSymbol);
  }
  // Only what the entry points reach is compiled.
  if (!entries.empty()) {
    StringSet<> keep;
    keep.insert_range(ArrayRef<StringRef>{programSymbol, constructorsSymbol,
                                          destructorsSymbol});
    for (const Signature &entry : entries) {
      if (Error error = makePackedWrapper(entry))
        return error;
      keep.insert((packedPrefix + entry.name).str());
    }
    if (GlobalVariable *program = llvmModule->getNamedGlobal(programSymbol))
      program->setLinkage(GlobalValue::ExternalLinkage);
    keepOnly(*llvmModule, keep);
  }
  optimize(options);
  return Error::success();
}

Error Program::translateForC(const CompileOptions &options,
                             ArrayRef<CFunction> functions, bool isMain) {
  if (Error error = makeModule(options))
    return error;
  StringSet<> keep;
  if (isMain) {
    keep.insert("_gpuasync_c_main");
    defineCMain(*llvmModule, functions.front());
  } else {
    for (const CFunction &function : functions) {
      keep.insert(function.name);
      GlobalValue *used = llvmModule->getNamedValue(function.name);
      if (!used || !used->isDeclaration())
        continue;
      emitError(function.signature.name)
          << "is called '" << function.name
          << "' in C, which is a function that the program calls; rename it, "
             "or the file that -o names";
      return reportedError();
    }
    defineCFunctions(*llvmModule, functions);
  }
  keepOnly(*llvmModule, keep);
  optimize(options);
  return Error::success();
}

Expected<std::unique_ptr<MemoryBuffer>> Program::makeObject() {
  Timing::Stage stage(timing, "machine code");
  if (Error error = timing.checkStopped())
    return error;
  SmallVector<char, 0> bytes;
  raw_svector_ostream os(bytes);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr,
                                   CodeGenFileType::ObjectFile))
    return createStringError("this LLVM cannot write object files for " +
                             machine->getTargetTriple().str());
  passes.run(*llvmModule);
  return std::make_unique<SmallVectorMemoryBuffer>(
      std::move(bytes), llvmModule->getModuleIdentifier(),
      /*RequiresNullTerminator=*/false);
}

Error Program::emit(Emit kind, raw_ostream &os) {
  if (kind != Emit::LLVM && kind != Emit::MLIR) {
    auto made = makeObject();
    if (!made)
      return made.takeError();
    os << (*made)->getBuffer();
  } else if (kind == Emit::LLVM) {
    os << *llvmModule;
  } else {
    os << *module << "\n";
  }
  return Error::success();
}

mlir::InFlightDiagnostic Program::emitError(StringRef function) {
  mlir::Operation *op =
      function.empty() ? nullptr : module->lookupSymbol(function);
  return op ? op->emitError("@" + Twine(function) + " ")
            : mlir::emitError(
                  mlir::FileLineColLoc::get(context(), fileName, 0, 0));
}

//===----------------------------------------------------------------------===//
// What a runner needs of the program
//===----------------------------------------------------------------------===//

/// A file that was lowered by others has no wrapper: makes one for functions of
/// numbers and pointers.
Error Program::makePackedWrapper(const Signature &entry) {
  std::string name = (packedPrefix + entry.name).str();
  if (llvmModule->getFunction(name))
    return Error::success();
  Function *callee = llvmModule->getFunction(entry.name);
  if (!callee || callee->isDeclaration())
    return createStringError("internal error: @" + entry.name +
                             " is not in the lowered program");
  LLVMContext &context = *llvmContext;
  Type *pointer = PointerType::getUnqual(context);
  auto *wrapper = Function::Create(
      FunctionType::get(Type::getVoidTy(context), {pointer}, false),
      GlobalValue::ExternalLinkage, name, *llvmModule);
  IRBuilder<> builder(BasicBlock::Create(context, "", wrapper));
  SmallVector<llvm::Value *> arguments;
  auto slot = [&](unsigned index) {
    return builder.CreateLoad(pointer, builder.CreateConstGEP1_32(
                                           pointer, wrapper->getArg(0), index));
  };
  for (auto [i, type] : enumerate(callee->getFunctionType()->params())) {
    // A boolean is a byte that may be any but 0.
    bool isBool = type->isIntegerTy(1);
    llvm::Value *argument =
        builder.CreateLoad(isBool ? builder.getInt8Ty() : type, slot(i));
    arguments.push_back(isBool ? builder.CreateIsNotNull(argument) : argument);
  }
  CallInst *call = builder.CreateCall(callee, arguments);
  // Inlined into a function without line tables it would lose its own.
  call->setIsNoInline();
  if (!call->getType()->isVoidTy()) {
    llvm::Value *result = call;
    if (call->getType()->isIntegerTy(1))
      result = builder.CreateZExt(call, builder.getInt8Ty());
    builder.CreateStore(result, slot(arguments.size()));
  }
  builder.CreateRetVoid();
  return Error::success();
}

/// Finds functions that are called and nowhere defined, before ORC does: here
/// the op that declares them is known.
Error Program::checkSymbols(Libraries &libraries) {
  bool missing = false;
  auto check = [&](GlobalValue &value) {
    StringRef name = value.getName();
    if (!value.isDeclaration() || value.use_empty() ||
        name.starts_with("llvm.") || value.hasExternalWeakLinkage() ||
        libraries.find(name))
      return;
    missing = true;
    mlir::Operation *op = mlir::SymbolTable::lookupSymbolIn(*module, name);
    mlir::InFlightDiagnostic error = op ? op->emitError() : module->emitError();
    error << "@" << name << " is used but defined nowhere; ";
    if (name.starts_with("mgpu"))
      error << "the file was lowered for upstream's GPU wrappers: run the file "
               "from before gpu-to-llvm, or name the wrappers' library with "
               "--shared-libs";
    else
      error << "name the library that has it with --shared-libs";
  };
  for (Function &function : *llvmModule)
    check(function);
  for (GlobalVariable &global : llvmModule->globals())
    check(global);
  return missing ? reportedError() : Error::success();
}

} // namespace gpuexec

//===- Compile.cpp - From an MLIR file to machine code --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR through gpu-async-pipeline, LLVM IR through LLVM's own pipeline for this
// processor, one object file, which ORC links into the process. Functions of
// the runtime are resolved by the ABI's list, all others by shared libraries.
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "Crash.h"

#include "GPUAsync/InitAll.h"
#include "GPUAsync/Pipelines/Pipelines.h"
#include "gpuasync/RuntimeABI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectTransformLayer.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Internalize.h"

#include <dlfcn.h>

using namespace llvm;

namespace gpurunner {

Error reportedError() { return createStringError(""); }

static constexpr StringRef packedPrefix = "_gpuasync_packed_";
/// The program descriptor.
static constexpr StringRef programSymbol = "_gpuasync_program";

Program::Program() {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  mlir::gpuasync::registerAllGPUAsyncDialects(registry);
  mlirContext = std::make_unique<mlir::MLIRContext>(registry);
  // The message and the source line are enough.
  mlirContext->printOpOnDiagnostic(false);
  diagnostics = std::make_unique<mlir::SourceMgrDiagnosticHandler>(
      sources, mlirContext.get());
  // The newest handler is asked first; this one passes everything on.
  mlirContext->getDiagEngine().registerHandler(
      [this](mlir::Diagnostic &diagnostic) {
        hasReported |=
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        return mlir::failure();
      });
}

Program::~Program() = default;

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

Error Program::parse(StringRef file) {
  fileName = file == "-" ? "<stdin>" : file.str();
  std::string message;
  std::unique_ptr<MemoryBuffer> input = mlir::openInputFile(file, &message);
  if (!input)
    return createStringError(message);
  sources.AddNewSourceBuffer(std::move(input), SMLoc());
  module = mlir::parseSourceFile<mlir::ModuleOp>(
      sources, mlir::ParserConfig(mlirContext.get()));
  if (!module)
    return reportedError();
  lowered = isLowered();
  return Error::success();
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
  if (!type || signature.arguments.empty())
    return;
  signature.arguments.pop_back();
  signature.results.push_back(type);
}

Expected<Signature> Program::entryPoint(StringRef name, StringRef resultName) {
  std::vector<std::string> existing;
  std::string why = "does not exist";
  for (auto function : module->getOps<mlir::FunctionOpInterface>()) {
    bool callable = !function.isExternal() && function.isPublic() &&
                    !function.getName().starts_with(packedPrefix);
    if (function.getName() == name) {
      if (callable) {
        Signature signature;
        signature.name = name.str();
        signature.arguments.assign(function.getArgumentTypes().begin(),
                                   function.getArgumentTypes().end());
        for (mlir::Type type : function.getResultTypes())
          if (!mlir::isa<mlir::LLVM::LLVMVoidType>(type))
            signature.results.push_back(type);
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

//===----------------------------------------------------------------------===//
// MLIR
//===----------------------------------------------------------------------===//

Error Program::lower(const CompileOptions &options) {
  setPhase("compiling");
  if (!lowered) {
    mlir::gpuasync::GPUAsyncPipelineOptions pipeline;
    for (const std::string &target : options.targets)
      pipeline.targets.push_back(target);
    if (options.maxStreams)
      pipeline.maxStreams = *options.maxStreams;
    pipeline.onError = "status";
    pipeline.packedWrappers = true;
    pipeline.aotDestructor = !options.jit;

    struct Stage {
      const char *form;
      void (*build)(mlir::OpPassManager &,
                    const mlir::gpuasync::GPUAsyncPipelineOptions &);
    };
    static const Stage stages[] = {
        {"token", mlir::gpuasync::buildTokenFormPipeline},
        {"linear", mlir::gpuasync::buildLinearFormPipeline},
        {"stream", mlir::gpuasync::buildStreamFormPipeline},
        {"runtime", mlir::gpuasync::buildRuntimeFormPipeline}};
    for (const Stage &stage : stages) {
      mlir::PassManager pm(context());
      stage.build(pm, pipeline);
      if (failed(pm.run(*module)))
        return hasReported
                   ? reportedError()
                   : createStringError("internal error: " + fileName +
                                       " failed on the way "
                                       "to the " +
                                       stage.form + " form without a message");
      if (is_contained(options.printIRAfter, stage.form)) {
        errs() << "// the " << stage.form << " form\n";
        module->print(errs());
        errs() << "\n";
      }
    }
  }

  // Line tables, which name the place of a crash.
  mlir::PassManager pm(context());
  pm.addPass(mlir::LLVM::createDIScopeForLLVMFuncOpPass());
  if (failed(pm.run(*module)))
    return reportedError();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

static Expected<std::unique_ptr<TargetMachine>>
makeMachine(const CompileOptions &options) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  InitializeNativeTargetAsmParser();
  auto level = options.optLevel == 0   ? CodeGenOptLevel::None
               : options.optLevel == 1 ? CodeGenOptLevel::Less
               : options.optLevel == 2 ? CodeGenOptLevel::Default
                                       : CodeGenOptLevel::Aggressive;
  if (options.jit) {
    auto builder = orc::JITTargetMachineBuilder::detectHost();
    if (!builder)
      return builder.takeError();
    builder->setRelocationModel(Reloc::PIC_);
    builder->setCodeGenOptLevel(level);
    return builder->createTargetMachine();
  }
  Triple triple(sys::getProcessTriple());
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return createStringError(message);
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, "", "", TargetOptions(), Reloc::PIC_, std::nullopt, level));
}

static void optimize(Module &module, TargetMachine &machine, unsigned level) {
  if (level == 0)
    return;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = level > 1;
  tuning.LoopInterleaving = tuning.LoopVectorization;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder
      .buildPerModuleDefaultPipeline(level == 1   ? OptimizationLevel::O1
                                     : level == 2 ? OptimizationLevel::O2
                                                  : OptimizationLevel::O3)
      .run(module, modules);
}

Error Program::translate(const CompileOptions &options,
                         const Signature *entry) {
  setPhase("compiling");
  llvmContext = std::make_unique<LLVMContext>();
  llvmModule = mlir::translateModuleToLLVMIR(*module, *llvmContext, fileName,
                                             /*disableVerification=*/true);
  if (!llvmModule)
    return reportedError();
  Expected<std::unique_ptr<TargetMachine>> made = makeMachine(options);
  if (!made)
    return made.takeError();
  machine = std::move(*made);
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());

  // Line tables are a help only: drop what LLVM does not like about them.
  bool brokenDebugInfo = false;
  std::string message;
  raw_string_ostream os(message);
  if (verifyModule(*llvmModule, &os, &brokenDebugInfo))
    return createStringError("the lowered program is not valid LLVM IR: " +
                             message);
  if (brokenDebugInfo)
    StripDebugInfo(*llvmModule);

  // Only what the entry point reaches is compiled.
  if (entry) {
    if (Error error = makePackedWrapper(*entry))
      return error;
    std::string keep = (packedPrefix + entry->name).str();
    if (GlobalVariable *program = llvmModule->getNamedGlobal(programSymbol))
      program->setLinkage(GlobalValue::ExternalLinkage);
    internalizeModule(*llvmModule, [&](const GlobalValue &value) {
      return value.getName() == keep || value.getName() == programSymbol;
    });
    ModuleAnalysisManager analyses;
    PassBuilder().registerModuleAnalyses(analyses);
    GlobalDCEPass().run(*llvmModule, analyses);
  }
  optimize(*llvmModule, *machine, options.optLevel);
  return Error::success();
}

static Expected<std::unique_ptr<MemoryBuffer>>
makeObject(Module &module, TargetMachine &machine) {
  SmallVector<char, 0> bytes;
  raw_svector_ostream os(bytes);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr,
                                  CodeGenFileType::ObjectFile))
    return createStringError("this LLVM cannot write object files for " +
                             machine.getTargetTriple().str());
  passes.run(module);
  return std::make_unique<SmallVectorMemoryBuffer>(
      std::move(bytes), module.getModuleIdentifier(),
      /*RequiresNullTerminator=*/false);
}

Error Program::emit(StringRef kind, StringRef file) {
  std::error_code code;
  raw_fd_ostream os(file.empty() ? "-" : file, code, sys::fs::OF_None);
  if (code)
    return createStringError("'" + file +
                             "' cannot be written: " + code.message());
  if (kind == "mlir") {
    module->print(os);
    os << "\n";
  } else if (kind == "llvm") {
    os << *llvmModule;
  } else {
    auto object = makeObject(*llvmModule, *machine);
    if (!object)
      return object.takeError();
    os << (*object)->getBuffer();
  }
  os.close();
  if (os.has_error()) {
    code = os.error();
    os.clear_error();
    return createStringError("'" + file +
                             "' cannot be written: " + code.message());
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Linking into the process
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
  for (auto [i, type] : enumerate(callee->getFunctionType()->params()))
    arguments.push_back(builder.CreateLoad(type, slot(i)));
  CallInst *call = builder.CreateCall(callee, arguments);
  // Inlined into a function without line tables it would lose its own.
  call->setIsNoInline();
  if (!call->getType()->isVoidTy())
    builder.CreateStore(call, slot(arguments.size()));
  builder.CreateRetVoid();
  return Error::success();
}

namespace {
/// Resolves names in libraries, in this order: those of --shared-libs, what
/// this process has, and MLIR's runner utilities, which are opened when a name
/// is found nowhere else.
class Libraries : public orc::DefinitionGenerator {
public:
  explicit Libraries(ArrayRef<void *> handles) : handles(handles) {}

  static void *find(ArrayRef<void *> handles, const char *name) {
    for (void *handle : handles)
      if (void *address = dlsym(handle, name))
        return address;
    if (void *address = dlsym(RTLD_DEFAULT, name))
      return address;
    for (void *handle : runnerUtilities())
      if (void *address = dlsym(handle, name))
        return address;
    return nullptr;
  }

  Error tryToGenerate(orc::LookupState &, orc::LookupKind, orc::JITDylib &dylib,
                      orc::JITDylibLookupFlags,
                      const orc::SymbolLookupSet &names) override {
    orc::SymbolMap found;
    for (auto &[name, flags] : names)
      if (void *address = find(handles, (*name).str().c_str()))
        found[name] = {orc::ExecutorAddr::fromPtr(address),
                       JITSymbolFlags::Exported};
    if (found.empty())
      return Error::success();
    return dylib.define(orc::absoluteSymbols(std::move(found)));
  }

private:
  /// Next to this tool (the package), or with LLVM.
  static ArrayRef<void *> runnerUtilities() {
    static const std::vector<void *> opened = [] {
      std::vector<void *> result;
      static int anchor;
      std::string tool = sys::fs::getMainExecutable("gpu-runner", &anchor);
      SmallString<128> near(sys::path::parent_path(tool));
      sys::path::append(near, "..", "lib");
      for (const char *library :
           {"libmlir_c_runner_utils.so", "libmlir_runner_utils.so",
            "libmlir_float16_utils.so"})
        for (const std::string &folder :
             {std::string(near), std::string(GPUASYNC_LLVM_LIBRARY_DIR)}) {
          std::string path = folder + "/" + library;
          void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
          if (!handle)
            handle = dlopen((path + ".22.1").c_str(), RTLD_NOW | RTLD_LOCAL);
          if (handle) {
            result.push_back(handle);
            break;
          }
        }
      return result;
    }();
    return opened;
  }

  std::vector<void *> handles;
};
} // namespace

static const std::pair<const char *, void *> runtimeFunctions[] = {
#define GPUASYNC_ENTRY(name) {#name, reinterpret_cast<void *>(&name)},
    GPUASYNC_LOWERED_FUNCTIONS(GPUASYNC_ENTRY)
#undef GPUASYNC_ENTRY
};

/// Finds functions that are called and nowhere defined, before ORC does: here
/// the op that declares them is known.
Error Program::checkSymbols(ArrayRef<void *> libraries) {
  bool missing = false;
  auto check = [&](GlobalValue &value) {
    StringRef name = value.getName();
    if (!value.isDeclaration() || value.use_empty() ||
        name.starts_with("llvm.") || value.hasExternalWeakLinkage() ||
        any_of(runtimeFunctions,
               [&](auto &entry) { return name == entry.first; }) ||
        Libraries::find(libraries, name.str().c_str()))
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

/// Tells the crash handlers where the object's functions lie.
static Error describeCode(orc::LLJIT &jit,
                          std::unique_ptr<MemoryBuffer> object) {
  auto file = object::ObjectFile::createELFObjectFile(*object);
  if (!file)
    return file.takeError();
  struct Symbol {
    StringRef name;
    uint64_t section, offset, size;
    bool global;
  };
  SmallVector<Symbol> symbols;
  for (const object::SymbolRef &ref : (*file)->symbols()) {
    Expected<object::SymbolRef::Type> type = ref.getType();
    if (!type)
      return type.takeError();
    if (*type != object::SymbolRef::ST_Function)
      continue;
    Expected<StringRef> name = ref.getName();
    if (!name)
      return name.takeError();
    Expected<object::section_iterator> section = ref.getSection();
    if (!section)
      return section.takeError();
    Expected<uint64_t> offset = ref.getAddress();
    if (!offset)
      return offset.takeError();
    Expected<uint32_t> flags = ref.getFlags();
    if (!flags)
      return flags.takeError();
    if (*section != (*file)->section_end())
      symbols.push_back({*name, (*section)->getIndex(), *offset,
                         object::ELFSymbolRef(ref).getSize(),
                         bool(*flags & object::SymbolRef::SF_Global)});
  }
  // Only global symbols can be looked up; the others of a section lie at the
  // same distance.
  DenseMap<uint64_t, uint64_t> bases;
  for (const Symbol &symbol : symbols) {
    if (!symbol.global || bases.count(symbol.section))
      continue;
    if (auto address = jit.lookup(symbol.name))
      bases[symbol.section] = address->getValue() - symbol.offset;
    else
      consumeError(address.takeError());
  }
  for (const Symbol &symbol : symbols)
    if (auto base = bases.find(symbol.section); base != bases.end())
      addCode(symbol.name, base->second + symbol.offset, symbol.size,
              symbol.offset, symbol.section);
  setObject(std::move(object));
  return Error::success();
}

Expected<PackedFunction> Program::link(const Signature &entry,
                                       ArrayRef<std::string> sharedLibs) {
  setPhase("linking");
  std::vector<void *> handles;
  for (const std::string &library : sharedLibs) {
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!handle)
      return createStringError("--shared-libs=" + library + ": " + dlerror());
    handles.push_back(handle);
  }
  if (Error error = checkSymbols(handles))
    return std::move(error);

  auto host = orc::JITTargetMachineBuilder::detectHost();
  if (!host)
    return host.takeError();
  auto compiler = [this](orc::JITTargetMachineBuilder)
      -> Expected<std::unique_ptr<orc::IRCompileLayer::IRCompiler>> {
    return std::make_unique<orc::TMOwningSimpleCompiler>(std::move(machine));
  };
  auto made = orc::LLJITBuilder()
                  .setJITTargetMachineBuilder(std::move(*host))
                  .setCompileFunctionCreator(compiler)
                  .create();
  if (!made)
    return made.takeError();
  jit = std::move(*made);
  std::unique_ptr<MemoryBuffer> object;
  jit->getObjTransformLayer().setTransform(
      [&object](std::unique_ptr<MemoryBuffer> made)
          -> Expected<std::unique_ptr<MemoryBuffer>> {
        // Constructors are called through a second, small module.
        if (!object)
          object = MemoryBuffer::getMemBufferCopy(made->getBuffer(),
                                                  made->getBufferIdentifier());
        return std::move(made);
      });
  std::string linkError;
  jit->getExecutionSession().setErrorReporter([&linkError](Error error) {
    linkError += toString(std::move(error)) + " ";
  });

  orc::JITDylib &dylib = jit->getMainJITDylib();
  orc::SymbolMap runtime;
  for (auto &[name, address] : runtimeFunctions)
    runtime[jit->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(address),
                                           JITSymbolFlags::Exported};
  if (Error error = dylib.define(orc::absoluteSymbols(std::move(runtime))))
    return std::move(error);
  dylib.addGenerator(std::make_unique<Libraries>(handles));
  bool hasProgram = llvmModule->getNamedGlobal(programSymbol);
  if (Error error = jit->addIRModule(
          orc::ThreadSafeModule(std::move(llvmModule), std::move(llvmContext))))
    return std::move(error);
  std::string name = (packedPrefix + entry.name).str();
  auto address = jit->lookup(name);
  if (!address)
    return createStringError("the program cannot be linked: " + linkError +
                             toString(address.takeError()));
  if (hasProgram) {
    auto table = jit->lookup(programSymbol);
    if (!table)
      return table.takeError();
    program = table->toPtr<const gpuasync_program *>();
  }
  if (Error error = jit->initialize(dylib))
    return std::move(error);
  if (object)
    if (Error error = describeCode(*jit, std::move(object)))
      return std::move(error);
  jit->getExecutionSession().setErrorReporter(
      [](Error error) { consumeError(std::move(error)); });
  jit->getObjTransformLayer().setTransform({});
  return address->toPtr<PackedFunction>();
}

Error Program::unlink() {
  if (!jit)
    return Error::success();
  if (program)
    gpuasync_program_release(program);
  program = nullptr;
  return jit->deinitialize(jit->getMainJITDylib());
}

} // namespace gpurunner

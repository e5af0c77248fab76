//===- Code.cpp - LLVM's optimisations of cpu kernels ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Code.h. LLVM's own table of libmvec lacks what is 512 bits wide or
// younger than glibc 2.22, and holds for host code too.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Kernels/CPU/Code.h"
#include "Exponentials.h"
#include "Interleave.h"
#include "ThreadOrder.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/VFABIDemangler.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// Vector math
//===----------------------------------------------------------------------===//

/// libmvec's functions by their names in C, those of two arguments last.
static constexpr llvm::StringLiteral vectorMath[] = {
    "sin",  "cos",   "exp",  "log",   "tan",   "asin",  "acos",
    "atan", "sinh",  "cosh", "tanh",  "asinh", "acosh", "atanh",
    "exp2", "exp10", "log2", "log10", "expm1", "log1p", "cbrt",
    "erf",  "erfc",  "pow",  "atan2", "hypot"};

bool gpuasync::isEarlyVectorFunction(StringRef name) {
  // _ZGV, instructions, no mask, lanes, arguments: _ZGVbN4vv_powf.
  StringRef function = name.rsplit('_').second;
  if (!name.ends_with("_pow"))
    function.consume_back("f");
  return name.starts_with("_ZGV") &&
         llvm::is_contained({StringRef("sin"), StringRef("cos"),
                             StringRef("exp"), StringRef("log"),
                             StringRef("pow")},
                            function);
}

/// The function of C that a call computes, or nothing: llvm.exp.f32 and expf
/// are exp.
static StringRef mathFunction(llvm::CallInst &call) {
  llvm::Function *callee = call.getCalledFunction();
  llvm::Type *type = call.getType();
  if (!callee || !callee->isDeclaration() ||
      (!type->isFloatTy() && !type->isDoubleTy()) ||
      llvm::any_of(call.args(), [&](const llvm::Use &argument) {
        return argument->getType() != type;
      }))
    return {};
  StringRef name = callee->getName();
  if (name.consume_front("llvm.")) {
    if (!name.consume_back(type->isFloatTy() ? ".f32" : ".f64"))
      return {};
  } else if (type->isFloatTy() && !name.consume_back("f")) {
    return {};
  }
  const auto *found = llvm::find(vectorMath, name);
  if (found == std::end(vectorMath))
    return {};
  bool two = llvm::is_contained({"pow", "atan2", "hypot"}, *found);
  return call.arg_size() == (two ? 2 : 1) ? StringRef(*found) : StringRef();
}

namespace {
/// Tells the vectoriser which functions of libmvec compute a call for several
/// lanes at once.
class VectorMath {
public:
  VectorMath(llvm::Module &module, const llvm::TargetMachine &machine,
             HasVectorFunction has)
      : module(module), has(has) {
    const llvm::MCSubtargetInfo &features = *machine.getMCSubtargetInfo();
    if (!machine.getTargetTriple().isX86_64() ||
        !machine.getTargetTriple().isOSLinux())
      return;
    sets.push_back({'b', 128});
    if (features.checkFeatures("+avx2"))
      sets.push_back({'d', 256});
    if (features.checkFeatures("+avx512f"))
      sets.push_back({'e', 512});
  }

  void annotate(llvm::CallInst &call) {
    StringRef name = mathFunction(call);
    if (name.empty())
      return;
    // A kernel cannot look at errno.
    call.setDoesNotAccessMemory();
    call.setDoesNotThrow();
    call.addFnAttr(llvm::Attribute::WillReturn);
    unsigned bits = call.getType()->getScalarSizeInBits();
    std::string parameters(call.arg_size(), 'v');
    SmallVector<std::string> mappings;
    for (auto [letter, width] : sets) {
      std::string lanes = std::to_string(width / bits);
      std::string vector = std::string("_ZGV") + letter + "N" + lanes +
                           parameters + "_" + name.str() +
                           (bits == 32 ? "f" : "");
      if (!has(vector))
        continue;
      declare(call, vector, width / bits);
      mappings.push_back("_ZGV_LLVM_N" + lanes + parameters + "_" +
                         call.getCalledFunction()->getName().str() + "(" +
                         vector + ")");
    }
    if (!mappings.empty())
      llvm::VFABI::setVectorVariantNames(&call, mappings);
  }

  /// Functions that nobody calls would be undefined symbols.
  void removeUnused() {
    llvm::removeFromUsedLists(module, [&](llvm::Constant *constant) {
      auto *function = dyn_cast<llvm::Function>(constant);
      return function && declared.contains(function);
    });
    for (llvm::Function *function : declared)
      if (function->use_empty())
        function->eraseFromParent();
  }

private:
  void declare(llvm::CallInst &call, StringRef name, unsigned lanes) {
    if (module.getFunction(name))
      return;
    auto *type = llvm::FixedVectorType::get(call.getType(), lanes);
    SmallVector<llvm::Type *> parameters(call.arg_size(), type);
    auto *function = llvm::Function::Create(
        llvm::FunctionType::get(type, parameters, false),
        llvm::GlobalValue::ExternalLinkage, name, module);
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
    function->setWillReturn();
    declared.insert(function);
    // The vectoriser finds it by name only.
    llvm::appendToCompilerUsed(module, {function});
  }

  llvm::Module &module;
  HasVectorFunction has;
  /// libmvec's letters for the instructions that the machine has, and bits of a
  /// vector.
  SmallVector<std::pair<char, unsigned>> sets;
  llvm::SetVector<llvm::Function *> declared;
};
} // namespace

//===----------------------------------------------------------------------===//
// Long blocks
//===----------------------------------------------------------------------===//

/// What LLVM's code generator does with a block takes time with the square of
/// its length: 100,000 instructions took a minute and a half. Functions with
/// such a block get code as without optimisation, in blocks of a bounded
/// length. Without it LLVM would put these together again.
static void splitLongBlocks(llvm::Module &module) {
  // Kernels are run more often than they are compiled.
  constexpr size_t mostOfHost = 1 << 12, mostOfKernel = 1 << 15, length = 1000;
  // A function of one block only reads its arguments from memory and passes
  // them on: what packed wrappers of a hundred arguments do. LLVM writes the
  // same code without optimisation.
  constexpr size_t mostOfSingle = 1 << 8;
  for (llvm::Function &function : module) {
    const size_t most =
        function.hasFnAttribute(cpuKernelAttribute)            ? mostOfKernel
        : function.size() == 1 && !cpu::isKernelCode(function) ? mostOfSingle
                                                               : mostOfHost;
    if (llvm::none_of(function, [&](llvm::BasicBlock &block) {
          return block.size() > most;
        }))
      continue;
    for (auto attribute :
         {llvm::Attribute::AlwaysInline, llvm::Attribute::OptimizeForSize,
          llvm::Attribute::MinSize})
      function.removeFnAttr(attribute);
    function.addFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::OptimizeNone);
    // Behind the entry block they would take stack at each run.
    llvm::BasicBlock &entry = function.getEntryBlock();
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(entry))
      if (auto *slot = dyn_cast<llvm::AllocaInst>(&instruction);
          slot && slot->isStaticAlloca())
        slot->moveBefore(entry, entry.begin());
    // Blocks that are added are looked at, too.
    for (llvm::BasicBlock &block : function) {
      if (block.size() <= length)
        continue;
      auto at = std::next(block.begin(), length);
      if (at != block.end() && &*at != block.getTerminator() &&
          !llvm::isa<llvm::PHINode>(*at))
        block.splitBasicBlock(at);
    }
  }
}

VectorRegisters
gpuasync::getVectorRegisters(const llvm::TargetMachine &machine) {
  // LLVM's own vectors have 256 bits on some of these. The wider ones slow
  // their clock down, which pays in loops that only multiply.
  if (machine.getTargetTriple().isX86() &&
      machine.getMCSubtargetInfo()->checkFeatures("+avx512f"))
    return {32, 512};
  // LLVM asks a function, whose attributes may say otherwise than the machine.
  llvm::LLVMContext context;
  llvm::Module module("", context);
  module.setDataLayout(machine.createDataLayout());
  llvm::Function *function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
      llvm::Function::ExternalLinkage, "", module);
  llvm::TargetTransformInfo target = machine.getTargetTransformInfo(*function);
  const unsigned vectors = target.getRegisterClassForType(/*Vector=*/true);
  VectorRegisters found;
  found.count = target.getNumberOfRegisters(vectors);
  found.bits =
      target
          .getRegisterBitWidth(llvm::TargetTransformInfo::RGK_FixedWidthVector)
          .getFixedValue();
  // A machine without vectors computes them in pieces.
  return found.count && found.bits ? found : VectorRegisters();
}

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

/// Whether a pass is worth its time. CalledValuePropagation finds out where
/// pointers to functions lead, which only the runtime's tables hold. Large
/// functions of the host launch kernels; what the SLP vectoriser finds there
/// are fields of descriptors, in time that grows with the square of a block.
static bool isWorthwhile(StringRef pass, llvm::Any ir) {
  constexpr size_t largest = 1000;
  if (pass != "SLPVectorizerPass")
    return pass != "CalledValuePropagationPass";
  const auto *function = llvm::any_cast<const llvm::Function *>(&ir);
  return !function || cpu::isKernelCode(**function) ||
         (*function)->getInstructionCount() <= largest;
}

void gpuasync::optimizeCpuCode(llvm::Module &module,
                               llvm::TargetMachine &machine, unsigned level,
                               HasVectorFunction has,
                               llvm::PassInstrumentationCallbacks *callbacks) {
  machine.Options.TrapUnreachable = true;
  if (level == 0)
    return;
  VectorMath math(module, machine, has);
  for (llvm::Function &function : module) {
    if (!function.hasFnAttribute(cpuKernelAttribute))
      continue;
    cpu::expandExponentials(function, machine);
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      if (llvm::is_contained({llvm::Instruction::FMul, llvm::Instruction::FAdd,
                              llvm::Instruction::FSub},
                             instruction.getOpcode()))
        instruction.setHasAllowContract(true);
      else if (auto *call = dyn_cast<llvm::CallInst>(&instruction))
        math.annotate(*call);
    }
    // Outside of kernels only block functions call kernels.
    for (llvm::User *user : function.users())
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(user))
        if (!cpu::isKernelCode(*call->getFunction()))
          call->getFunction()->addFnAttr(cpu::blockFunctionAttribute);
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = level > 1;
  tuning.LoopInterleaving = tuning.LoopVectorization;
  llvm::PassInstrumentationCallbacks own;
  if (!callbacks)
    callbacks = &own;
  callbacks->registerShouldRunOptionalPassCallback(isWorthwhile);
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.registerLateLoopOptimizationsEPCallback(
      [](llvm::LoopPassManager &passes, llvm::OptimizationLevel) {
        passes.addPass(cpu::LeaveOuterLoops());
      });
  if (tuning.LoopVectorization)
    builder.registerVectorizerStartEPCallback(
        [](llvm::FunctionPassManager &passes, llvm::OptimizationLevel) {
          passes.addPass(cpu::KeepThreadOrder());
          passes.addPass(cpu::InterleaveThreads());
          passes.addPass(cpu::LeaveShortExtrema());
          passes.addPass(cpu::LeaveLongLoops());
        });
  builder
      .buildPerModuleDefaultPipeline(level == 1   ? llvm::OptimizationLevel::O1
                                     : level == 2 ? llvm::OptimizationLevel::O2
                                                  : llvm::OptimizationLevel::O3)
      .run(module, modules);
  math.removeUnused();
  splitLongBlocks(module);
}

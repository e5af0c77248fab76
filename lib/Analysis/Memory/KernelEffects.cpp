//===- KernelEffects.cpp - what kernels do to memory ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See KernelEffects.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/KernelEffects.h"
#include "GPUAsync/Analysis/Memory/NumberSources.h"
#include "GPUAsync/IR/GPUAsyncDialect.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::gpuasync;

bool gpuasync::leadsToMemory(Type type) {
  return isMemory(type) || isa<nvgpu::TensorMapDescriptorType>(type);
}

bool gpuasync::staysInView(Value value) {
  return isa_and_nonnull<memref::SubViewOp, memref::CastOp,
                         memref::MemorySpaceCastOp, memref::AssumeAlignmentOp,
                         memref::DistinctObjectsOp, memref::CollapseShapeOp,
                         memref::ExpandShapeOp, memref::TransposeOp>(
      value.getDefiningOp());
}

unsigned KernelEffects::countParameters(Type type) const {
  if (!isLowered || !isMemory(type))
    return 1;
  // Two pointers and the offset, a size and a stride for each dimension; or the
  // rank and a pointer to all that.
  auto ranked = dyn_cast<MemRefType>(type);
  return ranked ? 3 + 2 * ranked.getRank() : 2;
}

//===----------------------------------------------------------------------===//
// Memrefs
//===----------------------------------------------------------------------===//

/// Whether it is an address of which only a remainder is used.
static bool isAlignmentOnly(Operation *op) {
  return isa<memref::ExtractAlignedPointerAsIndexOp>(op) &&
         llvm::all_of(op->getUses(), [](OpOperand &use) {
           return isa<arith::RemUIOp>(use.getOwner()) &&
                  use.getOperandNumber() == 0;
         });
}

/// Follows a memref or descriptor argument through views. What is not
/// understood reads and writes.
static KernelEffects::Argument argumentEffects(Value argument,
                                               SymbolTableCollection &symbols) {
  KernelEffects::Argument result{false, false, false};
  SmallVector<Value> worklist{argument};
  llvm::SmallPtrSet<void *, 16> seen;
  auto touchesAll = [] { return KernelEffects::Argument{true, true}; };
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value.getAsOpaquePointer()).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto view = dyn_cast<ViewLikeOpInterface>(user)) {
        if (view.getViewSource() == value) {
          result.anyPart |= !staysInView(view.getViewDest()) &&
                            !view.getViewDest().use_empty();
          worklist.push_back(view.getViewDest());
          continue;
        }
      }
      if (isa<CallOpInterface>(user)) {
        // A function of the kernel's module, for instance a helper.
        auto call = cast<CallOpInterface>(user);
        auto function = dyn_cast_or_null<FunctionOpInterface>(
            call.resolveCallableInTable(&symbols));
        unsigned first = user->getNumOperands() - call.getArgOperands().size();
        unsigned number = use.getOperandNumber();
        if (!function || function.isExternal() || number < first ||
            number - first >= function.getNumArguments())
          return touchesAll();
        worklist.push_back(function.getArgument(number - first));
        continue;
      }
      if (isa<memref::DimOp, memref::RankOp, nvgpu::TmaPrefetchOp,
              nvgpu::TmaFenceOp>(user) ||
          isAlignmentOnly(user))
        continue;
      if (isa<nvgpu::TensorMapDescriptorType>(value.getType()) &&
          isa<nvgpu::TmaAsyncLoadOp, nvgpu::TmaAsyncStoreOp,
              nvgpu::WarpgroupGenerateDescriptorOp>(user)) {
        result.reads |= isa<nvgpu::TmaAsyncLoadOp>(user);
        result.writes |= isa<nvgpu::TmaAsyncStoreOp>(user);
        continue;
      }
      auto effects = dyn_cast<MemoryEffectOpInterface>(user);
      bool escapes =
          user->hasTrait<OpTrait::IsTerminator>() || user->getNumRegions() ||
          llvm::any_of(user->getResultTypes(), [](Type type) {
            return !type.isIntOrIndexOrFloat() &&
                   !isa<VectorType, nvgpu::DeviceAsyncTokenType>(type);
          });
      if (!effects || escapes)
        return touchesAll();
      SmallVector<MemoryEffects::EffectInstance> instances;
      effects.getEffects(instances);
      bool isNamed = false;
      for (const MemoryEffects::EffectInstance &instance : instances) {
        if (!instance.getValue())
          return touchesAll();
        if (instance.getValue() != value)
          continue;
        isNamed = true;
        if (isa<MemoryEffects::Read>(instance.getEffect()))
          result.reads = true;
        else
          result.writes = true;
      }
      // Read as a value, for instance stored somewhere.
      if (!isNamed)
        return touchesAll();
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Numbers that become pointers
//===----------------------------------------------------------------------===//

bool gpuasync::isOfBlock(Type type) {
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type))
    return pointer.getAddressSpace() ==
               nvgpu::NVGPUDialect::kSharedMemoryAddressSpace ||
           pointer.getAddressSpace() == NVVM::NVVMMemorySpace::Local;
  auto memref = dyn_cast<BaseMemRefType>(type);
  auto space =
      memref ? dyn_cast_or_null<gpu::AddressSpaceAttr>(memref.getMemorySpace())
             : gpu::AddressSpaceAttr();
  return space && space.getValue() != gpu::AddressSpace::Global;
}

bool gpuasync::isMath(CallOpInterface call) {
  auto callee = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
  return callee && (callee.getLeafReference().strref().starts_with("__nv_") ||
                    callee.getLeafReference().strref().starts_with("__ocml_"));
}

namespace {
/// A kernel and all that it calls.
class KernelBody {
public:
  KernelBody(FunctionOpInterface kernel, SymbolTableCollection &symbols);

  bool hasOutput = false;
  bool loadsPointers = false;
  /// What becomes a pointer.
  SmallVector<Value> addresses;
  KnownCalls calls;

private:
  void visit(Operation *op);
  void visitUnknown(Operation *op);
  void visitSymbols(SymbolUserOpInterface user);
  void addOffsets();

  SymbolTableCollection &symbols;
  /// Functions, and data that may hold their addresses.
  llvm::SetVector<Operation *> bodies;
  /// What makes a pointer of pointers and numbers.
  SmallVector<Operation *> derivations;
};
} // namespace

KernelBody::KernelBody(FunctionOpInterface kernel,
                       SymbolTableCollection &symbols)
    : symbols(symbols) {
  bodies.insert(kernel);
  calls.withOtherCalls.insert(kernel);
  for (size_t next = 0; next < bodies.size(); ++next)
    bodies[next]->walk([&](Operation *op) { visit(op); });
  addOffsets();
}

/// Code that may do anything with what it is given.
void KernelBody::visitUnknown(Operation *op) {
  for (Value operand : op->getOperands())
    if (!isPointer(operand.getType()) && mayHoldAddress(operand.getType()))
      addresses.push_back(operand);
  loadsPointers |= llvm::any_of(op->getResultTypes(), isPointer);
}

/// Who has a function's address may call it.
void KernelBody::visitSymbols(SymbolUserOpInterface user) {
  user->getAttrDictionary().walk([&](SymbolRefAttr name) {
    Operation *symbol = symbols.lookupNearestSymbolFrom(user, name);
    if (!symbol || !symbol->getNumRegions() ||
        symbol->hasTrait<OpTrait::SymbolTable>())
      return;
    if (isa<FunctionOpInterface>(symbol))
      calls.withOtherCalls.insert(symbol);
    bodies.insert(symbol);
  });
}

void KernelBody::visit(Operation *op) {
  hasOutput |= isa<gpu::PrintfOp, cf::AssertOp>(op);
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    auto callee = dyn_cast_or_null<FunctionOpInterface>(
        call.resolveCallableInTable(&symbols));
    if (callee && !callee.isExternal()) {
      calls.add(call, callee);
      bodies.insert(callee);
    } else if (!isMath(call)) {
      visitUnknown(op);
    }
    return;
  }
  if (isa<LLVM::InlineAsmOp, LLVM::CallIntrinsicOp, NVVM::InlinePtxOp>(op))
    return visitUnknown(op);
  if (auto user = dyn_cast<SymbolUserOpInterface>(op))
    visitSymbols(user);
  bool makesPointer = llvm::any_of(op->getResultTypes(), [](Type type) {
    return isPointer(type) && !isOfBlock(type);
  });
  if (!makesPointer || isa<RegionBranchOpInterface>(op))
    return;
  if (!isMemoryEffectFree(op)) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    loadsPointers |=
        !effects || !effects.onlyHasEffect<MemoryEffects::Allocate>();
    return;
  }
  if (llvm::any_of(op->getOperandTypes(), isPointer))
    derivations.push_back(op);
  else
    llvm::append_range(addresses, op->getOperands());
}

/// What is added to a pointer that was made of a number, as to null, may be the
/// address.
void KernelBody::addOffsets() {
  SmallVector<Value> pointers;
  for (Operation *op : derivations)
    for (Value operand : op->getOperands())
      if (isPointer(operand.getType()))
        pointers.push_back(operand);
  llvm::DenseSet<Value> made = findMadeOfNumbers(pointers, calls);
  for (Operation *op : derivations) {
    if (llvm::none_of(op->getOperands(),
                      [&](Value operand) { return made.contains(operand); }))
      continue;
    for (Value operand : op->getOperands())
      if (!isPointer(operand.getType()))
        addresses.push_back(operand);
  }
}

/// Adds what the body says of numbers, and of what it prints.
static void addBody(FunctionOpInterface kernel, SymbolTableCollection &symbols,
                    KernelEffects &effects) {
  KernelBody body(kernel, symbols);
  NumberSources sources = findSources(body.addresses, body.calls);
  effects.addresses.resize(kernel.getNumArguments());
  effects.followsPointersInMemory =
      body.loadsPointers || sources.isFromAnywhere;
  for (BlockArgument argument : sources.arguments) {
    // Nobody knows what those pass that have a function's address.
    if (argument.getOwner()->getParentOp() != kernel.getOperation())
      effects.followsPointersInMemory = true;
    else if (argument.getArgNumber() < effects.addresses.size())
      effects.addresses.set(argument.getArgNumber());
  }
  effects.hasOutput = body.hasOutput;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

const KernelEffects &KernelTable::lookup(Operation *launch,
                                         SymbolRefAttr kernel) {
  Operation *op = symbols.lookupNearestSymbolFrom(launch, kernel);
  auto [it, isNew] = effects.try_emplace(op);
  if (!isNew || !op)
    return it->second;
  KernelEffects &result = it->second;
  auto lowered = dyn_cast<LLVM::LLVMFuncOp>(op);
  if (lowered && !lowered.isExternal()) {
    result.isLowered = true;
    addBody(lowered, symbols, result);
  }
  if (auto function = dyn_cast<gpu::GPUFuncOp>(op)) {
    result.isKnown = true;
    addBody(function, symbols, result);
    // Not its workgroup memory, which is entry block arguments too.
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      Value argument = function.getArgument(i);
      result.arguments.push_back(leadsToMemory(argument.getType())
                                     ? argumentEffects(argument, symbols)
                                     : KernelEffects::Argument());
    }
  }
  if (auto module = op->getParentOfType<gpu::GPUModuleOp>())
    result.hasGlobals =
        llvm::any_of(module.getBody()->getOperations(), [](Operation &inner) {
          // Each block has workgroup memory of its own.
          if (auto global = dyn_cast<memref::GlobalOp>(inner))
            return !global.getConstant() &&
                   !nvgpu::NVGPUDialect::isSharedMemoryAddressSpace(
                       global.getType().getMemorySpace());
          if (auto global = dyn_cast<LLVM::GlobalOp>(inner))
            return !global.getConstant() &&
                   global.getAddrSpace() !=
                       nvgpu::NVGPUDialect::kSharedMemoryAddressSpace;
          return false;
        });
  return result;
}

const KernelEffects &KernelTable::lookupLibrary(Operation *call,
                                                SymbolRefAttr callee) {
  Operation *op = symbols.lookupNearestSymbolFrom(call, callee);
  auto [it, isNew] = effects.try_emplace(op);
  auto function = dyn_cast_or_null<FunctionOpInterface>(op);
  if (!isNew || !function)
    return it->second;
  KernelEffects &result = it->second;
  result.serial =
      op->getAttrOfType<StringAttr>(GPUAsyncDialect::getSerialName());
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    bool onlyReads = static_cast<bool>(
        function.getArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName()));
    bool onlyWrites = static_cast<bool>(
        function.getArgAttr(i, LLVM::LLVMDialect::getWriteOnlyAttrName()));
    result.arguments.push_back({/*reads=*/!onlyWrites, /*writes=*/!onlyReads,
                                /*anyPart=*/false});
    result.isKnown |=
        isMemory(function.getArgumentTypes()[i]) && (onlyReads || onlyWrites);
  }
  return result;
}

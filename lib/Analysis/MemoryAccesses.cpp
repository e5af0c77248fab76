//===- MemoryAccesses.cpp - what memory ops touch -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See MemoryAccesses.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/MemoryAccesses.h"
#include "GPUAsync/IR/GPUAsyncOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;

bool gpuasync::mayAlias(const Base &a, const Base &b) {
  if (a.kind == Base::Unknown || b.kind == Base::Unknown)
    return true;
  if (a == b)
    return true;
  // An allocation made here is distinct from other allocations, from globals
  // and from all that existed before the call; a kernel module's globals are
  // out of reach for the host.
  auto isOwn = [](const Base &base) {
    return base.kind == Base::Allocation || base.kind == Base::Module ||
           base.kind == Base::NoAliasArgument;
  };
  if (isOwn(a) || isOwn(b))
    return false;
  return a.kind == Base::Argument || b.kind == Base::Argument;
}

bool gpuasync::mayConflict(ArrayRef<Access> first, ArrayRef<Access> second) {
  return llvm::any_of(first, [&](const Access &a) {
    return llvm::any_of(second, [&](const Access &b) {
      return (a.writes || b.writes) && mayAlias(a.base, b.base);
    });
  });
}

static void findBases(Value value, SmallVectorImpl<Base> &bases,
                      unsigned depth) {
  for (; depth < 256; ++depth) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      auto function = dyn_cast_or_null<FunctionOpInterface>(parent);
      if (!function || !argument.getOwner()->isEntryBlock()) {
        bases.push_back({});
        return;
      }
      bool noAlias = static_cast<bool>(function.getArgAttr(
          argument.getArgNumber(), LLVM::LLVMDialect::getNoAliasAttrName()));
      bases.push_back({noAlias ? Base::NoAliasArgument : Base::Argument, value,
                       Attribute()});
      return;
    }
    Operation *op = value.getDefiningOp();
    if (auto view = dyn_cast<ViewLikeOpInterface>(op)) {
      value = view.getViewSource();
      continue;
    }
    if (isa<memref::AssumeAlignmentOp, memref::ExtractStridedMetadataOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    if (isa<memref::DistinctObjectsOp>(op)) {
      value = op->getOperand(cast<OpResult>(value).getResultNumber());
      continue;
    }
    if (isa<UnrealizedConversionCastOp>(op) && op->getNumOperands() == 1 &&
        isMemory(op->getOperand(0).getType())) {
      value = op->getOperand(0);
      continue;
    }
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      findBases(select.getTrueValue(), bases, depth + 1);
      value = select.getFalseValue();
      continue;
    }
    if (auto global = dyn_cast<memref::GetGlobalOp>(op)) {
      bases.push_back({Base::Global, Value(), global.getNameAttr()});
      return;
    }
    if (isa<AllocOp, gpu::AllocOp, memref::AllocOp, memref::AllocaOp>(op)) {
      bases.push_back({Base::Allocation, value, Attribute()});
      return;
    }
    break;
  }
  bases.push_back({});
}

void gpuasync::findBases(Value value, SmallVectorImpl<Base> &bases) {
  ::findBases(value, bases, 0);
}

void gpuasync::addAccess(Value memory, bool writes, Accesses &accesses) {
  SmallVector<Base, 2> bases;
  findBases(memory, bases);
  for (const Base &base : bases)
    accesses.push_back({base, writes});
}

static bool mayBeAddress(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<arith::ConstantOp>(op))
    return false;
  if (isa<memref::ExtractAlignedPointerAsIndexOp, LLVM::PtrToIntOp>(op))
    return true;
  bool isArithmetic =
      isa<UnrealizedConversionCastOp>(op) ||
      isa_and_nonnull<arith::ArithDialect>(op->getDialect()) ||
      (op->getDialect() && op->getDialect()->getNamespace() == "index");
  if (!isArithmetic)
    return false;
  if (depth == 16)
    return true;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return mayBeAddress(operand, depth + 1);
  });
}

bool gpuasync::mayBeAddress(Value value) { return ::mayBeAddress(value, 0); }

/// Follows a memref argument through views. What is not understood reads and
/// writes.
static KernelEffects::Argument argumentEffects(Value argument) {
  KernelEffects::Argument result{false, false};
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
          worklist.push_back(view.getViewDest());
          continue;
        }
      }
      if (isa<memref::DimOp, memref::RankOp>(user))
        continue;
      auto effects = dyn_cast<MemoryEffectOpInterface>(user);
      bool escapes =
          user->hasTrait<OpTrait::IsTerminator>() || user->getNumRegions() ||
          llvm::any_of(user->getResultTypes(), [](Type type) {
            return !type.isIntOrIndexOrFloat() && !isa<VectorType>(type);
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

const KernelEffects &KernelTable::lookup(Operation *launch,
                                         SymbolRefAttr kernel) {
  Operation *op = symbols.lookupNearestSymbolFrom(launch, kernel);
  auto [it, isNew] = effects.try_emplace(op);
  if (!isNew || !op)
    return it->second;
  KernelEffects &result = it->second;
  if (auto function = dyn_cast<gpu::GPUFuncOp>(op)) {
    for (BlockArgument argument : function.getArguments())
      result.arguments.push_back(isMemory(argument.getType())
                                     ? argumentEffects(argument)
                                     : KernelEffects::Argument());
  }
  if (auto module = op->getParentOfType<gpu::GPUModuleOp>())
    result.hasGlobals =
        llvm::any_of(module.getBody()->getOperations(), [](Operation &inner) {
          if (auto global = dyn_cast<memref::GlobalOp>(inner))
            return !global.getConstant();
          if (auto global = dyn_cast<LLVM::GlobalOp>(inner))
            return !global.getConstant();
          return false;
        });
  return result;
}

static void addLaunchAccesses(Operation *launch, SymbolRefAttr kernel,
                              OperandRange operands, KernelTable &kernels,
                              Accesses &accesses) {
  const KernelEffects &effects = kernels.lookup(launch, kernel);
  for (auto [index, operand] : llvm::enumerate(operands)) {
    Type type = operand.getType();
    if (isMemory(type)) {
      KernelEffects::Argument argument;
      if (effects.arguments.size() == operands.size())
        argument = effects.arguments[index];
      if (argument.reads || argument.writes)
        addAccess(operand, argument.writes, accesses);
      // A memref of memrefs or of addresses leads on.
      if (isa<BaseMemRefType>(cast<BaseMemRefType>(type).getElementType()))
        accesses.push_back({Base(), /*writes=*/true});
      continue;
    }
    bool isNumber =
        type.isIntOrIndexOrFloat() || isa<VectorType, ComplexType>(type);
    if (!isNumber || mayBeAddress(operand))
      accesses.push_back({Base(), /*writes=*/true});
  }
  if (effects.hasGlobals)
    accesses.push_back(
        {{Base::Module, Value(), kernel.getRootReference()}, /*writes=*/true});
}

Accesses gpuasync::deviceAccesses(Operation *op, KernelTable &kernels) {
  Accesses accesses;
  llvm::TypeSwitch<Operation *>(op)
      .Case<gpu::LaunchFuncOp>([&](gpu::LaunchFuncOp launch) {
        addLaunchAccesses(op, launch.getKernel(), launch.getKernelOperands(),
                          kernels, accesses);
      })
      .Case<LaunchOp>([&](LaunchOp launch) {
        addLaunchAccesses(op, launch.getKernel(), launch.getKernelOperands(),
                          kernels, accesses);
      })
      .Case<gpu::MemcpyOp>([&](gpu::MemcpyOp copy) {
        addAccess(copy.getDst(), /*writes=*/true, accesses);
        addAccess(copy.getSrc(), /*writes=*/false, accesses);
      })
      .Case<MemcpyOp>([&](MemcpyOp copy) {
        addAccess(copy.getDestination(), /*writes=*/true, accesses);
        addAccess(copy.getSource(), /*writes=*/false, accesses);
      })
      .Case<gpu::MemsetOp>([&](gpu::MemsetOp set) {
        addAccess(set.getDst(), /*writes=*/true, accesses);
      })
      .Case<MemsetOp>([&](MemsetOp set) {
        addAccess(set.getDestination(), /*writes=*/true, accesses);
      })
      .Case<gpu::AllocOp, AllocOp, gpu::DeallocOp, DeallocOp>([&](auto memory) {
        addAccess(memory.getMemref(), /*writes=*/true, accesses);
      })
      .Case<gpu::HostUnregisterOp>([&](gpu::HostUnregisterOp unregister) {
        addAccess(unregister.getValue(), /*writes=*/true, accesses);
      })
      .Case<HostUnregisterOp>([&](HostUnregisterOp unregister) {
        addAccess(unregister.getMemref(), /*writes=*/true, accesses);
      });
  return accesses;
}

std::optional<Accesses> gpuasync::hostAccesses(Operation *op) {
  Accesses accesses;
  if (op->hasTrait<OpTrait::IsTerminator>() && !op->getNumRegions())
    return accesses;
  if (isa<CallOpInterface>(op))
    return std::nullopt;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(op);
  if (!effects)
    return std::nullopt;
  for (const MemoryEffects::EffectInstance &effect : *effects) {
    if (isa<MemoryEffects::Allocate>(effect.getEffect()))
      continue;
    bool writes = !isa<MemoryEffects::Read>(effect.getEffect());
    Value value = effect.getValue();
    if (value && isMemory(value.getType()))
      addAccess(value, writes, accesses);
    else if (value ||
             effect.getResource() == SideEffects::DefaultResource::get())
      accesses.push_back({Base(), writes});
  }
  return accesses;
}

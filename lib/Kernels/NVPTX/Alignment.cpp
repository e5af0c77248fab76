//===- Alignment.cpp - alignment of workgroup memory ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions that copy whole tensors, boxes or fragments want workgroup
// memory at multiples of more bytes than its elements need.
//===----------------------------------------------------------------------===//

#include "NVPTXLowering.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// What instructions want
//===----------------------------------------------------------------------===//

/// A copy by a tensor map wants 128 bytes. With a swizzle, which is a function
/// of the address, kernels find elements by their offset only where memory
/// begins with the pattern, which repeats after eight rows of its width.
static int64_t getSwizzleAlignment(nvgpu::TensorMapSwizzleKind swizzle) {
  switch (swizzle) {
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_NONE:
    return 128;
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_32B:
    return 256;
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_64B:
    return 512;
  case nvgpu::TensorMapSwizzleKind::SWIZZLE_128B:
    return 1024;
  }
  llvm_unreachable("no other swizzle");
}

/// Where a swizzle is not known there may be any.
static constexpr int64_t unknownSwizzle = 1024;

static int64_t getBoxAlignment(Value descriptor) {
  if (auto cast = descriptor.getDefiningOp<UnrealizedConversionCastOp>())
    descriptor = cast.getOperand(0);
  auto type = dyn_cast<nvgpu::TensorMapDescriptorType>(descriptor.getType());
  return type ? getSwizzleAlignment(type.getSwizzle()) : unknownSwizzle;
}

/// The addresses that `op` takes and what it wants them to be aligned to, by
/// the PTX ISA.
static SmallVector<std::pair<Value, int64_t>> getWanted(Operation *op) {
  using Wanted = SmallVector<std::pair<Value, int64_t>>;
  return llvm::TypeSwitch<Operation *, Wanted>(op)
      .Case([](nvgpu::TmaAsyncLoadOp op) -> Wanted {
        return {{op.getDst(), getBoxAlignment(op.getTensorMapDescriptor())}};
      })
      .Case([](nvgpu::TmaAsyncStoreOp op) -> Wanted {
        return {{op.getSrc(), getBoxAlignment(op.getTensorMapDescriptor())}};
      })
      .Case([](nvgpu::WarpgroupGenerateDescriptorOp op) -> Wanted {
        return {{op.getTensor(), getBoxAlignment(op.getTensorMap())}};
      })
      .Case([](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp op) -> Wanted {
        return {{op.getDstMem(), getBoxAlignment(op.getTmaDescriptor())}};
      })
      .Case<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp,
            NVVM::CpAsyncBulkTensorReduceOp>([](auto op) -> Wanted {
        return {{op.getSrcMem(), getBoxAlignment(op.getTmaDescriptor())}};
      })
      .Case([](NVVM::WgmmaMmaAsyncOp op) -> Wanted {
        return {{op.getDescriptorA(), unknownSwizzle},
                {op.getDescriptorB(), unknownSwizzle}};
      })
      .Case<NVVM::CpAsyncBulkGlobalToSharedClusterOp,
            NVVM::CpAsyncBulkSharedCTAToSharedClusterOp>(
          [](auto op) -> Wanted { return {{op.getDstMem(), 16}}; })
      .Case([](NVVM::CpAsyncBulkSharedCTAToGlobalOp op) -> Wanted {
        return {{op.getSrcMem(), 16}};
      })
      .Case([](nvgpu::DeviceAsyncCopyOp op) -> Wanted {
        auto type = cast<MemRefType>(op.getDst().getType());
        int64_t bits = type.getElementType().isIntOrFloat()
                           ? type.getElementTypeBitWidth()
                           : 128;
        return {{op.getDst(),
                 std::min<int64_t>(16, op.getDstElements().getZExtValue() *
                                           bits / 8)}};
      })
      .Case([](NVVM::CpAsyncOp op) -> Wanted {
        return {{op.getDst(), op.getSize()}};
      })
      .Case([](nvgpu::LdMatrixOp op) -> Wanted {
        return {{op.getSrcMemref(), 16}};
      })
      .Case<NVVM::LdMatrixOp, NVVM::StMatrixOp>(
          [](auto op) -> Wanted { return {{op.getPtr(), 16}}; })
      .Case([](gpu::SubgroupMmaLoadMatrixOp op) -> Wanted {
        return {{op.getSrcMemref(), 32}};
      })
      .Case([](gpu::SubgroupMmaStoreMatrixOp op) -> Wanted {
        return {{op.getDstMemref(), 32}};
      })
      .Case<NVVM::WMMALoadOp, NVVM::WMMAStoreOp>(
          [](auto op) -> Wanted { return {{op.getPtr(), 32}}; })
      .Default([](Operation *) { return Wanted(); });
}

//===----------------------------------------------------------------------===//
// Where addresses come from
//===----------------------------------------------------------------------===//

namespace {
/// Raises the alignment of all that an address may be computed from: an address
/// may come by any value that reaches it, and from anywhere out of memory or
/// from unknown code.
class Aligner {
public:
  explicit Aligner(gpu::GPUModuleOp module) : module(module), symbols(module) {}

  void align(Value address, int64_t bytes);
  int64_t getDynamicAlignment() const { return dynamicAlignment; }

private:
  void visit(Value value);
  void visitArgument(BlockArgument argument);
  void visitAll(ValueRange values) { llvm::append_range(worklist, values); }
  void visitInside(Operation *op);
  void raiseVariable(Operation *variable);
  void raiseAttribution(gpu::GPUFuncOp function, unsigned number);
  void raiseEverything();
  IntegerAttr raised(std::optional<uint64_t> present) {
    return IntegerAttr::get(IntegerType::get(module.getContext(), 64),
                            std::max<int64_t>(present.value_or(0), alignment));
  }

  gpu::GPUModuleOp module;
  SymbolTable symbols;
  int64_t dynamicAlignment = 16, alignment = 0;
  SmallVector<Value> worklist;
  DenseSet<Value> visited;
};
} // namespace

/// Whether a value of `type` may hold an address.
static bool mayHoldAddress(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    type = vector.getElementType();
  return !isa<FloatType>(type) && !type.isInteger(1);
}

void Aligner::align(Value address, int64_t bytes) {
  alignment = bytes;
  visited.clear();
  worklist.assign({address});
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (mayHoldAddress(value.getType()) && visited.insert(value).second)
      visit(value);
  }
}

void Aligner::raiseVariable(Operation *variable) {
  if (auto global = dyn_cast_or_null<memref::GlobalOp>(variable)) {
    if (isWorkgroupSpace(global.getType().getMemorySpace()))
      global.setAlignmentAttr(raised(global.getAlignment()));
  } else if (auto global = dyn_cast_or_null<LLVM::GlobalOp>(variable)) {
    if (global.getAddrSpace() == unsigned(NVVM::NVVMMemorySpace::Shared))
      global.setAlignmentAttr(raised(global.getAlignment()));
  }
}

void Aligner::raiseAttribution(gpu::GPUFuncOp function, unsigned number) {
  StringRef name = LLVM::LLVMDialect::getAlignAttrName();
  auto present = dyn_cast_or_null<IntegerAttr>(
      function.getWorkgroupAttributionAttr(number, name));
  function.setWorkgroupAttributionAttr(
      number, name,
      raised(present ? std::optional<uint64_t>(present.getInt())
                     : std::nullopt));
}

void Aligner::raiseEverything() {
  dynamicAlignment = std::max(dynamicAlignment, alignment);
  for (Operation &op : *module.getBody()) {
    raiseVariable(&op);
    if (auto function = dyn_cast<gpu::GPUFuncOp>(op))
      for (unsigned i = 0; i < function.getNumWorkgroupAttributions(); ++i)
        raiseAttribution(function, i);
  }
}

/// What the blocks inside of `op` hand on or return.
void Aligner::visitInside(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (!block.empty())
        visitAll(block.back().getOperands());
}

void Aligner::visit(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return visitArgument(argument);
  Operation *op = value.getDefiningOp();
  if (auto get = dyn_cast<memref::GetGlobalOp>(op))
    return raiseVariable(symbols.lookup(get.getName()));
  if (auto address = dyn_cast<LLVM::AddressOfOp>(op))
    return raiseVariable(symbols.lookup(address.getGlobalName()));
  if (isa<gpu::DynamicSharedMemoryOp>(op)) {
    dynamicAlignment = std::max(dynamicAlignment, alignment);
    return;
  }
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    auto name = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
    Operation *callee =
        name ? symbols.lookup(name.getRootReference()) : nullptr;
    auto function = dyn_cast_or_null<FunctionOpInterface>(callee);
    return function && !function.isExternal() ? visitInside(function)
                                              : raiseEverything();
  }
  // Numbers out of memory are taken for sizes and places.
  if (hasEffect<MemoryEffects::Read>(op) && op->getNumRegions() == 0)
    return isa<BaseMemRefType, LLVM::LLVMPointerType, LLVM::LLVMStructType,
               LLVM::LLVMArrayType>(value.getType())
               ? raiseEverything()
               : void();
  visitAll(op->getOperands());
  visitInside(op);
}

void Aligner::visitArgument(BlockArgument argument) {
  Block *block = argument.getOwner();
  unsigned number = argument.getArgNumber();
  if (!block->isEntryBlock()) {
    for (auto it = block->pred_begin(); it != block->pred_end(); ++it) {
      Operation *terminator = (*it)->getTerminator();
      auto branch = dyn_cast<BranchOpInterface>(terminator);
      if (!branch) {
        visitAll(terminator->getOperands());
        continue;
      }
      SuccessorOperands operands =
          branch.getSuccessorOperands(it.getSuccessorIndex());
      if (Value operand = operands[number])
        worklist.push_back(operand);
    }
    return;
  }
  auto function = dyn_cast<FunctionOpInterface>(block->getParentOp());
  if (!function) {
    visitAll(block->getParentOp()->getOperands());
    return visitInside(block->getParentOp());
  }
  if (auto kernel = dyn_cast<gpu::GPUFuncOp>(function.getOperation());
      kernel && number >= kernel.getNumArguments()) {
    number -= kernel.getNumArguments();
    if (number < kernel.getNumWorkgroupAttributions())
      raiseAttribution(kernel, number);
    return;
  }
  if (isKernel(function))
    return;
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(function, module);
  if (!uses)
    return raiseEverything();
  for (SymbolTable::SymbolUse use : *uses) {
    auto call = dyn_cast<CallOpInterface>(use.getUser());
    if (!call || number >= call.getArgOperands().size())
      return raiseEverything();
    worklist.push_back(call.getArgOperands()[number]);
  }
}

int64_t gpuasync::alignWorkgroupMemory(gpu::GPUModuleOp module) {
  Aligner aligner(module);
  module.walk([&](Operation *op) {
    for (auto [address, bytes] : getWanted(op))
      aligner.align(address, bytes);
  });
  return aligner.getDynamicAlignment();
}

//===- Legality.cpp - what LLVM has no code for -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's code generators for GPUs end the process, without a place, or write
// what no assembler takes, when they meet what is refused here at its op.
//===----------------------------------------------------------------------===//

#include "GPULowering.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Intrinsics.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// Whether GPUs have nothing for `type`, not even memory.
static bool isIllegal(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.isScalable();
  return isa<Float80Type, Float128Type, LLVM::LLVMPPCFP128Type,
             LLVM::LLVMX86AMXType, LLVM::LLVMTokenType>(type);
}

namespace {
class LegalityCheck {
public:
  LegalityCheck(gpu::GPUModuleOp module, const GPUVendor &vendor)
      : module(module), vendor(vendor) {}
  LogicalResult run();

private:
  LogicalResult check(Operation *op);
  LogicalResult checkType(Operation *op, Type type);
  LogicalResult checkScope(Operation *op, std::optional<StringRef> scope);
  LogicalResult checkPlace(LLVM::GEPOp place);
  LogicalResult checkVariable(LLVM::GlobalOp variable);
  LogicalResult checkFunction(LLVM::LLVMFuncOp function);

  gpu::GPUModuleOp module;
  const GPUVendor &vendor;
  DenseSet<Type> legal;
};
} // namespace

LogicalResult LegalityCheck::checkType(Operation *op, Type type) {
  if (legal.contains(type))
    return success();
  WalkResult result = type.walk([&](Type part) -> WalkResult {
    if (isIllegal(part))
      return op->emitError("'")
             << op->getName() << "' with values of type " << part << ", which "
             << vendor.devices << " do not have";
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(part);
    if (pointer &&
        !llvm::is_contained(vendor.pointerSpaces, pointer.getAddressSpace()))
      return op->emitError("'")
             << op->getName() << "' with a pointer to address space "
             << pointer.getAddressSpace() << ", which " << vendor.devices
             << " do not have";
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  legal.insert(type);
  return success();
}

LogicalResult LegalityCheck::checkScope(Operation *op,
                                        std::optional<StringRef> scope) {
  StringRef name = scope.value_or("");
  bool isLegal =
      (name.empty() || llvm::is_contained(vendor.syncScopes, name)) &&
      (vendor.hasThreadFences || name != "singlethread" ||
       !isa<LLVM::FenceOp>(op));
  if (isLegal)
    return success();
  InFlightDiagnostic diagnostic = op->emitError("'");
  diagnostic << op->getName() << "' with scope \"" << name << "\", which "
             << vendor.devices << " do not have; there are \"\"";
  for (StringRef other : vendor.syncScopes)
    diagnostic << ", \"" << other << "\"";
  return diagnostic;
}

/// From one wide integer to the next the devices' steps are not the host's: an
/// i136 takes 24 bytes on AMD's, an i264 64 on NVIDIA's, and 32 and 48 there.
LogicalResult LegalityCheck::checkPlace(LLVM::GEPOp place) {
  WalkResult result = place.getElemType().walk([&](IntegerType part) {
    return part.getWidth() > 128 ? WalkResult::interrupt()
                                 : WalkResult::advance();
  });
  if (!result.wasInterrupted())
    return success();
  return place->emitError("'")
         << place->getName() << "' with elements of type "
         << place.getElemType() << ", which " << vendor.devices
         << " do not lay out as the host does: integers in memory have 128 "
            "bits at most";
}

LogicalResult LegalityCheck::checkVariable(LLVM::GlobalOp variable) {
  unsigned space = variable.getAddrSpace();
  if (!llvm::is_contained(vendor.variableSpaces, space))
    return variable.emitError("variable @")
           << variable.getSymName() << " is in address space " << space
           << ", where " << vendor.devices << " have no variables";
  if (variable.getThreadLocal_())
    return variable.emitError("variable @")
           << variable.getSymName() << " is thread-local, which "
           << vendor.devices << " do not have";
  if (variable.getLinkage() == LLVM::Linkage::Appending)
    return variable.emitError("variable @")
           << variable.getSymName() << " has appending linkage, which "
           << vendor.devices << " do not have";
  // One of zeros would silently begin with anything.
  bool hasValue =
      variable.getValueOrNull() &&
      !isa<LLVM::UndefAttr, LLVM::PoisonAttr>(variable.getValueOrNull());
  if (Block *initializer = variable.getInitializerBlock())
    hasValue = !isa_and_nonnull<LLVM::UndefOp, LLVM::PoisonOp>(
        initializer->getTerminator()->getOperand(0).getDefiningOp());
  if (space == 3 && hasValue)
    return variable.emitError("workgroup variable @")
           << variable.getSymName()
           << " has a value to begin with, which workgroup memory has not";
  return checkType(variable, variable.getGlobalType());
}

LogicalResult LegalityCheck::checkFunction(LLVM::LLVMFuncOp function) {
  LLVM::LLVMFunctionType type = function.getFunctionType();
  if (isKernel(function) && !isa<LLVM::LLVMVoidType>(type.getReturnType()))
    return function.emitError("kernel returns a value of type ")
           << type.getReturnType() << ": a kernel returns nothing";
  if (function.getLinkage() == LLVM::Linkage::Appending)
    return function.emitError("function has appending linkage, which ")
           << vendor.devices << " do not have";
  // LLVM's own functions may take what others may not.
  return function.getName().starts_with("llvm.") ? success()
                                                 : checkType(function, type);
}

LogicalResult LegalityCheck::check(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (failed(checkType(op, type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(checkType(op, type)))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes())
        if (failed(checkType(op, type)))
          return failure();
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](LLVM::GlobalOp variable) { return checkVariable(variable); })
      .Case([&](LLVM::LLVMFuncOp function) { return checkFunction(function); })
      .Case([&](LLVM::AllocaOp slot) {
        return checkType(op, slot.getElemType());
      })
      .Case([&](LLVM::GEPOp place) { return checkPlace(place); })
      .Case<LLVM::FenceOp, LLVM::AtomicRMWOp, LLVM::AtomicCmpXchgOp>(
          [&](auto access) { return checkScope(op, access.getSyncscope()); })
      .Case<LLVM::LoadOp, LLVM::StoreOp>([&](auto access) {
        return access.getOrdering() == LLVM::AtomicOrdering::not_atomic
                   ? success()
                   : checkScope(op, access.getSyncscope());
      })
      .Case([&](LLVM::CallIntrinsicOp call) -> LogicalResult {
        StringRef name = call.getIntrin();
        llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(name);
        if (id == llvm::Intrinsic::not_intrinsic)
          return op->emitError("LLVM knows no intrinsic ") << name;
        if (llvm::Intrinsic::isTargetIntrinsic(id) &&
            !name.starts_with(vendor.intrinsics))
          return op->emitError("intrinsic ")
                 << name << " is not one of " << vendor.devices
                 << ", which begin "
                 << "with " << vendor.intrinsics;
        return success();
      })
      .Default([](Operation *) { return success(); });
}

LogicalResult LegalityCheck::run() {
  WalkResult result = module->walk([&](Operation *op) -> WalkResult {
    return op == module.getOperation() ? success() : check(op);
  });
  return failure(result.wasInterrupted());
}

LogicalResult gpuasync::checkLegal(gpu::GPUModuleOp module,
                                   const GPUVendor &vendor) {
  return LegalityCheck(module, vendor).run();
}

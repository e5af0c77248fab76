//===- RuntimeWrappers.cpp - functions of one signature for a runner ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `void _gpuasync_packed_f(void **args)` for each public function f, as
// docs/reference/ABI.md describes it.
//===----------------------------------------------------------------------===//

#include "RuntimeLowering.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::runtime;

static bool hasWrapper(ModuleOp module, StringRef name) {
  return name.starts_with(packedPrefix) ||
         module.lookupSymbol((packedPrefix + name).str());
}

SmallVector<PublicFunction> runtime::collectPublicFunctions(ModuleOp module) {
  SmallVector<PublicFunction> functions;
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal() &&
        !hasWrapper(module, func.getSymName()))
      functions.push_back({func, func.getFunctionType()});
  return functions;
}

/// The pointer in slot `index` of `args`.
static Value loadSlot(OpBuilder &builder, Location loc, Value args,
                      int32_t index) {
  Type ptr = LLVM::LLVMPointerType::get(builder.getContext());
  Value slot = args;
  if (index)
    slot = LLVM::GEPOp::create(builder, loc, ptr, ptr, args,
                               ArrayRef<LLVM::GEPArg>(index));
  return LLVM::LoadOp::create(builder, loc, ptr, slot);
}

/// Wraps a function that is lowered together with its wrapper.
static LogicalResult wrap(const PublicFunction &function,
                          const LLVMTypeConverter &converter, bool isStatus) {
  func::FuncOp func = function.func;
  Location loc = func.getLoc();
  OpBuilder builder(func->getContext());
  builder.setInsertionPointAfter(func);
  Type ptr = LLVM::LLVMPointerType::get(func.getContext());
  auto wrapper = func::FuncOp::create(builder, loc,
                                      (packedPrefix + func.getSymName()).str(),
                                      builder.getFunctionType(ptr, {}));
  builder.setInsertionPointToStart(wrapper.addEntryBlock());
  Value args = wrapper.getArgument(0);

  int32_t index = 0;
  SmallVector<Value> operands;
  for (Type type : function.type.getInputs()) {
    Type lowered = converter.convertType(type);
    if (!lowered)
      return func.emitOpError()
             << "has an argument of type " << type << " without a lowering";
    Value slot = loadSlot(builder, loc, args, index++);
    operands.push_back(fromLLVM(
        builder, type, LLVM::LoadOp::create(builder, loc, lowered, slot)));
  }
  TypeRange results = function.type.getResults();
  if (isStatus) {
    if (!results.empty())
      operands.push_back(loadSlot(builder, loc, args, index));
    auto call = func::CallOp::create(builder, loc, func, operands);
    LLVM::StoreOp::create(builder, loc, call.getResult(0),
                          loadSlot(builder, loc, args, index + 1));
  } else {
    auto call = func::CallOp::create(builder, loc, func, operands);
    if (!results.empty()) {
      if (!getResultsType(converter, results))
        return func.emitOpError("has a result type without a lowering");
      storeResults(builder, loc, converter, call.getResults(),
                   loadSlot(builder, loc, args, index));
    }
    LLVM::StoreOp::create(builder, loc, LLVM::ZeroOp::create(builder, loc, ptr),
                          loadSlot(builder, loc, args, index + 1));
  }
  func::ReturnOp::create(builder, loc);
  return success();
}

/// Wraps a function that is in LLVM dialect already: a slot for each argument.
static void wrap(LLVM::LLVMFuncOp func) {
  Location loc = func.getLoc();
  MLIRContext *context = func.getContext();
  OpBuilder builder(context);
  builder.setInsertionPointAfter(func);
  Type ptr = LLVM::LLVMPointerType::get(context);
  auto wrapper = LLVM::LLVMFuncOp::create(
      builder, loc, (packedPrefix + func.getSymName()).str(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), ptr));
  builder.setInsertionPointToStart(wrapper.addEntryBlock(builder));
  Value args = wrapper.getArgument(0);
  int32_t index = 0;
  SmallVector<Value> operands;
  for (Type type : func.getArgumentTypes())
    operands.push_back(LLVM::LoadOp::create(
        builder, loc, type, loadSlot(builder, loc, args, index++)));
  auto call = LLVM::CallOp::create(builder, loc, func, operands);
  if (Value result = call.getResult())
    LLVM::StoreOp::create(builder, loc, result,
                          loadSlot(builder, loc, args, index));
  LLVM::StoreOp::create(builder, loc, LLVM::ZeroOp::create(builder, loc, ptr),
                        loadSlot(builder, loc, args, index + 1));
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

LogicalResult
runtime::emitPackedWrappers(ModuleOp module, ArrayRef<PublicFunction> functions,
                            const LLVMTypeConverter &converter,
                            const llvm::DenseSet<StringAttr> &statusFunctions) {
  for (const PublicFunction &function : functions) {
    func::FuncOp func = function.func;
    StringAttr name = func.getSymNameAttr();
    if (failed(wrap(function, converter, statusFunctions.contains(name))))
      return failure();
  }
  for (auto func :
       llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>())) {
    bool isLocal = func.isPrivate() ||
                   func.getLinkage() == LLVM::Linkage::Internal ||
                   func.getLinkage() == LLVM::Linkage::Private;
    StringRef name = func.getSymName();
    if (!func.isExternal() && !isLocal && !func.isVarArg() &&
        !name.starts_with("_mlir_ciface_") && !hasWrapper(module, name))
      wrap(func);
  }
  return success();
}

//===- Signals.cpp - kernels that tell the host of their end ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last block that has done its work writes to memory of the host, which
// sees that sooner than what a stream or the driver writes behind the kernel
// (docs/reference/ABI.md). Where the launch asks for no signal, a kernel
// compares one parameter with zero before it ends.
//===----------------------------------------------------------------------===//

#include "NVPTXLowering.h"
#include "gpuasync/RuntimeABI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// Builds the end of one kernel.
class SignalBuilder {
public:
  explicit SignalBuilder(LLVM::LLVMFuncOp kernel)
      : kernel(kernel), builder(kernel.getContext()), loc(kernel.getLoc()) {}
  void build();

private:
  Value constant(Type type, int64_t value) {
    return LLVM::ConstantOp::create(builder, loc,
                                    builder.getIntegerAttr(type, value));
  }
  Value isEqual(Value left, Value right) {
    return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, left,
                                right);
  }
  Value addParam();
  /// What `Combine` makes of three special registers.
  template <typename X, typename Y, typename Z, typename Combine>
  Value readRegisters() {
    Type i32 = builder.getI32Type();
    Value xy = Combine::create(builder, loc, X::create(builder, loc, i32),
                               Y::create(builder, loc, i32));
    return Combine::create(builder, loc, xy, Z::create(builder, loc, i32));
  }
  void callIntrinsic(StringRef name, ValueRange operands = {}) {
    LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr(name),
                                  operands);
  }
  /// Goes on in a new block if `condition`, else at the end.
  void goOnIf(Value condition) {
    Block *next = builder.createBlock(end);
    builder.setInsertionPointToEnd(next->getPrevNode());
    LLVM::CondBrOp::create(builder, loc, condition, next, end);
    builder.setInsertionPointToEnd(next);
  }

  LLVM::LLVMFuncOp kernel;
  OpBuilder builder;
  Location loc;
  Block *end = nullptr;
};
} // namespace

/// An address, or 0.
Value SignalBuilder::addParam() {
  return kernel.getBody().front().addArgument(builder.getI64Type(), loc);
}

void SignalBuilder::build() {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), 1);
  Value slot = addParam(), count = addParam();
  kernel.setFunctionType(LLVM::LLVMFunctionType::get(
      kernel.getFunctionType().getReturnType(),
      llvm::to_vector(kernel.getBody().front().getArgumentTypes())));
  if (ArrayAttr attributes = kernel.getArgAttrsAttr()) {
    SmallVector<Attribute> more(attributes.getValue());
    more.append(signalParamCount, builder.getDictionaryAttr({}));
    kernel.setArgAttrsAttr(builder.getArrayAttr(more));
  }
  // One way out of the kernel, which all threads of a block take.
  SmallVector<LLVM::ReturnOp> returns(kernel.getOps<LLVM::ReturnOp>());
  Block *way = builder.createBlock(&kernel.getBody(), kernel.getBody().end());
  end = builder.createBlock(&kernel.getBody(), kernel.getBody().end());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  for (LLVM::ReturnOp op : returns) {
    builder.setInsertionPoint(op);
    LLVM::BrOp::create(builder, op.getLoc(), way);
    op.erase();
  }
  builder.setInsertionPointToEnd(way);
  Value isWanted = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne,
                                        slot, constant(i64, 0));
  goOnIf(isWanted);
  callIntrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", constant(i32, 0));
  goOnIf(isEqual(readRegisters<NVVM::ThreadIdXOp, NVVM::ThreadIdYOp,
                               NVVM::ThreadIdZOp, LLVM::OrOp>(),
                 constant(i32, 0)));
  // The lower half of the count is how many blocks of this launch have come so
  // far, the upper one how many launches have ended.
  callIntrinsic("llvm.nvvm.membar.gl");
  Value counter = LLVM::IntToPtrOp::create(builder, loc, pointer, count);
  Value before = LLVM::AtomicRMWOp::create(
      builder, loc, LLVM::AtomicBinOp::add, counter, constant(i64, 1),
      LLVM::AtomicOrdering::monotonic, "device");
  Value last =
      LLVM::SubOp::create(builder, loc,
                          readRegisters<NVVM::GridDimXOp, NVVM::GridDimYOp,
                                        NVVM::GridDimZOp, LLVM::MulOp>(),
                          constant(i32, 1));
  goOnIf(isEqual(LLVM::TruncOp::create(builder, loc, i32, before), last));
  Value half = constant(i64, 32);
  Value launches = LLVM::AddOp::create(
      builder, loc, LLVM::LShrOp::create(builder, loc, before, half),
      constant(i64, 1));
  LLVM::StoreOp::create(
      builder, loc, LLVM::ShlOp::create(builder, loc, launches, half), counter);
  callIntrinsic("llvm.nvvm.membar.sys");
  LLVM::StoreOp::create(
      builder, loc, LLVM::TruncOp::create(builder, loc, i32, launches),
      LLVM::IntToPtrOp::create(builder, loc, pointer, slot), /*alignment=*/4,
      /*isVolatile=*/true);
  LLVM::BrOp::create(builder, loc, end);
}

void gpuasync::addSignals(gpu::GPUModuleOp module) {
  for (auto kernel : module.getOps<LLVM::LLVMFuncOp>())
    if (!kernel.isExternal() && isKernel(kernel))
      SignalBuilder(kernel).build();
  // What says so is a symbol of the image.
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  LLVM::GlobalOp::create(
      builder, module.getLoc(), builder.getI8Type(), /*isConstant=*/false,
      LLVM::Linkage::External, GPUASYNC_KERNELS_SIGNAL_SYMBOL,
      builder.getI8IntegerAttr(0), /*alignment=*/1, /*addrSpace=*/1);
}

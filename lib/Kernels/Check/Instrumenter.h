//===- Instrumenter.h - calls of the checker --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to lib/Kernels: what gpu-async-instrument-accesses does to a
// function. Instrumenter.cpp has what host code and kernels share,
// KernelCode.cpp and HostCode.cpp have what is peculiar to each.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CHECK_INSTRUMENTER_H
#define GPUASYNC_LIB_KERNELS_CHECK_INSTRUMENTER_H

#include "gpuasync/Check.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::gpuasync::check {

/// An access through a memref: `lanes` elements from `indices` on, along the
/// last dimension.
struct MemRefAccess {
  Value memref;
  SmallVector<Value> indices;
  int64_t lanes = 1;
  /// Only the lanes that lie in the memref are accessed.
  bool clipped = false;
  unsigned flags = 0;
};
/// What an op does through a memref, if anything.
std::optional<MemRefAccess> getMemRefAccess(Operation *op);

/// Instruments the functions of one symbol table: what kernels and host code
/// have in common.
class Instrumenter {
public:
  explicit Instrumenter(Operation *table)
      : table(table), context(table->getContext()), builder(context),
        pointer(LLVM::LLVMPointerType::get(context)), i32(builder.getI32Type()),
        i64(builder.getI64Type()) {}
  virtual ~Instrumenter() = default;
  /// Instruments the body of `code`.
  void instrument(FunctionOpInterface code);

protected:
  /// What else than accesses is to be told of; false for an op that is not.
  virtual bool instrumentOther(Operation *op) = 0;
  /// The place of the thread in its block, as gpuasync/Check.h packs it.
  virtual Value getThread() = 0;
  enum class Through { MemRef, Pointer };
  /// Calls the checker's function for an access, and appends to `operands` what
  /// it takes besides.
  virtual Value askChecker(Through how, SmallVector<Value> &operands) = 0;

  /// So many are out of bounds everywhere.
  static constexpr int64_t mostBytes = int64_t(1) << 55;

  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value toI64(Value value) {
    return value.getType().isIndex()
               ? Value(arith::IndexCastOp::create(builder, loc, i64, value))
               : value;
  }
  LLVM::CallOp call(StringRef name, Type result, ValueRange operands);
  Value getSite(Operation *op, StringRef function);
  /// A name that no symbol of the table has.
  std::string takeName(StringRef prefix);
  Value toGeneric(Value address);
  /// The memref's own address, whatever its offset and rank.
  Value getBase(Value memref);
  /// The address of the first element, and the memref's own.
  std::pair<Value, Value> getAddress(const MemRefAccess &access);
  Value getSize(Value memref, int64_t dim);
  /// What a memref with the identity layout has allocated, as an i64.
  Value getBytes(Value memref);
  Value isAllowed(Value address, Value base, Value access, Operation *op);
  /// `bytes << 8 | flags`, of an i64.
  Value pack(Value bytes, unsigned flags);
  /// Does `op` only if `allowed`; else its results are zeros.
  void guard(Operation *op, Value allowed);

  Operation *table;
  MLIRContext *context;
  OpBuilder builder;
  Type pointer, i32, i64;
  Location loc = builder.getUnknownLoc();
  FunctionOpInterface function;

private:
  /// Calls the checker for `access`, which is `bytes << 8 | flags`.
  Value callChecker(Through how, Value address, Value base, Value access,
                    Operation *op);
  void instrumentMemRef(Operation *op, const MemRefAccess &access);
  void instrumentLLVM(Operation *op);
  void instrumentPointer(Operation *op, OpOperand &address, Type type,
                         unsigned flags);
  void instrumentTransfer(Operation *op, ArrayRef<OpOperand *> pointers,
                          ArrayRef<unsigned> flags, OpOperand &length);

  llvm::StringMap<std::string> sites; ///< text -> symbol
  unsigned symbols = 0;
};

/// Of the functions of a gpu.module.
std::unique_ptr<Instrumenter> makeKernelInstrumenter(Operation *table);
/// Of the functions of a program.
std::unique_ptr<Instrumenter> makeHostInstrumenter(Operation *table);

} // namespace mlir::gpuasync::check

#endif // GPUASYNC_LIB_KERNELS_CHECK_INSTRUMENTER_H

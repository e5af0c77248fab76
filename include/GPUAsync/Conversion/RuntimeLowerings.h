//===- RuntimeLowerings.h - how ops become runtime calls --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of lowerings, which convert-gpu-async-to-runtime asks for each work
// op. A lowering makes the op's command. Other dialects add lowerings of their
// own ops.
//
// A lowering is no pattern of a driver: the conversion goes through each
// function once, in its order, and its ops share what earlier ones have stored.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CONVERSION_RUNTIMELOWERINGS_H
#define GPUASYNC_CONVERSION_RUNTIMELOWERINGS_H

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::gpuasync {

namespace runtime {
struct FunctionState;
class Tables;
} // namespace runtime

/// Memory of a function's frame that runtime calls are given. All ops share
/// it: the runtime reads it before a call returns.
struct Storages {
  enum Storage {
    Block,
    Params,
    Pointers,
    Sizes,
    StridesA,
    StridesB,
    Pattern,
    TensorMap,
    CallArguments,
    Arguments, ///< of all commands of a fragment
    NumStorages
  };
};

/// One piece of work as data: an entry of the runtime (gpuasync/RuntimeABI.h)
/// and what it takes behind the frame. A call can be made of it, or an element
/// of a constant table.
struct Command : Storages {
  /// A value in memory that the entry takes the address of.
  struct Field {
    int64_t offset;
    /// A value, lowered or not; a constant, of the type in memory; or null, for
    /// the address of the buffer with the number `part`.
    OpFoldResult value;
    /// The number of the scalar, if the value is several in LLVM, as a memref.
    unsigned part = 0;
    /// The bytes that are written.
    int64_t bytes = 8;
  };
  struct Buffer {
    /// No two buffers of a command are in one storage.
    Storage storage;
    int64_t bytes;
    SmallVector<Field> fields;
  };
  /// Values of 8 bytes, one after the other.
  static Buffer words(Storage storage, ArrayRef<Value> values);

  struct Operand {
    enum Kind { Scalar, Address, Stream, Site } kind;
    /// A scalar: a value in its LLVM type, or a constant.
    OpFoldResult value = {};
    /// An address: the number of the buffer.
    unsigned buffer = 0;
  };

  explicit Command(StringRef entry) : entry(entry) {}
  Command &add(OpFoldResult value) {
    operands.push_back({Operand::Scalar, value});
    return *this;
  }
  /// The address of a buffer, which is added too or has been.
  Command &add(Buffer buffer) {
    buffers.push_back(std::move(buffer));
    return addBuffer(buffers.size() - 1);
  }
  Command &addBuffer(unsigned number) {
    operands.push_back({Operand::Address, {}, number});
    return *this;
  }
  Command &addStream() {
    operands.push_back({Operand::Stream});
    return *this;
  }
  Command &addSite() {
    operands.push_back({Operand::Site});
    return *this;
  }

  StringRef entry;
  SmallVector<Buffer, 2> buffers;
  SmallVector<Operand> operands;
  /// The numbers of the kernel's module and of the kernel in it.
  unsigned module = 0, kernel = 0;
};

/// Lowers one op. A lowering is a class derived from this one with a method
/// `LogicalResult lower(Op op)`, which reports its errors. The op is erased
/// after it.
class OpLowering : public Storages {
public:
  OpLowering(Operation *op, runtime::FunctionState &state);

protected:
  /// Makes the work. Fails if the op has no stream.
  LogicalResult emit(const Command &command);
  /// The work is what a library's function enqueues. The program may declare
  /// it, as for gpu_async.call; else it is declared here, as replayable if the
  /// op is.
  LogicalResult callLibrary(FlatSymbolRefAttr callee, ValueRange arguments);

  IntegerAttr int32Attr(int64_t value);
  IntegerAttr int64Attr(int64_t value);
  Value int32(int64_t value);
  Value int64(int64_t value);
  /// The number of the frame's device that the op is for.
  Value device();
  /// The value in its LLVM type.
  Value toLLVM(Value value);
  /// The bytes of an element. Reports an error if they are not known.
  FailureOr<int64_t> elementBytes(BaseMemRefType type);
  /// \name Of a ranked memref, constants where the type says them
  /// @{
  Value getStart(Value memref);
  Value getAddress(Value memref, ValueRange indices);
  SmallVector<Value> getSizes(Value memref);
  SmallVector<Value> getStrides(Value memref);
  /// All bytes; the memref has no gaps.
  FailureOr<Value> bytesOf(Value memref);
  /// @}
  /// \name Numbers in memory, each of 8 bytes
  /// @{
  Command::Buffer storeIndices(ValueRange indices, Storage storage = Sizes);
  Command::Buffer storeSizes(Value memref, Storage storage = Sizes);
  Command::Buffer storeStrides(Value memref, Storage storage = StridesA);
  /// @}
  /// The value that a fill writes to elements of `bytes` bytes.
  Command::Buffer storePattern(Value value, int64_t bytes) {
    return {Pattern, 16, {{0, value, 0, bytes}}};
  }

  /// Calls the runtime with the frame first, `result` being null for a function
  /// that returns nothing. The op's place in the schedule stays on the call.
  LLVM::CallOp call(StringRef name, Type result, ValueRange operands);
  /// The stream of a work op; only `mayBeNull` ops work without.
  FailureOr<Value> stream(bool mayBeNull = false);
  Value site();
  /// The bytes of elements with these sizes, without gaps, null if they are not
  /// known here. Sizes of a static type need not be given.
  FailureOr<std::optional<int64_t>> multiplyKnown(ArrayRef<Value> sizes,
                                                  BaseMemRefType type);
  /// These bytes, multiplied by the runtime if need be. It refuses sizes
  /// without a product.
  FailureOr<Value> multiply(ArrayRef<Value> sizes, BaseMemRefType type);
  Value callExtent(Value sizes, Value strides, Value rank,
                   int64_t elementBytes);

  Operation *op;
  runtime::FunctionState &state;
  runtime::Tables &tables;
  OpBuilder builder;
  Location loc;
  Type ptr, i32, i64;
};

/// The lowerings of work ops, by the ops' names.
class RuntimeLowerings {
public:
  using Function = LogicalResult (*)(Operation *op,
                                     runtime::FunctionState &state);

  /// Adds classes derived from OpLowering. The last one for an op counts.
  template <typename... Lowerings>
  void add() {
    (addOne(&Lowerings::lower), ...);
  }
  /// Null: there is none.
  Function lookup(Operation *op) const {
    return functions.lookup(op->getName().getStringRef());
  }

private:
  template <typename Lowering, typename Op>
  void addOne(LogicalResult (Lowering::*)(Op)) {
    functions[Op::getOperationName()] = [](Operation *op,
                                           runtime::FunctionState &state) {
      return Lowering(op, state).lower(cast<Op>(op));
    };
  }

  llvm::StringMap<Function> functions;
};

/// Adds the lowerings of this dialect's work ops.
void populateGPUAsyncToRuntimeLowerings(RuntimeLowerings &lowerings);

/// A dialect that has this interface adds lowerings of its work ops:
///
///   registry.addExtension(+[](MLIRContext *context, MyDialect *dialect) {
///     dialect->addInterfaces<MyLowerings>();
///   });
class RuntimeLoweringInterface
    : public DialectInterface::Base<RuntimeLoweringInterface> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RuntimeLoweringInterface)
  RuntimeLoweringInterface(Dialect *dialect) : Base(dialect) {}
  virtual void populate(RuntimeLowerings &lowerings) const = 0;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_CONVERSION_RUNTIMELOWERINGS_H

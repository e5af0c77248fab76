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
#include "gpuasync/RuntimeABI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

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

/// A command of a region's fragment (gpuasync_fragment), as far as it is known
/// before its op is lowered: which entry of the runtime it is made by.
struct CommandShape {
  gpuasync_command_kind kind;
  int64_t bytes = 0; ///< of its arguments
  std::optional<gpuasync_launch_config> config = std::nullopt; ///< of a launch
  uint32_t flags = 0;

  static CommandShape copy();                     ///< gpuasync_memcpy
  static CommandShape copyStrided(unsigned rank); ///< gpuasync_memcpy_strided
  static CommandShape fill();                     ///< gpuasync_memset
  static CommandShape fillStrided(unsigned rank); ///< gpuasync_memset_strided
  /// OpLowering::callLibrary. Nothing if the runtime cannot record the call.
  static std::optional<CommandShape>
  call(WorkOpInterface op, FlatSymbolRefAttr callee, ValueRange arguments);
  /// Says all memory that a copy or a fill works on. The runtime then need not
  /// look where it is, if it is seen to be the device's own.
  CommandShape on(ValueRange memrefs) const;
};

/// Lowers one op. A lowering is a class derived from this one with a method
/// `LogicalResult lower(Op op)`, which reports its errors. The op is erased
/// after it.
///
/// If the method emits one command always, the class may have a method
/// `std::optional<CommandShape> getShape(Op op)` that says which. Then the op
/// is a command of its region's fragment. Else it is a call between two
/// fragments, with the same result. The method is called before anything is
/// lowered, and makes no ops.
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
  /// All elements, of a power of two of bytes; the memref has no gaps.
  FailureOr<Value> countElements(Value memref);
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
    return lowerings.lookup(op->getName().getStringRef()).lower;
  }
  /// Nothing: the op is no command of a fragment.
  std::optional<CommandShape> getShape(Operation *op,
                                       runtime::FunctionState &state) const {
    auto shape = lowerings.lookup(op->getName().getStringRef()).getShape;
    return shape ? shape(op, state) : std::nullopt;
  }

private:
  struct Entry {
    Function lower = nullptr;
    std::optional<CommandShape> (*getShape)(
        Operation *op, runtime::FunctionState &state) = nullptr;
  };
  template <typename Lowering, typename Op>
  using ShapeOf =
      decltype(std::declval<Lowering &>().getShape(std::declval<Op>()));

  template <typename Lowering, typename Op>
  void addOne(LogicalResult (Lowering::*)(Op)) {
    Entry &entry = lowerings[Op::getOperationName()];
    entry = Entry();
    entry.lower = [](Operation *op, runtime::FunctionState &state) {
      return Lowering(op, state).lower(cast<Op>(op));
    };
    if constexpr (llvm::is_detected<ShapeOf, Lowering, Op>::value)
      entry.getShape = [](Operation *op, runtime::FunctionState &state) {
        return std::optional<CommandShape>(
            Lowering(op, state).getShape(cast<Op>(op)));
      };
  }

  llvm::StringMap<Entry> lowerings;
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

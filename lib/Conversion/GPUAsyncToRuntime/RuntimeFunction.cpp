//===- RuntimeFunction.cpp - what the ops of a function share -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage for the arrays that calls take, descriptors taken apart once, types
// that change through casts, and the branch to the error exit.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "RuntimeLowering.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::runtime;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Value runtime::toLLVM(OpBuilder &builder, const LLVMTypeConverter &converter,
                      Value value) {
  Type type = converter.convertType(value.getType());
  if (!type || type == value.getType())
    return value;
  // What was cast from it already.
  if (auto cast = value.getDefiningOp<UnrealizedConversionCastOp>();
      cast && cast.getNumOperands() == 1 &&
      cast.getOperand(0).getType() == type)
    return cast.getOperand(0);
  // A constant index needs no cast.
  APInt constant;
  if (value.getType().isIndex() &&
      matchPattern(value, m_ConstantInt(&constant)))
    return LLVM::ConstantOp::create(
        builder, value.getLoc(), type,
        builder.getIntegerAttr(type, constant.getSExtValue()));
  return fromLLVM(builder, type, value);
}

Value runtime::fromLLVM(OpBuilder &builder, Type type, Value value) {
  if (type == value.getType())
    return value;
  return UnrealizedConversionCastOp::create(builder, value.getLoc(), type,
                                            value)
      .getResult(0);
}

Value runtime::lookThroughCast(Value memref) {
  auto cast = memref.getDefiningOp<memref::CastOp>();
  return cast && isa<MemRefType>(cast.getSource().getType()) ? cast.getSource()
                                                             : memref;
}

Type runtime::getResultsType(const LLVMTypeConverter &converter,
                             TypeRange results) {
  SmallVector<Type> types;
  for (Type type : results)
    types.push_back(converter.convertType(type));
  if (types.empty())
    return {};
  if (types.size() == 1)
    return types.front();
  return LLVM::LLVMStructType::getLiteral(results.front().getContext(), types);
}

void runtime::storeResults(OpBuilder &builder, Location loc,
                           const LLVMTypeConverter &converter,
                           ValueRange values, Value out) {
  Value all;
  if (values.size() == 1) {
    all = toLLVM(builder, converter, values.front());
  } else {
    all = LLVM::PoisonOp::create(builder, loc,
                                 getResultsType(converter, values.getTypes()));
    for (auto [i, value] : llvm::enumerate(values))
      all = LLVM::InsertValueOp::create(builder, loc, all,
                                        toLLVM(builder, converter, value), i);
  }
  LLVM::StoreOp::create(builder, loc, all, out);
}

//===----------------------------------------------------------------------===//
// FunctionState
//===----------------------------------------------------------------------===//

Value FunctionState::getStorage(Storage which, int64_t bytes) {
  // A block in an array of its own type, everything else in aligned bytes.
  LLVM::AllocaOp &storage = storages[which];
  OpBuilder builder(func.getContext());
  Type element = which == Block ? tables.blockType() : builder.getI8Type();
  int64_t count = which == Block ? 1 : std::max<int64_t>(bytes, 1);
  if (!storage) {
    builder.setInsertionPointToStart(&func.getBody().front());
    Location loc = func.getLoc();
    Value one = tables.constant(builder, loc, tables.i64(), 1);
    storage = LLVM::AllocaOp::create(
        builder, loc, tables.ptr(), element, one,
        /*alignment=*/which == TensorMap ? tensorMapAlignment : 16);
  }
  if (count <= storageBytes[which])
    return storage;
  storageBytes[which] = count;
  if (which != Block)
    storage.setElemType(LLVM::LLVMArrayType::get(element, storageBytes[which]));
  return storage;
}

Value FunctionState::getAddress(Storage which, int64_t bytes) {
  Value storage = getStorage(which, 0);
  if (!bytes)
    return storage;
  Value &address = addresses[{which, bytes}];
  if (!address) {
    OpBuilder builder(func.getContext());
    builder.setInsertionPointAfterValue(storage);
    address = LLVM::GEPOp::create(builder, func.getLoc(), tables.ptr(),
                                  builder.getI8Type(), storage,
                                  ArrayRef<LLVM::GEPArg>(bytes));
  }
  return address;
}

Value FunctionState::getDevice() {
  if (!device) {
    OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
    device = tables.constant(builder, func.getLoc(), tables.i32(), 0);
  }
  return device;
}

void FunctionState::startAt(mlir::Block *block) {
  if (line == block)
    return;
  line = block;
  for (auto &content : contents)
    content.clear();
  unpacked.clear();
  bytes.clear();
}

bool FunctionState::holds(Storage which, int64_t offset, int64_t size,
                          OpFoldResult value, unsigned part) {
  auto &content = contents[which];
  auto next = content.lower_bound(offset);
  if (next != content.end() && next->first == offset &&
      next->second.size == size && next->second.value == value &&
      next->second.part == part)
    return true;
  // What the new value overwrites, in part or as a whole.
  if (next != content.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second.size > offset)
      content.erase(before);
  }
  while (next != content.end() && next->first < offset + size)
    next = content.erase(next);
  content[offset] = {size, value, part};
  return false;
}

ArrayRef<Value> FunctionState::unpack(OpBuilder &builder, Location loc,
                                      Value value) {
  auto [known, isNew] = unpacked.try_emplace(value);
  SmallVector<Value, 5> &values = known->second;
  if (!isNew)
    return values;
  Value lowered = toLLVM(builder, converter, value);
  SmallVector<Value> parts;
  if (auto type = dyn_cast<MemRefType>(value.getType()))
    MemRefDescriptor::unpack(builder, loc, lowered, type, parts);
  else if (isa<UnrankedMemRefType>(value.getType()))
    UnrankedMemRefDescriptor::unpack(builder, loc, lowered, parts);
  else
    parts.push_back(lowered);
  values.assign(parts.begin(), parts.end());
  return values;
}

unsigned FunctionState::countParts(Value value) {
  if (auto type = dyn_cast<MemRefType>(value.getType()))
    return 3 + 2 * type.getRank();
  return isa<UnrankedMemRefType>(value.getType()) ? 2 : 1;
}

Command::Buffer Command::words(Storage storage, ArrayRef<Value> values) {
  Buffer buffer{storage, int64_t(8 * values.size()), {}};
  for (auto [i, value] : llvm::enumerate(values))
    buffer.fields.push_back({int64_t(8 * i), value});
  return buffer;
}

/// The value of a field, of the type in memory.
static Value getFieldValue(FunctionState &state, OpBuilder &builder,
                           Location loc, const Command::Field &field,
                           ArrayRef<Value> addresses) {
  if (!field.value)
    return addresses[field.part];
  if (auto constant = dyn_cast<Attribute>(field.value))
    return LLVM::ConstantOp::create(builder, loc,
                                    cast<TypedAttr>(constant).getType(),
                                    cast<TypedAttr>(constant));
  return state.unpack(builder, loc, cast<Value>(field.value))[field.part];
}

void FunctionState::storeFields(OpBuilder &builder, Location loc,
                                const Command::Buffer &buffer,
                                ArrayRef<Value> addresses, Storage into,
                                int64_t start) {
  Storage which = buffer.storage;
  auto valueOf = [&](const Command::Field &field) {
    return getFieldValue(*this, builder, loc, field, addresses);
  };
  // A launch mostly has little that is new: only that is made.
  bool isLaunch = which == Params || which == Block;
  SmallVector<Value> values;
  if (!isLaunch)
    values = llvm::map_to_vector(buffer.fields, valueOf);
  int64_t end = 0;
  for (auto [i, field] : llvm::enumerate(buffer.fields)) {
    OpFoldResult content = field.value ? field.value : addresses[field.part];
    unsigned part = field.value ? field.part : 0;
    if (!isLaunch) {
      Attribute constant;
      content = matchPattern(values[i], m_Constant(&constant))
                    ? OpFoldResult(constant)
                    : OpFoldResult(values[i]);
      part = 0;
    }
    if (into == Arguments) {
      storeZeros(builder, loc, start + end, field.offset - end);
      end = field.offset + field.bytes;
      // Bytes of an element may have no bits of the value.
      if (which == Pattern &&
          getPackedBits(values[i].getType()) != 8 * field.bytes)
        storeZeros(builder, loc, start + field.offset, field.bytes);
    }
    if (into != Pattern &&
        holds(into, start + field.offset, field.bytes, content, part))
      continue;
    Value value = isLaunch ? valueOf(field) : values[i];
    if (which == Params)
      value = packKernelParam(builder, loc, value);
    else if (which == Block && value.getType().isInteger() &&
             value.getType().getIntOrFloatBitWidth() < 8 * field.bytes)
      value = LLVM::SExtOp::create(builder, loc, tables.i64(), value);
    LLVM::StoreOp::create(builder, loc, value,
                          getAddress(into, start + field.offset));
  }
  if (into == Arguments && buffer.bytes > end)
    storeZeros(builder, loc, start + end, buffer.bytes - end);
}

Value FunctionState::store(OpBuilder &builder, Location loc,
                           const Command::Buffer &buffer,
                           ArrayRef<Value> addresses) {
  Value storage = getStorage(buffer.storage, buffer.bytes);
  storeFields(builder, loc, buffer, addresses, buffer.storage, 0);
  return storage;
}

void FunctionState::storeArguments(OpBuilder &builder, Location loc,
                                   const Command::Buffer &buffer,
                                   int64_t offset) {
  Command::Buffer own = buffer;
  for (Command::Field &field : own.fields)
    if (!field.value)
      field.value = tables.integerAttr(tables.i64(), 0);
  storeFields(builder, loc, own, {}, Arguments, offset);
}

void FunctionState::storeZeros(OpBuilder &builder, Location loc, int64_t offset,
                               int64_t bytes) {
  for (int64_t size; bytes > 0; offset += size, bytes -= size) {
    size = 1;
    while (size < 8 && 2 * size <= bytes && offset % (2 * size) == 0)
      size *= 2;
    Type type = builder.getIntegerType(8 * size);
    IntegerAttr zero = tables.integerAttr(type, 0);
    if (!holds(Arguments, offset, size, zero))
      LLVM::StoreOp::create(builder, loc,
                            LLVM::ConstantOp::create(builder, loc, type, zero),
                            getAddress(Arguments, offset));
  }
}

Value FunctionState::storeAll(OpBuilder &builder, Location loc, Storage which,
                              ValueRange values) {
  return store(builder, loc, Command::words(which, llvm::to_vector(values)),
               {});
}

SmallVector<Value> FunctionState::getSizes(OpBuilder &builder, Location loc,
                                           Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> sizes;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    sizes.push_back(ShapedType::isDynamic(size)
                        ? unpack(builder, loc, memref)[3 + i]
                        : tables.constant(builder, loc, tables.i64(), size));
  return sizes;
}

SmallVector<Value> FunctionState::getStrides(OpBuilder &builder, Location loc,
                                             Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> known;
  int64_t offset;
  (void)type.getStridesAndOffset(known, offset);
  SmallVector<Value> strides;
  for (auto [i, stride] : llvm::enumerate(known))
    strides.push_back(
        ShapedType::isDynamic(stride)
            ? unpack(builder, loc, memref)[3 + type.getRank() + i]
            : tables.constant(builder, loc, tables.i64(), stride));
  return strides;
}

/// The descriptor in memory is {allocated, aligned, offset, sizes[rank],
/// strides[rank]}: the address of one of its words.
static Value getField(OpBuilder &builder, Location loc, Value address,
                      LLVM::GEPArg index) {
  return LLVM::GEPOp::create(builder, loc, address.getType(),
                             builder.getI64Type(), address, index);
}

Value FunctionState::getStart(OpBuilder &builder, Location loc, Value memref) {
  if (auto type = dyn_cast<MemRefType>(memref.getType()))
    return MemRefDescriptor(toLLVM(builder, converter, memref))
        .bufferPtr(builder, loc, converter, type);
  Value descriptor = unpack(builder, loc, memref)[1];
  Value aligned = LLVM::LoadOp::create(builder, loc, tables.ptr(),
                                       getField(builder, loc, descriptor, 1));
  Value offset = LLVM::LoadOp::create(builder, loc, tables.i64(),
                                      getField(builder, loc, descriptor, 2));
  Type element = converter.convertType(
      cast<BaseMemRefType>(memref.getType()).getElementType());
  return LLVM::GEPOp::create(builder, loc, tables.ptr(), element, aligned,
                             LLVM::GEPArg(offset));
}

FunctionState::Shape FunctionState::getShape(OpBuilder &builder, Location loc,
                                             Value memref) {
  if (auto type = dyn_cast<MemRefType>(memref.getType()))
    return {storeAll(builder, loc, Sizes, getSizes(builder, loc, memref)),
            storeAll(builder, loc, StridesA, getStrides(builder, loc, memref)),
            tables.constant(builder, loc, tables.i32(), type.getRank())};
  ArrayRef<Value> unranked = unpack(builder, loc, memref);
  Value rank = unranked[0], sizes = getField(builder, loc, unranked[1], 3);
  return {sizes, getField(builder, loc, sizes, rank),
          LLVM::TruncOp::create(builder, loc, tables.i32(), rank)};
}

void FunctionState::exitIf(OpBuilder &builder, Location loc, Value failed) {
  mlir::Block *head = builder.getInsertionBlock();
  mlir::Block *rest = head->splitBlock(builder.getInsertionPoint());
  builder.setInsertionPointToEnd(head);
  auto branch = cf::CondBranchOp::create(builder, loc, failed, getErrorExit(),
                                         ValueRange(), rest, ValueRange());
  // LLVM's own weights of an unlikely branch.
  branch.setBranchWeights(ArrayRef<int32_t>{1, 2000});
  builder.setInsertionPointToStart(rest);
  // The rest is only reached from here.
  if (line == head)
    line = rest;
}

OpBuilder FunctionState::makeBranch(OpBuilder &builder, Location loc,
                                    Value condition) {
  mlir::Block *head = builder.getInsertionBlock();
  mlir::Block *rest = head->splitBlock(builder.getInsertionPoint());
  mlir::Block *branch = &func.getBody().emplaceBlock();
  branch->moveBefore(rest);
  OpBuilder inside = OpBuilder::atBlockEnd(branch);
  auto back = cf::BranchOp::create(inside, loc, rest);
  inside.setInsertionPoint(back);
  builder.setInsertionPointToEnd(head);
  cf::CondBranchOp::create(builder, loc, condition, branch, ValueRange(), rest,
                           ValueRange());
  builder.setInsertionPointToStart(rest);
  // What the branch does changes no storage.
  if (line == head)
    line = rest;
  return inside;
}

Value FunctionState::loadFailed(OpBuilder &builder, Location loc) {
  Value word = LLVM::LoadOp::create(builder, loc, tables.i32(), frame);
  Value zero = tables.constant(builder, loc, tables.i32(), 0);
  return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, word,
                              zero);
}

void FunctionState::exitIfFrameFailed(OpBuilder &builder, Location loc) {
  exitIf(builder, loc, loadFailed(builder, loc));
}

/// Calls event_export or event_import with `event`.
static Value passEvent(FunctionState &state, OpBuilder &builder, Operation *op,
                       StringRef text, Value event, StringRef name) {
  Tables &tables = state.tables;
  Value lowered = toLLVM(builder, state.converter, event);
  Value site = tables.site(builder, op, nullptr, text);
  Value passed = tables
                     .call(builder, op->getLoc(), name, tables.ptr(),
                           {state.frame, lowered, site})
                     .getResult();
  return fromLLVM(builder, event.getType(), passed);
}

Value FunctionState::exportEvent(OpBuilder &builder, Operation *op,
                                 StringRef text, Value event) {
  return passEvent(*this, builder, op, text, event, gpuasync_event_export_name);
}

void FunctionState::importEvent(OpBuilder &builder, Operation *op,
                                StringRef text, Value event) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : event.getUses())
    uses.push_back(&use);
  Value imported =
      passEvent(*this, builder, op, text, event, gpuasync_event_import_name);
  for (OpOperand *use : uses)
    use->set(imported);
}

mlir::Block *FunctionState::getErrorExit() {
  if (!errorExit)
    errorExit = &func.getBody().emplaceBlock();
  return errorExit;
}

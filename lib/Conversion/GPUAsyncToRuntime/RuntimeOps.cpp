//===- RuntimeOps.cpp - single ops to runtime calls -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op of the stream form becomes a call with the frame, its operands in
// their LLVM types and its site. Types change through casts, which the
// conversion of the rest of the program folds away.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "RuntimeLowering.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::runtime;

//===----------------------------------------------------------------------===//
// Memrefs
//===----------------------------------------------------------------------===//

OpLowering::OpLowering(Operation *op, FunctionState &state)
    : op(op), state(state), tables(state.tables), builder(op),
      loc(op->getLoc()), ptr(tables.ptr()), i32(tables.i32()),
      i64(tables.i64()) {}

IntegerAttr OpLowering::int32Attr(int64_t value) {
  return tables.integerAttr(i32, value);
}
IntegerAttr OpLowering::int64Attr(int64_t value) {
  return tables.integerAttr(i64, value);
}
Value OpLowering::int32(int64_t value) {
  return tables.constant(builder, loc, i32, value);
}
Value OpLowering::int64(int64_t value) {
  return tables.constant(builder, loc, i64, value);
}

Value OpLowering::device() { return state.getDevice(); }

Value OpLowering::toLLVM(Value value) {
  return runtime::toLLVM(builder, state.converter, value);
}

/// An error of a window is one of the program's allocation.
Value OpLowering::site() {
  return tables.site(builder, op, nullptr,
                     isa<WindowOp>(op) ? AllocOp::getOperationName() : "");
}

Value OpLowering::getStart(Value memref) {
  return state.getStart(builder, loc, memref);
}
SmallVector<Value> OpLowering::getSizes(Value memref) {
  return state.getSizes(builder, loc, memref);
}
SmallVector<Value> OpLowering::getStrides(Value memref) {
  return state.getStrides(builder, loc, memref);
}

Value OpLowering::getAddress(Value memref, ValueRange indices) {
  auto type = cast<MemRefType>(memref.getType());
  Value offset = int64(0);
  for (auto [index, stride] : llvm::zip_equal(indices, getStrides(memref)))
    offset = LLVM::AddOp::create(
        builder, loc, offset,
        LLVM::MulOp::create(builder, loc, toLLVM(index), stride));
  return LLVM::GEPOp::create(builder, loc, ptr,
                             state.converter.convertType(type.getElementType()),
                             getStart(memref), ArrayRef<LLVM::GEPArg>(offset));
}

Command::Buffer OpLowering::storeIndices(ValueRange indices, Storage storage) {
  SmallVector<Value> values;
  for (Value index : indices)
    values.push_back(toLLVM(index));
  return Command::words(storage, values);
}

/// The words from `first` on in a descriptor, where `known` does not say them.
static Command::Buffer storeWords(Storages::Storage storage, Value memref,
                                  ArrayRef<int64_t> known, unsigned first) {
  Command::Buffer buffer{storage, int64_t(8 * known.size()), {}};
  Builder builder(memref.getContext());
  for (auto [i, word] : llvm::enumerate(known)) {
    bool isKnown = !ShapedType::isDynamic(word);
    OpFoldResult value =
        isKnown ? OpFoldResult(builder.getI64IntegerAttr(word)) : memref;
    unsigned part = isKnown ? 0 : first + i;
    buffer.fields.push_back({int64_t(8 * i), value, part});
  }
  return buffer;
}

Command::Buffer OpLowering::storeSizes(Value memref, Storage storage) {
  auto type = cast<MemRefType>(memref.getType());
  return storeWords(storage, memref, type.getShape(), 3);
}

Command::Buffer OpLowering::storeStrides(Value memref, Storage storage) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> known;
  int64_t offset;
  (void)type.getStridesAndOffset(known, offset);
  return storeWords(storage, memref, known, 3 + type.getRank());
}

Value OpLowering::callExtent(Value sizes, Value strides, Value rank,
                             int64_t elementBytes) {
  return tables
      .call(builder, loc, gpuasync_extent_name, i64,
            {state.frame, sizes, strides, rank, int64(elementBytes), site()})
      .getResult();
}

LLVM::CallOp OpLowering::call(StringRef name, Type result,
                              ValueRange operands) {
  SmallVector<Value> all = {state.frame};
  all.append(operands.begin(), operands.end());
  LLVM::CallOp result_ = tables.call(builder, loc, name, result, all);
  if (auto work = dyn_cast<WorkOpInterface>(op)) {
    SmallVector<NamedAttribute, 2> place;
    if (std::optional<ArrayRef<int64_t>> after = work.getAfter())
      place.push_back(builder.getNamedAttr(
          "gpu_async.after", builder.getDenseI64ArrayAttr(*after)));
    if (std::optional<uint64_t> id = work.getId())
      place.push_back(
          builder.getNamedAttr("gpu_async.id", builder.getI64IntegerAttr(*id)));
    result_->setDiscardableAttrs(place);
  }
  return result_;
}

FailureOr<Value> OpLowering::stream(bool mayBeNull) {
  auto work = cast<WorkOpInterface>(op);
  if (Value stream = work.getStream())
    return toLLVM(stream);
  // The command of a fragment has a lane.
  if (mayBeNull || state.commands.contains(op))
    return Value(LLVM::ZeroOp::create(builder, loc, ptr));
  return op->emitOpError("has no stream: run gpu-async-make-forks-explicit "
                         "and gpu-async-assign-streams first, or all passes by "
                         "--gpu-async-pipeline");
}

FailureOr<int64_t> OpLowering::elementBytes(BaseMemRefType type) {
  Type element = type.getElementType();
  std::optional<TypeLayout> layout;
  if (Type lowered = state.converter.convertType(element))
    layout = TypeLayout::get(lowered);
  if (!layout)
    return op->emitOpError()
           << "element type " << element << " has no size in memory";
  return layout->size;
}

/// The product of `sizes` and `elementBytes`, if it is less than 2^63.
static std::optional<int64_t> multiplyConstants(ArrayRef<int64_t> sizes,
                                                int64_t elementBytes) {
  if (llvm::is_contained(sizes, 0))
    return 0;
  int64_t bytes = elementBytes;
  for (int64_t size : sizes)
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  return bytes;
}

FailureOr<std::optional<int64_t>>
OpLowering::multiplyKnown(ArrayRef<Value> sizes, BaseMemRefType type) {
  FailureOr<int64_t> element = elementBytes(type);
  if (failed(element))
    return failure();
  if (type.hasStaticShape()) {
    if (std::optional<int64_t> bytes =
            multiplyConstants(type.getShape(), *element))
      return bytes;
    return op->emitOpError() << "has " << type << ", whose elements of "
                             << *element << " bytes are 2^63 bytes or more";
  }
  // Constants that have no product may be in code that never runs.
  SmallVector<int64_t> constants;
  for (Value size : sizes)
    if (APInt constant; matchPattern(size, m_ConstantInt(&constant)) &&
                        constant.isNonNegative())
      constants.push_back(constant.getSExtValue());
  if (constants.size() != sizes.size())
    return std::optional<int64_t>();
  return multiplyConstants(constants, *element);
}

FailureOr<Value> OpLowering::multiply(ArrayRef<Value> sizes,
                                      BaseMemRefType type) {
  FailureOr<std::optional<int64_t>> known = multiplyKnown(sizes, type);
  if (failed(known))
    return failure();
  if (*known)
    return int64(**known);
  Value stored = state.storeAll(builder, loc, Sizes, sizes);
  Value none = LLVM::ZeroOp::create(builder, loc, ptr);
  return callExtent(stored, none, int32(sizes.size()), *elementBytes(type));
}

FailureOr<Value> OpLowering::bytesOf(Value memref) {
  if (Value known = state.bytes.lookup(memref))
    return known;
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> sizes;
  if (!type.hasStaticShape())
    sizes = getSizes(memref);
  FailureOr<Value> bytes = multiply(sizes, type);
  if (succeeded(bytes))
    state.bytes[memref] = *bytes;
  return bytes;
}

FailureOr<Value> OpLowering::countElements(Value memref) {
  FailureOr<int64_t> element =
      elementBytes(cast<BaseMemRefType>(memref.getType()));
  FailureOr<Value> bytes = bytesOf(memref);
  if (failed(element) || failed(bytes))
    return failure();
  APInt known;
  if (matchPattern(*bytes, m_ConstantInt(&known)))
    return int64(known.getSExtValue() / *element);
  assert(llvm::isPowerOf2_64(*element));
  return LLVM::LShrOp::create(builder, loc, *bytes,
                              int64(llvm::Log2_64(*element)))
      .getResult();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

LogicalResult OpLowering::emit(const Command &command) {
  if (state.commands.contains(op))
    return addToFragment(command, op, state, builder);
  FailureOr<Value> on = stream();
  if (failed(on))
    return failure();
  SmallVector<Value> addresses;
  for (const Command::Buffer &buffer : command.buffers)
    addresses.push_back(state.store(builder, loc, buffer, addresses));
  KernelRef kernel{command.module, command.kernel, {}};
  SmallVector<Value> operands;
  for (const Command::Operand &operand : command.operands)
    switch (operand.kind) {
    case Command::Operand::Stream:
      operands.push_back(*on);
      break;
    case Command::Operand::Site:
      operands.push_back(tables.site(builder, op, &kernel));
      break;
    case Command::Operand::Address:
      operands.push_back(addresses[operand.buffer]);
      break;
    case Command::Operand::Scalar:
      if (auto value = dyn_cast<Value>(operand.value))
        operands.push_back(value);
      else
        operands.push_back(LLVM::ConstantOp::create(
            builder, loc, cast<IntegerAttr>(cast<Attribute>(operand.value))));
    }
  call(command.entry, {}, operands);
  return success();
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

namespace {

/// The base of lowerings that make memory.
struct Lowering : OpLowering {
  using OpLowering::OpLowering;

  /// Lowers what is no work: streams, events, regions, host memory.
  LogicalResult lowerOther();
  LogicalResult checkSizes(memref::AllocOp alloc);

protected:
  FailureOr<Value> hostBytes(Value memref);
  /// The sizes of a new memref; `dynamic` are those that the type leaves open.
  SmallVector<Value> sizesOfNew(MemRefType type, ValueRange dynamic);
  /// The descriptor of memory with the identity layout.
  Value describe(MemRefType type, ArrayRef<Value> sizes, Value memory);
  LogicalResult lower(WindowOp op);
  LogicalResult lower(ConstantOp op);
  LogicalResult lower(ResidentOp op);
  void lowerNumber(Value number, FlatSymbolRefAttr group, StringRef entry);
  LogicalResult lower(HostRegisterOp op);
  LogicalResult lower(HostUnregisterOp op);
  void waitOnHost(StringRef name, ValueRange handles);
  void lowerRegion(RegionOp region);
  Value replace(Value result, Value with) {
    Value value = fromLLVM(builder, result.getType(), with);
    result.replaceAllUsesWith(value);
    return value;
  }
};

struct LowerLaunch : OpLowering {
  using OpLowering::OpLowering;
  LogicalResult lower(LaunchOp launch);
  std::optional<CommandShape> getShape(LaunchOp launch);
};
struct LowerAlloc : Lowering {
  using Lowering::Lowering;
  LogicalResult lower(AllocOp alloc);
};
struct LowerDealloc : Lowering {
  using Lowering::Lowering;
  LogicalResult lower(DeallocOp dealloc);
};
struct LowerMemcpy : OpLowering {
  using OpLowering::OpLowering;
  LogicalResult lower(MemcpyOp copy);
  std::optional<CommandShape> getShape(MemcpyOp copy);
};
struct LowerMemset : OpLowering {
  using OpLowering::OpLowering;
  LogicalResult lower(MemsetOp set);
  std::optional<CommandShape> getShape(MemsetOp set);
};
struct LowerCall : OpLowering {
  using OpLowering::OpLowering;
  LogicalResult lower(CallOp call) {
    return callLibrary(call.getCalleeAttr(), call.getArguments());
  }
  std::optional<CommandShape> getShape(CallOp call) {
    return CommandShape::call(call, call.getCalleeAttr(), call.getArguments());
  }
};
struct LowerCollective : OpLowering {
  using OpLowering::OpLowering;
  LogicalResult lower(CollectiveOp collective);
};

} // namespace

void gpuasync::populateGPUAsyncToRuntimeLowerings(RuntimeLowerings &lowerings) {
  lowerings.add<LowerLaunch, LowerAlloc, LowerDealloc, LowerMemcpy, LowerMemset,
                LowerCall, LowerCollective>();
}

SmallVector<Value> Lowering::sizesOfNew(MemRefType type, ValueRange dynamic) {
  SmallVector<Value> sizes;
  for (int64_t dim : type.getShape()) {
    if (!ShapedType::isDynamic(dim)) {
      sizes.push_back(int64(dim));
      continue;
    }
    sizes.push_back(toLLVM(dynamic.front()));
    dynamic = dynamic.drop_front();
  }
  return sizes;
}

Value Lowering::describe(MemRefType type, ArrayRef<Value> sizes, Value memory) {
  int64_t rank = type.getRank();
  SmallVector<int64_t> known;
  int64_t offset;
  (void)type.getStridesAndOffset(known, offset);
  SmallVector<Value> strides(rank);
  for (int64_t i = rank - 1; i >= 0; --i) {
    if (!ShapedType::isDynamic(known[i]))
      strides[i] = int64(known[i]);
    else if (i + 2 == rank)
      strides[i] = sizes[i + 1];
    else
      strides[i] =
          LLVM::MulOp::create(builder, loc, sizes[i + 1], strides[i + 1]);
  }
  auto descriptor =
      MemRefDescriptor::poison(builder, loc, state.converter.convertType(type));
  descriptor.setAllocatedPtr(builder, loc, memory);
  descriptor.setAlignedPtr(builder, loc, memory);
  descriptor.setConstantOffset(builder, loc, 0);
  for (int64_t i = 0; i < rank; ++i) {
    descriptor.setSize(builder, loc, i, sizes[i]);
    descriptor.setStride(builder, loc, i, strides[i]);
  }
  return descriptor;
}

/// Bytes of host memory, from its first element to its last.
FailureOr<Value> Lowering::hostBytes(Value memref) {
  auto type = cast<BaseMemRefType>(memref.getType());
  auto ranked = dyn_cast<MemRefType>(type);
  if (ranked && !ranked.isStrided())
    return op->emitOpError("needs a memref with strides");
  if (ranked && isOnePiece(ranked))
    return bytesOf(memref);
  FailureOr<int64_t> element = elementBytes(type);
  if (failed(element))
    return failure();
  FunctionState::Shape shape = state.getShape(builder, loc, memref);
  return callExtent(shape.sizes, shape.strides, shape.rank, *element);
}

std::optional<CommandShape> LowerLaunch::getShape(LaunchOp launch) {
  const LaunchParams *params = tables.getParams(launch);
  if (!params)
    return std::nullopt;
  CommandShape shape = {GPUASYNC_COMMAND_LAUNCH, params->bytes,
                        getConstantConfig(launch, params->bytes)};
  if (!shape.config)
    shape.bytes += sizeof(gpuasync_launch_config);
  return shape;
}

LogicalResult LowerLaunch::lower(LaunchOp launch) {
  FailureOr<KernelRef> kernel = tables.lookupKernel(launch);
  if (failed(kernel))
    return failure();
  const LaunchParams *layout = tables.getParams(launch);
  if (!layout)
    return failure();
  ArrayRef<int64_t> sizes = layout->sizes;
  if (DenseI64ArrayAttr params = kernel->attr.getParams();
      params && params.asArrayRef() != sizes) {
    InFlightDiagnostic diag = op->emitOpError();
    diag << "passes arguments that are not those of the kernel: "
         << sizes.size() << " parameters of [";
    llvm::interleaveComma(sizes, diag);
    diag << "] bytes instead of " << params.size() << " of [";
    llvm::interleaveComma(params.asArrayRef(), diag);
    return diag << "] (a memref is the scalars of its descriptor)";
  }

  // A ready-made kernel may want a pointer to a tensor map, or have another
  // layout, and nothing would tell.
  if (!kernel->attr.getParams() && layout->uncommon)
    return op->emitOpError("passes a value of type ")
           << layout->uncommon
           << " to a kernel of a ready-made binary, whose parameters are "
              "not known: it would need the gpu.module";

  // The parameters, each at its place in the packed buffer.
  Command::Buffer params{Params, layout->bytes, {}};
  unsigned number = 0;
  for (Value operand : launch.getKernelOperands())
    for (unsigned part = 0, parts = state.countParts(operand); part != parts;
         ++part, ++number)
      params.fields.push_back(
          {layout->offsets[number], operand, part, sizes[number]});

  // Each field at its place in a gpuasync_launch_config.
  Command::Buffer block{Block, 0, {}};
  auto set = [&](size_t offset, OpFoldResult value, int64_t bytes = 8) {
    block.fields.push_back({int64_t(offset), value, /*part=*/0, bytes});
  };
  auto setSize = [&](size_t offset, Value value) {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      set(offset, int64Attr(constant.getSExtValue()));
    else
      set(offset, value);
  };
  Value dims[] = {launch.getGridSizeX(),  launch.getGridSizeY(),
                  launch.getGridSizeZ(),  launch.getBlockSizeX(),
                  launch.getBlockSizeY(), launch.getBlockSizeZ()};
  for (int i = 0; i < 6; ++i)
    setSize(offsetof(gpuasync_launch_config, grid) + 8 * i, dims[i]);
  for (int i = 0; i < 3; ++i) {
    size_t offset = offsetof(gpuasync_launch_config, cluster) + 8 * i;
    if (launch.getClusterSizes().empty())
      set(offset, int64Attr(0));
    else
      setSize(offset, launch.getClusterSizes()[i]);
  }
  if (Value shared = launch.getDynamicSharedMemorySize())
    setSize(offsetof(gpuasync_launch_config, dynamicSharedBytes), shared);
  else
    set(offsetof(gpuasync_launch_config, dynamicSharedBytes), int64Attr(0));
  set(offsetof(gpuasync_launch_config, flags),
      int32Attr(launch.getCooperative() ? GPUASYNC_LAUNCH_COOPERATIVE : 0), 4);
  set(offsetof(gpuasync_launch_config, paramBytes), int32Attr(layout->bytes),
      4);
  set(offsetof(gpuasync_launch_config, params), OpFoldResult());

  Command command(gpuasync_launch_name);
  command.module = kernel->module;
  command.kernel = kernel->kernel;
  command.buffers.push_back(std::move(params));
  return emit(command.addStream().addSite().add(std::move(block)));
}

LogicalResult LowerAlloc::lower(AllocOp alloc) {
  MemRefType type = alloc.getMemref().getType();
  FailureOr<Value> on = stream(/*mayBeNull=*/true);
  if (failed(on))
    return failure();
  if (!type.getLayout().isIdentity() || !alloc.getSymbolOperands().empty())
    return op->emitOpError(
        "can only allocate memory with the identity layout: allocate that, and "
        "take a view of it");

  SmallVector<Value> sizes = sizesOfNew(type, alloc.getDynamicSizes());
  FailureOr<Value> bytes = multiply(sizes, type);
  if (failed(bytes))
    return failure();
  uint32_t flags = alloc.getHostShared() ? GPUASYNC_ALLOC_HOST_SHARED
                                         : GPUASYNC_ALLOC_DEVICE;
  // The bytes of a slab are those of several allocations of the program.
  size_t windows =
      llvm::count_if(alloc.getMemref().getUsers(), llvm::IsaPred<WindowOp>);
  std::string text;
  if (windows)
    text = (op->getName().getStringRef() + " of " + Twine(windows) +
            " planned allocations")
               .str();
  Value memory = call(gpuasync_alloc_name, ptr,
                      {device(), *on, *bytes, int32(flags),
                       tables.site(builder, op, nullptr, text)})
                     .getResult();
  Value descriptor = describe(type, sizes, memory);
  // The host may use host-shared memory at once, so it must be there.
  if (alloc.getHostShared())
    state.exitIfFrameFailed(builder, loc);
  state.bytes[replace(alloc.getMemref(), descriptor)] = *bytes;
  return success();
}

LogicalResult LowerDealloc::lower(DeallocOp dealloc) {
  FailureOr<Value> on = stream(/*mayBeNull=*/true);
  if (failed(on))
    return failure();
  MemRefDescriptor descriptor(toLLVM(dealloc.getMemref()));
  call(gpuasync_dealloc_name, {},
       {device(), *on, descriptor.allocatedPtr(builder, loc), site()});
  return success();
}

/// Has the sizes of one of the program's allocations, which are checked as they
/// were there.
LogicalResult Lowering::lower(WindowOp window) {
  MemRefType type = window.getMemref().getType();
  SmallVector<Value> sizes = sizesOfNew(type, window.getDynamicSizes());
  FailureOr<Value> bytes = multiply(sizes, type);
  if (failed(bytes))
    return failure();
  MemRefDescriptor slab(toLLVM(window.getSlab()));
  Value memory = LLVM::GEPOp::create(
      builder, loc, ptr, builder.getI8Type(), slab.alignedPtr(builder, loc),
      ArrayRef<LLVM::GEPArg>(toLLVM(window.getOffset())));
  state.bytes[replace(window.getMemref(), describe(type, sizes, memory))] =
      *bytes;
  return success();
}

LogicalResult Lowering::lower(ConstantOp constant) {
  MemRefType type = cast<MemRefType>(constant.getMemref().getType());
  // The table of the constant says its bytes.
  if (failed(elementBytes(type)))
    return failure();
  Value memory = call(gpuasync_constant_name, ptr,
                      {device(), int32(tables.getConstant(constant)), site()})
                     .getResult();
  replace(constant.getMemref(),
          describe(type, sizesOfNew(type, ValueRange()), memory));
  return success();
}

LogicalResult Lowering::lower(ResidentOp resident) {
  Value memref = resident.getMemref();
  MemRefType type = cast<MemRefType>(resident.getCopy().getType());
  FailureOr<Value> bytes = bytesOf(memref);
  if (failed(bytes))
    return failure();
  Value memory =
      call(gpuasync_resident_name, ptr,
           {device(), state.getStart(builder, loc, memref), *bytes, site()})
          .getResult();
  state.bytes[replace(
      resident.getCopy(),
      describe(type, state.getSizes(builder, loc, memref), memory))] = *bytes;
  return success();
}

/// Whether the lowering of a copy or a fill reports no error of the type.
static bool hasCommand(MemRefType type, const LLVMTypeConverter &converter) {
  Type element = converter.convertType(type.getElementType());
  return type.isStrided() && element && TypeLayout::get(element);
}

std::optional<CommandShape> LowerMemcpy::getShape(MemcpyOp copy) {
  auto to = cast<MemRefType>(copy.getDestination().getType());
  auto from = cast<MemRefType>(copy.getSource().getType());
  if (!hasCommand(to, state.converter) || !hasCommand(from, state.converter))
    return std::nullopt;
  CommandShape shape = isOnePiece(to) && isOnePiece(from)
                           ? CommandShape::copy()
                           : CommandShape::copyStrided(to.getRank());
  return shape.on({copy.getDestination(), copy.getSource()});
}

LogicalResult LowerMemcpy::lower(MemcpyOp copy) {
  auto destType = cast<MemRefType>(copy.getDestination().getType());
  auto sourceType = cast<MemRefType>(copy.getSource().getType());
  FailureOr<int64_t> element = elementBytes(sourceType);
  if (failed(element))
    return failure();
  if (!destType.isStrided() || !sourceType.isStrided())
    return op->emitOpError("needs memrefs with strides");
  Value dest = copy.getDestination(), source = copy.getSource();
  Value to = getStart(dest), from = getStart(source);

  if (isOnePiece(destType) && isOnePiece(sourceType)) {
    // What is known of either side spares asking.
    bool useDest =
        !state.bytes.contains(source) &&
        (state.bytes.contains(dest) ||
         destType.getNumDynamicDims() < sourceType.getNumDynamicDims());
    FailureOr<Value> bytes = bytesOf(useDest ? dest : source);
    if (failed(bytes))
      return failure();
    return emit(Command(gpuasync_memcpy_name)
                    .addStream()
                    .add(to)
                    .add(from)
                    .add(*bytes)
                    .addSite());
  }
  SmallVector<Value> sizes;
  for (auto [of, other, size] :
       llvm::zip_equal(getSizes(source), getSizes(dest), sourceType.getShape()))
    sizes.push_back(ShapedType::isDynamic(size) ? other : of);
  return emit(Command(gpuasync_memcpy_strided_name)
                  .addStream()
                  .add(to)
                  .add(storeStrides(dest, StridesA))
                  .add(from)
                  .add(storeStrides(source, StridesB))
                  .add(Command::words(Sizes, sizes))
                  .add(int32Attr(sourceType.getRank()))
                  .add(int32Attr(*element))
                  .addSite());
}

std::optional<CommandShape> LowerMemset::getShape(MemsetOp set) {
  auto type = cast<MemRefType>(set.getDestination().getType());
  if (!hasCommand(type, state.converter))
    return std::nullopt;
  CommandShape shape = isOnePiece(type)
                           ? CommandShape::fill()
                           : CommandShape::fillStrided(type.getRank());
  return shape.on(set.getDestination());
}

LogicalResult LowerMemset::lower(MemsetOp set) {
  auto type = cast<MemRefType>(set.getDestination().getType());
  FailureOr<int64_t> element = elementBytes(type);
  if (failed(element))
    return failure();
  if (*element > 16 || !llvm::isPowerOf2_64(*element))
    return op->emitOpError()
           << "sets elements of 1, 2, 4, 8 or 16 bytes, but those of " << type
           << " have " << *element;
  if (!type.isStrided())
    return op->emitOpError("needs a memref with strides");
  Value dest = set.getDestination();
  Value to = getStart(dest);
  Command::Buffer pattern = storePattern(set.getValue(), *element);

  if (isOnePiece(type)) {
    FailureOr<Value> count = countElements(dest);
    if (failed(count))
      return failure();
    return emit(Command(gpuasync_memset_name)
                    .addStream()
                    .add(to)
                    .add(pattern)
                    .add(int32Attr(*element))
                    .add(*count)
                    .addSite());
  }
  Command command(gpuasync_memset_strided_name);
  command.buffers = {pattern, storeSizes(dest), storeStrides(dest)};
  return emit(command.addStream()
                  .add(to)
                  .addBuffer(2)
                  .addBuffer(1)
                  .add(int32Attr(type.getRank()))
                  .addBuffer(0)
                  .add(int32Attr(*element))
                  .addSite());
}

/// The lowering of memref multiplies sizes without looking at the product.
LogicalResult Lowering::checkSizes(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  SmallVector<Value> sizes;
  if (!type.hasStaticShape())
    sizes = sizesOfNew(type, alloc.getDynamicSizes());
  FailureOr<std::optional<int64_t>> known = multiplyKnown(sizes, type);
  if (failed(known))
    return failure();
  if (*known)
    return success();
  state.bytes[alloc.getMemref()] = *multiply(sizes, type);
  // The host may use the memory at once.
  state.exitIfFrameFailed(builder, loc);
  return success();
}

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

/// A value of up to 8 bytes as one of 8, whose other bytes are zero.
static Value widen(OpBuilder &builder, Location loc, Value value) {
  Type type = value.getType();
  if (type.isF32()) {
    type = builder.getI32Type();
    value = LLVM::BitcastOp::create(builder, loc, type, value);
  }
  return type.isInteger(32) ? builder.createOrFold<LLVM::ZExtOp>(
                                  loc, builder.getI64Type(), value)
                            : value;
}

/// Between gpuasync_call_begin and gpuasync_call_end, unless the former says
/// no; one that may be recorded is the runtime's to call.
LogicalResult OpLowering::callLibrary(FlatSymbolRefAttr name,
                                      ValueRange arguments) {
  FailureOr<Value> on = stream();
  if (failed(on))
    return failure();
  // Taken apart before the branch, for the ops behind it.
  SmallVector<Value> operands = {Value()};
  for (Value operand : arguments)
    llvm::append_range(operands, state.unpack(builder, loc, operand));
  SmallVector<Type> types = {ptr};
  llvm::append_range(types, ValueRange(operands).drop_front().getTypes());
  FailureOr<LLVM::LLVMFuncOp> callee = tables.declareLibrary(
      cast<WorkOpInterface>(op), name, LLVM::LLVMFunctionType::get(i32, types));
  if (failed(callee))
    return failure();
  if ((*callee)->hasAttr(GPUAsyncDialect::getReplayableName())) {
    SmallVector<Value> words;
    for (Value operand : ArrayRef(operands).drop_front())
      words.push_back(widen(builder, loc, operand));
    Value unpacked = tables.addressOf(
        builder, loc, FlatSymbolRefAttr::get(tables.getUnpacked(*callee)));
    return emit(Command(gpuasync_call_replayable_name)
                    .add(Command::words(Pointers, *on))
                    .add(int32Attr(1))
                    .add(unpacked)
                    .add(Command::words(CallArguments, words))
                    .add(int32Attr(static_cast<int64_t>(8 * words.size())))
                    .addSite());
  }
  Value site = tables.site(builder, op);
  Value streams = state.storeAll(builder, loc, Pointers, *on);
  operands.front() =
      call(gpuasync_call_begin_name, ptr, {streams, int32(1), site})
          .getResult();
  Value none = LLVM::ZeroOp::create(builder, loc, ptr);
  Value isLegal = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne,
                                       operands.front(), none);
  OpBuilder inside = state.makeBranch(builder, loc, isLegal);
  auto result = LLVM::CallOp::create(inside, loc, *callee, operands);
  tables.call(inside, loc, gpuasync_call_end_name, {},
              {state.frame, result.getResult(), site});
  return success();
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

LogicalResult LowerCollective::lower(CollectiveOp collective) {
  SmallVector<Value> arguments = {
      tables.addressOf(builder, loc, tables.addCollective(collective))};
  for (Value memref : {collective.getDestination(), collective.getSource()}) {
    if (!memref) {
      arguments.push_back(LLVM::ZeroOp::create(builder, loc, ptr));
      arguments.push_back(int64(0));
      continue;
    }
    FailureOr<Value> count = countElements(memref);
    if (failed(count))
      return failure();
    arguments.push_back(getStart(memref));
    arguments.push_back(*count);
  }
  return callLibrary(FlatSymbolRefAttr::get(op->getContext(),
                                            gpuasync_collective_enqueue_name),
                     arguments);
}

/// A number of ranks, which the host may compute with at once.
void Lowering::lowerNumber(Value number, FlatSymbolRefAttr group,
                           StringRef entry) {
  Value address = tables.addressOfGroup(builder, op, group);
  replace(number, call(entry, i64, {address, site()}).getResult());
  state.exitIfFrameFailed(builder, loc);
}

//===----------------------------------------------------------------------===//
// Registered memory
//===----------------------------------------------------------------------===//

LogicalResult Lowering::lower(HostRegisterOp host) {
  Value memref = lookThroughCast(host.getMemref());
  FailureOr<Value> bytes = hostBytes(memref);
  if (failed(bytes))
    return failure();
  call(gpuasync_host_register_name, {},
       {state.getStart(builder, loc, memref), *bytes, site()});
  return success();
}

/// Of no bytes nothing was registered: null, then, which is ignored.
LogicalResult Lowering::lower(HostUnregisterOp host) {
  Value memref = lookThroughCast(host.getMemref());
  FailureOr<Value> bytes = hostBytes(memref);
  if (failed(bytes))
    return failure();
  Value isThere = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne,
                                       *bytes, int64(0));
  Value start = state.getStart(builder, loc, memref);
  Value none = LLVM::ZeroOp::create(builder, loc, ptr);
  call(gpuasync_host_unregister_name, {},
       {LLVM::SelectOp::create(builder, loc, isThere, start, none), site()});
  return success();
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

void Lowering::waitOnHost(StringRef name, ValueRange handles) {
  SmallVector<Value> pointers;
  for (Value handle : handles)
    pointers.push_back(toLLVM(handle));
  Value array = state.storeAll(builder, loc, Pointers, pointers);
  Value result =
      call(name, i32, {array, int32(pointers.size()), site()}).getResult();
  Value failed = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne,
                                      result, int32(0));
  state.exitIf(builder, loc, failed);
}

/// The body becomes a part of what is around it, perhaps between calls.
void Lowering::lowerRegion(RegionOp region) {
  RegionPlan &plan = state.regions.at(region);
  uint32_t number = tables.addRegion();
  StringRef text = op->getName().getStringRef();
  plan.site = tables.addSite(op, nullptr, text, number);
  if (plan.form == RegionPlan::Calls)
    call(gpuasync_region_begin_name, {}, int32(plan.site));
  auto end = [&](YieldOp yield) {
    builder.setInsertionPoint(yield);
    if (plan.form == RegionPlan::Calls)
      call(gpuasync_region_end_name, {},
           tables.site(builder, yield, nullptr, text, number));
  };
  mlir::Block *before = op->getBlock();
  Region &body = region.getBody();
  if (body.hasOneBlock()) {
    auto yield = cast<YieldOp>(body.front().getTerminator());
    end(yield);
    region->replaceAllUsesWith(yield.getOperands());
    yield.erase();
    before->getOperations().splice(op->getIterator(),
                                   body.front().getOperations());
    return;
  }
  mlir::Block *after = before->splitBlock(op);
  SmallVector<Location> locs(region.getNumResults(), loc);
  after->addArguments(region.getResultTypes(), locs);
  region->replaceAllUsesWith(after->getArguments());
  for (mlir::Block &block : body) {
    auto yield = dyn_cast<YieldOp>(block.getTerminator());
    if (!yield)
      continue;
    end(yield);
    cf::BranchOp::create(builder, yield.getLoc(), after, yield.getOperands());
    yield.erase();
  }
  builder.setInsertionPointToEnd(before);
  cf::BranchOp::create(builder, loc, &body.front());
  before->getParent()->getBlocks().splice(after->getIterator(),
                                          body.getBlocks());
}

static LogicalResult lowerWork(WorkOpInterface work, FunctionState &state) {
  if (work.getAsyncToken() || !work.getAsyncDependencies().empty())
    return work->emitOpError(
        "still has tokens: run gpu-async-make-forks-explicit and "
        "gpu-async-assign-streams first, or all passes by "
        "--gpu-async-pipeline");
  if (auto lower = state.tables.lowerings.lookup(work)) {
    auto [fragment, number] = state.commands.lookup(work);
    if (failed(lower(work, state)))
      return failure();
    if (fragment && !fragment->commands[number].isMade)
      return work->emitOpError(
          "makes no command, where its lowering's getShape says one");
    return success();
  }
  return work->emitOpError("has no lowering to runtime calls: its dialect adds "
                           "one by gpuasync::RuntimeLoweringInterface");
}

LogicalResult Lowering::lowerOther() {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<HostRegisterOp, HostUnregisterOp, WindowOp, ConstantOp, ResidentOp>(
          [&](auto other) { return lower(other); })
      .Case([&](RankOp rank) {
        lowerNumber(rank.getRank(), rank.getGroupAttr(),
                    gpuasync_group_rank_name);
        return success();
      })
      .Case([&](SizeOp size) {
        lowerNumber(size.getSize(), size.getGroupAttr(),
                    gpuasync_group_size_name);
        return success();
      })
      .Case([&](StreamCreateOp create) {
        StringRef name = create.getUrgent() ? gpuasync_stream_create_urgent_name
                                            : gpuasync_stream_create_name;
        replace(create.getStream(),
                call(name, ptr, {device(), site()}).getResult());
        return success();
      })
      .Case([&](StreamExternalOp external) {
        Value native = external.getPointer();
        if (native.getType() != ptr)
          native = LLVM::AddrSpaceCastOp::create(builder, loc, ptr, native);
        replace(external.getStream(), call(gpuasync_stream_external_name, ptr,
                                           {device(), native, site()})
                                          .getResult());
        return success();
      })
      .Case([&](StreamDestroyOp destroy) {
        call(gpuasync_stream_destroy_name, {},
             {toLLVM(destroy.getStream()),
              int32(destroy.getIdle() ? GPUASYNC_STREAM_IDLE : 0), site()});
        return success();
      })
      .Case([&](StreamWaitOp wait) {
        call(gpuasync_stream_wait_name, {},
             {toLLVM(wait.getStream()), toLLVM(wait.getEvent()), site()});
        return success();
      })
      .Case([&](StreamSynchronizeOp wait) {
        waitOnHost(gpuasync_stream_synchronize_name, wait.getStreams());
        return success();
      })
      .Case([&](EventRecordOp record) {
        replace(record.getEvent(), call(gpuasync_event_record_name, ptr,
                                        {toLLVM(record.getStream()), site()})
                                       .getResult());
        return success();
      })
      .Case([&](EventReadyOp ready) {
        replace(ready.getEvent(),
                LLVM::ZeroOp::create(builder, ready.getLoc(), ptr).getResult());
        return success();
      })
      .Case([&](EventDestroyOp destroy) {
        call(gpuasync_event_destroy_name, {},
             {toLLVM(destroy.getEvent()), site()});
        return success();
      })
      .Case([&](EventSynchronizeOp wait) {
        waitOnHost(gpuasync_event_synchronize_name, wait.getEvents());
        return success();
      })
      .Case([&](RegionOp region) {
        lowerRegion(region);
        return success();
      })
      .Default([&](Operation *) {
        return op->emitOpError(
            "does not belong to the stream form: run "
            "gpu-async-make-forks-explicit and gpu-async-assign-streams "
            "first");
      });
}

/// A frame that fails leaves at once, as no op behind may run.
static void lowerAssert(cf::AssertOp op, FunctionState &state) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value yes = LLVM::ConstantOp::create(builder, loc, builder.getI1Type(), 1);
  Value fails = LLVM::XOrOp::create(builder, loc, op.getArg(), yes);
  mlir::Block *head = op->getBlock();
  OpBuilder inside = state.makeBranch(builder, loc, fails);
  cast<cf::CondBranchOp>(head->getTerminator())
      .setBranchWeights(ArrayRef<int32_t>{1, 2000});
  Operation *back = inside.getInsertionBlock()->getTerminator();
  Value site = state.tables.site(inside, op, nullptr, op.getMsg());
  state.tables.call(inside, loc, gpuasync_host_assert_fail_name, {},
                    {state.frame, site});
  cf::BranchOp::create(inside, loc, state.getErrorExit());
  back->erase();
  op->erase();
}

LogicalResult runtime::lowerOp(Operation *op, FunctionState &state) {
  state.startAt(op->getBlock());
  if (auto check = dyn_cast<cf::AssertOp>(op)) {
    lowerAssert(check, state);
    return success();
  }
  if (auto map = dyn_cast<nvgpu::TmaCreateDescriptorOp>(op))
    return lowerTensorMap(map, state);
  if (auto alloc = dyn_cast<memref::AllocOp>(op))
    return Lowering(op, state).checkSizes(alloc);
  auto work = dyn_cast<WorkOpInterface>(op);
  if (failed(work ? lowerWork(work, state) : Lowering(op, state).lowerOther()))
    return failure();
  // A cast that nobody else needs would still put a descriptor on the stack, in
  // each round of a loop.
  Operation *cast = isa<HostRegisterOp, HostUnregisterOp>(op)
                        ? op->getOperand(0).getDefiningOp<memref::CastOp>()
                        : nullptr;
  op->erase();
  if (cast && cast->use_empty())
    cast->erase();
  return success();
}

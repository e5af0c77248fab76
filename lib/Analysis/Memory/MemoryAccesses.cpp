//===- MemoryAccesses.cpp - what memory ops touch -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See MemoryAccesses.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/MemoryAccesses.h"
#include "GPUAsync/Analysis/Memory/NumberSources.h"
#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "GPUAsync/IR/GPUAsyncOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::gpuasync;

/// The first byte of a window in its slab and the one behind its last, if
/// constants tell.
static std::optional<std::pair<int64_t, int64_t>> getBytes(WindowOp window) {
  MemRefType type = window.getMemref().getType();
  int64_t bytes = getElementBytes(type.getElementType());
  std::optional<int64_t> begin = getConstantIntValue(window.getOffset());
  if (!begin || !bytes || !type.hasStaticShape())
    return std::nullopt;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  int64_t end;
  if (llvm::AddOverflow(*begin, bytes, end))
    return std::nullopt;
  return std::pair(*begin, end);
}

/// Whether two allocations, of which one is a window of a slab, may share
/// bytes.
static bool mayShareBytes(Value a, Value b) {
  auto windowA = a.getDefiningOp<WindowOp>();
  auto windowB = b.getDefiningOp<WindowOp>();
  if ((windowA ? windowA.getSlab() : a) != (windowB ? windowB.getSlab() : b))
    return false;
  if (!windowA || !windowB)
    return true;
  auto bytesA = getBytes(windowA), bytesB = getBytes(windowB);
  return !bytesA || !bytesB ||
         std::max(bytesA->first, bytesB->first) <
             std::min(bytesA->second, bytesB->second);
}

bool gpuasync::mayAlias(const Base &a, const Base &b) {
  if (a.kind == Base::Unknown || b.kind == Base::Unknown)
    return true;
  if (a == b)
    return true;
  if (a.kind == Base::Allocation && b.kind == Base::Allocation)
    return mayShareBytes(a.identity.getValue(), b.identity.getValue());
  // An allocation made here is distinct from other allocations, from globals
  // and from all that existed before the call; a kernel module's globals and
  // what is no memory are out of reach for the host.
  auto isOwn = [](const Base &base) {
    return base.kind == Base::Allocation || base.kind == Base::Module ||
           base.kind == Base::NoAliasArgument || base.kind == Base::Output ||
           base.kind == Base::Serial;
  };
  if (isOwn(a) || isOwn(b))
    return false;
  return a.kind == Base::Argument || b.kind == Base::Argument;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

std::optional<std::pair<int64_t, int64_t>> Window::getHull() const {
  if (!offset)
    return std::nullopt;
  std::optional<int64_t> end = llvm::checkedAdd<int64_t>(*offset, 1);
  for (const Dim &dim : dims) {
    if (dim.count < 0)
      return std::nullopt;
    if (dim.count == 0)
      return std::pair(*offset, *offset);
    if (end)
      end = llvm::checkedMulAdd(dim.stride, dim.count - 1, *end);
  }
  if (!end)
    return std::nullopt;
  return std::pair(*offset, *end);
}

static bool areDisjoint(const Window::Range &a, const Window::Range &b) {
  if (a.count == 0 || b.count == 0)
    return true;
  auto isBefore = [](const Window::Range &first, const Window::Range &second) {
    if (first.count < 0)
      return false;
    std::optional<int64_t> last =
        llvm::checkedMulAdd(first.step, first.count - 1, first.start);
    return last && *last < second.start;
  };
  if (isBefore(a, b) || isBefore(b, a))
    return true;
  int64_t step = std::gcd(a.step, b.step);
  std::optional<int64_t> apart = llvm::checkedSub(a.start, b.start);
  return step > 1 && apart && *apart % step != 0;
}

/// Takes a window apart along `strides`, descending, so that every byte in it
/// has one index for each stride. Nothing if it has several, or if a number is
/// too large.
static std::optional<SmallVector<Window::Range>>
splitAlong(const Window &window, int64_t origin, ArrayRef<int64_t> strides) {
  SmallVector<Window::Range> ranges;
  std::optional<int64_t> rest = llvm::checkedSub(*window.offset, origin);
  if (!rest)
    return std::nullopt;
  for (int64_t stride : strides) {
    Window::Range range;
    range.start = *rest / stride;
    *rest %= stride;
    range.count = 1;
    bool isFound = false;
    for (const Window::Dim &dim : window.dims) {
      if (dim.stride != stride || dim.count == 1)
        continue;
      if (isFound)
        return std::nullopt;
      isFound = true;
      range.count = dim.count;
    }
    ranges.push_back(range);
  }
  // What the inner dimensions add up to must not carry into an outer one.
  std::optional<int64_t> inner = 0;
  for (size_t i = strides.size(); i-- > 1;) {
    if (ranges[i].count < 0)
      return std::nullopt;
    std::optional<int64_t> last =
        llvm::checkedAdd(ranges[i].start, ranges[i].count - 1);
    inner =
        last ? llvm::checkedMulAdd(*last, strides[i], *inner) : std::nullopt;
    if (!inner || *inner >= strides[i - 1])
      return std::nullopt;
  }
  return ranges;
}

bool gpuasync::areDisjoint(const Window &a, const Window &b) {
  if (a.root && a.root == b.root)
    for (auto [first, second] : llvm::zip_equal(a.ranges, b.ranges))
      if (::areDisjoint(first, second))
        return true;
  if (!a.offset || !b.offset)
    return false;
  auto hullA = a.getHull();
  auto hullB = b.getHull();
  auto isBefore = [](auto &first, auto &second, int64_t start) {
    return first && (first->first == first->second || first->second <= start);
  };
  if (isBefore(hullA, hullB, *b.offset) || isBefore(hullB, hullA, *a.offset))
    return true;
  llvm::SmallSetVector<int64_t, 8> strides;
  for (const Window *window : {&a, &b})
    for (const Window::Dim &dim : window->dims)
      if (dim.count != 1)
        strides.insert(dim.stride);
  strides.insert(1);
  SmallVector<int64_t> sorted(strides.begin(), strides.end());
  llvm::sort(sorted, std::greater<int64_t>());
  int64_t origin = std::min(*a.offset, *b.offset);
  auto rangesA = splitAlong(a, origin, sorted);
  auto rangesB = splitAlong(b, origin, sorted);
  if (!rangesA || !rangesB)
    return false;
  for (auto [first, second] : llvm::zip_equal(*rangesA, *rangesB))
    if (::areDisjoint(first, second))
      return true;
  return false;
}

/// Whether different indices are different elements.
static bool isInjective(MemRefType type) {
  if (type.getLayout().isIdentity())
    return true;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(getStridesAndOffset(type, strides, offset)))
    return false;
  std::optional<int64_t> inner = 0;
  for (size_t i = strides.size(); i-- > 0;) {
    if (!inner || ShapedType::isDynamic(strides[i]) || strides[i] <= *inner)
      return false;
    if (i > 0 && type.isDynamicDim(i))
      return false;
    if (i > 0)
      inner = llvm::checkedMulAdd(
          strides[i], std::max<int64_t>(0, type.getDimSize(i) - 1), *inner);
  }
  return true;
}

/// Where a memref of static strides lies in its buffer, if numbers of 64 bits
/// say it.
static void setBytes(MemRefType type, Window &window) {
  SmallVector<int64_t> strides;
  int64_t offset;
  int64_t bytes = getElementBytes(type.getElementType());
  if (!bytes || failed(getStridesAndOffset(type, strides, offset)) ||
      ShapedType::isDynamic(offset))
    return;
  SmallVector<Window::Dim, 4> dims;
  for (auto [stride, size] : llvm::zip_equal(strides, type.getShape())) {
    if (size == 1)
      continue;
    if (ShapedType::isDynamic(stride) || stride <= 0)
      return;
    std::optional<int64_t> apart = llvm::checkedMul(stride, bytes);
    if (!apart)
      return;
    dims.push_back({*apart, ShapedType::isDynamic(size) ? -1 : size});
  }
  dims.push_back({1, bytes});
  window.offset = llvm::checkedMul(offset, bytes);
  if (window.offset)
    window.dims = std::move(dims);
}

/// The indices that a subview leaves of `range`. Nothing if that is not known.
static std::optional<Window::Range> narrow(const Window::Range &range,
                                           std::optional<int64_t> offset,
                                           std::optional<int64_t> size,
                                           std::optional<int64_t> stride) {
  if (!offset || !stride || *stride <= 0)
    return std::nullopt;
  std::optional<int64_t> start =
      llvm::checkedMulAdd(*offset, range.step, range.start);
  std::optional<int64_t> step = llvm::checkedMul(range.step, *stride);
  if (!start || !step)
    return std::nullopt;
  Window::Range result{*start, *step, range.count};
  if (size) {
    result.count = *size;
  } else if (range.count >= 0) {
    std::optional<int64_t> left = llvm::checkedSub(range.count, *offset);
    if (!left)
      return std::nullopt;
    result.count = llvm::divideCeil(std::max<int64_t>(0, *left), *stride);
  }
  return result;
}

/// Follows a subview: `dims` says which of the window's ranges each dimension
/// of the source goes along, -1 if along no constant.
static void narrow(ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                   ArrayRef<OpFoldResult> strides, Window &window,
                   SmallVectorImpl<int> &dims) {
  for (auto [index, dim] : llvm::enumerate(dims)) {
    std::optional<Window::Range> range;
    if (dim >= 0)
      range = narrow(window.ranges[dim], getConstantIntValue(offsets[index]),
                     getConstantIntValue(sizes[index]),
                     getConstantIntValue(strides[index]));
    if (range)
      window.ranges[dim] = *range;
    else
      dim = -1;
  }
}

static void narrow(memref::SubViewOp view, Window &window,
                   SmallVectorImpl<int> &dims) {
  narrow(view.getMixedOffsets(), view.getMixedSizes(), view.getMixedStrides(),
         window, dims);
  llvm::SmallBitVector dropped = view.getDroppedDims();
  unsigned index = 0;
  llvm::erase_if(dims, [&](int) { return dropped.test(index++); });
}

/// Makes the bytes those of a part of `type`, whose bytes they are. Parts that
/// constants do not tell leave all of them.
static void narrowBytes(MemRefType type, const WorkAccess &part,
                        Window &window) {
  auto offsets = getConstantIntValues(part.offsets);
  auto sizes = getConstantIntValues(part.sizes);
  auto steps = getConstantIntValues(part.strides);
  SmallVector<int64_t> strides;
  int64_t start;
  if (!window.offset || !offsets || !sizes || !steps ||
      failed(type.getStridesAndOffset(strides, start)))
    return;
  int64_t bytes = getElementBytes(type.getElementType());
  std::optional<int64_t> offset = window.offset;
  SmallVector<Window::Dim, 4> dims;
  for (auto [stride, from, size, step] :
       llvm::zip_equal(strides, *offsets, *sizes, *steps)) {
    std::optional<int64_t> apart = llvm::checkedMul(stride, bytes);
    std::optional<int64_t> between =
        apart ? llvm::checkedMul(*apart, step) : std::nullopt;
    offset = apart && offset ? llvm::checkedMulAdd(*apart, from, *offset)
                             : std::nullopt;
    if (!offset || !between || *between <= 0 || from < 0)
      return;
    if (size != 1)
      dims.push_back({*between, size});
  }
  dims.push_back({1, bytes});
  window.offset = offset;
  window.dims = std::move(dims);
}

/// What the views of `chain`, the first of which is the last taken, leave of
/// `base`, and `part` of that.
static Window windowOf(Value base, ArrayRef<Value> chain,
                       const WorkAccess *part) {
  Window window;
  // Bytes: the first view, seen from the use, whose place is static; what comes
  // after must stay in it.
  for (Value value : chain) {
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type)
      break;
    setBytes(type, window);
    if (window.offset)
      break;
    if (!staysInView(value))
      break;
  }
  // A memref.view moves the pointer that offsets count from.
  if (llvm::any_of(chain.drop_back(), [](Value value) {
        return !staysInView(value) &&
               !isa<memref::ReinterpretCastOp,
                    memref::ExtractStridedMetadataOp>(value.getDefiningOp());
      }))
    window.offset = std::nullopt;
  if (!window.offset)
    window.dims.clear();
  else if (part)
    narrowBytes(cast<MemRefType>(chain.front().getType()), *part, window);

  // Indices: along the subviews of one value.
  SmallVector<int> dims;
  auto setRoot = [&](Value root) {
    window.root = MemoryIdentity();
    window.ranges.clear();
    dims.clear();
    auto type = dyn_cast<MemRefType>(root.getType());
    if (!type || !isInjective(type))
      return;
    window.root = MemoryIdentity(root);
    for (int64_t size : type.getShape()) {
      dims.push_back(dims.size());
      Window::Range range;
      range.count = ShapedType::isDynamic(size) ? -1 : size;
      window.ranges.push_back(range);
    }
  };
  setRoot(base);
  for (Value value : llvm::reverse(chain)) {
    if (value == base)
      continue;
    Operation *op = value.getDefiningOp();
    if (auto view = dyn_cast<memref::SubViewOp>(op)) {
      if (window.root)
        narrow(view, window, dims);
      else
        setRoot(value);
    } else if (isa<memref::AssumeAlignmentOp, memref::DistinctObjectsOp,
                   memref::MemorySpaceCastOp>(op) ||
               (isa<memref::CastOp>(op) && isa<MemRefType>(value.getType()))) {
      continue;
    } else {
      setRoot(value);
    }
  }
  if (part && window.root)
    narrow(part->offsets, part->sizes, part->strides, window, dims);
  // The whole of a base is any part of it.
  auto isWhole = [&] {
    auto type = dyn_cast<MemRefType>(base.getType());
    if (window.root.getValue() != base)
      return false;
    for (auto [range, size] : llvm::zip_equal(window.ranges, type.getShape()))
      if (range.start || range.step != 1 ||
          (range.count >= 0 && range.count < size) ||
          (range.count >= 0 && ShapedType::isDynamic(size)))
        return false;
    return true;
  };
  if (isWhole())
    return Window();
  return window;
}

//===----------------------------------------------------------------------===//
// Bases
//===----------------------------------------------------------------------===//

namespace {
/// A way back from a memref to the memory that it is a view of.
struct Path {
  Value value;
  /// The views on the way, the last taken first.
  SmallVector<Value> views;
  SmallVector<MemoryIdentity, 1> distinct;
  /// What is left of the base behind a choice between views, which counts as a
  /// base of its own; nothing if none has been met.
  std::optional<Window> chosen;

  bool operator==(const Path &other) const {
    return value == other.value && distinct == other.distinct;
  }
};
} // namespace

/// Goes back to the next choice, or to the base, which is returned.
static std::optional<Base> follow(Path &path) {
  // Far above any real chain; ends cycles of graph regions.
  constexpr unsigned maxViews = 256;
  for (unsigned steps = 0; steps < maxViews; ++steps) {
    Value value = path.value;
    path.views.push_back(value);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      auto function = dyn_cast_or_null<FunctionOpInterface>(parent);
      if (!function || !argument.getOwner()->isEntryBlock())
        return Base();
      bool noAlias = static_cast<bool>(function.getArgAttr(
          argument.getArgNumber(), LLVM::LLVMDialect::getNoAliasAttrName()));
      return Base{noAlias ? Base::NoAliasArgument : Base::Argument,
                  MemoryIdentity(value), Attribute()};
    }
    Operation *op = value.getDefiningOp();
    if (auto view = dyn_cast<ViewLikeOpInterface>(op)) {
      path.value = view.getViewSource();
    } else if (isa<memref::AssumeAlignmentOp, memref::ExtractStridedMetadataOp>(
                   op)) {
      path.value = op->getOperand(0);
    } else if (isa<memref::DistinctObjectsOp>(op)) {
      path.distinct.push_back(MemoryIdentity(value));
      path.value = op->getOperand(cast<OpResult>(value).getResultNumber());
    } else if (isa<UnrealizedConversionCastOp>(op) &&
               op->getNumOperands() == 1 &&
               isMemory(op->getOperand(0).getType())) {
      path.value = op->getOperand(0);
    } else if (auto map = dyn_cast<nvgpu::TmaCreateDescriptorOp>(op)) {
      // Copies by it stay within the tensor, which mostly is the cast of a
      // memref of known rank; only descriptors have been passed so far.
      path.value = map.getTensor();
      if (auto cast = path.value.getDefiningOp<memref::CastOp>();
          cast && isa<MemRefType>(cast.getSource().getType()))
        path.value = cast.getSource();
      path.views.clear();
    } else if (isa<arith::SelectOp>(op)) {
      return std::nullopt;
    } else if (auto global = dyn_cast<memref::GetGlobalOp>(op)) {
      return Base{Base::Global, MemoryIdentity(),
                  global.getNameAttr().getAttr()};
    } else if (auto constant = dyn_cast<ConstantOp>(op)) {
      return Base{Base::Global, MemoryIdentity(),
                  constant.getNameAttr().getAttr()};
    } else if (isa<AllocOp, WindowOp, ResidentOp, gpu::AllocOp, memref::AllocOp,
                   memref::AllocaOp>(op)) {
      return Base{Base::Allocation, MemoryIdentity(value), Attribute()};
    } else {
      return Base();
    }
  }
  return Base();
}

/// Returns the accesses through `memory`, or `part` of it: one for each base
/// that it may be of.
static Accesses findAccesses(Value memory, const WorkAccess *part = nullptr) {
  // Choices between choices lead to the same memory in many ways.
  constexpr unsigned maxPaths = 64;
  SmallVector<Path, 1> paths{{memory, {}, {}, {}}};
  Accesses found;
  for (size_t next = 0; next < paths.size(); ++next) {
    if (next == maxPaths)
      return {Access()};
    Path path = paths[next];
    std::optional<Base> base = follow(path);
    bool isKnown = !base || base->kind != Base::Unknown;
    if (isKnown && !path.chosen)
      path.chosen = windowOf(path.value, path.views, part);
    if (base) {
      Access access{*base, /*writes=*/false, Window(), path.distinct};
      if (isKnown)
        access.window = std::move(*path.chosen);
      // Each get_global of a global is a value of its own.
      if (base->kind == Base::Global &&
          access.window.root.getValue() == path.value) {
        access.window.root = MemoryIdentity();
        access.window.ranges.clear();
      }
      found.push_back(std::move(access));
      continue;
    }
    auto select = path.value.getDefiningOp<arith::SelectOp>();
    // Bytes count from the pointer of either.
    path.chosen->offset = std::nullopt;
    path.chosen->dims.clear();
    path.views.clear();
    for (Value value : {select.getTrueValue(), select.getFalseValue()}) {
      path.value = value;
      if (!llvm::is_contained(paths, path))
        paths.push_back(path);
    }
  }
  return found;
}

void gpuasync::findBases(Value value, SmallVectorImpl<Base> &bases) {
  for (const Access &access : findAccesses(value))
    bases.push_back(access.base);
}

void gpuasync::addAccess(Value memory, bool writes, Accesses &accesses,
                         bool anyPart) {
  for (Access &access : findAccesses(memory)) {
    access.writes = writes;
    if (anyPart)
      access.window = Window();
    accesses.push_back(std::move(access));
  }
}

void Access::leave(Operation *op) {
  if (window.root.isMadeIn(op)) {
    window.root = MemoryIdentity();
    window.ranges.clear();
  }
  llvm::erase_if(distinct, [&](const MemoryIdentity &object) {
    return object.isMadeIn(op);
  });
}

/// Whether memref.distinct_objects keeps the two apart.
static bool areDistinct(const Access &a, const Access &b) {
  return llvm::any_of(a.distinct, [&](const MemoryIdentity &first) {
    return llvm::any_of(b.distinct, [&](const MemoryIdentity &second) {
      return first != second && first.getDefiningOp() == second.getDefiningOp();
    });
  });
}

bool gpuasync::mayOverlap(const Access &a, const Access &b) {
  return mayAlias(a.base, b.base) && !areDistinct(a, b) &&
         !(a.base == b.base && areDisjoint(a.window, b.window));
}

bool gpuasync::mayConflict(ArrayRef<Access> first, ArrayRef<Access> second) {
  return llvm::any_of(first, [&](const Access &a) {
    return llvm::any_of(second, [&](const Access &b) {
      return (a.writes || b.writes) && mayOverlap(a, b);
    });
  });
}

static void addKernelAccesses(Operation *launch, SymbolRefAttr kernel,
                              OperandRange operands, KernelTable &kernels,
                              Accesses &accesses) {
  const KernelEffects &effects = kernels.lookup(launch, kernel);
  unsigned parameters = 0;
  for (Value operand : operands)
    parameters += effects.countParameters(operand.getType());
  bool knowsAddresses = effects.addresses.size() == parameters;
  unsigned next = 0;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    Type type = operand.getType();
    unsigned parameter = next;
    next += effects.countParameters(type);
    if (leadsToMemory(type)) {
      KernelEffects::Argument argument;
      if (effects.arguments.size() == operands.size())
        argument = effects.arguments[index];
      if (argument.reads || argument.writes)
        addAccess(operand, argument.writes, accesses, argument.anyPart);
      // A memref of memrefs or of pointers leads on.
      auto memref = dyn_cast<BaseMemRefType>(type);
      if (memref &&
          isa<BaseMemRefType, LLVM::LLVMPointerType>(memref.getElementType()))
        accesses.push_back({Base(), /*writes=*/true});
      continue;
    }
    bool isNumber = !isPointer(type) && (type.isIntOrIndexOrFloat() ||
                                         isa<VectorType, ComplexType>(type));
    if (!isNumber || (knowsAddresses ? effects.addresses.test(parameter)
                                     : mayBeAddress(operand)))
      accesses.push_back({Base(), /*writes=*/true});
  }
  if (effects.followsPointersInMemory)
    accesses.push_back({Base(), /*writes=*/true});
  if (effects.hasGlobals)
    accesses.push_back(
        {{Base::Module, {}, kernel.getRootReference()}, /*writes=*/true});
  if (effects.hasOutput)
    accesses.push_back({{Base::Output, {}, Attribute()}, /*writes=*/true});
}

static void addLibraryAccesses(WorkOpInterface call, KernelTable &kernels,
                               Accesses &accesses) {
  const KernelEffects &effects = kernels.lookupLibrary(call, call.getCode());
  if (!effects.isKnown)
    accesses.push_back({Base(), /*writes=*/true});
  if (effects.serial)
    accesses.push_back({{Base::Serial, {}, effects.serial}, /*writes=*/true});
  if (!effects.isKnown)
    return;
  for (auto [operand, argument] :
       llvm::zip_equal(call.getCodeArguments(), effects.arguments)) {
    auto memref = dyn_cast<BaseMemRefType>(operand.getType());
    if (memref)
      addAccess(operand, argument.writes, accesses);
    else if (isPointer(operand.getType()))
      accesses.push_back({Base(), argument.writes});
    if (memref &&
        isa<BaseMemRefType, LLVM::LLVMPointerType>(memref.getElementType()))
      accesses.push_back({Base(), /*writes=*/true});
  }
}

static void addWorkAccesses(WorkOpInterface work, KernelTable &kernels,
                            Accesses &accesses) {
  if (StringRef serial = work.getSerial(); !serial.empty())
    accesses.push_back(
        {{Base::Serial, {}, StringAttr::get(work.getContext(), serial)},
         /*writes=*/true});
  if (runsKernel(work))
    return addKernelAccesses(work, work.getCode(), work.getCodeArguments(),
                             kernels, accesses);
  if (work.getCode())
    return addLibraryAccesses(work, kernels, accesses);
  SmallVector<WorkAccess> touched;
  work.getWorkAccesses(touched);
  for (const WorkAccess &access : touched) {
    bool writes = access.writes || access.frees;
    Value memory = access.operand->get();
    if (!isMemory(memory.getType())) {
      accesses.push_back({Base(), writes});
      continue;
    }
    for (Access &found :
         findAccesses(memory, access.sizes.empty() ? nullptr : &access)) {
      found.writes = writes;
      accesses.push_back(std::move(found));
    }
  }
  for (Value result : work->getResults())
    if (isMemory(result.getType()))
      addAccess(result, /*writes=*/true, accesses);
}

Accesses gpuasync::deviceAccesses(Operation *op, KernelTable &kernels) {
  Accesses accesses;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](WorkOpInterface work) {
        addWorkAccesses(work, kernels, accesses);
      })
      .Case([&](gpu::LaunchFuncOp launch) {
        addKernelAccesses(op, launch.getKernel(), launch.getKernelOperands(),
                          kernels, accesses);
      })
      .Case([&](gpu::MemcpyOp copy) {
        addAccess(copy.getDst(), /*writes=*/true, accesses);
        addAccess(copy.getSrc(), /*writes=*/false, accesses);
      })
      .Case([&](gpu::MemsetOp set) {
        addAccess(set.getDst(), /*writes=*/true, accesses);
      })
      .Case<gpu::AllocOp, gpu::DeallocOp>([&](auto memory) {
        addAccess(memory.getMemref(), /*writes=*/true, accesses);
      })
      .Case([&](gpu::HostUnregisterOp unregister) {
        addAccess(unregister.getValue(), /*writes=*/true, accesses);
      })
      .Case([&](HostUnregisterOp unregister) {
        addAccess(unregister.getMemref(), /*writes=*/true, accesses);
      });
  return accesses;
}

static void addEffects(ArrayRef<MemoryEffects::EffectInstance> effects,
                       Accesses &accesses) {
  for (const MemoryEffects::EffectInstance &effect : effects) {
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
}

/// Whether host code is known to touch no memory, whatever effects it declares.
static bool hasNoHostAccesses(Operation *op) {
  // Its effect is that it may end the function.
  if (isa<cf::AssertOp>(op))
    return true;
  // Looks at the memref, not at what that points to.
  return isa<nvgpu::TmaCreateDescriptorOp>(op) ||
         (op->hasTrait<OpTrait::IsTerminator>() && !op->getNumRegions());
}

std::optional<Accesses> gpuasync::hostAccesses(Operation *op) {
  Accesses accesses;
  if (hasNoHostAccesses(op))
    return accesses;
  if (isa<CallOpInterface>(op))
    return std::nullopt;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(op);
  if (!effects)
    return std::nullopt;
  addEffects(*effects, accesses);
  for (Access &access : accesses)
    access.leave(op);
  return accesses;
}

//===----------------------------------------------------------------------===//
// Facts of a module
//===----------------------------------------------------------------------===//

MemoryFacts::MemoryFacts(Operation *module) { findDistinctArguments(module); }

/// The function that `base` is an argument of, and its number.
static std::pair<Operation *, unsigned> argumentOf(const Base &base) {
  auto argument = cast<BlockArgument>(base.identity.getValue());
  return {argument.getOwner()->getParentOp(), argument.getArgNumber()};
}

bool MemoryFacts::mayAlias(const Base &a, const Base &b) const {
  if (!gpuasync::mayAlias(a, b))
    return false;
  if (a == b)
    return true;
  if (a.kind != Base::Argument)
    return b.kind != Base::Argument || a.kind != Base::Global || mayAlias(b, a);
  auto [function, number] = argumentOf(a);
  auto it = arguments.find(function);
  if (it == arguments.end())
    return true;
  if (b.kind == Base::Global)
    return it->second.mayBeGlobal.contains(number);
  if (b.kind != Base::Argument || argumentOf(b).first != function)
    return true;
  unsigned other = argumentOf(b).second;
  return it->second.mayAlias.contains(
      {std::min(number, other), std::max(number, other)});
}

bool MemoryFacts::mayOverlap(const Access &a, const Access &b) const {
  return mayAlias(a.base, b.base) && gpuasync::mayOverlap(a, b);
}

/// Starts from "all arguments are distinct" and takes back what some call
/// contradicts, until nothing changes; calls of calls are covered by induction.
void MemoryFacts::findDistinctArguments(Operation *module) {
  // All pairs are looked at; with more arguments they may be anything.
  constexpr int64_t maxArguments = 1024;
  llvm::MapVector<Operation *, SmallVector<CallOpInterface>> calls;
  for (Region &region : module->getRegions())
    for (Operation &op : region.getOps())
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        if (!function.isExternal() &&
            SymbolTable::getSymbolVisibility(&op) ==
                SymbolTable::Visibility::Private &&
            llvm::count_if(function.getArgumentTypes(), leadsToMemory) <=
                maxArguments)
          calls[&op];
  if (calls.empty())
    return;
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(&module->getRegion(0));
  if (!uses)
    return;
  for (const SymbolTable::SymbolUse &use : *uses) {
    Operation *target =
        symbols.lookupNearestSymbolFrom(use.getUser(), use.getSymbolRef());
    auto it = calls.find(target);
    if (it == calls.end())
      continue;
    auto call = dyn_cast<CallOpInterface>(use.getUser());
    auto callee = call ? dyn_cast<SymbolRefAttr>(call.getCallableForCallee())
                       : SymbolRefAttr();
    if (callee == use.getSymbolRef() && isa<func::CallOp>(use.getUser()))
      it->second.push_back(call);
    else
      calls.erase(it);
  }
  for (auto &[function, sites] : calls)
    arguments[function];

  bool isChanged = true;
  while (isChanged) {
    isChanged = false;
    for (auto &[function, sites] : calls) {
      Arguments &facts = arguments[function];
      for (CallOpInterface call : sites) {
        SmallVector<SmallVector<Base>> bases;
        for (Value operand : call.getArgOperands()) {
          bases.emplace_back();
          if (leadsToMemory(operand.getType()))
            findBases(operand, bases.back());
        }
        Base global{Base::Global, MemoryIdentity(),
                    StringAttr::get(call.getContext(), "")};
        for (unsigned i = 0; i < bases.size(); ++i) {
          if (llvm::any_of(bases[i], [&](const Base &base) {
                return base.kind == Base::Global || mayAlias(base, global);
              }))
            isChanged |= facts.mayBeGlobal.insert(i).second;
          for (unsigned j = i + 1; j < bases.size(); ++j)
            if (llvm::any_of(bases[i], [&](const Base &first) {
                  return llvm::any_of(bases[j], [&](const Base &second) {
                    return mayAlias(first, second);
                  });
                }))
              isChanged |= facts.mayAlias.insert({i, j}).second;
        }
      }
    }
  }
}

bool MemoryFacts::isOpaque(Operation *function) {
  return summarize(function).isOpaque;
}

const MemoryFacts::Summary &MemoryFacts::summarize(Operation *op) {
  auto [it, isNew] = summaries.try_emplace(op);
  if (!isNew)
    return it->second;
  // A function that calls itself finds itself opaque.
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || function.isExternal())
    return it->second;
  Summary summary;
  summary.isOpaque = false;
  for (Block &block : function.getFunctionBody())
    for (Operation &inner : block)
      if (!addHostAccesses(&inner, summary.accesses)) {
        summary = Summary();
        return summaries[op];
      }
  llvm::erase_if(summary.accesses, [&](const Access &access) {
    return access.base.kind == Base::Allocation;
  });
  Summary &result = summaries[op];
  result = std::move(summary);
  return result;
}

bool MemoryFacts::addHostAccesses(Operation *op, Accesses &accesses) {
  if (hasNoHostAccesses(op))
    return true;
  if (isa_and_nonnull<gpu::GPUDialect>(op->getDialect()) ||
      (isAsyncOp(op) &&
       !isa<ConstantOp, ResidentOp, RankOp, SizeOp, UniformOp>(op)))
    return false;
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    Operation *callee = call.resolveCallableInTable(&symbols);
    if (!callee || !isa<FunctionOpInterface>(callee))
      return false;
    const Summary &summary = summarize(callee);
    if (summary.isOpaque)
      return false;
    for (const Access &access : summary.accesses) {
      auto argument =
          dyn_cast_or_null<BlockArgument>(access.base.identity.getValue());
      if (!argument) {
        accesses.push_back({access.base, access.writes});
        continue;
      }
      if (argument.getArgNumber() >= call.getArgOperands().size())
        return false;
      addAccess(call.getArgOperands()[argument.getArgNumber()], access.writes,
                accesses, /*anyPart=*/true);
    }
    return true;
  }
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  bool isRecursive = op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
  if (!effects && !isRecursive)
    return false;
  if (effects) {
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    addEffects(instances, accesses);
  }
  if (!isRecursive)
    return true;
  size_t outer = accesses.size();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        if (!addHostAccesses(&inner, accesses))
          return false;
  for (Access &access : llvm::drop_begin(accesses, outer))
    access.leave(op);
  return true;
}

std::optional<Accesses> MemoryFacts::hostAccesses(Operation *op) {
  Accesses accesses;
  if (!addHostAccesses(op, accesses))
    return std::nullopt;
  return accesses;
}

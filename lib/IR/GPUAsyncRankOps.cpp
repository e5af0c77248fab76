//===- GPUAsyncRankOps.cpp - ops of programs on several ranks -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax, verifiers, folds and accesses of groups, ranks and collectives.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/GPUAsyncOps.h"

#include "gpuasync/Ranks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// CollectiveAttr
//===----------------------------------------------------------------------===//

static_assert(uint32_t(CollectiveKind::AllReduce) == GPUASYNC_ALL_REDUCE &&
              uint32_t(CollectiveKind::AllGather) == GPUASYNC_ALL_GATHER &&
              uint32_t(CollectiveKind::ReduceScatter) ==
                  GPUASYNC_REDUCE_SCATTER &&
              uint32_t(CollectiveKind::AllToAll) == GPUASYNC_ALL_TO_ALL &&
              uint32_t(CollectiveKind::Broadcast) == GPUASYNC_BROADCAST &&
              uint32_t(CollectiveKind::Permute) == GPUASYNC_PERMUTE &&
              uint32_t(CollectiveKind::Barrier) == GPUASYNC_BARRIER &&
              getMaxEnumValForCollectiveKind() == GPUASYNC_BARRIER);
static_assert(uint32_t(CollectiveReduction::None) == GPUASYNC_REDUCE_NONE &&
              uint32_t(CollectiveReduction::Sum) == GPUASYNC_REDUCE_SUM &&
              uint32_t(CollectiveReduction::Prod) == GPUASYNC_REDUCE_PROD &&
              uint32_t(CollectiveReduction::Min) == GPUASYNC_REDUCE_MIN &&
              uint32_t(CollectiveReduction::Max) == GPUASYNC_REDUCE_MAX &&
              uint32_t(CollectiveReduction::And) == GPUASYNC_REDUCE_AND &&
              uint32_t(CollectiveReduction::Or) == GPUASYNC_REDUCE_OR &&
              getMaxEnumValForCollectiveReduction() == GPUASYNC_REDUCE_OR);

bool gpuasync::mayBeInPlace(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::Broadcast;
}

bool gpuasync::hasNoGaps(MemRefType type) {
  return type.getLayout().isIdentity() ||
         type.areTrailingDimsContiguous(type.getRank());
}

static bool isReduction(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce ||
         kind == CollectiveKind::ReduceScatter;
}

LogicalResult
CollectiveAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       CollectiveKind kind, CollectiveReduction reduction,
                       uint32_t root, ArrayRef<uint32_t> pairs) {
  StringRef name = stringifyCollectiveKind(kind);
  if (isReduction(kind) != (reduction != CollectiveReduction::None))
    return emitError() << name << " has the reduction '"
                       << stringifyCollectiveReduction(reduction)
                       << "': all_reduce and reduce_scatter have one, and no "
                          "other collective has";
  if (root && kind != CollectiveKind::Broadcast)
    return emitError() << name << " has the root " << root
                       << ", but only a broadcast has one";
  if (!pairs.empty() && kind != CollectiveKind::Permute)
    return emitError() << name << " has pairs, but only a permute has them";
  if (pairs.size() % 2)
    return emitError() << "permute has half a pair: each source has a target";
  llvm::SmallSet<uint32_t, 16> sources, targets;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (!sources.insert(pairs[i]).second)
      return emitError() << "permute sends from position " << pairs[i]
                         << " twice: each position is the source of one pair "
                            "at most";
    if (!targets.insert(pairs[i + 1]).second)
      return emitError() << "permute sends to position " << pairs[i + 1]
                         << " twice: each position is the target of one pair "
                            "at most";
  }
  return success();
}

CollectiveAttr CollectiveAttr::parseText(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return {};
  std::optional<CollectiveKind> kind = symbolizeCollectiveKind(name);
  if (!kind) {
    parser.emitError(loc) << "there is no collective '" << name
                          << "'; there are all_reduce<...>, all_gather, "
                             "reduce_scatter<...>, all_to_all, broadcast<...>, "
                             "permute<...> and barrier";
    return {};
  }
  CollectiveReduction reduction = CollectiveReduction::None;
  uint32_t root = 0;
  SmallVector<uint32_t> pairs;
  if (isReduction(*kind)) {
    SMLoc at;
    StringRef text;
    if (parser.parseLess() || parser.getCurrentLocation(&at) ||
        parser.parseKeyword(&text) || parser.parseGreater())
      return {};
    std::optional<CollectiveReduction> found =
        symbolizeCollectiveReduction(text);
    if (!found || *found == CollectiveReduction::None) {
      parser.emitError(at) << "there is no reduction '" << text
                           << "'; there are sum, prod, min, max, and, or";
      return {};
    }
    reduction = *found;
  } else if (*kind == CollectiveKind::Broadcast) {
    SMLoc at;
    int64_t position = 0;
    if (parser.parseLess() || parser.getCurrentLocation(&at) ||
        parser.parseInteger(position) || parser.parseGreater())
      return {};
    if (position < 0 || position >= GroupOp::maxRanks) {
      parser.emitError(at) << "broadcast has the root " << position
                           << ", but roots are positions in the group, from 0";
      return {};
    }
    root = static_cast<uint32_t>(position);
  } else if (*kind == CollectiveKind::Permute) {
    auto parsePair = [&]() -> ParseResult {
      return failure(
          parser.parseLSquare() || parser.parseInteger(pairs.emplace_back()) ||
          parser.parseComma() || parser.parseInteger(pairs.emplace_back()) ||
          parser.parseRSquare());
    };
    if (parser.parseLess() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       parsePair) ||
        parser.parseGreater())
      return {};
  }
  return parser.getChecked<CollectiveAttr>(loc, parser.getContext(), *kind,
                                           reduction, root, ArrayRef(pairs));
}

void CollectiveAttr::printText(raw_ostream &os) const {
  os << stringifyCollectiveKind(getKind());
  if (isReduction(getKind())) {
    os << '<' << stringifyCollectiveReduction(getReduction()) << '>';
  } else if (getKind() == CollectiveKind::Broadcast) {
    os << '<' << getRoot() << '>';
  } else if (getKind() == CollectiveKind::Permute) {
    os << "<[";
    for (size_t i = 0; i < getPairs().size(); i += 2)
      os << (i ? ", [" : "[") << getPairs()[i] << ", " << getPairs()[i + 1]
         << ']';
    os << "]>";
  }
}

Attribute CollectiveAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  CollectiveAttr parsed = parseText(parser);
  return parsed && succeeded(parser.parseGreater()) ? parsed : CollectiveAttr();
}

void CollectiveAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printText(printer.getStream());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// GroupOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyGrid(GroupOp group, ArrayRef<int64_t> grid,
                                ArrayRef<int64_t> axes) {
  if (grid.empty())
    return group.emitOpError("has a grid without sizes; write one for each "
                             "axis, as 'grid [4]'");
  int64_t ranks = 1;
  for (auto [axis, size] : llvm::enumerate(grid)) {
    if (size < 1)
      return group.emitOpError("has size ")
             << size << " in axis " << axis << " of its grid; sizes are 1 or "
             << "more";
    if (size > GroupOp::maxRanks || (ranks *= size) > GroupOp::maxRanks)
      return group.emitOpError("has a grid of more than ")
             << GroupOp::maxRanks << " ranks, the most that a program has";
  }
  if (axes.empty())
    return group.emitOpError("names no axis in which the ranks of a list "
                             "differ; write one or more, as 'axes [0]'");
  llvm::BitVector seen(grid.size());
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= int64_t(grid.size()))
      return group.emitOpError("names axis ")
             << axis << ", but its grid has the axes 0 to " << grid.size() - 1;
    if (seen.test(axis))
      return group.emitOpError("names axis ") << axis << " twice; name it once";
    seen.set(axis);
  }
  return success();
}

static LogicalResult verifyLists(GroupOp group, ArrayAttr lists) {
  if (lists.empty())
    return group.emitOpError("has no list of ranks; write one or more, as "
                             "'ranks [[0, 1]]'");
  size_t length = cast<ArrayAttr>(lists[0]).size();
  for (auto [number, list] : llvm::enumerate(lists.getAsRange<ArrayAttr>())) {
    if (list.empty())
      return group.emitOpError("has no rank in list ")
             << number << "; lists have one rank or more";
    if (list.size() != length)
      return group.emitOpError("has ")
             << list.size() << " ranks in list " << number << ", but " << length
             << " in list 0; all lists of a group have one length";
  }
  size_t ranks = lists.size() * length;
  if (ranks > size_t(GroupOp::maxRanks))
    return group.emitOpError("has more than ")
           << GroupOp::maxRanks << " ranks, the most that a program has";
  llvm::BitVector seen(ranks);
  for (int64_t rank : group.getMembers()) {
    if (rank < 0 || rank >= int64_t(ranks))
      return group.emitOpError("has rank ")
             << rank << ", but lists of " << ranks
             << " ranks in all have the ranks 0 to " << ranks - 1
             << ", each once";
    if (seen.test(rank))
      return group.emitOpError("has rank ")
             << rank << " twice; each rank is in one list";
    seen.set(rank);
  }
  return success();
}

LogicalResult GroupOp::verify() {
  bool hasGrid = getGrid() && getAxes();
  if (getGrid().has_value() != getAxes().has_value() ||
      hasGrid == getRanks().has_value())
    return emitOpError("needs either a grid and axes, as 'grid [2, 2] axes "
                       "[0]', or lists of ranks, as 'ranks [[0, 1], [2, 3]]'");
  return hasGrid ? verifyGrid(*this, *getGrid(), *getAxes())
                 : verifyLists(*this, *getRanks());
}

int64_t GroupOp::getListSize() {
  if (std::optional<ArrayAttr> lists = getRanks())
    return cast<ArrayAttr>((*lists)[0]).size();
  int64_t size = 1;
  ArrayRef<int64_t> axes = *getAxes();
  for (int64_t axis : axes)
    size *= (*getGrid())[axis];
  return size;
}

SmallVector<int64_t> GroupOp::getMembers() {
  SmallVector<int64_t> members;
  if (std::optional<ArrayAttr> lists = getRanks()) {
    for (auto list : lists->getAsRange<ArrayAttr>())
      for (auto rank : list.getAsRange<IntegerAttr>())
        members.push_back(rank.getInt());
    return members;
  }
  // Rank numbers are sums of a part by `axes` and a part by the other axes.
  SmallVector<int64_t> inList = {0}, ofList = {0};
  int64_t stride = 1;
  for (size_t axis = getGrid()->size(); axis-- > 0;) {
    int64_t size = (*getGrid())[axis];
    SmallVector<int64_t> &parts =
        llvm::is_contained(*getAxes(), axis) ? inList : ofList;
    SmallVector<int64_t> inner = parts;
    for (int64_t i = 1; i < size; ++i)
      for (int64_t part : inner)
        parts.push_back(i * stride + part);
    stride *= size;
  }
  for (int64_t first : ofList)
    for (int64_t part : inList)
      members.push_back(first + part);
  return members;
}

/// Sets `group` if `name` is not null.
static LogicalResult lookupGroup(Operation *op, FlatSymbolRefAttr name,
                                 SymbolTableCollection &symbols,
                                 GroupOp &group) {
  if (!name || (group = symbols.lookupNearestSymbolFrom<GroupOp>(op, name)))
    return success();
  return op->emitOpError("names the group ")
         << name << ", which the program does not have: add 'gpu_async.group "
         << name << " grid [...] axes [...]' to the module";
}

//===----------------------------------------------------------------------===//
// RankOp, SizeOp, UniformOp
//===----------------------------------------------------------------------===//

LogicalResult RankOp::verifySymbolUses(SymbolTableCollection &symbols) {
  GroupOp group;
  return lookupGroup(*this, getGroupAttr(), symbols, group);
}

LogicalResult SizeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  GroupOp group;
  return lookupGroup(*this, getGroupAttr(), symbols, group);
}

LogicalResult UniformOp::verifySymbolUses(SymbolTableCollection &symbols) {
  GroupOp group;
  return lookupGroup(*this, getGroupAttr(), symbols, group);
}

/// A group may be of another number of ranks than the program runs on, which is
/// an error of a program that comes to the op.
Speculation::Speculatability RankOp::getSpeculatability() {
  return getGroup() ? Speculation::NotSpeculatable : Speculation::Speculatable;
}

OpFoldResult SizeOp::fold(FoldAdaptor) {
  auto group =
      getGroup()
          ? SymbolTable::lookupNearestSymbolFrom<GroupOp>(*this, getGroupAttr())
          : GroupOp();
  if (!group)
    return {};
  return IntegerAttr::get(IndexType::get(getContext()), group.getListSize());
}

//===----------------------------------------------------------------------===//
// CollectiveOp
//===----------------------------------------------------------------------===//

/// The gpuasync_element of a type, 0 if there is none.
static uint32_t findElement(Type type) {
  if (type.isIndex())
    return GPUASYNC_ELEMENT_I64;
  if (type.isSignlessInteger())
    switch (type.getIntOrFloatBitWidth()) {
    case 1:
      return GPUASYNC_ELEMENT_I1;
    case 8:
      return GPUASYNC_ELEMENT_I8;
    case 16:
      return GPUASYNC_ELEMENT_I16;
    case 32:
      return GPUASYNC_ELEMENT_I32;
    case 64:
      return GPUASYNC_ELEMENT_I64;
    }
  if (type.isF16())
    return GPUASYNC_ELEMENT_F16;
  if (type.isBF16())
    return GPUASYNC_ELEMENT_BF16;
  if (type.isF32())
    return GPUASYNC_ELEMENT_F32;
  return type.isF64() ? GPUASYNC_ELEMENT_F64 : 0;
}

uint32_t CollectiveOp::getElement() {
  Value source = getSource();
  return source ? findElement(getElementTypeOrSelf(source)) : 0;
}

static LogicalResult verifyElements(Operation *op, CollectiveAttr what,
                                    Type destination, Type source) {
  if (!findElement(source))
    return op->emitOpError("has elements of type ")
           << source
           << "; collectives take i1, i8, i16, i32, i64, index, f16, bf16, f32 "
              "and f64";
  if (destination != source)
    return op->emitOpError("has a destination of ")
           << destination << " elements and a source of " << source
           << " elements; both must be equal";
  CollectiveReduction reduction = what.getReduction();
  if (reduction == CollectiveReduction::None)
    return success();
  bool isBitwise = reduction == CollectiveReduction::And ||
                   reduction == CollectiveReduction::Or;
  if (isBitwise && isa<FloatType>(source))
    return op->emitOpError("reduces ")
           << source << " elements by '"
           << stringifyCollectiveReduction(reduction)
           << "', which only integers have; use sum, prod, min or max";
  if (!isBitwise && source.isInteger(1))
    return op->emitOpError("reduces i1 elements by '")
           << stringifyCollectiveReduction(reduction)
           << "'; use 'and' or 'or', or elements of a larger type";
  return success();
}

/// Checks the sizes as far as they do not depend on the number of ranks.
/// `memory` is what the op calls its operands.
static LogicalResult verifyShapes(Operation *op, CollectiveKind kind,
                                  ShapedType destination, ShapedType source,
                                  StringRef memory) {
  StringRef name = stringifyCollectiveKind(kind);
  bool isGather = kind == CollectiveKind::AllGather;
  bool isResized = isGather || kind == CollectiveKind::ReduceScatter;
  bool hasParts = isResized || kind == CollectiveKind::AllToAll;
  if (hasParts && (!destination.getRank() || !source.getRank()))
    return op->emitOpError("has ")
           << memory << " without dimensions, but the parts of " << name
           << " are parts of the first dimension";
  if (isResized ? destination.getRank() != source.getRank() ||
                      failed(verifyCompatibleShape(
                          destination.getShape().drop_front(),
                          source.getShape().drop_front()))
                : failed(verifyCompatibleShape(destination, source)))
    return op->emitOpError("has the destination ")
           << destination << " and the source " << source << "; those of "
           << name
           << (isResized ? " differ in the first dimension only"
                         : " have one shape");
  return success();
}

LogicalResult CollectiveOp::verify() {
  CollectiveKind kind = getWhat().getKind();
  StringRef name = stringifyCollectiveKind(kind);
  if (kind == CollectiveKind::Barrier) {
    if (getDestination() || getSource())
      return emitOpError("is a barrier with memory; leave its memrefs out");
    return success();
  }
  if (!getDestination() || !getSource())
    return emitOpError("needs two memrefs: the destination and the source of ")
           << name;
  auto destination = cast<MemRefType>(getDestination().getType());
  auto source = cast<MemRefType>(getSource().getType());
  for (auto [role, type] :
       {std::pair("destination ", destination), std::pair("source ", source)})
    if (!hasNoGaps(type))
      return emitOpError("has the ")
             << role << type
             << ", whose elements may have gaps between them: copy it to "
                "memory without gaps, by gpu_async.memcpy";
  if (failed(verifyElements(*this, getWhat(), destination.getElementType(),
                            source.getElementType())))
    return failure();
  if (getDestination() == getSource() && !mayBeInPlace(kind))
    return emitOpError("has one memref as destination and source, which only "
                       "all_reduce and broadcast may have; give ")
           << name << " a destination of its own";
  return verifyShapes(*this, kind, destination, source, "memory");
}

/// Checks the numbers that the size of the group's lists limits.
static LogicalResult verifySizes(Operation *op, CollectiveAttr what,
                                 GroupOp group, Value destination,
                                 Value source) {
  int64_t ranks = group.getListSize();
  auto emitError = [&] {
    InFlightDiagnostic diag = op->emitOpError();
    diag.attachNote(group.getLoc())
        << "the group is here; its lists have " << ranks << " ranks";
    return diag;
  };
  if (what.getRoot() >= ranks)
    return emitError() << "has the root " << what.getRoot()
                       << ", but roots are positions in the group, 0 to "
                       << ranks - 1;
  for (uint32_t position : what.getPairs())
    if (position >= ranks)
      return emitError() << "has a pair with " << position
                         << ", but pairs are positions in the group, 0 to "
                         << ranks - 1;

  // First sizes: of all parts together, and of one.
  int64_t all, part;
  const char *rule;
  auto getFirst = [](Value memory) {
    return cast<ShapedType>(memory.getType()).getDimSize(0);
  };
  switch (what.getKind()) {
  case CollectiveKind::AllGather:
    all = getFirst(destination);
    part = getFirst(source);
    rule = "the first size of the destination is {0} times that of the source";
    break;
  case CollectiveKind::ReduceScatter:
    all = getFirst(source);
    part = getFirst(destination);
    rule = "the first size of the source is {0} times that of the destination";
    break;
  case CollectiveKind::AllToAll:
    all = getFirst(source);
    if (ShapedType::isDynamic(all))
      all = getFirst(destination);
    part = ShapedType::kDynamic;
    rule = "the first size of both is a multiple of {0}";
    break;
  default:
    return success();
  }
  bool isRight = ShapedType::isDynamic(all) ||
                 (all % ranks == 0 &&
                  (ShapedType::isDynamic(part) || all / ranks == part));
  if (isRight)
    return success();
  return emitError() << "has the destination " << destination.getType()
                     << " and the source " << source.getType() << "; "
                     << llvm::formatv(rule, ranks).str();
}

/// Checks the group of a collective, and the sizes that depend on it.
template <typename Op>
static LogicalResult verifyUses(Op op, SymbolTableCollection &symbols) {
  GroupOp group;
  if (failed(lookupGroup(op, op.getGroupAttr(), symbols, group)))
    return failure();
  return group ? verifySizes(op, op.getWhat(), group, op.getDestination(),
                             op.getSource())
               : success();
}

LogicalResult CollectiveOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyUses(*this, symbols);
}

void CollectiveOp::getWorkAccesses(SmallVectorImpl<WorkAccess> &accesses) {
  for (OpOperand &destination : getDestinationMutable())
    accesses.emplace_back(WorkAccess{&destination}).writes = true;
  for (OpOperand &source : getSourceMutable())
    accesses.emplace_back(WorkAccess{&source}).reads = true;
}

//===----------------------------------------------------------------------===//
// TensorCollectiveOp
//===----------------------------------------------------------------------===//

LogicalResult TensorCollectiveOp::verify() {
  CollectiveKind kind = getWhat().getKind();
  if (kind == CollectiveKind::Barrier)
    return emitOpError("is a barrier, which has no tensors: write "
                       "gpu_async.collective barrier");
  RankedTensorType destination = getDestination().getType();
  RankedTensorType source = getSource().getType();
  if (failed(verifyElements(*this, getWhat(), destination.getElementType(),
                            source.getElementType())))
    return failure();
  return verifyShapes(*this, kind, destination, source, "tensors");
}

LogicalResult
TensorCollectiveOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyUses(*this, symbols);
}

/// Other ranks wait for the op, whether or not this one needs its result. All
/// collectives write one resource, so they keep their order.
void TensorCollectiveOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), SerialResource::get());
}

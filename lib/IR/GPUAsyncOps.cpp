//===- GPUAsyncOps.cpp - ops of the gpu_async dialect ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax, verifiers, effects, folds and canonicalisation patterns of the ops.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/GPUAsyncOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// Syntax that several ops share
//===----------------------------------------------------------------------===//

/// `async`? (`[` tokens `]`)?
static ParseResult
parseAsync(OpAsmParser &parser, Type &tokenType,
           SmallVectorImpl<OpAsmParser::UnresolvedOperand> &dependencies) {
  if (succeeded(parser.parseOptionalKeyword("async")))
    tokenType = TokenType::get(parser.getContext());
  return parser.parseOperandList(dependencies,
                                 OpAsmParser::Delimiter::OptionalSquare);
}

static void printAsync(OpAsmPrinter &printer, Operation *, Type tokenType,
                       OperandRange dependencies) {
  if (tokenType)
    printer << "async";
  if (dependencies.empty())
    return;
  if (tokenType)
    printer << ' ';
  printer << '[';
  printer.printOperands(dependencies);
  printer << ']';
}

ParseResult mlir::gpuasync::parseOrder(
    OpAsmParser &parser, Type &tokenType,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &dependencies,
    std::optional<OpAsmParser::UnresolvedOperand> &stream, IntegerAttr &id,
    DenseI64ArrayAttr &after) {
  if (parseAsync(parser, tokenType, dependencies))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("on"))) {
    stream.emplace();
    if (parser.parseOperand(*stream))
      return failure();
  }
  if (failed(parser.parseOptionalKeyword("id")))
    return success();
  int64_t number;
  if (parser.parseLParen() || parser.parseInteger(number))
    return failure();
  id = parser.getBuilder().getI64IntegerAttr(number);
  if (succeeded(parser.parseOptionalKeyword("after"))) {
    SmallVector<int64_t> numbers;
    auto parseNumber = [&] {
      return parser.parseInteger(numbers.emplace_back());
    };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       parseNumber))
      return failure();
    after = parser.getBuilder().getDenseI64ArrayAttr(numbers);
  }
  return parser.parseRParen();
}

void mlir::gpuasync::printOrder(OpAsmPrinter &printer, Operation *op,
                                Type tokenType, OperandRange dependencies,
                                Value stream, IntegerAttr id,
                                DenseI64ArrayAttr after) {
  bool any = tokenType || !dependencies.empty();
  printAsync(printer, op, tokenType, dependencies);
  if (stream) {
    printer << (any ? " on " : "on ") << stream;
    any = true;
  }
  if (id) {
    printer << (any ? " id(" : "id(") << id.getInt();
    if (after) {
      printer << " after [";
      llvm::interleaveComma(after.asArrayRef(), printer);
      printer << ']';
    }
    printer << ')';
  }
}

/// `(` %a : type, ... `)`
static ParseResult
parseCallArguments(OpAsmParser &parser,
                   SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
                   SmallVectorImpl<Type> &types) {
  auto parseArgument = [&]() -> ParseResult {
    return failure(parser.parseOperand(operands.emplace_back()) ||
                   parser.parseColonType(types.emplace_back()));
  };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                        parseArgument, " in arguments");
}

static void printCallArguments(OpAsmPrinter &printer, Operation *,
                               OperandRange operands, TypeRange types) {
  printer << '(';
  llvm::interleaveComma(
      llvm::zip_equal(operands, types), printer, [&](auto argument) {
        printer << std::get<0>(argument) << " : " << std::get<1>(argument);
      });
  printer << ')';
}

/// (`args` `(` %a : type, ... `)`)?
static ParseResult
parseLaunchArguments(OpAsmParser &parser,
                     SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
                     SmallVectorImpl<Type> &types) {
  if (failed(parser.parseOptionalKeyword("args")))
    return success();
  return parseCallArguments(parser, operands, types);
}

static void printLaunchArguments(OpAsmPrinter &printer, Operation *op,
                                 OperandRange operands, TypeRange types) {
  if (operands.empty())
    return;
  printer << "args";
  printCallArguments(printer, op, operands, types);
}

/// `all_reduce<sum>`, without the brackets of the attribute.
static ParseResult parseCollective(OpAsmParser &parser, CollectiveAttr &what) {
  what = CollectiveAttr::parseText(parser);
  return success(what != nullptr);
}

static void printCollective(OpAsmPrinter &printer, Operation *,
                            CollectiveAttr what) {
  what.printText(printer.getStream());
}

/// `%destination, %source`, and nothing of a barrier: an op with a result may
/// follow.
static ParseResult parseCollectiveMemory(
    OpAsmParser &parser,
    std::optional<OpAsmParser::UnresolvedOperand> &destination,
    std::optional<OpAsmParser::UnresolvedOperand> &source,
    CollectiveAttr what) {
  if (what.getKind() == CollectiveKind::Barrier)
    return success();
  destination.emplace();
  source.emplace();
  return failure(parser.parseOperand(*destination) || parser.parseComma() ||
                 parser.parseOperand(*source));
}

static void printCollectiveMemory(OpAsmPrinter &printer, Operation *,
                                  Value destination, Value source,
                                  CollectiveAttr) {
  if (destination)
    printer << ' ' << destination << ", " << source;
}

#include "GPUAsync/IR/GPUAsyncInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "GPUAsync/IR/GPUAsyncOps.cpp.inc"

//===----------------------------------------------------------------------===//
// What all work ops share
//===----------------------------------------------------------------------===//

LogicalResult mlir::gpuasync::detail::verifyWorkOp(Operation *op) {
  auto work = cast<WorkOpInterface>(op);
  bool inTokenForm = static_cast<bool>(work.getAsyncToken());
  if (!inTokenForm && !work.getAsyncDependencies().empty())
    return op->emitOpError(
        "takes tokens but makes none; write 'async' so that its end is known");
  if (inTokenForm && work.getStream() && !isa<LaunchOp>(op))
    return op->emitOpError("is both 'async' and 'on' a stream, which only a "
                           "launch on a caller's stream can be");
  if (work.getAfter() && !work.getId())
    return op->emitOpError("has 'after' but no 'id'");
  // Sites of the runtime hold 32 bits, of which the last value means none.
  SmallVector<int64_t> ids;
  if (std::optional<uint64_t> id = work.getId())
    ids.push_back(static_cast<int64_t>(*id));
  if (std::optional<ArrayRef<int64_t>> after = work.getAfter())
    ids.append(after->begin(), after->end());
  for (int64_t id : ids)
    if (id < 0 || id >= UINT32_MAX)
      return op->emitOpError("names id ")
             << id << "; ids are 0 to " << UINT32_MAX - 1;
  return success();
}

using Effects = SmallVectorImpl<MemoryEffects::EffectInstance>;

static void consume(OpOperand &token, Effects &effects) {
  effects.emplace_back(MemoryEffects::Free::get(), &token,
                       TokenResource::get());
}

static void produce(OpResult token, Effects &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(), token,
                       TokenResource::get());
}

/// Tokens and the stream of a work op. Enqueuing changes the stream, which also
/// keeps a work op from being deleted or moved across another.
static void addOrderEffects(WorkOpInterface work, Effects &effects) {
  MutableOperandRange dependencies = work.getAsyncDependenciesMutable();
  for (OpOperand &token : dependencies)
    consume(token, effects);
  if (Value token = work.getAsyncToken())
    produce(cast<OpResult>(token), effects);
  MutableOperandRange streams = work.getStreamMutable();
  for (OpOperand &stream : streams)
    effects.emplace_back(MemoryEffects::Write::get(), &stream,
                         StreamResource::get());
}

bool mlir::gpuasync::isAsyncOp(Operation *op) {
  return isa_and_nonnull<GPUAsyncDialect>(op->getDialect()) ||
         isa<WorkOpInterface>(op);
}

SymbolRefAttr mlir::gpuasync::getCode(Operation *op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  return work ? work.getCode() : SymbolRefAttr();
}

bool mlir::gpuasync::runsKernel(Operation *op) {
  SymbolRefAttr code = getCode(op);
  return code && !isa<FlatSymbolRefAttr>(code);
}

void mlir::gpuasync::detail::addAllOperands(
    Operation *op, SmallVectorImpl<WorkAccess> &accesses) {
  for (OpOperand &operand : op->getOpOperands())
    if (isa<BaseMemRefType, LLVM::LLVMPointerType>(operand.get().getType()))
      accesses.push_back({&operand, /*reads=*/true, /*writes=*/true});
}

void mlir::gpuasync::detail::addWorkEffects(Operation *op, Effects &effects) {
  auto work = cast<WorkOpInterface>(op);
  addOrderEffects(work, effects);
  for (OpResult result : op->getResults())
    if (isa<BaseMemRefType>(result.getType()))
      effects.emplace_back(MemoryEffects::Allocate::get(), result);
  if (!work.getSerial().empty())
    effects.emplace_back(MemoryEffects::Write::get(), SerialResource::get());
  if (work.getCode()) {
    // Analyses know the accesses of code, not the op.
    effects.emplace_back(MemoryEffects::Read::get());
    effects.emplace_back(MemoryEffects::Write::get());
    return;
  }
  SmallVector<WorkAccess> accesses;
  work.getWorkAccesses(accesses);
  for (const WorkAccess &access : accesses) {
    if (access.reads)
      effects.emplace_back(MemoryEffects::Read::get(), access.operand);
    if (access.writes)
      effects.emplace_back(MemoryEffects::Write::get(), access.operand);
    if (access.frees)
      effects.emplace_back(MemoryEffects::Free::get(), access.operand);
  }
}

template <typename Effect>
static void touch(OpOperand &memref, Effects &effects) {
  effects.emplace_back(Effect::get(), &memref);
}

/// Element bits, 0 if the size is not known here.
static int64_t bitsOf(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * bitsOf(complex.getElementType());
  if (isa<IndexType>(type))
    return 64;
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.isScalable()
               ? 0
               : vector.getNumElements() * bitsOf(vector.getElementType());
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
}

//===----------------------------------------------------------------------===//
// Canonicalisation that all consumers of tokens share (D10)
//===----------------------------------------------------------------------===//

/// Whether the token has been reached already.
static bool isReady(Value token) {
  auto wait = token.getDefiningOp<WaitOp>();
  return wait && wait.getAsyncDependencies().empty();
}

/// Whether nothing that `op` makes leads to the token. In graph regions, and in
/// blocks that are never reached, tokens may go round.
static bool isMadeBefore(Value token, Operation *op) {
  Operation *maker = token.getDefiningOp();
  if (!maker || maker->getParentRegion() != op->getParentRegion())
    return true;
  return maker->getBlock() == op->getBlock()
             ? maker->isBeforeInBlock(op)
             : maker->getBlock()->isEntryBlock();
}

/// Drops ready and repeated tokens from a list, and replaces a join that nobody
/// else needs by what it joins. A join of several users stays a node: with n
/// inputs and m users it saves n * m - (n + m) edges.
static bool simplifyDependencies(MutableOperandRange dependencies) {
  llvm::SetVector<Value> simplified;
  unsigned before = dependencies.size();
  bool flattened = false;
  for (OpOperand &use : dependencies) {
    Value token = use.get();
    if (isReady(token))
      continue;
    auto join = token.getDefiningOp<WaitOp>();
    Operation *owner = dependencies.getOwner();
    if (join && token.hasOneUse() && join->getBlock() == owner->getBlock() &&
        isMadeBefore(token, owner)) {
      simplified.insert(join.getAsyncDependencies().begin(),
                        join.getAsyncDependencies().end());
      flattened = true;
      continue;
    }
    simplified.insert(token);
  }
  if (!flattened && simplified.size() == before)
    return false;
  dependencies.assign(simplified.getArrayRef());
  return true;
}

namespace {
/// Simplifies the dependencies of a work op, of any dialect, or of a wait.
template <typename Op, template <typename> class Pattern>
struct SimplifyTokens : public Pattern<Op> {
  using Pattern<Op>::Pattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    rewriter.startOpModification(op);
    changed = simplifyDependencies(op.getAsyncDependenciesMutable());
    if (!changed) {
      rewriter.cancelOpModification(op);
      return rewriter.notifyMatchFailure(op, "expected a needless dependency");
    }
    rewriter.finalizeOpModification(op);
    return success();
  }
};

/// A join that nobody takes and a host wait for nothing are nothing.
struct EraseIdleWait : public OpRewritePattern<WaitOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(WaitOp op,
                                PatternRewriter &rewriter) const override {
    bool idle = op.isHostWait() ? op.getAsyncDependencies().empty()
                                : op.getAsyncToken().use_empty();
    if (!idle)
      return rewriter.notifyMatchFailure(op, "expected a wait without effect");
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void GPUAsyncDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  patterns.add<SimplifyTokens<WorkOpInterface, OpInterfaceRewritePattern>>(
      getContext());
}
void WaitOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<SimplifyTokens<WaitOp, OpRewritePattern>, EraseIdleWait>(
      context);
}

//===----------------------------------------------------------------------===//
// WaitOp, ForkOp, ReleaseOp
//===----------------------------------------------------------------------===//

LogicalResult WaitOp::fold(FoldAdaptor,
                           SmallVectorImpl<OpFoldResult> &results) {
  // Joining one token is that token.
  if (isHostWait() || getAsyncDependencies().size() != 1 ||
      !isMadeBefore(getAsyncDependencies().front(), *this))
    return failure();
  results.push_back(getAsyncDependencies().front());
  return success();
}

void WaitOp::getEffects(Effects &effects) {
  for (OpOperand &token : getAsyncDependenciesMutable())
    consume(token, effects);
  if (getAsyncToken()) {
    produce(getOperation()->getResult(0), effects);
    return;
  }
  // What the device wrote becomes visible: no access moves across.
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

void ForkOp::build(OpBuilder &builder, OperationState &state, Value token,
                   unsigned count) {
  SmallVector<Type> types(count, builder.getType<TokenType>());
  build(builder, state, types, token);
}

ParseResult ForkOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand token;
  unsigned count;
  Type type = parser.getBuilder().getType<TokenType>();
  SMLoc countLoc;
  if (parser.parseOperand(token) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.getCurrentLocation(&countLoc) || parser.parseInteger(count) ||
      parser.resolveOperand(token, type, result.operands))
    return failure();
  // Far above any real fork; keeps a typing error from taking all memory.
  if (count > (1u << 20))
    return parser.emitError(countLoc, "too many results: ") << count;
  result.addTypes(SmallVector<Type>(count, type));
  return success();
}

void ForkOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getToken();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getNumResults();
}

LogicalResult ForkOp::verify() {
  if (getNumResults() == 0)
    return emitOpError("makes no token; use gpu_async.release for a token "
                       "that nobody needs");
  return success();
}

LogicalResult ForkOp::fold(FoldAdaptor,
                           SmallVectorImpl<OpFoldResult> &results) {
  if (getNumResults() != 1 || !isMadeBefore(getToken(), *this))
    return failure();
  results.push_back(getToken());
  return success();
}

void ForkOp::getEffects(Effects &effects) {
  consume(getTokenMutable(), effects);
  for (OpResult token : getOperation()->getResults())
    produce(token, effects);
}

void ReleaseOp::getEffects(Effects &effects) {
  consume(getTokenMutable(), effects);
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  if (getKernel().getNestedReferences().size() != 1)
    return emitOpError("expected a kernel of the form @module::@kernel, got ")
           << getKernel();
  size_t clusters = getClusterSizes().size();
  if (clusters != 0 && clusters != 3)
    return emitOpError("expected 0 or 3 cluster sizes, got ") << clusters;
  for (auto [index, type] : llvm::enumerate(getKernelOperands().getTypes()))
    if (isa<TokenType, StreamType, EventType, gpu::AsyncTokenType>(type))
      return emitOpError("passes ")
             << type << " as argument " << index << " to kernel " << getKernel()
             << ", but device code has no tokens, streams or events; to order "
                "the launch, put it before the kernel: 'async [...]', 'on'";
  return success();
}

/// Compares a launch's operands with the types that the kernel declares.
static LogicalResult verifyArguments(LaunchOp launch, TypeRange declared,
                                     Location kernelLoc, bool lowered) {
  TypeRange given = launch.getKernelOperands().getTypes();
  // A lowered kernel takes a memref as the scalars of its descriptor.
  if (lowered && llvm::any_of(given, llvm::IsaPred<BaseMemRefType>))
    return success();
  if (given.size() != declared.size()) {
    InFlightDiagnostic diag = launch.emitOpError("passes ")
                              << given.size() << " arguments to kernel "
                              << launch.getKernel() << ", which takes "
                              << declared.size();
    diag.attachNote(kernelLoc) << "the kernel is here";
    return diag;
  }
  if (lowered)
    return success();
  for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(given, declared))) {
    auto [givenType, declaredType] = pair;
    if (givenType == declaredType)
      continue;
    InFlightDiagnostic diag = launch.emitOpError("argument ")
                              << index << " of kernel " << launch.getKernel()
                              << " is " << givenType
                              << ", but the kernel takes " << declaredType;
    diag.attachNote(kernelLoc) << "the kernel is here";
    return diag;
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getKernel().getNestedReferences().size() != 1)
    return success(); // reported by verify
  Operation *table =
      symbols.lookupNearestSymbolFrom(*this, getKernelModuleName());
  if (!table)
    return emitOpError("launches a kernel of ")
           << getKernel().getRootReference()
           << ", but there is no gpu.module or binary of that name";
  StringAttr name = getKernelName();
  if (auto binary = dyn_cast<BinaryOp>(table)) {
    if (binary.lookupKernel(name))
      return success();
    InFlightDiagnostic diag = emitOpError("launches ")
                              << getKernel() << ", but the binary has no "
                              << "kernel of that name";
    diag.attachNote(binary.getLoc()) << "the binary is here";
    return diag;
  }
  if (isa<gpu::BinaryOp>(table))
    return success(); // checked when its images are taken over
  auto module = dyn_cast<gpu::GPUModuleOp>(table);
  if (!module)
    return emitOpError("launches a kernel of ")
           << getKernel().getRootReference() << ", which is a "
           << table->getName() << ", not a gpu.module or binary";
  Operation *kernel = symbols.lookupSymbolIn(module, name);
  if (!kernel) {
    InFlightDiagnostic diag = emitOpError("launches ")
                              << getKernel()
                              << ", but the module has no kernel of that name";
    diag.attachNote(module.getLoc()) << "the module is here";
    return diag;
  }
  if (auto func = dyn_cast<gpu::GPUFuncOp>(kernel)) {
    if (!func.isKernel()) {
      InFlightDiagnostic diag = emitOpError("launches ")
                                << getKernel()
                                << ", which is not a kernel; mark it 'kernel'";
      diag.attachNote(func.getLoc()) << "the function is here";
      return diag;
    }
    return verifyArguments(*this, func.getArgumentTypes(), func.getLoc(),
                           /*lowered=*/false);
  }
  if (auto func = dyn_cast<LLVM::LLVMFuncOp>(kernel))
    return verifyArguments(*this, func.getArgumentTypes(), func.getLoc(),
                           /*lowered=*/true);
  return emitOpError("launches ")
         << getKernel() << ", which is a " << kernel->getName()
         << ", not a gpu.func or llvm.func";
}

//===----------------------------------------------------------------------===//
// AllocOp, DeallocOp
//===----------------------------------------------------------------------===//

LogicalResult AllocOp::verify() {
  auto type = cast<MemRefType>(getMemref().getType());
  if (getDynamicSizes().size() != size_t(type.getNumDynamicDims()))
    return emitOpError("has ")
           << getDynamicSizes().size() << " dynamic sizes, but " << type
           << " needs " << type.getNumDynamicDims();
  unsigned symbols = 0;
  if (!type.getLayout().isIdentity())
    symbols = type.getLayout().getAffineMap().getNumSymbols();
  if (getSymbolOperands().size() != size_t(symbols))
    return emitOpError("has ")
           << getSymbolOperands().size() << " layout symbols, but " << type
           << " needs " << symbols;
  return success();
}

void DeallocOp::getWorkAccesses(SmallVectorImpl<WorkAccess> &accesses) {
  accesses.emplace_back(WorkAccess{&getMemrefMutable()}).frees = true;
}

//===----------------------------------------------------------------------===//
// WindowOp
//===----------------------------------------------------------------------===//

LogicalResult WindowOp::verify() {
  auto slab = cast<MemRefType>(getSlab().getType());
  auto type = cast<MemRefType>(getMemref().getType());
  if (!getSlab().getDefiningOp<AllocOp>())
    return emitOpError("is of memory that no gpu_async.alloc makes");
  if (slab.getRank() != 1 || !slab.getElementType().isInteger(8) ||
      !slab.getLayout().isIdentity())
    return emitOpError("is of ")
           << slab << ", not of bytes in one dimension (memref<?xi8>)";
  if (!type.getLayout().isIdentity())
    return emitOpError("has ")
           << type << "; a window has the identity layout, take a view of it";
  if (slab.getMemorySpace() != type.getMemorySpace())
    return emitOpError("is in another memory space than its slab: ")
           << type << " of " << slab;
  if (getDynamicSizes().size() != size_t(type.getNumDynamicDims()))
    return emitOpError("has ")
           << getDynamicSizes().size() << " dynamic sizes, but " << type
           << " needs " << type.getNumDynamicDims();
  APInt constant;
  if (!matchPattern(getOffset(), m_ConstantInt(&constant)))
    return success();
  int64_t offset = constant.getSExtValue();
  if (offset < 0 || offset % alignment)
    return emitOpError("begins at byte ")
           << offset << ", which is no multiple of " << alignment;
  // Elements may take more than their bits.
  int64_t end = llvm::divideCeil(bitsOf(type.getElementType()), 8);
  bool isKnown = type.hasStaticShape();
  for (int64_t size : type.getShape())
    isKnown = isKnown && !llvm::MulOverflow(end, size, end);
  if (!isKnown)
    end = 0;
  if (slab.hasStaticShape() && end > slab.getDimSize(0) - offset)
    return emitOpError("has ") << end << " bytes from byte " << offset
                               << " on, in a slab of " << slab.getDimSize(0);
  return success();
}

//===----------------------------------------------------------------------===//
// ConstantOp, ResidentOp
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto global =
      symbols.lookupNearestSymbolFrom<memref::GlobalOp>(*this, getNameAttr());
  if (!global || !global.getConstant() || global.isUninitialized() ||
      global.isExternal())
    return emitOpError("names ")
           << getNameAttr() << ", which is no constant memref.global with a "
           << "value";
  if (global.getType() != getMemref().getType() ||
      !global.getType().getLayout().isIdentity())
    return emitOpError("has ")
           << getMemref().getType() << ", but " << getNameAttr() << " is "
           << global.getType() << "; both are one type without a layout";
  return success();
}

LogicalResult ResidentOp::verify() {
  auto source = cast<MemRefType>(getMemref().getType());
  auto copy = cast<MemRefType>(getCopy().getType());
  if (source.getElementType() != copy.getElementType() ||
      source.getShape() != copy.getShape())
    return emitOpError("has ")
           << copy << " of " << source << ": elements and sizes are the same";
  if (!copy.getLayout().isIdentity() ||
      (!source.getLayout().isIdentity() &&
       !source.areTrailingDimsContiguous(source.getRank())))
    return emitOpError("has ")
           << copy << " of " << source << ": both are memory without gaps";
  return success();
}

void ResidentOp::getEffects(Effects &effects) {
  touch<MemoryEffects::Read>(getMemrefMutable(), effects);
}

//===----------------------------------------------------------------------===//
// MemcpyOp, MemsetOp
//===----------------------------------------------------------------------===//

LogicalResult MemcpyOp::verify() {
  auto destination = cast<MemRefType>(getDestination().getType());
  auto source = cast<MemRefType>(getSource().getType());
  if (destination.getElementType() != source.getElementType())
    return emitOpError("copies ")
           << source.getElementType() << " elements to "
           << destination.getElementType() << " elements; both must be equal";
  if (failed(verifyCompatibleShape(destination, source)))
    return emitOpError("copies ")
           << source << " to " << destination << ": the shapes differ";
  return success();
}

void MemcpyOp::getWorkAccesses(SmallVectorImpl<WorkAccess> &accesses) {
  WorkAccess &to = accesses.emplace_back(WorkAccess{&getDestinationMutable()});
  to.writes = to.mayBePageable = true;
  WorkAccess &from = accesses.emplace_back(WorkAccess{&getSourceMutable()});
  from.reads = from.mayBePageable = true;
}

LogicalResult MemsetOp::verify() {
  auto type = cast<MemRefType>(getDestination().getType());
  if (type.getElementType() != getValue().getType())
    return emitOpError("sets elements of ")
           << type << " to a value of type " << getValue().getType()
           << "; it must be " << type.getElementType();
  int64_t bits = bitsOf(type.getElementType());
  int64_t bytes = llvm::divideCeil(bits, 8);
  if (bits == 0 || bytes > 16 || !llvm::isPowerOf2_64(bytes))
    return emitOpError("cannot set elements of type ")
           << type.getElementType() << ": elements of 1, 2, 4, 8 or 16 bytes "
           << "are supported";
  return success();
}

void MemsetOp::getWorkAccesses(SmallVectorImpl<WorkAccess> &accesses) {
  accesses.emplace_back(WorkAccess{&getDestinationMutable()}).writes = true;
}

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

/// Whether compilers of C pass a value of the type as LLVM does.
static bool isCommonArgument(Type type) {
  return isa<MemRefType, IndexType, LLVM::LLVMPointerType>(type) ||
         type.isSignlessInteger(32) || type.isSignlessInteger(64) ||
         type.isF32() || type.isF64();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (Type type : getArguments().getTypes())
    if (!isCommonArgument(type))
      return emitOpError("passes a value of type ")
             << type
             << ": arguments are ranked memrefs, index, i32, i64, f32, f64 and "
                "pointers";
  Operation *symbol = symbols.lookupNearestSymbolFrom(*this, getCalleeAttr());
  if (!symbol)
    return emitOpError("calls ")
           << getCalleeAttr()
           << ", which the program does not declare: add 'func.func private "
           << getCalleeAttr() << "(...)' with the types of the arguments";
  auto diagnose = [&](const Twine &what) {
    InFlightDiagnostic diag = emitOpError("calls ") << getCalleeAttr() << what;
    diag.attachNote(symbol->getLoc()) << "it is here";
    return diag;
  };
  if ((*this)->getParentOfType<RegionOp>() &&
      !symbol->hasAttr(GPUAsyncDialect::getReplayableName()))
    return diagnose(", which is not gpu_async.replayable, in a region");
  auto function = dyn_cast<FunctionOpInterface>(symbol);
  // It has been given its type in C when the program is lowered.
  if (function && isa_and_nonnull<LLVM::LLVMDialect>(symbol->getDialect()))
    return success();
  if (!function || !function.isExternal())
    return diagnose(", which is no function of a library: it must be declared "
                    "only");
  if (function.getNumResults())
    return diagnose(", which is declared with results: what a library's "
                    "function returns says whether it failed");
  if (TypeRange(function.getArgumentTypes()) != getArguments().getTypes())
    return diagnose(" with other types than it is declared with");
  return success();
}

//===----------------------------------------------------------------------===//
// Host memory, streams and events
//===----------------------------------------------------------------------===//

void HostRegisterOp::getEffects(Effects &effects) {
  touch<MemoryEffects::Read>(getMemrefMutable(), effects);
  touch<MemoryEffects::Write>(getMemrefMutable(), effects);
}

void HostUnregisterOp::getEffects(Effects &effects) {
  touch<MemoryEffects::Read>(getMemrefMutable(), effects);
  touch<MemoryEffects::Write>(getMemrefMutable(), effects);
}

static void useStream(OpOperand &stream, Effects &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &stream,
                       StreamResource::get());
}

void StreamCreateOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(),
                       cast<OpResult>(getStream()), StreamResource::get());
}

void StreamExternalOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(),
                       cast<OpResult>(getStream()), StreamResource::get());
}

void StreamDestroyOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Free::get(), &getStreamMutable(),
                       StreamResource::get());
}

void StreamWaitOp::getEffects(Effects &effects) {
  useStream(getStreamMutable(), effects);
  effects.emplace_back(MemoryEffects::Read::get(), &getEventMutable(),
                       EventResource::get());
}

LogicalResult StreamSynchronizeOp::verify() {
  if (getStreams().empty())
    return emitOpError("expected at least one stream");
  return success();
}

void StreamSynchronizeOp::getEffects(Effects &effects) {
  for (OpOperand &stream : getStreamsMutable())
    useStream(stream, effects);
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

void EventRecordOp::getEffects(Effects &effects) {
  useStream(getStreamMutable(), effects);
  effects.emplace_back(MemoryEffects::Allocate::get(),
                       cast<OpResult>(getEvent()), EventResource::get());
}

void EventReadyOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(),
                       cast<OpResult>(getEvent()), EventResource::get());
}

void EventDestroyOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Free::get(), &getEventMutable(),
                       EventResource::get());
}

LogicalResult EventSynchronizeOp::verify() {
  if (getEvents().empty())
    return emitOpError("expected at least one event");
  return success();
}

void EventSynchronizeOp::getEffects(Effects &effects) {
  for (OpOperand &event : getEventsMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &event,
                         EventResource::get());
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

//===----------------------------------------------------------------------===//
// RegionOp
//===----------------------------------------------------------------------===//

void RegionOp::build(OpBuilder &builder, OperationState &state,
                     TypeRange results) {
  state.addTypes(results);
  state.addRegion()->emplaceBlock();
}

ParseResult RegionOp::parse(OpAsmParser &parser, OperationState &result) {
  Region *body = result.addRegion();
  if (parser.parseOptionalArrowTypeList(result.types) ||
      parser.parseRegion(*body) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  // One that yields nothing may be left out.
  if (body->empty())
    body->emplaceBlock();
  Block &last = body->back();
  if (last.empty() || !last.back().hasTrait<OpTrait::IsTerminator>()) {
    OpBuilder builder(parser.getContext());
    builder.setInsertionPointToEnd(&last);
    YieldOp::create(builder, result.location);
  }
  return success();
}

void RegionOp::print(OpAsmPrinter &printer) {
  printer.printOptionalArrowTypeList(getResultTypes());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/getNumResults() != 0 ||
                          !getBody().hasOneBlock());
  printer.printOptionalAttrDict((*this)->getAttrs());
}

LogicalResult RegionOp::verifyRegions() {
  if (getBody().getNumArguments())
    return emitOpError("has a body with arguments, which nothing gives");
  WalkResult result = getBody().walk([&](Operation *op) {
    auto work = dyn_cast<WorkOpInterface>(op);
    bool isDevice = work || isa_and_nonnull<GPUAsyncDialect, gpu::GPUDialect>(
                                op->getDialect());
    if (!isDevice || (work && work.isReplayable()) ||
        isa<WindowOp, ConstantOp, RankOp, SizeOp, UniformOp, StreamCreateOp,
            StreamDestroyOp, StreamWaitOp, EventRecordOp, EventReadyOp,
            EventDestroyOp, YieldOp>(op))
      return WalkResult::advance();
    InFlightDiagnostic diag = emitOpError("holds '")
                              << op->getName()
                              << "', which no region may: only launches, "
                                 "copies, fills, library calls, streams and "
                                 "events";
    diag.attachNote(op->getLoc()) << "the op is here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

void RegionOp::getSuccessorRegions(
    RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &successors) {
  if (point.isParent())
    successors.emplace_back(&getBody());
  else
    successors.emplace_back(getOperation(), getResults());
}

void RegionOp::getRegionInvocationBounds(
    ArrayRef<Attribute>, SmallVectorImpl<InvocationBounds> &bounds) {
  bounds.emplace_back(1, 1);
}

//===----------------------------------------------------------------------===//
// BinaryOp
//===----------------------------------------------------------------------===//

LogicalResult BinaryOp::verify() {
  llvm::SmallPtrSet<Attribute, 8> names;
  for (Attribute attr : getKernels()) {
    auto kernel = dyn_cast<KernelAttr>(attr);
    if (!kernel)
      return emitOpError("expected #gpu_async.kernel attributes, got ") << attr;
    if (!names.insert(StringAttr::get(getContext(), kernel.getName())).second)
      return emitOpError("has two kernels named '") << kernel.getName() << "'";
  }
  for (Attribute attr : getImages()) {
    auto image = dyn_cast<ImageAttr>(attr);
    if (!image)
      return emitOpError("expected #gpu_async.image attributes, got ") << attr;
    if (image.getFunctions() &&
        image.getFunctions().size() != getKernels().size())
      return emitOpError("has ")
             << getKernels().size() << " kernels, but its cpu image has "
             << image.getFunctions().size() << " functions";
  }
  return success();
}

LogicalResult BinaryOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // gpuasync_cpu_block_fn and gpuasync_cpu_operations_fn of RuntimeABI.h.
  Type pointer = LLVM::LLVMPointerType::get(getContext());
  auto ofBlock = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(getContext()), {pointer, pointer, pointer});
  auto ofCounter = LLVM::LLVMFunctionType::get(Float64Type::get(getContext()),
                                               {pointer, pointer});
  auto check = [&](FlatSymbolRefAttr name, StringRef what,
                   LLVM::LLVMFunctionType type) -> LogicalResult {
    Operation *symbol = symbols.lookupNearestSymbolFrom(*this, name);
    if (!symbol)
      return emitOpError("names the ") << what << " function " << name
                                       << ", which the program does not have";
    auto function = dyn_cast<LLVM::LLVMFuncOp>(symbol);
    if (function && function.getFunctionType() == type)
      return success();
    InFlightDiagnostic diag = emitOpError("names the ")
                              << what << " function " << name
                              << ", which is not an llvm.func of type " << type;
    diag.attachNote(symbol->getLoc()) << "it is here";
    return diag;
  };
  for (auto image : getImages().getAsRange<ImageAttr>()) {
    if (!image.getFunctions())
      continue;
    for (auto kernel : image.getFunctions().getAsRange<CpuKernelAttr>())
      if (failed(check(kernel.getFunction(), "block", ofBlock)) ||
          (kernel.getCounter() &&
           failed(check(kernel.getCounter(), "operations", ofCounter))))
        return failure();
  }
  return success();
}

std::optional<unsigned> BinaryOp::lookupKernel(StringRef name) {
  for (auto [index, kernel] :
       llvm::enumerate(getKernels().getAsRange<KernelAttr>()))
    if (kernel.getName() == name)
      return index;
  return std::nullopt;
}

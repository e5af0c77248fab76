//===- CallProducts.cpp - matrix products by a library --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call of libgpuasync_blas.so and the tiles of the same product, of which the
// host takes one.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Offload/Passes.h"
#include "KernelNames.h"
#include "Product.h"
#include "Schedule.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"

#include <climits>

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCCALLPRODUCTS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

namespace {
struct CallProducts
    : public gpuasync::impl::GPUAsyncCallProductsBase<CallProducts> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult rewrite(linalg::LinalgOp op, SymbolTable &symbols);
  func::FuncOp declare(StringRef name, FunctionType type, SymbolTable &symbols,
                       std::string &why);
  FunctionType getCallType(const Product &product);
  int64_t chooseWorkspace(const Product &product);
};
} // namespace

static MemRefType getAnyType(Type element, unsigned rank) {
  SmallVector<int64_t> any(rank, ShapedType::kDynamic);
  return MemRefType::get(
      any, element,
      StridedLayoutAttr::get(element.getContext(), ShapedType::kDynamic, any));
}

/// Whether the function takes the matrix: one of its last two strides is 1, and
/// the other one as long as the matrix there.
static bool hasStridesOfFunction(const Product::Matrix &matrix) {
  auto type = dyn_cast<MemRefType>(matrix.operand->get().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || type.getMemorySpace() ||
      failed(type.getStridesAndOffset(strides, offset)))
    return false;
  auto isBy = [&](unsigned place, unsigned other) {
    if (strides[place] != 1 && type.getDimSize(place) != 1)
      return false;
    if (type.getLayout().isIdentity() || type.getDimSize(other) == 1)
      return true;
    return !type.isDynamicDim(place) &&
           !ShapedType::isDynamic(strides[other]) &&
           strides[other] >= type.getDimSize(place);
  };
  ArrayRef<unsigned> last = ArrayRef(matrix.places).take_back(2);
  return isBy(last[1], last[0]) || isBy(last[0], last[1]);
}

/// The matrix with its batch, rows and columns in this order. A
/// memref.transpose is no view to those who ask whose memory it is.
static Value orderDimensions(OpBuilder &builder, Location loc,
                             const Product::Matrix &matrix) {
  Value value = matrix.operand->get();
  if (llvm::is_sorted(matrix.places))
    return value;
  auto type = cast<MemRefType>(value.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  SmallVector<OpFoldResult> allSizes =
      memref::getMixedSizes(builder, loc, value);
  SmallVector<OpFoldResult> allStrides;
  OpFoldResult begin = builder.getIndexAttr(offset);
  if (ShapedType::isDynamic(offset) ||
      llvm::any_of(strides, ShapedType::isDynamic)) {
    auto facts = memref::ExtractStridedMetadataOp::create(builder, loc, value);
    allStrides = facts.getConstifiedMixedStrides();
    begin = facts.getConstifiedMixedOffset();
  } else {
    for (int64_t stride : strides)
      allStrides.push_back(builder.getIndexAttr(stride));
  }
  SmallVector<OpFoldResult> sizes, permuted;
  for (unsigned place : matrix.places) {
    sizes.push_back(allSizes[place]);
    permuted.push_back(allStrides[place]);
  }
  return memref::ReinterpretCastOp::create(builder, loc, value, begin, sizes,
                                           permuted);
}

FunctionType CallProducts::getCallType(const Product &product) {
  Builder builder(&getContext());
  Type element = getElementTypeOrSelf(product.c.operand->get().getType());
  MemRefType matrix = getAnyType(element, product.c.places.size());
  auto workspace = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  return builder.getFunctionType(
      {matrix, matrix, matrix, workspace, builder.getI32Type()}, {});
}

/// The declaration of a library's function. None, with the reason, if the
/// program has another thing of that name.
func::FuncOp CallProducts::declare(StringRef name, FunctionType type,
                                   SymbolTable &symbols, std::string &why) {
  if (Operation *known = symbols.lookup(name)) {
    auto function = dyn_cast<func::FuncOp>(known);
    if (function && function.isExternal() && function.getFunctionType() == type)
      return function;
    why = ("the program has an @" + name + " of its own").str();
    return func::FuncOp();
  }
  auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
  auto function =
      func::FuncOp::create(builder, getOperation().getLoc(), name, type);
  function.setPrivate();
  symbols.insert(function);
  return function;
}

/// Bytes that let the vendors' algorithms cut the sums into some parts.
int64_t CallProducts::chooseWorkspace(const Product &product) {
  constexpr int64_t most = 32 << 20;
  if (device == OffloadDevice::CPU)
    return 0;
  auto type = cast<MemRefType>(product.c.operand->get().getType());
  double bytes = 16 * 4;
  for (int64_t size : type.getShape())
    bytes = ShapedType::isDynamic(size) ? most : bytes * size;
  return llvm::alignTo(int64_t(std::min<double>(bytes, most)), 256);
}

/// All of the product, for blocks of many tiles or of one. Its sums begin with
/// 0 where it does not add to what is there.
static LogicalResult makeTiles(IRRewriter &rewriter, linalg::LinalgOp op) {
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> sizes;
  auto tile = op->getAttrOfType<DenseI64ArrayAttr>(kTileAttrName);
  for (int64_t size : tile.asArrayRef())
    sizes.push_back(rewriter.getIndexAttr(size));
  const size_t cut =
      llvm::count_if(tile.asArrayRef(), [](int64_t size) { return size != 0; });
  bool adds = op->getAttrOfType<BoolAttr>(kProductAttrName).getValue();
  op->removeAttr(kProductAttrName);
  op->removeAttr(kTileAttrName);
  linalg::LinalgOp inBlock;
  rewriter.setInsertionPoint(op);
  const std::string name = nameKernel(op);
  if (cut == 0) {
    SmallVector<OpFoldResult> zero{rewriter.getIndexAttr(0)},
        one{rewriter.getIndexAttr(1)};
    auto loop = scf::ForallOp::create(
        rewriter, loc, zero, one, one, ValueRange(),
        rewriter.getArrayAttr(mapToBlocks(rewriter.getContext(), 1)));
    setKernelName(loop, name);
    rewriter.moveOpBefore(op, loop.getTerminator());
    inBlock = op;
  } else {
    scf::SCFTilingOptions tiling;
    tiling.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
    tiling.setTileSizes(sizes);
    tiling.setMapping(mapToBlocks(rewriter.getContext(), cut));
    auto tiled = scf::tileUsingSCF(
        rewriter, cast<TilingInterface>(op.getOperation()), tiling);
    if (failed(tiled))
      return op->emitOpError("cannot be cut into tiles");
    setKernelName(tiled->loops.front(), name);
    inBlock = cast<linalg::LinalgOp>(tiled->tiledOps.front());
    rewriter.eraseOp(op);
  }
  if (adds)
    return success();
  rewriter.setInsertionPoint(inBlock);
  Value destination = inBlock.getDpsInitOperand(0)->get();
  Value zero = arith::ConstantOp::create(
      rewriter, loc,
      rewriter.getZeroAttr(getElementTypeOrSelf(destination.getType())));
  linalg::FillOp::create(rewriter, loc, zero, destination);
  return success();
}

void CallProducts::runOnOperation() {
  SymbolTable symbols(getOperation());
  SmallVector<linalg::LinalgOp> products;
  getOperation().walk([&](linalg::LinalgOp op) {
    if (op->hasAttr(kProductAttrName))
      products.push_back(op);
  });
  for (linalg::LinalgOp op : products)
    if (failed(rewrite(op, symbols)))
      return signalPassFailure();
}

LogicalResult CallProducts::rewrite(linalg::LinalgOp op, SymbolTable &symbols) {
  IRRewriter rewriter(op);
  std::string why;
  std::optional<Product> product = Product::match(op, why);
  func::FuncOp has;
  if (product) {
    std::pair<const Product::Matrix *, StringRef> matrices[] = {
        {&product->a, "left"}, {&product->b, "right"}, {&product->c, "result"}};
    for (auto [matrix, name] : matrices)
      if (!hasStridesOfFunction(*matrix) && why.empty()) {
        llvm::raw_string_ostream os(why);
        os << "its " << name << " matrix is of type "
           << matrix->operand->get().getType()
           << ", of which it is not known that one of the matrix's strides is "
              "1 and the other one as long as the matrix there";
      }
    SmallString<64> name("gpuasync_blas_has_");
    name += product->element;
    if (why.empty())
      has = declare(name, rewriter.getFunctionType({}, {rewriter.getI32Type()}),
                    symbols, why);
    name = product->isBatch ? "gpuasync_blas_batch_matmul_"
                            : "gpuasync_blas_matmul_";
    name += product->element;
    if (why.empty())
      (void)declare(name, getCallType(*product), symbols, why);
  }
  if (!product || !why.empty()) {
    if (!why.empty())
      op->emitRemark() << Product::isNotCalled << why;
    Decision(*this, op, "ProductInTiles").count(numTiled, "tiled-products");
    return makeTiles(rewriter, op);
  }
  Decision(*this, op, "ProductByLibrary").count(numCalled, "library-calls");
  // What it says is a fact of the device, and not of memory.
  has->setAttr("llvm.readnone", rewriter.getUnitAttr());

  Location loc = op.getLoc();
  auto function = op->getParentOfType<func::FuncOp>();
  func::CallOp query;
  for (auto call : function.front().getOps<func::CallOp>())
    if (call.getCallee() == has.getName())
      query = call;
  if (!query) {
    auto atBegin = OpBuilder::atBlockBegin(&function.front());
    query = func::CallOp::create(atBegin, loc, has);
  }
  Value isThere = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::ne, query.getResult(0),
      arith::ConstantIntOp::create(rewriter, loc, 0, 32));
  // 1 to 2^31 - 1.
  for (const Product::Matrix *matrix : {&product->a, &product->b, &product->c})
    for (auto [dim, size] : llvm::enumerate(
             cast<MemRefType>(matrix->operand->get().getType()).getShape()))
      if (ShapedType::isDynamic(size)) {
        Value length =
            memref::DimOp::create(rewriter, loc, matrix->operand->get(), dim);
        Value less = arith::SubIOp::create(
            rewriter, loc, length,
            arith::ConstantIndexOp::create(rewriter, loc, 1));
        Value isTaken = arith::CmpIOp::create(
            rewriter, loc, arith::CmpIPredicate::ult, less,
            arith::ConstantIndexOp::create(rewriter, loc, INT_MAX));
        isThere = arith::AndIOp::create(rewriter, loc, isThere, isTaken);
      }
  // Allocated in a branch it would end a region of device work.
  Value bytes =
      arith::ConstantIndexOp::create(rewriter, loc, chooseWorkspace(*product));
  Value workspace = memref::AllocOp::create(
      rewriter, loc,
      MemRefType::get({ShapedType::kDynamic}, rewriter.getI8Type()), bytes);
  auto branch = scf::IfOp::create(rewriter, loc, TypeRange(), isThere,
                                  /*withElseRegion=*/true);
  memref::DeallocOp::create(rewriter, loc, workspace);

  rewriter.setInsertionPointToStart(branch.thenBlock());
  FunctionType type = getCallType(*product);
  SmallVector<Value> arguments;
  for (const Product::Matrix *matrix :
       {&product->a, &product->b, &product->c}) {
    Value value = orderDimensions(rewriter, loc, *matrix);
    if (value.getType() != type.getInput(0))
      value = memref::CastOp::create(rewriter, loc,
                                     cast<MemRefType>(type.getInput(0)), value);
    arguments.push_back(value);
  }
  arguments.push_back(workspace);
  bool adds = op->getAttrOfType<BoolAttr>(kProductAttrName).getValue();
  arguments.push_back(
      arith::ConstantIntOp::create(rewriter, loc, adds ? 1 : 0, 32));
  SmallString<64> name(product->isBatch ? "gpuasync_blas_batch_matmul_"
                                        : "gpuasync_blas_matmul_");
  name += product->element;
  auto callee = cast<func::FuncOp>(symbols.lookup(name));
  callee->setAttr(GPUAsyncDialect::getNonblockingName(),
                  rewriter.getUnitAttr());
  callee->setAttr(GPUAsyncDialect::getReplayableName(), rewriter.getUnitAttr());
  for (unsigned input : {0, 1})
    callee.setArgAttr(input, LLVM::LLVMDialect::getReadonlyAttrName(),
                      rewriter.getUnitAttr());
  gpuasync::CallOp::create(rewriter, loc, /*asyncToken=*/Type(),
                           /*asyncDependencies=*/ValueRange(),
                           /*stream=*/Value(), /*id=*/IntegerAttr(),
                           /*after=*/DenseI64ArrayAttr(),
                           FlatSymbolRefAttr::get(callee), arguments);
  rewriter.moveOpBefore(op, branch.elseBlock()->getTerminator());
  return makeTiles(rewriter, op);
}

//===- BFloats.cpp - bf16 as an integer -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that only move a bf16 are given another type. Around what is left stand
// bitcasts. A public function with bf16 in its type keeps it for others, and
// only calls a function that has integers.
//===----------------------------------------------------------------------===//

#include "BFloats.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mlir::gpuasync;

static bool hasBFloat(Type type) {
  return type
      .walk([](Type part) {
        return part.isBF16() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool hasBFloat(TypeRange types) {
  return llvm::any_of(types, [](Type type) { return hasBFloat(type); });
}

/// The bits of `value` as `type`, which has the same fields and elements.
static Value castBits(OpBuilder &at, Value value, Type type) {
  const Location loc = value.getLoc();
  SmallVector<Type> parts;
  if (value.getType() == type)
    return value;
  if (auto fields = dyn_cast<LLVM::LLVMStructType>(type))
    llvm::append_range(parts, fields.getBody());
  else if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    parts.assign(array.getNumElements(), array.getElementType());
  else
    return LLVM::BitcastOp::create(at, loc, type, value);
  Value whole = LLVM::PoisonOp::create(at, loc, type);
  for (auto [i, part] : llvm::enumerate(parts)) {
    Value old = LLVM::ExtractValueOp::create(at, loc, value, i);
    whole =
        LLVM::InsertValueOp::create(at, loc, whole, castBits(at, old, part), i);
  }
  return whole;
}

namespace {
class Carrier {
public:
  explicit Carrier(Operation *root);
  void run();

private:
  void findOwn();
  LLVM::LLVMFuncOp split(LLVM::LLVMFuncOp function);
  bool onlyMoves(Operation *op) const;
  void carry(LLVM::LLVMFuncOp function);
  void castUses(OpBuilder at, ValueRange values);

  Operation *root;
  AttrTypeReplacer toIntegers;
  /// Functions whose arguments and results become integers.
  llvm::DenseSet<StringAttr> own;
};
} // namespace

Carrier::Carrier(Operation *root) : root(root) {
  Type i16 = IntegerType::get(root->getContext(), 16);
  toIntegers.addReplacement([=](BFloat16Type) -> Type { return i16; });
  toIntegers.addReplacement([=](FloatAttr value) -> std::optional<Attribute> {
    if (!value.getType().isBF16())
      return std::nullopt;
    return IntegerAttr::get(i16, value.getValue().bitcastToAPInt());
  });
  toIntegers.addReplacement(
      [=](DenseElementsAttr values) -> std::optional<Attribute> {
        if (!values.getElementType().isBF16())
          return std::nullopt;
        return values.bitcast(i16);
      });
}

/// Finds the functions that only calls of `root` use.
void Carrier::findOwn() {
  llvm::DenseSet<StringAttr> used;
  root->walk([&](Operation *op) {
    if (isa<LLVM::CallOp, LLVM::LLVMFuncOp>(op))
      return;
    for (NamedAttribute attribute : op->getAttrs())
      attribute.getValue().walk(
          [&](FlatSymbolRefAttr symbol) { used.insert(symbol.getAttr()); });
  });
  root->walk([&](LLVM::LLVMFuncOp function) {
    if (!function.isExternal() && !used.contains(function.getSymNameAttr()) &&
        (function.isPrivate() ||
         function.getLinkage() == LLVM::Linkage::Internal ||
         function.getLinkage() == LLVM::Linkage::Private))
      own.insert(function.getSymNameAttr());
  });
}

/// Moves the body of `function` into a function of our own, which it calls.
LLVM::LLVMFuncOp Carrier::split(LLVM::LLVMFuncOp function) {
  Operation *table = function->getParentWithTrait<OpTrait::SymbolTable>();
  const Location loc = function.getLoc();
  auto inner = cast<LLVM::LLVMFuncOp>(function->cloneWithoutRegions());
  inner.setSymName((function.getSymName() + "_bf16").str());
  inner.setLinkage(LLVM::Linkage::Internal);
  inner.removeComdatAttr();
  SymbolTable(table).insert(inner, std::next(function->getIterator()));
  own.insert(inner.getSymNameAttr());
  inner.getBody().takeBody(function.getBody());
  root->walk([&](LLVM::CallOp call) {
    if (call.getCallee() == function.getSymName())
      call.setCallee(inner.getSymName());
  });
  // Debug information describes the function that has the body.
  if (auto fused = dyn_cast<FusedLocWith<LLVM::DISubprogramAttr>>(loc))
    function->setLoc(fused.getLocations().front());
  OpBuilder builder(function.getContext());
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  auto call = LLVM::CallOp::create(builder, function.getLoc(), inner,
                                   entry->getArguments());
  LLVM::ReturnOp::create(builder, function.getLoc(), call.getResults());
  return inner;
}

/// Whether `op` does the same with integers.
bool Carrier::onlyMoves(Operation *op) const {
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    return call.getCalleeAttr() && own.contains(call.getCalleeAttr().getAttr());
  if (isa<LLVM::ReturnOp>(op)) {
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    return own.contains(function.getSymNameAttr());
  }
  return isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::SelectOp, LLVM::BrOp,
             LLVM::CondBrOp, LLVM::SwitchOp, LLVM::ConstantOp, LLVM::UndefOp,
             LLVM::PoisonOp, LLVM::ZeroOp, LLVM::BitcastOp, LLVM::FreezeOp,
             LLVM::InsertValueOp, LLVM::ExtractValueOp, LLVM::InsertElementOp,
             LLVM::ExtractElementOp, LLVM::ShuffleVectorOp, LLVM::GEPOp,
             LLVM::AllocaOp, LLVM::MaskedLoadOp, LLVM::MaskedStoreOp,
             LLVM::masked_gather, LLVM::masked_scatter,
             LLVM::masked_compressstore, LLVM::masked_expandload,
             LLVM::vector_extract, LLVM::vector_insert,
             LLVM::vector_interleave2, LLVM::vector_deinterleave2>(op);
}

/// Gives all that uses `values` integers, which `at` makes of them.
void Carrier::castUses(OpBuilder at, ValueRange values) {
  for (Value value : values) {
    SmallVector<OpOperand *> uses = llvm::to_vector(
        llvm::map_range(value.getUses(), [](OpOperand &use) { return &use; }));
    Value moved = castBits(at, value, toIntegers.replace(value.getType()));
    for (OpOperand *use : uses)
      use->set(moved);
  }
}

void Carrier::carry(LLVM::LLVMFuncOp function) {
  SmallVector<Operation *> moves;
  SmallVector<std::pair<Operation *, SmallVector<Type>>> others;
  function.getBody().walk([&](Operation *op) {
    if (onlyMoves(op))
      moves.push_back(op);
    else if (hasBFloat(op->getOperandTypes()) ||
             hasBFloat(op->getResultTypes()))
      others.emplace_back(op, llvm::to_vector(op->getOperandTypes()));
  });
  for (Operation *op : moves)
    toIntegers.replaceElementsIn(op, /*replaceAttrs=*/true,
                                 /*replaceLocs=*/false, /*replaceTypes=*/true);
  // The types of what others call are those of `split`.
  const bool isOwn = own.contains(function.getSymNameAttr());
  Block &entry = function.getBody().front();
  for (Block &block : function.getBody())
    if (isOwn || &block != &entry)
      for (BlockArgument argument : block.getArguments())
        argument.setType(toIntegers.replace(argument.getType()));
  if (isOwn)
    function.setFunctionType(cast<LLVM::LLVMFunctionType>(
        toIntegers.replace(Type(function.getFunctionType()))));
  else
    castUses(OpBuilder::atBlockBegin(&entry), entry.getArguments());

  for (auto &[op, types] : others) {
    OpBuilder after(op->getContext());
    after.setInsertionPointAfter(op);
    castUses(after, op->getResults());
  }
  for (auto &[op, types] : others) {
    OpBuilder before(op);
    for (auto [operand, type] : llvm::zip_equal(op->getOpOperands(), types))
      operand.set(castBits(before, operand.get(), type));
  }
}

void Carrier::run() {
  findOwn();
  SmallVector<LLVM::LLVMFuncOp> functions;
  root->walk([&](LLVM::LLVMFuncOp function) {
    if (!function.isExternal())
      functions.push_back(function);
  });
  for (size_t i = 0, end = functions.size(); i != end; ++i)
    if (hasBFloat(functions[i].getFunctionType()) &&
        !own.contains(functions[i].getSymNameAttr()))
      functions.push_back(split(functions[i]));
  for (LLVM::LLVMFuncOp function : functions)
    carry(function);
  root->walk([](LLVM::BitcastOp op) {
    if (op.getType() != op.getArg().getType())
      return;
    op.replaceAllUsesWith(op.getArg());
    op.erase();
  });
}

void cpu::carryBFloatsAsIntegers(Operation *root) { Carrier(root).run(); }

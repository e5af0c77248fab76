//===- KernelNames.cpp - names of kernels ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See KernelNames.h.
//===----------------------------------------------------------------------===//

#include "KernelNames.h"
#include "Combiner.h"
#include "Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

static constexpr llvm::StringLiteral kNameAttrName = "gpu_async.kernel_name";
static constexpr size_t maxWords = 3;

namespace {
/// How much a word says. Of the lesser ones there are none beside greater ones.
enum class Weight { Move, Arithmetic, Function, Loop };

struct Word {
  StringRef text;
  Weight weight;
};

class NameWords {
public:
  void add(StringRef text, Weight weight) {
    if (llvm::none_of(words, [&](Word &word) { return word.text == text; }))
      words.push_back({text, weight});
  }
  void addOf(linalg::LinalgOp op);
  std::string join();

private:
  void addOfBody(linalg::LinalgOp op);
  SmallVector<Word> words;
};
} // namespace

/// The word of a scalar op, without types, signs and NaN: "max" of
/// arith.maximumf and arith.maxsi.
static StringRef findArithmetic(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .StartsWith("max", "max")
      .StartsWith("min", "min")
      .StartsWith("add", "add")
      .StartsWith("sub", "sub")
      .StartsWith("mul", "mul")
      .StartsWith("ceildiv", "div")
      .StartsWith("floordiv", "div")
      .StartsWith("div", "div")
      .StartsWith("rem", "rem")
      .StartsWith("neg", "neg")
      .StartsWith("cmp", "compare")
      .StartsWith("sh", "shift")
      .Case("select", "select")
      .Case("andi", "and")
      .Case("ori", "or")
      .Case("xori", "xor")
      .Cases({"extf", "extsi", "extui", "truncf", "trunci", "sitofp", "uitofp",
              "fptosi", "fptoui", "bitcast"},
             "convert")
      .Default("");
}

static StringRef findFunction(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .StartsWith("abs", "abs")
      .Cases({"powf", "fpowi", "ipowi"}, "pow")
      .Case("fma", "")
      .Default(name);
}

/// How a reduction combines.
static StringRef findReduction(Operation *combiner) {
  if (!combiner)
    return "reduce";
  StringRef text = findArithmetic(combiner->getName().stripDialect());
  return text == "add"   ? "sum"
         : text == "mul" ? "prod"
         : text.empty()  ? "reduce"
                         : text;
}

void NameWords::addOfBody(linalg::LinalgOp op) {
  llvm::DenseSet<Operation *> combiners;
  if (op.getNumReductionLoops())
    for (unsigned output = 0; output < op.getNumDpsInits(); ++output)
      combiners.insert(findCombiner(op, output));
  op.getBlock()->walk([&](Operation *inner) {
    if (combiners.contains(inner))
      return;
    StringRef dialect = inner->getName().getDialectNamespace();
    StringRef name = inner->getName().stripDialect();
    if (isa<scf::ForOp, scf::WhileOp>(inner))
      add("loop", Weight::Loop);
    else if (isa<tensor::ExtractOp, memref::LoadOp>(inner))
      add("gather", Weight::Function);
    else if (isa<memref::StoreOp>(inner))
      add("scatter", Weight::Function);
    else if (isa<cf::AssertOp>(inner))
      add("check", Weight::Arithmetic);
    else if (isa<func::CallOp>(inner))
      add("call", Weight::Function);
    else if (StringRef text = findFunction(name);
             dialect == "math" && !text.empty())
      add(text, Weight::Function);
    else if (StringRef text = findArithmetic(name);
             !text.empty() && (dialect == "arith" || dialect == "complex"))
      add(text, Weight::Arithmetic);
  });
}

/// The map of the first output; all loops where an op has none.
static AffineMap findOutputMap(linalg::LinalgOp op) {
  return op.getNumDpsInits()
             ? op.getMatchingIndexingMap(op.getDpsInitOperand(0))
             : AffineMap::getMultiDimIdentityMap(op.getNumLoops(),
                                                 op.getContext());
}

/// How an op that computes nothing moves elements.
static StringRef findMove(linalg::LinalgOp op) {
  AffineMap output = findOutputMap(op);
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (!op.payloadUsesValueFromOperand(input) || op.isScalar(input))
      continue;
    if (map.getNumResults() < output.getNumResults())
      return "broadcast";
    return map == output ? "copy" : "transpose";
  }
  return "fill";
}

void NameWords::addOf(linalg::LinalgOp op) {
  if (isContraction(op)) {
    bool isConvolution =
        llvm::any_of(op.getIndexingMapsArray(), [](AffineMap map) {
          return !map.isProjectedPermutation();
        });
    add(isConvolution                   ? "conv"
        : op.getNumParallelLoops() > 2  ? "batch_matmul"
        : op.getNumParallelLoops() == 2 ? "matmul"
        : op.getNumParallelLoops() == 1 ? "matvec"
                                        : "dot",
        Weight::Loop);
    return;
  }
  addOfBody(op);
  if (op.getNumReductionLoops())
    for (unsigned output = 0; output < op.getNumDpsInits(); ++output)
      add(findReduction(findCombiner(op, output)), Weight::Loop);
  if (words.empty())
    add(findMove(op), Weight::Move);
}

std::string NameWords::join() {
  Weight most = Weight::Move;
  for (Word &word : words)
    most = std::max(most, word.weight);
  Weight least = std::min(most, Weight::Function);
  llvm::erase_if(words, [&](Word &word) { return word.weight < least; });
  while (words.size() > maxWords) {
    auto last = std::min_element(
        words.rbegin(), words.rend(),
        [](Word &one, Word &other) { return one.weight < other.weight; });
    words.erase(std::next(last).base());
  }
  std::string text;
  for (Word &word : words)
    text += (text.empty() ? "" : "_") + word.text.str();
  return text;
}

/// How many rounds the loops of an op have, as far as that is known.
static double countRounds(linalg::LinalgOp op) {
  double rounds = 1;
  for (int64_t size : op.getStaticLoopRanges())
    rounds *= ShapedType::isDynamic(size) ? 1024 : size;
  return rounds;
}

/// The sizes of the loops that give the result's dimensions, then the others.
static SmallVector<int64_t> findSizes(linalg::LinalgOp op) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges(), sizes;
  AffineMap output = findOutputMap(op);
  llvm::BitVector seen(ranges.size());
  for (AffineExpr each : output.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(each);
        dim && !seen.test(dim.getPosition())) {
      seen.set(dim.getPosition());
      sizes.push_back(ranges[dim.getPosition()]);
    }
  for (unsigned loop = 0; loop < ranges.size(); ++loop)
    if (!seen.test(loop))
      sizes.push_back(ranges[loop]);
  return sizes;
}

std::string offload::nameKernel(ArrayRef<linalg::LinalgOp> ops) {
  NameWords words;
  linalg::LinalgOp main;
  for (linalg::LinalgOp op : ops) {
    // Begins of sums.
    if (isa<linalg::FillOp>(op) && ops.size() > 1)
      continue;
    words.addOf(op);
    if (!main ||
        (countRounds(op) > countRounds(main) && !isContraction(main)) ||
        isContraction(op))
      main = op;
  }
  if (!main)
    main = ops.back();
  std::string name = words.join();
  if (name.empty())
    name = findMove(main).str();
  for (auto [place, size] : llvm::enumerate(findSizes(main)))
    name += (place ? "x" : "_") +
            (ShapedType::isDynamic(size) ? "D" : std::to_string(size));
  return name;
}

void offload::setKernelName(Operation *loop, StringRef name) {
  loop->setDiscardableAttr(kNameAttrName,
                           StringAttr::get(loop->getContext(), name));
}

StringRef offload::getKernelName(Operation *loop) {
  auto name =
      dyn_cast_or_null<StringAttr>(loop->getDiscardableAttr(kNameAttrName));
  return name ? name.getValue() : StringRef();
}

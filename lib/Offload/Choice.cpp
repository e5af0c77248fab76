//===- Choice.cpp - reductions that choose an element ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Choice.h. A body that only compares and chooses cannot tell numbers apart
// but by their order. So what holds for all orders of three elements, with and
// without NaN, holds for all elements.
//===----------------------------------------------------------------------===//

#include "Choice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

namespace {
/// A number that stands for one of output `output`'s, or a truth if that is -1.
struct Sample {
  int output;
  double number;
};

/// Runs a body on samples.
class Trial {
public:
  void set(Value value, Sample sample) { known[value] = sample; }
  /// None: it is not computed by comparing and choosing alone.
  std::optional<Sample> get(Value value);

  /// Numbers were compared as signed ones, as unsigned ones.
  bool isSigned = false, isUnsigned = false;

private:
  std::optional<Sample> compute(Operation *op, ArrayRef<Sample> operands);
  std::optional<bool> compare(arith::CmpIPredicate predicate, double x,
                              double y);
  double chooseUnsigned(double x, double y, bool isMost);

  llvm::SmallDenseMap<Value, Sample> known;
};
} // namespace

static bool isTruth(Value value) { return value.getType().isInteger(1); }

/// Small numbers below zero are the largest ones without a sign.
static double withoutSign(double number) {
  return number < 0 ? number + 16 : number;
}

static bool compareFloats(arith::CmpFPredicate predicate, double x, double y) {
  using P = arith::CmpFPredicate;
  const bool isUnordered = std::isnan(x) || std::isnan(y);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::ORD:
    return !isUnordered;
  case P::UNO:
    return isUnordered;
  case P::OEQ:
    return !isUnordered && x == y;
  case P::UEQ:
    return isUnordered || x == y;
  case P::ONE:
    return !isUnordered && x != y;
  case P::UNE:
    return isUnordered || x != y;
  case P::OLT:
    return !isUnordered && x < y;
  case P::ULT:
    return isUnordered || x < y;
  case P::OLE:
    return !isUnordered && x <= y;
  case P::ULE:
    return isUnordered || x <= y;
  case P::OGT:
    return !isUnordered && x > y;
  case P::UGT:
    return isUnordered || x > y;
  case P::OGE:
    return !isUnordered && x >= y;
  case P::UGE:
    return isUnordered || x >= y;
  }
  llvm_unreachable("unknown predicate");
}

std::optional<bool> Trial::compare(arith::CmpIPredicate predicate, double x,
                                   double y) {
  using P = arith::CmpIPredicate;
  if (predicate == P::eq)
    return x == y;
  if (predicate == P::ne)
    return x != y;
  if (llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate)) {
    isUnsigned = true;
    x = withoutSign(x);
    y = withoutSign(y);
  } else {
    isSigned = true;
  }
  switch (predicate) {
  case P::ult:
  case P::slt:
    return x < y;
  case P::ule:
  case P::sle:
    return x <= y;
  case P::ugt:
  case P::sgt:
    return x > y;
  default:
    return x >= y;
  }
}

double Trial::chooseUnsigned(double x, double y, bool isMost) {
  isUnsigned = true;
  return (withoutSign(x) < withoutSign(y)) == isMost ? y : x;
}

std::optional<Sample> Trial::compute(Operation *op, ArrayRef<Sample> operands) {
  using Result = std::optional<Sample>;
  auto truth = [](std::optional<bool> value) -> Result {
    return value ? Result(Sample{-1, double(*value)}) : std::nullopt;
  };
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (operands[0].output != -1 || operands[1].output != operands[2].output)
      return std::nullopt;
    return operands[0].number ? operands[1] : operands[2];
  }
  if (operands.size() != 2 || operands[0].output != operands[1].output)
    return std::nullopt;
  const int output = operands[0].output;
  const double x = operands[0].number, y = operands[1].number;
  if (output == -1)
    return llvm::TypeSwitch<Operation *, Result>(op)
        .Case([&](arith::AndIOp) { return truth(x && y); })
        .Case([&](arith::OrIOp) { return truth(x || y); })
        .Case([&](arith::XOrIOp) { return truth(x != y); })
        .Default([](Operation *) { return std::nullopt; });
  auto number = [&](double value) -> Result { return Sample{output, value}; };
  auto ordered = [&](double value) {
    isSigned = true;
    return number(value);
  };
  const double nan = std::nan("");
  const bool isUnordered = std::isnan(x) || std::isnan(y);
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::CmpFOp op) {
        return truth(compareFloats(op.getPredicate(), x, y));
      })
      .Case([&](arith::CmpIOp op) {
        return truth(compare(op.getPredicate(), x, y));
      })
      .Case([&](arith::MaximumFOp) {
        return number(isUnordered ? nan : std::max(x, y));
      })
      .Case([&](arith::MinimumFOp) {
        return number(isUnordered ? nan : std::min(x, y));
      })
      .Case([&](arith::MaxNumFOp) { return number(std::fmax(x, y)); })
      .Case([&](arith::MinNumFOp) { return number(std::fmin(x, y)); })
      .Case([&](arith::MaxSIOp) { return ordered(std::max(x, y)); })
      .Case([&](arith::MinSIOp) { return ordered(std::min(x, y)); })
      .Case([&](arith::MaxUIOp) {
        return number(chooseUnsigned(x, y, /*isMost=*/true));
      })
      .Case([&](arith::MinUIOp) {
        return number(chooseUnsigned(x, y, /*isMost=*/false));
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<Sample> Trial::get(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || op->getNumRegions())
    return std::nullopt;
  if (APInt constant;
      isTruth(value) && matchPattern(value, m_ConstantInt(&constant)))
    return Sample{-1, double(constant.getBoolValue())};
  SmallVector<Sample, 3> operands;
  for (Value operand : op->getOperands()) {
    std::optional<Sample> sample = get(operand);
    if (!sample)
      return std::nullopt;
    operands.push_back(*sample);
  }
  std::optional<Sample> sample = compute(op, operands);
  if (sample)
    known[value] = *sample;
  return sample;
}

/// Numbers of a type that have all orders of three, and what has none.
static SmallVector<double, 4> getSamples(Type type) {
  SmallVector<double, 4> samples{-1, 0, 1};
  if (isa<FloatType>(type))
    samples.push_back(std::nan(""));
  return samples;
}

/// Tries the body on all pairs of samples, and then what it gives on all
/// triples of them.
bool Choice::isInParts() {
  const unsigned outputs = elements.size();
  SmallVector<SmallVector<double, 4>, 2> samples;
  unsigned count = 1;
  for (Value element : elements) {
    samples.push_back(getSamples(element.getType()));
    count *= samples.back().size();
  }
  // Samples of all outputs have one number.
  auto split = [&](unsigned number) {
    SmallVector<Sample, 2> all;
    for (unsigned output = 0; output < outputs; ++output) {
      const unsigned size = samples[output].size();
      all.push_back({int(output), samples[output][number % size]});
      number /= size;
    }
    return all;
  };
  auto join = [&](ArrayRef<Sample> all) {
    unsigned number = 0;
    for (int output = outputs - 1; output >= 0; --output) {
      auto isIt = [&](double sample) {
        return sample == all[output].number ||
               (std::isnan(sample) && std::isnan(all[output].number));
      };
      auto place = llvm::find_if(samples[output], isIt);
      number = number * samples[output].size() +
               std::distance(samples[output].begin(), place);
    }
    return number;
  };
  SmallVector<unsigned> chosen;
  for (unsigned before = 0; before < count; ++before)
    for (unsigned later = 0; later < count; ++later) {
      Trial trial;
      SmallVector<Sample, 2> results;
      for (auto [output, was, is] :
           llvm::enumerate(split(before), split(later))) {
        trial.set(op.getMatchingBlockArgument(op.getDpsInitOperand(output)),
                  was);
        trial.set(elements[output], is);
      }
      for (unsigned output = 0; output < outputs; ++output) {
        std::optional<Sample> result =
            trial.get(op.getBlock()->getTerminator()->getOperand(output));
        if (!result || result->output != int(output))
          return false;
        results.push_back(*result);
      }
      if (trial.isSigned && trial.isUnsigned)
        return false;
      chosen.push_back(join(results));
    }
  auto choose = [&](unsigned before, unsigned later) {
    return chosen[before * count + later];
  };
  for (unsigned x = 0; x < count; ++x) {
    if (choose(x, x) != x)
      return false;
    for (unsigned y = 0; y < count; ++y) {
      const unsigned both = choose(x, y);
      if (choose(both, x) != both)
        return false;
      for (unsigned z = 0; z < count; ++z)
        if (choose(both, z) != choose(x, choose(y, z)))
          return false;
    }
  }
  return true;
}

std::optional<Choice> Choice::match(linalg::LinalgOp op) {
  constexpr unsigned mostOutputs = 3;
  const unsigned outputs = op.getNumDpsInits();
  if (!outputs || outputs > mostOutputs)
    return std::nullopt;
  for (Value output : op.getRegionOutputArgs())
    if (!output.getType().isIntOrIndexOrFloat() || isTruth(output))
      return std::nullopt;
  // All that is computed of the outputs, and what it is computed with.
  llvm::SmallSetVector<Value, 8> results(op.getRegionOutputArgs().begin(),
                                         op.getRegionOutputArgs().end());
  auto isResult = [&](Value value) { return results.contains(value); };
  SmallVector<Operation *> chooses;
  for (Operation &inner : op.getBlock()->without_terminator())
    if (llvm::any_of(inner.getOperands(), isResult)) {
      results.insert(inner.result_begin(), inner.result_end());
      chooses.push_back(&inner);
    }
  llvm::SmallSetVector<Value, 4> others;
  for (Operation *inner : chooses)
    for (Value operand : inner->getOperands())
      if (!isResult(operand) && !isTruth(operand))
        others.insert(operand);
  if (others.size() != outputs)
    return std::nullopt;
  // In each order of them.
  SmallVector<Value, 2> elements(others.begin(), others.end());
  SmallVector<unsigned, 2> order = llvm::to_vector<2>(llvm::seq(outputs));
  do {
    Choice choice(op);
    for (auto [output, place] : llvm::enumerate(order))
      if (elements[place].getType() ==
          op.getRegionOutputArgs()[output].getType())
        choice.elements.push_back(elements[place]);
    if (choice.elements.size() == outputs && choice.isInParts())
      return choice;
  } while (std::next_permutation(order.begin(), order.end()));
  return std::nullopt;
}

SmallVector<Value> Choice::combine(OpBuilder &builder, ValueRange before,
                                   ValueRange later) const {
  linalg::LinalgOp op = this->op;
  IRMapping map;
  map.map(op.getRegionOutputArgs(), before);
  map.map(elements, later);
  auto create = [&](auto &create, Value value) -> Value {
    Operation *inner = value.getDefiningOp();
    if (map.contains(value) || !inner || inner->getBlock() != op.getBlock())
      return map.lookupOrDefault(value);
    for (Value operand : inner->getOperands())
      create(create, operand);
    builder.clone(*inner, map);
    return map.lookup(value);
  };
  return llvm::map_to_vector(
      op.getBlock()->getTerminator()->getOperands(),
      [&](Value value) { return create(create, value); });
}

//===- Compare.cpp - Results beside what they should be -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Compare.h.
//===----------------------------------------------------------------------===//

#include "Compare.h"

#include "llvm/Support/Format.h"

#include <cmath>
#include <limits>

using namespace llvm;

namespace gpurunner {

namespace {
/// The square root of a sum of squares, whatever their size.
class Norm {
public:
  void add(long double number) {
    number = std::fabs(number);
    if (number == 0)
      return;
    if (number > scale) {
      sum = 1 + sum * (scale / number) * (scale / number);
      scale = number;
    } else {
      sum += (number / scale) * (number / scale);
    }
  }
  long double get() const { return scale * std::sqrt(sum); }

private:
  long double scale = 0, sum = 0;
};
} // namespace

/// How far two numbers are apart; infinite if one of them is no finite number
/// and the other is not the same.
static long double distance(long double value, long double reference) {
  if (value == reference || (std::isnan(value) && std::isnan(reference)))
    return 0;
  if (!std::isfinite(value) || !std::isfinite(reference))
    return std::numeric_limits<long double>::infinity();
  return std::fabs(value - reference);
}

/// How the elements of a value are read beside a reference. Integers without a
/// sign, and those of one width, have that of the reference.
static ElementType readBeside(const ElementType &element,
                              const ElementType &reference) {
  auto isInt = [](const ElementType &type) {
    return type.kind == ElementType::Int || type.kind == ElementType::UInt;
  };
  bool takesSign =
      isInt(element) && isInt(reference) &&
      (element.kind == ElementType::Int || element.bits == reference.bits);
  return takesSign ? ElementType{reference.kind, element.bits} : element;
}

Difference compare(const Value &value, const Value &reference) {
  const ElementType element = readBeside(value.element, reference.element);
  Difference result;
  Norm differences, size;
  long double most = 0;
  bool isFinite = true;
  uint64_t count = value.elements();
  for (uint64_t i = 0; i < count; ++i) {
    const char *mine = value.data.data() + i * element.bytes();
    const char *theirs = reference.data.data() + i * reference.element.bytes();
    long double apart = 0;
    for (bool imaginary : {false, true}) {
      long double expected = numberAt(reference.element, theirs, imaginary);
      long double part = distance(numberAt(element, mine, imaginary), expected);
      apart = std::hypot(apart, part);
      if (std::isfinite(part))
        differences.add(part);
      if (std::isfinite(expected))
        size.add(expected);
    }
    if (apart == 0)
      continue;
    ++result.differing;
    isFinite &= bool(std::isfinite(apart));
    if (apart > most) {
      most = apart;
      result.worst = i;
    }
  }
  if (!isFinite || (result.differing && size.get() == 0))
    result.relative = std::numeric_limits<double>::infinity();
  else if (result.differing)
    result.relative = double(differences.get() / size.get());
  return result;
}

void printDifference(raw_ostream &os, const Difference &difference) {
  os << "error " << format("%.3g", difference.relative);
}

std::string worstElement(const Value &value, const Value &reference,
                         const Difference &difference) {
  std::string text;
  raw_string_ostream os(text);
  os << "the worst element";
  SmallVector<uint64_t> index(value.shape.size());
  uint64_t rest = difference.worst;
  for (size_t d = index.size(); d-- > 0; rest /= value.shape[d])
    index[d] = rest % value.shape[d];
  if (!index.empty())
    os << ' ';
  for (uint64_t at : index)
    os << '[' << at << ']';
  os << " is ";
  printScalar(os, readBeside(value.element, reference.element),
              value.data.data() + difference.worst * value.element.bytes());
  os << ", expected ";
  printScalar(os, reference.element,
              reference.data.data() +
                  difference.worst * reference.element.bytes());
  os << "; " << difference.differing << " of " << value.elements()
     << (difference.differing == 1 ? " differs" : " differ");
  return text;
}

} // namespace gpurunner

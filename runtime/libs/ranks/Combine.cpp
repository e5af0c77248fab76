//===- Combine.cpp - What a collective computes ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Combine.h.
//===----------------------------------------------------------------------===//

#include "libs/ranks/Combine.h"

#include <algorithm>
#include <math.h>
#include <string.h>
#include <type_traits>

using namespace gpuasync::ranks;

//===----------------------------------------------------------------------===//
// Elements: how they are stored, and what is computed with
//===----------------------------------------------------------------------===//

namespace {

template <typename T>
struct Plain {
  using Stored = T;
  using Value = T;
  static Value load(Stored stored) { return stored; }
  static Stored store(Value value) { return value; }
};

float fromBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

uint32_t toBits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

struct BFloat {
  using Stored = uint16_t;
  using Value = float;
  static float load(uint16_t stored) {
    return fromBits(uint32_t(stored) << 16);
  }
  static uint16_t store(float value) {
    const uint32_t bits = toBits(value);
    if (value != value)
      return static_cast<uint16_t>(bits >> 16 | 0x40); // a quiet one
    // To nearest, ties to even.
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

struct Half {
  using Stored = uint16_t;
  using Value = float;
  static float load(uint16_t stored) {
    const uint32_t sign = uint32_t(stored & 0x8000) << 16;
    const uint32_t exponent = stored >> 10 & 0x1f, fraction = stored & 0x3ff;
    if (exponent == 0x1f)
      return fromBits(sign | 0x7f800000 | fraction << 13);
    if (exponent)
      return fromBits(sign | (exponent + 112) << 23 | fraction << 13);
    const float small = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -small : small;
  }
  static uint16_t store(float value) {
    const uint32_t bits = toBits(value);
    const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    const float size = fabsf(value);
    if (value != value)
      return static_cast<uint16_t>(sign | 0x7e00 | (bits >> 13 & 0x3ff));
    if (size >= 65520) // half way to the next that there would be
      return sign | 0x7c00;
    if (size < 0x1p-14f) // the processor rounds to a multiple of 2^-24
      return static_cast<uint16_t>(
          sign | static_cast<uint16_t>(toBits(size + 0.5f) - toBits(0.5f)));
    const uint32_t rounded = toBits(size) + 0xfff + (bits >> 13 & 1);
    return static_cast<uint16_t>(sign | ((rounded >> 13) - (112 << 10)));
  }
};

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

template <typename T>
constexpr bool isFloat = std::is_floating_point_v<T>;

/// Integers wrap around, as in arith.
template <typename T>
struct Sum {
  T operator()(T a, T b) const {
    if constexpr (isFloat<T>)
      return a + b;
    else
      return static_cast<T>(static_cast<uint64_t>(a) +
                            static_cast<uint64_t>(b));
  }
};
template <typename T>
struct Prod {
  T operator()(T a, T b) const {
    if constexpr (isFloat<T>)
      return a * b;
    else
      return static_cast<T>(static_cast<uint64_t>(a) *
                            static_cast<uint64_t>(b));
  }
};
/// -0 is less than 0, as for arith.minimumf.
template <typename T>
struct Min {
  T operator()(T a, T b) const {
    if constexpr (isFloat<T>) {
      if (a != a || b != b)
        return a + b;
      if (a == b)
        return signbit(a) ? a : b;
    }
    return b < a ? b : a;
  }
};
template <typename T>
struct Max {
  T operator()(T a, T b) const {
    if constexpr (isFloat<T>) {
      if (a != a || b != b)
        return a + b;
      if (a == b)
        return signbit(a) ? b : a;
    }
    return a < b ? b : a;
  }
};
template <typename T>
struct And {
  T operator()(T a, T b) const { return static_cast<T>(a & b); }
};
template <typename T>
struct Or {
  T operator()(T a, T b) const { return static_cast<T>(a | b); }
};

/// Reduces elements [begin, begin + length) of all sources and gives them to
/// `write(values, first, length)` piece by piece. A piece is read from all
/// sources before it is given: destinations may be the sources.
template <typename Element, typename Op, typename Write>
void reduce(const Memory *ranks, uint32_t count, int64_t begin, int64_t length,
            Write write) {
  using Stored = typename Element::Stored;
  using Value = typename Element::Value;
  constexpr int64_t most = 1024;
  Value sums[most];
  Stored results[most];
  for (int64_t first = 0; first < length; first += most) {
    const int64_t size = std::min(most, length - first);
    for (uint32_t rank = 0; rank < count; ++rank) {
      const Stored *source =
          static_cast<const Stored *>(ranks[rank].source) + begin + first;
      if (rank == 0)
        for (int64_t i = 0; i < size; ++i)
          sums[i] = Element::load(source[i]);
      else
        for (int64_t i = 0; i < size; ++i)
          sums[i] = Op()(sums[i], Element::load(source[i]));
    }
    for (int64_t i = 0; i < size; ++i)
      results[i] = Element::store(sums[i]);
    write(results, first, size);
  }
}

template <typename Element, typename Op>
void reduceAll(const gpuasync_collective &what, const Memory *ranks,
               uint32_t count) {
  using Stored = typename Element::Stored;
  if (what.kind == GPUASYNC_ALL_REDUCE) {
    reduce<Element, Op>(
        ranks, count, 0, ranks[0].sourceCount,
        [&](const Stored *values, int64_t first, int64_t size) {
          for (uint32_t rank = 0; rank < count; ++rank)
            if (ranks[rank].destination)
              memcpy(static_cast<Stored *>(ranks[rank].destination) + first,
                     values, static_cast<size_t>(size) * sizeof(Stored));
        });
    return;
  }
  const int64_t part = ranks[0].destinationCount;
  for (uint32_t rank = 0; rank < count; ++rank)
    reduce<Element, Op>(
        ranks, count, rank * part, part,
        [&](const Stored *values, int64_t first, int64_t size) {
          memcpy(static_cast<Stored *>(ranks[rank].destination) + first, values,
                 static_cast<size_t>(size) * sizeof(Stored));
        });
}

template <typename Element>
void reduceNumbers(const gpuasync_collective &what, const Memory *ranks,
                   uint32_t count) {
  using Value = typename Element::Value;
  switch (what.reduction) {
  case GPUASYNC_REDUCE_SUM:
    return reduceAll<Element, Sum<Value>>(what, ranks, count);
  case GPUASYNC_REDUCE_PROD:
    return reduceAll<Element, Prod<Value>>(what, ranks, count);
  case GPUASYNC_REDUCE_MIN:
    return reduceAll<Element, Min<Value>>(what, ranks, count);
  case GPUASYNC_REDUCE_MAX:
    return reduceAll<Element, Max<Value>>(what, ranks, count);
  }
  if constexpr (!isFloat<Value>) {
    if (what.reduction == GPUASYNC_REDUCE_AND)
      reduceAll<Element, And<Value>>(what, ranks, count);
    else
      reduceAll<Element, Or<Value>>(what, ranks, count);
  }
}

void reduceElements(const gpuasync_collective &what, const Memory *ranks,
                    uint32_t count) {
  switch (what.element) {
  case GPUASYNC_ELEMENT_I1:
  case GPUASYNC_ELEMENT_I8:
    return reduceNumbers<Plain<int8_t>>(what, ranks, count);
  case GPUASYNC_ELEMENT_I16:
    return reduceNumbers<Plain<int16_t>>(what, ranks, count);
  case GPUASYNC_ELEMENT_I32:
    return reduceNumbers<Plain<int32_t>>(what, ranks, count);
  case GPUASYNC_ELEMENT_I64:
    return reduceNumbers<Plain<int64_t>>(what, ranks, count);
  case GPUASYNC_ELEMENT_F16:
    return reduceNumbers<Half>(what, ranks, count);
  case GPUASYNC_ELEMENT_BF16:
    return reduceNumbers<BFloat>(what, ranks, count);
  case GPUASYNC_ELEMENT_F32:
    return reduceNumbers<Plain<float>>(what, ranks, count);
  case GPUASYNC_ELEMENT_F64:
    return reduceNumbers<Plain<double>>(what, ranks, count);
  }
}

/// Copies `bytes` bytes between places of two memories. In place it is nothing.
void copy(const Memory &to, int64_t toByte, const Memory &from,
          int64_t fromByte, int64_t bytes) {
  auto *destination = static_cast<char *>(to.destination) + toByte;
  auto *source = static_cast<const char *>(from.source) + fromByte;
  if (bytes && destination != source)
    memcpy(destination, source, static_cast<size_t>(bytes));
}

void permute(const gpuasync_collective &what, const Memory *ranks,
             uint32_t count, int64_t bytes) {
  for (uint32_t to = 0; to < count; ++to) {
    const uint32_t *pair = what.pairs, *end = pair + 2 * what.pairCount;
    while (pair != end && pair[1] != to)
      pair += 2;
    if (pair != end)
      copy(ranks[to], 0, ranks[*pair], 0, bytes);
    else if (bytes)
      memset(ranks[to].destination, 0, static_cast<size_t>(bytes));
  }
}

} // namespace

uint64_t gpuasync::ranks::bytesOf(uint32_t element) {
  switch (element) {
  case GPUASYNC_ELEMENT_I1:
  case GPUASYNC_ELEMENT_I8:
    return 1;
  case GPUASYNC_ELEMENT_I16:
  case GPUASYNC_ELEMENT_F16:
  case GPUASYNC_ELEMENT_BF16:
    return 2;
  case GPUASYNC_ELEMENT_I32:
  case GPUASYNC_ELEMENT_F32:
    return 4;
  case GPUASYNC_ELEMENT_I64:
  case GPUASYNC_ELEMENT_F64:
    return 8;
  }
  return 0;
}

bool gpuasync::ranks::canReduce(uint32_t reduction, uint32_t element) {
  if (reduction == GPUASYNC_REDUCE_AND || reduction == GPUASYNC_REDUCE_OR)
    return element < GPUASYNC_ELEMENT_F16;
  return reduction >= GPUASYNC_REDUCE_SUM && reduction <= GPUASYNC_REDUCE_OR &&
         element != GPUASYNC_ELEMENT_I1;
}

void gpuasync::ranks::combine(const gpuasync_collective &what,
                              const Memory *ranks, uint32_t count) {
  const auto bytes = static_cast<int64_t>(bytesOf(what.element));
  const int64_t source = ranks[0].sourceCount * bytes, part = source / count;
  switch (what.kind) {
  case GPUASYNC_ALL_REDUCE:
  case GPUASYNC_REDUCE_SCATTER:
    return reduceElements(what, ranks, count);
  case GPUASYNC_ALL_GATHER:
    for (uint32_t to = 0; to < count; ++to)
      for (uint32_t from = 0; from < count; ++from)
        copy(ranks[to], from * source, ranks[from], 0, source);
    return;
  case GPUASYNC_ALL_TO_ALL:
    for (uint32_t to = 0; to < count; ++to)
      for (uint32_t from = 0; from < count; ++from)
        copy(ranks[to], from * part, ranks[from], to * part, part);
    return;
  case GPUASYNC_BROADCAST:
    for (uint32_t to = 0; to < count; ++to)
      copy(ranks[to], 0, ranks[what.root], 0, source);
    return;
  case GPUASYNC_PERMUTE:
    return permute(what, ranks, count, source);
  }
}

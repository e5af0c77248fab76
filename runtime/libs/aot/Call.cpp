//===- Call.cpp - A call of a compiled program from C ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpuasync_c_call. It is linked into shared objects by linkers that know no C++
// library, and so uses none.
//===----------------------------------------------------------------------===//

#include "gpuasync/CFunction.h"
#include "gpuasync/Memory.h"
#include "gpuasync/Program.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

/// The bytes that an array lies in; without elements none, where it begins.
struct Range {
  uintptr_t begin, end;
  bool overlaps(const Range &other) const {
    return begin < end && other.begin < other.end && begin < other.end &&
           other.begin < end;
  }
};

/// Memory for one call, on the stack while it is little. All zeros.
class Scratch {
public:
  explicit Scratch(size_t bytes)
      : all(bytes <= sizeof(little) ? little
                                    : static_cast<char *>(std::malloc(bytes))),
        next(all) {}
  ~Scratch() {
    if (all != little)
      std::free(all);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  explicit operator bool() const { return all; }
  template <typename T>
  T *take(size_t count) {
    static_assert(sizeof(T) % 8 == 0, "what follows is aligned to 8");
    char *begin = next;
    for (size_t i = 0; i < count; ++i, next += sizeof(T))
      new (next) T();
    return reinterpret_cast<T *>(begin);
  }

private:
  alignas(8) char little[1536];
  char *all, *next;
};

/// A descriptor in the terms of MLIR: two pointers, offset, sizes, strides.
struct Descriptor {
  int64_t *words;
  uint32_t rank;

  int64_t *sizes() const { return words + 3; }
  int64_t *strides() const { return words + 3 + rank; }
  void *allocated() const { return reinterpret_cast<void *>(words[0]); }
  char *data(const gpuasync_c_value &value) const {
    return reinterpret_cast<char *>(words[1]) + words[2] * value.elementBytes;
  }
  static size_t count(const gpuasync_c_value &value) {
    return 3 + 2 * size_t(value.rank);
  }
};

/// A caller's array, or what was returned.
struct Array {
  Descriptor descriptor;
  Range range;
  const uint64_t *parameters; ///< the first of it
  void *handed;               ///< to the caller, of a returned tensor
  bool isCopy;                ///< `handed` was made here
};

class Call {
public:
  Call(const gpuasync_c_function &function, const uint64_t *parameters)
      : function(function), parameters(parameters), scratch(countBytes()) {}
  gpuasync_status *run();

private:
  size_t countBytes() const;
  size_t countStorage() const { return (function.storageBytes + 7) / 8; }
  gpuasync_status *fail(uint32_t code, const char *format, ...)
      __attribute__((format(printf, 3, 4)));
  gpuasync_status *readArguments();
  gpuasync_status *checkRules();
  gpuasync_status *readDestinations();
  gpuasync_status *describe(const gpuasync_c_value &value, Array &array);
  gpuasync_status *takeTensors();
  bool isOwned(uint32_t index) const;
  void writeResults();

  const gpuasync_c_function &function;
  const uint64_t *parameters;
  Scratch scratch;
  Array *arguments = nullptr, *results = nullptr;
  gpuasync_call_array *known = nullptr; ///< for the runtime
  uint64_t knownCount = 0;
  void **packed = nullptr;
  char *storage = nullptr;
};

} // namespace

static bool isComplex(const gpuasync_c_value &value) {
  return value.format[1] == 'c';
}

static bool isStatic(const gpuasync_c_value &value) {
  for (uint32_t i = 0; i < value.rank; ++i)
    if (value.shape[i] == GPUASYNC_C_DYNAMIC)
      return false;
  return true;
}

static uint32_t countDynamic(const int64_t *list, uint32_t rank) {
  uint32_t count = 0;
  for (uint32_t i = 0; list && i < rank; ++i)
    count += list[i] == GPUASYNC_C_DYNAMIC;
  return count;
}

/// How many parameters a value is.
static uint32_t countParameters(const gpuasync_c_value &value) {
  if (value.kind == GPUASYNC_C_NUMBER)
    return 1;
  return 1 + countDynamic(value.shape, value.rank) +
         countDynamic(value.strides, value.rank);
}

/// Whether the elements lie one behind the other, in row-major order.
static bool isRowMajor(const Descriptor &array) {
  int64_t expected = 1;
  for (uint32_t i = array.rank; i-- > 0;) {
    if (array.sizes()[i] == 0)
      return true;
    if (array.sizes()[i] > 1 && array.strides()[i] != expected)
      return false;
    expected *= array.sizes()[i];
  }
  return true;
}

static size_t countElements(const Descriptor &array) {
  size_t count = 1;
  for (uint32_t i = 0; i < array.rank; ++i)
    count *= size_t(array.sizes()[i]);
  return count;
}

/// Copies the dimensions from `dimension` on to `to`; returns what is behind.
static char *copyRowMajor(const gpuasync_c_value &value,
                          const Descriptor &array, uint32_t dimension,
                          const char *from, char *to) {
  if (dimension == array.rank) {
    std::memcpy(to, from, value.elementBytes);
    return to + value.elementBytes;
  }
  for (int64_t i = 0; i < array.sizes()[dimension]; ++i)
    to = copyRowMajor(value, array, dimension + 1,
                      from + i * array.strides()[dimension] *
                                 int64_t(value.elementBytes),
                      to);
  return to;
}

static void copyElements(const gpuasync_c_value &value, const Descriptor &array,
                         void *to) {
  size_t bytes = countElements(array) * value.elementBytes;
  if (!bytes)
    return;
  if (isRowMajor(array))
    std::memcpy(to, array.data(value), bytes);
  else
    copyRowMajor(value, array, 0, array.data(value), static_cast<char *>(to));
}

size_t Call::countBytes() const {
  size_t words = function.storagePlace + 2 + countStorage();
  for (uint32_t i = 0; i < function.argumentCount; ++i)
    words += Descriptor::count(function.arguments[i]);
  for (uint32_t i = 0; i < function.resultCount; ++i)
    words += Descriptor::count(function.results[i]);
  return words * 8 + (function.argumentCount + function.resultCount) *
                         (sizeof(Array) + sizeof(gpuasync_call_array));
}

gpuasync_status *Call::fail(uint32_t code, const char *format, ...) {
  char text[1024];
  int begin = std::snprintf(text, sizeof(text), "%s: ", function.name);
  va_list args;
  va_start(args, format);
  if (begin >= 0 && size_t(begin) < sizeof(text))
    std::vsnprintf(text + begin, sizeof(text) - size_t(begin), format, args);
  va_end(args);
  return gpuasync_status_make(code, text);
}

/// Makes the descriptor of an array of the caller's and checks it.
gpuasync_status *Call::describe(const gpuasync_c_value &value, Array &array) {
  const uint64_t *next = array.parameters;
  uint64_t address = *next++;
  Descriptor &descriptor = array.descriptor;
  bool empty = false;
  for (uint32_t i = 0; i < value.rank; ++i) {
    bool isGiven = value.shape[i] == GPUASYNC_C_DYNAMIC;
    int64_t size = isGiven ? int64_t(*next++) : value.shape[i];
    if (size < 0)
      return fail(GPUASYNC_INVALID_ARGUMENT,
                  "%s_size%u is %lld; a size is 0 or more", value.name, i,
                  static_cast<long long>(size));
    descriptor.sizes()[i] = size;
    empty |= size == 0;
  }
  int64_t low = 0, high = 0, rowMajor = 1, first = 0, last = 0;
  bool wraps = false;
  for (uint32_t i = 0; value.strides && i < value.rank; ++i)
    descriptor.strides()[i] = value.strides[i] == GPUASYNC_C_DYNAMIC
                                  ? int64_t(*next++)
                                  : value.strides[i];
  for (uint32_t i = value.rank; i-- > 0;) {
    int64_t size = descriptor.sizes()[i] ? descriptor.sizes()[i] : 1, span;
    // The caller may have any strides for no elements.
    if (!value.strides || (empty && value.strides[i] == GPUASYNC_C_DYNAMIC))
      descriptor.strides()[i] = rowMajor;
    int64_t stride = empty ? 0 : descriptor.strides()[i];
    int64_t &end = stride < 0 ? low : high;
    wraps |= __builtin_mul_overflow(size - 1, stride, &span) ||
             __builtin_add_overflow(end, span, &end) ||
             __builtin_mul_overflow(rowMajor, size, &rowMajor);
  }
  // Room for the runtime's own sums of bytes.
  constexpr int64_t most = int64_t(1) << 46;
  int64_t bytes = value.elementBytes;
  wraps |= __builtin_mul_overflow(low, bytes, &first) ||
           __builtin_mul_overflow(high, bytes, &last) || first < -most ||
           last > most || rowMajor > most;
  if (wraps)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "%s of %s: such sizes fit in no "
                "memory",
                value.name, value.type);
  if (!address && !empty)
    return fail(GPUASYNC_INVALID_ARGUMENT, "%s of %s is null", value.name,
                value.type);
  uint64_t alignment = isComplex(value) ? bytes / 2 : bytes;
  if (address % alignment)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "%s of %s is at an address that is not a multiple of %llu",
                value.name, value.type,
                static_cast<unsigned long long>(alignment));
  array.range = empty ? Range{address, address}
                      : Range{address + uintptr_t(first),
                              address + uintptr_t(last) + uintptr_t(bytes)};
  descriptor.words[0] = descriptor.words[1] =
      int64_t(address) - value.offset * bytes;
  descriptor.words[2] = value.offset;
  known[knownCount++] = {reinterpret_cast<const void *>(array.range.begin),
                         array.range.end - array.range.begin, value.name};
  // A tensor that is returned is copied to such memory.
  if (value.place >= 0)
    packed[value.place] = descriptor.words;
  return nullptr;
}

gpuasync_status *Call::readArguments() {
  for (uint32_t i = 0; i < function.argumentCount; ++i) {
    const gpuasync_c_value &value = function.arguments[i];
    Array &array = arguments[i];
    array.parameters = parameters;
    array.descriptor = {scratch.take<int64_t>(Descriptor::count(value)),
                        value.rank};
    if (value.kind != GPUASYNC_C_NUMBER) {
      if (gpuasync_status *status = describe(value, array))
        return status;
    } else if (isComplex(value)) {
      if (!*parameters)
        return fail(GPUASYNC_INVALID_ARGUMENT, "%s of %s is null", value.name,
                    value.type);
      packed[value.place] = reinterpret_cast<void *>(*parameters);
    } else {
      array.descriptor.words[0] = int64_t(*parameters);
      packed[value.place] = array.descriptor.words;
    }
    parameters += countParameters(value);
  }
  return nullptr;
}

gpuasync_status *Call::checkRules() {
  for (uint32_t i = 0; i < function.ruleCount; ++i) {
    const gpuasync_c_rule &rule = function.rules[i];
    const char *name = function.arguments[rule.argument].name;
    auto size = static_cast<long long>(
        arguments[rule.argument].descriptor.sizes()[rule.dimension]);
    if (rule.other < 0 && size != rule.size)
      return fail(GPUASYNC_INVALID_ARGUMENT,
                  "%s_size%u is %lld, but %s needs %lld", name, rule.dimension,
                  size, rule.op, static_cast<long long>(rule.size));
    if (rule.other < 0)
      continue;
    auto wanted = static_cast<long long>(
        arguments[rule.other].descriptor.sizes()[rule.size]);
    if (size != wanted)
      return fail(GPUASYNC_INVALID_ARGUMENT,
                  "%s_size%u is %lld, but %s needs %lld, as in dimension %lld "
                  "of %s",
                  name, rule.dimension, size, rule.op, wanted,
                  static_cast<long long>(rule.size),
                  function.arguments[rule.other].name);
  }
  return nullptr;
}

/// The memory of results that the function writes to.
gpuasync_status *Call::readDestinations() {
  for (uint32_t i = 0; i < function.resultCount; ++i) {
    const gpuasync_c_value &value = function.results[i];
    Array &array = results[i];
    array.parameters = parameters;
    array.descriptor = {scratch.take<int64_t>(Descriptor::count(value)),
                        value.rank};
    parameters += countParameters(value);
    bool isGiven = value.kind == GPUASYNC_C_TENSOR && isStatic(value);
    if (!isGiven) {
      for (const uint64_t *next = array.parameters; next != parameters; ++next)
        if (!*next)
          return fail(GPUASYNC_INVALID_ARGUMENT,
                      "%s of %s: a place that it is written to is null",
                      value.name, value.type);
      continue;
    }
    if (gpuasync_status *status = describe(value, array))
      return status;
    for (uint32_t j = 0; j < function.argumentCount + i; ++j) {
      bool isResult = j >= function.argumentCount;
      const Array &other =
          isResult ? results[j - function.argumentCount] : arguments[j];
      if (array.range.overlaps(other.range))
        return fail(GPUASYNC_INVALID_ARGUMENT,
                    "the memory of %s is that of %s; give it memory of its own",
                    value.name,
                    isResult ? function.results[j - function.argumentCount].name
                             : function.arguments[j].name);
    }
  }
  return nullptr;
}

/// Whether the memory of a returned tensor is to be freed for it: not that of
/// an argument, nor of an earlier result.
bool Call::isOwned(uint32_t index) const {
  void *allocated = results[index].descriptor.allocated();
  if (!allocated)
    return false;
  for (uint32_t i = 0; i < function.argumentCount; ++i)
    if (function.arguments[i].kind != GPUASYNC_C_NUMBER &&
        arguments[i].descriptor.allocated() == allocated)
      return false;
  for (uint32_t i = 0; i < function.resultCount; ++i) {
    const gpuasync_c_value &other = function.results[i];
    if (other.kind == GPUASYNC_C_TENSOR && (i < index || other.place >= 0) &&
        i != index && results[i].descriptor.allocated() == allocated)
      return false;
  }
  return true;
}

/// Makes the tensors that were returned the caller's.
gpuasync_status *Call::takeTensors() {
  gpuasync_status *status = nullptr;
  auto forEach = [&](auto visit) {
    for (uint32_t i = 0; i < function.resultCount; ++i)
      if (function.results[i].place < 0 &&
          function.results[i].kind == GPUASYNC_C_TENSOR)
        visit(i, function.results[i], results[i]);
  };
  forEach([&](uint32_t, const gpuasync_c_value &value, Array &array) {
    std::memcpy(array.descriptor.words, storage + value.returned,
                Descriptor::count(value) * 8);
  });
  forEach([&](uint32_t i, const gpuasync_c_value &value, Array &array) {
    const Descriptor &descriptor = array.descriptor;
    if (isStatic(value)) {
      copyElements(value, descriptor,
                   reinterpret_cast<void *>(*array.parameters));
      return;
    }
    if (isOwned(i) && isRowMajor(descriptor) &&
        descriptor.data(value) == descriptor.allocated()) {
      array.handed = descriptor.allocated();
      return;
    }
    size_t bytes = countElements(descriptor) * value.elementBytes;
    array.handed = std::malloc(bytes ? bytes : 1);
    array.isCopy = true;
    if (array.handed)
      copyElements(value, descriptor, array.handed);
    else if (!status)
      status = fail(GPUASYNC_OUT_OF_MEMORY, "no memory for the %zu bytes of %s",
                    bytes, value.name);
  });
  forEach([&](uint32_t i, const gpuasync_c_value &, Array &array) {
    if (isOwned(i) && (array.isCopy || !array.handed || status))
      std::free(array.descriptor.allocated());
    if (status && array.isCopy)
      std::free(array.handed);
  });
  return status;
}

static void writeWord(uint64_t place, int64_t word) {
  std::memcpy(reinterpret_cast<void *>(place), &word, 8);
}

void Call::writeResults() {
  for (uint32_t i = 0; i < function.resultCount; ++i) {
    const gpuasync_c_value &value = function.results[i];
    Array &array = results[i];
    if (value.kind == GPUASYNC_C_NUMBER) {
      std::memcpy(reinterpret_cast<void *>(*array.parameters),
                  storage + value.returned, value.elementBytes);
      continue;
    }
    if (value.kind == GPUASYNC_C_TENSOR && isStatic(value))
      continue;
    Descriptor &descriptor = array.descriptor;
    if (value.kind == GPUASYNC_C_MEMREF)
      std::memcpy(descriptor.words, storage + value.returned,
                  Descriptor::count(value) * 8);
    const uint64_t *next = array.parameters;
    writeWord(*next++,
              reinterpret_cast<int64_t>(array.handed ? array.handed
                                                     : descriptor.data(value)));
    for (uint32_t d = 0; d < value.rank; ++d)
      if (value.shape[d] == GPUASYNC_C_DYNAMIC)
        writeWord(*next++, descriptor.sizes()[d]);
    for (uint32_t d = 0; value.strides && d < value.rank; ++d)
      if (value.strides[d] == GPUASYNC_C_DYNAMIC)
        writeWord(*next++, descriptor.strides()[d]);
  }
}

gpuasync_status *Call::run() {
  if (!scratch)
    return fail(GPUASYNC_OUT_OF_MEMORY, "no memory for the call");
  arguments = scratch.take<Array>(function.argumentCount);
  results = scratch.take<Array>(function.resultCount);
  known = scratch.take<gpuasync_call_array>(function.argumentCount +
                                            function.resultCount);
  packed = scratch.take<void *>(function.storagePlace + 2);
  storage = reinterpret_cast<char *>(scratch.take<int64_t>(countStorage()));
  if (gpuasync_status *status = readArguments())
    return status;
  if (gpuasync_status *status = checkRules())
    return status;
  if (gpuasync_status *status = readDestinations())
    return status;
  gpuasync_status *status = nullptr;
  packed[function.storagePlace] = storage;
  packed[function.storagePlace + 1] = &status;
  gpuasync_call_arrays all = {known, knownCount, nullptr};
  gpuasync_call_arrays_push(&all);
  function.packed(packed);
  gpuasync_call_arrays_pop();
  if (!status)
    status = takeTensors();
  if (!status)
    writeResults();
  return status;
}

gpuasync_status *gpuasync_c_call(const gpuasync_c_function *function,
                                 const uint64_t *parameters) noexcept {
  return Call(*function, parameters).run();
}

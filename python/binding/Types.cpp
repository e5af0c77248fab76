//===- Types.cpp - Element types as Python's protocols have them ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Types.h.
//===----------------------------------------------------------------------===//

#include "Types.h"

#include <cmath>
#include <cstring>

namespace binding {

using namespace dlpack;

// NumPy's int64 is C's long; "q" would be another type of as many bytes.
static_assert(sizeof(long) == 8,
              "formats of 64-bit integers are those of long");

static const ElementType types[] = {
    {nullptr, nullptr, nullptr, 0, {0, 0, 0}},
    {"i1", "bool", "?", 1, {Bool, 8, 1}},
    {"i8", "int8", "b", 1, {Int, 8, 1}},
    {"i16", "int16", "h", 2, {Int, 16, 1}},
    {"i32", "int32", "i", 4, {Int, 32, 1}},
    {"i64", "int64", "l", 8, {Int, 64, 1}},
    {"ui8", "uint8", "B", 1, {UInt, 8, 1}},
    {"ui16", "uint16", "H", 2, {UInt, 16, 1}},
    {"ui32", "uint32", "I", 4, {UInt, 32, 1}},
    {"ui64", "uint64", "L", 8, {UInt, 64, 1}},
    {"f16", "float16", "e", 2, {Float, 16, 1}},
    {"bf16", "bfloat16", nullptr, 2, {BFloat, 16, 1}},
    {"f32", "float32", "f", 4, {Float, 32, 1}},
    {"f64", "float64", "d", 8, {Float, 64, 1}},
    {"complex<f32>", "complex64", "Zf", 8, {Complex, 64, 1}},
    {"complex<f64>", "complex128", "Zd", 16, {Complex, 128, 1}}};
static constexpr uint32_t typeCount = sizeof(types) / sizeof(types[0]);
static_assert(typeCount == GPUASYNC_TYPE_C128 + 1);

const ElementType *elementType(uint32_t type) {
  return type > 0 && type < typeCount ? &types[type] : nullptr;
}

uint32_t typeOfName(const char *name) {
  for (uint32_t i = 1; i < typeCount; ++i)
    if (!std::strcmp(types[i].name, name) || !std::strcmp(types[i].numpy, name))
      return i;
  return 0;
}

static uint32_t integer(bool isSigned, Py_ssize_t bytes) {
  uint32_t first = isSigned ? GPUASYNC_TYPE_I8 : GPUASYNC_TYPE_UI8;
  switch (bytes) {
  case 1:
    return first;
  case 2:
    return first + 1;
  case 4:
    return first + 2;
  case 8:
    return first + 3;
  }
  return 0;
}

uint32_t typeOfFormat(const char *format, Py_ssize_t bytes) {
  if (!format)
    return integer(false, bytes);
  // '>' and '!' are of the other byte order.
  if (*format == '@' || *format == '=' || *format == '<' || *format == '^')
    ++format;
  bool isComplex = *format == 'Z';
  if (isComplex)
    ++format;
  if (!*format || format[1])
    return 0;
  uint32_t type = 0;
  switch (*format) {
  case 'e':
    type = GPUASYNC_TYPE_F16;
    break;
  case 'f':
    type = isComplex ? GPUASYNC_TYPE_C64 : GPUASYNC_TYPE_F32;
    break;
  case 'd':
    type = isComplex ? GPUASYNC_TYPE_C128 : GPUASYNC_TYPE_F64;
    break;
  case '?':
    type = GPUASYNC_TYPE_I1;
    break;
  case 'b':
  case 'h':
  case 'i':
  case 'l':
  case 'q':
  case 'n':
    type = integer(true, bytes);
    break;
  case 'B':
  case 'H':
  case 'I':
  case 'L':
  case 'Q':
  case 'N':
    type = integer(false, bytes);
    break;
  }
  if (isComplex && type < GPUASYNC_TYPE_C64)
    return 0;
  return type && types[type].bytes == bytes ? type : 0;
}

uint32_t typeOfDLPack(const DataType &type) {
  for (uint32_t i = 1; i < typeCount; ++i)
    if (types[i].dlpack.code == type.code &&
        types[i].dlpack.bits == type.bits && type.lanes == 1)
      return i;
  return 0;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// A float of 16 bits whose mantissa has so many of them, to nearest even.
static uint16_t packFloat(double number, int mantissaBits) {
  const int exponentBits = 15 - mantissaBits;
  const int bias = (1 << (exponentBits - 1)) - 1;
  const uint32_t infinity = ((1u << exponentBits) - 1) << mantissaBits;
  const uint16_t sign = std::signbit(number) ? 0x8000 : 0;
  if (std::isnan(number))
    return uint16_t(sign | infinity | (1u << (mantissaBits - 1)));
  double size = std::fabs(number);
  if (size == 0)
    return sign;
  if (!(size < std::ldexp(1.0, bias + 2)))
    return uint16_t(sign | infinity);
  int exponent = 0;
  std::frexp(size, &exponent);
  // Below the least normal number the exponent stays; a carry raises it.
  int biased = std::max(exponent - 1 + bias, 1);
  auto rounded = uint32_t(
      std::nearbyint(std::ldexp(size, mantissaBits - (biased - bias))));
  uint32_t bits = (uint32_t(biased - 1) << mantissaBits) + rounded;
  return uint16_t(sign | std::min(bits, infinity));
}

static double unpackFloat(uint16_t bits, int mantissaBits) {
  const int exponentBits = 15 - mantissaBits;
  const int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = (bits & 0x7fff) >> mantissaBits;
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double size;
  if (exponent == (1 << exponentBits) - 1)
    size = mantissa ? NAN : INFINITY;
  else if (exponent)
    size = std::ldexp((1 << mantissaBits) + mantissa,
                      exponent - bias - mantissaBits);
  else
    size = std::ldexp(mantissa, 1 - bias - mantissaBits);
  return bits & 0x8000 ? -size : size;
}

/// Reads an object that shows one boolean in memory, as those of NumPy do,
/// which are no indices. False if it is none; no exception is raised.
static bool readBool(PyObject *object, bool &out) {
  if (PyLong_Check(object) || !PyObject_CheckBuffer(object))
    return false;
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_RECORDS_RO) < 0) {
    PyErr_Clear();
    return false;
  }
  bool isBool = view.ndim == 0 &&
                typeOfFormat(view.format, view.itemsize) == GPUASYNC_TYPE_I1;
  if (isBool)
    out = *static_cast<const char *>(view.buf) != 0;
  PyBuffer_Release(&view);
  return isBool;
}

static bool writeInteger(uint32_t type, PyObject *number, void *out) {
  bool truth;
  if (type == GPUASYNC_TYPE_I1 && readBool(number, truth)) {
    *static_cast<char *>(out) = truth;
    return true;
  }
  Ref index(PyNumber_Index(number));
  if (!index)
    return false;
  bool isUnsigned = type >= GPUASYNC_TYPE_UI8 && type <= GPUASYNC_TYPE_UI64;
  unsigned bits = type == GPUASYNC_TYPE_I1 ? 1 : types[type].bytes * 8;
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (value == -1 && PyErr_Occurred())
    return false;
  bool fits = !overflow;
  // An integer passes for one of its width, whatever the sign.
  if (bits < 64 && fits) {
    int64_t least = isUnsigned || bits == 1 ? 0 : -(int64_t(1) << (bits - 1));
    fits = value >= least && value < (int64_t(1) << bits);
  } else if (fits) {
    fits = !isUnsigned || value >= 0;
  } else if (overflow > 0 && bits == 64) {
    uint64_t large = PyLong_AsUnsignedLongLong(index.get());
    if (PyErr_Occurred())
      PyErr_Clear();
    else
      fits = true;
    value = int64_t(large);
  }
  if (!fits) {
    PyErr_Format(PyExc_OverflowError, "%R is out of the range of %s", number,
                 types[type].name);
    return false;
  }
  std::memcpy(out, &value, types[type].bytes); // little endian
  return true;
}

bool writeNumber(uint32_t type, PyObject *number, void *out) {
  if (type <= GPUASYNC_TYPE_UI64)
    return writeInteger(type, number, out);
  if (type >= GPUASYNC_TYPE_C64) {
    Ref complex(PyObject_CallFunctionObjArgs(
        reinterpret_cast<PyObject *>(&PyComplex_Type), number, nullptr));
    if (!complex)
      return false;
    double parts[2] = {PyComplex_RealAsDouble(complex.get()),
                       PyComplex_ImagAsDouble(complex.get())};
    if (type == GPUASYNC_TYPE_C128) {
      std::memcpy(out, parts, sizeof(parts));
    } else {
      float narrow[2] = {float(parts[0]), float(parts[1])};
      std::memcpy(out, narrow, sizeof(narrow));
    }
    return true;
  }
  double value = PyFloat_AsDouble(number);
  if (value == -1 && PyErr_Occurred())
    return false;
  if (type == GPUASYNC_TYPE_F64) {
    std::memcpy(out, &value, 8);
  } else if (type == GPUASYNC_TYPE_F32) {
    auto narrow = float(value);
    std::memcpy(out, &narrow, 4);
  } else {
    uint16_t bits = packFloat(value, type == GPUASYNC_TYPE_BF16 ? 7 : 10);
    std::memcpy(out, &bits, 2);
  }
  return true;
}

PyObject *readNumber(uint32_t type, const void *data) {
  uint64_t bits = 0;
  double parts[2];
  float narrow[2];
  const ElementType &element = types[type];
  switch (type) {
  case GPUASYNC_TYPE_C64:
    std::memcpy(narrow, data, 8);
    return PyComplex_FromDoubles(narrow[0], narrow[1]);
  case GPUASYNC_TYPE_C128:
    std::memcpy(parts, data, 16);
    return PyComplex_FromDoubles(parts[0], parts[1]);
  case GPUASYNC_TYPE_F64:
    std::memcpy(parts, data, 8);
    return PyFloat_FromDouble(parts[0]);
  case GPUASYNC_TYPE_F32:
    std::memcpy(narrow, data, 4);
    return PyFloat_FromDouble(narrow[0]);
  default:
    std::memcpy(&bits, data, element.bytes);
  }
  if (type == GPUASYNC_TYPE_F16 || type == GPUASYNC_TYPE_BF16)
    return PyFloat_FromDouble(
        unpackFloat(uint16_t(bits), type == GPUASYNC_TYPE_BF16 ? 7 : 10));
  if (type == GPUASYNC_TYPE_I1)
    return PyBool_FromLong(bits != 0);
  if (type >= GPUASYNC_TYPE_UI8)
    return PyLong_FromUnsignedLongLong(bits);
  unsigned unused = 64 - element.bytes * 8;
  return PyLong_FromLongLong(int64_t(bits << unused) >> unused);
}

} // namespace binding

//===- Types.h - Element types as Python's protocols have them --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpuasync_type beside the buffer protocol's formats, DLPack's types, and
// Python's numbers.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_TYPES_H
#define GPUASYNC_PYTHON_BINDING_TYPES_H

#include "DLPack.h"
#include "Python.h"

#include "GPUAsync-C/GPUAsync.h"

namespace binding {

struct ElementType {
  const char *name;   ///< "f32"
  const char *numpy;  ///< "float32"
  const char *format; ///< of the buffer protocol; null: it has none
  uint8_t bytes;
  dlpack::DataType dlpack;
};

/// Of a gpuasync_type; null if there is no such type.
const ElementType *elementType(uint32_t type);
/// The gpuasync_type of that name; 0: none.
uint32_t typeOfName(const char *name);
/// The gpuasync_type of a buffer's elements; 0: none. Null is bytes.
uint32_t typeOfFormat(const char *format, Py_ssize_t bytes);
uint32_t typeOfDLPack(const dlpack::DataType &type);

/// Writes a number as `type` has it, at most 16 bytes. False after an error.
bool writeNumber(uint32_t type, PyObject *number, void *out);
PyObject *readNumber(uint32_t type, const void *data);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_TYPES_H

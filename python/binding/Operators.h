//===- Operators.h - Operators and methods of arrays ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu_async.Array computes on the host with NumPy, and its results are NumPy's:
// an array is a value that programs pass on, and NumPy has the operators.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_OPERATORS_H
#define GPUASYNC_PYTHON_BINDING_OPERATORS_H

#include "Python.h"

namespace binding {

/// The slots of the operators; the last is {0, nullptr}.
extern PyType_Slot operatorSlots[];

/// Adds the methods and attributes of NumPy's arrays to the type of arrays.
/// False after an error.
bool addOperators(PyTypeObject *type);

/// restore_array(array, dtype): a gpu_async.Array over the memory of an array
/// of NumPy's. Copies and pickles are made of it.
PyObject *restoreArray(PyObject *, PyObject *args);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_OPERATORS_H

//===- Function.h - Functions of executables, and their calls ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu_async.Function, and the call that Function.start has bound.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_FUNCTION_H
#define GPUASYNC_PYTHON_BINDING_FUNCTION_H

#include "Arguments.h"
#include "Python.h"

namespace binding {

/// Makes the types and puts them into the module. False after an error.
bool initFunction(PyObject *module);
bool isFunction(PyObject *object);
/// Takes over `callable`, a function of that name. Null after an error.
PyObject *makeFunction(gpuasync_callable *callable, const char *name,
                       std::shared_ptr<Place> place);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_FUNCTION_H

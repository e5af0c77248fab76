//===- Executable.h - Compiled programs -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu_async.Executable, whose attributes are its functions.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_EXECUTABLE_H
#define GPUASYNC_PYTHON_BINDING_EXECUTABLE_H

#include "Python.h"

namespace binding {

/// Makes the type and puts it into the module. False after an error.
bool initExecutable(PyObject *module);
/// compile(program: bytes, name: str, device: str, options: str).
PyObject *compile(PyObject *module, PyObject *args);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_EXECUTABLE_H

//===- Errors.h - Statuses as exceptions ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The classes are those of gpu_async/errors.py.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_ERRORS_H
#define GPUASYNC_PYTHON_BINDING_ERRORS_H

#include "Python.h"

#include "gpuasync/Status.h"

#include <string>

namespace binding {

enum class Error { Call, Argument, Compile };

/// The base of the classes.
PyObject *errorClass();
/// Finds the classes. False after an error.
bool initErrors();

/// Raises with a message, and the status's code as `code`.
void raise(Error kind, uint32_t code, const std::string &message);
/// Raises what a status says.
void raise(Error kind, const gpuasync::Status &status);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_ERRORS_H

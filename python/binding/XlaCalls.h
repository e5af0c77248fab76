//===- XlaCalls.h - Functions that XLA's programs call ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handler for custom calls of XLA's typed FFI, on the CPU. It needs neither
// jaxlib nor its headers to be built.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_XLACALLS_H
#define GPUASYNC_PYTHON_BINDING_XLACALLS_H

#include "Python.h"

#include "GPUAsync-C/GPUAsync.h"
#include "gpuasync/Status.h"

#include <string>

namespace binding {

/// xla_handler(). The capsule that jax.ffi.register_ffi_target takes.
PyObject *xlaHandler(PyObject *, PyObject *);

/// Keeps the function of the executable for ever, as what a custom call with
/// the attribute `program` of that text calls. XLA does not say when it has
/// made its last call. A text that is known already keeps its function.
gpuasync::Status keepForXla(gpuasync_executable *executable,
                            const std::string &function,
                            const std::string &program);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_XLACALLS_H

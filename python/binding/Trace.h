//===- Trace.h - Traces and profiles ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What gpu_async/profile.py is made of.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_TRACE_H
#define GPUASYNC_PYTHON_BINDING_TRACE_H

#include "Python.h"

namespace binding {

/// trace_start(file: bytes | None).
PyObject *startTrace(PyObject *module, PyObject *file);
/// trace_stop().
PyObject *stopTrace(PyObject *module, PyObject *);
/// profile_rows(): tuples as profile.Row has its fields.
PyObject *listProfile(PyObject *module, PyObject *);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_TRACE_H

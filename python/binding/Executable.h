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
/// compile(program: bytes, name: str, device: str, options: str, source: bytes
/// or None).
PyObject *compile(PyObject *module, PyObject *args);
/// load(name: str, device: str, options: str, source: bytes). None if the disk
/// cache does not have the program.
PyObject *load(PyObject *module, PyObject *args);
/// cache_folder(). "" if the cache is off.
PyObject *cacheFolder(PyObject *module, PyObject *);
/// take_cache_warning(). None, or the one warning of the disk cache.
PyObject *takeCacheWarning(PyObject *module, PyObject *);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_EXECUTABLE_H

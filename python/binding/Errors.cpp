//===- Errors.cpp - Statuses as exceptions --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Errors.h.
//===----------------------------------------------------------------------===//

#include "Errors.h"

#include "gpuasync/Context.h"

namespace binding {

static PyObject *classes[3];

PyObject *errorClass() { return classes[0]; }

bool initErrors() {
  Ref module(PyImport_ImportModule("gpu_async.errors"));
  if (!module)
    return false;
  const char *const names[] = {"Error", "ArgumentError", "CompileError"};
  for (size_t i = 0; i < 3; ++i)
    if (!(classes[i] = PyObject_GetAttrString(module.get(), names[i])))
      return false;
  return true;
}

void raise(Error kind, uint32_t code, const std::string &text) {
  PyObject *type = classes[size_t(kind)];
  std::string message = text;
  if (code == GPUASYNC_SHUT_DOWN && gpuasync_process_forked())
    message += "; start the worker by spawn "
               "(multiprocessing.get_context(\"spawn\"))";
  // What a driver or a file name says need not be UTF-8.
  Ref decoded(PyUnicode_DecodeUTF8(message.data(), Py_ssize_t(message.size()),
                                   "replace"));
  if (!decoded)
    return;
  Ref error(PyObject_CallFunction(type, "OI", decoded.get(), code));
  if (error)
    PyErr_SetObject(type, error.get());
}

void raise(Error kind, const gpuasync::Status &status) {
  raise(kind, status.code(), status.message());
}

} // namespace binding

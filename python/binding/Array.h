//===- Array.h - The arrays that calls return -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu_async.Array: memory of the program's, read without a copy by the buffer
// protocol and DLPack.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_ARRAY_H
#define GPUASYNC_PYTHON_BINDING_ARRAY_H

#include "Arguments.h"
#include "Python.h"

#include "GPUAsync-C/GPUAsync.h"

#include <atomic>
#include <memory>

namespace binding {

/// Memory that arrays and consumers of DLPack share. The last of them frees it,
/// on its own thread.
class Storage {
public:
  /// Takes over what `value` owns. A value that owns nothing is a view: of
  /// `arguments`, or of the program, which `program` keeps.
  Storage(const gpuasync_value &value, std::shared_ptr<Arguments> arguments,
          PyObject *program);
  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  /// From any thread, with the GIL or without.
  void release();

private:
  ~Storage();

  std::atomic<size_t> references{1};
  gpuasync_value owned;
  std::shared_ptr<Arguments> arguments;
  PyObject *program;
};

/// Python's object. `value` describes the elements, on the host or, of a view
/// of an argument, on the device.
struct Array {
  PyObject_HEAD Storage *storage;
  gpuasync_value value;
  Py_ssize_t byteStrides[GPUASYNC_MAX_RANK];
  int32_t deviceType; ///< dlpack::DeviceType
  /// The stream that the elements may still be written on.
  std::optional<CallersStream> pending;
};

/// Makes the type and puts it into the module. False after an error.
bool initArray(PyObject *module);
bool isArray(PyObject *object);
/// Takes over one reference of `storage`. Null after an error.
PyObject *makeArray(Storage *storage, const gpuasync_value &value,
                    int32_t deviceType,
                    std::optional<CallersStream> pending = std::nullopt);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_ARRAY_H

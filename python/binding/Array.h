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

#include "gpuasync/Status.h"

#include <atomic>
#include <memory>
#include <string>

namespace binding {

/// Memory of the library's that arrays and consumers of DLPack share. The last
/// of them frees it, on its own thread, with the GIL or without.
class Storage {
public:
  /// Takes over what `value` owns.
  explicit Storage(const gpuasync_value &value) : owned(value) {}
  Storage(const Storage &) = delete;
  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  /// On the device: waits until the elements are there.
  gpuasync::Status wait() {
    return gpuasync::Status(gpuasync_value_wait(&owned));
  }
  /// The same, and copies them to `data` in row-major order.
  gpuasync::Status download(void *data) {
    return gpuasync::Status(gpuasync_value_download(&owned, data));
  }
  /// Whether nobody has a reference but the `count` that the caller knows of.
  /// With the GIL: no thread gets one meanwhile.
  bool hasOnly(size_t count) const {
    return references.load(std::memory_order_acquire) == count;
  }
  /// Work on a stream of the caller's may use it, at a time that only the
  /// caller knows.
  void useElsewhere() { elsewhere = true; }
  bool isUsedElsewhere() const { return elsewhere; }
  /// The memory that gpuasync_value_release frees.
  void *owner() const { return owned.owner; }
  /// The owner is somebody else's.
  void forget() { owned.owner = owned.data = nullptr; }
  void release() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }

private:
  ~Storage() { gpuasync_value_release(&owned); }

  std::atomic<size_t> references{1};
  bool elsewhere = false; ///< with the GIL
  gpuasync_value owned;
};

/// Python's object. `value` describes the elements, on the host or, of a view
/// of an argument, on the device. Each array has a reference of its own of what
/// keeps the memory, so that Python's collector can count them.
struct Array {
  PyObject_HEAD Storage *storage; ///< null of a view
  PyObject *owners; ///< of a view: a tuple of what keeps its memory
  gpuasync_value value;
  Py_ssize_t byteStrides[GPUASYNC_MAX_RANK];
  int32_t deviceType; ///< dlpack::DeviceType
  /// The stream that the elements may still be written on.
  std::optional<CallersStream> pending;
  bool weakType; ///< for JAX: see `weaken`
  /// A string, the function that the array was donated to: the elements are
  /// gone. Else null.
  PyObject *donatedTo;
};

/// Raises if the array was donated; false.
bool isThere(const Array *array);
/// The error of an array that was donated.
std::string donatedText(const Array *array);

/// Makes the type and puts it into the module. False after an error.
bool initArray(PyObject *module);
bool isArray(PyObject *object);
/// Returns NumPy's array of the elements: in host memory the same memory. Null
/// after an error. The second parameter is unused: it is a method of Python's.
PyObject *toNumPy(PyObject *array, PyObject *);
/// weaken(array): marks the result of a function of JAX's as one whose type
/// other operands decide about. Returns the array.
PyObject *weaken(PyObject *, PyObject *array);
/// Whether a write to its elements is a fault: a constant of the program's.
inline bool isReadOnly(const Array *array) {
  return array->value.flags & GPUASYNC_READ_ONLY;
}
/// Whether the elements are on the device, in memory of the array's own.
inline bool isKept(const Array *array) {
  return array->value.device != GPUASYNC_HOST && array->storage;
}
/// Whether an array on the device is a view of memory that others may free or
/// write.
bool hasOwnerOfOthers(const Array *array);
/// Waits for the calls that compute or write an array on the device that is
/// kept, or is a view of such arrays, without the GIL. False after an error.
bool waitForElements(Array *array);
/// Takes over one reference of `storage`, or with null makes a view, which
/// `owners` keep. Null after an error.
PyObject *makeArray(Storage *storage, Ref owners, const gpuasync_value &value,
                    int32_t deviceType,
                    std::optional<CallersStream> pending = std::nullopt);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_ARRAY_H

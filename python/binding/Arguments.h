//===- Arguments.h - Python's objects as values of a call -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays by the buffer protocol, else by DLPack; numbers; never a copy of an
// array. What keeps the memory is held until the values go.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_ARGUMENTS_H
#define GPUASYNC_PYTHON_BINDING_ARGUMENTS_H

#include "DLPack.h"
#include "Python.h"

#include "GPUAsync-C/GPUAsync.h"
#include "GPUAsync/DeviceKinds.h"

#include <memory>
#include <optional>

namespace binding {

using mlir::gpuasync::cpuDevice;
using mlir::gpuasync::cudaDevice;
using mlir::gpuasync::hipDevice;

class Storage;

/// The device of an executable, and how its arrays get there.
class Place {
public:
  explicit Place(gpuasync_executable *executable);
  ~Place();
  Place(const Place &) = delete;
  Place &operator=(const Place &) = delete;

  bool isCpu() const { return kind == cpuDevice.device; }
  /// Whether results stay on the device, and calls wait for nothing.
  bool keepsArrays() const { return queue; }
  /// Whether work of calls that have ended may still use what they were given.
  bool hasAbandoned() const;
  const std::string &name() const { return device; }
  /// A stream that producers of arrays on the device make wait for their work;
  /// null after an error. Made at the first use, with the GIL.
  gpuasync_stream *arrivals();
  /// What DLPack calls a stream; null after an error.
  PyObject *dlpackStream(void *native) const;

  int32_t dlpackType = 0, dlpackHostType = 0; ///< dlpack::DeviceType

private:
  std::string device, kind;
  gpuasync_context *context;
  gpuasync_stream *stream = nullptr;
  void *queue = nullptr; ///< whose order such calls are in
  friend class Arguments;
};

/// A caller's stream, which a call is ordered into: the vendor's handle, null
/// for the default stream.
struct CallersStream {
  void *native = nullptr;
};

/// Values in a row, and what keeps their memory.
class Arguments {
public:
  /// Room for `capacity` values, for a call on `stream` or, without one, for a
  /// call that waits.
  Arguments(size_t capacity, std::optional<CallersStream> stream);
  /// With the GIL.
  ~Arguments();
  Arguments(const Arguments &) = delete;
  Arguments &operator=(const Arguments &) = delete;

  /// Adds an object as the value of a parameter: `what` ("argument 1 of @main")
  /// is for messages. With `written` read-only arrays are refused. False after
  /// an error.
  bool add(PyObject *object, const gpuasync_parameter &parameter, bool written,
           Place &place, const char *function, const char *what);
  /// Adds nothing in a value's place.
  void skip() {
    value[count].data = nullptr;
    hold[count++].kept = Kept::Nothing;
  }
  /// Waits for work of producers on the device, without the GIL. False after an
  /// error.
  bool arrive(Place &place);
  /// Whether the device reads or writes memory that others may free or write
  /// when the call is over.
  bool hasForeign() const { return foreign; }

  /// Puts what keeps the memory of the values into a list, where it may stay
  /// longer than here. False after an error.
  bool share(PyObject *list);
  /// Keeps for ever what keeps the memory.
  void leak() { count = 0; }
  /// For Python's collector: what `visit` is called with, or its first result
  /// that is not 0.
  int traverse(visitproc visit, void *arg) const;

  const gpuasync_value *values() const { return value; }
  gpuasync_value *values() { return value; }
  /// The object of a value that is an Array; null for all others.
  PyObject *arrayOf(size_t index) const;
  gpuasync_value &last() { return value[count - 1]; }
  size_t size() const { return count; }

private:
  enum class Kept : uint8_t { Nothing, Object, Buffer, Tensor };
  struct Hold {
    Kept kept;
    PyObject *object;
    dlpack::VersionedTensor *tensor;
    Storage *storage; ///< of an object, one reference; or null
    Py_buffer view;
    alignas(16) char number[16]; ///< read before the call returns
  };
  struct Refusal;

  bool addBuffer(PyObject *object, bool written, const Place &place,
                 const Refusal &refuse);
  bool addDLPack(PyObject *object, bool written, Place &place,
                 const Refusal &refuse);
  bool addExchanged(PyObject *object, bool written, Place &place,
                    const Refusal &refuse, bool &added);
  bool addTensor(const dlpack::Tensor &tensor, bool readOnly, bool written,
                 int32_t device, const Refusal &refuse);
  /// Adds a number that is passed by value.
  bool addNumber(PyObject *object, uint32_t type, const Refusal &refuse);
  /// Adds a number, 16 bytes with what is behind it, as the element of a tensor
  /// without dimensions: in memory that may outlive the call, as an array's.
  bool addElement(const void *number, uint32_t type, const Place &place);

  static constexpr size_t few = 8;
  size_t count = 0;
  std::optional<CallersStream> stream;
  bool arriving = false, foreign = false;
  gpuasync_value fewValues[few];
  Hold fewHolds[few];
  std::unique_ptr<gpuasync_value[]> manyValues;
  std::unique_ptr<Hold[]> manyHolds;
  gpuasync_value *value = fewValues;
  Hold *hold = fewHolds;
};

/// memory_changed(array)
PyObject *memoryChanged(PyObject *, PyObject *array);

/// Makes what conversions need. False after an error.
bool initArguments();

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_ARGUMENTS_H

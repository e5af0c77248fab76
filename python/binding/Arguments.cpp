//===- Arguments.cpp - Python's objects as values of a call ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Arguments.h.
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Array.h"
#include "DLPack.h"
#include "Errors.h"
#include "Types.h"

#include "gpuasync/Memory.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace binding {

static PyObject *dlpackName, *dlpackDeviceName, *streamName, *exchangeApiName,
    *requiresGradName, *arrayInterfaceName;
static PyObject *nothing;       ///< an empty tuple
static PyObject *newestVersion; ///< {"max_version": (1, 1)}

bool initArguments() {
  dlpackName = PyUnicode_InternFromString("__dlpack__");
  dlpackDeviceName = PyUnicode_InternFromString("__dlpack_device__");
  streamName = PyUnicode_InternFromString("stream");
  exchangeApiName = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  requiresGradName = PyUnicode_InternFromString("requires_grad");
  arrayInterfaceName = PyUnicode_InternFromString("__array_interface__");
  nothing = PyTuple_New(0);
  newestVersion = Py_BuildValue("{s:(ii)}", "max_version", 1, 1);
  return dlpackName && dlpackDeviceName && streamName && exchangeApiName &&
         requiresGradName && arrayInterfaceName && nothing && newestVersion;
}

//===----------------------------------------------------------------------===//
// Where a program runs
//===----------------------------------------------------------------------===//

Place::Place(gpuasync_executable *executable)
    : device(gpuasync_executable_device(executable)),
      kind(device.substr(0, device.find(':'))),
      context(gpuasync_executable_context(executable)) {
  dlpackType = kind == cudaDevice.device  ? dlpack::Cuda
               : kind == hipDevice.device ? dlpack::Rocm
                                          : dlpack::Cpu;
  dlpackHostType = kind == cudaDevice.device  ? dlpack::CudaHost
                   : kind == hipDevice.device ? dlpack::RocmHost
                                              : dlpack::Cpu;
  gpuasync_context_retain(context);
  // Without one calls say what is wrong.
  if (gpuasync_executable_keeps_arrays(executable))
    gpuasync_status_free(gpuasync_executable_queue(executable, &queue));
}

Place::~Place() {
  gpuasync_context_stream_destroy(stream);
  gpuasync_context_release(context);
}

bool Place::hasAbandoned() const {
  return !gpuasync::Status(gpuasync_context_wait_abandoned(context, 0)).ok();
}

PyObject *Place::dlpackStream(void *native) const {
  // CUDA's default stream has a number of its own there.
  return native || dlpackType != dlpack::Cuda ? PyLong_FromVoidPtr(native)
                                              : PyLong_FromLong(1);
}

gpuasync_stream *Place::arrivals() {
  if (!stream) {
    gpuasync::Status status(gpuasync_context_stream_create(context, &stream));
    if (!status.ok())
      raise(Error::Call, status);
  }
  return stream;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Takes the message of the exception that is raised, and clears it. False,
/// with the exception, if it is none about the object: an interrupt, no memory,
/// a fault of Python's (3.11 has one where a call gets no frame).
static bool takeText(std::string &text) {
  if (!PyErr_ExceptionMatches(PyExc_Exception) ||
      PyErr_ExceptionMatches(PyExc_MemoryError) ||
      PyErr_ExceptionMatches(PyExc_SystemError))
    return false;
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  Ref owned[] = {Ref(type), Ref(error), Ref(trace)};
  Ref said(PyObject_Str(error));
  const char *message =
      said ? PyUnicode_AsUTF8AndSize(said.get(), nullptr) : nullptr;
  PyErr_Clear();
  text = message ? message : "no such value";
  return true;
}

/// Which object of which call an exception is about.
struct Arguments::Refusal {
  const gpuasync_parameter &parameter;
  const char *function, *what;
  size_t index;

  std::string where() const {
    return std::string("@") + function + ": " + what + " " +
           std::to_string(index) + " of " + parameter.text + ": ";
  }
  bool operator()(const std::string &why) const {
    raise(Error::Argument, GPUASYNC_INVALID_ARGUMENT, where() + why);
    return false;
  }
  /// Puts where it was before the message of the exception that is raised,
  /// unless it is none about the object: an interrupt, no memory.
  bool again() const {
    std::string text;
    return takeText(text) && (*this)(text);
  }
};

Arguments::Arguments(size_t capacity, std::optional<CallersStream> stream)
    : stream(stream) {
  if (capacity <= few)
    return;
  manyValues.reset(new gpuasync_value[capacity]);
  manyHolds.reset(new Hold[capacity]);
  value = manyValues.get();
  hold = manyHolds.get();
}

/// With the GIL.
static void giveBack(dlpack::VersionedTensor *tensor) {
  if (tensor->deleter)
    keepingError([tensor] { tensor->deleter(tensor); });
}

Arguments::~Arguments() {
  keepingError([this] {
    for (size_t i = 0; i < count; ++i) {
      if (hold[i].kept == Kept::Object) {
        if (hold[i].storage)
          hold[i].storage->release();
        Py_DECREF(hold[i].object);
      } else if (hold[i].kept == Kept::Buffer)
        PyBuffer_Release(&hold[i].view);
      else if (hold[i].kept == Kept::Tensor)
        giveBack(hold[i].tensor);
    }
  });
}

/// A second buffer of the same memory, which Python's collector sees through;
/// null, without an exception, if the exporter gives none.
static Ref viewAgain(const Py_buffer &view) {
  Ref again(PyMemoryView_FromObject(view.obj));
  Py_buffer other;
  bool same =
      again && PyObject_GetBuffer(again.get(), &other, PyBUF_RECORDS_RO) == 0;
  if (same) {
    same = other.buf == view.buf;
    PyBuffer_Release(&other);
  }
  PyErr_Clear();
  return same ? std::move(again) : Ref();
}

/// Moves a buffer into a capsule, which releases it; null after an error.
static Ref moveToCapsule(const Py_buffer &view) {
  std::unique_ptr<Py_buffer> moved(new (std::nothrow) Py_buffer(view));
  auto release = [](PyObject *capsule) {
    auto *owned =
        static_cast<Py_buffer *>(PyCapsule_GetPointer(capsule, nullptr));
    keepingError([owned] { PyBuffer_Release(owned); });
    delete owned;
  };
  Ref capsule(moved ? PyCapsule_New(moved.get(), nullptr, release)
                    : PyErr_NoMemory());
  if (capsule)
    (void)moved.release();
  return capsule;
}

static Ref moveToCapsule(dlpack::VersionedTensor *tensor) {
  return Ref(PyCapsule_New(tensor, nullptr, [](PyObject *capsule) {
    giveBack(static_cast<dlpack::VersionedTensor *>(
        PyCapsule_GetPointer(capsule, nullptr)));
  }));
}

/// Appends what keeps an array's memory, each object once. A view does not: so
/// a chain of calls, each with the last one's result, keeps no chain of arrays.
static bool appendOwners(PyObject *list, PyObject *object) {
  if (isArray(object)) {
    auto *array = reinterpret_cast<Array *>(object);
    if (PyObject *owners = array->owners) {
      for (Py_ssize_t i = 0; i < PyTuple_Size(owners); ++i)
        if (!appendOwners(list, PyTuple_GetItem(owners, i)))
          return false;
      return true;
    }
    // A view is there for as long as it likes: no call takes the memory over.
    if (array->storage)
      array->storage->useElsewhere();
  }
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i)
    if (PyList_GetItem(list, i) == object)
      return true;
  return PyList_Append(list, object) == 0;
}

bool Arguments::share(PyObject *list) {
  for (size_t i = 0; i < count; ++i) {
    Ref owner, capsule;
    if (hold[i].kept == Kept::Buffer) {
      owner = viewAgain(hold[i].view);
      if (!owner && !(capsule = moveToCapsule(hold[i].view)))
        return false;
    } else if (hold[i].kept == Kept::Tensor) {
      if (!(capsule = moveToCapsule(hold[i].tensor)))
        return false;
    }
    if (capsule) {
      hold[i].kept = Kept::Object;
      hold[i].object = capsule.release();
      hold[i].storage = nullptr;
    }
    if (hold[i].kept == Kept::Object)
      owner = Ref::of(hold[i].object);
    if (owner && !appendOwners(list, owner.get()))
      return false;
  }
  return true;
}

PyObject *Arguments::arrayOf(size_t index) const {
  return hold[index].kept == Kept::Object && isArray(hold[index].object)
             ? hold[index].object
             : nullptr;
}

int Arguments::traverse(visitproc visit, void *arg) const {
  for (size_t i = 0; i < count; ++i) {
    if (hold[i].kept == Kept::Object)
      Py_VISIT(hold[i].object);
    else if (hold[i].kept == Kept::Buffer)
      Py_VISIT(hold[i].view.obj);
  }
  return 0;
}

/// A rank above the most is kept for the call to refuse.
static bool fitsRank(int64_t rank) { return rank <= GPUASYNC_MAX_RANK; }

static std::string typeOf(PyObject *object) {
  Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject *>(Py_TYPE(object)),
                                  "__name__"));
  const char *text =
      name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  if (!text)
    PyErr_Clear();
  return text ? text : "object";
}

static const char *const readOnlyText =
    "the function may write it, but the array is read-only; pass a copy "
    "(numpy.array(a))";

bool Arguments::addNumber(PyObject *object, uint32_t type,
                          const Refusal &refuse) {
  Hold &held = hold[count];
  held.kept = Kept::Nothing;
  if (!writeNumber(type, object, held.number))
    return refuse.again();
  value[count] = gpuasync_value_make(held.number, type, 0, nullptr);
  ++count;
  return true;
}

/// Room for one of any type.
static constexpr size_t elementBytes = 16;

static void freeElement(PyObject *capsule) {
  std::free(PyCapsule_GetPointer(capsule, nullptr));
}

/// The same where a copy of it may have stayed on the device
/// (gpu_async.resident).
static void forgetElement(PyObject *capsule) {
  gpuasync_host_memory_changed(PyCapsule_GetPointer(capsule, nullptr),
                               elementBytes);
  freeElement(capsule);
}

bool Arguments::addElement(const void *number, uint32_t type,
                           const Place &place) {
  void *data = std::malloc(elementBytes);
  Ref capsule(data ? PyCapsule_New(data, nullptr,
                                   place.isCpu() ? freeElement : forgetElement)
                   : PyErr_NoMemory());
  if (!capsule) {
    std::free(data);
    return false;
  }
  std::memcpy(data, number, elementBytes);
  value[count] = gpuasync_value_make(data, type, 0, nullptr);
  hold[count].kept = Kept::Object;
  hold[count].object = capsule.release();
  hold[count].storage = nullptr;
  ++count;
  return true;
}

/// Whether the object is one of NumPy's masked arrays. Most arrays are of the
/// type that was looked at last.
static bool isMasked(PyObject *object) {
  static PyObject *unmasked = nullptr; // a reference
  PyObject *type = reinterpret_cast<PyObject *>(Py_TYPE(object));
  if (type == unmasked)
    return false;
  if (PyObject_HasAttrString(type, "mask") &&
      PyObject_HasAttrString(type, "filled"))
    return true;
  Py_INCREF(type);
  Py_XDECREF(unmasked);
  unmasked = type;
  return false;
}

bool Arguments::addBuffer(PyObject *object, bool written, const Place &place,
                          const Refusal &refuse) {
  if (isMasked(object))
    return refuse("a masked array, whose mask would be lost; give "
                  "x.filled(value)");
  Hold &held = hold[count];
  int flags = written ? PyBUF_RECORDS : PyBUF_RECORDS_RO;
  if (PyObject_GetBuffer(object, &held.view, flags) < 0) {
    if (!written)
      return false;
    // Is it read-only, or no buffer at all?
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    if (PyObject_GetBuffer(object, &held.view, PyBUF_RECORDS_RO) < 0) {
      PyErr_Clear();
      PyErr_Restore(type, error, trace);
      return false;
    }
    bool readOnly = held.view.readonly;
    PyBuffer_Release(&held.view);
    if (!readOnly) {
      PyErr_Restore(type, error, trace);
      return false;
    }
    Ref owned[] = {Ref(type), Ref(error), Ref(trace)};
    return refuse(readOnlyText);
  }
  struct Guard {
    Py_buffer *view;
    ~Guard() {
      if (view)
        keepingError([this] { PyBuffer_Release(view); });
    }
  } guard{&held.view};
  const Py_buffer &view = held.view;
  uint32_t type = typeOfFormat(view.format, view.itemsize);
  if (!type)
    return refuse(std::string("elements of the format '") +
                  (view.format ? view.format : "") + "' and " +
                  std::to_string(view.itemsize) +
                  " bytes are none of a program's; convert them (a.astype)");
  // One of NumPy's scalars is a number, too: its memory goes with it, and the
  // next one's may be in the same place.
  if (view.readonly && !written && view.ndim == 0 &&
      view.len <= Py_ssize_t(elementBytes)) {
    alignas(16) char number[elementBytes] = {};
    std::memcpy(number, view.buf, size_t(view.len));
    return addElement(number, type, place);
  }
  gpuasync_value &made = value[count];
  made.data = view.buf;
  made.type = type;
  made.rank = uint32_t(view.ndim);
  made.device = GPUASYNC_HOST;
  made.flags = 0;
  made.owner = nullptr;
  uint64_t expected = uint64_t(view.itemsize);
  if (fitsRank(view.ndim))
    for (int i = view.ndim; i-- > 0;) {
      made.shape[i] = view.shape ? view.shape[i] : view.len / view.itemsize;
      int64_t stride = view.strides ? view.strides[i] : int64_t(expected);
      // Strides of no elements, or from one to no other, lead nowhere.
      if (view.len && made.shape[i] != 1 && stride % view.itemsize)
        return refuse(
            "the stride of " + std::to_string(stride) +
            " bytes is no multiple of the element's size; pass a copy "
            "(numpy.ascontiguousarray(a))");
      made.strides[i] = stride / view.itemsize;
      expected *= uint64_t(made.shape[i]);
    }
  held.kept = Kept::Buffer;
  guard.view = nullptr;
  ++count;
  return true;
}

/// The capsule of an object; null after an error.
static Ref takeCapsule(PyObject *object, PyObject *stream) {
  Ref method(PyObject_GetAttr(object, dlpackName));
  if (!method)
    return Ref();
  Ref options =
      stream ? Ref(PyDict_Copy(newestVersion)) : Ref::of(newestVersion);
  if (!options ||
      (stream && PyDict_SetItem(options.get(), streamName, stream) < 0))
    return Ref();
  Ref capsule(PyObject_Call(method.get(), nothing, options.get()));
  // Errors of ours are TypeErrors, too, where it makes a call itself.
  if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError) ||
      PyErr_ExceptionMatches(errorClass()))
    return capsule;
  // A producer of before version 1 does not know max_version.
  PyErr_Clear();
  Ref older(PyDict_New());
  if (!older || (stream && PyDict_SetItem(older.get(), streamName, stream) < 0))
    return Ref();
  return Ref(PyObject_Call(method.get(), nothing, older.get()));
}

static const char *const noDevice =
    "its __dlpack_device__ gives no tuple of two integers";

/// The device that an array says it is on. False after an error, or without
/// one if it gives no device.
static bool readDevice(PyObject *object, dlpack::Device &device) {
  Ref pair(PyObject_CallMethodObjArgs(object, dlpackDeviceName, nullptr));
  if (!pair || !PyTuple_Check(pair.get()) || PyTuple_Size(pair.get()) != 2)
    return false;
  device.type = int32_t(PyLong_AsLong(PyTuple_GetItem(pair.get(), 0)));
  device.id = int32_t(PyLong_AsLong(PyTuple_GetItem(pair.get(), 1)));
  return !PyErr_Occurred();
}

/// The tensor in a capsule; null, and why, if there is none.
static const dlpack::Tensor *tensorOf(PyObject *capsule, bool &readOnly,
                                      std::string &why) {
  readOnly = false;
  if (PyCapsule_IsValid(capsule, dlpack::versionedName)) {
    auto *versioned = static_cast<dlpack::VersionedTensor *>(
        PyCapsule_GetPointer(capsule, dlpack::versionedName));
    readOnly = versioned->flags & dlpack::readOnlyFlag;
    if (versioned->major == 1)
      return &versioned->tensor;
    why = "its __dlpack__ gives version " + std::to_string(versioned->major) +
          " of DLPack, and 1 is known";
    return nullptr;
  }
  if (PyCapsule_IsValid(capsule, dlpack::name))
    return &static_cast<dlpack::ManagedTensor *>(
                PyCapsule_GetPointer(capsule, dlpack::name))
                ->tensor;
  why = "its __dlpack__ gives no capsule of DLPack's";
  return nullptr;
}

/// What DLPack calls a device's memory, as a program sees it.
struct Side {
  bool onHost, onDevice;
  Side(int32_t type, const Place &place)
      : onHost(type == dlpack::Cpu || type == place.dlpackHostType),
        onDevice(!onHost && (type == place.dlpackType ||
                             (type == dlpack::CudaManaged &&
                              place.dlpackType == dlpack::Cuda))) {}
};

/// Of an array whose producer holds it until the call is over; `device` is its
/// number, or GPUASYNC_HOST.
bool Arguments::addTensor(const dlpack::Tensor &tensor, bool readOnly,
                          bool written, int32_t device, const Refusal &refuse) {
  if (written && readOnly)
    return refuse("the function may write it, but the array is read-only; "
                  "pass a copy");
  uint32_t type = typeOfDLPack(tensor.type);
  if (!type)
    return refuse("elements of DLPack's type code " +
                  std::to_string(tensor.type.code) + " with " +
                  std::to_string(tensor.type.bits) + " bits and " +
                  std::to_string(tensor.type.lanes) +
                  " lanes are none of a program's; convert them");
  if (tensor.rank < 0 || (tensor.rank > 0 && !tensor.shape))
    return refuse("its __dlpack__ gives no shape");
  gpuasync_value &made = value[count];
  made.data = tensor.data ? static_cast<char *>(tensor.data) + tensor.byteOffset
                          : nullptr;
  made.type = type;
  made.rank = uint32_t(tensor.rank);
  made.device = device;
  made.flags = 0;
  made.owner = nullptr;
  uint64_t expected = 1;
  if (fitsRank(tensor.rank))
    for (int i = tensor.rank; i-- > 0;) {
      made.shape[i] = tensor.shape[i];
      made.strides[i] = tensor.strides ? tensor.strides[i] : int64_t(expected);
      expected *= uint64_t(made.shape[i]);
    }
  return true;
}

/// What the object's type shows of DLPack's calls of C, or null. Types are
/// remembered: to look for what is not there takes longer than a call.
static const dlpack::ExchangeApi *exchangeApiOf(PyObject *object) {
  struct Known {
    PyTypeObject *type; ///< held
    const dlpack::ExchangeApi *api;
  };
  static Known known[4];
  static unsigned next;
  PyTypeObject *type = Py_TYPE(object);
  for (const Known &each : known)
    if (each.type == type)
      return each.api;
  const dlpack::ExchangeApi *api = nullptr;
  Ref capsule(
      PyObject_GetAttr(reinterpret_cast<PyObject *>(type), exchangeApiName));
  if (capsule && PyCapsule_IsValid(capsule.get(), dlpack::exchangeName))
    api = static_cast<const dlpack::ExchangeApi *>(
        PyCapsule_GetPointer(capsule.get(), dlpack::exchangeName));
  if (!capsule && PyErr_ExceptionMatches(PyExc_MemoryError))
    return nullptr; // and ask again next time
  PyErr_Clear();
  while (api && api->major != 1)
    api = api->older;
  Known &place = known[next++ % 4];
  PyTypeObject *before = place.type;
  Py_INCREF(reinterpret_cast<PyObject *>(type));
  place = {type, api};
  Py_XDECREF(reinterpret_cast<PyObject *>(before));
  return api;
}

/// By calls of C, where nobody has to wait for anybody: the array is the
/// host's, or its producer's work goes to the call's stream. Not so for what
/// PyTorch refuses to hand out by `__dlpack__` only: gradients, conjugates.
bool Arguments::addExchanged(PyObject *object, bool written, Place &place,
                             const Refusal &refuse, bool &added) {
  added = false;
  const dlpack::ExchangeApi *api = exchangeApiOf(object);
  if (PyErr_Occurred())
    return false;
  if (!api || !api->fromObject || !api->currentStream)
    return true;
  Ref gradient = attributeOf(object, requiresGradName);
  if (PyErr_Occurred())
    return refuse.again();
  if (gradient && gradient.get() != Py_False)
    return true;
  dlpack::VersionedTensor *tensor = nullptr;
  if (api->fromObject(object, &tensor) != 0 || !tensor) {
    PyErr_Clear(); // __dlpack__ says what is wrong
    return true;
  }
  struct Guard {
    dlpack::VersionedTensor *tensor;
    ~Guard() {
      if (tensor)
        giveBack(tensor);
    }
  } guard{tensor};
  const dlpack::Device device = tensor->tensor.device;
  const Side side(device.type, place);
  if (tensor->major != 1 || tensor->tensor.type.code == dlpack::Complex ||
      (!side.onHost && !(side.onDevice && stream)))
    return true;
  if (side.onDevice) {
    void *current = nullptr;
    if (api->currentStream(dlpack::DeviceType(device.type), device.id,
                           &current) != 0) {
      PyErr_Clear();
      return true;
    }
    if (current != stream->native)
      return true;
  }
  if (!addTensor(tensor->tensor, tensor->flags & dlpack::readOnlyFlag, written,
                 side.onDevice ? device.id : GPUASYNC_HOST, refuse))
    return false;
  hold[count].kept = Kept::Tensor;
  hold[count].tensor = std::exchange(guard.tensor, nullptr);
  ++count;
  added = true;
  return true;
}

/// The capsule stays the producer's: who drops it last calls its deleter, with
/// the GIL, as Python does with any object.
bool Arguments::addDLPack(PyObject *object, bool written, Place &place,
                          const Refusal &refuse) {
  bool added = false;
  if (!addExchanged(object, written, place, refuse, added))
    return false;
  if (added)
    return true;
  dlpack::Device device = {};
  if (!readDevice(object, device))
    return PyErr_Occurred() ? refuse.again() : refuse(noDevice);
  const Side side(device.type, place);
  if (!side.onHost && !side.onDevice)
    return refuse("the array is on a device that the program does not run on, "
                  "which is " +
                  place.name() +
                  "; move it to the host, or compile for the array's device");
  Ref number;
  if (side.onDevice && stream) {
    number = Ref(place.dlpackStream(stream->native));
  } else if (side.onDevice && place.queue) {
    number = Ref(place.dlpackStream(place.queue));
  } else if (side.onDevice) {
    gpuasync_stream *arrivals = place.arrivals();
    if (!arrivals)
      return false;
    number = Ref(place.dlpackStream(gpuasync_context_stream_native(arrivals)));
  }
  if (side.onDevice && !number)
    return false;
  Ref capsule = takeCapsule(object, number.get());
  if (!capsule)
    return refuse.again();
  bool readOnly = false;
  std::string why;
  const dlpack::Tensor *tensor = tensorOf(capsule.get(), readOnly, why);
  if (!tensor)
    return refuse(why);
  // What it was asked for is of no use elsewhere: nobody has waited for it.
  const dlpack::Device given = tensor->device;
  const Side actual(given.type, place);
  if (actual.onHost != side.onHost || actual.onDevice != side.onDevice ||
      (side.onDevice && given.id != device.id))
    return refuse("its __dlpack__ gives memory of DLPack's device (" +
                  std::to_string(given.type) + ", " + std::to_string(given.id) +
                  "), but its __dlpack_device__ says (" +
                  std::to_string(device.type) + ", " +
                  std::to_string(device.id) + ")");
  if (!addTensor(*tensor, readOnly, written,
                 side.onDevice ? device.id : GPUASYNC_HOST, refuse))
    return false;
  arriving |= side.onDevice && !stream && !place.queue;
  foreign |= side.onDevice;
  hold[count].kept = Kept::Object;
  hold[count].object = capsule.release();
  hold[count].storage = nullptr;
  ++count;
  return true;
}

/// Of an array of NumPy's with elements bf16 (package ml_dtypes), which neither
/// buffers nor its DLPack know, the integers in the same memory; else null,
/// with an exception if there is no memory.
static Ref asIntegers(PyObject *object) {
  Ref interface = attributeOf(object, arrayInterfaceName);
  Ref dtype(interface ? PyObject_GetAttrString(object, "dtype") : nullptr);
  Ref name(dtype ? PyObject_GetAttrString(dtype.get(), "name") : nullptr);
  const char *text = name && PyUnicode_Check(name.get())
                         ? PyUnicode_AsUTF8AndSize(name.get(), nullptr)
                         : nullptr;
  Ref view;
  if (text && !std::strcmp(text, "bfloat16"))
    view = Ref(PyObject_CallMethod(object, "view", "s", "uint16"));
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_MemoryError))
    PyErr_Clear();
  return view;
}

bool Arguments::add(PyObject *object, const gpuasync_parameter &parameter,
                    bool written, Place &place, const char *function,
                    const char *what) {
  Refusal refuse{parameter, function, what, count};
  if (parameter.kind == GPUASYNC_KIND_NUMBER)
    return addNumber(object, parameter.type, refuse);
  if (isArray(object)) {
    auto *array = reinterpret_cast<Array *>(object);
    if (array->donatedTo)
      return refuse(donatedText(array));
    value[count] = array->value;
    if (!isKept(array))
      value[count].owner = nullptr;
    if (array->value.device != GPUASYNC_HOST &&
        array->deviceType != place.dlpackType)
      return refuse(
          std::string("the array is on another device, ") +
          (array->deviceType == dlpack::Cuda ? cudaDevice : hipDevice).device +
          ":" + std::to_string(array->value.device) +
          ", than the program, which runs on " + place.name() +
          "; pass numpy.asarray(a), which is a copy on the host, or compile "
          "both for one device");
    if (written && isReadOnly(array))
      return refuse(readOnlyText);
    if (array->pending && (!stream || stream->native != array->pending->native))
      return refuse("the array is still being written on another stream; give "
                    "the call that stream, or synchronize it and take the "
                    "array by DLPack");
    foreign |= hasOwnerOfOthers(array);
    Py_INCREF(object);
    hold[count].kept = Kept::Object;
    hold[count].object = object;
    // Nobody takes the memory over while the call is not over.
    hold[count].storage = array->storage;
    if (array->storage)
      array->storage->retain();
    if (array->storage && stream)
      array->storage->useElsewhere();
    ++count;
    return true;
  }
  if (parameter.rank == 0 && !written &&
      (PyFloat_Check(object) || PyLong_Check(object) ||
       PyObject_TypeCheck(object, &PyComplex_Type))) {
    alignas(16) char number[elementBytes] = {};
    if (!writeNumber(parameter.type, object, number))
      return refuse.again();
    return addElement(number, parameter.type, place);
  }
  if (PyObject_CheckBuffer(object)) {
    if (addBuffer(object, written, place, refuse))
      return true;
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    Ref integers;
    if (parameter.type == GPUASYNC_TYPE_BF16)
      integers = asIntegers(object);
    if (PyErr_Occurred()) {
      Ref owned[] = {Ref(type), Ref(error), Ref(trace)};
      return false;
    }
    if (integers && PyObject_CheckBuffer(integers.get())) {
      Ref owned[] = {Ref(type), Ref(error), Ref(trace)};
      if (!addBuffer(integers.get(), written, place, refuse))
        return false;
      value[count - 1].type = GPUASYNC_TYPE_BF16;
      return true;
    }
    PyErr_Restore(type, error, trace);
  }
  // An error of ours is about the array, any other about the protocol.
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_BufferError) &&
      PyErr_ExceptionMatches(errorClass()))
    return false;
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  bool hasDLPack =
      attributeOf(object, dlpackName) && attributeOf(object, dlpackDeviceName);
  if (hasDLPack || PyErr_Occurred()) {
    Ref owned[] = {Ref(type), Ref(error), Ref(trace)};
    return hasDLPack ? addDLPack(object, written, place, refuse)
                     : refuse.again();
  }
  if (type) {
    PyErr_Restore(type, error, trace);
    return refuse.again();
  }
  return refuse("given a " + typeOf(object) +
                ", expected an array; numpy.asarray(x, \"" +
                elementType(parameter.type)->numpy + "\") makes one");
}

/// Raises for an array that memory_changed does not take.
static PyObject *refuseChanged(const std::string &why) {
  raise(Error::Argument, GPUASYNC_INVALID_ARGUMENT,
        "memory_changed: " + why +
            "; pass the host array that the function was given");
  return nullptr;
}

/// Tells of memory where `data` is the element of indices 0, 0, ...
static PyObject *tellChanged(const void *data, int rank, const int64_t *shape,
                             const int64_t *strides, int64_t strideUnit,
                             int64_t itemBytes) {
  // Elements may lie on both sides of that one.
  int64_t low = 0, high = itemBytes, expected = 1;
  for (int i = rank; i-- > 0;) {
    if (!shape[i])
      Py_RETURN_NONE;
    int64_t span = shape[i] == 1 ? 0
                                 : (shape[i] - 1) * strideUnit *
                                       (strides ? strides[i] : expected);
    (span < 0 ? low : high) += span;
    expected *= shape[i];
  }
  if (data && high > low)
    gpuasync_host_memory_changed(static_cast<const char *>(data) + low,
                                 uint64_t(high - low));
  Py_RETURN_NONE;
}

PyObject *memoryChanged(PyObject *, PyObject *array) {
  Py_buffer view;
  if (PyObject_CheckBuffer(array) &&
      PyObject_GetBuffer(array, &view, PyBUF_STRIDED_RO) == 0) {
    PyObject *told = tellChanged(view.buf, view.ndim, view.shape, view.strides,
                                 1, view.itemsize);
    PyBuffer_Release(&view);
    return told;
  }
  std::string why;
  if (PyErr_Occurred() && !takeText(why))
    return nullptr;
  if (!attributeOf(array, dlpackDeviceName)) {
    if (PyErr_Occurred() && !takeText(why))
      return nullptr;
    return refuseChanged(
        why.empty() ? "given a " + typeOf(array) + ", expected an array" : why);
  }
  dlpack::Device device = {};
  if (!readDevice(array, device)) {
    why = noDevice;
    return PyErr_Occurred() && !takeText(why) ? nullptr : refuseChanged(why);
  }
  if (device.type != dlpack::Cpu && device.type != dlpack::CudaHost &&
      device.type != dlpack::RocmHost)
    return refuseChanged("the array is on a device, where nothing is a copy "
                         "of it");
  Ref capsule = takeCapsule(array, nullptr);
  if (!capsule)
    return takeText(why) ? refuseChanged(why) : nullptr;
  bool readOnly = false;
  const dlpack::Tensor *tensor = tensorOf(capsule.get(), readOnly, why);
  if (!tensor)
    return refuseChanged(why);
  if (tensor->rank < 0 || (tensor->rank > 0 && !tensor->shape))
    return refuseChanged("its __dlpack__ gives no shape");
  const int64_t bytes = (tensor->type.bits * tensor->type.lanes + 7) / 8;
  return tellChanged(
      tensor->data ? static_cast<char *>(tensor->data) + tensor->byteOffset
                   : nullptr,
      tensor->rank, tensor->shape, tensor->strides, bytes, bytes);
}

bool Arguments::arrive(Place &place) {
  if (!arriving)
    return true;
  gpuasync_stream *stream = place.arrivals();
  if (!stream)
    return false;
  gpuasync::Status status = [stream] {
    WithoutGil free;
    return gpuasync::Status(gpuasync_context_stream_synchronize(stream));
  }();
  if (!status.ok())
    raise(Error::Call, status);
  return status.ok();
}

} // namespace binding

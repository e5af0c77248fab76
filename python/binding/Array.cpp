//===- Array.cpp - The arrays that calls return ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Array.h.
//===----------------------------------------------------------------------===//

#include "Array.h"
#include "Abandoned.h"
#include "DLPack.h"
#include "Errors.h"
#include "Function.h"
#include "Operators.h"
#include "Types.h"

#include <cassert>
#include <cstring>
#include <iterator>
#include <new>

namespace binding {

static_assert(sizeof(Py_ssize_t) == sizeof(int64_t),
              "shapes are lent to the buffer protocol");

/// Set at the beginning of finalisation, after which no thread gets the GIL.
static std::atomic<bool> finalising{false};

static PyObject *beginFinalisation(PyObject *, PyObject *) {
  finalising.store(true);
  Py_RETURN_NONE;
}

//===----------------------------------------------------------------------===//
// The type
//===----------------------------------------------------------------------===//

static PyTypeObject *arrayType;

bool isArray(PyObject *object) { return Py_TYPE(object) == arrayType; }

static Array *cast(PyObject *object) {
  return reinterpret_cast<Array *>(object);
}

PyObject *makeArray(Storage *storage, Ref owners, const gpuasync_value &value,
                    int32_t deviceType, std::optional<CallersStream> pending) {
  Array *self = PyObject_GC_New(Array, arrayType);
  if (!self) {
    if (storage)
      storage->release();
    return nullptr;
  }
  self->storage = storage;
  self->owners = owners.release();
  self->value = value;
  self->deviceType = deviceType;
  self->donatedTo = nullptr;
  new (&self->pending) std::optional<CallersStream>(pending);
  self->weakType = false;
  Py_ssize_t bytes = elementType(value.type)->bytes;
  for (uint32_t i = 0; i < value.rank; ++i)
    self->byteStrides[i] = value.strides[i] * bytes;
  // Others refer to nothing of Python's.
  if (self->owners)
    PyObject_GC_Track(self);
  return reinterpret_cast<PyObject *>(self);
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(cast(object)->owners);
  return 0;
}

/// Of a cycle that nobody reaches: the array is empty from then on.
static int clear(PyObject *object) {
  Array *self = cast(object);
  self->value.data = nullptr;
  for (int64_t &size : self->value.shape)
    size = 0;
  Py_CLEAR(self->owners);
  return 0;
}

static void dealloc(PyObject *object) {
  Array *self = cast(object);
  PyObject_GC_UnTrack(self);
  // The last array of a device ends its context, which may wait.
  if (isKept(self)) {
    WithoutGil free;
    self->storage->release();
  } else if (self->storage) {
    self->storage->release();
  }
  Py_XDECREF(self->owners);
  Py_XDECREF(self->donatedTo);
  freeCollected(self);
}

static int64_t countElements(const gpuasync_value &value) {
  int64_t count = 1;
  for (uint32_t i = 0; i < value.rank; ++i)
    count *= value.shape[i];
  return count;
}

/// Whether the elements follow each other, the last dimension fastest, or with
/// `columns` the first.
static bool isContiguous(const gpuasync_value &value, bool columns) {
  if (!countElements(value))
    return true;
  int64_t expected = 1;
  for (uint32_t n = 0; n < value.rank; ++n) {
    uint32_t i = columns ? n : value.rank - 1 - n;
    if (value.shape[i] > 1 && value.strides[i] != expected)
      return false;
    expected *= value.shape[i];
  }
  return true;
}

static bool isOnHost(const Array *self) {
  return self->value.device == GPUASYNC_HOST;
}

/// Calls `visit` with each owner of a view, until it returns false. False then.
template <typename Visit>
static bool forEachOwner(const Array *self, Visit visit) {
  if (self->owners && !isOnHost(self))
    for (Py_ssize_t i = 0; i < PyTuple_Size(self->owners); ++i)
      if (!visit(PyTuple_GetItem(self->owners, i)))
        return false;
  return true;
}

bool hasOwnerOfOthers(const Array *self) {
  return !forEachOwner(self, [](PyObject *owner) {
    return isArray(owner) ? isKept(cast(owner)) : isFunction(owner);
  });
}

std::string donatedText(const Array *self) {
  std::string shape;
  for (uint32_t i = 0; i < self->value.rank; ++i)
    shape += (i ? ", " : "") + std::to_string(self->value.shape[i]);
  if (self->value.rank == 1)
    shape += ",";
  const char *to = PyUnicode_AsUTF8AndSize(self->donatedTo, nullptr);
  return std::string("the array ") + elementType(self->value.type)->name +
         " (" + shape + ") has been deleted: it was donated to " +
         (to ? to : "a function") +
         ", whose results may have its memory; use the result, or donate a "
         "copy (a.copy())";
}

bool isThere(const Array *self) {
  if (!self->donatedTo)
    return true;
  raise(Error::Call, GPUASYNC_INVALID_ARGUMENT, donatedText(self));
  return false;
}

namespace {
/// While one lives nobody takes the memory over: for work without the GIL.
struct InUse {
  explicit InUse(Storage *storage) : storage(storage) { storage->retain(); }
  InUse(const InUse &) = delete;
  ~InUse() { storage->release(); }
  Storage *storage;
};
} // namespace

/// Waits for the memory, also of an array that was donated, whose views may be
/// there. False after an error.
static bool waitForMemory(Array *self) {
  if (!isKept(self))
    return forEachOwner(self, [](PyObject *owner) {
      return !isArray(owner) || waitForMemory(cast(owner));
    });
  InUse use(self->storage);
  gpuasync::Status status = [&use] {
    WithoutGil free;
    return use.storage->wait();
  }();
  if (!status.ok())
    raise(Error::Call, status);
  return status.ok();
}

bool waitForElements(Array *self) {
  return isThere(self) && waitForMemory(self);
}

//===----------------------------------------------------------------------===//
// The buffer protocol
//===----------------------------------------------------------------------===//

static const char *const onDevice =
    "the array is on the device; numpy() copies it to the host where it is a "
    "result of its own, and others take it by DLPack (torch.from_dlpack, "
    "cupy.from_dlpack)";

static const char *const readOnly =
    "the array is a constant of the program, which is read-only; "
    "numpy.array(a) copies it";

static int getBuffer(PyObject *object, Py_buffer *view, int flags) {
  Array *self = cast(object);
  const gpuasync_value &value = self->value;
  const ElementType &element = *elementType(value.type);
  const char *refused = nullptr;
  bool rows = isContiguous(value, false), columns = isContiguous(value, true);
  auto asks = [flags](int what) { return (flags & what) == what; };
  std::string donated;
  if (self->donatedTo)
    refused = (donated = donatedText(self)).c_str();
  else if (!isOnHost(self))
    refused = onDevice;
  else if (isReadOnly(self) && asks(PyBUF_WRITABLE))
    refused = readOnly;
  else if (!element.format && asks(PyBUF_FORMAT))
    refused = "buffers have no format for bf16; numpy() gives an array of "
              "ml_dtypes.bfloat16, and __dlpack__ knows the type";
  else if ((asks(PyBUF_C_CONTIGUOUS) && !rows) ||
           (asks(PyBUF_F_CONTIGUOUS) && !columns) ||
           (asks(PyBUF_ANY_CONTIGUOUS) && !rows && !columns) ||
           (!asks(PyBUF_STRIDES) && !rows))
    refused = "the array's elements do not follow each other as asked for; "
              "numpy.ascontiguousarray(a) copies it";
  if (refused) {
    PyErr_SetString(PyExc_BufferError, refused);
    view->obj = nullptr;
    return -1;
  }
  Py_INCREF(object);
  view->obj = object;
  view->buf = value.data;
  view->itemsize = element.bytes;
  view->len = countElements(value) * element.bytes;
  view->readonly = isReadOnly(self);
  view->ndim = int(value.rank);
  view->format =
      asks(PyBUF_FORMAT) ? const_cast<char *>(element.format) : nullptr;
  view->shape =
      asks(PyBUF_ND)
          ? reinterpret_cast<Py_ssize_t *>(const_cast<int64_t *>(value.shape))
          : nullptr;
  view->strides = asks(PyBUF_STRIDES) ? self->byteStrides : nullptr;
  view->suboffsets = nullptr;
  view->internal = self->storage;
  if (self->storage)
    self->storage->retain();
  return 0;
}

static void releaseBuffer(PyObject *, Py_buffer *view) {
  if (view->internal)
    static_cast<Storage *>(view->internal)->release();
}

//===----------------------------------------------------------------------===//
// DLPack
//===----------------------------------------------------------------------===//

namespace {

/// What a consumer of DLPack holds: one of the two, and what keeps the memory.
template <typename Managed>
struct Export {
  Managed managed;
  Storage *storage;
  PyObject *owners;
  int64_t shape[GPUASYNC_MAX_RANK], strides[GPUASYNC_MAX_RANK];
};

} // namespace

/// The consumer's, on any thread.
template <typename Managed>
static void deleteExport(Managed *managed) {
  auto *exported = static_cast<Export<Managed> *>(managed->context);
  if (exported->storage)
    exported->storage->release();
  // What Python owns is given back with the GIL; a process that ends keeps it.
  if (exported->owners && !finalising.load()) {
    PyGILState_STATE state = takeGil(PyGILState_Ensure);
    Py_DECREF(exported->owners);
    PyGILState_Release(state);
  }
  delete exported;
}

/// A capsule that nobody took.
template <typename Managed>
static void destroyCapsule(PyObject *capsule, const char *name) {
  if (!PyCapsule_IsValid(capsule, name))
    return;
  auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <typename Managed>
static PyObject *exportArray(Array *self, const char *name,
                             PyCapsule_Destructor destructor) {
  auto *exported = new (std::nothrow) Export<Managed>();
  if (!exported)
    return PyErr_NoMemory();
  const gpuasync_value &value = self->value;
  std::memcpy(exported->shape, value.shape, sizeof(value.shape));
  std::memcpy(exported->strides, value.strides, sizeof(value.strides));
  Managed &managed = exported->managed;
  managed.context = exported;
  managed.deleter = deleteExport<Managed>;
  dlpack::Tensor &tensor = managed.tensor;
  tensor.data = value.data;
  tensor.device = {self->deviceType, isOnHost(self) ? 0 : value.device};
  tensor.rank = int32_t(value.rank);
  tensor.type = elementType(value.type)->dlpack;
  tensor.shape = exported->shape;
  tensor.strides = exported->strides;
  if (self->storage)
    self->storage->retain();
  exported->storage = self->storage;
  Py_XINCREF(self->owners);
  exported->owners = self->owners;
  PyObject *capsule = PyCapsule_New(&managed, name, destructor);
  if (!capsule)
    deleteExport(&managed);
  return capsule;
}

static PyObject *toDLPack(PyObject *object, PyObject *args, PyObject *kwargs) {
  static const char *const keywords[] = {"stream", "max_version", "dl_device",
                                         "copy", nullptr};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None,
           *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__",
                                   const_cast<char **>(keywords), &stream,
                                   &version, &device, &copy))
    return nullptr;
  Array *self = cast(object);
  if (!isThere(self))
    return nullptr;
  // Without a stream the call that made the array has waited for its work: any
  // stream may read it at once.
  if (isOnHost(self) && stream != Py_None) {
    PyErr_SetString(PyExc_ValueError,
                    "the array is in host memory, which has no streams: "
                    "stream must be None");
    return nullptr;
  }
  if (self->pending) {
    // Numbers 0 and 1, and None, are the default stream; -1 asks for no order.
    void *native = stream == Py_None ? nullptr : PyLong_AsVoidPtr(stream);
    if (PyErr_Occurred())
      return nullptr;
    if (native == reinterpret_cast<void *>(1))
      native = nullptr;
    if (native != self->pending->native &&
        native != reinterpret_cast<void *>(-1)) {
      PyErr_SetString(PyExc_BufferError,
                      "the array is still being written on the stream that "
                      "its call was given; take it on that stream");
      return nullptr;
    }
  }
  if (copy == Py_True) {
    PyErr_SetString(PyExc_BufferError,
                    "__dlpack__ makes no copies; copy what it gives");
    return nullptr;
  }
  if (device != Py_None) {
    int type = 0, id = 0;
    if (!PyTuple_Check(device) || !PyArg_ParseTuple(device, "ii", &type, &id))
      return PyErr_Occurred()
                 ? nullptr
                 : (PyErr_SetString(PyExc_TypeError,
                                    "dl_device is a tuple of two integers"),
                    nullptr);
    if (type != self->deviceType ||
        id != (isOnHost(self) ? 0 : self->value.device)) {
      PyErr_SetString(PyExc_BufferError,
                      "__dlpack__ moves nothing to another device; copy the "
                      "array there");
      return nullptr;
    }
  }
  int major = 0, minor = 0;
  if (version != Py_None &&
      (!PyTuple_Check(version) ||
       !PyArg_ParseTuple(version, "ii", &major, &minor))) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError,
                      "max_version is a tuple of two integers");
    return nullptr;
  }
  // Any stream may read it then at once.
  if (!waitForElements(self))
    return nullptr;
  // Before version 1 no consumer knows that it is not to write.
  if (major < 1 && isReadOnly(self)) {
    PyErr_SetString(PyExc_BufferError, readOnly);
    return nullptr;
  }
  if (major < 1)
    return exportArray<dlpack::ManagedTensor>(
        self, dlpack::name, [](PyObject *capsule) {
          destroyCapsule<dlpack::ManagedTensor>(capsule, dlpack::name);
        });
  PyObject *capsule = exportArray<dlpack::VersionedTensor>(
      self, dlpack::versionedName, [](PyObject *capsule) {
        destroyCapsule<dlpack::VersionedTensor>(capsule, dlpack::versionedName);
      });
  if (capsule) {
    auto *managed = static_cast<dlpack::VersionedTensor *>(
        PyCapsule_GetPointer(capsule, dlpack::versionedName));
    managed->major = 1;
    managed->minor = 0;
    managed->flags = isReadOnly(self) ? dlpack::readOnlyFlag : 0;
  }
  return capsule;
}

static PyObject *dlpackDevice(PyObject *object, PyObject *) {
  Array *self = cast(object);
  return Py_BuildValue("(ii)", int(self->deviceType),
                       isOnHost(self) ? 0 : int(self->value.device));
}

//===----------------------------------------------------------------------===//
// Its other members
//===----------------------------------------------------------------------===//

static PyObject *tupleOf(const int64_t *numbers, uint32_t count) {
  Ref tuple(PyTuple_New(count));
  for (uint32_t i = 0; tuple && i < count; ++i) {
    PyObject *number = PyLong_FromLongLong(numbers[i]);
    if (!number || PyTuple_SetItem(tuple.get(), i, number) < 0)
      return nullptr;
  }
  return tuple.release();
}

static PyObject *getShape(PyObject *object, void *) {
  return tupleOf(cast(object)->value.shape, cast(object)->value.rank);
}

static PyObject *getStrides(PyObject *object, void *) {
  return tupleOf(cast(object)->value.strides, cast(object)->value.rank);
}

static PyObject *getElementType(PyObject *object, void *) {
  return PyUnicode_FromString(elementType(cast(object)->value.type)->name);
}

/// Returns a new numpy.dtype of the elements. Null after an error.
static PyObject *makeDType(const ElementType &element) {
  Ref numpy(PyImport_ImportModule("numpy"));
  if (!numpy)
    return nullptr;
  if (element.format)
    return PyObject_CallMethod(numpy.get(), "dtype", "s", element.numpy);
  Ref types(PyImport_ImportModule("ml_dtypes"));
  Ref type(types ? PyObject_GetAttrString(types.get(), element.numpy)
                 : nullptr);
  return type ? PyObject_CallMethod(numpy.get(), "dtype", "O", type.get())
              : nullptr;
}

/// An AttributeError where NumPy has no such type: a text in its place would be
/// another type for NumPy, whose i8 has 64 bits.
static PyObject *getDType(PyObject *object, void *) {
  static PyObject *known[GPUASYNC_TYPE_C128 + 1];
  const uint32_t type = cast(object)->value.type;
  if (!known[type]) {
    const ElementType &element = *elementType(type);
    known[type] = makeDType(element);
    if (!known[type]) {
      if (PyErr_ExceptionMatches(PyExc_ImportError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_AttributeError,
                     "dtype is a type of NumPy's, which for %s needs the "
                     "package %s; element_type is the name of the type in MLIR",
                     element.name, element.format ? "numpy" : "ml_dtypes");
      }
      return nullptr;
    }
  }
  return Ref::of(known[type]).release();
}

static PyObject *getIsContiguous(PyObject *object, void *) {
  return PyBool_FromLong(isContiguous(cast(object)->value, false));
}

static PyObject *getWeakType(PyObject *object, void *) {
  return PyBool_FromLong(cast(object)->weakType);
}

PyObject *weaken(PyObject *, PyObject *object) {
  if (!isArray(object)) {
    PyErr_SetString(PyExc_TypeError, "weaken: expected a gpu_async.Array");
    return nullptr;
  }
  cast(object)->weakType = true;
  return Ref::of(object).release();
}

static PyObject *getRank(PyObject *object, void *) {
  return PyLong_FromUnsignedLong(cast(object)->value.rank);
}

static PyObject *getBytes(PyObject *object, void *) {
  const gpuasync_value &value = cast(object)->value;
  return PyLong_FromLongLong(countElements(value) *
                             elementType(value.type)->bytes);
}

/// Reads a gpuasync_type, 0 if there is none: from its name in MLIR or NumPy,
/// else from anything that numpy.dtype takes. False after an error.
static bool readType(PyObject *dtype, uint32_t &type) {
  Ref name;
  if (PyUnicode_Check(dtype)) {
    name = Ref::of(dtype);
  } else {
    Ref numpy(PyImport_ImportModule("numpy"));
    Ref made(numpy ? PyObject_CallMethod(numpy.get(), "dtype", "O", dtype)
                   : nullptr);
    Ref native(made ? PyObject_GetAttrString(made.get(), "isnative") : nullptr);
    if (!native)
      return false;
    if (native.get() != Py_True)
      return true;
    name = Ref(PyObject_GetAttrString(made.get(), "name"));
  }
  const char *text =
      name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  if (text)
    type = typeOfName(text);
  return text;
}

static PyObject *view(PyObject *object, PyObject *dtype) {
  Array *self = cast(object);
  uint32_t type = 0;
  if (!readType(dtype, type))
    return nullptr;
  if (!type ||
      elementType(type)->bytes != elementType(self->value.type)->bytes) {
    PyErr_Format(PyExc_ValueError,
                 "view: expected a type of %d bytes, as %s is, or its name, "
                 "given %R",
                 int(elementType(self->value.type)->bytes),
                 elementType(self->value.type)->name, dtype);
    return nullptr;
  }
  if (!isThere(self))
    return nullptr;
  gpuasync_value value = self->value;
  value.type = type;
  if (self->storage)
    self->storage->retain();
  return makeArray(self->storage, Ref::of(self->owners), value,
                   self->deviceType, self->pending);
}

/// Copies the elements of an array on the device to the host, where `data` has
/// room for them, which `owner` keeps. Waits for them without the GIL; false
/// after an error.
static bool download(Array *self, void *data, PyObject *owner) {
  // Another thread may have given the array up meanwhile.
  if (!waitForElements(self) || !isThere(self))
    return false;
  InUse use(self->storage);
  gpuasync::Status status = [&] {
    WithoutGil free;
    return use.storage->download(data);
  }();
  if (status.ok())
    return true;
  // A copy that goes on still writes it.
  keepAbandoned(nullptr, Ref::of(owner));
  raise(Error::Call, status);
  return false;
}

/// A copy of NumPy's of an array on the device, which is read-only: what is
/// written to it would change nothing there.
static Ref copyToHost(Array *self, PyObject *numpy) {
  const ElementType &element = *elementType(self->value.type);
  Ref shape(getShape(reinterpret_cast<PyObject *>(self), nullptr));
  Ref array(shape
                ? PyObject_CallMethod(numpy, "empty", "Os", shape.get(),
                                      element.format ? element.numpy : "uint16")
                : nullptr);
  Py_buffer view;
  if (!array || PyObject_GetBuffer(array.get(), &view, PyBUF_WRITABLE) < 0)
    return Ref();
  const bool done = download(self, view.buf, array.get());
  PyBuffer_Release(&view);
  Ref flagged(done ? PyObject_CallMethod(array.get(), "setflags", "O", Py_False)
                   : nullptr);
  return flagged ? std::move(array) : Ref();
}

PyObject *toNumPy(PyObject *object, PyObject *) {
  // NumPy asks here when it was given no buffer.
  Array *self = cast(object);
  if (!isThere(self))
    return nullptr;
  if (!isOnHost(self) && !isKept(self)) {
    PyErr_SetString(PyExc_BufferError, onDevice);
    return nullptr;
  }
  Ref numpy(PyImport_ImportModule("numpy"));
  if (!numpy)
    return nullptr;
  const bool hasFormat = elementType(self->value.type)->format;
  Ref copy;
  if (isKept(self) && !(copy = copyToHost(self, numpy.get())))
    return nullptr;
  if (hasFormat)
    return copy ? copy.release()
                : PyObject_CallMethod(numpy.get(), "asarray", "O", object);
  Ref types(PyImport_ImportModule("ml_dtypes"));
  if (!types)
    return nullptr;
  Ref name(PyUnicode_FromString("ui16"));
  Ref integers(copy ? nullptr : name ? view(object, name.get()) : nullptr);
  Ref array(copy       ? copy.release()
            : integers ? PyObject_CallMethod(numpy.get(), "asarray", "O",
                                             integers.get())
                       : nullptr);
  Ref type(array ? PyObject_GetAttrString(types.get(), "bfloat16") : nullptr);
  return type ? PyObject_CallMethod(array.get(), "view", "O", type.get())
              : nullptr;
}

/// What JAX asks before it takes `dtype` for a name of NumPy's, where f16 is a
/// float of 16 bytes.
static PyObject *toJAX(PyObject *object, PyObject *) {
  if (cast(object)->weakType) {
    // JAX asks the type that it has been told of for the array's type.
    Ref jax(PyImport_ImportModule("jax"));
    Ref made(jax ? PyObject_CallMethod(jax.get(), "device_put", "O", object)
                 : nullptr);
    if (made || !PyErr_ExceptionMatches(PyExc_TypeError))
      return made.release();
    PyErr_Clear();
  }
  Ref array(toNumPy(object, nullptr));
  Ref jax(array ? PyImport_ImportModule("jax.numpy") : nullptr);
  return jax ? PyObject_CallMethod(jax.get(), "asarray", "O", array.get())
             : nullptr;
}

/// What NumPy calls where the buffer protocol does not serve.
static PyObject *asNumPy(PyObject *object, PyObject *args, PyObject *kwargs) {
  static const char *const keywords[] = {"dtype", "copy", nullptr};
  PyObject *dtype = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__",
                                   const_cast<char **>(keywords), &dtype,
                                   &copy))
    return nullptr;
  if (copy == Py_False && !isOnHost(cast(object))) {
    PyErr_SetString(PyExc_ValueError,
                    "an array on the device is copied to the host for NumPy; "
                    "leave out copy=False");
    return nullptr;
  }
  Ref array(toNumPy(object, nullptr));
  if (!array)
    return nullptr;
  if (dtype == Py_None)
    return copy == Py_True ? PyObject_CallMethod(array.get(), "copy", nullptr)
                           : array.release();
  return PyObject_CallMethod(array.get(), "astype", "O", dtype);
}

/// Returns the element of an array of one as a number of Python. Null after an
/// error; `what` was called, for its message.
static PyObject *elementOf(PyObject *object, const char *what) {
  Array *self = cast(object);
  if (!isThere(self))
    return nullptr;
  if (countElements(self->value) != 1) {
    if (Ref shape = Ref(getShape(object, nullptr)))
      PyErr_Format(PyExc_ValueError,
                   "%s is for an array of one element, given one of the shape "
                   "%R; take an element first (a[0]), or all of them "
                   "(a.tolist())",
                   what, shape.get());
    return nullptr;
  }
  if (!isOnHost(self) && !isKept(self)) {
    PyErr_Format(PyExc_ValueError,
                 "%s: the array is a view of memory on the device, which is "
                 "not copied to the host; take it by DLPack there "
                 "(torch.from_dlpack, cupy.from_dlpack)",
                 what);
    return nullptr;
  }
  if (isKept(self)) {
    // As long as a write to it may come, which is for ever if it gave up.
    Ref room(PyByteArray_FromStringAndSize(nullptr, 16));
    void *data = room ? PyByteArray_AsString(room.get()) : nullptr;
    return data && download(self, data, room.get())
               ? readNumber(self->value.type, data)
               : nullptr;
  }
  return readNumber(self->value.type, self->value.data);
}

static PyObject *item(PyObject *object, PyObject *indices) {
  if (PyTuple_Size(indices) == 0)
    return elementOf(object, "item()");
  Ref array(toNumPy(object, nullptr));
  Ref method(array ? PyObject_GetAttrString(array.get(), "item") : nullptr);
  return method ? PyObject_CallObject(method.get(), indices) : nullptr;
}

static PyObject *toFloat(PyObject *object) {
  Ref number(elementOf(object, "float()"));
  return number ? PyNumber_Float(number.get()) : nullptr;
}

static PyObject *toInt(PyObject *object) {
  Ref number(elementOf(object, "int()"));
  return number ? PyNumber_Long(number.get()) : nullptr;
}

static int toBool(PyObject *object) {
  if (countElements(cast(object)->value) > 1) {
    PyErr_SetString(PyExc_ValueError,
                    "an array of more than one element is neither true nor "
                    "false; use a.any() or a.all()");
    return -1;
  }
  Ref number(elementOf(object, "bool()"));
  return number ? PyObject_IsTrue(number.get()) : -1;
}

static Py_ssize_t length(PyObject *object) {
  const gpuasync_value &value = cast(object)->value;
  if (value.rank)
    return value.shape[0];
  PyErr_SetString(PyExc_TypeError, "an array without dimensions has no length");
  return -1;
}

/// Returns the elements as NumPy writes them, with the type. Null after an
/// error.
static PyObject *describeElements(PyObject *object) {
  Ref array(toNumPy(object, nullptr));
  Ref numpy(array ? PyImport_ImportModule("numpy") : nullptr);
  Ref function(numpy ? PyObject_GetAttrString(numpy.get(), "array2string")
                     : nullptr);
  Ref args(function ? PyTuple_Pack(1, array.get()) : nullptr);
  Ref named(Py_BuildValue("{s:s,s:s,s:s}", "separator", ", ", "prefix",
                          "gpu_async.Array(", "suffix", ")"));
  Ref text(args && named
               ? PyObject_Call(function.get(), args.get(), named.get())
               : nullptr);
  if (!text)
    return nullptr;
  const gpuasync_value &value = cast(object)->value;
  const char *type = elementType(value.type)->numpy;
  if (countElements(value))
    return PyUnicode_FromFormat("gpu_async.Array(%U, dtype=%s)", text.get(),
                                type);
  Ref shape(getShape(object, nullptr));
  return shape ? PyUnicode_FromFormat("gpu_async.Array(%U, shape=%R, dtype=%s)",
                                      text.get(), shape.get(), type)
               : nullptr;
}

/// More elements than this are not read for a text, as NumPy does not write
/// more of them.
static constexpr int64_t mostWritten = 1000;

static PyObject *repr(PyObject *object) {
  Array *self = cast(object);
  const bool canRead =
      (isOnHost(self) || isKept(self)) && !self->pending && !self->donatedTo;
  if (canRead && countElements(self->value) <= mostWritten) {
    PyObject *text = describeElements(object);
    // Without NumPy, or where the call has failed, there is a text all the
    // same: debuggers ask for it.
    if (text || !PyErr_ExceptionMatches(PyExc_Exception) ||
        PyErr_ExceptionMatches(PyExc_MemoryError))
      return text;
    PyErr_Clear();
  }
  Ref shape(getShape(object, nullptr));
  if (!shape)
    return nullptr;
  return PyUnicode_FromFormat("<gpu_async.Array %s %R%s>",
                              elementType(self->value.type)->name, shape.get(),
                              self->donatedTo ? ", deleted"
                              : isOnHost(self) || isKept(self)
                                  ? ""
                                  : ", a view of memory on the device");
}

static PyMethodDef methods[] = {
    {"__dlpack__",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(toDLPack)),
     METH_VARARGS | METH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, "
     "copy=None)\n--\n\nThe array for a consumer of DLPack, without a copy."},
    {"__dlpack_device__", dlpackDevice, METH_NOARGS,
     "DLPack's device type and number."},
    {"__array__",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(asNumPy)),
     METH_VARARGS | METH_KEYWORDS, "The elements for NumPy."},
    {"__jax_array__", toJAX, METH_NOARGS, "The elements for JAX."},
    {"numpy", toNumPy, METH_NOARGS,
     "numpy()\n--\n\nThe array for NumPy, without a copy; bf16 needs the "
     "package ml_dtypes."},
    {"view", view, METH_O,
     "view(dtype)\n--\n\nThe same memory with elements of another type of as "
     "many bytes."},
    {"item", item, METH_VARARGS,
     "item(*indices)\n--\n\nThe element of an array of one, or the one of "
     "these indices, as Python's number."},
    {nullptr, nullptr, 0, nullptr}};

static PyGetSetDef members[] = {
    {"shape", getShape, nullptr, "The sizes of the dimensions.", nullptr},
    {"strides", getStrides, nullptr, "In elements.", nullptr},
    {"dtype", getDType, nullptr,
     "The element type as a numpy.dtype; an AttributeError without NumPy, and "
     "of bf16 without ml_dtypes.",
     nullptr},
    {"element_type", getElementType, nullptr,
     "MLIR's name of the element type: \"f32\".", nullptr},
    {"is_contiguous", getIsContiguous, nullptr,
     "Whether the elements follow each other in row-major order.", nullptr},
    {"weak_type", getWeakType, nullptr,
     "Whether JAX lets other operands decide about the type, as for numbers.",
     nullptr},
    {"ndim", getRank, nullptr, "The number of dimensions.", nullptr},
    {"nbytes", getBytes, nullptr, "Bytes of all elements.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

/// Attributes of JAX's arrays that these have not: with what to do.
static PyObject *getAttribute(PyObject *object, PyObject *name) {
  PyObject *found = PyObject_GenericGetAttr(object, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError) ||
      !PyUnicode_Check(name))
    return found;
  for (const char *each :
       {"at", "device", "devices", "sharding", "is_deleted", "delete",
        "addressable_shards", "copy_to_host_async"})
    if (PyUnicode_CompareWithASCIIString(name, each) == 0)
      PyErr_Format(PyExc_AttributeError,
                   "a gpu_async.Array has no %s, which JAX's arrays have: "
                   "write jax.numpy.asarray(a).%s",
                   each, each);
  return nullptr;
}

static PyType_Slot slots[] = {
    {Py_tp_getattro, reinterpret_cast<void *>(getAttribute)},
    {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_repr, reinterpret_cast<void *>(repr)},
    {Py_tp_hash, reinterpret_cast<void *>(PyObject_HashNotImplemented)},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_bf_getbuffer, reinterpret_cast<void *>(getBuffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void *>(releaseBuffer)},
    {Py_nb_float, reinterpret_cast<void *>(toFloat)},
    {Py_nb_int, reinterpret_cast<void *>(toInt)},
    {Py_nb_bool, reinterpret_cast<void *>(toBool)},
    {Py_mp_length, reinterpret_cast<void *>(length)},
    {Py_tp_doc,
     const_cast<char *>(
         "An array that a call returned. NumPy (numpy(), numpy.asarray) and "
         "consumers of DLPack read and write it without a copy.")},
    {0, nullptr}};

static PyType_Spec spec = {"gpu_async.Array", sizeof(Array), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                               Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           nullptr};

bool initArray(PyObject *module) {
  static PyMethodDef atExit = {"begin_finalisation", beginFinalisation,
                               METH_NOARGS, nullptr};
  Ref hook(PyCFunction_New(&atExit, nullptr));
  Ref atexit(hook ? PyImport_ImportModule("atexit") : nullptr);
  Ref done(atexit
               ? PyObject_CallMethod(atexit.get(), "register", "O", hook.get())
               : nullptr);
  if (!done)
    return false;
  static PyType_Slot all[64];
  PyType_Slot *last = all;
  for (const PyType_Slot *list : {operatorSlots, slots})
    for (; list->slot; ++list)
      *last++ = *list;
  assert(last < std::end(all) && "the last one is {0, nullptr}");
  spec.slots = all;
  PyObject *type = PyType_FromSpec(&spec);
  arrayType = reinterpret_cast<PyTypeObject *>(type);
  return type && addOperators(arrayType) &&
         PyModule_AddObjectRef(module, "Array", type) == 0;
}

} // namespace binding

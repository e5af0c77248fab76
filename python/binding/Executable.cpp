//===- Executable.cpp - Compiled programs ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Executable.h.
//===----------------------------------------------------------------------===//

#include "Executable.h"
#include "Compilation.h"
#include "Errors.h"
#include "Function.h"
#include "Schedule.h"
#include "XlaCalls.h"

#include "GPUAsync-C/GPUAsync.h"
#include "gpuasync/DiskCache.h"

#include <cstring>
#include <new>
#include <string>

namespace binding {

namespace {

struct Executable {
  PyObject_HEAD gpuasync_executable *raw; ///< null once it is released
  PyObject *functions;          ///< those that were asked for, by name
  PyObject *attributes;         ///< of these, those whose names are no member's
  std::shared_ptr<Place> place; ///< null once it is released
};

} // namespace

static PyTypeObject *executableType;

static Executable *cast(PyObject *object) {
  return reinterpret_cast<Executable *>(object);
}

/// The compiler names this option as gpu-runner's users write it.
static std::string inPython(std::string message) {
  const std::string option = "--shared-libs", name = "shared_libs=";
  for (size_t at = 0; (at = message.find(option, at)) != std::string::npos;
       at += name.size()) {
    size_t end = at + option.size();
    bool hasValue = end < message.size() && message[end] == '=';
    message.replace(at, option.size() + hasValue, name);
  }
  return message;
}

namespace {
struct Owned {
  gpuasync_executable *raw = nullptr;
  ~Owned() { gpuasync_status_free(gpuasync_executable_release(raw)); }
};
} // namespace

/// Takes what is `owned`; null after an error, None if it is null.
static PyObject *make(const gpuasync::Status &status, Owned owned) {
  if (!status.ok()) {
    raise(Error::Compile, status.code(), inPython(status.message()));
    return nullptr;
  }
  if (!owned.raw)
    Py_RETURN_NONE;
  auto place = std::make_shared<Place>(owned.raw);
  Ref functions(PyDict_New()), attributes(PyDict_New());
  Executable *self = functions && attributes
                         ? PyObject_GC_New(Executable, executableType)
                         : nullptr;
  if (!self)
    return nullptr;
  self->raw = std::exchange(owned.raw, nullptr);
  self->functions = functions.release();
  self->attributes = attributes.release();
  new (&self->place) std::shared_ptr<Place>(std::move(place));
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject *>(self);
}

PyObject *compile(PyObject *, PyObject *args) {
  const char *program, *name, *device, *options, *source;
  Py_ssize_t size, sourceSize;
  PyObject *report;
  if (!PyArg_ParseTuple(args, "y#ysyz#O:compile", &program, &size, &name,
                        &device, &options, &source, &sourceSize, &report))
    return nullptr;
  auto job = std::make_shared<Compilation>();
  job->program.assign(program, size_t(size));
  job->name = name;
  job->device = device;
  job->options = options;
  if (source)
    job->source.emplace(source, size_t(sourceSize));
  job->start();
  if (!job->wait(report == Py_None ? nullptr : report))
    return nullptr;
  return make(job->status, {std::exchange(job->executable, nullptr)});
}

/// Takes the program from the disk cache; None if it is not there.
PyObject *load(PyObject *, PyObject *args) {
  const char *name, *device, *options, *source;
  Py_ssize_t sourceSize;
  if (!PyArg_ParseTuple(args, "ysyy#:load", &name, &device, &options, &source,
                        &sourceSize))
    return nullptr;
  gpuasync_compile_options how = {};
  how.structSize = sizeof(how);
  how.name = name;
  how.device = device;
  how.options = options;
  Owned owned;
  gpuasync::Status status = [&] {
    WithoutGil free;
    return gpuasync::Status(
        gpuasync_executable_load(source, size_t(sourceSize), &how, &owned.raw));
  }();
  return make(status, {std::exchange(owned.raw, nullptr)});
}

PyObject *cacheFolder(PyObject *, PyObject *) {
  return PyUnicode_DecodeFSDefault(
      gpuasync_disk_cache_folder(gpuasync_disk_cache_default()));
}

PyObject *takeCacheWarning(PyObject *, PyObject *) {
  gpuasync::Status warning(
      gpuasync_disk_cache_take_warning(gpuasync_disk_cache_default()));
  if (warning.ok())
    Py_RETURN_NONE;
  return textOf(warning.message());
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(cast(object)->functions);
  Py_VISIT(cast(object)->attributes);
  return 0;
}

static int clear(PyObject *object) {
  PyDict_Clear(cast(object)->functions);
  PyDict_Clear(cast(object)->attributes);
  return 0;
}

static void dealloc(PyObject *object) {
  Executable *self = cast(object);
  PyObject_GC_UnTrack(self);
  Py_DECREF(self->functions);
  Py_DECREF(self->attributes);
  {
    // It may wait for what other calls have left behind.
    WithoutGil free;
    gpuasync_status_free(gpuasync_executable_release(self->raw));
  }
  using Shared = std::shared_ptr<Place>;
  self->place.~Shared();
  freeCollected(self);
}

static bool isThere(Executable *self) {
  if (self->raw)
    return true;
  raise(Error::Call, GPUASYNC_INVALID_ARGUMENT,
        "the executable was released; compile the program again, or keep its "
        "functions, which go on to work");
  return false;
}

/// The bytes of a function's name; null after an error.
static Ref nameOf(PyObject *name) {
  if (PyUnicode_Check(name))
    return bytesOf(name);
  PyErr_SetString(PyExc_TypeError, "a function's name is a str");
  return Ref();
}

/// The function of that name; null after an error.
static PyObject *getFunction(Executable *self, PyObject *name) {
  if (!isThere(self))
    return nullptr;
  if (PyObject *known = PyDict_GetItemWithError(self->functions, name)) {
    Py_INCREF(known);
    return known;
  }
  Ref bytes = PyErr_Occurred() ? Ref() : nameOf(name);
  if (!bytes)
    return nullptr;
  const char *text = PyBytes_AsString(bytes.get());
  gpuasync_callable *callable = nullptr;
  gpuasync::Status status(
      gpuasync_executable_lookup(self->raw, text, &callable));
  if (!status.ok()) {
    raise(Error::Call, status);
    return nullptr;
  }
  Ref function(makeFunction(callable, text, self->place));
  if (!function || PyDict_SetItem(self->functions, name, function.get()) < 0)
    return nullptr;
  return function.release();
}

static bool hasFunction(Executable *self, const char *name) {
  for (size_t i = 0;; ++i) {
    const char *each = gpuasync_executable_function_name(self->raw, i);
    if (!each)
      return false;
    if (!std::strcmp(name, each))
      return true;
  }
}

/// Members come before functions, which [] finds by any name.
static PyObject *getAttribute(PyObject *object, PyObject *name) {
  Executable *self = cast(object);
  if (PyObject *known = PyDict_GetItemWithError(self->attributes, name)) {
    Py_INCREF(known);
    return known;
  }
  PyObject *member = PyObject_GenericGetAttr(object, name);
  if (member || !PyErr_ExceptionMatches(PyExc_AttributeError))
    return member;
  PyErr_Clear();
  Ref bytes = bytesOf(name);
  if (!bytes && PyErr_ExceptionMatches(PyExc_MemoryError))
    return nullptr;
  PyErr_Clear();
  const char *text = bytes ? PyBytes_AsString(bytes.get()) : nullptr;
  if (!text || (text[0] == '_' && text[1] == '_'))
    return PyObject_GenericGetAttr(object, name);
  if (!isThere(self))
    return nullptr;
  if (hasFunction(self, text)) {
    Ref function(getFunction(self, name));
    if (!function || PyDict_SetItem(self->attributes, name, function.get()) < 0)
      return nullptr;
    return function.release();
  }
  // Python asks for attributes that may be missing: hasattr.
  gpuasync_callable *callable = nullptr;
  gpuasync::Status status(
      gpuasync_executable_lookup(self->raw, text, &callable));
  Ref message(textOf(status.message()));
  if (message)
    PyErr_SetObject(PyExc_AttributeError, message.get());
  return nullptr;
}

static PyObject *getItem(PyObject *object, PyObject *name) {
  return getFunction(cast(object), name);
}

static PyObject *release(PyObject *object, PyObject *) {
  Executable *self = cast(object);
  PyDict_Clear(self->functions);
  PyDict_Clear(self->attributes);
  self->place.reset();
  gpuasync_executable *raw = std::exchange(self->raw, nullptr);
  gpuasync::Status status = [raw] {
    WithoutGil free;
    return gpuasync::Status(gpuasync_executable_release(raw));
  }();
  if (!status.ok()) {
    raise(Error::Call, status);
    return nullptr;
  }
  Py_RETURN_NONE;
}

static PyObject *keepFunction(PyObject *object, PyObject *args) {
  Executable *self = cast(object);
  const char *function, *program;
  if (!PyArg_ParseTuple(args, "ss:_keep_for_xla", &function, &program) ||
      !isThere(self))
    return nullptr;
  gpuasync::Status status = keepForXla(self->raw, function, program);
  if (!status.ok()) {
    raise(Error::Call, status);
    return nullptr;
  }
  Py_RETURN_NONE;
}

static PyObject *enter(PyObject *object, PyObject *) {
  Py_INCREF(object);
  return object;
}

static PyObject *leave(PyObject *object, PyObject *) {
  return release(object, nullptr);
}

static PyObject *getFunctions(PyObject *object, void *) {
  Executable *self = cast(object);
  if (!isThere(self))
    return nullptr;
  Ref list(PyList_New(0));
  for (size_t i = 0; list; ++i) {
    const char *name = gpuasync_executable_function_name(self->raw, i);
    if (!name)
      return PyList_AsTuple(list.get());
    Ref text(textOf(name));
    if (!text || PyList_Append(list.get(), text.get()) < 0)
      return nullptr;
  }
  return nullptr;
}

static PyObject *schedule(PyObject *object, PyObject *args, PyObject *options) {
  Executable *self = cast(object);
  static const char *const keywords[] = {"function", nullptr};
  PyObject *function = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, options, "|O:schedule",
                                   const_cast<char **>(keywords), &function) ||
      !isThere(self))
    return nullptr;
  if (function != Py_None) {
    Ref bytes = nameOf(function);
    return bytes ? makeSchedule(self->raw, PyBytes_AsString(bytes.get()))
                 : nullptr;
  }
  std::string names;
  size_t count = 0;
  while (const char *name = gpuasync_executable_function_name(self->raw, count))
    names += std::string(count++ ? ", @" : "@") + name;
  if (count == 1)
    return makeSchedule(self->raw, names.substr(1));
  raise(Error::Call, GPUASYNC_INVALID_ARGUMENT,
        "schedule: the program has several functions; say of which: " + names);
  return nullptr;
}

static PyObject *getDevice(PyObject *object, void *) {
  Executable *self = cast(object);
  return isThere(self)
             ? PyUnicode_FromString(gpuasync_executable_device(self->raw))
             : nullptr;
}

static PyObject *getDiagnostics(PyObject *object, void *) {
  Executable *self = cast(object);
  if (!isThere(self))
    return nullptr;
  std::string text = gpuasync_executable_diagnostics(self->raw);
  return PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace");
}

static PyObject *getTiming(PyObject *object, void *) {
  Executable *self = cast(object);
  return isThere(self)
             ? PyUnicode_FromString(gpuasync_executable_timing(self->raw))
             : nullptr;
}

static PyObject *dir(PyObject *object, PyObject *) {
  Ref base(PyObject_CallMethod(reinterpret_cast<PyObject *>(&PyBaseObject_Type),
                               "__dir__", "O", object));
  Ref names(base && cast(object)->raw ? getFunctions(object, nullptr)
                                      : nullptr);
  if (!names)
    return base.release();
  return PySequence_InPlaceConcat(base.get(), names.get());
}

static PyObject *repr(PyObject *object) {
  Executable *self = cast(object);
  if (!self->raw)
    return PyUnicode_FromString("<gpu_async.Executable, released>");
  Ref names(getFunctions(object, nullptr));
  return names ? PyUnicode_FromFormat("<gpu_async.Executable on %s: %R>",
                                      gpuasync_executable_device(self->raw),
                                      names.get())
               : nullptr;
}

static PyMethodDef methods[] = {
    {"release", entry<release>, METH_NOARGS,
     "release()\n--\n\nGives the program back; its functions that are in use, "
     "and their arrays, keep its code. Idempotent."},
    {"schedule",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(entry<schedule>)),
     METH_VARARGS | METH_KEYWORDS,
     "schedule(function=None)\n--\n\nWhat the function of that name does on "
     "which stream, and what waits for what: a Schedule. None is the only "
     "function. An Error if there is no such function, or the program was "
     "given in LLVM dialect."},
    {"_keep_for_xla", entry<keepFunction>, METH_VARARGS,
     "_keep_for_xla(function, program)\n--\n\nKeeps the function for ever, as "
     "what custom calls of XLA's with that attribute call."},
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", entry<leave>, METH_VARARGS, nullptr},
    {"__dir__", entry<dir>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

static PyGetSetDef members[] = {
    {"functions", entry<getFunctions>, nullptr,
     "The names of the public functions, in the program's order.", nullptr},
    {"device", entry<getDevice>, nullptr, "\"cpu\", \"cuda:0\".", nullptr},
    {"diagnostics", entry<getDiagnostics>, nullptr,
     "Warnings and remarks of the compilation, a line each.", nullptr},
    {"timing", entry<getTiming>, nullptr,
     "What the stages of the compilation took, a line each: of what was "
     "compiled with timing=\"stages\" or timing=\"passes\", else empty.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_getattro, reinterpret_cast<void *>(entry<getAttribute>)},
    {Py_tp_repr, reinterpret_cast<void *>(entry<repr>)},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_mp_subscript, reinterpret_cast<void *>(entry<getItem>)},
    {Py_tp_doc,
     const_cast<char *>("A compiled program. exe.main or exe[\"main\"] is its "
                        "function @main; many threads may use one.")},
    {0, nullptr}};

static PyType_Spec spec = {"gpu_async.Executable", sizeof(Executable), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                               Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           slots};

bool initExecutable(PyObject *module) {
  PyObject *type = PyType_FromSpec(&spec);
  executableType = reinterpret_cast<PyTypeObject *>(type);
  return type && PyModule_AddObjectRef(module, "Executable", type) == 0;
}

} // namespace binding

//===- Python.h - Python's stable ABI, and what owns its objects *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One binary serves Python 3.11 and later: only names of the limited API.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_PYTHON_H
#define GPUASYNC_PYTHON_BINDING_PYTHON_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <new>
#include <string>
#include <unistd.h>
#include <utility>

namespace binding {

/// A function as Python calls it. Where the binding's own C++ has no memory, it
/// raises MemoryError.
template <auto function>
struct Entry;
template <typename... Parameters, PyObject *(*function)(Parameters...)>
struct Entry<function> {
  static PyObject *call(Parameters... parameters) {
    try {
      return function(parameters...);
    } catch (const std::bad_alloc &) {
      return PyErr_NoMemory();
    }
  }
};
template <auto function>
constexpr auto entry = Entry<function>::call;

/// Calls what takes the GIL. When Python has ended, that ends the thread by an
/// unwinding: C++ would call std::terminate for it, or give objects of Python's
/// back without the GIL. So the thread stays here, as in Python 3.14.
template <typename Function>
auto takeGil(Function function) {
  try {
    return function();
  } catch (...) {
    for (;;)
      pause();
  }
}

/// Lets go of something of Python's. What is called by that may be Python code,
/// a capsule's destructor for one, which must not run while an exception is
/// raised: it would take that for its own.
template <typename Function>
void keepingError(Function letGo) {
  if (!PyErr_Occurred()) {
    letGo();
    return;
  }
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  letGo();
  PyErr_Restore(type, error, trace);
}

/// Owns one reference, with the GIL held. Null is an error that Python knows.
class Ref {
public:
  Ref() = default;
  explicit Ref(PyObject *owned) : object(owned) {}
  static Ref of(PyObject *borrowed) {
    Py_XINCREF(borrowed);
    return Ref(borrowed);
  }
  Ref(Ref &&other) : object(other.release()) {}
  Ref &operator=(Ref &&other) {
    std::swap(object, other.object);
    return *this;
  }
  ~Ref() {
    if (object)
      keepingError([this] { Py_DECREF(object); });
  }
  PyObject *get() const { return object; }
  PyObject *release() { return std::exchange(object, nullptr); }
  explicit operator bool() const { return object; }

private:
  PyObject *object = nullptr;
};

/// The attribute; null if there is none, or after an error.
inline Ref attributeOf(PyObject *object, PyObject *name) {
  Ref attribute(PyObject_GetAttr(object, name));
  if (!attribute && PyErr_ExceptionMatches(PyExc_AttributeError))
    PyErr_Clear();
  return attribute;
}

/// A program's text for Python. It need not be UTF-8; other bytes become lone
/// surrogates, as those of names of files do.
inline PyObject *textOf(const std::string &text) {
  return PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()),
                              "surrogateescape");
}
/// The bytes of such a text; an error if one of them is null.
inline Ref bytesOf(PyObject *text) {
  Ref bytes(PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape"));
  char *data;
  return bytes && PyBytes_AsStringAndSize(bytes.get(), &data, nullptr) == 0
             ? std::move(bytes)
             : Ref();
}

/// Other threads run Python meanwhile.
class WithoutGil {
public:
  WithoutGil() : state(PyEval_SaveThread()) {}
  ~WithoutGil() {
    takeGil([this] { PyEval_RestoreThread(state); });
  }
  WithoutGil(const WithoutGil &) = delete;
  WithoutGil &operator=(const WithoutGil &) = delete;

private:
  PyThreadState *state;
};

/// Gives an object of a type from PyType_FromSpec back.
template <typename Object>
void freeObject(Object *self) {
  PyTypeObject *type = Py_TYPE(reinterpret_cast<PyObject *>(self));
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject *>(type));
}
/// The same of a type that Python's collector knows. The object is not tracked
/// any more.
template <typename Object>
void freeCollected(Object *self) {
  PyTypeObject *type = Py_TYPE(reinterpret_cast<PyObject *>(self));
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject *>(type));
}

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_PYTHON_H

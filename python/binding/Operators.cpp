//===- Operators.cpp - Operators and methods of arrays --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Operators.h.
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "Array.h"
#include "Types.h"

#include <array>

namespace binding {

static const gpuasync_value &valueOf(PyObject *array) {
  return reinterpret_cast<Array *>(array)->value;
}

/// Whether programs have its elements as numbers without a buffer format.
static bool isBFloat(PyObject *array) {
  return valueOf(array).type == GPUASYNC_TYPE_BF16;
}

/// Returns NumPy's array in place of one of ours, and any other object as it
/// is. Null after an error.
static Ref operandOf(PyObject *object) {
  return isArray(object) ? Ref(toNumPy(object, nullptr)) : Ref::of(object);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static bool hasAttribute(PyObject *object, const char *name) {
  return PyObject_HasAttrString(object, name);
}

static bool isTensorOfTorch(PyObject *object) {
  return hasAttribute(reinterpret_cast<PyObject *>(Py_TYPE(object)),
                      "__torch_function__");
}

/// Whether NumPy leaves operators to the object, as to JAX's arrays. It is
/// NumPy's own rule.
static bool hasOwnOperators(PyObject *object) {
  auto *type = reinterpret_cast<PyObject *>(Py_TYPE(object));
  if (!hasAttribute(type, "__array_ufunc__"))
    return hasAttribute(type, "__array_priority__");
  Ref function(PyObject_GetAttrString(type, "__array_ufunc__"));
  if (!function)
    PyErr_Clear();
  return function.get() == Py_None;
}

/// As above, for an operator with another operand. Where that is JAX's, a
/// number whose type others decide about is one of Python's, which JAX takes
/// so.
static Ref operandBeside(PyObject *object, PyObject *other) {
  const bool isWeak = isArray(object) && valueOf(object).rank == 0 &&
                      reinterpret_cast<Array *>(object)->weakType;
  return isWeak && hasOwnOperators(other)
             ? Ref(PyObject_CallMethod(object, "item", nullptr))
             : operandOf(object);
}

namespace {

/// The operands of an operator, at least one of which is an array of ours. Two
/// null references after an error.
struct Operands {
  Ref left, right;

  Operands(PyObject *first, PyObject *second) {
    if (isTensorOfTorch(first) || isTensorOfTorch(second)) {
      // Tensors take no arrays of NumPy's.
      Ref torch(PyImport_ImportModule("torch"));
      auto take = [&torch](PyObject *object) {
        return isArray(object) ? Ref(PyObject_CallMethod(
                                     torch.get(), "from_dlpack", "O", object))
                               : Ref::of(object);
      };
      if (torch && (left = take(first)))
        right = take(second);
    } else if ((left = operandBeside(first, second))) {
      right = operandBeside(second, first);
    }
    if (!right)
      left = Ref();
  }
  explicit operator bool() const { return bool(right); }
};

} // namespace

template <PyObject *(*apply)(PyObject *)>
static PyObject *unary(PyObject *object) {
  Ref array(toNumPy(object, nullptr));
  return array ? apply(array.get()) : nullptr;
}

/// NumPy leaves the operator to the other operand where that is JAX's, say.
template <PyObject *(*apply)(PyObject *, PyObject *)>
static PyObject *binary(PyObject *first, PyObject *second) {
  Operands operands(first, second);
  return operands ? apply(operands.left.get(), operands.right.get()) : nullptr;
}

static PyObject *power(PyObject *base, PyObject *exponent, PyObject *modulus) {
  if (modulus != Py_None)
    Py_RETURN_NOTIMPLEMENTED;
  Operands operands(base, exponent);
  return operands ? PyNumber_Power(operands.left.get(), operands.right.get(),
                                   modulus)
                  : nullptr;
}

/// Compares by elements: one truth for all would be that of identity. NumPy's
/// functions raise an exception where sizes differ; the operators == and != of
/// NumPy before 1.25 are false there.
static PyObject *compare(PyObject *object, PyObject *other, int how) {
  Operands operands(object, other);
  if (!operands)
    return nullptr;
  if ((how != Py_EQ && how != Py_NE) || hasOwnOperators(other))
    return PyObject_RichCompare(operands.left.get(), operands.right.get(), how);
  Ref numpy(PyImport_ImportModule("numpy"));
  return numpy ? PyObject_CallMethod(numpy.get(),
                                     how == Py_EQ ? "equal" : "not_equal", "OO",
                                     operands.left.get(), operands.right.get())
               : nullptr;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static PyObject *getItem(PyObject *object, PyObject *key) {
  Ref array(toNumPy(object, nullptr));
  Ref index(array ? operandOf(key) : Ref());
  return index ? PyObject_GetItem(array.get(), index.get()) : nullptr;
}

static int refuseItem(PyObject *object, PyObject *, PyObject *) {
  const bool isShared = valueOf(object).device == GPUASYNC_HOST &&
                        !isReadOnly(reinterpret_cast<Array *>(object));
  PyErr_Format(
      PyExc_TypeError,
      "a gpu_async.Array is a value: its elements cannot be assigned to or "
      "deleted; write to %s numpy.array(a); in a function of JAX's arrays, "
      "x.at[i].set(y) makes another array",
      isShared ? "numpy.asarray(a), which shares its memory, or to a copy,"
               : "a copy,");
  return -1;
}

static PyObject *iterate(PyObject *object) {
  Ref array(toNumPy(object, nullptr));
  return array ? PyObject_GetIter(array.get()) : nullptr;
}

static PyObject *reversed(PyObject *object, PyObject *) {
  Ref array(toNumPy(object, nullptr));
  return array ? PyObject_CallFunctionObjArgs(
                     reinterpret_cast<PyObject *>(&PyReversed_Type),
                     array.get(), nullptr)
               : nullptr;
}

static int contains(PyObject *object, PyObject *element) {
  Ref array(toNumPy(object, nullptr));
  Ref wanted(array ? operandOf(element) : Ref());
  return wanted ? PySequence_Contains(array.get(), wanted.get()) : -1;
}

//===----------------------------------------------------------------------===//
// Numbers and texts
//===----------------------------------------------------------------------===//

static PyObject *getShape(PyObject *object) {
  return PyObject_GetAttrString(object, "shape");
}

static PyObject *toIndex(PyObject *object) {
  const gpuasync_value &value = valueOf(object);
  if (value.rank == 0 && value.type >= GPUASYNC_TYPE_I8 &&
      value.type <= GPUASYNC_TYPE_UI64)
    return PyObject_CallMethod(object, "item", nullptr);
  Ref shape(getShape(object));
  if (shape)
    PyErr_Format(PyExc_TypeError,
                 "only an array of an integer type without dimensions is an "
                 "index, given %s of the shape %R",
                 elementType(value.type)->name, shape.get());
  return nullptr;
}

static PyObject *toComplex(PyObject *object, PyObject *) {
  Ref number(PyObject_CallMethod(object, "item", nullptr));
  return number ? PyObject_CallFunctionObjArgs(
                      reinterpret_cast<PyObject *>(&PyComplex_Type),
                      number.get(), nullptr)
                : nullptr;
}

/// Rounds the elements, as JAX does; NumPy's arrays have no __round__.
static PyObject *roundElements(PyObject *object, PyObject *args) {
  PyObject *digits = Py_None;
  if (!PyArg_ParseTuple(args, "|O:__round__", &digits))
    return nullptr;
  Ref array(toNumPy(object, nullptr));
  if (!array)
    return nullptr;
  return digits == Py_None
             ? PyObject_CallMethod(array.get(), "round", nullptr)
             : PyObject_CallMethod(array.get(), "round", "O", digits);
}

static PyObject *toText(PyObject *object) {
  Ref array(toNumPy(object, nullptr));
  if (array)
    return PyObject_Str(array.get());
  // The host cannot read a view of memory on the device.
  if (!PyErr_ExceptionMatches(PyExc_BufferError))
    return nullptr;
  PyErr_Clear();
  return PyObject_Repr(object);
}

static Py_ssize_t countElements(PyObject *object) {
  const gpuasync_value &value = valueOf(object);
  Py_ssize_t count = 1;
  for (uint32_t i = 0; i < value.rank; ++i)
    count *= Py_ssize_t(value.shape[i]);
  return count;
}

/// Formats the element of an array of one as Python's number.
static PyObject *format(PyObject *object, PyObject *spec) {
  if (!PyUnicode_Check(spec)) {
    PyErr_SetString(PyExc_TypeError, "__format__: the format is a str");
    return nullptr;
  }
  if (PyUnicode_GetLength(spec) == 0)
    return toText(object);
  if (countElements(object) == 1) {
    Ref number(PyObject_CallMethod(object, "item", nullptr));
    return number ? PyObject_Format(number.get(), spec) : nullptr;
  }
  Ref shape(getShape(object));
  if (shape)
    PyErr_Format(PyExc_TypeError,
                 "the format %R is for an array of one element, given one of "
                 "the shape %R; format its elements one by one, or use "
                 "numpy.array2string(a)",
                 spec, shape.get());
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Copies and pickles
//===----------------------------------------------------------------------===//

/// Returns the elements as an array of NumPy's whose type buffers know: of bf16
/// their bits.
static Ref toBits(PyObject *object) {
  if (!isBFloat(object))
    return Ref(toNumPy(object, nullptr));
  Ref bits(PyObject_CallMethod(object, "view", "s", "ui16"));
  return bits ? Ref(toNumPy(bits.get(), nullptr)) : Ref();
}

/// Makes an array of an object with the buffer protocol, which it keeps. The
/// elements are of `type` or, of bf16, their bits. Null after an error.
static PyObject *makeArrayOf(PyObject *object, uint32_t type) {
  Ref memory(PyMemoryView_FromObject(object));
  Py_buffer view;
  if (!memory || PyObject_GetBuffer(memory.get(), &view, PyBUF_RECORDS_RO) < 0)
    return nullptr;
  gpuasync_value value =
      gpuasync_value_make(view.buf, type, uint32_t(view.ndim), view.shape);
  const uint32_t bits = type == GPUASYNC_TYPE_BF16 ? GPUASYNC_TYPE_UI16 : type;
  bool fits = view.ndim <= GPUASYNC_MAX_RANK &&
              typeOfFormat(view.format, view.itemsize) == bits;
  for (int i = 0; fits && i < view.ndim; ++i) {
    fits = view.strides[i] % view.itemsize == 0;
    value.strides[i] = view.strides[i] / view.itemsize;
  }
  if (view.readonly)
    value.flags |= GPUASYNC_READ_ONLY;
  if (!fits)
    PyErr_Format(PyExc_ValueError,
                 "restore_array: given %d dimensions and the format \"%s\", "
                 "which is no array of at most %d dimensions with the bytes of "
                 "%s as its elements",
                 view.ndim, view.format, int(GPUASYNC_MAX_RANK),
                 elementType(type)->name);
  PyBuffer_Release(&view);
  if (!fits)
    return nullptr;
  // The memory view keeps the object, and hinders it from moving its elements.
  Ref owners(PyTuple_Pack(1, memory.get()));
  return owners ? makeArray(nullptr, std::move(owners), value, dlpack::Cpu)
                : nullptr;
}

PyObject *restoreArray(PyObject *, PyObject *args) {
  PyObject *array;
  const char *name;
  if (!PyArg_ParseTuple(args, "Os:restore_array", &array, &name))
    return nullptr;
  if (uint32_t type = typeOfName(name))
    return makeArrayOf(array, type);
  PyErr_Format(PyExc_ValueError,
               "restore_array: no array has elements of the type %s", name);
  return nullptr;
}

static PyObject *copy(PyObject *object, PyObject *) {
  Ref bits(toBits(object));
  Ref copied(bits ? PyObject_CallMethod(bits.get(), "copy", nullptr) : nullptr);
  return copied ? makeArrayOf(copied.get(), valueOf(object).type) : nullptr;
}

static PyObject *reduce(PyObject *object, PyObject *) {
  Ref bits(toBits(object));
  Ref module(bits ? PyImport_ImportModule("gpu_async._binding") : nullptr);
  Ref restore(module ? PyObject_GetAttrString(module.get(), "restore_array")
                     : nullptr);
  return restore ? Py_BuildValue("O(Os)", restore.get(), bits.get(),
                                 elementType(valueOf(object).type)->name)
                 : nullptr;
}

//===----------------------------------------------------------------------===//
// Methods and attributes of NumPy's arrays
//===----------------------------------------------------------------------===//

static PyObject *blockUntilReady(PyObject *object, PyObject *) {
  // An array on the host is there. A call that was given a stream has left its
  // order to the caller.
  Array *self = reinterpret_cast<Array *>(object);
  if (!waitForElements(self))
    return nullptr;
  if (self->pending) {
    PyErr_SetString(PyExc_BufferError,
                    "the array is still being written on the stream that its "
                    "call was given; synchronize that stream");
    return nullptr;
  }
  Py_INCREF(object);
  return object;
}

static PyObject *isDeleted(PyObject *object, PyObject *) {
  return PyBool_FromLong(reinterpret_cast<Array *>(object)->donatedTo !=
                         nullptr);
}

static const char *const methodNames[] = {
    "all",     "any",     "argmax",    "argmin",   "argsort", "astype",
    "clip",    "conj",    "conjugate", "cumprod",  "cumsum",  "diagonal",
    "dot",     "flatten", "max",       "mean",     "min",     "nonzero",
    "prod",    "ravel",   "repeat",    "reshape",  "round",   "searchsorted",
    "squeeze", "std",     "sum",       "swapaxes", "take",    "tobytes",
    "tolist",  "trace",   "transpose", "var"};
static constexpr size_t methodCount = std::size(methodNames);

template <size_t number>
static PyObject *callMethod(PyObject *object, PyObject *args,
                            PyObject *kwargs) {
  Ref array(toNumPy(object, nullptr));
  Ref method(array ? PyObject_GetAttrString(array.get(), methodNames[number])
                   : nullptr);
  return method ? PyObject_Call(method.get(), args, kwargs) : nullptr;
}

template <size_t... numbers>
static std::array<PyMethodDef, methodCount>
makeMethods(std::index_sequence<numbers...>) {
  return {{{methodNames[numbers],
            reinterpret_cast<PyCFunction>(
                reinterpret_cast<void *>(callMethod<numbers>)),
            METH_VARARGS | METH_KEYWORDS,
            "The method of NumPy's arrays, on the host."}...}};
}

static PyObject *getOfNumPy(PyObject *object, void *name) {
  Ref array(toNumPy(object, nullptr));
  return array ? PyObject_GetAttrString(array.get(),
                                        static_cast<const char *>(name))
               : nullptr;
}

static PyObject *getSize(PyObject *object, void *) {
  return PyLong_FromSsize_t(countElements(object));
}

static PyObject *getItemSize(PyObject *object, void *) {
  return PyLong_FromLong(elementType(valueOf(object).type)->bytes);
}

/// NumPy has `mT` from 2.0 on.
static PyObject *getMatrixTransposed(PyObject *object, void *) {
  Ref array(toNumPy(object, nullptr));
  if (array && valueOf(object).rank < 2) {
    PyErr_SetString(PyExc_ValueError,
                    "mT: an array of less than two dimensions has no matrices "
                    "to transpose");
    return nullptr;
  }
  return array ? PyObject_CallMethod(array.get(), "swapaxes", "ii", -1, -2)
               : nullptr;
}

static PyMethodDef ownMethods[] = {
    {"__complex__", toComplex, METH_NOARGS, "The element of an array of one."},
    {"__copy__", copy, METH_NOARGS, "See copy()."},
    {"__deepcopy__", copy, METH_O, "See copy()."},
    {"__format__", format, METH_O, "Formats the element of an array of one."},
    {"__reduce__", reduce, METH_NOARGS, "For pickle."},
    {"__reversed__", reversed, METH_NOARGS, "From the last element on."},
    {"__round__", roundElements, METH_VARARGS, "Rounds the elements."},
    {"block_until_ready", blockUntilReady, METH_NOARGS,
     "block_until_ready()\n--\n\nReturns the array when its elements are "
     "there."},
    {"is_deleted", isDeleted, METH_NOARGS,
     "is_deleted()\n--\n\nWhether the array was donated to a call."},
    {"copy", copy, METH_NOARGS,
     "copy()\n--\n\nAn Array with memory of its own, in row-major order."}};

static PyGetSetDef attributes[] = {
    {"T", getOfNumPy, nullptr, "Transposed, a view of NumPy's.",
     const_cast<char *>("T")},
    {"mT", getMatrixTransposed, nullptr,
     "The last two dimensions swapped, a view of NumPy's.", nullptr},
    {"real", getOfNumPy, nullptr, "The real parts.",
     const_cast<char *>("real")},
    {"imag", getOfNumPy, nullptr, "The imaginary parts.",
     const_cast<char *>("imag")},
    {"size", getSize, nullptr, "The number of elements.", nullptr},
    {"itemsize", getItemSize, nullptr, "Bytes of an element.", nullptr}};

static bool addAttribute(PyTypeObject *type, const char *name,
                         PyObject *descriptor) {
  Ref owned(descriptor);
  return owned && PyObject_SetAttrString(reinterpret_cast<PyObject *>(type),
                                         name, descriptor) == 0;
}

bool addOperators(PyTypeObject *type) {
  // Descriptors refer to them.
  static auto methods = makeMethods(std::make_index_sequence<methodCount>());
  for (PyMethodDef &each : methods)
    if (!addAttribute(type, each.ml_name, PyDescr_NewMethod(type, &each)))
      return false;
  for (PyMethodDef &each : ownMethods)
    if (!addAttribute(type, each.ml_name, PyDescr_NewMethod(type, &each)))
      return false;
  for (PyGetSetDef &each : attributes)
    if (!addAttribute(type, each.name, PyDescr_NewGetSet(type, &each)))
      return false;
  return true;
}

template <typename Function>
static void *slot(Function *function) {
  return reinterpret_cast<void *>(function);
}

PyType_Slot operatorSlots[] = {
    {Py_tp_richcompare, slot(compare)},
    {Py_tp_str, slot(toText)},
    {Py_tp_iter, slot(iterate)},
    {Py_sq_contains, slot(contains)},
    {Py_mp_subscript, slot(getItem)},
    {Py_mp_ass_subscript, slot(refuseItem)},
    {Py_nb_index, slot(toIndex)},
    {Py_nb_negative, slot(unary<PyNumber_Negative>)},
    {Py_nb_positive, slot(unary<PyNumber_Positive>)},
    {Py_nb_absolute, slot(unary<PyNumber_Absolute>)},
    {Py_nb_invert, slot(unary<PyNumber_Invert>)},
    {Py_nb_add, slot(binary<PyNumber_Add>)},
    {Py_nb_subtract, slot(binary<PyNumber_Subtract>)},
    {Py_nb_multiply, slot(binary<PyNumber_Multiply>)},
    {Py_nb_true_divide, slot(binary<PyNumber_TrueDivide>)},
    {Py_nb_floor_divide, slot(binary<PyNumber_FloorDivide>)},
    {Py_nb_remainder, slot(binary<PyNumber_Remainder>)},
    {Py_nb_divmod, slot(binary<PyNumber_Divmod>)},
    {Py_nb_power, slot(power)},
    {Py_nb_matrix_multiply, slot(binary<PyNumber_MatrixMultiply>)},
    {Py_nb_and, slot(binary<PyNumber_And>)},
    {Py_nb_or, slot(binary<PyNumber_Or>)},
    {Py_nb_xor, slot(binary<PyNumber_Xor>)},
    {Py_nb_lshift, slot(binary<PyNumber_Lshift>)},
    {Py_nb_rshift, slot(binary<PyNumber_Rshift>)},
    {0, nullptr}};

} // namespace binding

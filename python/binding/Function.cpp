//===- Function.cpp - Functions of executables, and their calls -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Function.h.
//===----------------------------------------------------------------------===//

#include "Function.h"
#include "Abandoned.h"
#include "Array.h"
#include "DLPack.h"
#include "Errors.h"
#include "Schedule.h"
#include "Types.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace binding {

namespace {

/// What is known of a function without asking for it.
struct Signature {
  gpuasync_callable *callable = nullptr;
  std::string name;
  std::vector<gpuasync_parameter> arguments, results;
  std::shared_ptr<Place> place;
  bool donates = false;  ///< an argument is donated
  std::string donatesTo; ///< what errors call the function that took an array

  ~Signature() {
    // The program's last function may wait, as the program's own end does.
    WithoutGil free;
    gpuasync_status_free(gpuasync_callable_release(callable));
  }
};

struct Function {
  PyObject_HEAD Signature *signature;
};

/// One call: its arguments, then its run, then its results.
class Invocation {
public:
  /// The function outlives it.
  explicit Invocation(PyObject *function)
      : function(function),
        signature(*reinterpret_cast<Function *>(function)->signature) {}
  /// Donated arrays are the caller's again if the call did not run.
  ~Invocation() {
    keepingError([this] { endDonation(false); });
  }

  /// False after an error. A call that is `later` takes no stream.
  bool bind(PyObject *args, PyObject *options, bool later);
  /// Runs it, without the GIL, and makes the results; null after an error.
  /// Once.
  PyObject *run();
  /// Two steps of `run`, with the call between them. `prepare` is false after
  /// an error.
  bool prepare();
  PyObject *finish(const gpuasync::Status &status);
  const gpuasync_value *getArguments() const { return arguments->values(); }
  gpuasync_value *getResults() { return results; }
  /// Keeps for ever what keeps the memory of the arguments.
  void leak() {
    Py_INCREF(function);
    arguments->leak();
    if (out)
      out->leak();
  }
  /// For Python's collector; not while it runs.
  int traverse(visitproc visit, void *arg) const;

private:
  bool bindOut(PyObject *out);
  bool bindStream(PyObject *object, bool later);
  bool bindDonated();
  void endDonation(bool succeeded);
  std::string hints() const;
  bool isRefusal(const gpuasync::Status &status) const;
  PyObject *makeResult(size_t index, gpuasync_value &value);
  Ref makeOwners();
  void keepWhatIsUsed();

  PyObject *function; ///< borrowed
  const Signature &signature;
  std::optional<Arguments> arguments;
  std::optional<Arguments> out;
  Ref owners; ///< of results that are views
  std::optional<CallersStream> stream;
  std::vector<Ref> given; ///< results that were given memory, or null
  /// Numbers of the arguments that are arrays of ours, and donated.
  std::vector<size_t> donated;
  gpuasync_value few[4];
  std::vector<gpuasync_value> many;
  gpuasync_value *results = few;
};

} // namespace

static PyTypeObject *functionType, *callType;
static PyObject *outName, *streamName, *cudaStreamName;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Raises for a call that cannot begin; false.
static bool refuse(const std::string &message) {
  raise(Error::Argument, GPUASYNC_INVALID_ARGUMENT, message);
  return false;
}

bool Invocation::bindOut(PyObject *object) {
  size_t count = signature.results.size();
  bool isTuple = PyTuple_Check(object);
  if (isTuple ? size_t(PyTuple_Size(object)) != count : count != 1)
    return refuse("@" + signature.name +
                  ": out is an array for a single result, else a tuple of as "
                  "many arrays (or None) as there are results, here " +
                  std::to_string(count));
  out.emplace(count, stream);
  for (size_t i = 0; i < count; ++i) {
    PyObject *each = isTuple ? PyTuple_GetItem(object, Py_ssize_t(i)) : object;
    given.push_back(Ref::of(each == Py_None ? nullptr : each));
    const gpuasync_parameter &result = signature.results[i];
    if (each == Py_None) {
      out->skip();
      continue;
    }
    auto which = [&] {
      return "@" + signature.name + ": result " + std::to_string(i);
    };
    if (result.kind == GPUASYNC_KIND_NUMBER)
      return refuse(which() +
                    " is a number, which out has no memory for; write "
                    "None there");
    if (!result.byDestination)
      return refuse(which() + " of " + result.text +
                    ": given memory, but the function returns its own; " +
                    (isTuple ? "write None there" : "pass out=None"));
    if (!out->add(each, result, /*written=*/true, *signature.place,
                  signature.name.c_str(), "result"))
      return false;
    // Null would ask for memory, and only an array without elements may have
    // it.
    gpuasync_value &value = out->last();
    alignas(64) static char none[64];
    if (value.data)
      continue;
    for (uint32_t d = 0; d < std::min<uint32_t>(value.rank, GPUASYNC_MAX_RANK);
         ++d)
      if (value.shape[d] == 0)
        value.data = none;
    if (!value.data)
      return refuse(which() + " of " + result.text + ": its data is null");
  }
  return true;
}

/// The handle of a stream: a number, or what PyTorch's, CuPy's and others'
/// streams have. False after an error.
static bool readStream(PyObject *object, void *&native) {
  Ref handle, method;
  if (PyLong_Check(object)) {
    handle = Ref::of(object);
  } else if ((method = attributeOf(object, cudaStreamName))) {
    Ref pair(PyObject_CallObject(method.get(), nullptr));
    Ref version(pair ? PySequence_GetItem(pair.get(), 0) : nullptr);
    handle = Ref(version ? PySequence_GetItem(pair.get(), 1) : nullptr);
    if (!handle)
      return false;
    // What follows the version is the handle in version 0.
    const long number =
        PyLong_Check(version.get()) ? PyLong_AsLong(version.get()) : -1;
    if (number != 0) {
      PyErr_Clear();
      Ref said(PyObject_Repr(version.get()));
      const char *text =
          said ? PyUnicode_AsUTF8AndSize(said.get(), nullptr) : nullptr;
      return text && refuse(std::string("stream: __cuda_stream__ gives "
                                        "version ") +
                            text +
                            " of its protocol, and known here is version 0; "
                            "give the stream's number");
    }
  } else if (PyErr_Occurred()) {
    return false;
  } else {
    handle = Ref(PyObject_GetAttrString(object, "cuda_stream"));
    // What goes wrong in such an object is not ours to reword.
    if (!handle && !PyErr_ExceptionMatches(PyExc_AttributeError))
      return false;
  }
  // As a pointer a negative number, or True, would be anything.
  if (handle && PyLong_Check(handle.get()) && !PyBool_Check(handle.get())) {
    const unsigned long long number = PyLong_AsUnsignedLongLong(handle.get());
    if (!PyErr_Occurred()) {
      native = reinterpret_cast<void *>(number);
      return true;
    }
  }
  PyErr_Clear();
  return refuse("stream is a stream of PyTorch's, CuPy's or cuda.core's, or "
                "the number of a CUstream or hipStream_t");
}

bool Invocation::bindStream(PyObject *object, bool later) {
  if (later)
    return refuse("@" + signature.name +
                  ": start takes no stream; call the function with it, which "
                  "waits for nothing");
  if (signature.place->isCpu())
    return refuse("@" + signature.name +
                  ": the cpu device has no streams of other libraries; start "
                  "runs a call meanwhile");
  stream.emplace();
  return readStream(object, stream->native);
}

bool Invocation::bind(PyObject *args, PyObject *options, bool later) {
  PyObject *outObject = nullptr, *streamObject = nullptr; // borrowed
  if (options) {
    outObject = PyDict_GetItemWithError(options, outName);
    streamObject = PyDict_GetItemWithError(options, streamName);
    if (PyErr_Occurred())
      return false;
    if (PyDict_Size(options) != !!outObject + !!streamObject)
      return refuse("@" + signature.name +
                    " takes arguments by position, and the keywords out and "
                    "stream");
  }
  auto count = size_t(PyTuple_Size(args));
  if (count != signature.arguments.size())
    return refuse("@" + signature.name + " takes " +
                  std::to_string(signature.arguments.size()) +
                  " arguments, given " + std::to_string(count));
  if (streamObject && streamObject != Py_None &&
      !bindStream(streamObject, later))
    return false;
  arguments.emplace(count, stream);
  for (size_t i = 0; i < count; ++i) {
    const gpuasync_parameter &parameter = signature.arguments[i];
    if (!arguments->add(PyTuple_GetItem(args, Py_ssize_t(i)), parameter,
                        parameter.kind == GPUASYNC_KIND_MEMREF,
                        *signature.place, signature.name.c_str(), "argument"))
      return false;
  }
  if (outObject && outObject != Py_None && !bindOut(outObject))
    return false;
  // The last step: what fails before leaves all arrays as they are.
  return !signature.donates || stream || bindDonated();
}

static Array *asArray(PyObject *object) {
  return reinterpret_cast<Array *>(object);
}

/// Donated arrays are nobody else's from here on. One whose memory others use
/// or have, by DLPack, NumPy, a view or a call of another thread, is only
/// deleted: the call copies its elements.
bool Invocation::bindDonated() {
  Ref to(PyUnicode_FromString(signature.donatesTo.c_str()));
  if (!to)
    return false;
  // Code of Python's that arguments ran may have donated them.
  for (size_t i = 0; i < arguments->size(); ++i)
    if (PyObject *array = arguments->arrayOf(i);
        array && !isThere(asArray(array)))
      return false;
  std::vector<size_t> found;
  for (size_t i = 0; i < arguments->size(); ++i) {
    if (!signature.arguments[i].donated || !arguments->arrayOf(i))
      continue;
    const Array *array = asArray(arguments->arrayOf(i));
    for (size_t j = 0; j < arguments->size(); ++j) {
      PyObject *other = arguments->arrayOf(j);
      if (i == j || !other ||
          (other != arguments->arrayOf(i) &&
           (!array->storage || asArray(other)->storage != array->storage)))
        continue;
      return refuse("@" + signature.name + ": argument " + std::to_string(i) +
                    " of " + signature.arguments[i].text +
                    ": it is donated, but argument " + std::to_string(j) +
                    " is the same array; pass a copy of one of them "
                    "(a.copy())");
    }
    found.push_back(i);
  }
  donated = std::move(found);
  for (size_t i : donated) {
    Array *array = asArray(arguments->arrayOf(i));
    Py_INCREF(to.get());
    array->donatedTo = to.get();
    // With an owner the memory is given up. One reference is the array's, and
    // one the call's.
    const bool isGiven = array->storage && array->storage->hasOnly(2) &&
                         !array->storage->isUsedElsewhere();
    arguments->values()[i].owner = isGiven ? array->storage->owner() : nullptr;
  }
  return true;
}

/// Arrays that the call has not taken over are back after an error, and else
/// deleted all the same.
void Invocation::endDonation(bool succeeded) {
  for (size_t i : std::exchange(donated, {})) {
    Array *array = asArray(arguments->arrayOf(i));
    Storage *storage = array->storage;
    const gpuasync_value &value = arguments->values()[i];
    const bool isTaken = storage && !value.data && !value.owner;
    if (isTaken)
      storage->forget();
    if (!succeeded && !isTaken) {
      Py_CLEAR(array->donatedTo);
      continue;
    }
    array->value.data = nullptr;
    // Work of which only the caller knows when it ends goes on: the memory is
    // free when the caller lets go of the array.
    if (!storage || storage->isUsedElsewhere())
      continue;
    // Others keep their references.
    array->storage = nullptr;
    storage->release();
  }
}

/// Whether it is an array without elements.
static bool isEmpty(const gpuasync_value &value) {
  return std::find(value.shape, value.shape + value.rank, 0) !=
         value.shape + value.rank;
}

/// What to do about arguments of the wrong type or order.
std::string Invocation::hints() const {
  for (size_t i = 0; i < arguments->size(); ++i) {
    const gpuasync_value &value = arguments->values()[i];
    const gpuasync_parameter &parameter = signature.arguments[i];
    std::string which = "argument " + std::to_string(i);
    const ElementType &wanted = *elementType(parameter.type);
    if (elementType(value.type)->bytes != wanted.bytes ||
        elementType(value.type)->dlpack.code != wanted.dlpack.code)
      return std::string("convert ") + which + " (a.astype(\"" + wanted.numpy +
             "\"))";
    if (parameter.rank != value.rank)
      return "reshape " + which + " (a.reshape)";
    // Wrong sizes are no matter of order.
    for (uint32_t d = 0; d < value.rank; ++d)
      if (parameter.shape[d] != GPUASYNC_DYNAMIC &&
          parameter.shape[d] != value.shape[d])
        return "";
    if (isEmpty(value))
      continue; // whatever its strides
    int64_t expected = 1;
    for (uint32_t d = value.rank; d-- > 0;) {
      if (parameter.kind == GPUASYNC_KIND_TENSOR && value.shape[d] > 1 &&
          value.strides[d] != expected)
        return "put the elements of " + which +
               " in row-major order (numpy.ascontiguousarray(a))";
      expected *= value.shape[d];
    }
  }
  return "";
}

/// The device that an address of a view is on, by the argument it lies in.
static bool findDevice(const gpuasync_value &view, const Arguments &arguments,
                       int32_t &device) {
  auto address = reinterpret_cast<uintptr_t>(view.data);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const gpuasync_value &value = arguments.values()[i];
    auto low = reinterpret_cast<uintptr_t>(value.data), high = low;
    int64_t bytes = elementType(value.type)->bytes;
    for (uint32_t d = 0; d < value.rank && !isEmpty(value); ++d) {
      int64_t span = (value.shape[d] - 1) * value.strides[d] * bytes;
      (span < 0 ? low : high) += uintptr_t(span);
    }
    if (address < low || address > high)
      continue;
    device = value.device;
    return true;
  }
  return false;
}

/// What keeps the memory that the call was given, and the program; null after
/// an error.
Ref Invocation::makeOwners() {
  Ref list(PyList_New(0));
  if (!list || PyList_Append(list.get(), function) < 0 ||
      !arguments->share(list.get()) || (out && !out->share(list.get())))
    return Ref();
  return Ref(PyList_AsTuple(list.get()));
}

/// After an error: work that the call has left unfinished uses what it was
/// given.
void Invocation::keepWhatIsUsed() {
  if (!signature.place->hasAbandoned())
    return;
  Ref kept = makeOwners();
  if (kept)
    return keepAbandoned(signature.place, std::move(kept));
  PyErr_Clear(); // there is no memory for it
  leak();
}

PyObject *Invocation::makeResult(size_t index, gpuasync_value &value) {
  if (index < given.size() && given[index])
    return given[index].release();
  const gpuasync_parameter &result = signature.results[index];
  if (result.kind == GPUASYNC_KIND_NUMBER) {
    PyObject *number = readNumber(result.type, value.data);
    gpuasync_value_release(&value);
    return number;
  }
  bool isView = !value.owner;
  Place &place = *signature.place;
  if (isView && !place.isCpu() &&
      !findDevice(value, *arguments, value.device)) {
    raise(Error::Call, GPUASYNC_UNSUPPORTED,
          "@" + signature.name + ": result " + std::to_string(index) + " of " +
              result.text +
              " is in memory that no argument has, on the host or the device; "
              "return a tensor");
    return nullptr;
  }
  int32_t deviceType =
      value.device == GPUASYNC_HOST ? int32_t(dlpack::Cpu) : place.dlpackType;
  Storage *storage = nullptr;
  if (isView) {
    if (!owners)
      owners = makeOwners();
    if (!owners)
      return nullptr;
  } else if (!(storage = new (std::nothrow) Storage(value))) {
    gpuasync_value_release(&value);
    return PyErr_NoMemory();
  }
  // Host memory is complete when the call returns.
  return makeArray(storage, Ref::of(isView ? owners.get() : nullptr), value,
                   deviceType,
                   value.device == GPUASYNC_HOST ? std::nullopt : stream);
}

/// Whether a call was refused for one of its values, before it ran. The code
/// alone does not say it: the runtime has it for what a program does, too, and
/// then begins with the place in the program.
bool Invocation::isRefusal(const gpuasync::Status &status) const {
  if (status.code() != GPUASYNC_INVALID_ARGUMENT)
    return false;
  const std::string text = status.message(), head = "@" + signature.name + ": ";
  for (const char *what : {"argument ", "result "})
    if (text.rfind(head + what, 0) == 0)
      return true;
  return false;
}

int Invocation::traverse(visitproc visit, void *arg) const {
  for (const std::optional<Arguments> *each : {&arguments, &out})
    if (*each)
      if (int result = (*each)->traverse(visit, arg))
        return result;
  for (const Ref &each : given)
    Py_VISIT(each.get());
  return 0;
}

bool Invocation::prepare() {
  reapAbandoned();
  if (!arguments->arrive(*signature.place) ||
      (out && !out->arrive(*signature.place)))
    return false;
  size_t count = signature.results.size();
  if (count > std::size(few)) {
    many.resize(count);
    results = many.data();
  }
  for (size_t i = 0; i < count; ++i)
    if (i < given.size() && given[i]) {
      results[i] = out->values()[i];
      results[i].owner = nullptr; // the array's, not the call's
    } else {
      results[i].data = nullptr;
    }
  return true;
}

PyObject *Invocation::run() {
  if (!prepare())
    return nullptr;
  size_t count = signature.results.size();
  // Arrays of others may be freed or written as soon as the call is over.
  const bool waits =
      !signature.place->keepsArrays() || out || arguments->hasForeign();
  gpuasync::Status status = [&] {
    WithoutGil free;
    if (stream)
      return gpuasync::Status(gpuasync_callable_call_on(
          signature.callable, stream->native, arguments->values(),
          arguments->size(), results, count));
    if (!donated.empty())
      return gpuasync::Status(gpuasync_callable_call_donating(
          signature.callable, waits, arguments->values(), arguments->size(),
          results, count));
    auto call = waits ? gpuasync_callable_call : gpuasync_callable_enqueue;
    return gpuasync::Status(call(signature.callable, arguments->values(),
                                 arguments->size(), results, count));
  }();
  return finish(status);
}

PyObject *Invocation::finish(const gpuasync::Status &status) {
  size_t count = signature.results.size();
  endDonation(status.ok());
  if (!status.ok()) {
    keepWhatIsUsed();
    std::string message = status.message();
    bool refused = isRefusal(status);
    if (std::string hint = refused ? hints() : ""; !hint.empty())
      message += "; " + hint;
    raise(refused ? Error::Argument : Error::Call, status.code(), message);
    return nullptr;
  }
  if (count == 0)
    Py_RETURN_NONE;
  if (count == 1)
    return makeResult(0, results[0]);
  /// Results that have no array to free them.
  struct Rest {
    gpuasync_value *begin, *end;
    ~Rest() {
      while (begin != end)
        gpuasync_value_release(begin++);
    }
  } rest{results, results + count};
  Ref tuple(PyTuple_New(Py_ssize_t(count)));
  if (!tuple)
    return nullptr;
  for (size_t i = 0; i < count; ++i) {
    PyObject *object = makeResult(i, *rest.begin++);
    if (!object || PyTuple_SetItem(tuple.get(), Py_ssize_t(i), object) < 0)
      return nullptr;
  }
  return tuple.release();
}

//===----------------------------------------------------------------------===//
// Calls that are bound and not run
//===----------------------------------------------------------------------===//

namespace {

struct Call {
  PyObject_HEAD PyObject *function;
  Invocation *invocation; ///< null once it runs
};

} // namespace

static int traverseCall(PyObject *object, visitproc visit, void *arg) {
  auto *self = reinterpret_cast<Call *>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->function);
  return self->invocation ? self->invocation->traverse(visit, arg) : 0;
}

static int clearCall(PyObject *object) {
  auto *self = reinterpret_cast<Call *>(object);
  delete std::exchange(self->invocation, nullptr);
  return 0;
}

static void deallocCall(PyObject *object) {
  auto *self = reinterpret_cast<Call *>(object);
  PyObject_GC_UnTrack(self);
  delete self->invocation;
  Py_XDECREF(self->function);
  freeCollected(self);
}

static PyObject *runCall(PyObject *object, PyObject *) {
  auto *self = reinterpret_cast<Call *>(object);
  std::unique_ptr<Invocation> invocation(
      std::exchange(self->invocation, nullptr));
  if (!invocation) {
    PyErr_SetString(PyExc_RuntimeError, "the call was run already");
    return nullptr;
  }
  return invocation->run();
}

static PyMethodDef callMethods[] = {
    {"run", entry<runCall>, METH_NOARGS,
     "run()\n--\n\nRuns the call, once, and returns its results."},
    {nullptr, nullptr, 0, nullptr}};

static PyType_Slot callSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocCall)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverseCall)},
    {Py_tp_clear, reinterpret_cast<void *>(clearCall)},
    {Py_tp_methods, callMethods},
    {0, nullptr}};

static PyType_Spec callSpec = {"gpu_async._binding.Call", sizeof(Call), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                   Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               callSlots};

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

bool isFunction(PyObject *object) { return Py_TYPE(object) == functionType; }

static Signature &signatureOf(PyObject *object) {
  return *reinterpret_cast<Function *>(object)->signature;
}

static void deallocFunction(PyObject *object) {
  auto *self = reinterpret_cast<Function *>(object);
  delete self->signature;
  freeObject(self);
}

static PyObject *callFunction(PyObject *object, PyObject *args,
                              PyObject *options) {
  // The caller's reference of the function is there until the call ends.
  Invocation invocation(object);
  return invocation.bind(args, options, /*later=*/false) ? invocation.run()
                                                         : nullptr;
}

/// Calls it on ranks: `all` has a tuple of arguments for each. Returns a tuple
/// of what each returns.
static PyObject *callOnRanks(PyObject *object, PyObject *all) {
  if (!PyTuple_Check(all) || PyTuple_Size(all) == 0) {
    PyErr_SetString(PyExc_TypeError, "ranks are a tuple of tuples");
    return nullptr;
  }
  const Signature &signature = signatureOf(object);
  const auto count = size_t(PyTuple_Size(all));
  std::vector<std::unique_ptr<Invocation>> calls;
  std::vector<const gpuasync_value *> arguments;
  std::vector<gpuasync_value *> results;
  for (size_t rank = 0; rank < count; ++rank) {
    PyObject *given = PyTuple_GetItem(all, Py_ssize_t(rank));
    if (!PyTuple_Check(given)) {
      PyErr_SetString(PyExc_TypeError, "ranks are a tuple of tuples");
      return nullptr;
    }
    Invocation &call = *calls.emplace_back(new Invocation(object));
    if (!call.bind(given, nullptr, /*later=*/true) || !call.prepare())
      return nullptr;
    arguments.push_back(call.getArguments());
    results.push_back(call.getResults());
  }
  gpuasync::Status status = [&] {
    WithoutGil free;
    return gpuasync::Status(gpuasync_callable_call_ranks(
        signature.callable, uint32_t(count), arguments.data(),
        signature.arguments.size(), results.data(), signature.results.size()));
  }();
  if (!status.ok()) {
    // Nobody says when the work of a rank ends that gave up.
    if (status.code() == GPUASYNC_TIMEOUT)
      for (const std::unique_ptr<Invocation> &call : calls)
        call->leak();
    raise(Error::Call, status);
    return nullptr;
  }
  Ref tuple(PyTuple_New(Py_ssize_t(count)));
  for (size_t rank = 0; rank < count; ++rank) {
    PyObject *made = tuple ? calls[rank]->finish(status) : nullptr;
    if (made && PyTuple_SetItem(tuple.get(), Py_ssize_t(rank), made) == 0)
      continue;
    // There is no memory for it, nor for those of other ranks.
    for (size_t i = 0; !tuple && i < signature.results.size(); ++i)
      gpuasync_value_release(&results[rank][i]);
    tuple = Ref();
  }
  return tuple.release();
}

static PyObject *bindFunction(PyObject *object, PyObject *args,
                              PyObject *options) {
  auto invocation = std::make_unique<Invocation>(object);
  if (!invocation->bind(args, options, /*later=*/true))
    return nullptr;
  Call *call = PyObject_GC_New(Call, callType);
  if (!call)
    return nullptr;
  Py_INCREF(object);
  call->function = object;
  call->invocation = invocation.release();
  PyObject_GC_Track(call);
  return reinterpret_cast<PyObject *>(call);
}

static PyObject *startFunction(PyObject *object, PyObject *args,
                               PyObject *options) {
  Ref call(bindFunction(object, args, options));
  Ref tokens(call ? PyImport_ImportModule("gpu_async.tokens") : nullptr);
  return tokens ? PyObject_CallMethod(tokens.get(), "start", "O", call.get())
                : nullptr;
}

static PyObject *scheduleFunction(PyObject *object, PyObject *) {
  const Signature &signature = signatureOf(object);
  return makeSchedule(signature.callable, signature.name);
}

static PyObject *textsOf(const std::vector<gpuasync_parameter> &parameters) {
  Ref tuple(PyTuple_New(Py_ssize_t(parameters.size())));
  for (size_t i = 0; tuple && i < parameters.size(); ++i) {
    PyObject *text = textOf(parameters[i].text);
    if (!text || PyTuple_SetItem(tuple.get(), Py_ssize_t(i), text) < 0)
      return nullptr;
  }
  return tuple.release();
}

static PyObject *getArguments(PyObject *object, void *) {
  return textsOf(signatureOf(object).arguments);
}

static PyObject *getResults(PyObject *object, void *) {
  return textsOf(signatureOf(object).results);
}

static PyObject *getDevice(PyObject *object, void *) {
  return textOf(signatureOf(object).place->name());
}

static PyObject *getName(PyObject *object, void *) {
  return textOf(signatureOf(object).name);
}

static PyObject *getSignature(PyObject *object, void *) {
  const Signature &signature = signatureOf(object);
  auto list = [](const std::vector<gpuasync_parameter> &parameters) {
    std::string text;
    for (const gpuasync_parameter &parameter : parameters)
      text += (text.empty() ? "" : ", ") + std::string(parameter.text);
    return text;
  };
  std::string text = signature.name + "(" + list(signature.arguments) + ")";
  if (signature.results.size() == 1)
    text += " -> " + list(signature.results);
  else if (!signature.results.empty())
    text += " -> (" + list(signature.results) + ")";
  return textOf(text);
}

static PyObject *reprFunction(PyObject *object) {
  Ref text(getSignature(object, nullptr));
  return text ? PyUnicode_FromFormat("<gpu_async.Function %U>", text.get())
              : nullptr;
}

static PyCFunction withOptions(PyCFunctionWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(function));
}

/// For front ends: the name that the caller knows the function by.
static PyObject *nameDonation(PyObject *object, PyObject *name) {
  const char *text =
      PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
  if (!text)
    return PyErr_Occurred()
               ? nullptr
               : (PyErr_SetString(PyExc_TypeError, "a name is a str"), nullptr);
  signatureOf(object).donatesTo = text;
  Py_RETURN_NONE;
}

static PyMethodDef functionMethods[] = {
    {"_name_donation", entry<nameDonation>, METH_O, nullptr},
    {"_call_on_ranks", entry<callOnRanks>, METH_O, nullptr},
    {"start", withOptions(entry<startFunction>), METH_VARARGS | METH_KEYWORDS,
     "start(*arguments, out=None)\n--\n\nBegins the call on a thread of the "
     "package, and returns its Token. Wrong arguments are an exception here; "
     "the arrays are not to be written until the token is done."},
    {"schedule", entry<scheduleFunction>, METH_NOARGS,
     "schedule()\n--\n\nWhat it does on which stream, and what waits for what: "
     "a Schedule. An Error if the program was given in LLVM dialect."},
    {nullptr, nullptr, 0, nullptr}};

static PyGetSetDef functionMembers[] = {
    {"__name__", entry<getName>, nullptr, "Its name in the program.", nullptr},
    {"signature", entry<getSignature>, nullptr,
     "\"main(tensor<4xf32>) -> tensor<4xf32>\".", nullptr},
    {"arguments", entry<getArguments>, nullptr,
     "The arguments' types, as MLIR.", nullptr},
    {"results", entry<getResults>, nullptr, "The results' types, as MLIR.",
     nullptr},
    {"device", entry<getDevice>, nullptr, "\"cpu\", \"cuda:0\".", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

static PyType_Slot functionSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocFunction)},
    {Py_tp_call, reinterpret_cast<void *>(entry<callFunction>)},
    {Py_tp_repr, reinterpret_cast<void *>(entry<reprFunction>)},
    {Py_tp_methods, functionMethods},
    {Py_tp_getset, functionMembers},
    {Py_tp_doc,
     const_cast<char *>(
         "A public function of an executable: f(*arguments, out=None, "
         "stream=None). Waits, without the GIL, unless it is given a stream to "
         "be ordered into, and may be called by many threads at once.")},
    {0, nullptr}};

static PyType_Spec functionSpec = {
    "gpu_async.Function", sizeof(Function), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, functionSlots};

PyObject *makeFunction(gpuasync_callable *callable, const char *name,
                       std::shared_ptr<Place> place) {
  std::unique_ptr<Signature> signature(new (std::nothrow) Signature);
  if (!signature) {
    gpuasync_status_free(gpuasync_callable_release(callable));
    return PyErr_NoMemory();
  }
  signature->callable = callable;
  signature->name = name;
  signature->place = std::move(place);
  auto describe = [&](size_t count, auto get,
                      std::vector<gpuasync_parameter> &list) {
    for (size_t i = 0; i < count; ++i) {
      gpuasync_parameter parameter = {};
      parameter.structSize = sizeof(parameter);
      gpuasync::Status status(get(callable, i, &parameter));
      if (!status.ok()) {
        raise(Error::Call, status);
        return false;
      }
      list.push_back(parameter);
    }
    return true;
  };
  if (!describe(gpuasync_callable_argument_count(callable),
                gpuasync_callable_argument, signature->arguments) ||
      !describe(gpuasync_callable_result_count(callable),
                gpuasync_callable_result, signature->results))
    return nullptr;
  for (const gpuasync_parameter &argument : signature->arguments)
    signature->donates |= argument.donated != 0;
  signature->donatesTo = "@" + signature->name;
  Function *self = PyObject_New(Function, functionType);
  if (self)
    self->signature = signature.release();
  return reinterpret_cast<PyObject *>(self);
}

bool initFunction(PyObject *module) {
  PyObject *type = PyType_FromSpec(&functionSpec);
  PyObject *call = PyType_FromSpec(&callSpec);
  functionType = reinterpret_cast<PyTypeObject *>(type);
  callType = reinterpret_cast<PyTypeObject *>(call);
  outName = PyUnicode_InternFromString("out");
  streamName = PyUnicode_InternFromString("stream");
  cudaStreamName = PyUnicode_InternFromString("__cuda_stream__");
  return type && call && outName && streamName && cudaStreamName &&
         PyModule_AddObjectRef(module, "Function", type) == 0;
}

} // namespace binding

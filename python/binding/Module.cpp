//===- Module.cpp - The module gpu_async._binding -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libgpuasync.so for Python; the package gpu_async is what its users see. Types
// and names are the process's: one interpreter uses it.
//===----------------------------------------------------------------------===//

#include "Abandoned.h"
#include "Arguments.h"
#include "Array.h"
#include "Compilation.h"
#include "Errors.h"
#include "Executable.h"
#include "Function.h"
#include "Operators.h"
#include "Trace.h"
#include "XlaCalls.h"

#include "gpuasync/Lapack.h"

#include <dlfcn.h>
#include <iterator>
#include <new>
#include <string>
#include <vector>

namespace binding {

static PyObject *devices(PyObject *, PyObject *) {
  struct Device {
    std::string device, name, arch, why;
    uint64_t bytes;
    bool available;
  };
  struct Devices {
    std::vector<Device> list;
    bool complete = true;
  } devices;
  {
    WithoutGil free;
    gpuasync_device_list(
        [](void *user, const char *device, const char *name, const char *arch,
           uint64_t bytes, const char *why) {
          auto text = [](const char *text) { return text ? text : ""; };
          auto *devices = static_cast<Devices *>(user);
          try {
            devices->list.push_back(
                {text(device), text(name), text(arch), text(why), bytes, !why});
          } catch (const std::bad_alloc &) {
            devices->complete = false; // an exception must not pass the library
          }
        },
        &devices);
  }
  if (!devices.complete)
    return PyErr_NoMemory();
  Ref result(PyList_New(0));
  for (const Device &each : devices.list) {
    Ref tuple(Py_BuildValue("(sssKz)", each.device.c_str(), each.name.c_str(),
                            each.arch.c_str(),
                            static_cast<unsigned long long>(each.bytes),
                            each.available ? nullptr : each.why.c_str()));
    if (!result || !tuple || PyList_Append(result.get(), tuple.get()) < 0)
      return nullptr;
  }
  return result.release();
}

/// libgpuasync_blas.so, which lies next to the runtime; null if it is not
/// there.
static void *openBlas() {
  Dl_info runtime;
  if (!dladdr(reinterpret_cast<void *>(&gpuasync_launch), &runtime))
    return nullptr;
  const std::string path = runtime.dli_fname;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const char *name : {"libgpuasync_blas.so", "libgpuasync_blas.so.0"})
    if (void *library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  return nullptr;
}

/// Gives functions of a LAPACK, capsules by their names, to
/// libgpuasync_blas.so. Returns None, or why programs cannot call LAPACK.
static PyObject *provideLapack(PyObject *, PyObject *capsules) {
  void *library = openBlas();
  if (!library)
    return PyUnicode_FromString("libgpuasync_blas.so is not next to the "
                                "runtime's library");
  auto *provide = reinterpret_cast<decltype(&gpuasync_lapack_provide)>(
      dlsym(library, "gpuasync_lapack_provide"));
  auto *whyNot = reinterpret_cast<decltype(&gpuasync_lapack_why_not)>(
      dlsym(library, "gpuasync_lapack_why_not"));
  if (!provide || !whyNot)
    return PyUnicode_FromString("libgpuasync_blas.so is of an older version");
  PyObject *key, *capsule;
  for (Py_ssize_t i = 0; PyDict_Next(capsules, &i, &key, &capsule);) {
    Ref name(PyUnicode_AsUTF8String(key));
    const char *text = name ? PyBytes_AsString(name.get()) : nullptr;
    if (!text)
      return nullptr;
    const char *signature = PyCapsule_GetName(capsule);
    void *function =
        PyErr_Occurred() ? nullptr : PyCapsule_GetPointer(capsule, signature);
    if (!function)
      return nullptr;
    if (provide(text, function))
      return PyErr_NoMemory();
  }
  const char *why = nullptr;
  {
    WithoutGil free;
    why = whyNot();
  }
  if (why)
    return PyUnicode_FromString(why);
  Py_RETURN_NONE;
}

/// Sets OPTIONS to the names of the options of gpuasync_compile.
static bool addOptionNames(PyObject *module) {
  enum : unsigned { Nobody = 0, Runner = 1, Library = 2 };
  struct Option {
    unsigned tools;
    const char *name;
  };
  static constexpr Option options[] = {
#define GPUASYNC_TOOL_OPTION(TYPE, MEMBER, NAME, DEFAULT, RANGE, CHANGES,      \
                             TOOLS, ...)                                       \
  {TOOLS, NAME},
#define GPUASYNC_OWN_OPTION(TYPE, MEMBER, NAME, DEFAULT, CHANGES, TOOLS, ...)  \
  {TOOLS, NAME},
#include "GPUAsync/Options.def"
  };
  Ref names(PyList_New(0));
  for (const Option &option : options) {
    if (!(option.tools & Library))
      continue;
    Ref name(PyUnicode_FromString(option.name));
    if (!names || !name || PyList_Append(names.get(), name.get()) < 0)
      return false;
  }
  return names && PyModule_AddObjectRef(module, "OPTIONS", names.get()) == 0;
}

/// The interpreter that imported the module.
static int64_t owner;

static int64_t interpreter() {
  return PyInterpreterState_GetID(PyInterpreterState_Get());
}

/// What a thread of another interpreter takes as the GIL is the first one's
/// state.
static PyObject *checkInterpreter(PyObject *, PyObject *) {
  if (interpreter() == owner)
    Py_RETURN_NONE;
  PyErr_SetString(PyExc_ImportError,
                  "another interpreter of this process uses gpu_async, which "
                  "is for one; import it there only, or in another process");
  return nullptr;
}

static PyMethodDef functions[] = {
    {"compile", entry<compile>, METH_VARARGS,
     "compile(program, name, device, options, source, report)\n--\n\nSee "
     "gpu_async.compile. The disk cache knows the program by the bytes "
     "`source`, None for its text."},
    {"load", entry<load>, METH_VARARGS,
     "load(name, device, options, source)\n--\n\nThe Executable that the disk "
     "cache knows by the bytes `source`, else None."},
    {"cache_folder", entry<cacheFolder>, METH_NOARGS,
     "cache_folder()\n--\n\nThe folder of the disk cache, empty if it is "
     "off."},
    {"take_cache_warning", entry<takeCacheWarning>, METH_NOARGS,
     "take_cache_warning()\n--\n\nThe one warning of the disk cache, else "
     "None."},
    {"wait_compilations", entry<waitCompilations>, METH_NOARGS,
     "wait_compilations()\n--\n\nWaits for compilations that were "
     "interrupted."},
    {"check_interpreter", checkInterpreter, METH_NOARGS,
     "check_interpreter()\n--\n\nAn ImportError in any interpreter but the "
     "first that imports the package."},
    {"devices", entry<devices>, METH_NOARGS,
     "devices()\n--\n\nSee gpu_async.devices."},
    {"memory_changed", entry<memoryChanged>, METH_O,
     "memory_changed(array)\n--\n\nSays that the host memory of an array has "
     "changed, or will be freed: functions upload it again for arguments with "
     "the attribute gpu_async.resident."},
    {"provide_lapack", entry<provideLapack>, METH_O,
     "provide_lapack(capsules)\n--\n\nGives functions of a LAPACK, a dict of "
     "capsules by their names, to programs. Returns None, or why programs "
     "cannot call LAPACK."},
    {"restore_array", entry<restoreArray>, METH_VARARGS,
     "restore_array(array, dtype)\n--\n\nThe Array of which a pickle was "
     "made."},
    {"weaken", entry<weaken>, METH_O,
     "weaken(array)\n--\n\nSets Array.weak_type, and returns the array."},
    {"xla_handler", entry<xlaHandler>, METH_NOARGS,
     "xla_handler()\n--\n\nThe capsule of the handler of custom calls, for "
     "jax.ffi.register_ffi_target."},
    {"wait_abandoned", entry<waitAbandoned>, METH_O,
     "wait_abandoned(timeout)\n--\n\nSee gpu_async.wait_abandoned."},
    {"trace_start", entry<startTrace>, METH_O,
     "trace_start(file)\n--\n\nSee gpu_async.trace."},
    {"trace_stop", entry<stopTrace>, METH_NOARGS,
     "trace_stop()\n--\n\nSee gpu_async.trace."},
    {"profile_rows", entry<listProfile>, METH_NOARGS,
     "profile_rows()\n--\n\nSee gpu_async.profile."},
    {nullptr, nullptr, 0, nullptr}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "gpu_async._binding",
                                 "libgpuasync.so for Python.",
                                 -1,
                                 functions,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

/// Adds the names of the kinds of devices as `device_kinds`.
static bool addDeviceKinds(PyObject *module) {
  Ref names(PyTuple_New(std::size(mlir::gpuasync::deviceKinds)));
  if (!names)
    return false;
  Py_ssize_t place = 0;
  for (const mlir::gpuasync::DeviceKind &kind : mlir::gpuasync::deviceKinds)
    if (PyTuple_SetItem(names.get(), place++,
                        PyUnicode_FromString(kind.device)) < 0)
      return false;
  return PyModule_AddObjectRef(module, "device_kinds", names.get()) == 0;
}

} // namespace binding

PyMODINIT_FUNC PyInit__binding() {
  using namespace binding;
  Ref module(PyModule_Create(&definition));
  if (!module || !initErrors() || !initArguments() ||
      !initArray(module.get()) || !initFunction(module.get()) ||
      !initExecutable(module.get()) || !addOptionNames(module.get()) ||
      !addDeviceKinds(module.get()))
    return nullptr;
  owner = interpreter();
  return module.release();
}

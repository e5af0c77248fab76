//===- Trace.cpp - Traces and profiles ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Trace.h.
//===----------------------------------------------------------------------===//

#include "Trace.h"
#include "Errors.h"

#include "GPUAsync-C/GPUAsync.h"
#include "gpuasync/Trace.h"

#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace binding {

/// None, or the status as an exception.
static PyObject *finish(const gpuasync::Status &status) {
  if (status.ok())
    Py_RETURN_NONE;
  raise(Error::Call, status);
  return nullptr;
}

/// How the runtime's message of a second trace begins.
static constexpr char running[] = "there is a trace already";

PyObject *startTrace(PyObject *, PyObject *file) {
  char *name = nullptr;
  // Without a place for the size, a null byte within the name is an error.
  if (file != Py_None && PyBytes_AsStringAndSize(file, &name, nullptr) < 0)
    return nullptr;
  // Opening a pipe waits for its reader.
  gpuasync::Status status = [name] {
    WithoutGil free;
    return gpuasync::Status(gpuasync_trace_start(name));
  }();
  // The runtime's message names a function of C.
  if (!std::strncmp(status.message(), running, std::strlen(running))) {
    raise(Error::Call, status.code(),
          "a gpu_async.trace or gpu_async.profile is running already; there "
          "is one at a time: leave its `with` first, or leave out "
          "GPU_ASYNC_TRACE");
    return nullptr;
  }
  return finish(status);
}

PyObject *stopTrace(PyObject *, PyObject *) {
  gpuasync::Status status = [] {
    WithoutGil free;
    // Work that has not run yet would be missing.
    gpuasync_status_free(gpuasync_queues_wait());
    return gpuasync::Status(gpuasync_trace_stop());
  }();
  return finish(status);
}

PyObject *listProfile(PyObject *, PyObject *) {
  struct Row {
    std::string kind, name, place;
    gpuasync_profile_row numbers;
  };
  struct Rows {
    std::vector<Row> list;
    bool complete = true;
  } rows;
  {
    WithoutGil free;
    gpuasync_profile_list(
        [](void *user, const gpuasync_profile_row *row) {
          auto *rows = static_cast<Rows *>(user);
          try {
            rows->list.push_back({row->kind, row->name, row->place, *row});
          } catch (const std::bad_alloc &) {
            rows->complete = false; // an exception must not pass the library
          }
        },
        &rows);
  }
  if (!rows.complete)
    return PyErr_NoMemory();
  Ref list(PyList_New(0));
  for (const Row &row : rows.list) {
    Ref name(textOf(row.name)), place(textOf(row.place));
    if (!name || !place)
      return nullptr;
    Ref tuple(Py_BuildValue("(sOOKKKKKK)", row.kind.c_str(), name.get(),
                            place.get(), (unsigned long long)row.numbers.calls,
                            (unsigned long long)row.numbers.totalNs,
                            (unsigned long long)row.numbers.leastNs,
                            (unsigned long long)row.numbers.mostNs,
                            (unsigned long long)row.numbers.bytes,
                            (unsigned long long)row.numbers.launches));
    if (!list || !tuple || PyList_Append(list.get(), tuple.get()) < 0)
      return nullptr;
  }
  return list.release();
}

} // namespace binding

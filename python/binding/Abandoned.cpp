//===- Abandoned.cpp - What calls that gave up were given -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Abandoned.h.
//===----------------------------------------------------------------------===//

#include "Abandoned.h"
#include "Errors.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

namespace binding {

namespace {

struct Kept {
  std::shared_ptr<Place> place; ///< null: any
  Ref owners;
  bool isUsed() const {
    return place
               ? place->hasAbandoned()
               : !gpuasync::Status(gpuasync_context_wait_abandoned(nullptr, 0))
                      .ok();
  }
};

/// Never destroyed: a process that ends keeps it.
std::vector<Kept> &keptList() {
  static auto *list = new std::vector<Kept>;
  return *list;
}

} // namespace

void keepAbandoned(std::shared_ptr<Place> place, Ref owners) {
  Kept kept{std::move(place), std::move(owners)};
  try {
    keptList().push_back(std::move(kept));
  } catch (const std::bad_alloc &) {
    (void)kept.owners.release(); // for ever, as work uses it
  }
}

void reapAbandoned() {
  std::vector<Kept> &list = keptList();
  if (list.empty())
    return;
  auto rest = std::partition(list.begin(), list.end(),
                             [](const Kept &kept) { return kept.isUsed(); });
  // Code of Python's may run when they go, and call functions of ours.
  std::vector<Kept> done(std::make_move_iterator(rest),
                         std::make_move_iterator(list.end()));
  list.erase(rest, list.end());
}

PyObject *waitAbandoned(PyObject *, PyObject *timeout) {
  double seconds = -1;
  if (timeout != Py_None) {
    seconds = PyFloat_AsDouble(timeout);
    if (seconds == -1 && PyErr_Occurred())
      return nullptr;
    if (std::isnan(seconds)) {
      PyErr_SetString(PyExc_ValueError, "timeout is not a number (NaN)");
      return nullptr;
    }
    seconds = std::max(seconds, 0.0);
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  while (true) {
    const double spent =
        std::chrono::duration<double>(Clock::now() - start).count();
    // Between them an interrupt of the user's counts.
    const double slice =
        seconds < 0 ? 0.1 : std::min(0.1, std::max(seconds - spent, 0.0));
    gpuasync::Status status = [slice] {
      WithoutGil free;
      return gpuasync::Status(gpuasync_context_wait_abandoned(nullptr, slice));
    }();
    if (status.ok())
      break;
    if (status.code() != GPUASYNC_TIMEOUT) {
      raise(Error::Call, status);
      return nullptr;
    }
    if (PyErr_CheckSignals() < 0)
      return nullptr;
    if (seconds >= 0 && spent >= seconds) {
      // The status tells of the last slice of the time.
      std::string text = status.message();
      if (size_t at = text.find(" waiting for"); at != std::string::npos) {
        char begin[64];
        snprintf(begin, sizeof(begin), "timed out after %g s", seconds);
        text.replace(0, at, begin);
      }
      Ref message(textOf(text.c_str()));
      if (message)
        PyErr_SetObject(PyExc_TimeoutError, message.get());
      return nullptr;
    }
  }
  reapAbandoned();
  Py_RETURN_NONE;
}

} // namespace binding

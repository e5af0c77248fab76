//===- Abandoned.h - What calls that gave up were given ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call that gives up leaves work on the device that uses its arrays. They are
// kept until that work is done, and let go of by a later call.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_ABANDONED_H
#define GPUASYNC_PYTHON_BINDING_ABANDONED_H

#include "Arguments.h"
#include "Python.h"

#include <memory>

namespace binding {

/// Keeps `owners` as long as work that calls have left unfinished at `place`
/// may use them, or with null anywhere. With the GIL.
void keepAbandoned(std::shared_ptr<Place> place, Ref owners);
/// Lets go of what nothing uses any more. Waits for nothing. With the GIL.
void reapAbandoned();

/// wait_abandoned(timeout)
PyObject *waitAbandoned(PyObject *module, PyObject *timeout);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_ABANDONED_H

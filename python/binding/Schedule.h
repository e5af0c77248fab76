//===- Schedule.h - Pictures of what functions do ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The class is that of gpu_async/schedules.py.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_SCHEDULE_H
#define GPUASYNC_PYTHON_BINDING_SCHEDULE_H

#include "Python.h"

#include "GPUAsync-C/GPUAsync.h"

namespace binding {

/// The gpu_async.Schedule of a function. Null after an error.
PyObject *makeSchedule(const gpuasync_callable *callable,
                       const std::string &name);
PyObject *makeSchedule(const gpuasync_executable *executable,
                       const std::string &name);

} // namespace binding

#endif // GPUASYNC_PYTHON_BINDING_SCHEDULE_H

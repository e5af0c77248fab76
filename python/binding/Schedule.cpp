//===- Schedule.cpp - Pictures of what functions do -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Schedule.h. All formats are drawn at once, so that a Schedule keeps
// nothing of the program. That is fast, and goes on with the GIL: without
// it another thread could release the executable.
//===----------------------------------------------------------------------===//

#include "Schedule.h"
#include "Errors.h"

#include <cstdlib>

namespace binding {

/// `draw` makes the text of a format, which free() takes.
template <typename Draw>
static PyObject *make(const std::string &name, Draw draw) {
  Ref arguments[4] = {Ref(textOf(name)), Ref(), Ref(), Ref()};
  const char *const formats[] = {"text", "dot", "svg"};
  for (size_t i = 0; i < 3; ++i) {
    struct Drawn {
      char *text = nullptr;
      ~Drawn() { std::free(text); }
    } drawn;
    gpuasync::Status status(draw(formats[i], &drawn.text));
    if (!status.ok()) {
      raise(Error::Call, status);
      return nullptr;
    }
    arguments[i + 1] = Ref(textOf(drawn.text));
    if (!arguments[i + 1])
      return nullptr;
  }
  Ref schedules(arguments[0] ? PyImport_ImportModule("gpu_async.schedules")
                             : nullptr);
  return schedules ? PyObject_CallMethod(schedules.get(), "Schedule", "OOOO",
                                         arguments[0].get(), arguments[1].get(),
                                         arguments[2].get(), arguments[3].get())
                   : nullptr;
}

PyObject *makeSchedule(const gpuasync_callable *callable,
                       const std::string &name) {
  return make(name, [&](const char *format, char **out) {
    return gpuasync_callable_schedule(callable, format, out);
  });
}

PyObject *makeSchedule(const gpuasync_executable *executable,
                       const std::string &name) {
  return make(name, [&](const char *format, char **out) {
    return gpuasync_executable_schedule(executable, name.c_str(), format, out);
  });
}

} // namespace binding

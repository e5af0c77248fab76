//===- Load.cpp - Loading modules before the first call -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Load.h.
//===----------------------------------------------------------------------===//

#include "shim/abi/Load.h"
#include "gpuasync/Context.h"
#include "shim/context/Entry.h"

using namespace gpuasync;

Status gpuasync::enterToLoad(const gpuasync_program &program,
                             gpuasync_context *context, const uint32_t *modules,
                             uint32_t count) {
  gpuasync_function function{};
  function.name = "load";
  function.file = program.name;
  function.program = &program;
  function.modules = modules;
  function.moduleCount = count;
  if (context)
    if (gpuasync_status *status = gpuasync_scope_push(context))
      return Status(status);
  gpuasync_frame frame;
  gpuasync_frame_enter(&frame, &function);
  Status status(gpuasync_frame_leave(&frame));
  if (context)
    gpuasync_scope_pop();
  return status;
}

extern "C" gpuasync_status *
gpuasync_program_load(const gpuasync_program *program,
                      gpuasync_context *context) noexcept {
  if (!program)
    return nullArgument("gpuasync_program_load").release();
  return entry([&] {
    std::vector<uint32_t> all(program->moduleCount);
    for (uint32_t i = 0; i < program->moduleCount; ++i)
      all[i] = i;
    return enterToLoad(*program, context, all.data(), program->moduleCount);
  });
}

//===- Launch.cpp - Kernel launches ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The warm launch: checks on the frame's own data, one driver call.
//===----------------------------------------------------------------------===//

#include "shim/abi/Commands.h"

#include <string.h>

using namespace gpuasync;

Status gpuasync::checkAnyBlock(const gpuasync_context &context,
                               const gpuasync_kernel &kernel,
                               const gpuasync_launch_config &block,
                               bool &empty) {
  int64_t least = INT64_MAX;
  for (int i = 0; i < 3; ++i) {
    least = block.grid[i] < least ? block.grid[i] : least;
    least = block.block[i] < least ? block.block[i] : least;
  }
  if (least < 0 || block.dynamicSharedBytes < 0)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "kernel '%s': negative size: grid %s, block %s, %jd "
                      "bytes of dynamic shared memory",
                      kernel.name, Sizes(block.grid).text,
                      Sizes(block.block).text, block.dynamicSharedBytes);
  empty = least == 0;
  if (kernel.paramCount != UINT32_MAX && block.paramBytes != kernel.paramBytes)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "kernel '%s' takes %u bytes in %u parameters, the launch "
                      "passes %u bytes",
                      kernel.name, kernel.paramBytes, kernel.paramCount,
                      block.paramBytes);
  bool clusters = false, whole = true;
  for (int i = 0; i < 3; ++i) {
    clusters |= block.cluster[i] > 1;
    whole &= block.cluster[i] >= 0 &&
             (block.cluster[i] <= 1 || block.grid[i] % block.cluster[i] == 0);
  }
  if (clusters && !context.has(CapClusters))
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "kernel '%s': %s has no thread block clusters",
                      kernel.name, context.device.c_str());
  if (!whole)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "kernel '%s': a grid of %s blocks is not made of whole "
                      "clusters of %s",
                      kernel.name, Sizes(block.grid).text,
                      Sizes(block.cluster).text);
  if ((block.flags & GPUASYNC_LAUNCH_COOPERATIVE) &&
      !context.has(CapCooperative) &&
      (block.grid[0] > 1 || block.grid[1] > 1 || block.grid[2] > 1))
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "kernel '%s': %s has no cooperative launches of several "
                      "blocks",
                      kernel.name, context.device.c_str());
  return Status();
}

Status gpuasync::putAwaitedLaunch(Frame &frame, Stream &stream,
                                  NativeFunction function,
                                  const gpuasync_kernel &kernel,
                                  const gpuasync_launch_config &block,
                                  const gpuasync_site *site) {
  Device &driver = *stream.use->device;
  // What else is put on a caller's stream nobody tells us.
  const bool signalsHost = !stream.external && !frame.capture &&
                           stream.use->context->has(CapFlagWait);
  Command command(function, kernel, block, site);
  if (!signalsHost || !stream.timeline.needSignal(driver.extensions.signals))
    return driver.submit(stream.native, command);
  Completion completion;
  completion.signal = stream.timeline.signalIndex();
  command.completion = &completion;
  RETURN_IF_ERROR(driver.submit(stream.native, command));
  stream.timeline.noteSignal(completion);
  return Status();
}

extern "C" void gpuasync_launch(gpuasync_frame *memory, gpuasync_stream *stream,
                                uint32_t siteIndex,
                                const gpuasync_launch_config *config) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !frame->owns(stream, site))
    return;
  frame->run(site, [&]() -> Status {
    if (__builtin_expect(!config || (config->paramBytes && !config->params), 0))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        config ? "null parameters" : "null launch config");
    RETURN_IF_ERROR(frame->flushBefore(*stream));
    return launchOn(*frame, *stream, *config, site);
  });
}

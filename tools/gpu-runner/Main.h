//===- Main.h - gpu-runner as a function ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program gpu-runner calls it, and the one in the wheel by libgpuasync.so.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_MAIN_H
#define GPUASYNC_TOOLS_GPURUNNER_MAIN_H

namespace gpurunner {

/// Runs the tool with these arguments, the first of which is its name. Returns
/// its exit code. Once a process.
int runMain(int argc, char **argv);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_MAIN_H

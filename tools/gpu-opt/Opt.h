//===- Opt.h - gpu-opt as a function ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program gpu-opt calls it, and the one in the wheel by libgpuasync.so.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPUOPT_OPT_H
#define GPUASYNC_TOOLS_GPUOPT_OPT_H

namespace gpuopt {

/// Runs the tool with these arguments, the first of which is its name.
/// Registers our passes; those of upstream the caller has registered. Returns
/// the exit code. Once a process.
int runMain(int argc, char **argv);

} // namespace gpuopt

#endif // GPUASYNC_TOOLS_GPUOPT_OPT_H

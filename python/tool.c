/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A command of the wheel: all of it is in libgpuasync.so, which has LLVM
 * inside.
 */

int GPUASYNC_TOOL(int argc, char **argv);

int main(int argc, char **argv) { return GPUASYNC_TOOL(argc, argv); }

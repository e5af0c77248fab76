//===- main.cpp - The program gpu-runner ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Main.h"

int main(int argc, char **argv) { return gpurunner::runMain(argc, argv); }

//===- Main.cpp - main of the tests of upstream's symbols -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where there is no CUDA, `cuda` is the fake library beside this program, with
// the test kernels as host functions.
//===----------------------------------------------------------------------===//

#include "Adversary.h"
#include "Kernels.h"
#include "mock/Mock.h"

#include <string.h>
#include <unistd.h>

using namespace gpuasync_test;

static void useMock() {
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
    abort();
  *strrchr(path, '/') = '\0';
  std::string library = std::string(path) + "/libmock_cuda.so";
  setenv("GPU_ASYNC_CUDA_LIBRARY", library.c_str(), 1);
  static Mock mock(library.c_str());
  static TestProgram program(0);
  mock.mock_kernels(program.cpu, NumKernels);
}

int main(int argc, char **argv) {
  initUnderAdversary(argc, argv);
  if (void *cuda = dlopen("libcuda.so.1", RTLD_LAZY)) {
    dlclose(cuda);
  } else {
    printf("no libcuda.so.1: `cuda` is the fake library\n");
    useMock();
  }
  return RUN_ALL_TESTS();
}

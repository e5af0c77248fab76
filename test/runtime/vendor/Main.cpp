//===- Main.cpp - main of the conformance suite of another vendor ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives the test kernels to the imaginary vendor in its own format.
//===----------------------------------------------------------------------===//

#include "Adversary.h"
#include "Fixture.h"
#include "vendor/Imaginary.h"

using namespace gpuasync_test;

std::vector<const char *> gpuasync_test::testedDevices() {
  return {"imaginary-on-cpu"};
}
Mock *gpuasync_test::mockOf(const std::string &) { return nullptr; }

static gpuasync_image makeImage(const gpuasync_cpu_kernel *kernels) {
  // All programs have the same image, as its hash says.
  static const std::string bytes = makeImaginaryImage(kernels, NumKernels);
  return {imaginaryFormat, 0, "img_1", bytes.data(), bytes.size(),
          {0x1234, 0x5678}};
}

int main(int argc, char **argv) {
  makeMoreImage = makeImage;
  initUnderAdversary(argc, argv);
  return RUN_ALL_TESTS();
}

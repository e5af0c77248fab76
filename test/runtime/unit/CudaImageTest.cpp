//===- CudaImageTest.cpp - Which image fits a chip ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of cubins and PTX, and why one does not fit, without a device.
//===----------------------------------------------------------------------===//

#include "drivers/cuda/CudaDriver.h"

#include <gtest/gtest.h>

#include <string.h>
#include <string>

using namespace gpuasync;
using gpuasync::cuda::CudaDriver;

namespace {

struct Chip {
  int32_t major, minor, driverVersion;
};

uint32_t rank(const Chip &chip, uint32_t format, const char *arch,
              std::string *why = nullptr, const char *text = "") {
  VendorLimits limits;
  limits.major = chip.major;
  limits.minor = chip.minor;
  limits.driverVersion = chip.driverVersion;
  gpuasync_image image = {format, 0, arch, text, strlen(text), {0, 0}};
  return CudaDriver().rank(limits, image, why);
}

constexpr Chip h100 = {9, 0, 12080}, ada = {8, 9, 12080};

// Exact machine code, then that of a lower minor version of the same major,
// then PTX, the newest one first. // L05
TEST(CudaImage, ExactThenLowerMinorThenPtx) {
  const std::pair<uint32_t, const char *> order[] = {
      {GPUASYNC_IMAGE_CUBIN, "sm_89"}, {GPUASYNC_IMAGE_CUBIN, "sm_86"},
      {GPUASYNC_IMAGE_CUBIN, "sm_80"}, {GPUASYNC_IMAGE_FATBIN, ""},
      {GPUASYNC_IMAGE_PTX, "sm_89"},   {GPUASYNC_IMAGE_PTX, "sm_80"},
      {GPUASYNC_IMAGE_PTX, "sm_52"}};
  uint32_t last = UINT32_MAX;
  for (auto &[format, arch] : order) {
    uint32_t here = rank(ada, format, arch);
    EXPECT_LT(here, last) << format << " " << arch;
    EXPECT_GT(here, 0u) << format << " " << arch;
    last = here;
  }
}

TEST(CudaImage, WhatDoesNotFitSaysWhy) {
  std::string why;
  auto misfit = [&](const Chip &chip, uint32_t format, const char *arch,
                    const char *text = "") {
    why.clear();
    EXPECT_EQ(rank(chip, format, arch, &why, text), 0u) << arch;
    return why;
  };
  EXPECT_EQ(misfit(h100, GPUASYNC_IMAGE_CUBIN, "sm_80"),
            "machine code of another major version");
  EXPECT_EQ(misfit({8, 6, 12080}, GPUASYNC_IMAGE_CUBIN, "sm_89"),
            "machine code of a newer chip");
  EXPECT_EQ(misfit(h100, GPUASYNC_IMAGE_PTX, "sm_100"), "for a newer chip");
  EXPECT_EQ(misfit(ada, GPUASYNC_IMAGE_PTX, "sm_80a"), "for that chip alone");
  EXPECT_EQ(misfit(h100, GPUASYNC_IMAGE_PTX, "sm_80f"), "for another family");
  EXPECT_EQ(misfit(h100, GPUASYNC_IMAGE_HSACO, "gfx942"), "not for CUDA");
  EXPECT_EQ(misfit(h100, GPUASYNC_IMAGE_PTX, "avx"), "not a CUDA architecture");
  EXPECT_EQ(misfit(h100, GPUASYNC_IMAGE_PTX, "sm_90",
                   "// made by hand\n.version 8.8\n.target sm_90\n"),
            "PTX version 8.8, the driver takes up to 8.7");
}

// PTX is no newer than the driver; a driver that we do not know is asked.
TEST(CudaImage, PtxNoNewerThanTheDriver) {
  const char *ptx85 = ".version 8.5\n", *ptx90 = ".version 9.0\n";
  auto fits = [](int32_t version, const char *text) {
    return rank({9, 0, version}, GPUASYNC_IMAGE_PTX, "sm_90", nullptr, text) >
           0;
  };
  EXPECT_FALSE(fits(12040, ptx85));
  EXPECT_TRUE(fits(12050, ptx85));
  EXPECT_TRUE(fits(12060, ptx85));
  EXPECT_FALSE(fits(12090, ptx90));
  EXPECT_TRUE(fits(13000, ptx90));
  EXPECT_TRUE(fits(14000, ".version 9.9\n"));
}

} // namespace

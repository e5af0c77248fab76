//===- HipImageTest.cpp - Code objects: which fits, what is in it ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice by target id, and the metadata reader over the runtime's own
// objects, whole, cut short and damaged.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "device/hip/HipDriver.h"
#include "device/vendor/BuiltinKernels.h"
#include "gtest/gtest.h"

#include <memory>
#include <random>
#include <stdlib.h>
#include <string.h>

using namespace gpuasync;
using hip::HipDriver;

namespace {
gpuasync_image image(const char *arch, uint32_t format = GPUASYNC_IMAGE_HSACO) {
  gpuasync_image result = {};
  result.format = format;
  result.arch = arch;
  return result;
}

uint32_t rank(const char *device, const char *arch) {
  VendorLimits limits;
  snprintf(limits.arch, sizeof(limits.arch), "%s", device);
  return HipDriver().rank(limits, image(arch));
}

/// A copy that ends where the bytes end, so that a sanitizer sees reads beyond.
int64_t countIn(std::string_view bytes, const char *kernel) {
  std::unique_ptr<char[]> copy(new char[bytes.size()]);
  memcpy(copy.get(), bytes.data(), bytes.size());
  gpuasync_image object = image("gfx90a");
  object.data = copy.get();
  object.size = bytes.size();
  return HipDriver().imageParamCount(object, kernel);
}

std::string_view builtinObject(size_t index) {
  const hip::BuiltinObject &object = hip::builtinObjects[index];
  return {object.data, object.bytes()};
}
} // namespace

TEST(HipImage, TargetIdsMatchByProcessorAndNamedFeatures) {
  const char *device = "gfx90a:sramecc+:xnack-";
  uint32_t any = rank(device, "gfx90a");
  uint32_t one = rank(device, "gfx90a:xnack-");
  uint32_t both = rank(device, "gfx90a:sramecc+:xnack-");
  EXPECT_GT(any, 0u);
  EXPECT_GT(one, any);
  EXPECT_GT(both, one);
  EXPECT_EQ(rank(device, "gfx90a:xnack+"), 0u);
  EXPECT_EQ(rank(device, "gfx90a:sramecc+:xnack+"), 0u);
  EXPECT_EQ(rank(device, "gfx90"), 0u);
  EXPECT_EQ(rank(device, "gfx90ab"), 0u);
  EXPECT_EQ(rank(device, "gfx942"), 0u);
  EXPECT_EQ(rank(device, ""), 0u);
  // A device without the feature takes no object that asks for a setting.
  EXPECT_EQ(rank("gfx1100", "gfx1100:xnack-"), 0u);
  EXPECT_GT(rank("gfx1100", "gfx1100"), 0u);
}

TEST(HipImage, OnlyCodeObjectsFit) {
  VendorLimits limits;
  strcpy(limits.arch, "sm_90");
  for (uint32_t format :
       {GPUASYNC_IMAGE_PTX, GPUASYNC_IMAGE_CUBIN, GPUASYNC_IMAGE_FATBIN})
    EXPECT_EQ(HipDriver().rank(limits, image("sm_90", format)), 0u);
}

TEST(HipImage, BuiltinKernelsAreThereForTheSupportedChips) {
  for (const char *device :
       {"gfx90a:sramecc+:xnack-", "gfx942:sramecc+:xnack-", "gfx1100"}) {
    VendorLimits limits;
    strcpy(limits.arch, device);
    gpuasync_image object;
    ASSERT_TRUE(HipDriver().builtinImage(limits, object)) << device;
    EXPECT_EQ(strncmp(device, object.arch, strlen(object.arch)), 0);
    for (uint32_t i = 0; i < BuiltinKernelCount; ++i)
      EXPECT_EQ(HipDriver().imageParamCount(object, builtinKernels()[i].name),
                int64_t(builtinKernels()[i].paramCount))
          << device;
    EXPECT_EQ(HipDriver().imageParamCount(object, "gpuasync_cop"), -1);
    EXPECT_EQ(HipDriver().imageParamCount(object, "gpuasync_copy.kd"), -1);
  }
  VendorLimits limits;
  strcpy(limits.arch, "gfx803");
  gpuasync_image object;
  EXPECT_FALSE(HipDriver().builtinImage(limits, object));
}

TEST(HipImage, WhatIsNoCodeObjectTellsNothing) {
  EXPECT_EQ(countIn("", "k"), -1);
  EXPECT_EQ(countIn(".version 8.0\n.target sm_90\n", "k"), -1);
  EXPECT_EQ(countIn(std::string(64, '\0'), "k"), -1);
}

TEST(HipImage, AnObjectCutShortIsNeverReadBeyondItsEnd) {
  std::string_view whole = builtinObject(0);
  for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    int64_t count = countIn(whole.substr(0, bytes), "gpuasync_fill");
    EXPECT_TRUE(count == -1 || count == 1) << bytes;
  }
}

TEST(HipImage, ADamagedObjectIsNeverReadBeyondItsEnd) {
  const uint32_t seed = gpuasync_test::testSeed();
  SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  std::string_view whole = builtinObject(0);
  // The headers and the note; what follows is code.
  const size_t readable = 0x510;
  int64_t told = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged(whole);
    for (unsigned i = 0, n = 1 + random() % 4; i < n; ++i)
      damaged[random() % readable] = char(random());
    told += countIn(damaged, "gpuasync_copy") == 1;
  }
  // Most of these bytes do not matter, so damage must not be all that is seen.
  EXPECT_GT(told, 0);
  EXPECT_LT(told, 20000);
}

//===- CudaImageTest.cpp - Which image fits a chip, what is in it ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of cubins and PTX, why one does not fit, and the parameters in a
// cubin, whole, cut short and damaged; without a device.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "device/cuda/CudaDriver.h"

#include <gtest/gtest.h>

#include <elf.h>
#include <memory>
#include <random>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

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

//===--- Cubins

/// A cubin as far as the runtime reads it: names of sections, then for each
/// kernel its records, then the table of sections.
std::string cubin(const std::vector<std::pair<std::string, int>> &kernels) {
  std::string names(1, '\0'), records;
  std::vector<Elf64_Shdr> sections(1);
  auto add = [&](const std::string &name, uint64_t offset, uint64_t size) {
    Elf64_Shdr section = {};
    section.sh_name = Elf64_Word(names.size());
    section.sh_offset = sizeof(Elf64_Ehdr) + offset;
    section.sh_size = size;
    sections.push_back(section);
    names += name + '\0';
  };
  for (auto &[name, parameters] : kernels) {
    size_t begin = records.size();
    records += std::string("\x03\x19\x40\x00", 4); // the size of all
    for (int i = 0; i < parameters; ++i)
      records += std::string("\x04\x17\x0c\x00", 4) + std::string(12, '\0');
    add(".nv.info." + name, begin, records.size() - begin);
  }
  add(".shstrtab", records.size(), 0);
  sections.back().sh_size = names.size();
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shoff = sizeof(header) + records.size() + names.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = Elf64_Half(sections.size());
  header.e_shstrndx = Elf64_Half(sections.size() - 1);
  std::string file(reinterpret_cast<char *>(&header), sizeof(header));
  file += records + names;
  file.append(reinterpret_cast<char *>(sections.data()),
              sections.size() * sizeof(Elf64_Shdr));
  return file;
}

/// A copy that ends where the bytes end, so that a sanitizer sees reads beyond.
int64_t countIn(const std::string &bytes, const char *kernel) {
  std::unique_ptr<char[]> copy(new char[bytes.size()]);
  memcpy(copy.get(), bytes.data(), bytes.size());
  return CudaDriver().imageParamCount(
      {GPUASYNC_IMAGE_CUBIN, 0, "sm_90", copy.get(), bytes.size(), {0, 0}},
      kernel);
}

TEST(CudaImage, ParametersCountedInACubin) {
  std::string file = cubin({{"one", 1}, {"fiveMore", 5}, {"five", 6}});
  EXPECT_EQ(countIn(file, "one"), 1);
  EXPECT_EQ(countIn(file, "five"), 6);
  EXPECT_EQ(countIn(file, "fiveMore"), 5);
  EXPECT_EQ(countIn(file, "fiv"), -1);
  // A size without descriptions is of records newer than ours.
  EXPECT_EQ(countIn(cubin({{"none", 0}}), "none"), -1);
  EXPECT_EQ(countIn("", "one"), -1);
  EXPECT_EQ(countIn(std::string(64, '\0'), "one"), -1);
}

TEST(CudaImage, ACubinCutShortOrDamagedIsNeverReadBeyondItsEnd) {
  const std::string whole = cubin({{"one", 1}, {"five", 5}});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_EQ(countIn(whole.substr(0, bytes), "five"), -1) << bytes;
  const uint32_t seed = gpuasync_test::testSeed();
  SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int64_t told = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged(whole);
    for (unsigned i = 0, n = 1 + random() % 4; i < n; ++i)
      damaged[random() % whole.size()] = char(random());
    told += countIn(damaged, "five") == 5;
  }
  EXPECT_GT(told, 0);
  EXPECT_LT(told, 20000);
}

} // namespace

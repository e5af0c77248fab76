//===- CudaImage.cpp - Which image fits a chip, what is in it -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice between cubins and PTX, and the number of parameters of a kernel
// read from the image itself.
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaDriver.h"
#include "shim/base/ElfFile.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <string>

using namespace gpuasync;
using namespace gpuasync::cuda;

namespace {
/// "sm_90a": version 9.0, suffix 'a'.
struct Arch {
  int major = 0, minor = 0;
  char suffix = 0;
};

bool parseArch(const char *text, Arch &arch) {
  const char *digits = strchr(text, '_');
  if (!digits)
    return false;
  int value = 0, count = 0;
  for (++digits; isdigit(static_cast<unsigned char>(*digits)); ++digits) {
    value = value * 10 + (*digits - '0');
    ++count;
  }
  if (count < 2 || count > 3)
    return false;
  arch.major = value / 10;
  arch.minor = value % 10;
  arch.suffix = *digits;
  return true;
}
} // namespace

/// The newest PTX that a driver takes, major version * 10 + minor, by the CUDA
/// version that it is for (PTX ISA reference, "Release Notes"); INT_MAX for a
/// driver newer than this list, which is then asked itself.
static int newestPtx(int driverVersion) {
  static const int known[][2] = {{12000, 80}, {12010, 81}, {12020, 82},
                                 {12030, 83}, {12040, 84}, {12050, 85},
                                 {12060, 85}, {12070, 86}, {12080, 87},
                                 {12090, 88}, {13000, 90}, {13010, 91}};
  for (auto &entry : known)
    if (driverVersion / 10 == entry[0] / 10)
      return entry[1];
  return INT_MAX;
}

/// The version that PTX says it is of, as above; 0 if it says none.
static int ptxVersionOf(const gpuasync_image &image) {
  std::string_view text(static_cast<const char *>(image.data), image.size);
  size_t at = text.find(".version");
  if (at == std::string_view::npos)
    return 0;
  int major = 0, minor = 0;
  // The text ends with a NUL.
  if (sscanf(text.data() + at, ".version %d.%d", &major, &minor) != 2)
    return 0;
  return major * 10 + minor;
}

// Code for "sm_90a" runs on version 9.0 alone, for "sm_100f" on its family (the
// same major version); plain machine code on its major version from its minor
// version on, plain PTX on everything from its version on.
uint32_t CudaDriver::rank(const VendorLimits &limits,
                          const gpuasync_image &image, std::string *why) const {
  auto misfit = [&](const std::string &reason) {
    if (why)
      *why = reason;
    return 0;
  };
  if (image.format == GPUASYNC_IMAGE_FATBIN)
    return 2000;
  if (image.format != GPUASYNC_IMAGE_CUBIN &&
      image.format != GPUASYNC_IMAGE_PTX)
    return misfit("not for CUDA");
  Arch arch;
  if (!image.arch || !parseArch(image.arch, arch))
    return misfit("not a CUDA architecture");
  bool exact = arch.major == limits.major && arch.minor == limits.minor;
  bool family = arch.major == limits.major && arch.minor <= limits.minor;
  bool older = arch.major < limits.major || family;
  uint32_t version = uint32_t(arch.major * 10 + arch.minor);
  bool fits = arch.suffix == 'a' ? exact : arch.suffix == 'f' ? family : older;
  if (image.format == GPUASYNC_IMAGE_CUBIN && !family)
    return misfit(arch.major != limits.major
                      ? "machine code of another major version"
                      : "machine code of a newer chip");
  if (!fits)
    return misfit(arch.suffix == 'a'   ? "for that chip alone"
                  : arch.suffix == 'f' ? "for another family"
                                       : "for a newer chip");
  // Of two for one version the one that may use more of the chip.
  uint32_t special = arch.suffix ? 1 : 0;
  if (image.format == GPUASYNC_IMAGE_CUBIN)
    return (exact ? 5000 : 4000) + 2 * version + special;
  int ptx = ptxVersionOf(image), newest = newestPtx(limits.driverVersion);
  if (ptx > newest)
    return misfit("PTX version " + std::to_string(ptx / 10) + "." +
                  std::to_string(ptx % 10) + ", the driver takes up to " +
                  std::to_string(newest / 10) + "." +
                  std::to_string(newest % 10));
  return 1000 + 2 * version + special;
}

bool CudaDriver::builtinImage(const VendorLimits &,
                              gpuasync_image &image) const {
  image = {};
  image.format = GPUASYNC_IMAGE_PTX;
  image.arch = "sm_52";
  image.data = builtinPtx().data();
  image.size = builtinPtx().size();
  return true;
}

/// Counts the `.param`s between the parentheses after `.entry KERNEL`.
static int64_t ptxParamCount(std::string_view ptx, std::string_view kernel) {
  size_t at = 0;
  const std::string_view entry = ".entry";
  auto isSpace = [](char c) { return isspace(static_cast<unsigned char>(c)); };
  while ((at = ptx.find(entry, at)) != std::string_view::npos) {
    at += entry.size();
    while (at < ptx.size() && isSpace(ptx[at]))
      ++at;
    if (ptx.compare(at, kernel.size(), kernel) != 0)
      continue;
    at += kernel.size();
    while (at < ptx.size() && isSpace(ptx[at]))
      ++at;
    if (at >= ptx.size())
      return -1;
    if (ptx[at] != '(') {
      // A longer name, or a kernel without a parameter list.
      if (ptx[at] == '{' || ptx[at] == '.')
        return 0;
      continue;
    }
    size_t end = ptx.find(')', at);
    if (end == std::string_view::npos)
      return -1;
    std::string_view list = ptx.substr(at, end - at);
    int64_t count = 0;
    for (size_t i = list.find(".param"); i != std::string_view::npos;
         i = list.find(".param", i + 1))
      ++count;
    return count;
  }
  return -1;
}

/// Counts the parameter records of a kernel's `.nv.info` section.
static int64_t cubinParamCount(std::string_view cubin, const char *kernel) {
  const ElfFile file(cubin);
  const std::string wanted = std::string(".nv.info.") + kernel;
  for (uint32_t i = 0; i < file.sectionCount(); ++i) {
    Elf64_Shdr section = file.section(i);
    std::string_view records = file.bytes(section);
    if (ElfFile::string(file.sectionNames(), section.sh_name) != wanted ||
        records.size() != section.sh_size)
      continue;
    // Records: format, attribute, 16-bit value; format 4 has that many bytes
    // after it. Attribute 0x17 describes one parameter, 0x19 has the size of
    // all; a size without descriptions is a format of records newer than ours.
    int64_t count = 0;
    unsigned total = 0;
    auto *at = reinterpret_cast<const unsigned char *>(records.data());
    const unsigned char *end = at + records.size();
    while (end - at >= 4) {
      unsigned format = at[0], attribute = at[1];
      unsigned value = unsigned(at[2]) | unsigned(at[3]) << 8;
      at += 4;
      if (format == 4) {
        count += attribute == 0x17;
        if (unsigned(end - at) < value)
          return -1;
        at += value;
      } else if (attribute == 0x19) {
        total = value;
      } else if (format < 1 || format > 3) {
        return -1; // A record that we do not know.
      }
    }
    return total && !count ? -1 : count;
  }
  return -1;
}

int64_t CudaDriver::imageParamCount(const gpuasync_image &image,
                                    const char *kernel) const {
  std::string_view bytes(static_cast<const char *>(image.data), image.size);
  if (image.format == GPUASYNC_IMAGE_PTX)
    return ptxParamCount(bytes, kernel);
  if (image.format == GPUASYNC_IMAGE_CUBIN)
    return cubinParamCount(bytes, kernel);
  return -1;
}

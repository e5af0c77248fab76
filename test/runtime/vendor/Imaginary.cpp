//===- Imaginary.cpp - A vendor that does not exist -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Imaginary.h.
//===----------------------------------------------------------------------===//

#include "vendor/Imaginary.h"

#include "device/DeviceWrapper.h"

#include <string.h>
#include <vector>

using namespace gpuasync;
using namespace gpuasync_test;

namespace {

//===--- Images: a word, and a table of functions that no other device can read

constexpr char magic[] = "imaginary";
constexpr char mask = 0x5a;

Status readImage(const gpuasync_module &module, const gpuasync_image &image,
                 std::vector<gpuasync_cpu_kernel> &kernels) {
  const std::string bytes(static_cast<const char *>(image.data), image.size);
  kernels.resize(module.kernelCount);
  const size_t tableBytes = kernels.size() * sizeof(kernels[0]);
  if (bytes.size() != sizeof(magic) + tableBytes ||
      memcmp(bytes.data(), magic, sizeof(magic)) != 0)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "module '%s': this is no imaginary image", module.name);
  std::string table = bytes.substr(sizeof(magic));
  for (char &byte : table)
    byte ^= mask;
  memcpy(kernels.data(), table.data(), tableBytes);
  return Status();
}

gpuasync_image plainImage(const gpuasync_module &module, const void *kernels) {
  gpuasync_image image = {};
  image.format = GPUASYNC_IMAGE_CPU;
  image.data = kernels;
  image.size = module.kernelCount * sizeof(gpuasync_cpu_kernel);
  return image;
}

class ImaginaryDevice final : public DeviceWrapper, ForeignWrapper {
public:
  explicit ImaginaryDevice(std::unique_ptr<Device> device)
      : DeviceWrapper(*device, extensionsOf(*device)), ForeignWrapper(*device),
        owned(std::move(device)) {}

  Status loadModule(const gpuasync_module &module, const gpuasync_image &image,
                    NativeModule &out, NativeFunction *functions) override {
    std::vector<gpuasync_cpu_kernel> kernels;
    if (Status status = readImage(module, image, kernels); !status.ok())
      return status;
    return inner.loadModule(module, plainImage(module, kernels.data()), out,
                            functions);
  }
  Status adoptModule(const gpuasync_module &module, const gpuasync_image &,
                     void *foreign, NativeModule &out,
                     NativeFunction *functions) override {
    return objects->adoptModule(module, plainImage(module, foreign), foreign,
                                out, functions);
  }

private:
  Extensions extensionsOf(Device &device) {
    Extensions all = device.extensions;
    all.foreign = this;
    return all;
  }
  std::unique_ptr<Device> owned;
};

class ImaginaryDriver final : public Driver {
public:
  ImaginaryDriver() : Driver(imaginaryVendor) {}

  Status available() override { return Status(); }
  int32_t deviceCount() override { return 2; }
  Status deviceInfo(int32_t ordinal, DeviceInfo &info) override {
    Status status = cpu().deviceInfo(0, info);
    snprintf(info.name, sizeof(info.name), "imaginary device %d", ordinal);
    snprintf(info.arch, sizeof(info.arch), "img_1");
    return status;
  }
  uint32_t imageRank(int32_t, const gpuasync_image &image,
                     std::string *why) override {
    if (image.format == imaginaryFormat && !strcmp(image.arch, "img_1"))
      return 1;
    if (why)
      *why = "not for imaginary devices";
    return 0;
  }
  Status openContext(int32_t, void *, std::unique_ptr<Device> &out) override {
    std::unique_ptr<Device> inner;
    Status status = cpu().openContext(0, nullptr, inner);
    if (status.ok())
      out = std::make_unique<ImaginaryDevice>(std::move(inner));
    return status;
  }

private:
  static Driver &cpu() { return vendorNamed("cpu")->driver(); }
};

const ImageFormat formats[] = {
    {imaginaryFormat, "figment", /*isFunctionTable=*/false}};

} // namespace

std::string
gpuasync_test::makeImaginaryImage(const gpuasync_cpu_kernel *kernels,
                                  uint32_t count) {
  std::string table(reinterpret_cast<const char *>(kernels),
                    count * sizeof(*kernels));
  for (char &byte : table)
    byte ^= mask;
  return std::string(magic, sizeof(magic)) + table;
}

const Vendor gpuasync_test::imaginaryVendor = {
    "imaginary", /*hasNumberedDevices=*/true, formats, 1,
    onlyDriver<ImaginaryDriver>};

const Vendor *const gpuasync::moreVendors[] = {&imaginaryVendor, nullptr};

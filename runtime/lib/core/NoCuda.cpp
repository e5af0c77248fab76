//===- NoCuda.cpp - Stands in until the cuda driver is there --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weak definition; the cuda driver's own takes its place.
//===----------------------------------------------------------------------===//

#include "core/Driver.h"

using namespace gpuasync;

namespace {
class NoCuda final : public Driver {
public:
  const char *name() const override { return "cuda"; }
  Status available() override {
    return makeStatus(GPUASYNC_UNAVAILABLE, "built without the cuda driver");
  }
  int32_t deviceCount() override { return 0; }
  Status deviceInfo(int32_t, DeviceInfo &) override { return available(); }
  Status openContext(int32_t, std::unique_ptr<DriverContext> &) override {
    return available();
  }
};
} // namespace

__attribute__((weak)) Driver *gpuasync::cudaDriver() {
  static Driver *driver = new NoCuda;
  return driver;
}

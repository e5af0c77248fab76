//===- VendorDriver.h - The driver object of cuda and hip -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Driver over a vendor's API: opens the library once, knows its devices, opens
// contexts.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DRIVERS_SHARED_VENDORDRIVER_H
#define GPUASYNC_DRIVERS_SHARED_VENDORDRIVER_H

#include "drivers/shared/VendorContext.h"

#include <mutex>

namespace gpuasync {

template <typename Api>
class VendorDriver final : public Driver {
public:
  const char *name() const override { return Api::name(); }

  Status available() override {
    std::call_once(once, [this] { open(); });
    return copyStatus(opened);
  }

  int32_t deviceCount() override { return available().ok() ? count : 0; }

  Status deviceInfo(int32_t ordinal, DeviceInfo &info) override {
    VendorDevice *device = nullptr;
    if (Status status = find(ordinal, device); !status.ok())
      return status;
    info = device->info;
    info.capabilities &= ~device->refuted.load();
    return Status();
  }

  Status openContext(int32_t ordinal, void *adopted,
                     std::unique_ptr<DriverContext> &out) override {
    VendorDevice *device = nullptr;
    if (Status status = find(ordinal, device); !status.ok())
      return status;
    auto context = std::make_unique<VendorContext<Api>>(*device);
    if (Status status = context->open(adopted); !status.ok())
      return status;
    out = std::move(context);
    return Status();
  }

  Status deviceOf(void *context, int32_t &ordinal) override {
    if constexpr (!Api::hasContexts)
      return Driver::deviceOf(context, ordinal);
    if (Status status = available(); !status.ok())
      return status;
    typename Api::Call call =
        Api::contextDevice(Api::toContext(context), ordinal);
    if (call.code == Api::success)
      return Status();
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the caller's context cannot be used: %s: %s", call.name,
                      Api::errorText(call.code));
  }

private:
  void open() {
    opened = Api::load();
    if (!opened.ok())
      return;
    int found = 0;
    typename Api::Call call = Api::deviceCount(found);
    if (call.code != Api::success || found <= 0) {
      opened = makeStatus(GPUASYNC_UNAVAILABLE,
                          "%s is unavailable: %s found %d devices", Api::name(),
                          call.name, found);
      return;
    }
    devices.reset(new VendorDevice[size_t(found)]);
    for (int i = 0; i < found; ++i)
      devices[i].ordinal = i;
    count = found;
  }

  Status find(int32_t ordinal, VendorDevice *&device) {
    if (Status status = available(); !status.ok())
      return status;
    if (ordinal < 0 || ordinal >= count)
      return makeStatus(GPUASYNC_UNAVAILABLE,
                        "there is no device %s:%d; this machine has %d "
                        "(%s:0 to %s:%d)",
                        Api::name(), ordinal, count, Api::name(), Api::name(),
                        count - 1);
    device = &devices[ordinal];
    std::call_once(device->once, [&] {
      device->trouble =
          Api::describeDevice(ordinal, device->info, device->limits);
    });
    return copyStatus(device->trouble);
  }

  std::once_flag once;
  Status opened;
  int32_t count = 0;
  std::unique_ptr<VendorDevice[]> devices;
};

} // namespace gpuasync

#endif // GPUASYNC_DRIVERS_SHARED_VENDORDRIVER_H

//===- ContextPools.cpp - A context's pools, and what they share ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ContextPools.h.
//===----------------------------------------------------------------------===//

#include "shim/pool/ContextPools.h"
#include "shim/process/Tracer.h"

using namespace gpuasync;

std::string Origin::text() const { return describeSite(site, label); }

std::string gpuasync::describeSite(const gpuasync_site *site,
                                   const std::string &label) {
  if (!site)
    return label.empty() ? "unknown" : label;
  std::string text;
  if (const char *file = gpuasync_site_file(site); *file)
    text = std::string(file) + ":" + std::to_string(site->line) + ":" +
           std::to_string(site->column) + ": ";
  return text + gpuasync_site_op(site);
}

static uint64_t nextContextId() {
  static std::atomic<uint64_t> next{0};
  return ++next;
}

std::string gpuasync::deviceName(Driver &driver, int32_t ordinal) {
  std::string name = driver.name();
  return driver.vendor.hasNumberedDevices || driver.deviceCount() > 1
             ? name + ":" + std::to_string(ordinal)
             : name;
}

ContextPools::ContextPools(gpuasync_context &context, Driver &driver,
                           int32_t ordinal)
    : kind(driver), ordinal(ordinal), id(nextContextId()),
      device(deviceName(driver, ordinal)), context(context) {}

void ContextPools::attach(Tracer &tracer) {
  if (!driver.traced())
    driver.surround(
        tracer.surround(*driver.own(), device.c_str(), has(CapVendorStreams)));
  driver.use(driver.traced());
}

ContextPools::~ContextPools() {
  gpuasync_status_free(lost.load());
  gpuasync_status_free(failure.load());
}

Status ContextPools::checkFailure() {
  gpuasync_status *first = failure.load(std::memory_order_acquire);
  return first ? makeStatus(GPUASYNC_DRIVER_ERROR, "%s",
                            gpuasync_status_get_message(first))
               : Status();
}

void ContextPools::noteFailure(const char *error) {
  gpuasync_status *expected = nullptr;
  Status kept = makeStatus(GPUASYNC_DRIVER_ERROR, "%s", error);
  if (failure.compare_exchange_strong(expected, kept.get()))
    (void)kept.release();
}

Status ContextPools::checkLost() {
  gpuasync_status *first = lost.load(std::memory_order_acquire);
  return first ? makeStatus(
                     GPUASYNC_DEVICE_LOST,
                     "the device was lost for this process; first report: %s",
                     gpuasync_status_get_message(first))
               : Status();
}

Status ContextPools::noteFault(Status status) {
  if (__builtin_expect(status.ok(), 1) || status.code() != GPUASYNC_DEVICE_LOST)
    return status;
  if (lost.load(std::memory_order_acquire))
    return status;
  Status kept = copyStatus(status);
  gpuasync_status *expected = nullptr;
  if (lost.compare_exchange_strong(expected, kept.get()))
    (void)kept.release();
  return status;
}

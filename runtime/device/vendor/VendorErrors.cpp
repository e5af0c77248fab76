//===- VendorErrors.cpp - From a vendor's codes to statuses ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each code means, the words of messages, and the loss of a device.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorContext.h"

using namespace gpuasync;

/// Codes that both vendors have. With HIP a process rarely survives a fault: by
/// default the runtime below it prints a memory access fault and aborts.
static const VendorError errors[] = {
    {ErrorOutOfMemory, GPUASYNC_OUT_OF_MEMORY},
    {ErrorDeinitialized, GPUASYNC_SHUT_DOWN},
    {ErrorNoDevice, GPUASYNC_UNAVAILABLE},
    {ErrorNotFound, GPUASYNC_NOT_FOUND},
    {ErrorNoBinaryForGpu, GPUASYNC_NOT_FOUND},
    {ErrorNotSupported, GPUASYNC_UNSUPPORTED},
    {ErrorInvalidValue, GPUASYNC_INVALID_ARGUMENT},
    {ErrorInvalidPtx, GPUASYNC_INVALID_ARGUMENT},
    {ErrorLaunchOutOfResources, GPUASYNC_INVALID_ARGUMENT},
    {ErrorCooperativeLaunchTooLarge, GPUASYNC_INVALID_ARGUMENT},
    {ErrorEccUncorrectable, GPUASYNC_DEVICE_LOST},
    {ErrorIllegalAddress, GPUASYNC_DEVICE_LOST},
    {ErrorLaunchTimeout, GPUASYNC_DEVICE_LOST},
    {ErrorAssert, GPUASYNC_DEVICE_LOST},
    {ErrorLaunchFailed, GPUASYNC_DEVICE_LOST}};

static uint32_t meaningOf(const VendorFacts &facts, int code) {
  for (const VendorError &error : errors)
    if (error.code == code)
      return error.status;
  for (uint32_t i = 0; i < facts.errorCount; ++i)
    if (facts.errors[i].code == code)
      return facts.errors[i].status;
  return GPUASYNC_DRIVER_ERROR;
}

bool VendorDriver::losesDevice(int code) const {
  return meaningOf(facts, code) == GPUASYNC_DEVICE_LOST;
}

uint32_t VendorDriver::statusCode(int code) const {
  uint32_t status = meaningOf(facts, code);
  return status == GPUASYNC_DEVICE_LOST ? uint32_t(GPUASYNC_DRIVER_ERROR)
                                        : status;
}

const char *VendorDriver::entryName(VendorEntry entry) const {
  for (uint32_t i = 0; i < facts.symbols.count; ++i)
    if (facts.symbols.begin[i].entry == entry)
      return facts.symbols.nameOf(facts.symbols.begin[i]);
  return nullptr;
}

const char *VendorDriver::errorName(int code) const {
  const char *text = nullptr;
  return table.errorName && table.errorName(code, &text) == Success && text
             ? text
             : facts.unknownError;
}

const char *VendorDriver::errorText(int code) const {
  const char *text = nullptr;
  return table.errorText && table.errorText(code, &text) == Success && text
             ? text
             : "unknown error";
}

void VendorDriver::describe(VendorCall call, char *out, size_t bytes) const {
  snprintf(out, bytes, "%s: %s (%d): %s", entryName(call.entry),
           errorName(call.code), call.code, errorText(call.code));
}

Status VendorContext::error(VendorCall call, const char *detail) {
  const char *name = driver.entryName(call.entry);
  if (processIsExiting())
    return makeStatus(GPUASYNC_SHUT_DOWN, "%s: the process is exiting", name);
  char report[400];
  driver.describe(call, report, sizeof(report));
  if (driver.losesDevice(call.code) && device.loss.report(report))
    return makeStatus(GPUASYNC_DEVICE_LOST,
                      "%s%s; the device is lost for this process", report,
                      detail);
  if (device.loss.lost())
    return makeStatus(
        GPUASYNC_DEVICE_LOST,
        "%s: the device is lost for this process; first report: %s", name,
        device.loss.firstReport());
  return makeStatus(driver.statusCode(call.code), "%s%s", report, detail);
}

void VendorContext::note(VendorCall call) noexcept {
  if (!call.ok() && driver.losesDevice(call.code))
    (void)error(call);
}

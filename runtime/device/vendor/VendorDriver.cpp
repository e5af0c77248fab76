//===- VendorDriver.cpp - The driver object of cuda and hip ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening the library and asking its devices what they are.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorDriver.h"

#include "device/vendor/VendorContext.h"

using namespace gpuasync;

Status VendorDriver::available() {
  loadLibrary();
  std::lock_guard<std::mutex> lock(mutex);
  if (!settled) {
    bool final = true;
    opened = open(final);
    settled = final;
  }
  return copyStatus(opened);
}

void VendorDriver::loadLibrary() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (loaded)
      return;
  }
  // Each thread that comes meanwhile loads, which gives the same library.
  VendorTable found{};
  Status status = guard([&] { return load(found); });
  if (status.ok())
    libraryLoaded();
  std::lock_guard<std::mutex> lock(mutex);
  if (loaded)
    return;
  table = found;
  settled = !status.ok();
  opened = std::move(status);
  loaded = true;
}

Status VendorDriver::load(VendorTable &found) const {
  void *library = nullptr;
  RETURN_IF_ERROR(openVendorLibrary(facts.title, facts.libraryVariable,
                                    facts.libraryPaths, library));
  return resolveVendorSymbols(facts.title, library, facts.symbols, found,
                              facts.findSymbol);
}

Status VendorDriver::open(bool &final) {
  int version = 0;
  VendorCall call = VENDOR_CALL(driverVersion, &version);
  if (call.ok() && version < facts.leastVersion)
    return makeStatus(
        GPUASYNC_UNAVAILABLE,
        "%s is unavailable: %s %d.%d, %d.0 is the least that serves",
        facts.title, facts.versionOf, version / facts.majorUnit,
        version % facts.majorUnit / facts.minorUnit,
        facts.leastVersion / facts.majorUnit);
  // What a library has before its version is as good as not there.
  for (uint32_t i = 0; call.ok() && i < facts.symbols.count; ++i)
    if (facts.symbols.begin[i].version > version)
      setEntry(table, facts.symbols.begin[i].entry, nullptr);
  if (call.ok())
    call = VENDOR_CALL(init, 0);
  if (call.ok() && !armed) {
    armExitFlag();
    armed = true;
  }
  int found = 0;
  if (call.ok())
    call = VENDOR_CALL(deviceCount, &found);
  if (!call.ok()) {
    char report[400];
    describe(call, report, sizeof(report));
    // No memory, too many processes: what the system lacks now it may have
    // later. Devices do not come.
    final = call.code == ErrorNoDevice;
    return makeStatus(GPUASYNC_UNAVAILABLE, "%s is unavailable: %s",
                      facts.title, report);
  }
  if (found <= 0)
    return makeStatus(GPUASYNC_UNAVAILABLE,
                      "%s is unavailable: %s found %d devices", name(),
                      entryName(call.entry), found);
  devices.reset(new VendorDevice[size_t(found)]);
  for (int i = 0; i < found; ++i)
    devices[i].ordinal = i;
  count = found;
  return Status();
}

Status VendorDriver::find(int32_t ordinal, VendorDevice *&device) {
  RETURN_IF_ERROR(available());
  if (ordinal < 0 || ordinal >= count)
    return makeStatus(GPUASYNC_UNAVAILABLE,
                      "there is no device %s:%d; this machine has %d "
                      "(%s:0 to %s:%d)",
                      name(), ordinal, count, name(), name(), count - 1);
  device = &devices[ordinal];
  // What fails may go better the next time.
  std::lock_guard<std::mutex> lock(device->mutex);
  Status status = device->known ? Status() : describeDevice(*device);
  device->known = status.ok();
  return status;
}

bool VendorDriver::hasGraphs() const {
  bool nodes = table.graphAddKernel
                   ? table.graphKernelAttribute && table.graphAddCopy &&
                         table.graphSetKernel && table.graphSetCopy
                   : table.graphAddKernelOf && table.graphAddCopyOfKind &&
                         table.graphSetKernelOf && table.graphSetCopyOfKind;
  return nodes && table.graphCreate && table.graphInstantiate &&
         table.graphUpload && table.graphSetEnabled && table.graphLaunch &&
         table.graphExecDestroy && table.graphDestroy;
}

Status VendorDriver::describeDevice(VendorDevice &device) const {
  DeviceInfo &info = device.info;
  VendorLimits &limits = device.limits;
  VendorCall call = identify(device);
  size_t bytes = 0;
  if (call.ok())
    call = VENDOR_CALL(deviceMemory, &bytes, device.handle);
  info.memoryBytes = bytes;
  int version = 0;
  if (call.ok())
    call = VENDOR_CALL(driverVersion, &version);
  limits.driverVersion = version;
  info.driverVersion = uint32_t(version);
  // Remembers the first failure.
  auto attribute = [&](int which) {
    int value = 0;
    if (call.ok() && which)
      call = VENDOR_CALL(deviceAttribute, &value, which, device.handle);
    return uint32_t(value);
  };
  const auto &attributes = facts.attributes;
  for (int i = 0; i < 3; ++i) {
    limits.maxGrid[i] = attribute(attributes.maxGridX + i);
    limits.maxBlock[i] = attribute(attributes.maxBlockX + i);
  }
  limits.maxSharedBytes = attribute(attributes.maxSharedBytes);
  limits.maxPitch = attribute(attributes.maxPitch);
  info.multiprocessors = attribute(attributes.multiprocessors);
  limits.managed = attribute(attributes.managed);
  limits.readOnlyRegister = attribute(attributes.readOnlyRegister);
  info.capabilities = CapVendorStreams;
  if (attribute(attributes.cooperative) &&
      (table.launchExtended || table.launchCooperative))
    info.capabilities |= CapCooperative;
  if (attribute(attributes.clusters) && table.launchExtended)
    info.capabilities |= CapClusters;
  if (attribute(attributes.pools) && table.poolCreate && table.poolDestroy &&
      table.poolSetAttribute && table.poolTrim && table.allocFromPool &&
      table.freeAsync)
    info.capabilities |= CapStreamOrderedAlloc;
  if (table.streamWriteValue &&
      (!attributes.flagWait || attribute(attributes.flagWait)))
    info.capabilities |= CapFlagWait;
  if (hasGraphs())
    info.capabilities |= CapGraphs;
  // Everything here relies on one address space.
  bool unified =
      !attributes.unifiedAddressing || attribute(attributes.unifiedAddressing);
  if (!call.ok()) {
    char report[400];
    describe(call, report, sizeof(report));
    return makeStatus(statusCode(call.code), "%s", report);
  }
  if (!unified)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "%s device %d (%s) has no unified addressing", name(),
                      device.ordinal, info.name);
  return Status();
}

Status VendorDriver::deviceInfo(int32_t ordinal, DeviceInfo &info) {
  VendorDevice *device = nullptr;
  RETURN_IF_ERROR(find(ordinal, device));
  info = device->info;
  return Status();
}

uint32_t VendorDriver::imageRank(int32_t ordinal, const gpuasync_image &image,
                                 std::string *why) {
  VendorDevice *device = nullptr;
  Status status = find(ordinal, device);
  if (status.ok())
    return rank(device->limits, image, why);
  if (why)
    *why = status.message();
  return 0;
}

Status VendorDriver::openContext(int32_t ordinal, void *adopted,
                                 std::unique_ptr<Device> &out) {
  VendorDevice *device = nullptr;
  RETURN_IF_ERROR(find(ordinal, device));
  auto context = std::make_unique<VendorContext>(*this, *device);
  RETURN_IF_ERROR(context->open(adopted));
  out = std::move(context);
  return Status();
}

Status VendorDriver::deviceOf(void *context, int32_t &ordinal) {
  if (!entryName(VendorEntry::contextDevice))
    return Driver::deviceOf(context, ordinal);
  RETURN_IF_ERROR(available());
  uint64_t id = 0;
  void *previous = nullptr;
  int device = 0;
  VendorCall call = contextId(table, context, id);
  if (call.ok())
    call = currentContext(table, previous);
  if (call.ok())
    call = setCurrentContext(table, context);
  if (call.ok()) {
    call = VENDOR_CALL(contextDevice, &device);
    (void)setCurrentContext(table, previous);
  }
  ordinal = device;
  if (call.ok())
    return Status();
  return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                    "the caller's context cannot be used: %s: %s",
                    entryName(call.entry), errorText(call.code));
}

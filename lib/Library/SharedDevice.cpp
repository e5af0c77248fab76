//===- SharedDevice.cpp - Devices that executables share ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See SharedDevice.h.
//===----------------------------------------------------------------------===//

#include "Library/SharedDevice.h"

#include "Execution/DeviceStart.h"
#include "GPUAsync/DeviceKinds.h"

#include "gpuasync/Program.h"

#include <map>
#include <mutex>

using namespace llvm;
using namespace gpuexec;

/// A status is one line; the list of devices, a line each, goes into it with
/// what separates them.
static Error inOneLine(Error error) {
  const uint32_t code = DeviceError::codeOf(error, GPUASYNC_INVALID_ARGUMENT);
  SmallVector<StringRef> lines;
  std::string text = toString(std::move(error));
  StringRef(text).split(lines, '\n');
  std::string line = lines.front().str();
  for (StringRef next : drop_begin(lines)) {
    line += line.back() == ':' ? " " : "; ";
    // A device's line begins with its name.
    auto [name, rest] = next.ltrim().split(' ');
    line +=
        next.starts_with(" ") ? (name + ": " + rest.ltrim()).str() : next.str();
  }
  return make_error<DeviceError>(code, line);
}

/// Whether the context refuses calls since it was closed, by a caller or by the
/// shutdown.
static bool isClosed(const SharedDevice &device) {
  if (gpuasync_process_forked() || gpuasync_process_exiting())
    return false;
  // Changes nothing: an open context refuses the flags.
  gpuasync::Status status(
      gpuasync_modules_limit(device.context.get(), 0, 0, ~uint32_t(0)));
  return status.code() == GPUASYNC_SHUT_DOWN;
}

/// The device, unless its context was closed: the next user opens another one.
static std::shared_ptr<SharedDevice>
lockOpen(const std::weak_ptr<SharedDevice> &known) {
  std::shared_ptr<SharedDevice> device = known.lock();
  return device && !isClosed(*device) ? device : nullptr;
}

namespace {
/// By all names that were asked for. Never destroyed, as executables may live
/// until exit.
struct OpenDevices {
  static OpenDevices &get() {
    static auto *devices = new OpenDevices;
    return *devices;
  }
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<SharedDevice>> byName;
};
} // namespace

Expected<std::shared_ptr<SharedDevice>> gpuexec::openDevice(StringRef name) {
  OpenDevices &open = OpenDevices::get();
  std::lock_guard<std::mutex> lock(open.mutex);
  std::weak_ptr<SharedDevice> &known = open.byName[name.str()];
  if (std::shared_ptr<SharedDevice> device = lockOpen(known))
    return device;
  DeviceStart start(name.str(), "device ",
                    "gpuasync_device_list; in Python ga.devices()");
  Expected<std::vector<std::string>> targets = start.targets();
  if (!targets)
    return inOneLine(targets.takeError());
  Expected<gpuasync::Context> context = start.context();
  if (!context)
    return inOneLine(context.takeError());
  // One device has several names, "auto" and "cpu" say. Its programs share what
  // calls that gave up have left on it.
  std::weak_ptr<SharedDevice> &same =
      open.byName[gpuasync_context_device(context->get())];
  if (std::shared_ptr<SharedDevice> device = lockOpen(same)) {
    known = device;
    return device;
  }
  auto device = std::make_shared<SharedDevice>();
  device->context = std::move(*context);
  device->targets = std::move(*targets);
  auto [kind, number] =
      StringRef(gpuasync_context_device(device->context.get())).split(':');
  device->isCpu = kind == mlir::gpuasync::cpuDevice.device;
  (void)number.getAsInteger(10, device->ordinal);
  device->queue =
      std::make_shared<DeviceQueue>(device->context.get(), device->ordinal);
  known = same = device;
  return device;
}

gpuasync::Status gpuexec::waitForQueues(int32_t ordinal) {
  SmallVector<std::shared_ptr<SharedDevice>, 2> devices;
  if (!gpuasync_process_forked()) {
    OpenDevices &open = OpenDevices::get();
    std::lock_guard<std::mutex> lock(open.mutex);
    for (auto &[name, known] : open.byName)
      if (std::shared_ptr<SharedDevice> device = known.lock())
        if (!device->isCpu &&
            (ordinal == GPUASYNC_HOST || device->ordinal == ordinal) &&
            device->queue->isOpen() && !is_contained(devices, device))
          devices.push_back(std::move(device));
  }
  for (const std::shared_ptr<SharedDevice> &device : devices) {
    Ready reached(*device->queue);
    gpuasync::Status status = device->queue->mark(reached);
    if (status.ok())
      status = reached.wait();
    if (!status.ok())
      return status;
  }
  return gpuasync::Status();
}

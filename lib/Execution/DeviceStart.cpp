//===- DeviceStart.cpp - Starting the driver while compiling --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See DeviceStart.h.
//===----------------------------------------------------------------------===//

#include "Execution/DeviceStart.h"

#include "GPUAsync/DeviceKinds.h"
#include "Kernels/Common/Environment.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <chrono>
#include <cstdlib>

using namespace llvm;
using mlir::gpuasync::cpuDevice;
using mlir::gpuasync::DeviceKind;
using mlir::gpuasync::deviceKinds;
using mlir::gpuasync::findDeviceKind;

namespace gpuexec {

char DeviceError::ID = 0;

uint32_t DeviceError::codeOf(Error &error, uint32_t other) {
  uint32_t code = other;
  error = handleErrors(std::move(error),
                       [&code](std::unique_ptr<DeviceError> device) -> Error {
                         code = device->code;
                         return Error(std::move(device));
                       });
  return code;
}

std::vector<Device> allDevices() {
  std::vector<Device> devices;
  gpuasync_device_list(
      [](void *user, const char *device, const char *name, const char *arch,
         uint64_t memoryBytes, const char *why) {
        static_cast<std::vector<Device> *>(user)->push_back(
            {device, name ? name : "", arch ? arch : "", why ? why : "",
             memoryBytes});
      },
      &devices);
  return devices;
}

void printDevice(raw_ostream &os, const Device &device) {
  os << left_justify(device.device, 8);
  if (!device.why.empty()) {
    os << "unavailable: " << device.why;
    return;
  }
  os << device.name;
  if (!device.arch.empty())
    os << ", " << device.arch;
  if (device.memoryBytes)
    os << ", " << format("%.1f GiB", double(device.memoryBytes) / (1u << 30));
}

/// --device, or for "auto" what GPU_ASYNC_DEVICE says.
static std::string resolve(StringRef device) {
  if (device.empty() || device == "auto")
    if (auto named = mlir::gpuasync::getVariable("GPU_ASYNC_DEVICE"))
      return *named;
  return device.str();
}

std::vector<std::string> DeviceStart::knownTargets(StringRef device) {
  if (resolve(device) == cpuDevice.device)
    return {cpuDevice.target};
  return {};
}

/// The targets of the device that the runtime will open.
static std::vector<std::string> targetsOf(StringRef wanted,
                                          ArrayRef<Device> devices) {
  std::string named = resolve(wanted);
  StringRef name = named;
  for (const Device &device : devices) {
    const DeviceKind *kind = findDeviceKind(device.device);
    if (!device.why.empty() ||
        !(name.empty() || name == "auto" || name == device.device ||
          (kind && name == kind->device)))
      continue;
    if (!kind || !kind->hasChips() || device.arch.empty())
      return {cpuDevice.target};
    return {std::string(kind->target) + ":" + device.arch};
  }
  return {};
}

/// "cuda:1" for "cuda" or "auto", of the second process; processes share GPUs
/// only where there are too few. Else as it is.
static std::string ofProcess(StringRef wanted, ArrayRef<Device> devices,
                             unsigned local) {
  std::string named = resolve(wanted);
  StringRef name = named;
  std::vector<StringRef> alike;
  StringRef of;
  for (const Device &device : devices) {
    const DeviceKind *kind = findDeviceKind(device.device);
    if (!device.why.empty() || !kind || !(of.empty() || of == kind->device) ||
        !(name.empty() || name == "auto" || name == kind->device))
      continue;
    if (!kind->hasChips() && of.empty())
      return wanted.str();
    of = kind->device;
    alike.push_back(device.device);
  }
  return alike.empty() ? wanted.str() : alike[local % alike.size()].str();
}

DeviceStart::DeviceStart(std::string device, std::string what,
                         std::string listing, unsigned local)
    : wanted(std::move(device)), what(std::move(what)),
      listing(std::move(listing)), local(local) {
  Error refused = thread.start([this] { run(); });
  if (!refused)
    return;
  consumeError(std::move(refused));
  run();
}

DeviceStart::~DeviceStart() {
  if (thread.isJoinable())
    thread.join();
}

void DeviceStart::run() {
  auto begin = std::chrono::steady_clock::now();
  // The cpu device does not need the drivers of the others.
  std::vector<std::string> targets = knownTargets(wanted);
  std::vector<Device> found;
  if (targets.empty()) {
    found = allDevices();
    if (local)
      wanted = ofProcess(wanted, found, local);
    targets = targetsOf(wanted, found);
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    devices = std::move(found);
    compile = std::move(targets);
    listed = true;
  }
  changed.notify_all();
  gpuasync::Context context;
  gpuasync::Status result = gpuasync::Context::open(wanted.c_str(), context);
  std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - begin;
  // For its message.
  if (!result.ok() && knownTargets(wanted).size())
    found = allDevices();
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (devices.empty())
      devices = std::move(found);
    open = std::move(context);
    status = std::move(result);
    tookMs = took.count();
    opened = true;
  }
  changed.notify_all();
}

/// "; did you mean cuda:1?" where a device has a name that is nearly `text`.
static std::string suggestDevice(StringRef text) {
  auto [kind, number] =
      text.take_until([](char c) { return c == '\''; }).split(':');
  if (kind.equals_insensitive("gpu"))
    return "; auto is the first GPU there is, else the cpu";
  StringRef nearest;
  unsigned least = 2;
  SmallVector<StringRef> names = {"auto"};
  for (const DeviceKind &known : deviceKinds)
    names.push_back(known.device);
  for (StringRef known : names) {
    unsigned distance = kind.edit_distance_insensitive(known);
    // Of two that are equally near, the longer one has more in common.
    if (distance < least ||
        (distance == least && known.size() > nearest.size())) {
      least = distance;
      nearest = known;
    }
  }
  // Two letters of three are not enough, and the number may be what is wrong.
  if (nearest.empty() || kind == nearest || least + 1 >= nearest.size())
    return "";
  unsigned ordinal = 0;
  bool isNumbered = nearest != "auto" && !number.getAsInteger(10, ordinal);
  return "; did you mean " + nearest.str() +
         (isNumbered ? ":" + number.str() : "") + "?";
}

Error DeviceStart::error() {
  std::string asked = resolve(wanted);
  StringRef said = status.message();
  // A variable with a wrong value has nothing to do with the option, nor with
  // other devices where its own is there.
  bool ofVariable = said.starts_with("GPU_ASYNC_");
  std::string message;
  if (!ofVariable)
    message = (asked == wanted ? what : "GPU_ASYNC_DEVICE=") + asked + ": ";
  message += said;
  if (said.contains("is no device"))
    message += suggestDevice(ofVariable ? said.split('\'').second : asked);
  if (ofVariable && !targetsOf(wanted, devices).empty())
    return make_error<DeviceError>(status.code(), message);
  raw_string_ostream os(message);
  os << "\nthe devices are:";
  for (const Device &device : devices) {
    os << "\n  ";
    // The libraries that were tried stand above, if they are the reason, and
    // make a long text.
    if (device.why.empty())
      printDevice(os, device);
    else if (message.find(device.why) != std::string::npos)
      os << left_justify(device.device, 8) << "unavailable, as said";
    else
      os << left_justify(device.device, 8) << "unavailable (why: " << listing
         << ")";
  }
  return make_error<DeviceError>(status.code(), message);
}

Expected<std::vector<std::string>> DeviceStart::targets() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return listed; });
  if (!compile.empty())
    return compile;
  // Why there is none, the runtime says.
  changed.wait(lock, [&] { return opened; });
  if (!status.ok())
    return error();
  return targetsOf(gpuasync_context_device(open.get()), devices);
}

Expected<gpuasync::Context> DeviceStart::context() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return opened; });
  if (!status.ok())
    return error();
  return std::move(open);
}

} // namespace gpuexec

//===- DeviceStart.h - Starting the driver while compiling ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread asks which devices there are and opens one: with CUDA that takes
// 200 ms, in which a program can be compiled.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_EXECUTION_DEVICESTART_H
#define GPUASYNC_LIB_EXECUTION_DEVICESTART_H

#include "Kernels/Common/Thread.h"
#include "gpuasync/Context.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace gpuexec {

struct Device {
  std::string device, name, arch, why;
  uint64_t memoryBytes;
};

/// Every device there is, and why a driver has none. Starts the drivers.
std::vector<Device> allDevices();
void printDevice(llvm::raw_ostream &os, const Device &device);

/// The error of a device that cannot be opened. Its message may have several
/// lines: the last ones list the devices.
class DeviceError : public llvm::ErrorInfo<DeviceError, llvm::StringError> {
public:
  static char ID;
  /// `code` is that of the runtime's status, GPUASYNC_UNAVAILABLE say.
  DeviceError(uint32_t code, const llvm::Twine &message)
      : ErrorInfo(message, llvm::inconvertibleErrorCode()), code(code) {}

  /// Returns the code of `error`, which stays as it is, or `other` if it is no
  /// DeviceError.
  static uint32_t codeOf(llvm::Error &error, uint32_t other);

  const uint32_t code;
};

class DeviceStart {
public:
  /// Starts opening `device`, as --device has it; where the system gives no
  /// thread, opens it. Messages begin with `what` and the device; `listing` is
  /// how the user lists the devices. A GPU without a number is that of the
  /// process, the `local`th one of this machine.
  DeviceStart(std::string device, std::string what, std::string listing,
              unsigned local = 0);
  /// Waits until the thread has ended.
  ~DeviceStart();
  DeviceStart(const DeviceStart &) = delete;
  DeviceStart &operator=(const DeviceStart &) = delete;

  /// What kernels for the device are compiled for, as far as that is known
  /// without waiting for a driver: for the cpu.
  static std::vector<std::string> knownTargets(llvm::StringRef device);
  /// The same for any device; waits until the devices are known. An error if
  /// the device does not exist.
  llvm::Expected<std::vector<std::string>> targets();
  /// Waits until the device is open. Once.
  llvm::Expected<gpuasync::Context> context();
  /// How long opening took, in milliseconds, once it has.
  double milliseconds() const { return tookMs; }

private:
  void run();
  /// Returns the DeviceError of a device that was not opened.
  llvm::Error error();

  std::string wanted; ///< constant once `listed`
  const std::string what, listing;
  const unsigned local;
  std::mutex mutex;
  std::condition_variable changed;
  bool listed = false, opened = false;
  std::vector<Device> devices; ///< constant once `listed`
  std::vector<std::string>
      compile;            ///< likewise; empty: there is no such device
  gpuasync::Context open; ///< these once `opened`
  gpuasync::Status status;
  double tookMs = 0;
  mlir::gpuasync::Thread thread;
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_EXECUTION_DEVICESTART_H

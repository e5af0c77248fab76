//===- SharedDevice.h - Devices that executables share ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens each device once a process. Executables and arrays share its context.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_SHAREDDEVICE_H
#define GPUASYNC_LIB_LIBRARY_SHAREDDEVICE_H

#include "Library/DeviceArrays.h"

#include "gpuasync/Context.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace gpuexec {

/// A context that executables and arrays of one device share, while there are
/// any.
struct SharedDevice {
  gpuasync::Context context;
  std::vector<std::string> targets;
  int32_t ordinal = 0;
  bool isCpu = false;
  std::shared_ptr<DeviceQueue> queue; ///< of calls that do not wait
};

/// Returns the device of that name, open. Thread safe.
llvm::Expected<std::shared_ptr<SharedDevice>> openDevice(llvm::StringRef name);

/// Waits for all work that the queues of devices have been given: of those of
/// one number, or with GPUASYNC_HOST of all.
gpuasync::Status waitForQueues(int32_t ordinal);

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_SHAREDDEVICE_H

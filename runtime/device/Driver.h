//===- Driver.h - One kind of device ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vendor as the core sees it: whether its library is there, its devices, how
// they are opened. The list of those that there are.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_DRIVER_H
#define GPUASYNC_DEVICE_DRIVER_H

#include "device/Device.h"
#include "device/Vendors.h"

namespace gpuasync {

/// One kind of device. A driver object is made once and never destroyed: no
/// destructor runs at exit.
class Driver {
public:
  explicit Driver(const Vendor &vendor) : vendor(vendor) {}

  const Vendor &vendor;
  const char *name() const { return vendor.name; } ///< "cuda"
  /// Opens the vendor library on the first call, once under racing threads. If
  /// there is none, or it lacks a required entry point, the result says so with
  /// every path tried (GPUASYNC_UNAVAILABLE). What only failed to initialise,
  /// for lack of memory or the like, is tried again at the next call.
  virtual Status available() = 0;
  /// Loads the vendor's library, of which available() tells. No lock is held
  /// meanwhile, as a thread in dlopen holds the loader's and may come here.
  virtual void loadLibrary() {}
  /// 0 if unavailable.
  virtual int32_t deviceCount() = 0;
  virtual Status deviceInfo(int32_t ordinal, DeviceInfo &info) = 0;
  /// How well an image fits a device: 0 not at all, and then `why`, unless
  /// null, receives the reason; the core takes the highest (exact cubin, then a
  /// lower minor version's of the same major, then the newest PTX that driver
  /// and chip take). No context is opened for it.
  virtual uint32_t imageRank(int32_t ordinal, const gpuasync_image &image,
                             std::string *why = nullptr) = 0;
  /// Opens a context: in `adopted`, a context of the caller's on that device;
  /// if that is null, in the primary one, retained, for cuda. The caller's
  /// current context stays as it is. [blocks]
  virtual Status openContext(int32_t ordinal, void *adopted,
                             std::unique_ptr<Device> &out) = 0;
  /// The device of a context of the caller's.
  virtual Status deviceOf(void *, int32_t &) {
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "%s has no contexts that could be adopted; open a device "
                      "by its name",
                      name());
  }
  /// Whether a context of this process, any one, has registered this memory, or
  /// is about to: it stays registered as long as that context counts on it.
  virtual bool hasRegistered(const void *) { return false; }

protected:
  ~Driver() = default;
};

/// See gpuasync_set_cpu_schedule.
Status setCpuSchedule(const char *schedule);

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_DRIVER_H

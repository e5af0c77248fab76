//===- VendorDriver.h - The driver object of cuda and hip -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Driver over a vendor's table: opens the library once, knows its devices,
// opens contexts. What differs between the vendors is VendorFacts, where it is
// numbers and names, and the functions that cuda/ and hip/ override.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_VENDOR_VENDORDRIVER_H
#define GPUASYNC_DEVICE_VENDOR_VENDORDRIVER_H

#include "device/vendor/VendorDevice.h"
#include "device/vendor/VendorGraph.h"
#include "device/vendor/VendorLibrary.h"

#include "shim/base/Uncancelled.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

namespace gpuasync {

/// A vendor's code and what it is for us: of gpuasync_status_code.
/// GPUASYNC_DEVICE_LOST: every call after it fails, for the whole process.
struct VendorError {
  int code;
  uint32_t status;
};

/// Constant data of a vendor.
struct VendorFacts {
  const char *title; ///< "CUDA"
  const char *libraryVariable;
  const char *const *libraryPaths;
  VendorSymbols symbols;
  /// The vendor's own lookup, or null.
  void *(*findSymbol)(void *library, const char *name, int version);

  /// The least version that serves, and how versions are numbered: one of
  /// `majorUnit` is 1.0, of `minorUnit` 0.1.
  int leastVersion, majorUnit, minorUnit;
  const char *versionOf; ///< "its library is of ROCm"

  /// Codes that the other vendor does not have, or means otherwise.
  const VendorError *errors;
  uint32_t errorCount;
  const char *unknownError; ///< the name of an error that has none

  /// Numbers of device attributes.
  struct {
    int maxBlockX, maxGridX; ///< Y and Z follow
    int maxSharedBytes, maxPitch, multiprocessors, managed, cooperative, pools;
    // 0 if there is nothing to ask.
    int clusters, readOnlyRegister, unifiedAddressing, flagWait;
  } attributes;

  unsigned eventFlags;
  uintptr_t launchParamEnd;
  /// A parameter of more bytes may lie elsewhere in the driver's buffer than in
  /// ours, and is passed by its address.
  size_t largestPackedParameter;
  /// Whether an executable graph may be destroyed while it runs, so that it may
  /// tell of its end itself.
  bool graphsOutliveLaunches;
};

/// Host memory that contexts of this process have registered with the vendor,
/// which knows a place once for all of them: the last context that lets go of
/// it unregisters it. Thread safe; no driver call is made under the lock.
class HostPlaces {
  struct Shared {
    uint64_t bytes;
    uint32_t count; ///< 0: the vendor could not unregister it
    bool busy;      ///< the vendor is being called: whoever finds it waits
  };
  using Places = std::map<char *, Shared>;

public:
  using Place = Places::node_type;

  /// One context more counts on this memory, if all of it is in one place.
  bool share(char *pointer, uint64_t bytes) {
    std::unique_lock<std::mutex> lock(mutex);
    auto found = find(pointer, bytes);
    for (; found != places.end() && found->second.busy;
         found = find(pointer, bytes)) {
      const Uncancelled uncancelled;
      settled.wait(lock);
    }
    if (found == places.end() || !isWithin(pointer, bytes, *found))
      return false;
    ++found->second.count;
    return true;
  }
  /// Memory for one context, for `begin`. Throws bad_alloc.
  static Place make(char *pointer, uint64_t bytes) {
    Places made;
    made[pointer] = {bytes, 1, true};
    return made.extract(made.begin());
  }
  /// The vendor is about to register the memory. Sets `added`; then `end`
  /// follows. Else a place of fewer bytes begins there, and the vendor refuses.
  /// Returns false if another context was faster: `share` has to look again.
  bool begin(Place &place, bool &added) noexcept {
    std::lock_guard<std::mutex> lock(mutex);
    char *const pointer = place.key();
    const uint64_t bytes = place.mapped().bytes;
    auto found = find(pointer, bytes);
    if (found != places.end() &&
        (found->second.busy || isWithin(pointer, bytes, *found)))
      return false;
    added = places.insert(std::move(place)).inserted;
    size.store(places.size(), std::memory_order_release);
    return true;
  }
  /// One context less. Returns the place to unregister if it was the last one;
  /// `end` follows. Null: others count on it.
  char *drop(char *pointer) noexcept {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = find(pointer, 1);
    if (found == places.end())
      return pointer;
    if (found->second.count && --found->second.count)
      return nullptr;
    found->second.busy = true;
    return found->first;
  }
  /// The vendor was called; `there`: it takes the place for registered.
  void end(char *pointer, bool there) noexcept {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = places.find(pointer);
    if (found == places.end())
      return; // the embedder's
    found->second.busy = false;
    if (!there)
      places.erase(found);
    size.store(places.size(), std::memory_order_release);
    settled.notify_all();
  }
  bool holds(const void *address) noexcept {
    uint64_t bytes = 0;
    return findPart(static_cast<const char *>(address), 1, bytes);
  }
  /// Returns the first place that has a part of the memory, or null.
  const void *findPart(const char *pointer, uint64_t length,
                       uint64_t &bytes) noexcept {
    if (!size.load(std::memory_order_acquire))
      return nullptr;
    std::lock_guard<std::mutex> lock(mutex);
    auto found = find(const_cast<char *>(pointer), length);
    if (found == places.end())
      return nullptr;
    bytes = found->second.bytes;
    return found->first;
  }

private:
  static bool isWithin(const char *pointer, uint64_t bytes,
                       const Places::value_type &place) {
    return place.first <= pointer &&
           pointer + bytes <= place.first + place.second.bytes;
  }
  Places::iterator find(char *pointer, uint64_t bytes) {
    auto after = places.upper_bound(pointer);
    if (after != places.begin())
      if (auto before = std::prev(after);
          before->first + before->second.bytes > pointer)
        return before;
    return after != places.end() && after->first < pointer + bytes
               ? after
               : places.end();
  }

  std::mutex mutex;
  std::condition_variable settled; ///< a place is busy no more
  Places places;                   ///< they do not overlap
  std::atomic<size_t> size{0};     ///< of `places`
};

class VendorDriver : public Driver {
public:
  const VendorFacts &facts;
  VendorTable table; ///< filled when the library is opened, constant after that

  Status available() override;
  void loadLibrary() override;
  int32_t deviceCount() override { return available().ok() ? count : 0; }
  Status deviceInfo(int32_t ordinal, DeviceInfo &info) override;
  uint32_t imageRank(int32_t ordinal, const gpuasync_image &image,
                     std::string *why) override;
  Status openContext(int32_t ordinal, void *adopted,
                     std::unique_ptr<Device> &out) override;
  Status deviceOf(void *context, int32_t &ordinal) override;
  bool hasRegistered(const void *address) override {
    return hostPlaces.holds(address);
  }

  //===--- Errors

  /// The vendor's name of an entry, null if only the other vendor has it.
  const char *entryName(VendorEntry entry) const;
  const char *errorName(int code) const;
  const char *errorText(int code) const;
  bool losesDevice(int code) const;
  /// Of gpuasync_status_code.
  uint32_t statusCode(int code) const;
  /// "cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected".
  void describe(VendorCall call, char *out, size_t bytes) const;

  //===--- What each vendor does in its own way

  /// The device's handle, name and architecture.
  virtual VendorCall identify(VendorDevice &device) const = 0;
  /// imageRank for a device of such limits.
  virtual uint32_t rank(const VendorLimits &limits, const gpuasync_image &image,
                        std::string *why = nullptr) const = 0;
  /// The number of parameters that `kernel` has in the image, -1 if the image
  /// does not tell. The driver itself is not asked: it could only be asked for
  /// one parameter too many, and checking tools report that as an error.
  virtual int64_t imageParamCount(const gpuasync_image &image,
                                  const char *kernel) const = 0;
  /// False if there are no built-in kernels for the device.
  virtual bool builtinImage(const VendorLimits &limits,
                            gpuasync_image &image) const = 0;
  /// On failure `log` holds what the driver's compiler said, in one line.
  virtual VendorCall loadImage(const gpuasync_image &image,
                               ModuleHandle &module, char *log,
                               size_t logBytes) const = 0;
  /// A launch with flags or clusters; the parameters come in one of two ways.
  virtual VendorCall launchExtended(FunctionHandle function,
                                    StreamHandle stream,
                                    const gpuasync_kernel &kernel,
                                    const gpuasync_launch_config &block,
                                    void **parameters, void **extra) const = 0;
  virtual VendorCall copyRows(void *destination, size_t destinationPitch,
                              const void *source, size_t sourcePitch,
                              size_t width, size_t height,
                              StreamHandle stream) const = 0;
  virtual VendorCall pointerKind(const void *pointer,
                                 PointerKind &kind) const = 0;
  virtual VendorCall addKernelNode(GraphNodeHandle &out, GraphHandle graph,
                                   const GraphNodeHandle *after, size_t count,
                                   const VendorKernelNode &kernel) const = 0;
  /// The kernel `node`, which waits itself, is made ready when all blocks of
  /// the kernels `after` run, or when they come to their ends; called where
  /// there is an entry for it.
  enum class Ready { WhenTheyRun, WhenTheyEnd };
  virtual VendorCall addOverlappingEdges(GraphHandle, GraphNodeHandle,
                                         const GraphNodeHandle *, size_t,
                                         Ready) const {
    return {ErrorNotSupported, VendorEntry::graphAddEdges};
  }
  /// Flags and clusters of a launch; called where there is an entry for them.
  virtual VendorCall extendKernelNode(GraphNodeHandle, FunctionHandle,
                                      const gpuasync_launch_config &) const {
    return {ErrorNotSupported, VendorEntry::graphKernelAttribute};
  }
  virtual VendorCall setKernelNode(GraphExecHandle executable,
                                   GraphNodeHandle node,
                                   const VendorKernelNode &kernel) const = 0;
  virtual VendorCall addCopyNode(GraphNodeHandle &out, GraphHandle graph,
                                 const GraphNodeHandle *after, size_t count,
                                 void *destination, const void *source,
                                 size_t bytes, void *context) const = 0;
  virtual VendorCall setCopyNode(GraphExecHandle executable,
                                 GraphNodeHandle node, void *destination,
                                 const void *source, size_t bytes,
                                 void *context) const = 0;

  HostPlaces hostPlaces;

protected:
  VendorDriver(const Vendor &vendor, const VendorFacts &facts)
      : Driver(vendor), facts(facts) {}
  ~VendorDriver() = default;

private:
  /// Called after the library was loaded, with no lock held. More than one
  /// thread may call it.
  virtual void libraryLoaded() const {}
  /// Opens the library and looks its entry points up.
  Status load(VendorTable &found) const;
  /// Starts the driver, whose table is filled. `final`: another try would come
  /// to the same.
  Status open(bool &final);
  Status find(int32_t ordinal, VendorDevice *&device);
  Status describeDevice(VendorDevice &device) const;
  bool hasGraphs() const;

  std::mutex mutex;    ///< guards what follows, until it is settled
  bool loaded = false; ///< the library, or it is known that there is none
  bool settled = false;
  bool armed = false; ///< the flag of exit
  Status opened;
  int32_t count = 0;
  std::unique_ptr<VendorDevice[]> devices;
};

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_VENDOR_VENDORDRIVER_H

//===- Service.h - Parts that the shim can do without -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A service adds to the runtime: statistics, traces, limits on modules. It
// learns of rare events by the functions of this class, and has the entries of
// its own. A runtime without it works, on streams.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_PROCESS_SERVICE_H
#define GPUASYNC_SHIM_PROCESS_SERVICE_H

#include "shim/base/StatusImpl.h"

struct gpuasync_context;

namespace gpuasync {

class ImageLinker;
struct Entering;
struct Frame;
struct Instance;
class Text;

/// The part that a service keeps for one context or one instance.
class ServicePart {
public:
  virtual ~ServicePart() = default;
};

/// A service overrides the functions that it needs. Each service is one
/// constant object.
class Service {
public:
  //===--- The process

  /// Opens the library of whom the environment has listen. No other thread
  /// waits for this one, since the loader's lock may be taken.
  virtual Status openListeners() const { return Status(); }
  /// Begins to listen as the environment says. Once, after the former. No
  /// context is open.
  virtual Status startListening() const { return Status(); }
  /// Makes ready what linkImage needs, a library perhaps. A driver calls it
  /// when it loads its own library, with no lock held.
  virtual void prepareLinks() const noexcept {}
  /// Loads the code that was kept for the image, else links the image and keeps
  /// the code. Returns false if nothing is loaded: nothing is to be kept, or
  /// the driver refused.
  virtual bool linkImage(ImageLinker &) const noexcept { return false; }

  //===--- Contexts

  /// A context is being made. It has no device yet.
  virtual Status contextOpening(gpuasync_context &) const { return Status(); }
  /// Nothing of the context runs, and no frame begins meanwhile, but
  /// `entering` (null: none).
  virtual void contextQuiescent(gpuasync_context &, const Entering *) const {}
  /// The context gives everything to the driver next. All work has ended, or
  /// the device is lost.
  virtual void contextEnding(gpuasync_context &) const {}

  /// Adds to the statistics, as members of an object of JSON.
  virtual void writeStats(gpuasync_context &, Text &) const noexcept {}

  //===--- Programs and frames

  /// The instance loses all its modules next, since its program is released or
  /// the context ends. No frame is on it.
  virtual void instanceEnding(Instance &) const {}
  /// The instance has lost a module. The context rests and its poolMutex is
  /// held.
  virtual void moduleTaken(Instance &) const {}
  /// Modules that were taken are unloaded next. No lock is held.
  virtual void modulesUnloading(gpuasync_context &) const {}
  /// Work of the frame is captured into a graph of the caller's. The frame has
  /// one device.
  virtual void frameCaptured(Frame &) const {}

protected:
  constexpr Service() = default;
  ~Service() = default;
};

/// Returns the one object of a service.
using GetService = const Service &() noexcept;
/// The services of this runtime; null is the end.
extern GetService *const services[];

/// Calls `visit(const Service &)` with each service.
template <typename Visitor>
void forEachService(Visitor visit) {
  for (GetService *const *each = services; *each; ++each)
    visit((*each)());
}

} // namespace gpuasync

#endif // GPUASYNC_SHIM_PROCESS_SERVICE_H

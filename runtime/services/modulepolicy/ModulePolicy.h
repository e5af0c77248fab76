//===- ModulePolicy.h - Limits, eviction and hooks of modules ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Says which modules of a context stay loaded, and calls the embedder's hooks.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SERVICES_MODULEPOLICY_MODULEPOLICY_H
#define GPUASYNC_SERVICES_MODULEPOLICY_MODULEPOLICY_H

#include "shim/context/ContextImpl.h"

namespace gpuasync {

class ContextModulePolicy final : public ModulePolicy {
public:
  explicit ContextModulePolicy(gpuasync_context &context)
      : context(context), cache(context.modules) {}
  /// Returns the policy of a context; each has one.
  static ContextModulePolicy &of(gpuasync_context &context) {
    return static_cast<ContextModulePolicy &>(*context.modules.policy);
  }

  struct Limits {
    uint64_t bytes = UINT64_MAX, entries = UINT64_MAX;
    bool keep = false;
  };
  /// Reads the limits that the environment gives.
  Status readSettings();
  void setLimits(const Limits &limits);
  void setMaker(std::shared_ptr<ModuleMaker> maker);

  const std::shared_ptr<ModuleMaker> &maker() const override { return used; }
  bool isBeyondLimits(uint64_t extraBytes) const override {
    return cache.entries.size() > limits.entries ||
           cache.bytes > limits.bytes ||
           extraBytes > limits.bytes - cache.bytes;
  }
  bool keepsUnheld() const override { return limits.keep; }
  bool makeRoom(const Entering &entering, uint64_t bytes,
                bool everything) override;

  /// See gpuasync_modules_insert. The context is current.
  Status insert(const Registration &registration, uint32_t index,
                const gpuasync_image &image);
  /// Marks everything that is loaded for unloading; returns how many were not
  /// marked before.
  uint64_t markReleased();
  /// Whether trim has something to do.
  bool wantsTrim();
  /// Unloads what is marked, and the least recently used ones beyond the limits
  /// with `extraBytes` more, as far as they are not in use. Nothing of the
  /// context runs, in a Pause; `entering` is the frame that the thread is about
  /// to begin, or null. `everything`: as if the limits were 0.
  void trim(const Entering *entering, uint64_t extraBytes = 0,
            bool everything = false);

private:
  gpuasync_context &context;
  ModuleCache &cache;
  //===--- With the cache's mutex held
  std::shared_ptr<ModuleMaker> used;
  Limits limits;
};

} // namespace gpuasync

#endif // GPUASYNC_SERVICES_MODULEPOLICY_MODULEPOLICY_H

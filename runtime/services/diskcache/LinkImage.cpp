//===- LinkImage.cpp - Machine code of images on disk ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The service behind device/ImageLinker.h.
//===----------------------------------------------------------------------===//

#include "device/ImageLinker.h"
#include "shim/diskcache/Interface.h"
#include "shim/process/Service.h"

using namespace gpuasync;

static gpuasync_digest keyOf(const LinkFacts &facts) {
  const gpuasync_image &image = *facts.image;
  return KeyBuilder()
      .add("job", "machine code of PTX, 1")
      .add("driver", facts.driverVersion)
      // The file that the driver is.
      .addCode(facts.driverCode)
      .add("major", facts.major)
      .add("minor", facts.minor)
      .add(facts.format, {static_cast<const char *>(image.data), image.size})
      .key();
}

namespace {
class DiskCacheService final : public Service {
  void prepareLinks() const noexcept override {
    (void)gpuasync_disk_cache_default();
  }
  bool linkImage(ImageLinker &linker) const noexcept override {
    gpuasync_disk_cache *cache = gpuasync_disk_cache_default();
    LinkFacts facts;
    if (!*cache->folder() || !linker.describe(facts))
      return false;
    const gpuasync_digest key = keyOf(facts);
    DiskEntry entry;
    if (entry.lookup(cache, key) && linker.load(entry.bytes().data()))
      return true;
    const void *code = nullptr;
    size_t bytes = 0;
    // Only code that the driver takes back is worth keeping.
    if (!linker.link(code, bytes) || !linker.load(code))
      return false;
    cache->store(key, code, bytes);
    return true;
  }
};
} // namespace

namespace gpuasync {
const Service &diskCacheService() noexcept {
  static constexpr DiskCacheService service;
  return service;
}
} // namespace gpuasync

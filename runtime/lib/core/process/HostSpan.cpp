//===- HostSpan.cpp - What a host thread does, for who listens ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See HostSpan.h.
//===----------------------------------------------------------------------===//

#include "core/process/HostSpan.h"

#include "core/process/Tracer.h"

using namespace gpuasync;

std::atomic<uint32_t> gpuasync::listeners{0};
std::atomic<Tracer *> gpuasync::tracer{nullptr};

Place::Place(const gpuasync_site *site) {
  if (!site)
    return;
  file = gpuasync_site_file(site);
  line = site->line;
  column = site->column;
}

void HostSpan::beginHeard(HostKind kind, const char *name,
                          const Place &place) noexcept {
  if (Tracer *used = tracer.load(std::memory_order_acquire))
    used->beginSpan(*this, kind, name, place);
}

void HostSpan::endHeard(HostKind kind, const char *name, const Place &place,
                        const char *played) noexcept {
  tracer.load(std::memory_order_acquire)
      ->endSpan(*this, kind, name, place, played);
}

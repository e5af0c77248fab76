//===- HostSpan.cpp - What a host thread does, for who listens ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See HostSpan.h.
//===----------------------------------------------------------------------===//

#include "shim/process/HostSpan.h"

#include "shim/process/Tracer.h"

using namespace gpuasync;

std::atomic<uint32_t> gpuasync::listeners{0};
std::atomic<Tracer *> gpuasync::tracer{nullptr};

static Tracer &theTracer() { return *tracer.load(std::memory_order_acquire); }

void HostSpan::beginHeard(HostKind kind, const char *name,
                          const Place &place) noexcept {
  theTracer().beginSpan(*this, kind, name, place);
}

void HostSpan::endHeard(HostKind kind, const char *name, const Place &place,
                        const char *played) noexcept {
  theTracer().endSpan(*this, kind, name, place, played);
}

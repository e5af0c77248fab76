//===- CallerStack.cpp - Room on the calling thread's stack ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See CallerStack.h.
//===----------------------------------------------------------------------===//

#include "device/cpu/CallerStack.h"

#include <pthread.h>

using namespace gpuasync;
using namespace gpuasync::cpu;

namespace {

/// Beside a kernel's variables: registers that it spills, functions of the C
/// library that it calls, and the runtime's own frames.
constexpr uintptr_t reserve = 64 << 10;

/// Where the thread's stack is. Nothing lies between equal addresses.
struct Bounds {
  uintptr_t low, high;
  bool isKnown;
};
__thread Bounds bounds __attribute__((tls_model("initial-exec")));

__attribute__((noinline)) void findBounds() {
  bounds.isKnown = true;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return;
  void *low;
  size_t bytes;
  if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
    bounds.low = reinterpret_cast<uintptr_t>(low);
    bounds.high = bounds.low + bytes;
  }
  (void)pthread_attr_destroy(&attributes);
}

} // namespace

bool cpu::hasStack(uint32_t stackBytes) noexcept {
  if (__builtin_expect(!bounds.isKnown, 0))
    findBounds();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > bounds.low && here <= bounds.high &&
         here - bounds.low >= stackBytes + reserve && stackBytes != UINT32_MAX;
}

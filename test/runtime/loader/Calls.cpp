//===- Calls.cpp - A library that calls the test under the loader's lock --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dlopen holds the loader's lock while it runs initialisers, and dlclose while
// it runs destructors. The test says what to call there by the environment.
//===----------------------------------------------------------------------===//

#include <stdint.h>
#include <stdlib.h>

static void callTest(const char *variable) {
  const char *address = getenv(variable);
  if (!address)
    return;
  auto body =
      reinterpret_cast<void (*)()>(uintptr_t(strtoull(address, nullptr, 16)));
  body();
}

__attribute__((constructor)) static void initialise() {
  callTest("GPUASYNC_TEST_INITIALISER");
}
__attribute__((destructor)) static void destroy() {
  callTest("GPUASYNC_TEST_DESTRUCTOR");
}

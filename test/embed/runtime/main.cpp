//===- main.cpp - The installed runtime from an outside project -*- C++ -*-===//
//
// Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens the CPU device, and gets an error as a value for one that isn't there.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"

#include <cstdio>

int main() {
  if (gpuasync_abi_version() != GPUASYNC_ABI_VERSION) {
    std::puts("header and library do not fit");
    return 1;
  }
  {
    gpuasync::Context cpu;
    gpuasync::Status status = gpuasync::Context::open("cpu", cpu);
    if (!status.ok()) {
      std::puts("no cpu device");
      return 1;
    }
    std::printf("device: %s\n", gpuasync_context_device(cpu.get()));
  }

  gpuasync_context *none = nullptr;
  gpuasync_status *error = gpuasync_context_open("no-such-device", &none);
  if (!error) {
    std::puts("opened a device that does not exist");
    return 1;
  }
  std::printf("error as a value: %s\n", gpuasync_status_get_message(error));
  gpuasync_status_free(error);

  error = gpuasync_shutdown();
  return error != nullptr;
}

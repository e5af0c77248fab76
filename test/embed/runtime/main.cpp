//===- main.cpp - The installed runtime from an outside project -*- C++ -*-===//
//
// Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens the CPU device, gets an error as a value for one that isn't there, and
// keeps bytes in a disk cache.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "gpuasync/DiskCache.h"

#include <cstdio>
#include <cstdlib>
#include <string>

/// What an embedder does around a compile job of its own.
static bool keepsBytes() {
  char folder[] = "/tmp/embed-runtime-XXXXXX";
  if (!mkdtemp(folder))
    return false;
  std::string inside = std::string(folder) + "/cache";
  gpuasync_disk_cache *cache =
      gpuasync_disk_cache_open(inside.c_str(), 1 << 20);
  gpuasync_digest key =
      gpuasync::KeyBuilder().addCode().add("input", "text").key();
  gpuasync::DiskEntry entry;
  bool right = !entry.lookup(cache, key) &&
               gpuasync_disk_cache_store(cache, &key, "object", 6) &&
               entry.lookup(cache, key) && entry.bytes() == "object";
  gpuasync_disk_cache_close(cache);
  return std::system(("rm -r " + std::string(folder)).c_str()) == 0 && right;
}

int main() {
  if (!keepsBytes()) {
    std::puts("the disk cache does not keep bytes");
    return 1;
  }
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

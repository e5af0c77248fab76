//===- SanitizerDefaults.cpp - what sanitized tools run with --------------===//
//
// Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linked into every tool of a build with GPUASYNC_SANITIZE=address. libLLVM and
// libMLIR are not instrumented, so containers and allocators that cross their
// border look overflown or poisoned.
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0:"
         "detect_odr_violation=0:strict_string_checks=1";
}

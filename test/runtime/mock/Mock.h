//===- Mock.h - Controlling the fake vendor libraries -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What libmock_cuda.so and libmock_hip.so export beside the vendor's names.
// Tests reach it by dlsym; docs/reference/Testing.md says what the libraries
// model.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_MOCK_MOCK_H
#define GPUASYNC_TEST_RUNTIME_MOCK_MOCK_H

#include "gpuasync/RuntimeABI.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/// What gpuasync_cpu_block_ctx::launch points to in a kernel on the mock. A
/// kernel that sets `trap` to a vendor's error code faults the device.
struct mock_launch {
  int trap;
};

/// Called with the name of a vendor call and what was wrong with it.
typedef void (*mock_visitor)(void *user, const char *call, const char *reason);

/// The functions: MOCK_FUNCTION(result, name, parameters). All are thread safe
/// and may be called before the vendor's library is initialised.
// clang-format off
#define MOCK_FUNCTIONS                                                         \
  /* Before the first vendor call: devices, major, minor, version, pools,      \
     flags, managed, multiprocessors, memory (bytes); hip: rocm (version),     \
     shifted (registered memory has another address on the device). At any     \
     time: seed (of the order in which nodes of graphs run), concurrent        \
     (whether some of these run at once), timing (whether events may have     \
     times). */                                   \
  MOCK_FUNCTION(void, mock_configure, (const char *key, uint64_t value))       \
  /* Host functions that images name. The table must stay. */                  \
  MOCK_FUNCTION(void, mock_kernels, (const gpuasync_cpu_kernel *, size_t))     \
  /* Forgets counts, violations, failures to come and gates. */                \
  MOCK_FUNCTION(void, mock_reset, (void))                                      \
  /* Vendor calls since the reset, of one name or (null) of all. */            \
  MOCK_FUNCTION(uint64_t, mock_calls, (const char *name))                      \
  /* The same, but a query that is repeated until it succeeds counts once:     \
     what mock_fail numbers. */                                                \
  MOCK_FUNCTION(uint64_t, mock_numbered, (void))                               \
  /* Call number n (from 1, counted from now on; 0: none) of one name or of    \
     all (null) does nothing and returns `code`. */                            \
  MOCK_FUNCTION(void, mock_fail, (const char *name, uint64_t n, int code))     \
  /* The call that failed so since the last mock_fail, or null. */             \
  MOCK_FUNCTION(const char *, mock_failed, (void))                             \
  /* Violations of the API's rules since the reset; the visitor may be null. */\
  MOCK_FUNCTION(uint64_t, mock_violations, (mock_visitor visitor, void *user)) \
  /* Whether this thread is inside a frame (1) or not (0): then calls that     \
     wait for the device are violations once it has enqueued. Returns what it  \
     was, to be passed when an outer frame goes on. */                         \
  MOCK_FUNCTION(int, mock_mid_frame, (int inside))                             \
  /* Vendor calls or kernels of this name are held at their beginning; "told": \
     kernels that have told the host of their end, before they end. */         \
  MOCK_FUNCTION(void, mock_gate_close, (const char *name))                     \
  MOCK_FUNCTION(void, mock_gate_open, (const char *name))                      \
  /* Waits until so many of them stand at the gate. */                         \
  MOCK_FUNCTION(void, mock_gate_wait, (const char *name, uint32_t count))      \
  /* What another library of the vendor enqueues on a stream. Not 0: a fault. */ \
  MOCK_FUNCTION(int, mock_enqueue, (void *stream, int (*run)(void *),          \
                                    void *argument))                           \
  /* Waits until the work of all streams has ended. */                         \
  MOCK_FUNCTION(void, mock_streams_wait, (void))                               \
  /* Objects alive: stream, event, module, memory, pool, registration,         \
     graph, executable, context; null: all. One whose destruction was made to fail counts as      \
     destroyed. */                                                             \
  MOCK_FUNCTION(uint64_t, mock_live, (const char *kind))                       \
  /* The calling thread's stack of contexts: its depth and its top. Hip: its   \
     current device, and the context of that. */                               \
  MOCK_FUNCTION(uint32_t, mock_context_depth, (void))                          \
  MOCK_FUNCTION(void *, mock_context_top, (void))                              \
  /* What an embedder does with contexts. Hip, which has none to make: the     \
     device becomes current, and popping goes back to device 0. */             \
  MOCK_FUNCTION(void *, mock_context_create, (int device))                     \
  MOCK_FUNCTION(void, mock_context_destroy, (void *context))                   \
  MOCK_FUNCTION(void, mock_context_push, (void *context))                      \
  MOCK_FUNCTION(void *, mock_context_pop, (void))                              \
  MOCK_FUNCTION(void, mock_primary_reset, (int device))                        \
  /* Sets the calling thread's mode of stream capture (negative: leaves it),    \
     and returns it. */                                                        \
  MOCK_FUNCTION(int, mock_capture_mode, (int mode))                            \
  /* Nonzero while the calling thread is inside the mock. */                   \
  MOCK_FUNCTION(const int *, mock_depth, (void))
// clang-format on

#define MOCK_FUNCTION(result, name, parameters)                                \
  extern "C" __attribute__((visibility("default"))) result name parameters;
#ifdef GPUASYNC_BUILD_MOCK
MOCK_FUNCTIONS
#endif
#undef MOCK_FUNCTION

namespace gpuasync_test {

/// The control functions of one loaded mock library, without their prefix:
/// mock->mock_reset().
struct Mock {
#define MOCK_FUNCTION(result, name, parameters) result(*name) parameters;
  MOCK_FUNCTIONS
#undef MOCK_FUNCTION

  /// Opens the library, which stays loaded; ends the process if it cannot.
  explicit Mock(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      fprintf(stderr, "%s\n", dlerror());
      abort();
    }
#define MOCK_FUNCTION(result, name, parameters)                                \
  name = reinterpret_cast<result(*) parameters>(find(library, #name));
    MOCK_FUNCTIONS
#undef MOCK_FUNCTION
  }

private:
  static void *find(void *library, const char *name) {
    void *address = dlsym(library, name);
    if (!address) {
      fprintf(stderr, "%s\n", dlerror());
      abort();
    }
    return address;
  }
};

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_MOCK_MOCK_H

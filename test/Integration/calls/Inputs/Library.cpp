//===- Library.cpp - A library for gpu_async.call -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of this folder call: on the cpu device by functions of the
// host, on CUDA's by the driver, which is there when somebody has a stream of
// it.
//===----------------------------------------------------------------------===//

#include "gpuasync/RuntimeABI.h"

#include <atomic>
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

/// A memref of rank 1, as calls pass it.
#define MEMREF(type, name)                                                     \
  type *, type *name##Data, int64_t name##Offset, int64_t name##Size,          \
      int64_t name##Stride

bool isCpu(const gpuasync_call *call) {
  return strcmp(call->driver, "cpu") == 0;
}

int32_t fail(const gpuasync_call *call, const char *what, int32_t result) {
  char text[200];
  snprintf(text, sizeof(text), "%s on %s:%d", what, call->driver,
           static_cast<int>(call->ordinal));
  call->report(call, text);
  return result;
}

/// Enqueues `function` with a copy of `arguments`.
template <typename Arguments>
int32_t enqueue(const gpuasync_call *call, int32_t (*function)(void *),
                Arguments arguments) {
  gpuasync_status *status =
      gpuasync_stream_enqueue_host(static_cast<gpuasync_stream *>(call->stream),
                                   function, &arguments, sizeof(arguments));
  if (!status)
    return 0;
  call->report(call, gpuasync_status_get_message(status));
  gpuasync_status_free(status);
  return 1;
}

/// A function of CUDA's driver; null if there is none.
template <typename Function>
Function find(const char *name) {
  const char *path = getenv("GPU_ASYNC_CUDA_LIBRARY");
  void *driver = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
  return driver ? reinterpret_cast<Function>(dlsym(driver, name)) : nullptr;
}

struct Fill {
  int32_t *data;
  int64_t size, stride;
  int32_t value;
};
int32_t fillOnHost(void *arguments) {
  auto *fill = static_cast<Fill *>(arguments);
  for (int64_t i = 0; i < fill->size; ++i)
    reinterpret_cast<std::atomic<int32_t> *>(fill->data)[i * fill->stride] =
        fill->value;
  return 0;
}

struct Add {
  const int32_t *a, *b;
  int32_t *out;
  int64_t size;
};
int32_t addOnHost(void *arguments) {
  auto *add = static_cast<Add *>(arguments);
  for (int64_t i = 0; i < add->size; ++i)
    add->out[i] = add->a[i] + add->b[i];
  return 0;
}

struct Meet {
  std::atomic<int32_t> *flags;
  int32_t own;
};
int32_t meetOnHost(void *arguments) {
  auto *meet = static_cast<Meet *>(arguments);
  meet->flags[meet->own] = 1;
  while (!meet->flags[1 - meet->own])
    sched_yield();
  return 0;
}

} // namespace

extern "C" {

/// All elements get `value`.
int32_t test_fill(const gpuasync_call *call, MEMREF(int32_t, x),
                  int32_t value) {
  if (isCpu(call))
    return enqueue(call, fillOnHost,
                   Fill{xData + xOffset, xSize, xStride, value});
  auto set =
      find<int (*)(uint64_t, uint32_t, size_t, void *)>("cuMemsetD32Async");
  if (!set || xStride != 1)
    return fail(call, "no fill", 3);
  int error = set(reinterpret_cast<uint64_t>(xData + xOffset),
                  static_cast<uint32_t>(value), static_cast<size_t>(xSize),
                  call->stream);
  return error ? fail(call, "cuMemsetD32Async", error) : 0;
}

/// out = a + b, on the cpu.
int32_t test_add(const gpuasync_call *call, MEMREF(int32_t, a),
                 MEMREF(int32_t, b), MEMREF(int32_t, out)) {
  if (!isCpu(call) || aStride != 1 || bStride != 1 || outStride != 1 ||
      bSize != aSize || outSize != aSize)
    return fail(call, "no sum", 4);
  return enqueue(
      call, addOnHost,
      Add{aData + aOffset, bData + bOffset, outData + outOffset, aSize});
}

/// Ends once the one with the other number has begun, on the cpu.
int32_t test_meet(const gpuasync_call *call, MEMREF(int32_t, x), int32_t own) {
  if (!isCpu(call) || xStride != 1)
    return fail(call, "no meeting", 5);
  return enqueue(
      call, meetOnHost,
      Meet{reinterpret_cast<std::atomic<int32_t> *>(xData + xOffset), own});
}

/// The one element becomes the number of calls so far.
int32_t test_count(const gpuasync_call *call, MEMREF(int32_t, x)) {
  static int32_t calls = 0;
  return test_fill(call, xData, xData, xOffset, xSize, xStride, ++calls);
}

/// Fails when it is called, or with `later` when it runs on the cpu.
int32_t test_fail(const gpuasync_call *call, int32_t code, int32_t later) {
  if (!later)
    return fail(call, "no luck\nat all", code);
  return enqueue(
      call, [](void *code) { return *static_cast<int32_t *>(code); }, code);
}
}

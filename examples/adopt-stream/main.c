/*===- main.c - axpy.mlir on a stream of the caller's -------------*- C -*-===*\
|*                                                                            *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* usage: main [cuda|cpu]                                                     *|
|* A program that has a driver context and a stream of its own already: the   *|
|* compiled function runs in that context, between what else the program puts *|
|* on that stream, and nobody waits before the end. Without CUDA it shows the *|
|* same on the cpu device. docs/how-to/AheadOfTime.md has the commands.       *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "axpy.h"

#include "gpuasync/Context.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1 << 20, BYTES = COUNT * sizeof(float) };

/* Ends the program after an error of gpu-async's. */
static void check(gpuasync_status *status) {
  if (!status)
    return;
  fprintf(stderr, "%s\n", gpuasync_status_get_message(status));
  exit(1);
}

static void fill(float *x, float *y) {
  for (int i = 0; i < COUNT; ++i) {
    x[i] = (float)(i % 4 + 1);
    y[i] = 10;
  }
}

/* y = 2x + y, then y = 3x + y, when `stream` has come that far. Neither call
 * waits for the device; the first one loads the kernel. */
static void enqueue(gpuasync_context *context, void *stream, float *x,
                    float *y) {
  check(gpuasync_scope_push(context)); /* this thread's calls run there */
  check(axpy(2, x, COUNT, y, COUNT, stream));
  check(axpy(3, x, COUNT, y, COUNT, stream));
  gpuasync_scope_pop();
}

static void show(const char *device, const float *y) {
  printf("%g %g %g %g on %s\n", y[0], y[1], y[2], y[3], device);
}

/* Closing waits for what of ours still runs in it, and says what was leaked. */
static void closeContext(gpuasync_context *context) {
  check(gpuasync_context_close(context));
  gpuasync_context_release(context);
}

/* The cpu device: its arrays are the host's, its streams are the runtime's. */
static void runOnCpu(void) {
  float *x = malloc(BYTES), *y = malloc(BYTES);
  gpuasync_context *context;
  gpuasync_stream *stream;
  check(gpuasync_context_open("cpu", &context));
  check(gpuasync_context_stream_create(context, &stream));
  fill(x, y);
  enqueue(context, gpuasync_context_stream_native(stream), x, y);
  check(gpuasync_context_stream_synchronize(stream));
  show(gpuasync_context_device_name(context), y);
  gpuasync_context_stream_destroy(stream);
  closeContext(context);
  free(x);
  free(y);
}

/* The functions of the CUDA driver that this program calls, found at run time,
 * so that it starts where there is no CUDA; with cuda.h they are just there. A
 * CUdeviceptr is as wide as a pointer, and is one here. */
static struct {
  int (*init)(unsigned flags);
  int (*deviceGet)(int *device, int ordinal);
  int (*deviceGetName)(char *name, int bytes, int device);
  int (*ctxCreate)(void **context, unsigned flags, int device);
  int (*ctxDestroy)(void *context);
  int (*streamCreate)(void **stream, unsigned flags);
  int (*streamSynchronize)(void *stream);
  int (*memAlloc)(float **onDevice, size_t bytes);
  int (*memHostAlloc)(float **pinned, size_t bytes, unsigned flags);
  int (*memcpyAsync)(float *to, const float *from, size_t bytes, void *stream);
} cu;

static int findCuda(void) {
  static const char *const names[] = {"cuInit",
                                      "cuDeviceGet",
                                      "cuDeviceGetName",
                                      "cuCtxCreate_v2",
                                      "cuCtxDestroy_v2",
                                      "cuStreamCreate",
                                      "cuStreamSynchronize",
                                      "cuMemAlloc_v2",
                                      "cuMemHostAlloc",
                                      "cuMemcpyAsync"};
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i) {
    void *found = library ? dlsym(library, names[i]) : NULL;
    if (!found)
      return 0;
    memcpy((char *)&cu + i * sizeof(found), &found, sizeof(found));
  }
  return cu.init(0) == 0;
}

static void checkCuda(int result, const char *call) {
  if (!result)
    return;
  fprintf(stderr, "%s: error %d of CUDA\n", call, result);
  exit(1);
}
#define CHECK_CUDA(call) checkCuda(call, #call)

static void runOnCuda(void) {
  int device;
  char name[256];
  void *mine, *stream;
  float *x, *y, *deviceX, *deviceY;
  gpuasync_context *context;
  /* What such a program has anyway: a context, a stream, memory. */
  CHECK_CUDA(cu.deviceGet(&device, 0));
  CHECK_CUDA(cu.deviceGetName(name, sizeof(name), device));
  CHECK_CUDA(cu.ctxCreate(&mine, 0, device));
  CHECK_CUDA(cu.streamCreate(&stream, 1 /* CU_STREAM_NON_BLOCKING */));
  CHECK_CUDA(cu.memHostAlloc(&x, BYTES, 0)); /* pinned: copies do not wait */
  CHECK_CUDA(cu.memHostAlloc(&y, BYTES, 0));
  CHECK_CUDA(cu.memAlloc(&deviceX, BYTES));
  CHECK_CUDA(cu.memAlloc(&deviceY, BYTES));
  fill(x, y);

  /* gpu-async's kernels and pools are then in that context, not in another. */
  check(gpuasync_context_adopt("cuda", mine, &context));

  CHECK_CUDA(cu.memcpyAsync(deviceX, x, BYTES, stream));
  CHECK_CUDA(cu.memcpyAsync(deviceY, y, BYTES, stream));
  enqueue(context, stream, deviceX, deviceY);
  CHECK_CUDA(cu.memcpyAsync(y, deviceY, BYTES, stream));
  CHECK_CUDA(cu.streamSynchronize(stream)); /* the first wait */
  show(name, y);

  closeContext(context);           /* before the one that it is in */
  CHECK_CUDA(cu.ctxDestroy(mine)); /* and its stream and memory */
}

int main(int argc, char **argv) {
  const char *where = argc > 1 ? argv[1] : "";
  if (argc > 2 || (argc > 1 && strcmp(where, "cuda") && strcmp(where, "cpu"))) {
    fprintf(stderr, "usage: %s [cuda|cpu]\n", argv[0]);
    return 1;
  }
  if (strcmp(where, "cpu") && findCuda()) {
    runOnCuda();
  } else if (!strcmp(where, "cuda")) {
    fprintf(stderr,
            "there is no CUDA driver (libcuda.so.1), or no device of it; "
            "`%s cpu` does without\n",
            argv[0]);
    return 1;
  } else {
    runOnCpu();
  }
  return 0;
}

//===- Symbols.h - Upstream's wrapper functions -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As code that MLIR 22.1 lowers calls them; upstream has no header.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_MGPU_SYMBOLS_H
#define GPUASYNC_TEST_RUNTIME_MGPU_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct MemRef1d {
  void *base, *data;
  int64_t offset, size, stride;
};

extern "C" {
void *mgpuModuleLoad(void *data, size_t bytes);
void *mgpuModuleLoadJIT(void *data, int optLevel);
void mgpuModuleUnload(void *module);
void *mgpuModuleGetFunction(void *module, const char *name);
void mgpuLaunchKernel(void *function, intptr_t gx, intptr_t gy, intptr_t gz,
                      intptr_t bx, intptr_t by, intptr_t bz, int32_t smem,
                      void *stream, void **params, void **extra, size_t count);
void mgpuLaunchClusterKernel(void *function, intptr_t cx, intptr_t cy,
                             intptr_t cz, intptr_t gx, intptr_t gy, intptr_t gz,
                             intptr_t bx, intptr_t by, intptr_t bz,
                             int32_t smem, void *stream, void **params,
                             void **extra, size_t count);
void *mgpuStreamCreate();
void mgpuStreamDestroy(void *stream);
void mgpuStreamSynchronize(void *stream);
void mgpuStreamWaitEvent(void *stream, void *event);
void *mgpuEventCreate();
void mgpuEventDestroy(void *event);
void mgpuEventSynchronize(void *event);
void mgpuEventRecord(void *event, void *stream);
void *mgpuMemAlloc(uint64_t bytes, void *stream, bool isHostShared);
void mgpuMemFree(void *pointer, void *stream);
void mgpuMemcpy(void *dst, void *src, size_t bytes, void *stream);
void mgpuMemset32(void *dst, unsigned value, size_t count, void *stream);
void mgpuMemset16(void *dst, unsigned short value, size_t count, void *stream);
void mgpuMemHostRegister(void *pointer, uint64_t bytes);
void mgpuMemHostUnregister(void *pointer);
void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor, int64_t bytes);
void mgpuMemHostUnregisterMemRef(int64_t rank, void *descriptor, int64_t bytes);
MemRef1d mgpuMemGetDeviceMemRef1dFloat(float *, float *, int64_t, int64_t,
                                       int64_t);
MemRef1d mgpuMemGetDeviceMemRef1dInt32(int32_t *, int32_t *, int64_t, int64_t,
                                       int64_t);
void mgpuSetDefaultDevice(int32_t device);
void mgpuTensorMapEncodeTiled(void *map, uint32_t type, uint32_t rank,
                              void *address, const uint64_t *sizes,
                              const uint64_t *strides, const uint32_t *box,
                              const uint32_t *elementStrides,
                              uint32_t interleave, uint32_t swizzle,
                              uint32_t l2Promotion, uint32_t fill);
void *mgpuTensorMapEncodeTiledMemref(int64_t rank, void *descriptor,
                                     uint32_t type, uint32_t interleave,
                                     uint32_t swizzle, uint32_t l2Promotion,
                                     uint32_t fill, int64_t *box);
intptr_t mgpuSpMVBufferSize(int32_t, void *, void *, void *, int32_t, void *);
void mgpuCreateCuSparseLtDnMat(void *, intptr_t, intptr_t, void *, int32_t,
                               void *);
}

#endif // GPUASYNC_TEST_RUNTIME_MGPU_SYMBOLS_H

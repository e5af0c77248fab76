//===- Object.cpp - A cpu object written by hand --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler makes of a gpu.module with target #gpu_async.cpu: a shared
// object that exports _gpuasync_object. The kernels are those of Kernels.h.
//===----------------------------------------------------------------------===//

#include "Kernels.h"

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

// printf goes back into the runtime, as a compiled gpu.printf does.
static void say(const gpuasync_cpu_block_ctx *ctx, const void *params, void *) {
  gpuasync_cpu_printf(ctx, "said %u\n",
                      static_cast<const FailParams *>(params)->value);
}

static const gpuasync_cpu_kernel functions[] = {
    cpuKernel("store", perThread<StoreParams, store>),
    cpuKernel("addUp", perThread<AddUpParams, addUp>),
    cpuKernel("gate", perThread<GateParams, gate>, GPUASYNC_KERNEL_MAY_BLOCK),
    cpuKernel("meet", perThread<MeetParams, meet>, GPUASYNC_KERNEL_MAY_BLOCK),
    cpuKernel("mulAdd", perThread<MulAddParams, mulAdd>),
    cpuKernel("shared", shared),
    cpuKernel("fail", fail),
    cpuKernel("raise", perThread<GateParams, raise>),
    cpuKernel("say", say)};

static const uint32_t offsets84[] = {0, 8}, sizes84[] = {8, 4};
static const uint32_t offsets88[] = {0, 8}, sizes88[] = {8, 8};
static const uint32_t offsetsAdd[] = {0, 8, 16, 24}, sizesAdd[] = {8, 8, 8, 4};
static const uint32_t offsetsMul[] = {0, 8, 16, 20}, sizesMul[] = {8, 8, 4, 4};
static const uint32_t offset0[] = {0}, size8[] = {8}, size4[] = {4};

static const gpuasync_kernel kernels[] = {
    {"store", offsets84, sizes84, 2, 16},
    {"addUp", offsetsAdd, sizesAdd, 4, 32},
    {"gate", offset0, size8, 1, 8},
    {"meet", offsets88, sizes88, 2, 16},
    {"mulAdd", offsetsMul, sizesMul, 4, 24},
    {"shared", offsets84, sizes84, 2, 16},
    {"fail", offset0, size4, 1, 4},
    {"raise", offset0, size8, 1, 8},
    {"say", offset0, size4, 1, 4}};

extern "C" __attribute__((visibility("default")))
const gpuasync_cpu_object _gpuasync_object = {GPUASYNC_ABI_VERSION, 9,
                                              "kernels", kernels, functions};

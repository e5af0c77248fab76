//===- Kernels.dev.c - Kernels of the runtime tests, for a GPU --*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device code, not part of the build; Kernels.inc is its PTX:
//   clang-22 --target=nvptx64-nvidia-cuda -march=sm_70 -O1 -ffreestanding
//     -nogpulib -S -emit-llvm; llc-22 -march=nvptx64 -mcpu=sm_70
//===----------------------------------------------------------------------===//

typedef unsigned u32;
typedef long long i64;
#define KERNEL __attribute__((device_kernel)) void

static u32 thread(void) {
  return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
         __nvvm_read_ptx_sreg_tid_x();
}

KERNEL store(u32 *out, u32 value) { out[thread()] = value; }
KERNEL addUp(u32 *out, const u32 *in, i64 count, u32 value) {
  u32 i = thread();
  if (i < count)
    out[i] = in[i] + value;
}
KERNEL gate(volatile u32 *flag) {
  while (!*flag)
    ;
}
KERNEL meet(volatile u32 *mine, volatile u32 *other) {
  *mine = 1;
  while (!*other)
    ;
}
KERNEL mulAdd(u32 *x, i64 count, u32 factor, u32 term) {
  u32 i = thread();
  if (i < count)
    x[i] = x[i] * factor + term;
}
extern __attribute__((address_space(3))) u32 dynamicMemory[];
KERNEL shared(u32 *out, u32 words) {
  for (u32 i = 0; i < words; ++i)
    dynamicMemory[i] = i;
  out[0] = dynamicMemory[words - 1];
}
KERNEL fail(u32 value) {
  if (value)
    __builtin_trap();
}
KERNEL raise(volatile u32 *flag) { *flag = 1; }
struct __attribute__((aligned(64))) TensorMap {
  i64 words[16];
};
KERNEL readMap(i64 *out, struct TensorMap map) {
  for (int i = 0; i < 16; ++i)
    out[i] = map.words[i];
}

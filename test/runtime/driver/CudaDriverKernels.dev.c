//===- CudaDriverKernels.dev.c - Kernels of CudaDriverTest ------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device code, not part of the build; CudaDriverKernels.inc is its PTX:
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

// Runs until the host stores to *flag.
KERNEL gate(volatile u32 *flag) {
  while (!*flag)
    ;
}
// Twelve bytes of parameters; C's struct of them has sixteen.
KERNEL store(u32 *out, u32 value) { out[thread()] = value; }
KERNEL nothing(void) {}
KERNEL addUp(u32 *out, const u32 *in, i64 count, u32 value) {
  u32 i = thread();
  if (i < count)
    out[i] = in[i] + value;
}
// 32 KB of local memory per thread.
KERNEL hog(u32 *out, u32 step) {
  volatile u32 local[8192];
  for (u32 i = 0; i < 8192; ++i)
    local[i * step & 8191] = i;
  out[thread()] = local[thread() & 8191];
}
extern __attribute__((address_space(3))) u32 dynamic[];
KERNEL shared(u32 *out, u32 words) {
  for (u32 i = 0; i < words; ++i)
    dynamic[i] = i;
  out[0] = dynamic[words - 1];
}
KERNEL fault(u32 *out) { *(volatile u32 *)((char *)out + (1ull << 46)) = 1; }

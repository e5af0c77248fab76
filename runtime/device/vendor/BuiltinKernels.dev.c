//===- BuiltinKernels.dev.c - The runtime's own kernels ---------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device code, not part of the build: compile-builtins.sh makes of it what the
// drivers embed. BuiltinKernels.h says what the arguments mean.
//===----------------------------------------------------------------------===//

typedef unsigned long long u64;
typedef long long i64;
typedef unsigned u32;
// Without <stdint.h> the 16-byte unit is a vector of two words.
typedef u64 u128 __attribute__((vector_size(16)));

struct Arguments {
  char *destination;
  const char *source;
  u64 count;
  u32 rank, unit;
  u64 pattern[2];
  i64 sizes[9], destinationStrides[9], sourceStrides[9];
};

// Blocks have 256 threads: VendorContext::launchBuiltin.
enum { blockThreads = 256 };
#ifdef __AMDGCN__
static u64 firstUnit(void) {
  return (u64)__builtin_amdgcn_workgroup_id_x() * blockThreads +
         __builtin_amdgcn_workitem_id_x();
}
static u64 unitStep(void) { return __builtin_amdgcn_grid_size_x(); }
#else
static u64 firstUnit(void) {
  return (u64)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
         __nvvm_read_ptx_sreg_tid_x();
}
static u64 unitStep(void) {
  return (u64)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}
#endif

// Where unit `index` lies: the last dimension varies fastest. 32-bit divisions
// where they do, since 64-bit ones are many instructions each.
static void locate(const struct Arguments *a, u64 index, i64 *to, i64 *from) {
  i64 destination = 0, source = 0;
#pragma clang loop unroll(disable)
  for (int d = (int)a->rank - 1; d > 0; --d) {
    u64 size = (u64)a->sizes[d], quotient;
    if (((index | size) >> 32) == 0)
      quotient = (u32)index / (u32)size;
    else
      quotient = index / size;
    i64 position = (i64)(index - quotient * size);
    destination += position * a->destinationStrides[d];
    source += position * a->sourceStrides[d];
    index = quotient;
  }
  *to = destination + (i64)index * a->destinationStrides[0];
  *from = source + (i64)index * a->sourceStrides[0];
}

// The unit is chosen inside the loop: the branch is the same for all threads,
// and a fifth of the code is a fifth of the time that the driver compiles it.
__attribute__((device_kernel)) void gpuasync_copy(const struct Arguments a) {
  for (u64 i = firstUnit(); i < a.count; i += unitStep()) {
    i64 to, from;
    locate(&a, i, &to, &from);
    char *destination = a.destination + to;
    const char *source = a.source + from;
    switch (a.unit) {
    case 1:
      *destination = *source;
      break;
    case 2:
      *(unsigned short *)destination = *(const unsigned short *)source;
      break;
    case 4:
      *(u32 *)destination = *(const u32 *)source;
      break;
    case 8:
      *(u64 *)destination = *(const u64 *)source;
      break;
    default:
      *(u128 *)destination = *(const u128 *)source;
      break;
    }
  }
}

__attribute__((device_kernel)) void gpuasync_fill(const struct Arguments a) {
  for (u64 i = firstUnit(); i < a.count; i += unitStep()) {
    i64 to, from;
    locate(&a, i, &to, &from);
    char *destination = a.destination + to;
    // An element of several units has each at its place in the pattern.
    const char *pattern = (const char *)a.pattern + from;
    switch (a.unit) {
    case 1:
      *destination = *pattern;
      break;
    case 2:
      *(unsigned short *)destination = *(const unsigned short *)pattern;
      break;
    case 4:
      *(u32 *)destination = *(const u32 *)pattern;
      break;
    case 8:
      *(u64 *)destination = *(const u64 *)pattern;
      break;
    default: {
      u128 whole = {a.pattern[0], a.pattern[1]};
      *(u128 *)destination = whole;
      break;
    }
    }
  }
}

__attribute__((device_kernel)) void gpuasync_nothing(void) {}

// How often each of those that tell the host of their end has done so, in the
// upper half (GPUASYNC_KERNELS_SIGNAL_SYMBOL); here, since what lies on the
// host takes long to read.
u64 gpuasync_counts[1024];

__attribute__((device_kernel)) void gpuasync_signal(volatile u32 *slot,
                                                    u32 index) {
  u32 count = (u32)(gpuasync_counts[index] >> 32) + 1;
  gpuasync_counts[index] = (u64)count << 32;
#ifdef __AMDGCN__
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
#else
  __nvvm_membar_sys();
#endif
  *slot = count;
}

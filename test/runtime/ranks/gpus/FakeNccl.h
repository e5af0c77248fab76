//===- FakeNccl.h - Controlling the fake NCCL -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exports of libfake_nccl.so and libfake_rccl.so beside NCCL's names. Their
// collectives are work on streams of the fake vendor libraries, which waits for
// the other ranks as NCCL's kernels do: until an abort.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_RANKS_GPUS_FAKENCCL_H
#define GPUASYNC_TEST_RUNTIME_RANKS_GPUS_FAKENCCL_H

#include <stdint.h>

#define FAKE_NCCL_FUNCTIONS                                                    \
  /* Call number n (from 1, counted from now on; 0: none) of the name returns  \
     `code`. */                                                                \
  FAKE_NCCL_FUNCTION(void, fake_nccl_fail,                                     \
                     (const char *name, uint64_t n, int code))                 \
  /* Calls of this name do not return until it is opened, or the communicator  \
     is aborted. Null: none. */                                                \
  FAKE_NCCL_FUNCTION(void, fake_nccl_hold, (const char *name))                 \
  FAKE_NCCL_FUNCTION(void, fake_nccl_open, (void))                             \
  /* Waits until so many calls stand there. */                                 \
  FAKE_NCCL_FUNCTION(void, fake_nccl_wait_held, (uint32_t count))              \
  /* Whether communicators begin, and collectives end, without other ranks. */ \
  FAKE_NCCL_FUNCTION(void, fake_nccl_alone, (int begins, int meets))           \
  /* Communicators alive. */                                                   \
  FAKE_NCCL_FUNCTION(uint64_t, fake_nccl_live, (void))                         \
  /* Collectives so far of communicators with a limit of workgroups. */        \
  FAKE_NCCL_FUNCTION(uint64_t, fake_nccl_limited, (void))                      \
  FAKE_NCCL_FUNCTION(uint64_t, fake_nccl_calls, (const char *name))

#endif // GPUASYNC_TEST_RUNTIME_RANKS_GPUS_FAKENCCL_H

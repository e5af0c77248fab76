//===- Ranks.h - Collectives between ranks ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of libgpuasync_ranks.so: for whoever runs a program on ranks,
// the ranks of this process; for lowered code, groups and collectives.
// docs/reference/Ranks.md has the rules.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_RANKS_H
#define GPUASYNC_RANKS_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// Some contexts that run the same functions in the same order: one rank each.
/// They are all of this process, or one of each process.
typedef struct gpuasync_ranks gpuasync_ranks;

/// Makes rank i of `contexts[i]`, for 0 <= i < count. All are of the cpu
/// device, or of different GPUs of one vendor, each only once, and none is a
/// rank already; else GPUASYNC_INVALID_ARGUMENT, as where GPUs have no NCCL. A
/// thread calls functions as a rank in a scope of its context, and all
/// collectives of a rank come from one thread at a time. A context that is no
/// rank is the only rank of a program; but if a launcher started several
/// processes, its collectives fail, unless GPU_ASYNC_RANKS is 1. Thread safe.
GPUASYNC_API gpuasync_status *
gpuasync_ranks_create(gpuasync_context *const *contexts, uint32_t count,
                      gpuasync_ranks **out) GPUASYNC_NOEXCEPT;

/// Makes `context` the rank of this process, among the processes that a
/// launcher has started: torchrun, or one of MPI (mpirun, srun). `rank` is its
/// number, `count` the number of processes. Under torchrun it connects to the
/// others of this host. Else it opens the launcher's MPI library, or the one
/// that GPU_ASYNC_MPI_LIBRARY names, and initialises it unless the program has,
/// with MPI_THREAD_MULTIPLE. Waits for all processes to come to this. Both
/// connecting, but by MPI, and the first messages take GPU_ASYNC_TIMEOUT at
/// most. Once in a process; all contexts are of the cpu device, or of different
/// GPUs of one vendor.
/// GPUASYNC_UNAVAILABLE: there is no such library, it failed, or a process did
/// not come. Thread safe.
GPUASYNC_API gpuasync_status *
gpuasync_ranks_join(gpuasync_context *context, uint32_t *rank, uint32_t *count,
                    gpuasync_ranks **out) GPUASYNC_NOEXCEPT;

/// Says that this rank makes no more collectives. `error` is the error that its
/// last call ended with; null: it ended well. After an error, or where others
/// wait for a collective of this rank, these and all later collectives with it
/// fail, with a message that names the rank and what it said. A rank whose call
/// failed is to leave at once, since the others wait for it. Thread safe.
GPUASYNC_API void gpuasync_ranks_leave(gpuasync_ranks *ranks, uint32_t rank,
                                       const char *error) GPUASYNC_NOEXCEPT;

/// Lets ranks make collectives again, after all have left without an error and
/// their calls have ended. Groups keep what they have made, such as the
/// communicators of GPUs. Returns 0 if ranks have failed, wait for others, or
/// are processes: then release them. Thread safe.
GPUASYNC_API int32_t gpuasync_ranks_renew(gpuasync_ranks *ranks)
    GPUASYNC_NOEXCEPT;

/// Returns a status whose message says where a rank is, for the message of a
/// wait that timed out: "waits at all_gather of 4 f32 at a.mlir:5 for rank 1,
/// which has come to no collective", or "last came to ...". Ask before the rank
/// leaves. Null: nobody knows. A process knows this of its own rank, and of
/// those that this one waits for what they began last. Thread safe.
GPUASYNC_API gpuasync_status *
gpuasync_ranks_describe(gpuasync_ranks *ranks, uint32_t rank) GPUASYNC_NOEXCEPT;

/// Waits until all ranks have left, those of this process too.
/// GPUASYNC_DRIVER_ERROR says which one failed. On GPUs only its success says
/// that all calls have been right: ranks that differ may be found after their
/// calls. Thread safe.
GPUASYNC_API gpuasync_status *
gpuasync_ranks_wait(gpuasync_ranks *ranks) GPUASYNC_NOEXCEPT;

/// All ranks of this process have left or make no more collectives, and on GPUs
/// those that they have made have ended, or are ended now with an error. Ranks
/// of other processes are waited for, until they come to this; after an error
/// of this rank for three seconds. Null is ignored.
GPUASYNC_API void
gpuasync_ranks_release(gpuasync_ranks *ranks) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// For lowered code
//===----------------------------------------------------------------------===//

/// The ranks that meet in a collective: constant data. Each rank of the program
/// is in one list of `size` ranks.
typedef struct gpuasync_group {
  const char *name;        ///< for messages
  uint32_t rankCount;      ///< of the program
  uint32_t size;           ///< ranks in each list
  const uint32_t *members; ///< rankCount ranks: one list after the other
} gpuasync_group;

enum gpuasync_collective_kind {
  GPUASYNC_ALL_REDUCE = 1,
  GPUASYNC_ALL_GATHER = 2,
  GPUASYNC_REDUCE_SCATTER = 3,
  GPUASYNC_ALL_TO_ALL = 4,
  GPUASYNC_BROADCAST = 5,
  GPUASYNC_PERMUTE = 6,
  GPUASYNC_BARRIER = 7
};

/// A minimum or maximum of floats with a NaN is NaN.
enum gpuasync_reduction {
  GPUASYNC_REDUCE_NONE = 0,
  GPUASYNC_REDUCE_SUM = 1,
  GPUASYNC_REDUCE_PROD = 2,
  GPUASYNC_REDUCE_MIN = 3, ///< integers are signed
  GPUASYNC_REDUCE_MAX = 4,
  GPUASYNC_REDUCE_AND = 5, ///< integers only, bit by bit
  GPUASYNC_REDUCE_OR = 6
};

enum gpuasync_element {
  GPUASYNC_ELEMENT_I1 = 1, ///< a byte, 0 or 1; reductions and, or
  GPUASYNC_ELEMENT_I8 = 2,
  GPUASYNC_ELEMENT_I16 = 3,
  GPUASYNC_ELEMENT_I32 = 4,
  GPUASYNC_ELEMENT_I64 = 5,
  GPUASYNC_ELEMENT_F16 = 6,
  GPUASYNC_ELEMENT_BF16 = 7,
  GPUASYNC_ELEMENT_F32 = 8,
  GPUASYNC_ELEMENT_F64 = 9
};

/// A collective, but for its memory: constant data.
typedef struct gpuasync_collective {
  GPUASYNC_STRUCT_SIZE(gpuasync_collective);
  uint32_t kind;      ///< gpuasync_collective_kind
  uint32_t reduction; ///< gpuasync_reduction
  uint32_t element;   ///< gpuasync_element; of a barrier 0
  uint32_t root;      ///< broadcast: a position in the group
  uint32_t pairCount; ///< permute: the number of pairs
  uint32_t line;
  const uint32_t
      *pairs; ///< permute: from, to, from, to: positions in the group
  const gpuasync_group *group; ///< null: all ranks
  const char *file;      ///< where it is in the program; "" or null: unknown
  uint32_t isOverlapped; ///< on a GPU: leave most of it to work beside this one
} gpuasync_collective;

/// A function as gpu_async.call calls it: enqueues a collective of the calling
/// thread's rank. The k-th one of each rank in a group is one collective. On
/// the stream, what comes later starts when the destination is complete and the
/// source may be overwritten. Counts are of elements; of a barrier they are 0
/// and the pointers null, which they may be with a count of 0. Roots, pairs and
/// groups that do not fit the ranks are errors. The memory is the device's.
/// Ranks whose collectives differ, and counts that do not fit, are errors on
/// all ranks of the group.
GPUASYNC_API int32_t gpuasync_collective_enqueue(
    const gpuasync_call *call, const gpuasync_collective *collective,
    void *destination, int64_t destinationCount, const void *source,
    int64_t sourceCount) GPUASYNC_NOEXCEPT;

/// The rank of the frame's device in its list of `group`, or among all (null).
/// A group of another number of ranks than the program has is an error of the
/// frame, and then the result is 0.
GPUASYNC_API int64_t gpuasync_group_rank(gpuasync_frame *frame,
                                         const gpuasync_group *group,
                                         uint32_t site) GPUASYNC_NOEXCEPT;
/// The number of ranks in a list of the group, or of all; the same errors.
GPUASYNC_API int64_t gpuasync_group_size(gpuasync_frame *frame,
                                         const gpuasync_group *group,
                                         uint32_t site) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // GPUASYNC_RANKS_H

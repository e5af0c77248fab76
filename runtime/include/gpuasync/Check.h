//===- Check.h - Finding bugs of programs on the cpu device -----*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What gpu-runner --check is made of: the functions that instrumented programs
// call, those that stand in for RuntimeABI.h's, and the hooks that the cpu
// driver calls. libgpuasync_check.so defines all but the hooks' installation.
// docs/reference/Check.md says what is found and how.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CHECK_H
#define GPUASYNC_CHECK_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Hooks of the cpu driver, in libgpuasync_runtime.so
//===----------------------------------------------------------------------===//

/// What the cpu driver calls while a checker is installed.
typedef struct gpuasync_cpu_check_hooks {
  GPUASYNC_STRUCT_SIZE(gpuasync_cpu_check_hooks);
  /// On the thread that enqueues a launch: what the other hooks are given.
  void *(*launch)(void);
  /// On the thread that runs a block, before and after it. `workgroup` points
  /// to `workgroupBytes` of static and dynamic workgroup memory; up to `bytes`
  /// follows what the threads keep over barriers.
  void (*blockBegin)(void *launch, const gpuasync_cpu_block_ctx *ctx,
                     void *workgroup, uint64_t workgroupBytes, uint64_t bytes);
  void (*blockEnd)(void *launch);
} gpuasync_cpu_check_hooks;

/// Before the first launch of the process and for its whole life; null takes
/// them off again, when nothing runs.
GPUASYNC_API gpuasync_status *gpuasync_cpu_check_install(
    const gpuasync_cpu_check_hooks *hooks) GPUASYNC_NOEXCEPT;

/// Where the work of a frame goes; null if the frame failed at enter.
GPUASYNC_API gpuasync_context *
gpuasync_check_context(const gpuasync_frame *frame) GPUASYNC_NOEXCEPT;
/// A site of the frame's program; null for GPUASYNC_NO_SITE.
GPUASYNC_API const gpuasync_site *
gpuasync_check_site(const gpuasync_frame *frame,
                    uint32_t site) GPUASYNC_NOEXCEPT;
/// Whether a fragment and what it is called with are sound; else the frame
/// fails.
GPUASYNC_API bool gpuasync_check_fragment(
    gpuasync_frame *frame, const gpuasync_fragment *fragment,
    gpuasync_stream *const *lanes, const void *arguments) GPUASYNC_NOEXCEPT;
/// The bytes of a constant array that gpuasync_constant finds; else 0.
GPUASYNC_API uint64_t gpuasync_check_constant_bytes(
    const gpuasync_frame *frame, uint32_t index) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Called by instrumented kernels. A `site` is a constant text of three lines,
// "file:line:column", what the access is ("memref.load"), and the function. A
// `thread` is x | y << 10 | z << 20.
//===----------------------------------------------------------------------===//

enum gpuasync_check_flags {
  GPUASYNC_CHECK_WRITE = 1,
  GPUASYNC_CHECK_READ = 2,
  GPUASYNC_CHECK_ATOMIC = 4,  ///< or volatile
  GPUASYNC_CHECK_OBSERVED = 8 ///< an atomic whose result is looked at
};

/// An access of `bytes` bytes at `address`, which was computed from `base`.
/// `access` is bytes << 8 | flags. Returns the address, or null if the access
/// is not allowed to happen.
GPUASYNC_API void *gpuasync_check_access(void *address, void *base,
                                         uint64_t access, const char *site,
                                         uint32_t thread) GPUASYNC_NOEXCEPT;
/// As gpuasync_check_access, but returns memory that holds zeros and may be
/// written in place of what is not allowed.
GPUASYNC_API void *gpuasync_check_pointer(void *address, void *base,
                                          uint64_t access, const char *site,
                                          uint32_t thread) GPUASYNC_NOEXCEPT;
/// An index that is not in its dimension; the access does not happen.
GPUASYNC_API void gpuasync_check_index(const char *site, uint32_t thread,
                                       uint32_t write, uint64_t dimension,
                                       int64_t index, int64_t count,
                                       int64_t size) GPUASYNC_NOEXCEPT;
/// A thread comes to a barrier of its block. Null: to what may order it after
/// other threads of the block, in a way that is not followed.
GPUASYNC_API void gpuasync_check_arrive(const char *site,
                                        uint32_t thread) GPUASYNC_NOEXCEPT;
/// A thread ends here if `condition` is 0: it comes to no further barrier.
GPUASYNC_API void gpuasync_check_assert(uint32_t condition) GPUASYNC_NOEXCEPT;
/// Memory that kernels may use besides the program's: a global variable
/// (`shared` 1), or what a thread allocated itself (0), whose uses are not
/// compared.
GPUASYNC_API void gpuasync_check_own(void *address, uint64_t bytes,
                                     const char *site,
                                     uint32_t shared) GPUASYNC_NOEXCEPT;
/// A barrier that only `arrived` of the block's `expected` threads come to, in
/// code that the compiler wrote for barriers.
GPUASYNC_API void
gpuasync_cpu_check_barrier(const gpuasync_cpu_block_ctx *ctx, const char *file,
                           uint32_t line, uint32_t column, int64_t arrived,
                           int64_t expected) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Called by instrumented host code
//===----------------------------------------------------------------------===//

/// As gpuasync_check_access: host code reads or writes. Device memory is told
/// of, but may be touched.
GPUASYNC_API void *gpuasync_check_host(void *address, void *base,
                                       uint64_t access,
                                       const char *site) GPUASYNC_NOEXCEPT;
/// As gpuasync_check_pointer.
GPUASYNC_API void *
gpuasync_check_host_pointer(void *address, void *base, uint64_t access,
                            const char *site) GPUASYNC_NOEXCEPT;
/// The next copy or fill that the thread enqueues begins at `address`, which
/// was computed from `base`. It does not happen if the one is not in the memory
/// of the other.
GPUASYNC_API void gpuasync_check_start_of(void *address, void *base,
                                          const char *site) GPUASYNC_NOEXCEPT;
/// The next library call that the thread begins is given a memref: `access` is
/// as in gpuasync_check_access, of all bytes from `address` on up to its last
/// one, computed from `base`; `noGaps`: the function touches each of them. Of
/// one call 32 are looked at.
GPUASYNC_API void gpuasync_check_operand(void *address, void *base,
                                         uint64_t access,
                                         uint32_t noGaps) GPUASYNC_NOEXCEPT;
enum gpuasync_check_value {
  GPUASYNC_CHECK_INTEGER = 0, ///< sign extended, i1 by zeros
  GPUASYNC_CHECK_F32 = 1,
  GPUASYNC_CHECK_F64 = 2,
  GPUASYNC_CHECK_BITS = 3 ///< of another float
};

/// A value that the program promises to be the same on all ranks of a list:
/// rank `rank`, at `position` of list `list` of `size` ranks, has `bits`. List
/// -1 has all ranks. `kind` is of gpuasync_check_value. Ranks that are threads
/// of this process are compared. Waits for no other rank.
GPUASYNC_API void gpuasync_check_uniform(int64_t rank, int64_t list,
                                         int64_t position, int64_t size,
                                         uint64_t bits, uint32_t kind,
                                         const char *site) GPUASYNC_NOEXCEPT;
/// Host code has allocated memory, or takes the address of a global variable.
GPUASYNC_API void gpuasync_check_host_alloc(void *address, uint64_t bytes,
                                            const char *site) GPUASYNC_NOEXCEPT;
/// Host code is about to free memory. Returns null if it must not.
GPUASYNC_API void *gpuasync_check_host_free(void *address,
                                            const char *site) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// For whoever runs a checked program
//===----------------------------------------------------------------------===//

/// Installs the hooks, and begins with no reports. `report` (null: nobody) is
/// given each report, one or several lines with a newline at the end, on
/// whatever thread finds it, one at a time.
GPUASYNC_API void gpuasync_check_start(void (*report)(void *user,
                                                      const char *text),
                                       void *user) GPUASYNC_NOEXCEPT;
/// The address that stands in for the function of that name, or null.
GPUASYNC_API void *gpuasync_check_find(const char *name) GPUASYNC_NOEXCEPT;
/// After the last call of any program, and before programs are released and
/// contexts are closed, since reports name what they did: frees
/// what was kept to find uses of freed memory. Returns how many different bugs
/// were found; `unprinted` of them were beyond the number that is reported.
GPUASYNC_API uint64_t gpuasync_check_finish(uint64_t *unprinted)
    GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // GPUASYNC_CHECK_H

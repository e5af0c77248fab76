//===- Kernel.cpp - Running blocks, copies and fills ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an operation of a cpu stream does, and what kernels call back.
//===----------------------------------------------------------------------===//

#include "device/cpu/Scheduler.h"
#include "shim/base/Clock.h"
#include "shim/base/SizedStruct.h"
#include "shim/command/Strided.h"
#include "shim/process/Thread.h"

#include <algorithm>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

using namespace gpuasync;
using namespace gpuasync::cpu;

namespace {

/// Workgroup memory of one thread, grown as kernels need it.
struct Scratch {
  void *data;
  uint64_t bytes;
};
__thread Scratch scratch __attribute__((tls_model("initial-exec")));

/// Frees the calling thread's scratch memory when the thread ends. A kernel
/// that runs in a later destructor of the thread asks for it again.
void endScratch(void *) {
  free(scratch.data);
  scratch = {nullptr, 0};
}

/// By which a thread frees its scratch memory when it ends. Not by a
/// thread_local object with a destructor: to register one takes the loader's
/// lock, and whoever holds that, in dlopen or dlclose, may be waiting for this
/// very kernel.
pthread_key_t scratchKey;

/// What one call of a thread takes; null if there is no memory.
class WorkgroupMemory {
public:
  explicit WorkgroupMemory(uint64_t wanted) {
    if (wanted <= scratch.bytes) {
      data = scratch.data;
      return;
    }
    uint64_t rounded = (wanted + 4095) & ~uint64_t(4095);
    if (posix_memalign(&data, 256, rounded) != 0) {
      data = nullptr;
      return;
    }
    isOwn = pthread_setspecific(scratchKey, &scratch) != 0;
    if (isOwn)
      return;
    free(scratch.data);
    scratch.data = data;
    scratch.bytes = rounded;
  }
  WorkgroupMemory(const WorkgroupMemory &) = delete;
  ~WorkgroupMemory() {
    if (isOwn)
      free(data);
  }
  void *get() const { return data; }

private:
  void *data = nullptr;
  bool isOwn = false;
};

/// How many blocks one call may run.
int64_t getLongestRun(const Op &op, bool checks) {
  // Rows of some thousand bytes, of which the last one is still in the cache
  // when the next one reads it again.
  constexpr int64_t threads = 2048;
  static_assert(threads <= GPUASYNC_CPU_RUN_THREADS);
  if (!(op.kernel->flags & GPUASYNC_KERNEL_TAKES_RUNS) || checks)
    return 1;
  return std::max<int64_t>(1,
                           threads / (op.block[0] * op.block[1] * op.block[2]));
}

} // namespace

bool cpu::makeScratchKey() {
  static std::mutex mutex;
  static bool made = false;
  std::lock_guard<std::mutex> lock(mutex);
  if (!made)
    made = pthread_key_create(&scratchKey, endScratch) == 0;
  return made;
}

void Scheduler::runBlocks(Job &job) {
  if (!job.isMeasured) {
    (void)takeBlocks(job);
    return;
  }
  const int64_t start = nowNs();
  if (int64_t blocks = takeBlocks(job))
    job.op->cost->addSample(nowNs() - start, job.op->work, blocks);
}

int64_t Scheduler::takeBlocks(Job &job) {
  const Op &op = *job.op;
  const uint64_t workgroupBytes =
      ((op.kernel->workgroupBytes + 15) & ~uint64_t(15)) +
      static_cast<uint64_t>(op.dynamicSharedBytes);
  uint64_t bytes = workgroupBytes;
  if (op.kernel->threadBytes)
    bytes = ((bytes + 63) & ~uint64_t(63)) +
            static_cast<uint64_t>(op.block[0] * op.block[1] * op.block[2]) *
                op.kernel->threadBytes;
  const WorkgroupMemory memory(bytes);
  void *workgroup = bytes ? memory.get() : nullptr;
  gpuasync_cpu_block_ctx ctx;
  memcpy(ctx.gridDim, op.grid, sizeof(ctx.gridDim));
  memcpy(ctx.blockDim, op.block, sizeof(ctx.blockDim));
  ctx.dynamicSharedBytes = op.dynamicSharedBytes;
  ctx.launch = &job;
  const gpuasync_cpu_check_hooks *hooks = checkHooks.load();
  const int64_t longestRun = getLongestRun(op, hooks);
  if (bytes && !workgroup) {
    failLaunch(&ctx,
               locate(makeStatus(GPUASYNC_OUT_OF_MEMORY,
                                 "out of host memory: %ju bytes of workgroup "
                                 "memory for a block",
                                 bytes),
                      op.command.site));
    return 0;
  }
  int64_t begin, end, blocks = 0;
  while (job.take(begin, end)) {
    ctx.blockIdx[0] = begin % op.grid[0];
    ctx.blockIdx[1] = begin / op.grid[0] % op.grid[1];
    ctx.blockIdx[2] = begin / op.grid[0] / op.grid[1];
    for (int64_t i = begin; i < end; i += ctx.runBlocks) {
      if (job.failed.load(std::memory_order_relaxed) ||
          job.stream->cancelled.load(std::memory_order_relaxed))
        return 0; // an assert's threads end early, and those of no use
      if (__builtin_expect(
              refusal.load(std::memory_order_relaxed) & RefuseExiting, 0)) {
        // Calls that exit() overtakes wait for this one, or help it.
        failLaunch(&ctx, locate(makeStatus(GPUASYNC_SHUT_DOWN,
                                           "the process is exiting"),
                                op.command.site));
        return 0;
      }
      if (__builtin_expect(hooks != nullptr, 0))
        hooks->blockBegin(op.checked, &ctx, workgroup, workgroupBytes, bytes);
      ctx.runBlocks =
          std::min({longestRun, end - i, op.grid[0] - ctx.blockIdx[0]});
      op.kernel->function(&ctx, op.params, workgroup);
      if (__builtin_expect(hooks != nullptr, 0))
        hooks->blockEnd(op.checked);
      if ((ctx.blockIdx[0] += ctx.runBlocks) == op.grid[0]) {
        ctx.blockIdx[0] = 0;
        if (++ctx.blockIdx[1] == op.grid[1]) {
          ctx.blockIdx[1] = 0;
          ++ctx.blockIdx[2];
        }
      }
    }
    blocks += end - begin;
  }
  return blocks;
}

void Scheduler::runHost(Stream &stream, Op &op) {
  beginBlocking();
  const int32_t result = op.command.host.function(op.params);
  endBlocking();
  if (result)
    stream.tenure->fail(
        locate(makeStatus(GPUASYNC_DRIVER_ERROR,
                          "the library's host function returned %d", result),
               op.command.site),
        op.position);
}

void Scheduler::arrive(Stream &stream, Op &op) {
  Status failed = stream.tenure->statusAt(op.position);
  if (__builtin_expect(op.gateTime != nullptr, 0))
    op.gateTime->begin.store(nowNs(), std::memory_order_relaxed);
  beginBlocking();
  op.command.host.arrive(op.params, failed.ok() ? nullptr : failed.message());
  endBlocking();
}

void Scheduler::execute(Stream &stream, Op &op) {
  if (op.command.kind == Command::Kind::Wait) {
    // A failed predecessor fails this stream too.
    Status status = op.targetTenure->statusAt(op.targetPosition);
    if (!status.ok())
      stream.tenure->fail(std::move(status), op.position);
    return;
  }
  if (op.command.kind == Command::Kind::Arrival)
    return arrive(stream, op);
  if (stream.tenure->error.load(std::memory_order_relaxed))
    return;
  DeviceTiming *timing = op.timing;
  if (__builtin_expect(timing != nullptr, 0))
    timing->begin = nowNs();
  switch (op.command.kind) {
  case Command::Kind::Launch:
    runLaunch(stream, op);
    break;
  case Command::Kind::CopyBytes:
    copyOnHost(op.command.bytes);
    break;
  case Command::Kind::Copy:
    copyOnHost(*op.command.copy);
    break;
  case Command::Kind::Fill:
    fillOnHost(*op.command.fill);
    break;
  case Command::Kind::Call:
    op.command.call.function(op.command.call.argument);
    break;
  case Command::Kind::HostCall:
    runHost(stream, op);
    break;
  default:
    break; // CpuContext::submit takes no others
  }
  if (__builtin_expect(timing != nullptr, 0))
    timing->end = nowNs();
}

//===----------------------------------------------------------------------===//
// Called by kernels
//===----------------------------------------------------------------------===//

void cpu::failLaunch(const gpuasync_cpu_block_ctx *ctx, Status status) {
  Job *job = static_cast<Job *>(ctx->launch);
  // Several threads of one launch may fail; the first one is kept.
  if (!job->failed.exchange(true, std::memory_order_acq_rel))
    job->stream->tenure->fail(std::move(status), job->op->position);
}

std::atomic<const gpuasync_cpu_check_hooks *> cpu::checkHooks{nullptr};

extern "C" {

gpuasync_status *
gpuasync_cpu_check_install(const gpuasync_cpu_check_hooks *hooks) noexcept {
  static gpuasync_cpu_check_hooks installed;
  if (hooks)
    if (Status status =
            readStruct(hooks, installed, "gpuasync_cpu_check_hooks");
        !status.ok())
      return status.release();
  checkHooks.store(hooks ? &installed : nullptr);
  return nullptr;
}

void gpuasync_cpu_printf(const gpuasync_cpu_block_ctx *, const char *format,
                         ...) noexcept {
  // stdio locks the stream for the whole call, so the text is one piece.
  const Uncancelled uncancelled;
  va_list args;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
}

void gpuasync_cpu_assert_fail(const gpuasync_cpu_block_ctx *ctx,
                              const char *message, const char *file,
                              uint32_t line, uint32_t column, int64_t threadX,
                              int64_t threadY, int64_t threadZ) noexcept {
  Job *job = static_cast<Job *>(ctx->launch);
  if (job->failed.load(std::memory_order_relaxed))
    return;
  char where[512] = "";
  if (file && *file)
    snprintf(where, sizeof(where), "%s:%u:%u: ", file, line, column);
  char launched[512] = "";
  if (const gpuasync_site *site = job->op->command.site)
    if (const char *file = gpuasync_site_file(site); *file)
      snprintf(launched, sizeof(launched), ", launched at %s:%u:%u", file,
               site->line, site->column);
  Status status = makeStatus(
      GPUASYNC_KERNEL_ASSERT,
      "%sassertion failed in kernel '%s', block (%jd, %jd, %jd), thread (%jd, "
      "%jd, %jd): %s%s",
      where, job->op->kernel->name, ctx->blockIdx[0], ctx->blockIdx[1],
      ctx->blockIdx[2], threadX, threadY, threadZ, message ? message : "",
      launched);
  if (*where)
    markLocated(status);
  else
    status = locate(std::move(status), job->op->command.site);
  failLaunch(ctx, std::move(status));
}
}

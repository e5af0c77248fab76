//===- MemoryPool.h - Memory of a context -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory comes from the driver's stream-ordered pool where it has one; a
// few small blocks are kept here, so that what a call frees the next one gets
// without asking the driver. Everything else is cached here in size classes
// (four to a doubling, so at most a quarter is wasted): freed memory waits on a
// list until the work before its free is done, or goes on the same stream at
// once.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_MEMORYPOOL_H
#define GPUASYNC_SHIM_POOL_MEMORYPOOL_H

#include "shim/base/Lists.h"
#include "shim/command/Extent.h"
#include "shim/pool/Origin.h"
#include "shim/process/Service.h"
#include "shim/timepoint/Timepoints.h"

#include <map>
#include <memory>

struct gpuasync_stream;

namespace gpuasync {

struct ContextPools;

using Stream = gpuasync_stream;

struct DeviceUse;

/// Memory that the driver gave us: one allocation, or a piece of a slab. A
/// program holds it (`live`), or it is staging, or free.
struct PoolAllocation {
  char *pointer = nullptr;
  uint64_t bytes = 0;    ///< as was asked
  uint64_t capacity = 0; ///< rounded up to the size class
  MemoryKind kind = MemoryKind::Device;
  uint32_t sizeClass = 0;
  bool ofPool = false; ///< of the driver's stream-ordered pool
  bool ofSlab = false; ///< freed with its slab
  bool live = false;
  bool kept = false;        ///< the context's own, which programs may only read
  uint32_t uses = 0;        ///< of staging: lists that it is on
  uint64_t capture = 0;     ///< whose graph allocates it
  DeviceUse *use = nullptr; ///< of a frame, whose list it is on
  PoolAllocation *previous = nullptr, *next = nullptr;
  Timepoint freed; ///< before it, reusable on the same stream only
  Origin origin;
  /// Parts of staging that are filled later; the service of HostCopies.h
  /// makes them.
  std::unique_ptr<ServicePart> late;
};

/// Thread safe, but that a frame is its own thread's. Under its lock only that
/// of timepoints is taken, and the driver is asked whether they are reached.
class MemoryPool {
public:
  explicit MemoryPool(ContextPools &context);
  MemoryPool(const MemoryPool &) = delete;

  //===--- A program's memory
  /// Memory on the frame's list. `stream` null: usable at once anywhere.
  /// `enqueued`: it counts as an operation of the stream, as all does but what
  /// the driver was not asked for.
  Status allocate(DeviceUse &use, Stream *stream, uint64_t bytes,
                  MemoryKind kind, const gpuasync_site *site,
                  PoolAllocation *&out, bool &enqueued);
  /// The program gives up what begins at `pointer`; `free` has to follow.
  Status giveUp(DeviceUse &use, Stream *stream, void *pointer,
                PoolAllocation *&out);
  /// Free after the work of `stream` so far; null: all use is over. `waited`:
  /// the host is expected to wait for just that. `enqueued`: the driver was
  /// told of it on the stream.
  Status free(Stream *stream, PoolAllocation *block, bool waited,
              bool &enqueued);
  /// The same, and the driver's pool gets what is its own. After an error too,
  /// when a stream may have work that it does not count.
  Status release(Stream *stream, PoolAllocation *block);
  /// Takes all blocks off the frame's list. They stay the program's, or it
  /// gives them up (`ends`); then they are returned, linked by `next`.
  PoolAllocation *leave(DeviceUse &use, bool ends);
  /// Memory that the graph of the frame's capture has allocated and not freed,
  /// which goes with it: where it was made, or an empty text.
  std::string forgetCaptured(DeviceUse &use);
  /// An error if `first`, the first element, lies in a block, and not all
  /// around it does, or no program holds that. `found`: it does lie in one.
  Status check(const void *first, const Extent &extent, const char *role,
               bool &found);
  uint64_t liveBytes();
  void keepLabels(const Registration *gone);
  /// `visit(origin, bytes)` for each block that a program holds.
  template <typename Visit>
  void forEachLive(Visit visit) {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &[base, block] : table)
      if (block.live)
        visit(block.origin, block.bytes);
  }

  //===--- What the context keeps for programs
  /// Device memory, usable at once anywhere.
  Status takeKept(uint64_t bytes, PoolAllocation *&out) {
    return takeOwn(MemoryKind::Device, bytes, out);
  }
  void dropKept(PoolAllocation *block); ///< nothing runs that uses it

  //===--- Staging
  /// Pinned memory with one use.
  Status takeStaging(uint64_t bytes, PoolAllocation *&out) {
    return takeOwn(MemoryKind::Pinned, bytes, out);
  }
  void shareStaging(PoolAllocation *staging); ///< one use more
  void
  dropStaging(PoolAllocation *staging);   ///< one use less; free after the last
  bool isShared(PoolAllocation *staging); ///< whether it has more uses than one

  //===--- Giving back
  /// All that is idle. [blocks]
  void trim();
  /// What is idle beyond the limit. Nothing runs.
  void trimToLimit();
  /// What is the driver's pool's, while `stream` (null: there is none) lives.
  void giveBackPool(NativeStream stream);
  /// At the context's end; staging has come back. `alive`: the device is not
  /// lost.
  void destroy(bool alive);

private:
  using Table = std::map<uintptr_t, PoolAllocation>;
  static constexpr uint32_t numClasses = 4 * 40, numKinds = 3;
  /// Free memory of one kind and size class; `fenced` oldest first.
  struct FreeList {
    Stack<PoolAllocation> ready;
    Queue<PoolAllocation> fenced;
    char *slabNext = nullptr, *slabEnd = nullptr; ///< not yet cut into blocks
  };

  FreeList &listOf(MemoryKind kind, uint32_t sizeClass) {
    return freeLists[static_cast<uint32_t>(kind)][sizeClass];
  }
  PoolAllocation *find(const void *pointer);
  PoolAllocation *note(void *pointer, uint64_t capacity, MemoryKind kind);
  void erase(PoolAllocation *block);
  void end(PoolAllocation *block);
  void keep(PoolAllocation *block);
  bool isUsable(PoolAllocation &block, const Stream *stream, MemoryKind kind);
  PoolAllocation *reuse(Stream *stream, MemoryKind kind, uint32_t sizeClass);
  PoolAllocation *reuseOfPool(Stream *stream, uint64_t bytes);
  Status keepOfPool(Stream *stream, bool waited, PoolAllocation *&block);
  template <typename Is>
  PoolAllocation *takeKeptOfPool(Is is);
  PoolAllocation *cutSlab(MemoryKind kind, uint32_t sizeClass);
  Status needServiceStream();
  Status callPool(Stream *stream, uint64_t bytes, void *&pointer);
  Status freeToPool(Stream *stream, PoolAllocation *block);
  void trimOfPool(Stream *stream);
  void forgetKeptOfPool();
  void giveBackIdle(Stream *stream);
  Status obtain(std::unique_lock<std::mutex> &lock, Stream *stream,
                uint64_t bytes, MemoryKind kind, bool captured,
                PoolAllocation *&out, bool &enqueued);
  Status takeOwn(MemoryKind kind, uint64_t bytes, PoolAllocation *&out);
  Status fromPool(std::unique_lock<std::mutex> &lock, Stream *stream,
                  uint64_t bytes, PoolAllocation *&out);
  Status fromDriver(std::unique_lock<std::mutex> &lock, MemoryKind kind,
                    uint32_t sizeClass, bool slab, PoolAllocation *&out);
  uint64_t limit() const;
  void reduce(uint64_t limit);

  ContextPools &context;
  std::mutex mutex;
  Table table; ///< all blocks, by address
  /// Nodes of it for reuse, so that a warm allocation allocates nothing.
  std::vector<Table::node_type> spares;
  FreeList freeLists[numKinds][numClasses];
  /// Free memory of the driver's pool that it has not been told of, oldest
  /// first.
  Queue<PoolAllocation> keptOfPool;
  uint32_t keptCount = 0;
  DriverList<void *> slabs[numKinds];
  uint64_t idleBytes = 0; ///< in the free lists
  uint64_t heldBytes = 0; ///< live, as the program asked

  /// For pool memory that belongs to no stream, by whoever holds the lock.
  std::mutex serviceMutex;
  NativeStream serviceStream = nullptr;
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_MEMORYPOOL_H

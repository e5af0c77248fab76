//===- MemoryPool.cpp - Memory of a context -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See MemoryPool.h.
//===----------------------------------------------------------------------===//

#include "shim/pool/ContextPools.h"
#include "shim/pool/DeviceUse.h"

#include <algorithm>
#include <new>

using namespace gpuasync;

static constexpr uint64_t unit = 256;
static constexpr uint64_t slabBytes = 256 << 10;
static constexpr uint64_t maxSlabPiece = 32 << 10;
static constexpr uint32_t maxFencedLooks = 8;
static constexpr size_t maxSpares = 64;
/// Of the driver's pool: where more is worked on, two calls do not count.
static constexpr uint64_t maxKeptBlock = 2 << 20;
static constexpr uint32_t maxKept = 16;

static uint64_t classBytes(uint32_t index) {
  uint64_t bytes = (unit << (index / 4)) / 4 * (4 + index % 4);
  return (bytes + unit - 1) / unit * unit;
}

/// The least class of at least `bytes`; `count` or more if there is none.
static uint32_t findClass(uint64_t bytes, uint32_t count) {
  if (bytes > classBytes(count - 1))
    return count;
  uint32_t doubling = 0;
  while ((unit << (doubling + 1)) <= bytes)
    ++doubling;
  uint32_t index = 4 * doubling;
  while (classBytes(index) < bytes)
    ++index;
  return index;
}

static uintptr_t addressOf(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

MemoryPool::MemoryPool(ContextPools &context) : context(context) {
  spares.reserve(maxSpares);
}

//===----------------------------------------------------------------------===//
// The table and the free lists: the mutex is held
//===----------------------------------------------------------------------===//

/// The block around an address, held or not; null if it is foreign.
PoolAllocation *MemoryPool::find(const void *pointer) {
  auto after = table.upper_bound(addressOf(pointer));
  if (after == table.begin())
    return nullptr;
  auto &[base, block] = *std::prev(after);
  return addressOf(pointer) - base < block.capacity ? &block : nullptr;
}

/// A new block, not yet handed out.
PoolAllocation *MemoryPool::note(void *pointer, uint64_t capacity,
                                 MemoryKind kind) {
  PoolAllocation *block;
  if (spares.empty()) {
    block = &table[addressOf(pointer)];
  } else {
    Table::node_type node = std::move(spares.back());
    spares.pop_back();
    node.key() = addressOf(pointer);
    node.mapped() = PoolAllocation();
    block = &table.insert(std::move(node)).position->second;
  }
  block->pointer = static_cast<char *>(pointer);
  block->capacity = capacity;
  block->kind = kind;
  return block;
}

void MemoryPool::erase(PoolAllocation *block) {
  Table::node_type node = table.extract(addressOf(block->pointer));
  if (spares.size() < maxSpares)
    spares.push_back(std::move(node)); // there is room
}

/// The program holds it no more.
void MemoryPool::end(PoolAllocation *block) {
  block->live = false;
  block->origin.site = nullptr;
  block->origin.label.clear();
  heldBytes -= block->bytes;
}

uint64_t MemoryPool::limit() const {
  return std::max<uint64_t>(context.info.memoryBytes / 8, 256 << 20);
}

/// What is beyond the limit goes when the context rests.
void MemoryPool::keep(PoolAllocation *block) {
  listOf(block->kind, block->sizeClass).ready.push(block);
  idleBytes += block->capacity;
  if (!block->ofSlab && idleBytes > limit())
    context.retiredCount.fetch_add(1, std::memory_order_relaxed);
}

/// Whether free memory may be handed out. Host-shared memory is valid on the
/// host at once, so only proven completion will do for it; device memory
/// follows its stream.
bool MemoryPool::isUsable(PoolAllocation &block, const Stream *stream,
                          MemoryKind kind) {
  return !block.freed.isSet() ||
         (stream && kind == MemoryKind::Device && !stream->external &&
          block.freed.timeline == &stream->timeline) ||
         context.timepoints.isOver(block.freed);
}

PoolAllocation *MemoryPool::reuse(Stream *stream, MemoryKind kind,
                                  uint32_t sizeClass) {
  FreeList &list = listOf(kind, sizeClass);
  PoolAllocation *block = list.ready.pop();
  if (!block)
    block = list.fenced.takeFirst(
        [&](PoolAllocation *each) { return isUsable(*each, stream, kind); },
        maxFencedLooks);
  if (!block)
    return cutSlab(kind, sizeClass);
  context.timepoints.drop(block->freed);
  idleBytes -= block->capacity;
  return block;
}

/// The next piece of the class's slab, or null.
PoolAllocation *MemoryPool::cutSlab(MemoryKind kind, uint32_t sizeClass) {
  FreeList &list = listOf(kind, sizeClass);
  uint64_t piece = classBytes(sizeClass);
  if (static_cast<uint64_t>(list.slabEnd - list.slabNext) < piece)
    return nullptr;
  PoolAllocation *block = note(list.slabNext, piece, kind);
  block->sizeClass = sizeClass;
  block->ofSlab = true;
  list.slabNext += piece;
  return block;
}

//===----------------------------------------------------------------------===//
// The driver's stream-ordered pool
//===----------------------------------------------------------------------===//

/// serviceMutex is held.
Status MemoryPool::needServiceStream() {
  if (serviceStream)
    return Status();
  Status status = context.driver->createStream(serviceStream);
  if (status.ok())
    context.physicalStreams.fetch_add(1, std::memory_order_relaxed);
  return status;
}

Status MemoryPool::callPool(Stream *stream, uint64_t bytes, void *&pointer) {
  Device &driver = *context.driver;
  if (stream)
    return driver.extensions.memory->allocAsync(stream->native, bytes, pointer);
  // Without a stream the memory has to be usable anywhere at once. The service
  // stream holds nothing but such allocations, so this wait is short.
  std::lock_guard<std::mutex> lock(serviceMutex);
  RETURN_IF_ERROR(needServiceStream());
  Status status =
      driver.extensions.memory->allocAsync(serviceStream, bytes, pointer);
  if (!status.ok())
    return status;
  bool done = false;
  status = driver.waitStream(serviceStream, -1, done);
  if (!status.ok())
    (void)driver.extensions.memory->freeAsync(serviceStream, pointer);
  return status;
}

/// Without memory for a service stream the block stays known, and close gives
/// it back.
Status MemoryPool::freeToPool(Stream *stream, PoolAllocation *block) {
  std::unique_lock<std::mutex> service(serviceMutex, std::defer_lock);
  if (!stream) {
    service.lock();
    RETURN_IF_ERROR(needServiceStream());
  }
  void *pointer = block->pointer;
  context.physicalBuffers.fetch_sub(1, std::memory_order_relaxed);
  context.physicalBytes.fetch_sub(block->capacity, std::memory_order_relaxed);
  {
    // Erased first: the driver may hand the address out again at once.
    std::lock_guard<std::mutex> lock(mutex);
    erase(block);
  }
  return context.driver->extensions.memory->freeAsync(
      stream ? stream->native : serviceStream, pointer);
}

//===----------------------------------------------------------------------===//
// What is kept of it
//===----------------------------------------------------------------------===//

/// The oldest of which `is` says so, or null. The lock is held.
template <typename Is>
PoolAllocation *MemoryPool::takeKeptOfPool(Is is) {
  PoolAllocation *block = keptOfPool.takeFirst(is, maxKept);
  if (!block)
    return nullptr;
  context.timepoints.drop(block->freed);
  --keptCount;
  return block;
}

/// The table has them still. Nothing else runs.
void MemoryPool::forgetKeptOfPool() {
  keptOfPool = {};
  keptCount = 0;
}

/// The lock is held.
PoolAllocation *MemoryPool::reuseOfPool(Stream *stream, uint64_t bytes) {
  return takeKeptOfPool([&](PoolAllocation *each) {
    return each->capacity == bytes && isUsable(*each, stream, each->kind);
  });
}

/// Keeps a freed block where it costs nothing to learn when it is usable. What
/// the driver gets in its place: the block itself, the oldest one, or null.
Status MemoryPool::keepOfPool(Stream *stream, bool waited,
                              PoolAllocation *&block) {
  if (block->capacity > maxKeptBlock || block->capture ||
      context.lost.load(std::memory_order_relaxed) ||
      (stream && stream->external))
    return Status();
  Timepoint freed;
  if (stream && !stream->timeline.isIdle()) {
    if (!stream->timeline.isSignalled() &&
        !(waited && stream->timeline.hasFlag()))
      return Status();
    RETURN_IF_ERROR(context.timepoints.make(stream->timeline, freed));
  }
  std::lock_guard<std::mutex> lock(mutex);
  PoolAllocation *gone = nullptr;
  if (keptCount == maxKept) {
    // What is behind work of another stream would have to wait for that.
    gone = takeKeptOfPool([&](PoolAllocation *each) {
      return isUsable(*each, stream, each->kind);
    });
    if (!gone)
      return Status();
  }
  block->freed = freed;
  keptOfPool.append(block);
  ++keptCount;
  block = gone;
  return Status();
}

/// What is usable goes back to the driver, what follows `stream` (null: none)
/// on that.
void MemoryPool::trimOfPool(Stream *stream) {
  bool any = false;
  while (true) {
    PoolAllocation *block = nullptr;
    bool follows = false;
    {
      std::lock_guard<std::mutex> lock(mutex);
      block = takeKeptOfPool([&](PoolAllocation *each) {
        if (isUsable(*each, nullptr, each->kind))
          return true;
        return follows = isUsable(*each, stream, each->kind);
      });
    }
    if (!block)
      break;
    any |= !follows;
    // If it cannot be given back now it stays known, and close does so.
    (void)guard([&] { return freeToPool(follows ? stream : nullptr, block); });
  }
  if (!any)
    return;
  std::lock_guard<std::mutex> lock(serviceMutex);
  bool done = false;
  if (serviceStream)
    (void)context.driver->waitStream(serviceStream, -1, done);
}

//===----------------------------------------------------------------------===//
// Allocating: with success the lock is held in the end
//===----------------------------------------------------------------------===//

Status MemoryPool::fromPool(std::unique_lock<std::mutex> &lock, Stream *stream,
                            uint64_t bytes, PoolAllocation *&out) {
  const uint64_t rounded = std::max<uint64_t>(bytes, 1);
  void *pointer = nullptr;
  RETURN_IF_ERROR(callPool(stream, rounded, pointer));
  lock.lock();
  try {
    out = note(pointer, rounded, MemoryKind::Device);
  } catch (...) {
    lock.unlock();
    if (stream) {
      (void)context.driver->extensions.memory->freeAsync(stream->native,
                                                         pointer);
    } else {
      std::lock_guard<std::mutex> service(serviceMutex);
      (void)context.driver->extensions.memory->freeAsync(serviceStream,
                                                         pointer);
    }
    throw;
  }
  out->ofPool = true;
  context.physicalBuffers.fetch_add(1, std::memory_order_relaxed);
  context.physicalBytes.fetch_add(rounded, std::memory_order_relaxed);
  return Status();
}

/// New memory from the driver: one block, or a slab of small ones.
Status MemoryPool::fromDriver(std::unique_lock<std::mutex> &lock,
                              MemoryKind kind, uint32_t sizeClass, bool slab,
                              PoolAllocation *&out) {
  uint64_t piece = classBytes(sizeClass);
  uint64_t bytes = slab ? slabBytes : piece;
  DriverList<void *> &noted = slabs[static_cast<uint32_t>(kind)];
  lock.lock();
  Room room(noted);
  lock.unlock();
  void *pointer = nullptr;
  Status status = context.driver->allocMemory(kind, bytes, pointer);
  if (!status.ok())
    return status;
  lock.lock();
  context.physicalBuffers.fetch_add(1, std::memory_order_relaxed);
  context.physicalBytes.fetch_add(bytes, std::memory_order_relaxed);
  noted.push_back(pointer);
  if (slab) {
    FreeList &list = listOf(kind, sizeClass);
    list.slabNext = static_cast<char *>(pointer);
    list.slabEnd = list.slabNext + bytes;
    out = cutSlab(kind, sizeClass);
    return Status();
  }
  // Without memory for the block's data it is kept as a slab, till close.
  out = note(pointer, bytes, kind);
  out->sizeClass = sizeClass;
  noted.pop_back();
  return Status();
}

Status MemoryPool::obtain(std::unique_lock<std::mutex> &lock, Stream *stream,
                          uint64_t bytes, MemoryKind kind, bool captured,
                          PoolAllocation *&out, bool &enqueued) {
  const bool ofPool =
      kind == MemoryKind::Device && context.has(CapStreamOrderedAlloc);
  enqueued = stream;
  uint32_t sizeClass = ofPool ? 0 : findClass(bytes, numClasses);
  Status status;
  if (sizeClass >= numClasses) {
    status = makeStatus(GPUASYNC_OUT_OF_MEMORY, "larger than any device");
  } else {
    // What is captured is memory of the graph's own.
    if (!ofPool || !captured) {
      lock.lock();
      if ((out = ofPool ? reuseOfPool(stream, std::max<uint64_t>(bytes, 1))
                        : reuse(stream, kind, sizeClass))) {
        enqueued = stream && !ofPool;
        return Status();
      }
      lock.unlock();
    }
    // Where no slab fits, a block of its own may.
    const bool slab = !ofPool && classBytes(sizeClass) <= maxSlabPiece;
    for (int attempt = 0; attempt < (slab ? 3 : 2); ++attempt) {
      status =
          ofPool ? fromPool(lock, stream, bytes, out)
                 : fromDriver(lock, kind, sizeClass, slab && attempt < 2, out);
      if (status.code() != GPUASYNC_OUT_OF_MEMORY)
        return status;
      if (!attempt)
        giveBackIdle(captured ? nullptr : stream);
    }
  }
  uint64_t freeBytes = 0, totalBytes = 0;
  context.driver->memoryInfo(freeBytes, totalBytes);
  return makeStatus(GPUASYNC_OUT_OF_MEMORY,
                    "out of memory: %ju bytes asked for, %ju held by the "
                    "program, %ju of %ju free on %s: %s",
                    bytes, liveBytes(), freeBytes, totalBytes,
                    context.device.c_str(), status.message());
}

//===----------------------------------------------------------------------===//
// A program's memory
//===----------------------------------------------------------------------===//

Status MemoryPool::allocate(DeviceUse &use, Stream *stream, uint64_t bytes,
                            MemoryKind kind, const gpuasync_site *site,
                            PoolAllocation *&out, bool &enqueued) {
  std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
  Status status =
      obtain(lock, stream, bytes, kind, use.capture != 0, out, enqueued);
  if (!status.ok())
    return status;
  out->live = true;
  out->bytes = bytes;
  out->capture = use.capture;
  out->origin.site = site;
  out->origin.program = use.pin->registration;
  out->use = &use;
  linkFront(use.buffers, out);
  heldBytes += bytes;
  use.slot->counters.buffers.create();
  return Status();
}

Status MemoryPool::giveUp(DeviceUse &use, Stream *stream, void *pointer,
                          PoolAllocation *&out) {
  std::lock_guard<std::mutex> lock(mutex);
  PoolAllocation *block = find(pointer);
  if (!block || block->pointer != pointer || block->uses || block->kept)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "%p was not allocated by this runtime in this context",
                      pointer);
  if (!block->live)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "%p was freed before",
                      pointer);
  if (use.capture && !(stream && block->capture == use.capture))
    return refuseCaptured("a free of memory that was allocated before",
                          "free it after the last run of the graph");
  if (block->use)
    unlink(block->use->buffers, block);
  block->use = nullptr;
  end(block);
  use.slot->counters.buffers.destroy();
  out = block;
  return Status();
}

Status MemoryPool::free(Stream *stream, PoolAllocation *block, bool waited,
                        bool &enqueued) {
  enqueued = false;
  if (block->ofPool) {
    // If it cannot be kept it can still be freed.
    (void)keepOfPool(stream, waited, block);
    if (!block)
      return Status();
    enqueued = stream;
  }
  return release(stream, block);
}

Status MemoryPool::release(Stream *stream, PoolAllocation *block) {
  if (block->ofPool)
    return freeToPool(stream, block);
  Timepoint freed;
  if (stream && !stream->timeline.isIdle())
    RETURN_IF_ERROR(context.timepoints.make(stream->timeline, freed));
  std::lock_guard<std::mutex> lock(mutex);
  if (!freed.isSet()) {
    keep(block);
    return Status();
  }
  block->freed = freed;
  listOf(block->kind, block->sizeClass).fenced.append(block);
  idleBytes += block->capacity;
  return Status();
}

PoolAllocation *MemoryPool::leave(DeviceUse &use, bool ends) {
  PoolAllocation *ended = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  while (PoolAllocation *block = use.buffers) {
    unlink(use.buffers, block);
    block->use = nullptr;
    if (!ends)
      continue;
    end(block);
    use.slot->counters.buffers.destroy();
    block->next = ended;
    ended = block;
  }
  return ended;
}

std::string MemoryPool::forgetCaptured(DeviceUse &use) {
  std::string first;
  std::lock_guard<std::mutex> lock(mutex);
  for (PoolAllocation *block = use.buffers, *next; block; block = next) {
    next = block->next;
    if (block->capture != use.capture)
      continue;
    try {
      if (first.empty())
        first = block->origin.text();
    } catch (const std::bad_alloc &) {
      first = "the op"; // short enough to need none
    }
    unlink(use.buffers, block);
    end(block);
    context.physicalBuffers.fetch_sub(1, std::memory_order_relaxed);
    context.physicalBytes.fetch_sub(block->capacity, std::memory_order_relaxed);
    use.slot->counters.buffers.destroy();
    erase(block);
  }
  return first;
}

Status MemoryPool::check(const void *first, const Extent &extent,
                         const char *role, bool &found) {
  std::lock_guard<std::mutex> lock(mutex);
  PoolAllocation *block = find(first);
  found = block;
  if (!block)
    return Status();
  if (!block->live && !block->kept)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the %s %p lies in memory that was freed", role, first);
  uint64_t offset = addressOf(first) - addressOf(block->pointer);
  if (!extent.isWithin(offset, block->bytes))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the %s exceeds its buffer: %s", role,
                      extent.describe(offset, block->bytes).c_str());
  return Status();
}

uint64_t MemoryPool::liveBytes() {
  std::lock_guard<std::mutex> lock(mutex);
  return heldBytes;
}

void MemoryPool::keepLabels(const Registration *gone) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[base, block] : table)
    block.origin.keepLabel(gone);
}

//===----------------------------------------------------------------------===//
// What the context keeps for programs
//===----------------------------------------------------------------------===//

Status MemoryPool::takeOwn(MemoryKind kind, uint64_t bytes,
                           PoolAllocation *&out) {
  std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
  bool enqueued = false;
  Status status =
      obtain(lock, nullptr, bytes, kind, /*captured=*/false, out, enqueued);
  if (status.ok()) {
    out->bytes = bytes;
    out->kept = kind == MemoryKind::Device;
    out->uses = !out->kept;
  }
  return status;
}

void MemoryPool::dropKept(PoolAllocation *block) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    block->kept = false;
  }
  // If it cannot be given back now it stays known, and close does so.
  (void)guard([&] { return release(nullptr, block); });
}

//===----------------------------------------------------------------------===//
// Staging
//===----------------------------------------------------------------------===//

void MemoryPool::shareStaging(PoolAllocation *staging) {
  std::lock_guard<std::mutex> lock(mutex);
  ++staging->uses;
}

bool MemoryPool::isShared(PoolAllocation *staging) {
  std::lock_guard<std::mutex> lock(mutex);
  return staging->uses > 1;
}

void MemoryPool::dropStaging(PoolAllocation *staging) {
  std::lock_guard<std::mutex> lock(mutex);
  if (--staging->uses)
    return;
  staging->late.reset();
  keep(staging);
}

//===----------------------------------------------------------------------===//
// Giving back
//===----------------------------------------------------------------------===//

void MemoryPool::reduce(uint64_t limit) {
  Table gone; // nodes move, so nothing is allocated
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (idleBytes <= limit)
      return;
    for (auto &lists : freeLists)
      for (FreeList &list : lists) {
        list.fenced.removeIf([&](PoolAllocation *block) {
          if (!context.timepoints.isOver(block->freed))
            return false;
          list.ready.push(block);
          return true;
        });
        Stack<PoolAllocation> kept;
        while (PoolAllocation *block = list.ready.pop()) {
          if (block->ofSlab || idleBytes <= limit) {
            kept.push(block);
            continue;
          }
          idleBytes -= block->capacity;
          gone.insert(table.extract(addressOf(block->pointer)));
        }
        while (PoolAllocation *block = kept.pop())
          list.ready.push(block);
      }
  }
  const bool alive = !context.lost.load();
  for (auto &[base, block] : gone) {
    if (alive)
      context.driver->freeMemory(block.kind, block.pointer);
    context.physicalBuffers.fetch_sub(1, std::memory_order_relaxed);
    context.physicalBytes.fetch_sub(block.capacity, std::memory_order_relaxed);
  }
}

void MemoryPool::trim() { giveBackIdle(nullptr); }

void MemoryPool::giveBackIdle(Stream *stream) {
  trimOfPool(stream);
  if (StreamMemory *memory = context.driver->extensions.memory)
    memory->trimMemory(0);
  reduce(0);
}

void MemoryPool::trimToLimit() { reduce(limit()); }

void MemoryPool::giveBackPool(NativeStream stream) {
  if (serviceStream)
    stream = serviceStream;
  bool any = false;
  forgetKeptOfPool();
  for (auto &[base, block] : table)
    if (block.ofPool && block.pointer && stream) {
      (void)context.driver->extensions.memory->freeAsync(stream, block.pointer);
      block.pointer = nullptr; // should this close not come to its end
      any = true;
    }
  bool done = false;
  if (any)
    (void)context.driver->waitStream(stream, -1, done);
}

void MemoryPool::destroy(bool alive) {
  Device &driver = *context.driver;
  if (serviceStream) {
    if (alive)
      driver.destroyStream(serviceStream);
    context.physicalStreams.fetch_sub(1);
    serviceStream = nullptr;
  }
  std::lock_guard<std::mutex> lock(mutex);
  forgetKeptOfPool();
  for (auto &[base, block] : table) {
    context.timepoints.drop(block.freed);
    if (!block.ofPool && !block.ofSlab && alive)
      driver.freeMemory(block.kind, block.pointer);
  }
  table.clear();
  for (uint32_t kind = 0; kind < numKinds; ++kind) {
    for (void *slab : slabs[kind])
      if (alive)
        driver.freeMemory(static_cast<MemoryKind>(kind), slab);
    slabs[kind].clear();
    for (FreeList &list : freeLists[kind])
      list = FreeList();
  }
}

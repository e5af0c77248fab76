//===- Allocator.cpp - Memory of a context --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory comes from the driver's stream-ordered pool where it has one.
// Everything else is cached here in size classes (four to a doubling, so at
// most a quarter is wasted): freed memory waits on a list until the work before
// its free is done, or goes on the same stream at once.
//===----------------------------------------------------------------------===//

#include "core/context/ContextImpl.h"

#include <algorithm>
#include <new>

using namespace gpuasync;

static constexpr uint64_t unit = 256;
static constexpr uint64_t slabBytes = 256 << 10;
static constexpr uint64_t maxSlabPiece = 32 << 10;
static constexpr int maxFencedLooks = 8;

static uint64_t classBytes(uint32_t index) {
  uint64_t bytes = (unit << (index / 4)) / 4 * (4 + index % 4);
  return (bytes + unit - 1) / unit * unit;
}

/// The least class of at least `bytes`; false if there is none.
static bool findClass(uint64_t bytes, uint32_t &index) {
  if (bytes > classBytes(numSizeClasses - 1))
    return false;
  uint32_t doubling = 0;
  while ((unit << (doubling + 1)) <= bytes)
    ++doubling;
  for (index = 4 * doubling; classBytes(index) < bytes;)
    ++index;
  return index < numSizeClasses;
}

Block *gpuasync_context::findBlock(const void *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  auto after = table.upper_bound(address);
  if (after == table.begin())
    return nullptr;
  Block *block = std::prev(after)->second;
  uintptr_t base = reinterpret_cast<uintptr_t>(block->pointer);
  return address - base < block->capacity ? block : nullptr;
}

static Block *makeBlock(gpuasync_context &context) {
  if (Block *block = context.spareBlocks) {
    context.spareBlocks = block->next;
    *block = Block();
    return block;
  }
  return new Block;
}

void gpuasync_context::addReady(Block *block) {
  FreeList &list =
      freeLists[static_cast<uint32_t>(block->kind)][block->sizeClass];
  block->next = list.ready;
  list.ready = block;
  idleBytes += block->capacity;
}

void gpuasync_context::insertBlock(Block *block) {
  auto address = reinterpret_cast<uintptr_t>(block->pointer);
  if (spareNodes.empty()) {
    table.emplace(address, block);
    return;
  }
  auto node = std::move(spareNodes.back());
  spareNodes.pop_back();
  node.key() = address;
  node.mapped() = block;
  table.insert(std::move(node));
}

void gpuasync_context::eraseBlock(Block *block) {
  auto node = table.extract(reinterpret_cast<uintptr_t>(block->pointer));
  if (!node || spareNodes.size() >= 64)
    return;
  try {
    spareNodes.reserve(64);
    spareNodes.push_back(std::move(node));
  } catch (const std::bad_alloc &) {
    // Then it is not kept.
  }
}

static uint64_t idleLimit(const gpuasync_context &context) {
  uint64_t eighth = context.info.memoryBytes / 8;
  return std::max<uint64_t>(eighth, 256 << 20);
}

void gpuasync_context::keepOrRetire(Block *block) {
  if (!block->ofSlab && idleBytes + block->capacity > idleLimit(*this)) {
    block->next = retiredBlocks;
    retiredBlocks = block;
    retiredCount.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  addReady(block);
}

/// Says what was asked for and what there is.
static Status describeOutOfMemory(gpuasync_context &context, Status status,
                                  uint64_t bytes) {
  uint64_t freeBytes = 0, totalBytes = 0;
  context.driver->memoryInfo(freeBytes, totalBytes);
  return makeStatus(GPUASYNC_OUT_OF_MEMORY,
                    "out of memory: %llu bytes asked for, %llu held by the "
                    "program, %llu of %llu free on %s: %s",
                    static_cast<unsigned long long>(bytes),
                    static_cast<unsigned long long>(context.liveBytes),
                    static_cast<unsigned long long>(freeBytes),
                    static_cast<unsigned long long>(totalBytes),
                    context.device.c_str(), status.message());
}

/// The stream for pool memory that belongs to no stream (serviceMutex held).
static Status needServiceStream(gpuasync_context &context) {
  if (context.serviceStream)
    return Status();
  Status status = context.driver->createStream(context.serviceStream);
  if (status.ok())
    context.physicalStreams.fetch_add(1, std::memory_order_relaxed);
  return status;
}

static Status fromPool(gpuasync_context &context, gpuasync_stream *stream,
                       uint64_t bytes, void *&out) {
  DriverContext &driver = *context.driver;
  if (stream)
    return driver.allocAsync(stream->native, bytes, out);
  // Without a stream the memory has to be usable anywhere at once. The service
  // stream holds nothing but such allocations, so this wait is short.
  std::lock_guard<std::mutex> lock(context.serviceMutex);
  if (Status status = needServiceStream(context); !status.ok())
    return status;
  Status status = driver.allocAsync(context.serviceStream, bytes, out);
  if (!status.ok())
    return status;
  bool done = false;
  status = driver.waitStream(context.serviceStream, -1, done);
  if (!status.ok())
    (void)driver.freeAsync(context.serviceStream, out);
  return status;
}

/// Back to the pool, after all work of `stream` so far (null: after nothing).
static Status toPool(gpuasync_context &context, gpuasync_stream *stream,
                     void *pointer) {
  if (stream)
    return context.driver->freeAsync(stream->native, pointer);
  std::lock_guard<std::mutex> lock(context.serviceMutex);
  if (Status status = needServiceStream(context); !status.ok())
    return status;
  return context.driver->freeAsync(context.serviceStream, pointer);
}

static Status allocateFromPool(gpuasync_context &context,
                               gpuasync_stream *stream, uint64_t bytes,
                               Block *&out) {
  uint64_t rounded = bytes ? bytes : 1;
  void *pointer = nullptr;
  Status status = fromPool(context, stream, rounded, pointer);
  if (!status.ok() && status.code() == GPUASYNC_OUT_OF_MEMORY) {
    context.trim();
    status = fromPool(context, stream, rounded, pointer);
  }
  if (!status.ok())
    return status.code() == GPUASYNC_OUT_OF_MEMORY
               ? describeOutOfMemory(context, std::move(status), bytes)
               : std::move(status);
  std::unique_lock<std::mutex> lock(context.memoryMutex);
  Block *block = nullptr;
  try {
    block = makeBlock(context);
    block->pointer = static_cast<char *>(pointer);
    block->capacity = rounded;
    block->ofPool = true;
    context.insertBlock(block);
  } catch (...) {
    if (block) {
      block->next = context.spareBlocks;
      context.spareBlocks = block;
    }
    lock.unlock();
    (void)toPool(context, stream, pointer);
    throw;
  }
  context.physicalBuffers.fetch_add(1, std::memory_order_relaxed);
  context.physicalBytes.fetch_add(rounded, std::memory_order_relaxed);
  out = block;
  return Status();
}

/// A new block, not yet handed out (memoryMutex held).
static Block *cutBlock(gpuasync_context &context, char *pointer,
                       MemoryKind kind, uint32_t sizeClass, bool ofSlab) {
  Block *block = makeBlock(context);
  block->pointer = pointer;
  block->capacity = classBytes(sizeClass);
  block->kind = kind;
  block->sizeClass = sizeClass;
  block->ofSlab = ofSlab;
  try {
    context.insertBlock(block);
  } catch (...) {
    block->next = context.spareBlocks;
    context.spareBlocks = block;
    throw;
  }
  return block;
}

/// The next piece of the class's slab, or null (memoryMutex held).
static Block *cutSlab(gpuasync_context &context, FreeList &list,
                      MemoryKind kind, uint32_t sizeClass) {
  uint64_t piece = classBytes(sizeClass);
  if (static_cast<uint64_t>(list.slabEnd - list.slabNext) < piece)
    return nullptr;
  Block *block = cutBlock(context, list.slabNext, kind, sizeClass, true);
  list.slabNext += piece;
  return block;
}

/// New memory from the driver: one block, or a slab of small ones.
static Status allocateFromDriver(gpuasync_context &context, MemoryKind kind,
                                 uint32_t sizeClass, Block *&out) {
  uint64_t piece = classBytes(sizeClass);
  bool slab = piece <= maxSlabPiece;
  uint64_t bytes = slab ? slabBytes : piece;
  auto index = static_cast<uint32_t>(kind);
  DriverList<void *> &slabs = context.slabs[index];
  std::unique_lock<std::mutex> lock(context.memoryMutex);
  Room room(slabs);
  lock.unlock();
  void *pointer = nullptr;
  Status status = context.driver->allocMemory(kind, bytes, pointer);
  if (!status.ok())
    return status;
  auto *memory = static_cast<char *>(pointer);
  lock.lock();
  context.physicalBuffers.fetch_add(1, std::memory_order_relaxed);
  context.physicalBytes.fetch_add(bytes, std::memory_order_relaxed);
  slabs.push_back(pointer);
  if (!slab) {
    // Without memory for the block's data it is kept as a slab, till close.
    out = cutBlock(context, memory, kind, sizeClass, false);
    slabs.pop_back();
    return Status();
  }
  FreeList &list = context.freeLists[index][sizeClass];
  list.slabNext = memory;
  list.slabEnd = memory + bytes;
  out = cutSlab(context, list, kind, sizeClass);
  return Status();
}

Status gpuasync_context::allocate(gpuasync_stream *stream, uint64_t bytes,
                                  MemoryKind kind, Block *&out) {
  if (kind == MemoryKind::Device && has(CapStreamOrderedAlloc))
    return allocateFromPool(*this, stream, bytes, out);
  uint32_t sizeClass = 0;
  if (!findClass(bytes, sizeClass))
    return describeOutOfMemory(
        *this, makeStatus(GPUASYNC_OUT_OF_MEMORY, "larger than any device"),
        bytes);
  {
    std::lock_guard<std::mutex> lock(memoryMutex);
    FreeList &list = freeLists[static_cast<uint32_t>(kind)][sizeClass];
    Block *block = list.ready;
    if (block) {
      list.ready = block->next;
    } else {
      // Host-shared memory is valid on the host at once, so only proven
      // completion will do for it; device memory follows its stream.
      Block *previous = nullptr;
      block = list.fencedHead;
      for (int looks = 0; block && looks < maxFencedLooks; ++looks) {
        bool sameStream = stream && kind == MemoryKind::Device && stream->id &&
                          block->freedOn == stream->id;
        if (sameStream || fences.reached(block->fence))
          break;
        previous = block;
        block = block->next;
        if (looks + 1 == maxFencedLooks)
          block = nullptr;
      }
      if (block) {
        (previous ? previous->next : list.fencedHead) = block->next;
        if (list.fencedTail == block)
          list.fencedTail = previous;
        fences.drop(block->fence);
      }
    }
    if (block) {
      block->next = nullptr;
      block->freedOn = 0;
      idleBytes -= block->capacity;
      out = block;
      return Status();
    }
    out = cutSlab(*this, list, kind, sizeClass);
    if (out)
      return Status();
  }
  Status status = allocateFromDriver(*this, kind, sizeClass, out);
  if (!status.ok() && status.code() == GPUASYNC_OUT_OF_MEMORY) {
    trim();
    status = allocateFromDriver(*this, kind, sizeClass, out);
    if (!status.ok() && status.code() == GPUASYNC_OUT_OF_MEMORY)
      return describeOutOfMemory(*this, std::move(status), bytes);
  }
  return status;
}

Status gpuasync_context::deallocate(gpuasync_stream *stream, Block *block) {
  if (block->ofPool) {
    if (!stream) {
      // Without one the block stays known, and close gives it back.
      std::lock_guard<std::mutex> lock(serviceMutex);
      if (Status status = needServiceStream(*this); !status.ok())
        return status;
    }
    {
      // Erased first: the driver may hand the address out again at once.
      std::lock_guard<std::mutex> lock(memoryMutex);
      eraseBlock(block);
    }
    Status status = toPool(*this, stream, block->pointer);
    physicalBuffers.fetch_sub(1, std::memory_order_relaxed);
    physicalBytes.fetch_sub(block->capacity, std::memory_order_relaxed);
    std::lock_guard<std::mutex> lock(memoryMutex);
    block->next = spareBlocks;
    spareBlocks = block;
    return status;
  }
  Fence fence;
  if (stream && stream->enqueued != stream->finished) {
    Status status = fences.make(*stream, fence);
    if (!status.ok())
      return status;
  }
  std::lock_guard<std::mutex> lock(memoryMutex);
  if (!fence.armed()) {
    keepOrRetire(block);
    return Status();
  }
  FreeList &list =
      freeLists[static_cast<uint32_t>(block->kind)][block->sizeClass];
  block->fence = fence;
  block->freedOn = stream->id;
  block->next = nullptr;
  if (list.fencedHead)
    list.fencedTail->next = block;
  else
    list.fencedHead = block;
  list.fencedTail = block;
  idleBytes += block->capacity;
  return Status();
}

/// Gives one whole driver allocation back. The block is on no list.
uint64_t gpuasync_context::freeDriverBlock(Block *block) {
  uint64_t bytes = block->capacity;
  driver->freeMemory(block->kind, block->pointer);
  physicalBuffers.fetch_sub(1, std::memory_order_relaxed);
  physicalBytes.fetch_sub(bytes, std::memory_order_relaxed);
  return bytes;
}

void gpuasync_context::trim() {
  driver->trimMemory(0);
  std::vector<Block *> victims;
  {
    std::lock_guard<std::mutex> lock(memoryMutex);
    for (auto &lists : freeLists)
      for (FreeList &list : lists) {
        for (Block **link = &list.fencedHead; *link;) {
          Block *block = *link;
          if (!fences.reached(block->fence)) {
            link = &block->next;
            continue;
          }
          *link = block->next;
          idleBytes -= block->capacity;
          block->freedOn = 0;
          addReady(block);
        }
        list.fencedTail = nullptr;
        for (Block *block = list.fencedHead; block; block = block->next)
          list.fencedTail = block;
        for (Block **link = &list.ready; *link;) {
          Block *block = *link;
          if (block->ofSlab) {
            link = &block->next;
            continue;
          }
          *link = block->next;
          idleBytes -= block->capacity;
          eraseBlock(block);
          victims.push_back(block);
        }
      }
  }
  for (Block *block : victims)
    freeDriverBlock(block);
  std::lock_guard<std::mutex> lock(memoryMutex);
  for (Block *block : victims) {
    block->next = spareBlocks;
    spareBlocks = block;
  }
}

//===- Memory.cpp - Memory, copies and fills of the fake libraries --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See State.h.
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <string.h>
#include <sys/mman.h>

using namespace mock;

static constexpr size_t page = 4096;

void *State::takeAddresses(size_t bytes) {
  // A page between two pieces stays inaccessible.
  size_t room = (bytes + page - 1) / page * page;
  if (room + page > arenaBytes - arenaUsed)
    return nullptr;
  char *result = arena + arenaUsed;
  if (mprotect(result, room, PROT_READ | PROT_WRITE))
    return nullptr;
  arenaUsed += room + page;
  return result;
}

void State::giveAddresses(uintptr_t base, size_t bytes) {
  auto *pointer = reinterpret_cast<char *>(base);
  size_t room = (bytes + page - 1) / page * page;
  madvise(pointer, room, MADV_DONTNEED);
  mprotect(pointer, room, PROT_NONE);
}

/// A piece of memory is no more.
void State::freed(uintptr_t base) {
  auto found = memory.find(base);
  Memory block = found->second;
  memory.erase(found);
  if (block.of == MemoryOf::Registered)
    return;
  if (block.of != MemoryOf::Pinned)
    deviceBytes -= block.bytes;
  giveAddresses(base, block.bytes);
}

uint64_t State::freeBytes() { return settings["memory"] - deviceBytes; }

int State::allocate(MemoryOf of, size_t bytes, void *&out) {
  if (!bytes)
    return InvalidValue;
  if (of != MemoryOf::Pinned && bytes > freeBytes())
    return OutOfMemory;
  void *pointer = takeAddresses(bytes);
  if (!pointer)
    return OutOfMemory;
  if (of != MemoryOf::Pinned)
    deviceBytes += bytes;
  Memory block;
  block.base = reinterpret_cast<uintptr_t>(pointer);
  block.bytes = bytes;
  block.of = of;
  block.context = current();
  block.contextId = block.context ? block.context->id : 0;
  memory[block.base] = block;
  out = pointer;
  return Success;
}

Memory *State::find(const void *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  auto next = memory.upper_bound(address);
  if (next == memory.begin())
    return nullptr;
  Memory &block = std::prev(next)->second;
  return address - block.base < block.bytes ? &block : nullptr;
}

int State::checkRange(const void *pointer, size_t bytes, const char *what,
                      bool &known) {
  Memory *block = find(pointer);
  auto address = reinterpret_cast<uintptr_t>(pointer);
  known = block;
  if (!block) {
    if (static_cast<const char *>(pointer) >= arena &&
        static_cast<const char *>(pointer) < arena + arenaBytes) {
      violation(std::string(what) + ": the memory was freed");
      return InvalidValue;
    }
    auto next = memory.upper_bound(address);
    if (next == memory.end() || next->first >= address + bytes)
      return Success;
  } else if (block->freed) {
    violation(std::string(what) + ": the memory was freed");
    return InvalidValue;
  } else if (bytes <= block->bytes - (address - block->base)) {
    return Success;
  }
  violation(std::string(what) + ": beyond the bounds of its memory");
  return InvalidValue;
}

int State::free(void *pointer, MemoryOf first, MemoryOf second,
                std::unique_lock<std::mutex> &lock) {
  if (!pointer)
    return Success;
  auto isRight = [&] {
    auto found = memory.find(reinterpret_cast<uintptr_t>(pointer));
    return found != memory.end() &&
           (found->second.of == first || found->second.of == second);
  };
  if (!isRight()) {
    violation("this is not the beginning of such memory");
    return InvalidValue;
  }
  block(lock);
  freed(reinterpret_cast<uintptr_t>(pointer));
  return Success;
}

int State::createPool(int device, Pool *&out) {
  if (device < 0 || uint64_t(device) >= settings["devices"])
    return InvalidDevice;
  if (!settings["pools"])
    return NotSupported;
  out = make<Pool>();
  out->device = device;
  return Success;
}

int State::pool(void *handle, Pool *&out) {
  return resolve(handle, Kind::Pool, "memory pool", out);
}

int State::destroyPool(void *handle) {
  Pool *pool = nullptr;
  if (int code = this->pool(handle, pool))
    return code;
  pool->alive = false;
  for (auto &[bytes, base] : pool->idle)
    giveAddresses(base, bytes);
  pool->idle.clear();
  return Success;
}

int State::trim(void *handle, size_t keepBytes,
                std::unique_lock<std::mutex> &lock) {
  Pool *pool = nullptr;
  if (int code = this->pool(handle, pool))
    return code;
  block(lock);
  uint64_t kept = 0;
  for (auto at = pool->idle.begin(); at != pool->idle.end();) {
    if (kept + at->first <= keepBytes) {
      kept += at->first;
      ++at;
      continue;
    }
    giveAddresses(at->second, at->first);
    at = pool->idle.erase(at);
  }
  return Success;
}

int State::allocateFrom(void *poolHandle, size_t bytes, void *streamHandle,
                        void *&out) {
  Pool *pool = nullptr;
  Stream *stream = nullptr;
  if (int code = this->pool(poolHandle, pool))
    return code;
  if (int code = resolveStream(streamHandle, stream))
    return code;
  if (pool->internalDependencies)
    violation("the pool may add order between streams to reuse memory");
  if (auto idle = pool->idle.find(bytes);
      idle != pool->idle.end() && bytes <= freeBytes()) {
    Memory block;
    block.base = idle->second;
    block.bytes = bytes;
    block.context = current();
    pool->idle.erase(idle);
    deviceBytes += bytes;
    memory[block.base] = block;
    out = reinterpret_cast<void *>(block.base);
  } else if (int code = allocate(MemoryOf::Pool, bytes, out)) {
    return code;
  }
  Memory &block = *find(out);
  block.of = MemoryOf::Pool;
  block.pool = pool;
  block.capture = stream->capture;
  if (stream->capture)
    stream->capture->memory.push_back(block.base);
  enqueue(*stream, Operation());
  return Success;
}

void State::returnToPool(uintptr_t base) {
  auto at = memory.find(base);
  Memory block = at->second;
  // Whoever still reads it finds that out.
  memset(reinterpret_cast<void *>(base), 0xdd, std::min(block.bytes, page));
  memory.erase(at);
  deviceBytes -= block.bytes;
  if (block.pool->alive)
    block.pool->idle.emplace(block.bytes, block.base);
  else
    giveAddresses(block.base, block.bytes);
}

int State::freeAsync(void *pointer, void *handle) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  auto found = memory.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == memory.end() || found->second.of != MemoryOf::Pool ||
      found->second.freed) {
    violation("this is not the beginning of memory of a pool");
    return InvalidValue;
  }
  if (found->second.capture != stream->capture) {
    violation("the memory does not belong to the graph");
    return InvalidValue;
  }
  found->second.freed = true;
  Operation operation;
  if (!stream->capture) // else it goes with the graph
    operation.run = [this, pointer] {
      std::lock_guard<std::mutex> lock(mutex);
      returnToPool(reinterpret_cast<uintptr_t>(pointer));
      return 0;
    };
  enqueue(*stream, std::move(operation));
  return Success;
}

int State::registerHost(void *pointer, size_t bytes) {
  auto base = reinterpret_cast<uintptr_t>(pointer);
  if (!pointer || !bytes)
    return InvalidValue;
  auto next = memory.upper_bound(base);
  if (find(pointer) || (next != memory.end() && next->first < base + bytes))
    return HostMemoryAlreadyRegistered;
  Memory block;
  block.base = base;
  block.bytes = bytes;
  block.of = MemoryOf::Registered;
  block.context = current();
  memory[base] = block;
  return Success;
}

int State::unregisterHost(void *pointer, std::unique_lock<std::mutex> &lock) {
  auto base = reinterpret_cast<uintptr_t>(pointer);
  auto found = memory.find(base);
  if (found == memory.end() || found->second.of != MemoryOf::Registered) {
    violation("this memory is not registered");
    return HostMemoryNotRegistered;
  }
  block(lock);
  freed(base);
  return Success;
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

/// Of a copy in a graph: both sides are memory that the vendor knows.
int State::checkRows(const Rows &rows) {
  bool toKnown = false, fromKnown = false;
  if (int code =
          checkRange(rows.destination, rows.width, "destination", toKnown))
    return code;
  if (int code = checkRange(rows.source, rows.width, "source", fromKnown))
    return code;
  if (toKnown && fromKnown)
    return Success;
  violation("a graph copies pageable memory");
  return InvalidValue;
}

int State::copyWork(const Rows &rows, Work &out) {
  if (!rows.width || rows.height != 1)
    return InvalidValue;
  if (int code = checkRows(rows))
    return code;
  out.of = Work::Copy;
  out.rows = rows;
  out.to = find(rows.destination)->of;
  out.from = find(rows.source)->of;
  // Memory of a pool is as any of the device.
  for (MemoryOf *of : {&out.to, &out.from})
    if (*of == MemoryOf::Pool)
      *of = MemoryOf::Device;
  auto onHost = [](MemoryOf of) {
    return of == MemoryOf::Pinned || of == MemoryOf::Registered;
  };
  if (onHost(out.to) && onHost(out.from))
    violation("a copy from host to host is done by a thread of the vendor's");
  out.run = [rows] {
    memmove(rows.destination, rows.source, rows.width);
    return 0;
  };
  return Success;
}

int State::copy(const Rows &rows, void *handle,
                std::unique_lock<std::mutex> &lock) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  if (!rows.width || !rows.height)
    return Success;
  size_t last = rows.height - 1;
  bool toKnown = false, fromKnown = false;
  if (int code = checkRange(rows.destination,
                            last * rows.destinationPitch + rows.width,
                            "destination", toKnown))
    return code;
  if (int code = checkRange(rows.source, last * rows.sourcePitch + rows.width,
                            "source", fromKnown))
    return code;
  auto onHost = [&](const void *pointer) {
    Memory *block = find(pointer);
    return !block || block->of == MemoryOf::Pinned ||
           block->of == MemoryOf::Registered;
  };
  bool hostToHost = onHost(rows.destination) && onHost(rows.source);
  Operation operation;
  operation.run = [rows] {
    for (size_t i = 0; i < rows.height; ++i)
      memmove(rows.destination + i * rows.destinationPitch,
              rows.source + i * rows.sourcePitch, rows.width);
    return 0;
  };
  bool waits = !toKnown || hostToHost;
  if (!fromKnown && toKnown) {
    // The vendor copies what is small at once, and waits with the rest.
    if (rows.height == 1 && rows.width <= (64 << 10)) {
      std::vector<char> staged(rows.source, rows.source + rows.width);
      operation.run = [rows, staged = std::move(staged)] {
        memcpy(rows.destination, staged.data(), rows.width);
        return 0;
      };
    } else {
      waits = true;
    }
  }
  enqueue(*stream, std::move(operation));
  if (!waits)
    return Success;
  if (thread().midFrame) {
    violation("a copy of pageable memory, or from host to host, waits for its "
              "stream");
    return Success; // rather than hang
  }
  uint64_t end = stream->finished + stream->queue.size();
  progress.wait(lock, [&] { return stream->finished >= end; });
  return stream->context->sticky;
}

int State::fill(void *destination, size_t pitch, uint32_t value,
                unsigned element, size_t width, size_t height, void *handle) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  if (!width || !height)
    return Success;
  bool known = false;
  if (int code = checkRange(destination, (height - 1) * pitch + width * element,
                            "destination", known))
    return code;
  if (!known) {
    violation("a fill of pageable memory");
    return InvalidValue;
  }
  Operation operation;
  operation.run = [=] {
    for (size_t y = 0; y < height; ++y)
      for (size_t x = 0; x < width; ++x)
        memcpy(static_cast<char *>(destination) + y * pitch + x * element,
               &value, element);
    return 0;
  };
  enqueue(*stream, std::move(operation));
  return Success;
}

//===- ContextImpl.h - A context and its pools ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects behind the opaque types of the ABI, and what a context owns:
// streams, events, memory, staging, modules, what waits to be retired.
//===----------------------------------------------------------------------===//
//
// Locks, each taken alone or in this order; none is held over a driver call
// that may block on the device, except retireMutex and waitMutex, which guard
// only that:
//   Process::mutex, waitMutex, orphanMutex, poolMutex, memoryMutex, and those
//   of the pools that are classes: Registrations, EventPool; StreamPool and
//   CallerStreams before memoryMutex; Fences last.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_CONTEXT_CONTEXTIMPL_H
#define GPUASYNC_CORE_CONTEXT_CONTEXTIMPL_H

#include "core/module/ModuleCache.h"
#include "core/pool/CallerStreams.h"
#include "core/pool/EventPool.h"
#include "core/pool/Fences.h"
#include "core/pool/LateSource.h"
#include "core/pool/Registrations.h"
#include "core/pool/StreamPool.h"
#include "core/process/Thread.h"
#include "gpuasync/Stats.h"

#include <map>
#include <memory>
#include <string>

namespace gpuasync {

struct Block;
struct Staging;

struct Download;

/// Pinned (on the cpu device: plain) memory that a pageable copy goes through.
struct Staging {
  Staging *next = nullptr;
  Block *block = nullptr;
  uint32_t uses = 1; ///< lists that it is on
  std::unique_ptr<LateSource> late;
};

/// A part of an upload's source that waits for a download; counts as a use.
struct LateLink {
  LateLink *next = nullptr;
  Staging *staging = nullptr;
  uint32_t number = 0;
};

/// One staged piece that a stream still reads: freed once the fence is reached.
struct StagingUse {
  StagingUse *next = nullptr;
  Staging *staging = nullptr;
  uint64_t bytes = 0;
  bool untilIdle = false; ///< it has no fence
  Fence fence; ///< unarmed with flags: reached when the *next* flag is
};

/// A copy into pageable memory that a host wait has to finish. Without staging
/// the device writes the memory itself, and the entry only tells later uploads.
struct Download {
  Download *next = nullptr;
  Fence fence;
  char *destination = nullptr;
  uint64_t bytes = 0; ///< extent of the destination
  Staging *staging = nullptr;
  /// Else plain bytes. Without staging its destination only says where.
  StridedCopy *scatter = nullptr;
  LateLink *late = nullptr;
  bool done = false;
};

/// Memory that the driver gave us: one allocation, or a piece of a slab.
struct Block {
  char *pointer = nullptr;
  uint64_t bytes = 0;    ///< as the program asked
  uint64_t capacity = 0; ///< rounded up to the size class
  MemoryKind kind = MemoryKind::Device;
  uint32_t sizeClass = 0;
  bool ofPool = false;    ///< of the driver's stream-ordered pool
  bool ofSlab = false;    ///< freed with its slab
  bool live = false;      ///< the program holds it
  bool internal = false;  ///< staging or flags
  uint64_t capture = 0;   ///< whose graph allocates it
  Frame *frame = nullptr; ///< whose list it is on
  Block *previous = nullptr, *next = nullptr;
  uint64_t freedOn = 0; ///< Stream::id; with `fence`: reusable there at once
  Fence fence;
  const gpuasync_site *site = nullptr;
  Registration *program = nullptr;
  std::string label;
};

/// Free memory of one kind and size class. `ready` first; `fenced` oldest
/// first.
struct FreeList {
  Block *ready = nullptr;
  Block *fencedHead = nullptr, *fencedTail = nullptr;
  char *slabNext = nullptr, *slabEnd = nullptr; ///< not yet cut into blocks
};

constexpr uint32_t numSizeClasses = 4 * 40;

} // namespace gpuasync

struct gpuasync_context {
  gpuasync_context(gpuasync::Driver &driver, int32_t ordinal);
  ~gpuasync_context();

  /// Callers'; the last one closes it. Scopes write it, so it has a line of its
  /// own: what every frame reads comes behind.
  alignas(64) std::atomic<uint32_t> references{1};
  /// Threads' parts of it, and one for all references: the object's life.
  std::atomic<uint32_t> parts{1};
  /// Calls outside of frames: closing waits for them.
  std::atomic<uint32_t> visitors{0};

  //===--- Read by every frame, written by cold calls only
  alignas(64) gpuasync::Driver &kind;
  std::unique_ptr<gpuasync::DriverContext> driver;
  /// The device's first fault; frames fail with it from then on.
  std::atomic<gpuasync_status *> lost{nullptr};
  /// What waits for an idle context (memoryMutex): see the retire lists.
  std::atomic<uint32_t> retiredCount{0};
  std::atomic<uint32_t> orphanCount{0};
  uint32_t capabilities = 0;
  const int32_t ordinal;
  const uint64_t id; ///< unique in the process
  enum class State : uint32_t { Open, Closing, Closed };
  std::atomic<State> state{State::Open};
  /// Who closes it.
  std::atomic<const gpuasync::ThreadState *> closedBy{nullptr};
  bool registered = false; ///< on Process::contexts
  std::string device;      ///< "cuda:0"
  gpuasync::DeviceInfo info;

  //===--- Threads and instances (poolMutex)
  alignas(64) std::mutex poolMutex;
  std::vector<gpuasync::ThreadContext *> slots;
  std::vector<gpuasync::Instance *> instances; ///< referenced
  gpuasync::Counters ended;                    ///< of threads that ended
  /// Of the Pause that there is; null: none.
  const gpuasync::ThreadState *pausedBy = nullptr;
  std::condition_variable resumed; ///< `pausedBy` is null again
  gpuasync::ModuleCache modules{*this};

  std::timed_mutex waitMutex; ///< one thread at a time waits for streams
  uint64_t waitRounds = 0;    ///< under waitMutex

  gpuasync::StreamPool streams{*this};
  gpuasync::CallerStreams callerStreams{*this};
  gpuasync::EventPool events{*this};
  gpuasync::Fences fences{*this};
  gpuasync::Registrations registrations{*this};

  //===--- Memory (memoryMutex)
  std::mutex memoryMutex;
  std::map<uintptr_t, gpuasync::Block *> table; ///< base -> block
  gpuasync::FreeList freeLists[3][gpuasync::numSizeClasses];
  gpuasync::DriverList<void *> slabs[3];
  /// Nodes of `table` for reuse, so that a warm allocation allocates nothing.
  std::vector<std::map<uintptr_t, gpuasync::Block *>::node_type> spareNodes;
  gpuasync::Block *spareBlocks = nullptr;
  gpuasync::StagingUse *spareUses = nullptr;
  gpuasync::Staging *spareStagings = nullptr;
  gpuasync::Download *spareDownloads = nullptr;
  uint64_t idleBytes = 0; ///< in the free lists
  uint64_t liveBytes = 0; ///< as the program asked
  /// Downloads of frames that were left before a host wait covered them. The
  /// lock is held while they are finished: a waiter must find them finished.
  std::mutex orphanMutex;
  gpuasync::Download *orphans = nullptr;
  std::mutex serviceMutex; ///< serviceStream belongs to whoever holds it
  gpuasync::NativeStream serviceStream = nullptr;

  //===--- What may block the device is done when it is idle (memoryMutex)
  std::mutex retireMutex; ///< one thread drains at a time
  gpuasync::Block *retiredBlocks = nullptr;

  std::atomic<uint64_t> physicalStreams{0}, physicalEvents{0},
      physicalModules{0}, physicalBuffers{0}, physicalBytes{0};
  std::vector<std::string> leaks; ///< after close; under memoryMutex
  gpuasync_stats base{};          ///< of the last reset; under poolMutex

  bool has(gpuasync::Capability capability) const {
    return capabilities & capability;
  }
  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void retainPart() { parts.fetch_add(1, std::memory_order_relaxed); }
  void releasePart() {
    if (parts.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
  void release();

  /// Closed contexts and lost devices; Ok otherwise.
  gpuasync::Status check();
  /// Remembers a device fault; passes the status on.
  gpuasync::Status noteFault(gpuasync::Status status);

  /// Waits for all pending and held streams, and for frames' work on callers'
  /// streams. Ok: all of it has ended, though it may have failed; `failed` is
  /// the first such error on a session's streams. Else the driver's error, a
  /// timeout or the loss of the device, on which nothing runs.
  gpuasync::Status waitForStreams(const gpuasync::Deadline &deadline,
                                  gpuasync::Status *failed = nullptr);

  //===--- Waiting (Wait.cpp)
  gpuasync::Status waitStream(gpuasync_stream &stream,
                              const gpuasync::Deadline &deadline,
                              bool flagWritten, bool &done);
  gpuasync::Status waitNativeEvent(gpuasync::NativeEvent event,
                                   const gpuasync::Deadline &deadline,
                                   bool &done);

  //===--- Memory (Allocator.cpp)
  gpuasync::Status allocate(gpuasync_stream *stream, uint64_t bytes,
                            gpuasync::MemoryKind kind, gpuasync::Block *&out);
  /// `stream` null: all use is over.
  gpuasync::Status deallocate(gpuasync_stream *stream, gpuasync::Block *block);
  /// The block around an address, live or idle; null if foreign (memoryMutex
  /// held).
  gpuasync::Block *findBlock(const void *pointer);
  /// Gives idle memory back to the driver (may block on the device).
  void trim();
  void addReady(gpuasync::Block *block); ///< memoryMutex held
  /// The same within the limit of idle memory, else to the retire list.
  void keepOrRetire(gpuasync::Block *block);
  void insertBlock(gpuasync::Block *block); ///< memoryMutex held
  void eraseBlock(gpuasync::Block *block);  ///< memoryMutex held
  uint64_t freeDriverBlock(gpuasync::Block *block);

  //===--- Staging (Staging.cpp)
  gpuasync::Status takeStaging(uint64_t bytes, gpuasync::Staging *&out);
  void dropStaging(gpuasync::Staging *staging);
  gpuasync::Status useStaging(gpuasync_stream &stream,
                              gpuasync::Staging *staging, uint64_t bytes);
  /// Frees what the stream's reached fences cover; `idle`: all of it.
  void reapStaging(gpuasync_stream &stream, bool idle);
  /// Finishes the downloads of a list whose fence is reached.
  void finishDownloads(gpuasync::Download *&list);
  void finishOrphans();
  void dropDownloads(gpuasync::Download *&list);
  /// They will write nothing, but the device may still work on their staging.
  void abandonDownloads(gpuasync::Download *list);
  gpuasync::Download *newDownload();
  void dropDownload(gpuasync::Download *download); ///< never used

  //===--- The end (Close.cpp)
  /// Whether nothing of the context can be running: no frame but the one that
  /// the calling thread is about to begin (null: none at all), no pending work.
  bool isIdle(const gpuasync::Pin *entering);
  /// The same of all contexts of the vendor's context (`sharesDevice`).
  bool rests(const gpuasync::Pin *entering);
  /// Whether a context that shares the device was closed while its work went
  /// on, and that still does.
  bool isHeldUp();
  /// Whether what waits for all kernels of one context waits for the other's.
  bool sharesDevice(const gpuasync_context &other) const;
  /// Its frames begin again.
  void resume();
  /// Carries out retired work if the context rests; whether it did. `entering`:
  /// see isIdle.
  bool drainRetired(const gpuasync::Entering *entering);
  /// The same outside of frames, where the context need not be current.
  void drainRetired();
  /// The context rests, and a Pause keeps it so.
  void carryOutRetired();
  /// gpuasync_context_trim. [blocks]
  gpuasync::Status giveBack(int64_t timeoutNs);
  /// What keeps it from being idle.
  std::string describeBusy();
  gpuasync::Status close();
  gpuasync::Status closeOnce();
  /// Nothing of the program is left here, or the error why not.
  gpuasync::Status forgetProgram(gpuasync::Registration *registration,
                                 const gpuasync::Deadline &deadline);
  void reclaim();
  void freePoolBlocks();
};

namespace gpuasync {

/// "cpu", "cuda:0".
std::string deviceName(const Driver &driver, int32_t ordinal);

/// "file:line:col: op", or the label kept when the program went away.
std::string describeSite(const gpuasync_site *site, const std::string &label);

/// Makes the context current for a scope outside any frame, and folds the
/// driver calls made meanwhile into the thread's counters.
class CurrentContext {
public:
  explicit CurrentContext(gpuasync_context &context);
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;
  Status status;

private:
  gpuasync_context &context;
  SavedContext saved;
  uint64_t callsBefore;
};

/// While one lives no frame of the contexts that share the device begins, but
/// on threads that have one open or made the pause: all instances are marked,
/// and makePin waits for the end. What waits for all that runs is done in a
/// pause: a kernel that came between would hold it up, and may itself wait for
/// this thread.
class Pause {
public:
  explicit Pause(gpuasync_context &context);
  Pause(const Pause &) = delete;
  ~Pause();
  /// False: another one has begun.
  bool begun() const { return own; }

private:
  gpuasync_context &context;
  bool own;
};

/// Keeps a context from being closed while it lives, unless that has begun.
class Visit {
public:
  explicit Visit(gpuasync_context &context);
  Visit(const Visit &) = delete;
  ~Visit();
  bool open() const { return isOpen; }
  /// Whether the calling thread is in a visit of the context.
  static bool isInside(const gpuasync_context &context);

private:
  gpuasync_context &context;
  Visit *outer; ///< the thread's next one outwards
  bool isOpen;
};

/// Between two looks, number `round` and the next, at what another thread does.
void nap(int round);

} // namespace gpuasync

#endif // GPUASYNC_CORE_CONTEXT_CONTEXTIMPL_H

//===- Handles.h - Virtual streams and events -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What mgpuStreamCreate and mgpuEventCreate return: 64 bytes each, told apart
// from pointers by a tag and from what used the place before by a generation.
// Physical streams and events come from the runtime's pools, only while needed.
//===----------------------------------------------------------------------===//
//
// Upstream's lowering passes streams where events are expected, the reverse,
// destroys both twice, waits for them afterwards, and forgets many. So a handle
// is one thing with two faces. As an event it stands for its last record, or
// for the tail of its stream; as a stream, for work after that event. A
// destroyed handle keeps its stream until the work there is done.
//
// Locks, in this order: a handle's stripe, the table's mutex, another handle's
// stripe by try_lock only. A stripe is held while a call puts work on the
// handle's stream, never during a host wait.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_MGPU_HANDLES_H
#define GPUASYNC_LIBS_MGPU_HANDLES_H

#include "services/session/Session.h"

#include <atomic>
#include <mutex>

namespace gpuasync::mgpu {

struct MgpuDevice;

/// A recorded event, shared by handles and by host waits for it.
struct Point {
  MgpuDevice *device = nullptr;
  Event *event = nullptr;
  std::atomic<uint32_t> references{1};
};

enum class Kind : uint8_t { Stream, Event };
enum class State : uint8_t { Never, Live, Destroyed };

struct alignas(64) Handle {
  MgpuDevice *device = nullptr;
  gpuasync_stream *stream = nullptr;
  Point *point = nullptr;
  Handle *previous = nullptr, *next = nullptr; ///< of holders, or free ones
  uint64_t origin = 0; ///< of an event: the handle that it was recorded on
  uint32_t index = 0;
  uint32_t generation = 0; ///< 24 bits
  Kind kind = Kind::Stream;
  State state = State::Never;
  /// On its device's list of holders (the table's mutex; all but the links and
  /// this is the stripe's).
  bool linked = false;

  void *value() const {
    return reinterpret_cast<void *>(uint64_t(0x6d) << 56 |
                                    uint64_t(generation) << 32 | index);
  }
};
static_assert(sizeof(Handle) == 64);

/// One device, as GPU_ASYNC_DEVICE and mgpuSetDefaultDevice name it.
struct MgpuDevice {
  Session *session = nullptr;
  MgpuDevice *nextDevice = nullptr;
  std::atomic<void *> nullStream{nullptr}; ///< what a null stream means
  /// Handles with a physical stream or event, longest untouched first (the
  /// table's mutex).
  Handle *holders = nullptr, *lastHolder = nullptr;
  std::atomic<uint32_t> holderCount{0};
  std::atomic<uint64_t> streamCount{0};
};

/// The calling thread's device; null after an error, which is reported. Where
/// nothing has chosen yet, `kind` ("cpu") is the default from now on; null: the
/// first device there is.
MgpuDevice *currentDevice(const gpuasync_site *site,
                          const char *kind = nullptr);
/// For the calling thread; -1: what GPU_ASYNC_DEVICE says.
void setOrdinal(int32_t ordinal);

/// A handle's device, the thread's for a null one; null after an error.
MgpuDevice *deviceOf(void *value, const gpuasync_site *site);

/// A new handle's value; null after an error.
void *createHandle(Kind kind, const gpuasync_site *site);
void destroyHandle(void *value, const gpuasync_site *site);

/// Waits on the host for what a handle stands for. A null handle is the null
/// stream.
void synchronizeHandle(void *value, Kind meant, const gpuasync_site *site);
/// Later work of `stream` starts after what `event` stands for.
void waitForHandle(void *stream, void *event, const gpuasync_site *site);
/// `event` stands for all work of `stream` so far.
void recordHandle(void *event, void *stream, const gpuasync_site *site);

/// A handle to put work on: locked, with a physical stream. `stream` is null
/// after an error, which is reported.
class Work {
public:
  Work(void *value, const gpuasync_site *site);
  MgpuDevice *device = nullptr;
  gpuasync_stream *stream = nullptr;

private:
  std::unique_lock<std::mutex> lock;
};

/// Frees `pointer` after the work of `value` so far; a null stream: after all
/// work so far of the thread's device.
void freeAfter(void *value, void *pointer, const gpuasync_site *site);

} // namespace gpuasync::mgpu

#endif // GPUASYNC_LIBS_MGPU_HANDLES_H

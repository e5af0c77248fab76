//===- FakeNccl.cpp - A fake NCCL over the fake vendor libraries ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See FakeNccl.h. Each collective is a list of messages and, for reductions, a
// sum over what has come, in the order of the ranks. Numbers are whole.
//===----------------------------------------------------------------------===//

#include "FakeNccl.h"

#include "Mock.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <limits.h>
#include <map>
#include <memory>
#include <mutex>
#include <stdint.h>
#include <string.h>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define FAKE_NCCL_FUNCTION(result, name, parameters)                           \
  EXPORT result name parameters;
FAKE_NCCL_FUNCTIONS
#undef FAKE_NCCL_FUNCTION

#ifdef FAKE_RCCL
static const char *const vendorLibrary = "GPU_ASYNC_HIP_LIBRARY";
#else
static const char *const vendorLibrary = "GPU_ASYNC_CUDA_LIBRARY";
#endif

namespace {
enum Result {
  Success = 0,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7
};

struct Id {
  char bytes[128];
};
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char *netName;
  int splitShare;
};

struct Message {
  const void *from;
  size_t bytes;
  std::shared_ptr<bool> isTaken;
};

/// The ranks of an id, or of a part of such a group.
struct Group {
  explicit Group(int count) : count(count) {}
  const int count;
  int begun = 0;
  /// By sender and receiver.
  std::map<std::pair<int, int>, std::deque<Message>> messages;
};

struct Comm {
  std::shared_ptr<Group> group;
  int rank = 0;
  bool blocking = true, isLimited = false, isAlive = true;
  /// One for all that share resources.
  std::shared_ptr<bool> isAborted = std::make_shared<bool>(false);
  Comm *parent = nullptr, *child = nullptr;
  int splits = 0;
  Comm **splitInto = nullptr; ///< not there yet
  int state = Success;
  uint64_t running = 0; ///< collectives on streams
};

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t ids = 0;
  std::map<std::string, std::shared_ptr<Group>> groups;
  std::map<Comm *, std::shared_ptr<Group>> splits; ///< by any parent
  std::vector<std::unique_ptr<Comm>> comms;
  std::map<std::string, uint64_t> calls;
  uint64_t limited = 0; ///< collectives with a limit of workgroups
  std::string failing, held;
  uint64_t failsAt = 0;
  int failsWith = 0;
  uint32_t standing = 0;
  bool begins = false, meets = false; ///< without the other ranks
};
State &state() {
  static State &all = *new State;
  return all;
}

using Lock = std::unique_lock<std::mutex>;

/// Returns at once the error that is to be, or Success.
int begin(Lock &lock, const char *name, Comm *comm = nullptr) {
  State &all = state();
  ++all.calls[name];
  if (comm && !comm->isAlive)
    return InvalidArgument;
  if (all.held == name) {
    ++all.standing;
    all.changed.notify_all();
    all.changed.wait(
        lock, [&] { return all.held != name || (comm && *comm->isAborted); });
    --all.standing;
    if (comm && *comm->isAborted)
      return InternalError;
  }
  if (all.failsAt && all.failing == name && !--all.failsAt)
    return all.failsWith;
  return Success;
}

Comm *makeComm(std::shared_ptr<Group> group, int rank, const Config *config) {
  auto comm = std::make_unique<Comm>();
  comm->group = std::move(group);
  comm->rank = rank;
  comm->blocking = config->blocking != 0;
  comm->isLimited = config->maxCTAs != INT_MIN;
  ++comm->group->begun;
  state().changed.notify_all();
  state().comms.push_back(std::move(comm));
  return state().comms.back().get();
}

size_t bytesOf(int type) {
  static const size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return bytes[type];
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Work of one rank: it sends, then receives, and waits for both.
struct Work {
  struct Part {
    int peer;
    const void *from;
    void *to;
    size_t bytes;
  };
  Comm *comm = nullptr;
  std::vector<Part> sends, receives;
  std::vector<std::shared_ptr<std::vector<char>>> memory; ///< of what comes
  std::function<void()> then;
};
thread_local int depth = 0;
thread_local std::vector<std::pair<void *, std::shared_ptr<Work>>> waiting;

int runWork(void *argument) {
  std::unique_ptr<std::shared_ptr<Work>> holder(
      static_cast<std::shared_ptr<Work> *>(argument));
  Work &work = **holder;
  Comm &comm = *work.comm;
  Group &group = *comm.group;
  State &all = state();
  Lock lock(all.mutex);
  std::vector<std::shared_ptr<bool>> taken;
  for (const Work::Part &part : work.sends) {
    taken.push_back(std::make_shared<bool>(false));
    group.messages[{comm.rank, part.peer}].push_back(
        {part.from, part.bytes, taken.back()});
  }
  all.changed.notify_all();
  bool isComplete = true;
  for (const Work::Part &part : work.receives) {
    auto &queue = group.messages[{part.peer, comm.rank}];
    all.changed.wait(lock, [&] {
      return *comm.isAborted ||
             (!queue.empty() && queue.front().bytes == part.bytes);
    });
    isComplete = !*comm.isAborted;
    if (!isComplete)
      break;
    if (part.bytes)
      memcpy(part.to, queue.front().from, part.bytes);
    *queue.front().isTaken = true;
    queue.pop_front();
    all.changed.notify_all();
  }
  all.changed.wait(lock, [&] {
    return *comm.isAborted || std::all_of(taken.begin(), taken.end(),
                                          [](auto &each) { return *each; });
  });
  if (isComplete && !*comm.isAborted && work.then)
    work.then();
  // The memory may be freed now.
  for (const Work::Part &part : work.sends) {
    auto &queue = group.messages[{comm.rank, part.peer}];
    queue.erase(std::remove_if(queue.begin(), queue.end(),
                               [&](const Message &message) {
                                 return std::find(taken.begin(), taken.end(),
                                                  message.isTaken) !=
                                        taken.end();
                               }),
                queue.end());
  }
  --comm.running;
  all.changed.notify_all();
  return 0;
}

gpuasync_test::Mock &vendor() {
  static gpuasync_test::Mock mock(getenv(vendorLibrary));
  return mock;
}

int launch(Lock &lock, void *stream, std::shared_ptr<Work> work) {
  ++work->comm->running;
  state().limited += work->comm->isLimited;
  lock.unlock();
  const int code =
      vendor().mock_enqueue(stream, runWork, new std::shared_ptr<Work>(work));
  lock.lock();
  return code ? InvalidArgument : Success;
}

int put(Lock &lock, void *stream, std::shared_ptr<Work> work) {
  if (!depth)
    return launch(lock, stream, std::move(work));
  waiting.emplace_back(stream, std::move(work));
  return Success;
}

template <typename T>
void reduce(int op, const std::vector<std::shared_ptr<std::vector<char>>> &from,
            void *to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T result = reinterpret_cast<const T *>(from[0]->data())[i];
    for (size_t k = 1; k < from.size(); ++k) {
      const T next = reinterpret_cast<const T *>(from[k]->data())[i];
      result = op == 0   ? T(result + next)
               : op == 1 ? T(result * next)
               : op == 2 ? std::max(result, next)
                         : std::min(result, next);
    }
    static_cast<T *>(to)[i] = result;
  }
}

void reduce(int type, int op,
            const std::vector<std::shared_ptr<std::vector<char>>> &from,
            void *to, size_t count) {
  switch (type) {
  case 0:
    return reduce<int8_t>(op, from, to, count);
  case 1:
    return reduce<uint8_t>(op, from, to, count);
  case 2:
    return reduce<int32_t>(op, from, to, count);
  case 4:
    return reduce<int64_t>(op, from, to, count);
  case 7:
    return reduce<float>(op, from, to, count);
  case 8:
    return reduce<double>(op, from, to, count);
  }
  abort(); // no test has them
}

/// Each rank sends `sent(peer)` bytes from `source(peer)` to each, which are
/// kept; then `then(kept)`.
int meet(
    Lock &lock, Comm *comm, void *stream, size_t bytes,
    const std::function<const void *(int)> &source,
    std::function<void(const std::vector<std::shared_ptr<std::vector<char>>> &)>
        then) {
  auto work = std::make_shared<Work>();
  work->comm = comm;
  for (int peer = 0; peer < comm->group->count; ++peer) {
    if (state().meets && peer != comm->rank)
      continue;
    work->memory.push_back(std::make_shared<std::vector<char>>(bytes));
    work->sends.push_back({peer, source(peer), nullptr, bytes});
    work->receives.push_back(
        {peer, nullptr, work->memory.back()->data(), bytes});
  }
  work->then = [memory = work->memory, then = std::move(then)] {
    then(memory);
  };
  return put(lock, stream, std::move(work));
}

int finishAbort(Lock &lock, Comm *comm) {
  State &all = state();
  *comm->isAborted = true;
  all.changed.notify_all();
  all.changed.wait(lock, [&] { return !comm->running; });
  comm->isAlive = false;
  return Success;
}
} // namespace

//===----------------------------------------------------------------------===//
// NCCL's functions
//===----------------------------------------------------------------------===//

EXPORT int ncclGetVersion(int *version) {
  *version = 22809;
  return Success;
}
EXPORT int ncclGetUniqueId(Id *id) {
  Lock lock(state().mutex);
  if (int code = begin(lock, "ncclGetUniqueId"))
    return code;
  memset(id, 0, sizeof(*id));
  snprintf(id->bytes, sizeof(id->bytes), "fake %llu",
           static_cast<unsigned long long>(++state().ids));
  return Success;
}
EXPORT int ncclCommInitRankConfig(void **out, int count, Id id, int rank,
                                  const Config *config) {
  State &all = state();
  Lock lock(all.mutex);
  if (config->magic != 0xcafebeef || config->blocking)
    return InvalidArgument; // what blocks here cannot be given up
  if (int code = begin(lock, "ncclCommInitRankConfig"))
    return code;
  auto &group = all.groups[id.bytes];
  if (!group)
    group = std::make_shared<Group>(count);
  Comm *comm = makeComm(group, rank, config);
  comm->state = InProgress;
  *out = comm;
  return InProgress;
}
EXPORT int ncclCommSplit(void *parent, int, int, void **out,
                         const Config *config) {
  State &all = state();
  Lock lock(all.mutex);
  auto *comm = static_cast<Comm *>(parent);
  if (int code = begin(lock, "ncclCommSplit", comm))
    return code;
  auto &group = all.groups["split " + std::to_string(comm->splits++) + " of " +
                           std::to_string(
                               reinterpret_cast<uintptr_t>(comm->group.get()))];
  if (!group)
    group = std::make_shared<Group>(comm->group->count);
  *out = nullptr;
  comm->child = makeComm(group, comm->rank, config);
  comm->child->parent = comm;
  if (config->splitShare == 1)
    comm->child->isAborted = comm->isAborted;
  comm->splitInto = reinterpret_cast<Comm **>(out);
  comm->state = InProgress;
  return Success;
}
EXPORT int ncclCommGetAsyncError(void *handle, int *result) {
  State &all = state();
  Lock lock(all.mutex);
  auto *comm = static_cast<Comm *>(handle);
  if (int code = begin(lock, "ncclCommGetAsyncError", comm))
    return code;
  const Group &group = comm->splitInto ? *comm->child->group : *comm->group;
  if (comm->state == InProgress &&
      (state().begins || group.begun == group.count)) {
    comm->state = Success;
    if (comm->splitInto)
      *comm->splitInto = comm->child;
    comm->splitInto = nullptr;
  }
  *result = comm->state;
  return Success;
}
EXPORT int ncclCommAbort(void *handle) {
  Lock lock(state().mutex);
  auto *comm = static_cast<Comm *>(handle);
  if (int code = begin(lock, "ncclCommAbort"))
    return code;
  if (comm->child && comm->child->isAlive && comm->splitInto)
    (void)finishAbort(lock, comm->child);
  return finishAbort(lock, comm);
}
EXPORT int ncclCommFinalize(void *handle) {
  Lock lock(state().mutex);
  auto *comm = static_cast<Comm *>(handle);
  return begin(lock, "ncclCommFinalize", comm);
}
EXPORT int ncclCommDestroy(void *handle) {
  State &all = state();
  Lock lock(all.mutex);
  auto *comm = static_cast<Comm *>(handle);
  if (int code = begin(lock, "ncclCommDestroy", comm))
    return code;
  all.changed.wait(lock, [&] { return !comm->running; });
  comm->isAlive = false;
  return Success;
}
EXPORT const char *ncclGetErrorString(int result) {
  return result == RemoteError ? "remote process exited" : "internal error";
}
EXPORT const char *ncclGetLastError(void *) { return ""; }
EXPORT int ncclMemAlloc(void **out, size_t bytes) {
  *out = calloc(1, bytes);
  return Success;
}
EXPORT int ncclMemFree(void *memory) {
  free(memory);
  return Success;
}
EXPORT int ncclGroupStart() {
  ++depth;
  return Success;
}
EXPORT int ncclGroupEnd() {
  Lock lock(state().mutex);
  if (--depth)
    return Success;
  int result = begin(lock, "ncclGroupEnd");
  // All messages of one rank are one kernel.
  std::shared_ptr<Work> all;
  void *stream = nullptr;
  for (auto &[on, work] : waiting) {
    if (all) {
      all->sends.insert(all->sends.end(), work->sends.begin(),
                        work->sends.end());
      all->receives.insert(all->receives.end(), work->receives.begin(),
                           work->receives.end());
    } else {
      all = work;
      stream = on;
    }
  }
  waiting.clear();
  return result == Success && all ? launch(lock, stream, all) : result;
}
EXPORT int ncclSend(const void *from, size_t count, int type, int peer,
                    void *comm, void *stream) {
  Lock lock(state().mutex);
  auto work = std::make_shared<Work>();
  work->comm = static_cast<Comm *>(comm);
  work->sends.push_back({peer, from, nullptr, count * bytesOf(type)});
  return put(lock, stream, std::move(work));
}
EXPORT int ncclRecv(void *to, size_t count, int type, int peer, void *comm,
                    void *stream) {
  Lock lock(state().mutex);
  auto work = std::make_shared<Work>();
  work->comm = static_cast<Comm *>(comm);
  work->receives.push_back({peer, nullptr, to, count * bytesOf(type)});
  return put(lock, stream, std::move(work));
}
EXPORT int ncclAllReduce(const void *from, void *to, size_t count, int type,
                         int op, void *handle, void *stream) {
  Lock lock(state().mutex);
  auto *comm = static_cast<Comm *>(handle);
  if (int code = begin(lock, "ncclAllReduce", comm))
    return code;
  return meet(
      lock, comm, stream, count * bytesOf(type), [&](int) { return from; },
      [=](const auto &all) { reduce(type, op, all, to, count); });
}
EXPORT int ncclReduceScatter(const void *from, void *to, size_t count, int type,
                             int op, void *handle, void *stream) {
  Lock lock(state().mutex);
  auto *comm = static_cast<Comm *>(handle);
  if (int code = begin(lock, "ncclReduceScatter", comm))
    return code;
  const size_t bytes = count * bytesOf(type);
  return meet(
      lock, comm, stream, bytes,
      [&](int peer) {
        return static_cast<const char *>(from) + bytes * size_t(peer);
      },
      [=](const auto &all) { reduce(type, op, all, to, count); });
}
EXPORT int ncclAllGather(const void *from, void *to, size_t count, int type,
                         void *handle, void *stream) {
  Lock lock(state().mutex);
  auto *comm = static_cast<Comm *>(handle);
  if (int code = begin(lock, "ncclAllGather", comm))
    return code;
  const size_t bytes = count * bytesOf(type);
  return meet(
      lock, comm, stream, bytes, [&](int) { return from; },
      [=](const auto &all) {
        for (size_t i = 0; i < all.size() && bytes; ++i)
          memcpy(static_cast<char *>(to) + i * bytes, all[i]->data(), bytes);
      });
}
EXPORT int ncclBroadcast(const void *from, void *to, size_t count, int type,
                         int root, void *handle, void *stream) {
  Lock lock(state().mutex);
  auto *comm = static_cast<Comm *>(handle);
  if (int code = begin(lock, "ncclBroadcast", comm))
    return code;
  const size_t bytes = count * bytesOf(type);
  return meet(
      lock, comm, stream, bytes, [&](int) { return from; },
      [=](const auto &all) {
        if (bytes)
          memcpy(to, all[size_t(root)]->data(), bytes);
      });
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void fake_nccl_fail(const char *name, uint64_t n, int code) {
  Lock lock(state().mutex);
  state().failing = name;
  state().failsAt = n;
  state().failsWith = code;
}
void fake_nccl_hold(const char *name) {
  Lock lock(state().mutex);
  state().held = name ? name : "";
}
void fake_nccl_alone(int begins, int meets) {
  Lock lock(state().mutex);
  state().begins = begins != 0;
  state().meets = meets != 0;
}
void fake_nccl_open() {
  Lock lock(state().mutex);
  state().held = "";
  state().changed.notify_all();
}
void fake_nccl_wait_held(uint32_t count) {
  Lock lock(state().mutex);
  state().changed.wait(lock, [&] { return state().standing >= count; });
}
uint64_t fake_nccl_live() {
  Lock lock(state().mutex);
  uint64_t live = 0;
  for (const auto &comm : state().comms)
    live += comm->isAlive;
  return live;
}
uint64_t fake_nccl_limited() {
  Lock lock(state().mutex);
  return state().limited;
}
uint64_t fake_nccl_calls(const char *name) {
  Lock lock(state().mutex);
  return state().calls[name];
}

//===- Nccl.cpp - Collectives of GPUs -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Nccl.h. Declarations are as in nccl.h 2.18, which later versions keep.
//===----------------------------------------------------------------------===//

#include "libs/ranks/Nccl.h"

#include "libs/ranks/Nap.h"
#include "shim/base/Settings.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

using namespace gpuasync;
using namespace gpuasync::ranks;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

namespace {
using Comm = void *;
enum Result { Success = 0, InProgress = 7 };
enum Type { Int8 = 0, Uint8 = 1, NoType = -1 };
enum Operation { Sum = 0, Prod = 1, Max = 2, Min = 3 };

/// ncclConfig_t of 2.18: its size says so to later versions.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = 0;
  int cgaClusterSize = INT_MIN, minCTAs = INT_MIN, maxCTAs = INT_MIN;
  const char *netName = nullptr;
  int splitShare = INT_MIN;
};

struct Names {
  const char *driver, *variable;
  const char *libraries[3];
};
const Names vendors[] = {
    {"cuda", "GPU_ASYNC_NCCL_LIBRARY", {"libnccl.so.2", "libnccl.so"}},
    {"hip", "GPU_ASYNC_RCCL_LIBRARY", {"librccl.so.1", "librccl.so"}}};
} // namespace

struct Nccl::Table {
  Error why; ///< there is none
  std::string library;

  int (*GetVersion)(int *) = nullptr;
  int (*GetUniqueId)(Communicator::Id *) = nullptr;
  int (*CommInitRankConfig)(Comm *, int, Communicator::Id, int,
                            Config *) = nullptr;
  int (*CommSplit)(Comm, int, int, Comm *, Config *) = nullptr;
  int (*CommGetAsyncError)(Comm, int *) = nullptr;
  int (*CommAbort)(Comm) = nullptr;
  int (*CommFinalize)(Comm) = nullptr;
  int (*CommDestroy)(Comm) = nullptr;
  const char *(*GetErrorString)(int) = nullptr;
  const char *(*GetLastError)(Comm) = nullptr;
  int (*GroupStart)() = nullptr;
  int (*GroupEnd)() = nullptr;
  int (*AllReduce)(const void *, void *, size_t, int, int, Comm,
                   void *) = nullptr;
  int (*AllGather)(const void *, void *, size_t, int, Comm, void *) = nullptr;
  int (*ReduceScatter)(const void *, void *, size_t, int, int, Comm,
                       void *) = nullptr;
  int (*Broadcast)(const void *, void *, size_t, int, int, Comm,
                   void *) = nullptr;
  int (*Send)(const void *, size_t, int, int, Comm, void *) = nullptr;
  int (*Recv)(void *, size_t, int, int, Comm, void *) = nullptr;
  // Since 2.19; null before.
  int (*MemAlloc)(void **, size_t) = nullptr;
  int (*MemFree)(void *) = nullptr;

  Error load(const Names &names);
  Error describe(int result, const char *call) const {
    Error text = library + ": " + call + ": " + GetErrorString(result);
    if (const char *more = GetLastError(nullptr); more && *more)
      text += std::string(" (") + more + ")";
    return text;
  }
};

Error Nccl::Table::load(const Names &names) {
  // Its kernels may put a host's GPUs out of service; NCCL reads the variable
  // when it is first used.
  if (!strcmp(names.driver, "cuda") && !setting("NCCL_NVLS_ENABLE"))
    return "NCCL would use NVLink multicast; set NCCL_NVLS_ENABLE to 0 before "
           "the program starts (or to 1 if it may)";
  const char *named = setting(names.variable);
  const char *const only[] = {named, nullptr};
  void *handle = nullptr;
  Error tried;
  for (const char *const *name = named ? only : names.libraries;
       *name && !handle; ++name) {
    handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    library = *name;
    if (!handle) {
      const char *error = dlerror();
      tried += (tried.empty() ? "" : "; ") + std::string(error ? error : *name);
    }
  }
  if (!handle)
    return std::string("ranks on ") + names.driver +
           " need its library of collectives; tried " + tried + " (" +
           names.variable + " names another one)";
  Error missing;
  const auto find = [&](auto &function, const char *name, bool isOptional) {
    void *address = dlsym(handle, name);
    if (!address && !isOptional)
      missing = library + " has no " + name + "; version 2.18 or later has";
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
  };
#define FIND(name) find(name, "nccl" #name, /*isOptional=*/false)
  FIND(GetVersion);
  FIND(GetUniqueId);
  FIND(CommInitRankConfig);
  FIND(CommSplit);
  FIND(CommGetAsyncError);
  FIND(CommAbort);
  FIND(CommFinalize);
  FIND(CommDestroy);
  FIND(GetErrorString);
  FIND(GetLastError);
  FIND(GroupStart);
  FIND(GroupEnd);
  FIND(AllReduce);
  FIND(AllGather);
  FIND(ReduceScatter);
  FIND(Broadcast);
  FIND(Send);
  FIND(Recv);
#undef FIND
  find(MemAlloc, "ncclMemAlloc", /*isOptional=*/true);
  find(MemFree, "ncclMemFree", /*isOptional=*/true);
  if (!missing.empty())
    return missing;
  int version = 0;
  if (int result = GetVersion(&version); result != Success)
    return describe(result, "ncclGetVersion");
  return version < 21800
             ? library + " is of version " + std::to_string(version) +
                   "; ranks need 2.18 or later"
             : Error();
}

Error Nccl::find(const std::string &driver, const Nccl *&out) {
  static Nccl all[sizeof(vendors) / sizeof(*vendors)];
  static std::mutex mutex;
  for (size_t i = 0; i < sizeof(vendors) / sizeof(*vendors); ++i) {
    if (driver != vendors[i].driver)
      continue;
    std::lock_guard<std::mutex> lock(mutex);
    if (!all[i].table) {
      auto made = std::make_unique<Table>();
      made->why = made->load(vendors[i]);
      if (!made->why.empty())
        return made->why; // tried again the next time
      all[i].table = made.release();
    }
    out = &all[i];
    return {};
  }
  return "ranks are of the devices cpu, cuda and hip, not of " + driver;
}

//===----------------------------------------------------------------------===//
// Its collectives
//===----------------------------------------------------------------------===//

static int typeOf(uint32_t element) {
  switch (element) {
  case GPUASYNC_ELEMENT_I1:
    return Uint8;
  case GPUASYNC_ELEMENT_I8:
    return Int8;
  case GPUASYNC_ELEMENT_I32:
    return 2;
  case GPUASYNC_ELEMENT_I64:
    return 4;
  case GPUASYNC_ELEMENT_F16:
    return 6;
  case GPUASYNC_ELEMENT_F32:
    return 7;
  case GPUASYNC_ELEMENT_F64:
    return 8;
  case GPUASYNC_ELEMENT_BF16:
    return 9;
  }
  return NoType;
}

/// -1: it has none.
static int operationOf(uint32_t reduction, uint32_t element) {
  switch (reduction) {
  case GPUASYNC_REDUCE_SUM:
    return Sum;
  case GPUASYNC_REDUCE_PROD:
    return Prod;
  case GPUASYNC_REDUCE_MIN:
    return Min;
  case GPUASYNC_REDUCE_MAX:
    return Max;
  case GPUASYNC_REDUCE_AND: // of bytes that are 0 or 1
    return element == GPUASYNC_ELEMENT_I1 ? int(Min) : -1;
  case GPUASYNC_REDUCE_OR:
    return element == GPUASYNC_ELEMENT_I1 ? int(Max) : -1;
  }
  return -1;
}

Error Nccl::check(const gpuasync_collective &what) {
  if (!what.reduction)
    return {};
  if (typeOf(what.element) == NoType)
    return "NCCL reduces no i16; take i32";
  if (operationOf(what.reduction, what.element) < 0)
    return "NCCL has no bitwise reductions; all_gather, and reduce in a kernel";
  return {};
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

Error Communicator::makeId(const Nccl &nccl, Id &out) {
  const int result = nccl.table->GetUniqueId(&out);
  return result == Success ? Error()
                           : nccl.table->describe(result, "ncclGetUniqueId");
}

Error Communicator::take(int result, const char *call, const Stop &stop) {
  // ncclCommSplit returns success where it is in progress.
  if (result == Success)
    result = InProgress;
  for (Nap nap; result == InProgress; nap.take()) {
    if (stop())
      return std::string(call) + " has not ended";
    if (int asked = table.CommGetAsyncError(parent, &result); asked != Success)
      result = asked;
  }
  return check(result, call);
}

Error Communicator::check(int result, const char *call) {
  return result == Success ? Error() : table.describe(result, call);
}

// Nonblocking communicators can be given up while they begin, and make a thread
// for each collective, which takes longer than all the rest of the call. A part
// of one that is all of it has both: it begins as the whole does, and blocks.
Error Communicator::begin(const Nccl &nccl, const Id &id, uint32_t count,
                          uint32_t position, const Stop &stop,
                          std::shared_ptr<Communicator> &out) {
  std::shared_ptr<Communicator> made(new Communicator(*nccl.table));
  made->position = position;
  made->count = count;
  out = made; // what has begun is to be ended
  std::lock_guard<std::timed_mutex> lock(made->calls);
  const Nccl::Table &table = made->table;
  Config config;
  void *whole = nullptr;
  const int result = table.CommInitRankConfig(
      &whole, static_cast<int>(count), id, static_cast<int>(position), &config);
  made->parent = whole;
  return made->take(result, "ncclCommInitRankConfig", stop);
}

// A kernel of work beside a collective often has one workgroup for each
// processor that it could have. Each one that NCCL takes then costs a second
// round of all. Most large products leave a few free.
static constexpr int overlappedCTAs = 4;

Error Communicator::prepareFor(const gpuasync_collective &what,
                               const Stop &stop) {
  std::lock_guard<std::timed_mutex> lock(calls);
  if (isAborted || !parent)
    return "the ranks have failed";
  const size_t index = isOverlapped(what);
  if (handles[index])
    return {};
  Config config;
  config.blocking = 1;
  config.splitShare = 1;
  if (index)
    config.maxCTAs = overlappedCTAs;
  if (Error error = take(table.CommSplit(parent, 0, static_cast<int>(position),
                                         &begun[index], &config),
                         "ncclCommSplit", stop);
      !error.empty())
    return error;
  handles[index] = begun[index];
  // A barrier says so if it needs it.
  void *memory = nullptr;
  if (!scratch && table.MemAlloc && table.MemFree &&
      table.MemAlloc(&memory, 256) == Success)
    scratch = memory;
  return {};
}

Communicator::~Communicator() { abort(); }

Error Communicator::poll() {
  std::unique_lock<std::timed_mutex> lock(calls, std::try_to_lock);
  if (!lock || isAborted)
    return {};
  for (void *handle : handles) {
    if (!handle)
      continue;
    int result = Success;
    const int asked = table.CommGetAsyncError(handle, &result);
    if (asked != Success)
      result = asked;
    if (result != Success && result != InProgress)
      return check(result, "NCCL");
  }
  return {};
}

Error Communicator::enqueue(const gpuasync_call &call, const Part &part) {
  std::lock_guard<std::timed_mutex> lock(calls);
  void *handle = handles[isOverlapped(part.what)];
  return isAborted || !handle ? Error("the ranks have failed")
                              : start(call, part, handle);
}

template <typename Body>
Error Communicator::group(Body body) {
  if (Error error = check(table.GroupStart(), "ncclGroupStart"); !error.empty())
    return error;
  const int result = body(), ended = table.GroupEnd();
  return check(result == Success ? ended : result,
               "a group of ncclSend and ncclRecv");
}

Error Communicator::start(const gpuasync_call &call, const Part &part,
                          void *handle) {
  const gpuasync_collective &what = part.what;
  const Memory &memory = part.memory;
  void *stream = call.stream;
  const int type = typeOf(what.element),
            operation = operationOf(what.reduction, what.element);
  const auto size = [](int64_t elements) {
    return static_cast<size_t>(elements);
  };
  const size_t bytes = size(memory.sourceCount) * bytesOf(what.element);
  switch (what.kind) {
  case GPUASYNC_ALL_REDUCE:
    return check(table.AllReduce(memory.source, memory.destination,
                                 size(memory.sourceCount), type, operation,
                                 handle, stream),
                 "ncclAllReduce");
  case GPUASYNC_ALL_GATHER:
    return check(table.AllGather(memory.source, memory.destination, bytes, Int8,
                                 handle, stream),
                 "ncclAllGather");
  case GPUASYNC_REDUCE_SCATTER:
    return check(table.ReduceScatter(memory.source, memory.destination,
                                     size(memory.destinationCount), type,
                                     operation, handle, stream),
                 "ncclReduceScatter");
  case GPUASYNC_BROADCAST:
    return check(table.Broadcast(memory.source, memory.destination, bytes, Int8,
                                 static_cast<int>(what.root), handle, stream),
                 "ncclBroadcast");
  case GPUASYNC_BARRIER:
    if (void *each = scratch)
      return check(table.AllReduce(each, each, 1, Int8, Max, handle, stream),
                   "ncclAllReduce of a barrier");
    return "a barrier needs NCCL 2.19 or later, and memory of it";
  case GPUASYNC_ALL_TO_ALL:
    return group(
        [&] { return sendToAll(memory, bytes / count, handle, stream); });
  case GPUASYNC_PERMUTE:
    if (!isTarget(what))
      if (Status zeroed(
              gpuasync_call_copy(&call, memory.destination, nullptr, bytes));
          !zeroed.ok())
        return zeroed.message();
    return group(
        [&] { return sendToPairs(what, memory, bytes, handle, stream); });
  }
  return "no such collective";
}

int Communicator::sendToAll(const Memory &memory, size_t part, void *handle,
                            void *stream) {
  int result = Success;
  for (uint32_t i = 0; i < count && result == Success; ++i) {
    const int peer = static_cast<int>(i);
    result = table.Send(static_cast<const char *>(memory.source) + i * part,
                        part, Int8, peer, handle, stream);
    if (result == Success)
      result = table.Recv(static_cast<char *>(memory.destination) + i * part,
                          part, Int8, peer, handle, stream);
  }
  return result;
}

bool Communicator::isTarget(const gpuasync_collective &what) const {
  for (uint32_t i = 0; i < what.pairCount; ++i)
    if (what.pairs[2 * i + 1] == position)
      return true;
  return false;
}

int Communicator::sendToPairs(const gpuasync_collective &what,
                              const Memory &memory, size_t bytes, void *handle,
                              void *stream) {
  int result = Success;
  for (uint32_t i = 0; i < what.pairCount && result == Success; ++i) {
    const uint32_t *pair = what.pairs + 2 * static_cast<size_t>(i);
    if (pair[0] == position)
      result = table.Send(memory.source, bytes, Int8, static_cast<int>(pair[1]),
                          handle, stream);
    if (pair[1] == position && result == Success)
      result = table.Recv(memory.destination, bytes, Int8,
                          static_cast<int>(pair[0]), handle, stream);
  }
  return result;
}

void Communicator::abort() {
  isAborted = true;
  std::lock_guard<std::mutex> alone(aborting);
  // A call that does not return is aborted all the same, and then it does.
  std::unique_lock<std::timed_mutex> lock(calls,
                                          std::chrono::milliseconds(100));
  for (std::atomic<void *> *each : {&handles[0], &handles[1], &parent})
    if (void *comm = each->exchange(nullptr))
      (void)table.CommAbort(comm);
  if (void *memory = scratch.exchange(nullptr))
    (void)table.MemFree(memory);
}

void Communicator::finish(
    const std::vector<std::shared_ptr<Communicator>> &all) {
  using std::chrono::steady_clock;
  const auto limit = steady_clock::now() + std::chrono::seconds(5);
  const Stop isLate = [&] { return steady_clock::now() > limit; };
  for (const auto &each : all) {
    for (std::atomic<void *> &handle : each->handles)
      if (void *comm = handle.exchange(nullptr))
        (void)each->table.CommDestroy(comm);
    if (void *memory = each->scratch.exchange(nullptr))
      (void)each->table.MemFree(memory);
  }
  std::vector<int> results;
  for (const auto &each : all)
    results.push_back(each->parent ? each->table.CommFinalize(each->parent)
                                   : int(Success));
  for (size_t i = 0; i < all.size(); ++i) {
    Communicator &each = *all[i];
    if (!each.parent)
      continue;
    const bool hasEnded =
        each.take(results[i], "ncclCommFinalize", isLate).empty();
    (void)(hasEnded ? each.table.CommDestroy
                    : each.table.CommAbort)(each.parent);
    each.parent = nullptr;
  }
}

//===- DeviceArrays.cpp - Arrays that stay on a device --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See DeviceArrays.h. The runtime is called as lowered code calls it, by a
// program without modules.
//===----------------------------------------------------------------------===//

#include "Library/DeviceArrays.h"

#include "gpuasync/Context.h"
#include "gpuasync/Program.h"

#include <utility>

using namespace gpuexec;

static void *slot;
static const gpuasync_program program = {GPUASYNC_ABI_VERSION,
                                         0,
                                         "arrays on a device",
                                         nullptr,
                                         &slot,
                                         nullptr,
                                         0,
                                         0};
static const gpuasync_function function = {
    "arrays on a device", "", 0, 0, &program, nullptr, 0, 0, 1, 0};
static const gpuasync_function enqueuing = {
    "arrays on a device",       "", 0, 0, &program, nullptr, 0,
    GPUASYNC_FUNCTION_ENQUEUES, 1,  0};

//===----------------------------------------------------------------------===//
// The queue
//===----------------------------------------------------------------------===//

DeviceQueue::DeviceQueue(gpuasync_context *context, int32_t ordinal)
    : context(context), ordinal(ordinal) {
  gpuasync_context_retain(context);
}

DeviceQueue::~DeviceQueue() {
  // The context takes back what a frame cannot free any more.
  if (hasDelayed)
    (void)enqueue([&](gpuasync_frame *frame, gpuasync_stream *stream) {
      freeDelayed(frame, stream);
    });
  gpuasync_context_stream_destroy(stream);
  gpuasync_context_release(context);
}

bool DeviceQueue::isOpen() {
  std::lock_guard<std::mutex> lock(mutex);
  return stream;
}

gpuasync::Status DeviceQueue::open(void *&native) {
  // The parent's other threads may have had the lock.
  if (gpuasync_process_forked())
    return gpuasync::Status(gpuasync_status_make(
        GPUASYNC_SHUT_DOWN, "a forked child uses no device of its parent's"));
  std::lock_guard<std::mutex> lock(mutex);
  if (!stream) {
    gpuasync::Status status(gpuasync_context_stream_create(context, &stream));
    if (!status.ok())
      return status;
  }
  native = gpuasync_context_stream_native(stream);
  return gpuasync::Status();
}

gpuasync::Status
DeviceQueue::run(const gpuasync_function &function,
                 llvm::function_ref<void(gpuasync_frame *)> body) {
  gpuasync::Status status(gpuasync_scope_push(context));
  if (!status.ok())
    return status;
  gpuasync_frame frame;
  if (!gpuasync_frame_enter(&frame, &function))
    body(&frame);
  status = gpuasync::Status(gpuasync_frame_leave(&frame));
  gpuasync_scope_pop();
  return status;
}

gpuasync::Status DeviceQueue::runWithStream(const gpuasync_function &function,
                                            Body body) {
  void *native = nullptr;
  gpuasync::Status status = open(native);
  if (!status.ok())
    return status;
  return run(function, [&](gpuasync_frame *frame) {
    gpuasync_stream *on =
        gpuasync_stream_external(frame, 0, native, GPUASYNC_NO_SITE);
    if (!on)
      return;
    body(frame, on);
    gpuasync_stream_destroy(frame, on, 0, GPUASYNC_NO_SITE);
  });
}

gpuasync::Status DeviceQueue::run(Body body) {
  return runWithStream(function,
                       [&](gpuasync_frame *frame, gpuasync_stream *stream) {
                         if (hasDelayed.load(std::memory_order_relaxed))
                           freeDelayed(frame, stream);
                         body(frame, stream);
                       });
}

gpuasync::Status DeviceQueue::enqueue(Body body) {
  return runWithStream(enqueuing, body);
}

gpuasync::Status
DeviceQueue::enter(llvm::function_ref<void(gpuasync_frame *)> body) {
  return run(enqueuing, body);
}

/// Frees what it can, and returns how many that are.
static size_t freeAll(gpuasync_frame *frame, gpuasync_stream *stream,
                      llvm::ArrayRef<void *> memory) {
  for (size_t i = 0; i < memory.size(); ++i) {
    // A frame that has failed does nothing more.
    if (gpuasync_frame_fail(frame, nullptr))
      return i;
    gpuasync_dealloc(frame, 0, stream, memory[i], GPUASYNC_NO_SITE);
  }
  return memory.size();
}

void DeviceQueue::freeLater(llvm::ArrayRef<void *> memory) {
  std::lock_guard<std::mutex> lock(mutex);
  delayed.append(memory.begin(), memory.end());
  hasDelayed = !delayed.empty();
}

void DeviceQueue::freeDelayed(gpuasync_frame *frame, gpuasync_stream *stream) {
  llvm::SmallVector<void *, 4> memory;
  {
    std::lock_guard<std::mutex> lock(mutex);
    std::swap(memory, delayed);
    hasDelayed = false;
  }
  const size_t freed = freeAll(frame, stream, memory);
  if (freed < memory.size())
    freeLater(llvm::ArrayRef(memory).drop_front(freed));
}

void DeviceQueue::free(llvm::ArrayRef<void *> memory) {
  if (memory.empty() || gpuasync_process_forked())
    return;
  // Such work is on streams that the queue does not wait for.
  if (!gpuasync::Status(gpuasync_context_wait_abandoned(context, 0)).ok())
    return freeLater(memory);
  size_t freed = 0;
  gpuasync::Status status =
      enqueue([&](gpuasync_frame *frame, gpuasync_stream *stream) {
        freed = freeAll(frame, stream, memory);
      });
  // Memory of a context that is closed or lost goes with that.
  if (freed < memory.size() && status.code() != GPUASYNC_SHUT_DOWN &&
      status.code() != GPUASYNC_DEVICE_LOST)
    freeLater(memory.drop_front(freed));
}

static void record(gpuasync_frame *frame, gpuasync_stream *stream,
                   Ready &ready) {
  gpuasync_event *event =
      gpuasync_event_record(frame, stream, GPUASYNC_NO_SITE);
  ready.set(gpuasync_event_export(frame, event, GPUASYNC_NO_SITE));
}

gpuasync::Status DeviceQueue::mark(Ready &ready) {
  return enqueue([&](gpuasync_frame *frame, gpuasync_stream *stream) {
    record(frame, stream, ready);
  });
}

gpuasync::Status DeviceQueue::mark(Ready &ready,
                                   llvm::SmallVectorImpl<void *> &memory) {
  return enqueue([&](gpuasync_frame *frame, gpuasync_stream *stream) {
    record(frame, stream, ready);
    memory.erase(memory.begin(),
                 memory.begin() + freeAll(frame, stream, memory));
  });
}

gpuasync::Status DeviceQueue::wait() {
  void *native = nullptr;
  gpuasync::Status status = open(native);
  return status.ok()
             ? gpuasync::Status(gpuasync_context_stream_synchronize(stream))
             : std::move(status);
}

gpuasync::Status DeviceQueue::finish(Ready *ready) {
  gpuasync::Status status = ready ? ready->wait() : wait();
  // Only these say that nothing runs any more.
  if (!status.ok() && status.code() != GPUASYNC_DEVICE_LOST &&
      status.code() != GPUASYNC_SHUT_DOWN)
    abandon();
  return status;
}

void DeviceQueue::abandon() {
  bool recorded = false;
  (void)enqueue([&](gpuasync_frame *frame, gpuasync_stream *stream) {
    gpuasync_event *event =
        gpuasync_event_record(frame, stream, GPUASYNC_NO_SITE);
    event = gpuasync_event_export(frame, event, GPUASYNC_NO_SITE);
    event = gpuasync_event_import(frame, event, GPUASYNC_NO_SITE);
    recorded = event;
    // A frame that fails abandons the tokens that it was given.
    gpuasync_frame_fail(
        frame, gpuasync_status_make(GPUASYNC_TIMEOUT, "the call gave up"));
  });
  // Nobody could say when that work has ended.
  while (!recorded && wait().code() == GPUASYNC_TIMEOUT)
    ;
}

gpuasync::Status DeviceQueue::orderBefore(void *stream) {
  void *native = nullptr;
  gpuasync::Status status = open(native);
  if (!status.ok() || native == stream)
    return status;
  return enter([&](gpuasync_frame *frame) {
    gpuasync_stream *other =
        gpuasync_stream_external(frame, 0, stream, GPUASYNC_NO_SITE);
    gpuasync_stream *mine =
        gpuasync_stream_external(frame, 0, native, GPUASYNC_NO_SITE);
    if (!other || !mine)
      return;
    gpuasync_event *event =
        gpuasync_event_record(frame, mine, GPUASYNC_NO_SITE);
    gpuasync_stream_wait(frame, other, event, GPUASYNC_NO_SITE);
    gpuasync_event_destroy(frame, event, GPUASYNC_NO_SITE);
    gpuasync_stream_destroy(frame, mine, 0, GPUASYNC_NO_SITE);
    gpuasync_stream_destroy(frame, other, 0, GPUASYNC_NO_SITE);
  });
}

gpuasync::Status DeviceQueue::orderAfter(void *stream, Ready &ready) {
  void *native = nullptr;
  if (open(native).ok() && native == stream)
    return mark(ready);
  gpuasync::Status status =
      enqueue([&](gpuasync_frame *frame, gpuasync_stream *mine) {
        gpuasync_stream *other =
            gpuasync_stream_external(frame, 0, stream, GPUASYNC_NO_SITE);
        gpuasync_event *event =
            gpuasync_event_record(frame, other, GPUASYNC_NO_SITE);
        gpuasync_stream_wait(frame, mine, event, GPUASYNC_NO_SITE);
        ready.set(gpuasync_event_export(frame, event, GPUASYNC_NO_SITE));
        gpuasync_stream_destroy(frame, other, 0, GPUASYNC_NO_SITE);
      });
  if (status.ok())
    return status;
  return enter([&](gpuasync_frame *frame) {
    gpuasync_stream *other =
        gpuasync_stream_external(frame, 0, stream, GPUASYNC_NO_SITE);
    gpuasync_stream_synchronize(frame, &other, 1, GPUASYNC_NO_SITE);
    gpuasync_stream_destroy(frame, other, 0, GPUASYNC_NO_SITE);
  });
}

//===----------------------------------------------------------------------===//
// Points of its work
//===----------------------------------------------------------------------===//

Ready::~Ready() {
  if (!event)
    return;
  // The release of one that a wait gave up on would abandon the work.
  bool isBack = false;
  if (gaveUp.load(std::memory_order_relaxed))
    (void)queue.enter([&](gpuasync_frame *frame) {
      gpuasync_event *own =
          gpuasync_event_import(frame, event, GPUASYNC_NO_SITE);
      gpuasync_event_destroy(frame, own, GPUASYNC_NO_SITE);
      isBack = true;
    });
  if (!isBack)
    gpuasync_event_release(event);
}

gpuasync::Status Ready::wait() {
  if (!event)
    return gpuasync::Status();
  if (!gpuasync_process_forked()) {
    std::lock_guard<std::mutex> lock(mutex);
    if (failed)
      return gpuasync::Status(gpuasync_status_make(code, message.c_str()));
  }
  gpuasync::Status status(gpuasync_event_wait(event));
  gaveUp.store(status.code() == GPUASYNC_TIMEOUT, std::memory_order_relaxed);
  // A wait that failed itself says nothing of the work.
  if (status.code() != GPUASYNC_DEVICE_LOST &&
      status.code() != GPUASYNC_KERNEL_ASSERT)
    return status;
  std::lock_guard<std::mutex> lock(mutex);
  failed = true;
  code = status.code();
  message = status.message();
  return status;
}

//===----------------------------------------------------------------------===//
// Arrays by address
//===----------------------------------------------------------------------===//

namespace gpuexec {

/// The arrays of the process: a treap of their ranges, which are disjoint. It
/// allocates nothing. Not used in a forked child, where another thread of the
/// parent's may have had the lock.
class ArrayTree {
public:
  static ArrayTree &get() {
    static auto *tree = new ArrayTree;
    return *tree;
  }

  DeviceArray *find(uintptr_t address) const {
    DeviceArray *array = root;
    while (array && (address < array->begin || address >= array->end))
      array = address < array->begin ? array->left : array->right;
    return array;
  }

  void insert(DeviceArray *array) {
    // The memory of a closed context may be that of another one's arrays.
    while (DeviceArray *old = findOverlap(*array))
      erase(old);
    seed = seed * 1664525 + 1013904223;
    array->priority = seed;
    array->isKnown = true;
    auto [less, more] = split(root, array->begin);
    root = join(join(less, array), more);
  }

  void erase(DeviceArray *array) {
    DeviceArray **place = &root;
    while (*place != array)
      place =
          array->begin < (*place)->begin ? &(*place)->left : &(*place)->right;
    *place = join(array->left, array->right);
    array->left = array->right = nullptr;
    array->isKnown = false;
  }

  std::mutex mutex;

private:
  DeviceArray *findOverlap(const DeviceArray &with) const {
    DeviceArray *array = root;
    while (array && (with.end <= array->begin || with.begin >= array->end))
      array = with.end <= array->begin ? array->left : array->right;
    return array;
  }

  /// Splits a tree into what begins before `address`, and the rest.
  static std::pair<DeviceArray *, DeviceArray *> split(DeviceArray *tree,
                                                       uintptr_t address) {
    if (!tree)
      return {nullptr, nullptr};
    if (tree->begin < address) {
      auto [less, more] = split(tree->right, address);
      tree->right = less;
      return {tree, more};
    }
    auto [less, more] = split(tree->left, address);
    tree->left = more;
    return {less, tree};
  }

  /// All of `less` is before all of `more`.
  static DeviceArray *join(DeviceArray *less, DeviceArray *more) {
    if (!less || !more)
      return less ? less : more;
    if (less->priority > more->priority) {
      less->right = join(less->right, more);
      return less;
    }
    more->left = join(less, more->left);
    return more;
  }

  DeviceArray *root = nullptr;
  uint32_t seed = 1;
};

} // namespace gpuexec

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

DeviceArray::~DeviceArray() {
  if (gpuasync_process_forked())
    return;
  if (void *own = release())
    queue->free(own);
}

void *DeviceArray::release() {
  ArrayTree &tree = ArrayTree::get();
  std::lock_guard<std::mutex> lock(tree.mutex);
  if (isKnown)
    tree.erase(this);
  return std::exchange(memory, nullptr);
}

void DeviceArray::adopt(void *taken, uint64_t bytes, ReadyRef reached) {
  memory = taken;
  begin = reinterpret_cast<uintptr_t>(taken);
  end = begin + std::max<uint64_t>(bytes, 1);
  ArrayTree &tree = ArrayTree::get();
  std::lock_guard<std::mutex> lock(tree.mutex);
  ready = std::move(reached);
  tree.insert(this);
}

DeviceArray::Found DeviceArray::find(const void *address) {
  if (gpuasync_process_forked())
    return Found();
  ArrayTree &tree = ArrayTree::get();
  std::lock_guard<std::mutex> lock(tree.mutex);
  DeviceArray *array = tree.find(reinterpret_cast<uintptr_t>(address));
  return array ? Found{array, array->queue.get(), array->ready} : Found();
}

void DeviceArray::renew(llvm::ArrayRef<const void *> addresses,
                        const ReadyRef &ready) {
  ArrayTree &tree = ArrayTree::get();
  for (const void *address : addresses) {
    ReadyRef before; // may be given back, without the lock
    std::lock_guard<std::mutex> lock(tree.mutex);
    if (DeviceArray *array = tree.find(reinterpret_cast<uintptr_t>(address))) {
      before = std::move(array->ready);
      array->ready = ready;
    }
  }
}

gpuasync::Status DeviceArray::wait() {
  ReadyRef reached;
  if (!gpuasync_process_forked()) {
    std::lock_guard<std::mutex> lock(ArrayTree::get().mutex);
    reached = ready;
  } else {
    reached = ready;
  }
  return reached->wait();
}

gpuasync::Status DeviceArray::download(const void *from, void *to,
                                       uint64_t bytes) {
  gpuasync::Status status = wait();
  if (!status.ok() || !bytes)
    return status;
  // On a stream of its own: calls that came later are not waited for.
  return queue->run([&](gpuasync_frame *frame, gpuasync_stream *) {
    gpuasync_stream *stream =
        gpuasync_stream_create(frame, 0, GPUASYNC_NO_SITE);
    gpuasync_memcpy(frame, stream, to, from, bytes, GPUASYNC_NO_SITE);
    gpuasync_stream_synchronize(frame, &stream, 1, GPUASYNC_NO_SITE);
    gpuasync_stream_destroy(frame, stream, GPUASYNC_STREAM_IDLE,
                            GPUASYNC_NO_SITE);
  });
}

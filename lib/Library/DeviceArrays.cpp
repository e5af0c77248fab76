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
    "arrays on a device", "", 0, 0, &program, nullptr, 0, 0};

//===----------------------------------------------------------------------===//
// The queue
//===----------------------------------------------------------------------===//

DeviceQueue::DeviceQueue(gpuasync_context *context, int32_t ordinal)
    : context(context), ordinal(ordinal) {
  gpuasync_context_retain(context);
}

DeviceQueue::~DeviceQueue() {
  gpuasync_context_stream_destroy(stream);
  gpuasync_context_release(context);
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

gpuasync::Status DeviceQueue::run(
    llvm::function_ref<void(gpuasync_frame *, gpuasync_stream *)> body) {
  void *native = nullptr;
  gpuasync::Status status = open(native);
  if (!status.ok())
    return status;
  status = gpuasync::Status(gpuasync_scope_push(context));
  if (!status.ok())
    return status;
  gpuasync_frame frame;
  if (!gpuasync_frame_enter(&frame, &function)) {
    gpuasync_stream *on =
        gpuasync_stream_external(&frame, native, GPUASYNC_NO_SITE);
    if (on) {
      body(&frame, on);
      gpuasync_stream_destroy(&frame, on, 0, GPUASYNC_NO_SITE);
    }
  }
  status = gpuasync::Status(gpuasync_frame_leave(&frame));
  gpuasync_scope_pop();
  return status;
}

gpuasync::Status DeviceQueue::wait() {
  void *native = nullptr;
  gpuasync::Status status = open(native);
  return status.ok()
             ? gpuasync::Status(gpuasync_context_stream_synchronize(stream))
             : std::move(status);
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

gpuasync::Status Ready::wait() {
  if (!gpuasync_process_forked()) {
    std::lock_guard<std::mutex> lock(mutex);
    if (failed)
      return gpuasync::Status(gpuasync_status_make(code, message.c_str()));
  }
  gpuasync::Status status(gpuasync_event_wait(event));
  // One that gave up may be repeated.
  if (status.ok() || status.code() == GPUASYNC_TIMEOUT)
    return status;
  std::lock_guard<std::mutex> lock(mutex);
  failed = true;
  code = status.code();
  message = status.message();
  return status;
}

DeviceArray::~DeviceArray() {
  if (!memory)
    return;
  // Memory of a context that is closed or lost goes with that.
  (void)queue->run([&](gpuasync_frame *frame, gpuasync_stream *stream) {
    gpuasync_dealloc(frame, stream, memory, GPUASYNC_NO_SITE);
  });
}

gpuasync::Status DeviceArray::download(const void *from, void *to,
                                       uint64_t bytes) {
  gpuasync::Status status = ready->wait();
  if (!status.ok() || !bytes)
    return status;
  // On a stream of its own: calls that came later are not waited for.
  return queue->run([&](gpuasync_frame *frame, gpuasync_stream *) {
    gpuasync_stream *stream = gpuasync_stream_create(frame, GPUASYNC_NO_SITE);
    gpuasync_memcpy(frame, stream, to, from, bytes, GPUASYNC_NO_SITE);
    gpuasync_stream_synchronize(frame, &stream, 1, GPUASYNC_NO_SITE);
    gpuasync_stream_destroy(frame, stream, GPUASYNC_STREAM_IDLE,
                            GPUASYNC_NO_SITE);
  });
}

//===- Compilation.cpp - Compiling on a thread of its own -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Compilation.h.
//===----------------------------------------------------------------------===//

#include "Compilation.h"

#include <chrono>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace binding {

namespace {
/// The threads that compile. A child of fork has none of them.
struct Threads {
  std::mutex mutex;
  std::condition_variable ended;
  size_t count = 0;
  pid_t process = getpid();
};
} // namespace

/// Never destroyed: a thread may outlive global destructors.
static Threads &threads() {
  static auto *all = new Threads;
  return *all;
}

Compilation::~Compilation() {
  gpuasync_status_free(gpuasync_executable_release(executable));
}

int32_t Compilation::hear(void *self, const char *stage) {
  auto *job = static_cast<Compilation *>(self);
  if (job->isStopped)
    return 1;
  std::lock_guard lock(job->mutex);
  if (job->stage != stage) {
    job->stage = stage;
    job->changed.notify_all();
  }
  return 0;
}

void Compilation::run() {
  gpuasync_compile_options how = {sizeof(how),     name.c_str(), device.c_str(),
                                  options.c_str(), &hear,        this};
  status = gpuasync::Status(
      source ? gpuasync_compile_source(program.data(), program.size(),
                                       source->data(), source->size(), &how,
                                       &executable)
             : gpuasync_compile(program.data(), program.size(), &how,
                                &executable));
  std::lock_guard lock(mutex);
  hasEnded = true;
  changed.notify_all();
}

/// The compiler recurses: at least the stack that a main thread usually has.
static size_t stackBytes() {
  constexpr size_t usual = 8 << 20, largest = size_t(1) << 30;
  rlimit limit = {};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > largest)
    return 8 * usual;
  return limit.rlim_cur < usual ? usual : size_t(limit.rlim_cur);
}

void Compilation::start() {
  Threads &all = threads();
  auto held =
      std::make_unique<std::shared_ptr<Compilation>>(shared_from_this());
  auto body = [](void *given) -> void * {
    {
      std::unique_ptr<std::shared_ptr<Compilation>> job(
          static_cast<std::shared_ptr<Compilation> *>(given));
      (*job)->run();
    }
    Threads &all = threads();
    std::lock_guard lock(all.mutex);
    --all.count;
    all.ended.notify_all();
    return nullptr;
  };
  {
    std::lock_guard lock(all.mutex);
    ++all.count;
  }
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (!error) {
    pthread_t thread;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    error = pthread_attr_setstacksize(&attributes, stackBytes());
    if (!error)
      error = pthread_create(&thread, &attributes, body, held.get());
    pthread_attr_destroy(&attributes);
  }
  if (!error) {
    held.release();
    return;
  }
  {
    std::lock_guard lock(all.mutex);
    --all.count;
  }
  WithoutGil free;
  run();
}

bool Compilation::wait(PyObject *report) {
  using namespace std::chrono;
  const auto begin = steady_clock::now();
  std::string reported;
  double last = 0;
  bool hasReported = false;
  auto tell = [&](PyObject *stage, double seconds) {
    Ref result(PyObject_CallFunction(report, "Od", stage, seconds));
    return bool(result);
  };
  while (true) {
    std::string now;
    bool ended;
    {
      WithoutGil free;
      std::unique_lock lock(mutex);
      changed.wait_for(lock, milliseconds(50), [&] { return hasEnded; });
      ended = hasEnded;
      now = stage;
    }
    const double seconds =
        duration<double>(steady_clock::now() - begin).count();
    bool good = PyErr_CheckSignals() == 0;
    if (good && report && !ended && seconds >= 2 &&
        (now != reported || seconds - last >= 1)) {
      Ref text(textOf(now));
      good = text && tell(text.get(), seconds);
      hasReported = true;
      reported = now;
      last = seconds;
    }
    if (good && ended && hasReported)
      good = tell(Py_None, seconds);
    if (!good) {
      isStopped = true;
      return false;
    }
    if (ended)
      return true;
  }
}

PyObject *waitCompilations(PyObject *, PyObject *) {
  Threads &all = threads();
  if (all.process != getpid())
    Py_RETURN_NONE;
  {
    WithoutGil free;
    std::unique_lock lock(all.mutex);
    all.ended.wait(lock, [&] { return all.count == 0; });
  }
  Py_RETURN_NONE;
}

} // namespace binding

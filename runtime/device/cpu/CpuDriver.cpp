//===- CpuDriver.cpp - The cpu device -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host processor as a device with memory of its own. Always there.
//===----------------------------------------------------------------------===//

#include "device/cpu/CallerStack.h"
#include "device/cpu/Scheduler.h"
#include "shim/base/Clock.h"
#include "shim/base/Settings.h"
#include "shim/base/Uncancelled.h"
#include "shim/command/Packed.h"
#include "shim/command/Strided.h"

#include <algorithm>
#include <map>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace gpuasync;
using namespace gpuasync::cpu;

namespace gpuasync {
extern const Vendor cpuVendor;
}

namespace {

/// Copies and fills up to this size run on the enqueuing thread when nothing is
/// ahead: waking another thread costs more.
constexpr uint64_t inlineBytes = 1 << 20;
constexpr int64_t maxThreadsPerBlock = 1024;
constexpr int64_t maxWorkgroupBytes = GPUASYNC_CPU_WORKGROUP_BYTES;

Status memorySize(uint64_t &bytes) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(size);
  return sizeSetting("GPU_ASYNC_CPU_MEMORY", 1, bytes);
}

/// A gate is an operation that a stream of its own still lacks, and what waits
/// behind it waits for that operation.
class CpuGate final : public StreamGate {
public:
  /// `site`: where its errors are.
  CpuGate(Scheduler &scheduler, const gpuasync_site *site)
      : scheduler(scheduler), stream(*scheduler.createStream()), site(site) {
    try {
      op = scheduler.promise(stream);
    } catch (...) {
      scheduler.destroyStream(&stream);
      throw;
    }
    scheduler.retain();
  }
  Event opening() const {
    return {&stream, stream.enqueued.load(std::memory_order_relaxed) + 1,
            stream.tenure};
  }
  /// The timing of the arrival is to have the time until the opening, too.
  void measure(Op &arrival) {
    if (!arrival.timing || !(time = new (std::nothrow) GateTime))
      return;
    timing = std::exchange(arrival.timing, nullptr);
    arrival.gateTime = time;
  }
  void open(Status error) noexcept override {
    if (timing) {
      timing->end = nowNs();
      const int64_t begin = time->begin.load(std::memory_order_relaxed);
      timing->begin = begin ? begin : timing->end;
      timing->known.store(true, std::memory_order_release);
      time->release();
    }
    if (!error.ok())
      stream.tenure->fail(locate(std::move(error), site), opening().position);
    scheduler.completeNow(stream, op);
    scheduler.destroyStream(&stream);
    scheduler.release();
    delete this;
  }

private:
  Scheduler &scheduler;
  Stream &stream;
  const gpuasync_site *site;
  Op *op;
  DeviceTiming *timing = nullptr; ///< null: nobody wants to know
  GateTime *time = nullptr;
};

class CpuContext final : public Device,
                         DeviceClock,
                         ForeignObjects,
                         StreamControl,
                         StreamGates {
public:
  CpuContext(uint32_t threads, uint64_t memory)
      : Device(extensionsOf()), scheduler(new Scheduler(threads)),
        limit(memory) {}
  Status setSchedule(const Schedule &schedule) {
    return scheduler->setSchedule(schedule);
  }
  ~CpuContext() override {
    if (!abandoned)
      scheduler->release();
  }

  // The host has no current context.
  Status makeCurrent(SavedContext &) override { return Status(); }
  void restore(SavedContext &) noexcept override {}
  Status resume() override { return Status(); }

  Status createStream(NativeStream &out) override {
    ++driverCallCount;
    out = scheduler->createStream();
    return Status();
  }
  void destroyStream(NativeStream stream) noexcept override {
    ++driverCallCount;
    scheduler->destroyStream(static_cast<Stream *>(stream));
  }
  Status externalStream(void *native, NativeStream &out) override {
    if (!native) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!defaultStream)
        defaultStream = scheduler->createStream();
      native = defaultStream;
    }
    static_cast<Stream *>(native)->isShared.store(true,
                                                  std::memory_order_release);
    out = native;
    return Status();
  }
  Status queryStream(NativeStream native, bool &done) override {
    Stream &stream = *static_cast<Stream *>(native);
    done = stream.completed.load(std::memory_order_acquire) >= stream.enqueued;
    return done ? stream.tenure->statusAt(stream.enqueued) : Status();
  }
  Status waitStream(NativeStream native, int64_t timeoutNs,
                    bool &done) override {
    Stream &stream = *static_cast<Stream *>(native);
    Scheduler::Wait result =
        scheduler->wait(stream, stream.enqueued, timeoutNs);
    if (!scheduler->tryRenew(stream)) {
      // The error that is still there is a former owner's.
      done = result == Scheduler::Wait::Reached;
      return outOfMemoryStatus();
    }
    return finishWait(result, stream.tenure, stream.enqueued, done);
  }
  void cancelStream(NativeStream stream) override {
    scheduler->cancelStream(*static_cast<Stream *>(stream));
  }
  bool endsSoon(NativeStream stream) override {
    return scheduler->endsSoon(*static_cast<Stream *>(stream));
  }
  void resetStream(NativeStream stream) noexcept override {
    scheduler->resetStream(static_cast<Stream *>(stream));
  }

  Status closeGate(NativeStream native, const Command::HostCall &call,
                   const gpuasync_site *site, StreamGate *&out) override;

  Status createEvent(NativeEvent &out) override {
    out = new Event;
    events.fetch_add(1, std::memory_order_relaxed);
    return Status();
  }
  void destroyEvent(NativeEvent native) noexcept override {
    auto *event = static_cast<Event *>(native);
    if (event->tenure)
      event->tenure->release();
    delete event;
    events.fetch_sub(1, std::memory_order_relaxed);
  }
  Status recordEvent(NativeEvent native, NativeStream nativeStream) override {
    ++driverCallCount;
    auto *event = static_cast<Event *>(native);
    auto *stream = static_cast<Stream *>(nativeStream);
    const Producing producing(*stream);
    scheduler->renew(*stream);
    stream->tenure->retain();
    if (event->tenure)
      event->tenure->release();
    event->tenure = stream->tenure;
    event->stream = stream;
    event->position = stream->enqueued;
    return Status();
  }
  Status streamWaitEvent(NativeStream stream, NativeEvent event) override {
    ++driverCallCount;
    const Producing producing(*static_cast<Stream *>(stream));
    scheduler->enqueueWait(*static_cast<Stream *>(stream),
                           *static_cast<Event *>(event));
    return Status();
  }
  Status queryEvent(NativeEvent native, bool &done) override {
    auto *event = static_cast<Event *>(native);
    done = !event->stream || event->stream->completed.load(
                                 std::memory_order_acquire) >= event->position;
    return done && event->tenure ? event->tenure->statusAt(event->position)
                                 : Status();
  }
  Status waitEvent(NativeEvent native, int64_t timeoutNs, bool &done) override {
    auto *event = static_cast<Event *>(native);
    done = true;
    if (!event->stream)
      return Status();
    return finishWait(
        scheduler->wait(*event->stream, event->position, timeoutNs),
        event->tenure, event->position, done);
  }

  Status loadModule(const gpuasync_module &module, const gpuasync_image &image,
                    NativeModule &out, NativeFunction *functions) override {
    ++driverCallCount;
    auto *table = static_cast<const char *>(image.data);
    LineArray<LoadedKernel> kernels =
        makeLineArray<LoadedKernel>(module.kernelCount);
    if (!kernels)
      return outOfMemoryStatus();
    // Those of older compilers are shorter.
    const uint64_t bytes = std::max<uint64_t>(
        module.kernelCount ? image.size / module.kernelCount : 0,
        offsetof(gpuasync_cpu_kernel, stackBytes));
    for (uint32_t i = 0; i < module.kernelCount; ++i) {
      const char *wanted = module.kernels[i].name;
      gpuasync_cpu_kernel &kernel = kernels[i].kernel;
      memcpy(&kernel, table + i * bytes, std::min(bytes, sizeof(kernel)));
      if (!kernel.name || strcmp(kernel.name, wanted) != 0 || !kernel.function)
        return makeStatus(GPUASYNC_NOT_FOUND,
                          "module '%s': the cpu image lacks kernel '%s'",
                          module.name, wanted);
      functions[i] = &kernels[i];
    }
    out = kernels.release();
    modules.fetch_add(1, std::memory_order_relaxed);
    return Status();
  }
  Status adoptModule(const gpuasync_module &module, const gpuasync_image &image,
                     void *foreign, NativeModule &out,
                     NativeFunction *functions) override {
    gpuasync_image adopted = image;
    adopted.data = foreign;
    return loadModule(module, adopted, out, functions);
  }
  void unloadModule(NativeModule module) noexcept override {
    ++driverCallCount;
    LineArray<LoadedKernel>(static_cast<LoadedKernel *>(module)).reset();
    modules.fetch_sub(1, std::memory_order_relaxed);
  }

  Status submit(NativeStream stream, const Command &command) override;

  Status beginTiming(NativeStream native, DeviceTiming &timing) override {
    expectTiming(*static_cast<Stream *>(native), timing);
    return Status();
  }
  Status endTiming(NativeStream native, DeviceTiming &timing) override {
    // The operation takes it with it, if there is one.
    if (takeTiming(*static_cast<Stream *>(native)))
      timing.known.store(true, std::memory_order_release);
    return Status();
  }

  int64_t timingError() override { return 0; }
  // The operation itself writes when it ran.
  Status readTiming(DeviceTiming &) override { return Status(); }
  void dropTiming(DeviceTiming &) noexcept override {}

  Status findFunction(NativeModule, const gpuasync_module &module,
                      const gpuasync_image &, NativeFunction &) override {
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "module '%s' has a fixed table of kernels", module.name);
  }
  Status launchPointers(NativeStream stream, const Command::Launch &launch,
                        void **parameters, const gpuasync_site *site) override {
    return launchPacked(*this, stream, launch, parameters, site);
  }
  Status devicePointer(void *host, void *&out) override {
    out = host;
    return Status();
  }

  Status allocMemory(MemoryKind kind, uint64_t bytes, void *&out) override;
  void freeMemory(MemoryKind kind, void *pointer) noexcept override;
  void memoryInfo(uint64_t &freeBytes, uint64_t &totalBytes) override {
    std::lock_guard<std::mutex> lock(mutex);
    totalBytes = limit;
    freeBytes = used < limit ? limit - used : 0;
  }
  Status registerHost(void *, uint64_t, bool &owned) override {
    owned = true;
    registrations.fetch_add(1, std::memory_order_relaxed);
    return Status();
  }
  void unregisterHost(void *) noexcept override {
    registrations.fetch_sub(1, std::memory_order_relaxed);
  }
  PointerKind pointerKind(const void *) override {
    return PointerKind::Pageable;
  }

  uint32_t unfinished(NativeStream native, const gpuasync_site **out,
                      uint32_t capacity) override {
    Stream &stream = *static_cast<Stream *>(native);
    std::lock_guard<std::mutex> lock(stream.mutex);
    uint32_t count = 0;
    for (Op *op = stream.head; op && count < capacity; op = op->next)
      if (op->command.site)
        out[count++] = op->command.site;
    return count;
  }

  uint64_t close(bool lost) noexcept override;

private:
  Extensions extensionsOf() {
    Extensions all;
    all.clock = this;
    all.foreign = this;
    all.control = this;
    all.gates = this;
    return all;
  }
  Status launch(Stream &stream, const Command &command);
  /// The calling thread is Producing.
  /// `gate`: closed by what arrives.
  Status callHost(Stream &stream, const Command &command,
                  CpuGate *gate = nullptr);

  Status finishWait(Scheduler::Wait result, StreamLease *tenure,
                    uint64_t position, bool &done) {
    done = result == Scheduler::Wait::Reached;
    if (done)
      return tenure->statusAt(position);
    return result == Scheduler::Wait::Starved ? scheduler->starvation()
                                              : Status();
  }

  Scheduler *scheduler;
  bool abandoned = false;
  std::mutex mutex;
  Stream *defaultStream = nullptr;
  std::map<void *, uint64_t> arenas; ///< mapping -> its bytes
  uint64_t used = 0;
  const uint64_t limit;
  std::atomic<uint64_t> events{0}, modules{0}, registrations{0};
};

Status CpuContext::submit(NativeStream native, const Command &command) {
  ++driverCallCount;
  Stream &stream = *static_cast<Stream *>(native);
  uint64_t bytes = 0;
  switch (command.kind) {
  case Command::Kind::Launch:
    return launch(stream, command);
  case Command::Kind::HostCall: {
    const Producing producing(stream);
    return callHost(stream, command);
  }
  case Command::Kind::CopyBytes:
    bytes = command.bytes.bytes;
    break;
  case Command::Kind::Copy:
    bytes = bytesOf(*command.copy);
    break;
  case Command::Kind::Fill:
    bytes = bytesOf(*command.fill);
    break;
  case Command::Kind::Call:
    break;
  default:
    return makeStatus(GPUASYNC_UNSUPPORTED, "no such work on the cpu device");
  }
  const Producing producing(stream);
  scheduler->enqueue(stream, scheduler->makeOp(stream, command),
                     bytes <= inlineBytes);
  return Status();
}

Status CpuContext::closeGate(NativeStream native, const Command::HostCall &call,
                             const gpuasync_site *site, StreamGate *&out) {
  ++driverCallCount;
  Stream &stream = *static_cast<Stream *>(native);
  auto *gate = new CpuGate(*scheduler, site);
  Status status;
  try {
    const Producing producing(stream);
    status =
        callHost(stream, Command(call, site, Command::Kind::Arrival), gate);
    if (status.ok())
      scheduler->enqueueWait(stream, gate->opening(), site);
  } catch (const std::bad_alloc &) {
    status = outOfMemoryStatus();
  }
  if (status.ok())
    out = gate;
  else
    gate->open(Status());
  return status;
}

Status CpuContext::callHost(Stream &stream, const Command &command,
                            CpuGate *gate) {
  Op *op = scheduler->makeOp(stream, command);
  if (gate)
    gate->measure(*op);
  if (!op->setParams(command.host.arguments, command.host.bytes)) {
    op->settleTiming();
    delete op;
    return outOfMemoryStatus();
  }
  op->mayBlock = true;
  scheduler->enqueue(stream, op, /*inlineIfIdle=*/false);
  return Status();
}

Status CpuContext::launch(Stream &stream, const Command &command) {
  const gpuasync_kernel &kernel = *command.launch.kernel;
  const gpuasync_launch_config &block = *command.launch.block;
  auto &loaded = *static_cast<LoadedKernel *>(command.launch.function);
  const gpuasync_cpu_kernel *table = &loaded.kernel;
  int64_t threads = 1, blocks = 1;
  for (int i = 0; i < 3; ++i) {
    if (__builtin_mul_overflow(threads, block.block[i], &threads) ||
        threads > maxThreadsPerBlock)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "kernel '%s': block of %s threads exceeds the limit of "
                        "%jd",
                        kernel.name, Sizes(block.block).text,
                        maxThreadsPerBlock);
    if (__builtin_mul_overflow(blocks, block.grid[i], &blocks) ||
        blocks > INT64_MAX / 2 / maxThreadsPerBlock)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "kernel '%s': grid of %s blocks is too large",
                        kernel.name, Sizes(block.grid).text);
  }
  if (block.dynamicSharedBytes > maxWorkgroupBytes ||
      table->workgroupBytes >
          static_cast<uint64_t>(maxWorkgroupBytes - block.dynamicSharedBytes))
    return makeStatus(
        GPUASYNC_INVALID_ARGUMENT,
        "kernel '%s': %ju static and %jd dynamic bytes of workgroup memory "
        "exceed the limit of %jd",
        kernel.name, table->workgroupBytes, block.dynamicSharedBytes,
        maxWorkgroupBytes);

  const Producing producing(stream);
  Op *op = scheduler->makeOp(stream, command);
  op->kernel = table;
  op->cost = &loaded.cost;
  memcpy(op->grid, block.grid, sizeof(op->grid));
  memcpy(op->block, block.block, sizeof(op->block));
  op->work = loaded.getWork(block, threads);
  op->dynamicSharedBytes = block.dynamicSharedBytes;
  op->mayBlock = table->flags & GPUASYNC_KERNEL_MAY_BLOCK;
  const gpuasync_cpu_check_hooks *hooks = checkHooks.load();
  op->checked = hooks ? hooks->launch() : nullptr;
  if (!op->setParams(block.params, block.paramBytes)) {
    op->settleTiming();
    delete op;
    return outOfMemoryStatus();
  }
  scheduler->enqueue(stream, op,
                     !op->mayBlock && loaded.cost.isSmall(op->work, blocks) &&
                         hasStack(table->stackBytes));
  return Status();
}

Status CpuContext::allocMemory(MemoryKind, uint64_t bytes, void *&out) {
  ++driverCallCount;
  uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t rounded = (bytes + page - 1) & ~(page - 1);
  if (rounded < bytes || rounded > limit || used > limit - rounded)
    return makeStatus(GPUASYNC_OUT_OF_MEMORY,
                      "%ju bytes asked for, %ju of the cpu device's %ju are "
                      "in use (GPU_ASYNC_CPU_MEMORY)",
                      bytes, used, limit);
  // A mapping of its own: never the heap of the host program.
  void *pointer = mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pointer == MAP_FAILED)
    return makeStatus(GPUASYNC_OUT_OF_MEMORY, "mmap of %ju bytes: %s", rounded,
                      strerror(errno));
  try {
    arenas[pointer] = rounded;
  } catch (...) {
    munmap(pointer, rounded); // nobody else knows of it
    throw;
  }
  used += rounded;
  out = pointer;
  return Status();
}

void CpuContext::freeMemory(MemoryKind, void *pointer) noexcept {
  ++driverCallCount;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = arenas.find(pointer);
  if (found == arenas.end())
    return;
  munmap(pointer, found->second);
  used -= found->second;
  arenas.erase(found);
}

uint64_t CpuContext::close(bool lost) noexcept {
  if (defaultStream && !lost)
    scheduler->destroyStream(defaultStream);
  defaultStream = nullptr;
  if (!scheduler->shutDown()) {
    // A kernel never ended: its threads and what they use stay behind.
    abandoned = true;
    return 1;
  }
  return scheduler->liveStreams() + events + modules + registrations +
         arenas.size();
}

class CpuDriver final : public Driver {
public:
  CpuDriver() : Driver(cpuVendor) {}

  Status available() override {
    uint64_t count;
    return countDevices(count);
  }
  int32_t deviceCount() override {
    uint64_t count;
    return countDevices(count).ok() ? static_cast<int32_t>(count) : 0;
  }
  Status deviceInfo(int32_t, DeviceInfo &info) override {
    snprintf(info.name, sizeof(info.name), "host processor");
    const Uncancelled uncancelled;
    if (FILE *file = fopen("/proc/cpuinfo", "r")) {
      char line[256];
      while (fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
          continue;
        colon += 1 + (colon[1] == ' ');
        colon[strcspn(colon, "\n")] = 0;
        snprintf(info.name, sizeof(info.name), "%.120s", colon);
        break;
      }
      fclose(file);
    }
    RETURN_IF_ERROR(memorySize(info.memoryBytes));
    info.capabilities = CapPageableDestination | CapHostAccess;
    Schedule schedule; // an error of it is that of `open`
    if (Schedule::current(schedule).ok() && schedule.adversarial)
      info.capabilities |= CapEdgesOnly;
    info.multiprocessors =
        static_cast<uint32_t>(std::thread::hardware_concurrency());
    info.driverVersion = GPUASYNC_ABI_VERSION;
    return Status();
  }
  uint32_t imageRank(int32_t, const gpuasync_image &image,
                     std::string *why) override {
    if (image.format == GPUASYNC_IMAGE_CPU)
      return 1;
    if (why)
      *why = "not for the cpu";
    return 0;
  }
  Status openContext(int32_t, void *, std::unique_ptr<Device> &out) override {
    Schedule schedule;
    RETURN_IF_ERROR(Schedule::current(schedule));
    uint64_t threads = 512, memory = 0;
    RETURN_IF_ERROR(wholeSetting("GPU_ASYNC_CPU_THREADS", 1, 65536, threads));
    RETURN_IF_ERROR(memorySize(memory));
    auto context =
        std::make_unique<CpuContext>(static_cast<uint32_t>(threads), memory);
    RETURN_IF_ERROR(context->setSchedule(schedule));
    out = std::move(context);
    return Status();
  }

private:
  /// All are the same processors and memory: programs for several devices can
  /// be tried where there is no GPU.
  static Status countDevices(uint64_t &count) {
    count = 1;
    return wholeSetting("GPU_ASYNC_CPU_DEVICES", 1, 64, count);
  }
};

const ImageFormat formats[] = {
    {GPUASYNC_IMAGE_CPU, "cpu", /*isFunctionTable=*/true}};

} // namespace

const Vendor gpuasync::cpuVendor = {
    "cpu", /*hasNumberedDevices=*/false, formats,
    sizeof(formats) / sizeof(formats[0]), onlyDriver<CpuDriver>};

//===- Trace.cpp - The trace of a process ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Trace.h. The format is Chrome's: complete events ("X"), arrows ("s" and
// "f"), names ("M").
//===----------------------------------------------------------------------===//

#include "libs/trace/Trace.h"

#include "libs/trace/Ranges.h"
#include "libs/trace/TracedDriver.h"
#include "shim/base/Settings.h"

#include <algorithm>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace gpuasync;

/// The "process" of the file that has the host's threads. Devices follow.
static constexpr uint32_t hostProcess = 1;

static __thread uint32_t threadId __attribute__((tls_model("initial-exec")));
/// The recording in which the thread got its name.
static __thread uint64_t threadRecording
    __attribute__((tls_model("initial-exec")));

static const char *kindName(WorkKind kind) {
  switch (kind) {
  case WorkKind::Kernel:
    return "kernel";
  case WorkKind::Copy:
    return "copy";
  case WorkKind::Fill:
    return "fill";
  case WorkKind::Graph:
    return "graph";
  case WorkKind::Call:
    return "call";
  }
  return "";
}

static const char *kindName(HostKind kind) {
  switch (kind) {
  case HostKind::Function:
    return "function";
  case HostKind::Driver:
    return "driver";
  case HostKind::Wait:
    return "wait";
  case HostKind::Region:
    return "region";
  case HostKind::Library:
    return "library";
  }
  return "";
}

const TraceHost *gpuasync::traceHost;

TraceService *gpuasyncMakeTraceService(const TraceHost &host) {
  if (!(host.version == TraceVersion()))
    return nullptr;
  // Never destroyed: a process that exits still uses it.
  static Trace *trace = [&] {
    traceHost = &host;
    return new Trace;
  }();
  return trace;
}

//===----------------------------------------------------------------------===//
// Begin and end
//===----------------------------------------------------------------------===//

Status Trace::begin(const char *name) {
  uint64_t limit = 256 << 20;
  RETURN_IF_ERROR(sizeSetting("GPU_ASYNC_TRACE_SIZE", 4096, limit));
  std::unique_lock<std::mutex> lock(mutex);
  open = arrows = 0;
  clockError = 0;
  rows.clear();
  waiting.clear();
  origin = nowNs();
  Status status = guard([&]() -> Status {
    if (name)
      RETURN_IF_ERROR(file.open(name, limit, otherData().text));
    nameProcess(hostProcess, "host");
    return Status();
  });
  if (!status.ok()) {
    (void)guard([&] { return closeFile(); });
    return status;
  }
  recording = ++recordings;
  lock.unlock();
  beginSession();
  return Status();
}

void Trace::beginSession() {
  if (tracing())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  ++session;
}

std::unique_ptr<Device> Trace::surround(Device &inner, const char *name,
                                        bool isVendors) {
  return std::make_unique<TracedDriver>(*this, inner, name, isVendors,
                                        ++processes);
}

bool Trace::isRecording() {
  std::lock_guard<std::mutex> lock(mutex);
  return recording;
}

void Trace::subscribe(gpuasync_trace_callback callback, void *user) {
  subscriber.set(callback, user);
  beginSession();
}

Status Trace::end() {
  std::lock_guard<std::mutex> lock(mutex);
  return closeFile();
}

void Trace::forget() noexcept { subscriber.drop(); }

void Trace::finish() noexcept {
  (void)guard([&] {
    forget();
    std::lock_guard<std::mutex> lock(mutex);
    return closeFile();
  });
}

Trace::OtherData Trace::otherData() const {
  OtherData data;
  snprintf(data.text, sizeof(data.text),
           "{\"tool\":\"gpu-async\",\"pid\":%d,\"dropped_events\":%" PRIu64
           ",\"unfinished\":%" PRIu64 ",\"clock_error_us\":%.3f}",
           int(getpid()), file.dropped(), open, double(clockError) / 1e3);
  return data;
}

Status Trace::closeFile() {
  waiting.clear();
  recording = 0;
  return file.isOpen() ? file.close(otherData().text) : Status();
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

const std::string *Trace::intern(const std::string &text) {
  return &*texts.insert(text).first;
}

const std::string *Trace::placeOf(const Place &place) {
  std::string text = place.file;
  if (!text.empty())
    text +=
        ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  return intern(text);
}

void Trace::append(const std::string &event) {
  if (!file.isOpen())
    return;
  if (file.append(event) && file.wantsFlush())
    file.flush(otherData().text);
}

void Trace::nameProcess(uint32_t number, const char *name) {
  std::string event = "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" +
                      std::to_string(number) + ",\"args\":{\"name\":";
  appendQuoted(event, name);
  append(event + "}}");
  append("{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":" +
         std::to_string(number) +
         ",\"args\":{\"sort_index\":" + std::to_string(number) + "}}");
}

void Trace::nameTrack(uint32_t number, uint64_t track, const char *name) {
  std::string event = "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" +
                      std::to_string(number) +
                      ",\"tid\":" + std::to_string(track) +
                      ",\"args\":{\"name\":";
  appendQuoted(event, name);
  append(event + "}}");
}

/// `"ph":"X"` with its times, up to the arguments.
static std::string slice(uint32_t process, uint64_t track, const char *category,
                         const char *name, int64_t begin, int64_t end) {
  std::string event = "{\"ph\":\"X\",\"pid\":" + std::to_string(process) +
                      ",\"tid\":" + std::to_string(track) + ",\"ts\":";
  appendTime(event, begin);
  event += ",\"dur\":";
  appendTime(event, end - begin);
  event += ",\"cat\":\"";
  event += category;
  event += "\",\"name\":";
  appendQuoted(event, name);
  event += ",\"args\":{";
  return event;
}

static void appendPlace(std::string &event, const std::string &place) {
  if (place.empty())
    return;
  event += "\"at\":";
  appendQuoted(event, place.c_str());
  event += ',';
}

static std::string endOf(std::string event) {
  if (event.back() == ',')
    event.pop_back();
  return event + "}}";
}

uint32_t Trace::threadNumber() noexcept {
  if (!threadId)
    threadId = uint32_t(syscall(SYS_gettid));
  return threadId;
}

void Trace::note(HostKind kind, const char *name, const Place &place,
                 int64_t from, int64_t to, const char *played) noexcept {
  note(kindName(kind), name, place, from, to, played);
}

void Trace::own(const char *name, int64_t from, int64_t to) noexcept {
  note("trace", name, Place(nullptr), from, to, "");
}

void Trace::note(const char *category, const char *name, const Place &place,
                 int64_t from, int64_t to, const char *played) noexcept {
  try {
    std::lock_guard<std::mutex> lock(mutex);
    if (!file.isOpen() || from < origin)
      return;
    const uint32_t thread = threadNumber();
    if (threadRecording != recording) {
      threadRecording = recording;
      char text[64] = "";
      (void)pthread_getname_np(pthread_self(), text, sizeof(text));
      nameTrack(hostProcess, thread, text);
    }
    std::string event =
        slice(hostProcess, thread, category, name, from - origin, to - origin);
    appendPlace(event, *placeOf(place));
    if (*played) {
      event += "\"played\":";
      appendQuoted(event, played);
    }
    append(endOf(event));
  } catch (const std::bad_alloc &) {
  }
}

std::shared_ptr<Span> Trace::makeSpan(const Work &work) {
  auto span = std::make_shared<Span>();
  span->session = session;
  span->recording = recording;
  span->record = subscriber.newId();
  span->kind = work.kind;
  span->name = intern(work.name);
  const Place place(work.site);
  span->place = placeOf(place);
  span->file = intern(place.file);
  span->line = place.line;
  span->column = place.column;
  if (work.site)
    span->id = work.site->id;
  span->bytes = work.bytes;
  if (work.block) {
    memcpy(span->grid, work.block->grid, sizeof(span->grid));
    memcpy(span->block, work.block->block, sizeof(span->block));
  }
  span->launches = work.launches;
  span->copies = work.copies;
  span->fills = work.fills;
  return span;
}

void Trace::settle(const std::shared_ptr<Span> &span) {
  if (span->session != session) {
    span->state = Span::State::Lost;
    span->after.clear();
    return;
  }
  const DeviceTiming &timing = span->timing;
  const bool ran = timing.known.load(std::memory_order_acquire) && timing.end;
  span->state = ran ? Span::State::Known : Span::State::Lost;
  const bool recorded = recording && span->recording == recording;
  open -= recorded;
  if (!ran || !recorded) {
    span->after.clear();
    return;
  }
  static const std::string nowhere;
  const bool isKernel = span->kind == WorkKind::Kernel;
  Row &row = rows[{span->kind, span->name, isKernel ? nullptr : span->place}];
  if (isKernel) {
    const std::string *place = span->place ? span->place : &nowhere;
    row.place = row.place && row.place != place ? &nowhere : place;
  }
  const auto took = uint64_t(std::max<int64_t>(timing.end - timing.begin, 0));
  ++row.calls;
  row.total += took;
  row.least = std::min(row.least, took);
  row.most = std::max(row.most, took);
  row.bytes += span->bytes;
  row.launches += span->launches;
  if (!file.isOpen()) {
    span->after.clear();
    return;
  }
  writeSpan(*span);
  for (std::shared_ptr<Span> &from : span->after)
    if (from->recording == recording)
      waiting.push_back({std::move(from), span});
  span->after.clear();
}

void Trace::tell(const Span &span, const char *device) noexcept {
  if (!span.record || span.state != Span::State::Known)
    return;
  gpuasync_trace_record record = {};
  record.structSize = sizeof(record);
  record.phase = GPUASYNC_TRACE_RAN;
  record.kind = GPUASYNC_TRACE_KERNEL + uint32_t(span.kind);
  record.id = span.record;
  record.cause = span.cause;
  record.name = span.name->c_str();
  record.file = span.file->c_str();
  record.line = span.line;
  record.column = span.column;
  record.schedule = span.id;
  record.beginNs = span.timing.begin;
  record.endNs = span.timing.end;
  record.played = "";
  record.device = device;
  record.stream = span.track;
  record.launches = span.launches;
  record.bytes = span.bytes;
  memcpy(record.grid, span.grid, sizeof(record.grid));
  memcpy(record.block, span.block, sizeof(record.block));
  subscriber.tell(record);
}

void Trace::writeSpan(const Span &span) {
  std::string event =
      slice(span.process, span.track, kindName(span.kind), span.name->c_str(),
            span.timing.begin - origin, span.timing.end - origin);
  appendPlace(event, *span.place);
  auto number = [&](const char *name, uint64_t value) {
    event += '"';
    event += name;
    event += "\":" + std::to_string(value) + ",";
  };
  auto sizes = [&](const char *name, const int64_t *size) {
    event += '"';
    event += name;
    event += "\":\"" + std::to_string(size[0]) + "x" + std::to_string(size[1]) +
             "x" + std::to_string(size[2]) + "\",";
  };
  if (span.id != UINT32_MAX)
    number("id", span.id);
  if (span.kind == WorkKind::Kernel) {
    sizes("grid", span.grid);
    sizes("block", span.block);
  } else {
    number("bytes", span.bytes);
  }
  if (span.launches)
    number("launches", span.launches);
  if (span.copies)
    number("copies", span.copies);
  if (span.fills)
    number("fills", span.fills);
  append(endOf(event));
}

bool Trace::writeArrow(const Span &from, const Span &to) {
  if (from.state == Span::State::Open)
    return false;
  if (from.state == Span::State::Lost)
    return true;
  // An end belongs to the slice that its time is in, and a slice ends before
  // its last nanosecond does.
  auto end = [&](const char *phase, const Span &span, int64_t at) {
    std::string event = "{\"ph\":\"";
    event += phase;
    event += "\",\"id\":" + std::to_string(arrows) +
             ",\"pid\":" + std::to_string(span.process) +
             ",\"tid\":" + std::to_string(span.track) + ",\"ts\":";
    appendTime(event, at - origin);
    event += ",\"cat\":\"dependency\",\"name\":\"after\"";
    append(event + (*phase == 'f' ? ",\"bp\":\"e\"}" : "}"));
  };
  ++arrows;
  end("s", from, std::max(from.timing.begin, from.timing.end - 1));
  end("f", to, to.timing.begin);
  return true;
}

void Trace::writeArrows() {
  waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                               [&](auto &pair) {
                                 return writeArrow(*pair.first, *pair.second);
                               }),
                waiting.end());
}

//===----------------------------------------------------------------------===//
// The profile
//===----------------------------------------------------------------------===//

Status Trace::openRanges(bool &found) {
  Status status = gpuasync::openRanges();
  found = ranges.push;
  return status;
}

uint64_t Trace::profile(gpuasync_profile_visitor visitor, void *user) {
  std::vector<std::pair<RowKey, Row>> sorted;
  {
    std::lock_guard<std::mutex> lock(mutex);
    sorted.assign(rows.begin(), rows.end());
  }
  if (!visitor)
    return sorted.size();
  auto text = [](const std::string *text) { return text ? text->c_str() : ""; };
  std::sort(sorted.begin(), sorted.end(), [&](auto &a, auto &b) {
    if (a.second.total != b.second.total)
      return a.second.total > b.second.total;
    int order = strcmp(text(std::get<1>(a.first)), text(std::get<1>(b.first)));
    if (!order)
      order = strcmp(text(std::get<2>(a.first)), text(std::get<2>(b.first)));
    return order < 0;
  });
  for (auto &[key, row] : sorted) {
    gpuasync_profile_row out;
    out.kind = kindName(std::get<0>(key));
    out.name = text(std::get<1>(key));
    out.place = text(row.place ? row.place : std::get<2>(key));
    out.calls = row.calls;
    out.totalNs = row.total;
    out.leastNs = row.least;
    out.mostNs = row.most;
    out.bytes = row.bytes;
    out.launches = row.launches;
    visitor(user, &out);
  }
  return sorted.size();
}

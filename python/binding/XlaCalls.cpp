//===- XlaCalls.cpp - Functions that XLA's programs call ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// XLA's FFI is a C ABI of structs that begin with their size. The part that is
// used here is declared below, for its version 0.3 of jaxlib 0.10; a frame of
// another layout is refused.
//===----------------------------------------------------------------------===//

#include "XlaCalls.h"

#include "gpuasync/Status.h"

#include <cfenv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace binding {

//===----------------------------------------------------------------------===//
// The ABI
//===----------------------------------------------------------------------===//

namespace xla {

constexpr int majorVersion = 0, minorVersion = 3;
enum : int { MetadataExtension = 1 };
enum : int { BufferValue = 1 };
enum : int { StringAttribute = 4 };
enum : int { ExecuteStage = 3 };

struct Extension {
  size_t structSize;
  int type;
  Extension *next;
};
struct Version {
  size_t structSize;
  Extension *extensions;
  int major, minor;
};
struct Metadata {
  size_t structSize;
  Version version;
  uint32_t traits;
  int64_t stateType;
};
struct Described {
  Extension base;
  Metadata *metadata;
};
struct Buffer {
  size_t structSize;
  Extension *extensions;
  int type;
  void *data;
  int64_t rank;
  const int64_t *sizes;
};
struct Bytes {
  const char *data;
  size_t size;
};
/// Arguments or results.
struct Values {
  size_t structSize;
  Extension *extensions;
  int64_t count;
  const int *kinds;
  void *const *values;
};
struct Attributes {
  size_t structSize;
  Extension *extensions;
  int64_t count;
  const int *kinds;
  Bytes *const *names;
  void *const *values;
};
struct Error;
struct MakeError {
  size_t structSize;
  Extension *extensions;
  const char *message;
  int code;
};
/// Its first functions; there are more.
struct Api {
  size_t structSize;
  Extension *extensions;
  Version version;
  const void *internal;
  Error *(*makeError)(MakeError *);
};
struct Frame {
  size_t structSize;
  Extension *extensions;
  const Api *api;
  void *context;
  int stage;
  Values arguments, results;
  Attributes attributes;
  // Behind these is what handlers that return early use.
};

// A compiler's layout of the structs of C.
static_assert(sizeof(Version) == 24 && sizeof(Buffer) == 48 &&
              sizeof(Values) == 40 && sizeof(Attributes) == 48 &&
              offsetof(Metadata, stateType) == 40 && sizeof(Described) == 32 &&
              offsetof(Api, makeError) == 48 &&
              offsetof(Frame, arguments) == 40 && sizeof(Frame) == 168);

/// By XLA's number of an element type, gpuasync_type; 0: there is none.
static uint32_t typeOf(int type) {
  static constexpr uint8_t types[] = {0,
                                      GPUASYNC_TYPE_I1,
                                      GPUASYNC_TYPE_I8,
                                      GPUASYNC_TYPE_I16,
                                      GPUASYNC_TYPE_I32,
                                      GPUASYNC_TYPE_I64,
                                      GPUASYNC_TYPE_UI8,
                                      GPUASYNC_TYPE_UI16,
                                      GPUASYNC_TYPE_UI32,
                                      GPUASYNC_TYPE_UI64,
                                      GPUASYNC_TYPE_F16,
                                      GPUASYNC_TYPE_F32,
                                      GPUASYNC_TYPE_F64,
                                      0,
                                      0,
                                      GPUASYNC_TYPE_C64,
                                      GPUASYNC_TYPE_BF16,
                                      0,
                                      GPUASYNC_TYPE_C128};
  return type >= 0 && size_t(type) < std::size(types) ? types[type] : 0;
}

/// XLA's code of an error.
static int codeOf(uint32_t code) {
  switch (code) {
  case GPUASYNC_INVALID_ARGUMENT:
    return 3;
  case GPUASYNC_TIMEOUT:
    return 4;
  case GPUASYNC_NOT_FOUND:
    return 5;
  case GPUASYNC_OUT_OF_MEMORY:
    return 8;
  case GPUASYNC_UNSUPPORTED:
    return 12;
  default:
    return 13;
  }
}

static Error *fail(const Frame &frame, int code, const char *message) {
  MakeError error = {};
  error.structSize = offsetof(MakeError, code) + sizeof(error.code);
  error.message = message;
  error.code = code;
  return frame.api->makeError(&error);
}

} // namespace xla

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {
struct Kept {
  gpuasync_callable *callable;
  gpuasync_context *context; ///< lives as long as the callable
};

/// Programs that custom calls may call. Never destroyed: XLA's threads may call
/// until the process ends.
struct Programs {
  static Programs &get() {
    static auto *programs = new Programs;
    return *programs;
  }
  std::shared_mutex mutex;
  std::unordered_map<std::string, Kept> byText;
};
} // namespace

gpuasync::Status keepForXla(gpuasync_executable *executable,
                            const std::string &function,
                            const std::string &program) {
  Programs &programs = Programs::get();
  std::unique_lock<std::shared_mutex> lock(programs.mutex);
  auto [place, isNew] = programs.byText.try_emplace(program);
  if (!isNew)
    return gpuasync::Status();
  gpuasync::Status status(gpuasync_executable_lookup(
      executable, function.c_str(), &place->second.callable));
  if (status.ok())
    place->second.context = gpuasync_executable_context(executable);
  else
    programs.byText.erase(place);
  return status;
}

static bool find(const std::string &program, Kept &found) {
  Programs &programs = Programs::get();
  std::shared_lock<std::shared_mutex> lock(programs.mutex);
  auto place = programs.byText.find(program);
  if (place == programs.byText.end())
    return false;
  found = place->second;
  return true;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Says which version of the ABI the handler has: XLA refuses one that it does
/// not know.
static void describe(xla::Described &extension) {
  constexpr size_t needed =
      offsetof(xla::Metadata, traits) + sizeof(xla::Metadata::traits);
  if (extension.base.structSize < sizeof(xla::Described) ||
      !extension.metadata || extension.metadata->structSize < needed)
    return;
  xla::Metadata &metadata = *extension.metadata;
  metadata.version = {};
  metadata.version.structSize = sizeof(xla::Version);
  metadata.version.major = xla::majorVersion;
  metadata.version.minor = xla::minorVersion;
  metadata.traits = 0;
}

/// Reads arrays; what is wrong with them, or null.
static const char *readValues(const xla::Values &given,
                              std::vector<gpuasync_value> &values) {
  // An array without elements may have no memory, which means another thing to
  // the library.
  alignas(64) static char nothing[64];
  for (int64_t i = 0; i < given.count; ++i) {
    auto *buffer = static_cast<const xla::Buffer *>(given.values[i]);
    if (given.kinds[i] != xla::BufferValue ||
        buffer->structSize < sizeof(xla::Buffer))
      return "an argument or result is no array of the version 0.3 of XLA's "
             "FFI";
    uint32_t type = xla::typeOf(buffer->type);
    if (!type)
      return "an argument or result is of an element type that programs have "
             "not";
    bool isEmpty = false;
    for (int64_t d = 0; d < buffer->rank; ++d)
      isEmpty |= buffer->sizes[d] == 0;
    if (!buffer->data && !isEmpty)
      return "an argument or result has no memory";
    values.push_back(gpuasync_value_make(isEmpty ? nothing : buffer->data, type,
                                         uint32_t(buffer->rank),
                                         buffer->sizes));
  }
  return nullptr;
}

namespace {
/// While one lives the calling thread computes as threads begin. XLA's take
/// small numbers for 0, which programs do not, and the other threads of a call
/// do not.
struct DefaultFloats {
  DefaultFloats() {
    std::fegetenv(&before);
    std::fesetenv(FE_DFL_ENV);
  }
  DefaultFloats(const DefaultFloats &) = delete;
  ~DefaultFloats() { std::fesetenv(&before); }
  std::fenv_t before;
};
} // namespace

static xla::Error *call(const xla::Frame &frame) {
  if (frame.structSize < sizeof(xla::Frame) ||
      frame.arguments.structSize != sizeof(xla::Values) ||
      frame.results.structSize != sizeof(xla::Values) ||
      frame.attributes.structSize != sizeof(xla::Attributes) ||
      frame.api->version.major != xla::majorVersion)
    return xla::fail(frame, /*UNIMPLEMENTED=*/12,
                     "gpu_async.jit(ffi=True): this jaxlib has another version "
                     "of XLA's FFI than 0.3; leave out ffi=True");
  if (frame.stage != xla::ExecuteStage)
    return nullptr; // nothing to prepare
  const xla::Bytes *program = nullptr;
  for (int64_t i = 0; i < frame.attributes.count; ++i) {
    const xla::Bytes &name = *frame.attributes.names[i];
    if (std::string(name.data, name.size) == "program" &&
        frame.attributes.kinds[i] == xla::StringAttribute)
      program = static_cast<const xla::Bytes *>(frame.attributes.values[i]);
  }
  Kept kept;
  if (!program || !find(std::string(program->data, program->size), kept))
    return xla::fail(
        frame, /*NOT_FOUND=*/5,
        "a program of JAX's calls a function of gpu_async.jit(ffi=True) that "
        "was not compiled in this process; trace the program here, rather than "
        "load it compiled");
  std::vector<gpuasync_value> arguments, results;
  const char *wrong = readValues(frame.arguments, arguments);
  if (!wrong)
    wrong = readValues(frame.results, results);
  if (wrong)
    return xla::fail(frame, /*INVALID_ARGUMENT=*/3, wrong);
  gpuasync::Status status = [&] {
    const DefaultFloats floats;
    return gpuasync::Status(gpuasync_callable_call(
        kept.callable, arguments.data(), arguments.size(), results.data(),
        results.size()));
  }();
  if (status.ok())
    return nullptr;
  // XLA frees the arrays next, and no work may use them then.
  gpuasync_status_free(gpuasync_context_wait_abandoned(kept.context, -1));
  return xla::fail(frame, xla::codeOf(status.code()), status.message());
}

/// The handler. No exception passes it.
static xla::Error *handle(xla::Frame *frame) noexcept {
  for (xla::Extension *each = frame->extensions; each; each = each->next)
    if (each->type == xla::MetadataExtension) {
      describe(*reinterpret_cast<xla::Described *>(each));
      return nullptr;
    }
  if (!frame->api || frame->api->structSize < sizeof(xla::Api)) {
    // There is no way to tell XLA that the results are not there.
    std::fputs("gpu_async: XLA's FFI gives a call no functions for errors\n",
               stderr);
    std::abort();
  }
  try {
    return call(*frame);
  } catch (const std::bad_alloc &) {
    return xla::fail(*frame, /*RESOURCE_EXHAUSTED=*/8,
                     "gpu_async: no memory for a call's values");
  }
}

PyObject *xlaHandler(PyObject *, PyObject *) {
  return PyCapsule_New(reinterpret_cast<void *>(&handle),
                       /*name=*/nullptr, /*destructor=*/nullptr);
}

} // namespace binding

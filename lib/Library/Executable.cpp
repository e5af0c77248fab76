//===- Executable.cpp - libgpuasync's functions ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles by Execution/, and checks and packs the values of each call. Types
// of MLIR end with the compilation; a call knows numbers only.
//===----------------------------------------------------------------------===//

#include "Execution/Compile.h"
#include "Execution/CompiledProgram.h"
#include "Execution/DeviceStart.h"
#include "Execution/Link.h"
#include "Execution/Types.h"
#include "GPUAsync-C/GPUAsync.h"
#include "GPUAsync/Kernels/CPU/Object.h"
#include "Library/DeviceArrays.h"
#include "Library/Options.h"

#include "gpuasync/Memory.h"
#include "gpuasync/Program.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>

using namespace llvm;
using namespace gpuexec;
using mlir::gpuasync::ScheduleFormat;

namespace {

/// A context that executables and arrays of one device share, while there are
/// any.
struct SharedDevice {
  gpuasync::Context context;
  std::vector<std::string> targets;
  int32_t ordinal = 0;
  bool isCpu = false;
  std::shared_ptr<DeviceQueue> queue; ///< of calls that do not wait
};

struct Parameter {
  std::string text;
  std::string what; ///< "argument 0 of @main", in errors of the runtime
  gpuasync_kind kind;
  uint32_t type = 0, rank = 0;
  unsigned bytes = 0; ///< of an element
  int64_t offset = 0; ///< of a memref's type, in elements; 0 if dynamic
  /// Dynamic ones are ShapedType::kDynamic.
  SmallVector<int64_t, GPUASYNC_MAX_RANK> shape, strides;
  std::string unsupported;
  bool donated = false;
  int64_t takenBy = -1; ///< the result that takes the argument's memory
};

struct Callable {
  std::string name;
  std::vector<Parameter> arguments, results;
  SmallVector<int64_t> destinations;
  SmallVector<int64_t> takes; ///< by result: the argument, or -1
  bool takesAny = false;
  std::vector<SizeRule> sizeRules;
  CallLayout layout;
  std::optional<mlir::gpuasync::Schedule> schedule; ///< not of a lowered file
  std::string unsupported; ///< why it cannot be called from here
  size_t words = 0;        ///< of the descriptors of a call
  PackedFunction function = nullptr;
};

} // namespace

/// The code and all that calls need. References are the executable's and its
/// callables'.
struct gpuasync_executable {
  std::atomic<size_t> references{1};
  std::shared_ptr<SharedDevice> device;
  bool deviceArrays = false; ///< arrays are where the device reaches them
  bool keepsArrays = false;  ///< and results stay there
  bool takesStream = false;  ///< functions have one for the caller's
  LinkedProgram linked;
  std::vector<Callable> callables;
  std::string said;
  std::string timing; ///< a table; empty without the option
};

struct gpuasync_callable {
  gpuasync_executable *executable;
  const Callable *callable;
};

static gpuasync_status *fail(uint32_t code, const Twine &message) {
  return gpuasync_status_make(code, message.str().c_str());
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// A status is one line; the list of devices, a line each, goes into it with
/// what separates them.
static Error inOneLine(Error error) {
  SmallVector<StringRef> lines;
  std::string text = toString(std::move(error));
  StringRef(text).split(lines, '\n');
  std::string line = lines.front().str();
  for (StringRef next : drop_begin(lines)) {
    line += line.back() == ':' ? " " : "; ";
    // A device's line begins with its name.
    auto [name, rest] = next.ltrim().split(' ');
    line +=
        next.starts_with(" ") ? (name + ": " + rest.ltrim()).str() : next.str();
  }
  return createStringError(line);
}

/// Whether the context refuses calls since it was closed, by a caller or by the
/// shutdown.
static bool isClosed(const SharedDevice &device) {
  if (gpuasync_process_forked() || gpuasync_process_exiting())
    return false;
  // Changes nothing: an open context refuses the flags.
  gpuasync::Status status(
      gpuasync_modules_limit(device.context.get(), 0, 0, ~uint32_t(0)));
  return status.code() == GPUASYNC_SHUT_DOWN;
}

/// The device, unless its context was closed: the next user opens another one.
static std::shared_ptr<SharedDevice>
lockOpen(const std::weak_ptr<SharedDevice> &known) {
  std::shared_ptr<SharedDevice> device = known.lock();
  return device && !isClosed(*device) ? device : nullptr;
}

namespace {
/// By all names that were asked for. Never destroyed, as executables may live
/// until exit.
struct OpenDevices {
  static OpenDevices &get() {
    static auto *devices = new OpenDevices;
    return *devices;
  }
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<SharedDevice>> byName;
};
} // namespace

static Expected<std::shared_ptr<SharedDevice>> openDevice(StringRef name) {
  OpenDevices &open = OpenDevices::get();
  std::lock_guard<std::mutex> lock(open.mutex);
  std::weak_ptr<SharedDevice> &known = open.byName[name.str()];
  if (std::shared_ptr<SharedDevice> device = lockOpen(known))
    return device;
  DeviceStart start(name.str(), "device ");
  Expected<std::vector<std::string>> targets = start.targets();
  if (!targets)
    return inOneLine(targets.takeError());
  Expected<gpuasync::Context> context = start.context();
  if (!context)
    return inOneLine(context.takeError());
  // One device has several names, "auto" and "cpu" say. Its programs share what
  // calls that gave up have left on it.
  std::weak_ptr<SharedDevice> &same =
      open.byName[gpuasync_context_device(context->get())];
  if (std::shared_ptr<SharedDevice> device = lockOpen(same)) {
    known = device;
    return device;
  }
  auto device = std::make_shared<SharedDevice>();
  device->context = std::move(*context);
  device->targets = std::move(*targets);
  auto [kind, number] =
      StringRef(gpuasync_context_device(device->context.get())).split(':');
  device->isCpu = kind == "cpu";
  (void)number.getAsInteger(10, device->ordinal);
  device->queue =
      std::make_shared<DeviceQueue>(device->context.get(), device->ordinal);
  known = same = device;
  return device;
}

/// Waits for all work that the queues of devices have been given: of those of
/// one number, or with GPUASYNC_HOST of all.
static gpuasync::Status waitForQueues(int32_t ordinal) {
  SmallVector<std::shared_ptr<SharedDevice>, 2> devices;
  if (!gpuasync_process_forked()) {
    OpenDevices &open = OpenDevices::get();
    std::lock_guard<std::mutex> lock(open.mutex);
    for (auto &[name, known] : open.byName)
      if (std::shared_ptr<SharedDevice> device = known.lock())
        if (!device->isCpu &&
            (ordinal == GPUASYNC_HOST || device->ordinal == ordinal) &&
            device->queue->isOpen() && !is_contained(devices, device))
          devices.push_back(std::move(device));
  }
  for (const std::shared_ptr<SharedDevice> &device : devices) {
    Ready reached(*device->queue);
    gpuasync::Status status = device->queue->mark(reached);
    if (status.ok())
      status = reached.wait();
    if (!status.ok())
      return status;
  }
  return gpuasync::Status();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static uint32_t typeCode(const ElementType &element) {
  switch (element.kind) {
  case ElementType::Int:
    return element.bits == 1    ? GPUASYNC_TYPE_I1
           : element.bits == 8  ? GPUASYNC_TYPE_I8
           : element.bits == 16 ? GPUASYNC_TYPE_I16
           : element.bits == 32 ? GPUASYNC_TYPE_I32
                                : GPUASYNC_TYPE_I64;
  case ElementType::UInt:
    return element.bits == 8    ? GPUASYNC_TYPE_UI8
           : element.bits == 16 ? GPUASYNC_TYPE_UI16
           : element.bits == 32 ? GPUASYNC_TYPE_UI32
                                : GPUASYNC_TYPE_UI64;
  case ElementType::BFloat:
    return GPUASYNC_TYPE_BF16;
  case ElementType::Float:
    return element.bits == 16   ? GPUASYNC_TYPE_F16
           : element.bits == 32 ? GPUASYNC_TYPE_F32
                                : GPUASYNC_TYPE_F64;
  case ElementType::Complex:
    return element.bits == 64 ? GPUASYNC_TYPE_C64 : GPUASYNC_TYPE_C128;
  case ElementType::Pointer:
    return 0;
  }
  return 0;
}

static const char *const typeNames[] = {
    "nothing", "i1",   "i8",           "i16",         "i32", "i64",
    "ui8",     "ui16", "ui32",         "ui64",        "f16", "bf16",
    "f32",     "f64",  "complex<f32>", "complex<f64>"};

static std::string typeName(uint32_t type) {
  return type < std::size(typeNames) ? typeNames[type]
                                     : "type " + std::to_string(type);
}

static unsigned bytesOf(uint32_t type) {
  static constexpr uint8_t bytes[] = {0, 1, 1, 2, 4, 8, 1, 2,
                                      4, 8, 2, 2, 4, 8, 8, 16};
  static_assert(std::size(bytes) == std::size(typeNames));
  return type < std::size(bytes) ? bytes[type] : 0;
}

/// Integers of one width are one, whatever their sign.
static uint32_t withoutSign(uint32_t type) {
  return type >= GPUASYNC_TYPE_UI8 && type <= GPUASYNC_TYPE_UI64
             ? type - GPUASYNC_TYPE_UI8 + GPUASYNC_TYPE_I8
             : type;
}

static Parameter describe(mlir::Type type) {
  Parameter parameter;
  parameter.text = typeText(type);
  parameter.kind = isa<mlir::TensorType>(type)       ? GPUASYNC_KIND_TENSOR
                   : isa<mlir::BaseMemRefType>(type) ? GPUASYNC_KIND_MEMREF
                                                     : GPUASYNC_KIND_NUMBER;
  parameter.unsupported = unsupported(type);
  if (!parameter.unsupported.empty())
    return parameter;
  ValueType value = ValueType::get(type);
  parameter.type = typeCode(value.element);
  parameter.rank = value.rank;
  parameter.bytes = value.elementBytes();
  parameter.shape.assign(value.shape.begin(), value.shape.end());
  if (!parameter.type)
    parameter.unsupported =
        "is a pointer, which gpuasync_value has no type for";
  else if (value.rank != value.shape.size())
    parameter.unsupported =
        "has vectors as elements, which gpuasync_value has no type for";
  else if (value.rank > GPUASYNC_MAX_RANK)
    parameter.unsupported =
        "has more than " + std::to_string(GPUASYNC_MAX_RANK) + " dimensions";
  if (auto memref = dyn_cast<mlir::MemRefType>(type)) {
    SmallVector<int64_t> strides;
    if (failed(memref.getStridesAndOffset(strides, parameter.offset))) {
      parameter.unsupported = "has a layout that is not strided";
      return parameter;
    }
    if (mlir::ShapedType::isDynamic(parameter.offset))
      parameter.offset = 0;
    // Those of an identity follow from the sizes.
    if (!memref.getLayout().isIdentity())
      parameter.strides.assign(strides.begin(), strides.end());
  }
  return parameter;
}

static Callable describe(const Signature &signature, bool hostOnly) {
  Callable callable;
  callable.name = signature.name;
  auto check = [&](const Parameter &parameter, const Twine &what) {
    if (!parameter.unsupported.empty() && callable.unsupported.empty())
      callable.unsupported =
          (what + ", " + parameter.text + ", " + parameter.unsupported).str();
  };
  for (auto [i, type] : enumerate(signature.arguments)) {
    callable.arguments.push_back(describe(type));
    callable.arguments.back().what =
        "argument " + std::to_string(i) + " of @" + signature.name;
    check(callable.arguments.back(), "argument " + Twine(i));
  }
  SmallVector<ValueType> types;
  for (auto [i, type] : enumerate(signature.results)) {
    callable.results.push_back(describe(type));
    callable.results.back().what =
        "result " + std::to_string(i) + " of @" + signature.name;
    check(callable.results.back(), "result " + Twine(i));
    if (callable.unsupported.empty())
      types.push_back(ValueType::get(type));
  }
  callable.destinations = signature.destinations;
  callable.takes = signature.takes;
  for (unsigned number : signature.donated)
    callable.arguments[number].donated = true;
  for (auto [i, argument] : enumerate(callable.takes))
    if (argument >= 0) {
      callable.arguments[argument].takenBy = int64_t(i);
      callable.takesAny = true;
    }
  callable.sizeRules = signature.sizeRules;
  for (auto [i, parameter, destination] :
       enumerate(callable.results, callable.destinations))
    if (!hostOnly && callable.unsupported.empty() && destination < 0 &&
        parameter.kind == GPUASYNC_KIND_TENSOR)
      callable.unsupported =
          "result " + std::to_string(i) + ", " + parameter.text +
          ", has sizes that are known at run time only, which place=off has no "
          "memory for; compile it with place=copy";
  if (!callable.unsupported.empty())
    return callable;
  callable.layout =
      CallLayout::get(callable.arguments.size(), types, callable.destinations);
  for (const Parameter &parameter : callable.arguments)
    callable.words += 3 + 2 * parameter.rank;
  for (const Parameter &parameter : callable.results)
    callable.words += 3 + 2 * parameter.rank;
  return callable;
}

/// Opens the device, and completes the options by what it is.
static Error openFor(LibraryOptions &options, StringRef device,
                     gpuasync_executable &executable) {
  CompileOptions &how = options.compile;
  Expected<std::shared_ptr<SharedDevice>> opened = openDevice(device);
  if (!opened)
    return opened.takeError();
  executable.device = std::move(*opened);
  how.targets = executable.device->targets;
  if (how.subgroupSize && !executable.device->isCpu)
    return createStringError("option subgroup-size: only on the cpu device");
  if (how.blas == mlir::gpuasync::BlasMode::Auto) {
    std::string library = findBlasLibrary();
    if (library.empty())
      how.blas = mlir::gpuasync::BlasMode::Off;
    else
      options.sharedLibs.push_back(library);
  }
  if (options.keepsArrays && !executable.device->isCpu) {
    executable.keepsArrays = true;
    how.place = mlir::gpuasync::PlaceMode::Off;
    how.takeStream = how.arraysOnDevice = true;
  }
  // Elsewhere arrays are the caller's, or copied in each call.
  how.donate =
      executable.keepsArrays || (executable.device->isCpu && !how.takeStream);
  executable.deviceArrays =
      !executable.device->isCpu && how.place == mlir::gpuasync::PlaceMode::Off;
  executable.takesStream = how.takeStream;
  return Error::success();
}

/// Compiles the text to all that running needs.
static Error compileProgram(Program &program, StringRef text, StringRef name,
                            const LibraryOptions &options, Libraries &libraries,
                            gpuasync_executable &executable,
                            CompiledProgram &compiled, bool &mayBeKept) {
  const CompileOptions &how = options.compile;
  if (Error error =
          program.parse(MemoryBuffer::getMemBufferCopy(text, name), name))
    return error;
  std::vector<Signature> signatures;
  const std::vector<std::string> entries = program.entryPoints();
  if (!options.donated.empty()) {
    if (entries.size() != 1)
      return createStringError(
          "option donate: its numbers are of the arguments of the only public "
          "function, but there are " +
          Twine(entries.size()) +
          "; write gpu_async.donated on the arguments in the program");
    if (Error error = program.markDonated(entries.front(), options.donated))
      return error;
  }
  for (const std::string &entry : entries) {
    Expected<Signature> signature = program.entryPoint(entry, "");
    if (!signature)
      return signature.takeError();
    signatures.push_back(std::move(*signature));
  }
  if (signatures.empty())
    return createStringError(name + ": no public function has a body");
  // Files have contents that the key does not cover.
  mayBeKept = mayBeKept && !program.linksFiles();
  if (Error error = program.schedule(how))
    return error;
  for (Signature &signature : signatures) {
    if (Error error = program.findDestinations(signature))
      return error;
    if (signature.stream && !how.takeStream)
      return createStringError(
          "@" + signature.name +
          " takes the caller's stream (gpu_async.stream) already; compile the "
          "file from before, with stream=caller if calls have one");
    if (!how.donate)
      if (Error error = Program::refuseTaken(signature))
        return error;
    executable.callables.push_back(
        describe(signature, !executable.deviceArrays));
    executable.callables.back().schedule = program.scheduleOf(signature.name);
    std::optional<CompiledFunction> kept;
    if (mayBeKept)
      kept = printSignature(signature);
    if (!kept) {
      mayBeKept = false;
      continue;
    }
    if (executable.callables.back().schedule)
      kept->schedule = executable.callables.back().schedule->toTexts();
    compiled.functions.push_back(std::move(*kept));
  }
  if (Error error = program.lower(how))
    return error;
  if (Error error = program.translate(how, signatures))
    return error;
  if (libraries.empty())
    if (Error error = libraries.open(options.sharedLibs))
      return error;
  libraries.define(options.functions);
  if (Error error = program.checkSymbols(libraries))
    return error;
  Expected<std::unique_ptr<MemoryBuffer>> object = program.makeObject();
  if (!object)
    return object.takeError();
  compiled.object = std::move(*object);
  return Error::success();
}

/// The key of a program in the disk cache. It covers the compiler's own code
/// and that of the libraries that decide about machine code: what else is
/// loaded differs between processes that embed the library.
static gpuasync_digest keyOf(StringRef kind, StringRef text, StringRef name,
                             const LibraryOptions &options) {
  gpuasync::KeyBuilder key;
  key.add("tool", "libgpuasync, LLVM " LLVM_VERSION_STRING);
  static const char anchor = 0;
  for (const void *address : {static_cast<const void *>(&anchor),
                              reinterpret_cast<const void *>(&gpuasync_launch),
                              addressInVectorMath()}) {
    key.add("library", unsigned(address != nullptr));
    if (address)
      key.addCode(address);
  }
  addMachine(key);
  key.add("name", name).add("kind", kind).add("program", text);
  addOptions(key, options.compile);
  for (unsigned number : options.donated)
    key.add("donated", number);
  return programKey(key, options.compile.targets);
}

/// Takes the program from the cache. False if it has to be compiled.
static Expected<bool> loadProgram(const gpuasync_digest &key,
                                  const LibraryOptions &options,
                                  Libraries &libraries,
                                  gpuasync_executable &executable,
                                  CompiledProgram &compiled) {
  gpuasync::DiskEntry entry;
  if (!entry.lookup(gpuasync_disk_cache_default(), key))
    return false;
  std::optional<CompiledProgram> found = fromBytes(entry.bytes());
  if (!found || found->functions.empty())
    return false;
  if (Error error = libraries.open(options.sharedLibs))
    return std::move(error);
  // The compiler can say which op it is that calls what does not exist.
  if (!LinkedProgram::canLink(*found->object, libraries))
    return false;
  mlir::MLIRContext types(mlir::MLIRContext::Threading::DISABLED);
  std::vector<Callable> callables;
  for (const CompiledFunction &function : found->functions) {
    std::optional<Signature> signature = parseSignature(types, function);
    if (!signature)
      return false;
    callables.push_back(describe(*signature, !executable.deviceArrays));
    if (function.schedule.empty())
      continue;
    callables.back().schedule =
        mlir::gpuasync::Schedule::fromTexts(function.schedule);
    if (!callables.back().schedule)
      return false;
  }
  executable.callables = std::move(callables);
  compiled = std::move(*found);
  return true;
}

static Error linkProgram(const CompiledProgram &compiled,
                         const Libraries &libraries,
                         gpuasync_executable &executable) {
  if (Error error = executable.linked.link(*compiled.object, libraries))
    return error;
  for (Callable &callable : executable.callables) {
    Expected<PackedFunction> function = executable.linked.lookup(callable.name);
    if (!function)
      return function.takeError();
    callable.function = *function;
  }
  gpuasync::ContextScope scope(executable.device->context);
  if (!scope.status().ok())
    return createStringError(scope.status().message());
  executable.linked.construct();
  return Error::success();
}

namespace {
/// While one lives pthread_cancel does not end the calling thread, which reads
/// files and waits for tools: what it does cannot be unwound.
struct Uncancelled {
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); }
  Uncancelled(const Uncancelled &) = delete;
  ~Uncancelled() { pthread_setcancelstate(before, nullptr); }
  int before = PTHREAD_CANCEL_ENABLE;
};
} // namespace

/// Takes a program from the disk cache, else compiles `text`. Without a text
/// `*out` stays null if the cache has none.
static gpuasync_status *make(std::optional<StringRef> text,
                             std::optional<StringRef> source,
                             const gpuasync_compile_options *given,
                             gpuasync_executable **out, StringRef caller) {
  const Uncancelled uncancelled;
  gpuasync_compile_options how = {};
  if (given) {
    if (given->structSize < sizeof(size_t))
      return fail(GPUASYNC_INVALID_ARGUMENT,
                  caller + ": options.structSize is " +
                      Twine(given->structSize) +
                      ", not the size of the struct");
    // Every member is a word; a part of one is none.
    static_assert(sizeof(how) == 6 * sizeof(void *) &&
                  sizeof(size_t) == sizeof(void *));
    const size_t size = std::min(given->structSize, sizeof(how));
    std::memcpy(&how, given, size / sizeof(void *) * sizeof(void *));
  }
  mlir::gpuasync::initializeNativeTarget();
  Expected<LibraryOptions> options =
      parseLibraryOptions(how.options ? how.options : "");
  if (!options)
    return fail(GPUASYNC_INVALID_ARGUMENT, toString(options.takeError()));
  auto executable = std::make_unique<gpuasync_executable>();
  StringRef name = how.name ? how.name : "<program>";
  gpuasync_disk_cache *cache = gpuasync_disk_cache_default();
  // Addresses are this process's, and what is loaded has no stages to time.
  const bool cached = *gpuasync_disk_cache_folder(cache) != 0 &&
                      options->functions.empty() &&
                      options->timing == TimingMode::Off;
  // The handlers of diagnostics refer to it.
  std::unique_ptr<Program> program;
  bool isThere = false;
  Error error = [&]() -> Error {
    if (Error error =
            openFor(*options, how.device && *how.device ? how.device : "auto",
                    *executable))
      return error;
    Libraries libraries;
    CompiledProgram compiled;
    gpuasync_digest key = {};
    if (cached) {
      key = source ? keyOf("source", *source, name, *options)
                   : keyOf("text", *text, name, *options);
      Expected<bool> found =
          loadProgram(key, *options, libraries, *executable, compiled);
      if (!found)
        return found.takeError();
      isThere = *found;
    }
    if (isThere) {
      executable->said = compiled.said;
    } else if (text) {
      program = std::make_unique<Program>(/*print=*/false);
      program->timing.mode = options->timing;
      if (how.progress)
        program->timing.onStage = [&how](const std::string &stage) {
          return how.progress(how.progressData, stage.c_str()) == 0;
        };
      bool mayBeKept = cached;
      if (Error error =
              compileProgram(*program, *text, name, *options, libraries,
                             *executable, compiled, mayBeKept))
        return error;
      compiled.said = program->said();
      if (mayBeKept) {
        std::string bytes = toBytes(compiled);
        gpuasync_disk_cache_store(cache, &key, bytes.data(), bytes.size());
      }
      isThere = true;
    }
    if (!isThere)
      return Error::success();
    std::optional<Timing::Stage> linking;
    if (program) {
      linking.emplace(program->timing, "linking");
      if (Error error = program->timing.checkStopped())
        return error;
    }
    return linkProgram(compiled, libraries, *executable);
  }();
  if (program) {
    executable->said = program->said();
    executable->timing = program->timing.table();
  }
  if (error) {
    std::string message = toString(std::move(error));
    std::string said = StringRef(executable->said).rtrim().str();
    if (!message.empty() && !said.empty())
      message += "; ";
    message += said;
    return fail(GPUASYNC_INVALID_ARGUMENT, message.empty()
                                               ? name + ": cannot be compiled"
                                               : Twine(message));
  }
  if (isThere)
    *out = executable.release();
  return nullptr;
}

gpuasync_status *gpuasync_compile(const void *mlir, size_t size,
                                  const gpuasync_compile_options *given,
                                  gpuasync_executable **out) noexcept {
  if (!out)
    return fail(GPUASYNC_INVALID_ARGUMENT, "gpuasync_compile: `out` is null");
  *out = nullptr;
  if (!mlir)
    return fail(GPUASYNC_INVALID_ARGUMENT, "gpuasync_compile: `mlir` is null");
  return make(StringRef(static_cast<const char *>(mlir), size), std::nullopt,
              given, out, "gpuasync_compile");
}

gpuasync_status *gpuasync_compile_source(const void *mlir, size_t size,
                                         const void *source, size_t sourceSize,
                                         const gpuasync_compile_options *given,
                                         gpuasync_executable **out) noexcept {
  if (!out)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_compile_source: `out` is null");
  *out = nullptr;
  if (!mlir || !source)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_compile_source: `mlir` or `source` is null");
  return make(StringRef(static_cast<const char *>(mlir), size),
              StringRef(static_cast<const char *>(source), sourceSize), given,
              out, "gpuasync_compile_source");
}

gpuasync_status *gpuasync_executable_load(const void *source, size_t sourceSize,
                                          const gpuasync_compile_options *given,
                                          gpuasync_executable **out) noexcept {
  if (!out)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_executable_load: `out` is null");
  *out = nullptr;
  if (!source)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_executable_load: `source` is null");
  return make(std::nullopt,
              StringRef(static_cast<const char *>(source), sourceSize), given,
              out, "gpuasync_executable_load");
}

static gpuasync_status *release(gpuasync_executable *executable) {
  if (!executable ||
      executable->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return nullptr;
  gpuasync::Status status = [&] {
    gpuasync::ContextScope scope(executable->device->context);
    return executable->linked.release();
  }();
  // After an error it may still run: its code stays.
  if (status.ok())
    delete executable;
  return status.release();
}

gpuasync_status *
gpuasync_executable_release(gpuasync_executable *executable) noexcept {
  return release(executable);
}

const char *gpuasync_executable_diagnostics(
    const gpuasync_executable *executable) noexcept {
  return executable ? executable->said.c_str() : "";
}

const char *
gpuasync_executable_timing(const gpuasync_executable *executable) noexcept {
  return executable ? executable->timing.c_str() : "";
}

const char *
gpuasync_executable_device(const gpuasync_executable *executable) noexcept {
  return executable ? gpuasync_context_device(executable->device->context.get())
                    : "";
}

int32_t gpuasync_executable_keeps_arrays(
    const gpuasync_executable *executable) noexcept {
  return executable && executable->keepsArrays;
}

gpuasync_status *
gpuasync_executable_queue(const gpuasync_executable *executable,
                          void **out) noexcept {
  if (!executable || !out)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_executable_queue: the executable or `out` is null");
  *out = nullptr;
  if (!executable->keepsArrays)
    return fail(GPUASYNC_UNSUPPORTED,
                "gpuasync_executable_queue: results do not stay on the device; "
                "compile with place=device, for a device with memory of its "
                "own");
  return executable->device->queue->open(*out).release();
}

gpuasync_context *
gpuasync_executable_context(const gpuasync_executable *executable) noexcept {
  return executable ? executable->device->context.get() : nullptr;
}

const char *
gpuasync_executable_function_name(const gpuasync_executable *executable,
                                  size_t index) noexcept {
  return executable && index < executable->callables.size()
             ? executable->callables[index].name.c_str()
             : nullptr;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A function, also one that cannot be called from here.
static gpuasync_status *find(const gpuasync_executable *executable,
                             const char *name, const Callable *&out) {
  if (!executable || !name)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "lookup: the executable or the name is null");
  for (const Callable &callable : executable->callables) {
    if (callable.name != name)
      continue;
    out = &callable;
    return nullptr;
  }
  std::string names;
  for (const Callable &callable : executable->callables)
    names += (names.empty() ? "@" : ", @") + callable.name;
  return fail(GPUASYNC_NOT_FOUND,
              Twine("there is no function @") + name + "; there are " + names);
}

static gpuasync_status *findToCall(const gpuasync_executable *executable,
                                   const char *name, const Callable *&out) {
  if (gpuasync_status *status = find(executable, name, out))
    return status;
  return out->unsupported.empty()
             ? nullptr
             : fail(GPUASYNC_UNSUPPORTED,
                    "@" + out->name + ": " + out->unsupported);
}

gpuasync_status *gpuasync_executable_lookup(gpuasync_executable *executable,
                                            const char *name,
                                            gpuasync_callable **out) noexcept {
  if (!out)
    return fail(GPUASYNC_INVALID_ARGUMENT, "lookup: `out` is null");
  *out = nullptr;
  const Callable *callable = nullptr;
  if (gpuasync_status *status = findToCall(executable, name, callable))
    return status;
  executable->references.fetch_add(1, std::memory_order_relaxed);
  *out = new gpuasync_callable{executable, callable};
  return nullptr;
}

gpuasync_status *
gpuasync_callable_release(gpuasync_callable *callable) noexcept {
  if (!callable)
    return nullptr;
  gpuasync_executable *executable = callable->executable;
  delete callable;
  return release(executable);
}

size_t
gpuasync_callable_argument_count(const gpuasync_callable *callable) noexcept {
  return callable ? callable->callable->arguments.size() : 0;
}

size_t
gpuasync_callable_result_count(const gpuasync_callable *callable) noexcept {
  return callable ? callable->callable->results.size() : 0;
}

static gpuasync_status *describeTo(const std::vector<Parameter> &list,
                                   size_t index, bool byDestination,
                                   gpuasync_parameter *out) {
  if (!out || out->structSize < sizeof(size_t))
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_parameter: null, or its structSize is not set");
  if (index >= list.size())
    return fail(GPUASYNC_INVALID_ARGUMENT, "there is no number " +
                                               Twine(index) + ": there are " +
                                               Twine(list.size()));
  const Parameter &from = list[index];
  gpuasync_parameter parameter = {};
  parameter.structSize = out->structSize;
  parameter.kind = from.kind;
  parameter.type = from.type;
  parameter.rank = from.rank;
  parameter.byDestination = byDestination;
  for (auto [i, size] : enumerate(from.shape))
    parameter.shape[i] =
        mlir::ShapedType::isDynamic(size) ? GPUASYNC_DYNAMIC : size;
  parameter.text = from.text.c_str();
  parameter.donated = from.donated;
  parameter.taken = from.takenBy >= 0;
  std::memcpy(out, &parameter, std::min(out->structSize, sizeof(parameter)));
  return nullptr;
}

gpuasync_status *gpuasync_callable_argument(const gpuasync_callable *callable,
                                            size_t index,
                                            gpuasync_parameter *out) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  return describeTo(callable->callable->arguments, index, false, out);
}

gpuasync_status *gpuasync_callable_result(const gpuasync_callable *callable,
                                          size_t index,
                                          gpuasync_parameter *out) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  const Callable &function = *callable->callable;
  return describeTo(function.results, index,
                    index < function.results.size() &&
                        (function.destinations[index] >= 0 ||
                         function.results[index].kind == GPUASYNC_KIND_NUMBER),
                    out);
}

static gpuasync_status *draw(const Callable &callable, const char *word,
                             char **out) {
  std::optional<ScheduleFormat> format =
      mlir::gpuasync::parseWord<ScheduleFormat>(word ? word : "");
  if (!format)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                Twine("schedule: expected a format, one of ") +
                    mlir::gpuasync::listWords<ScheduleFormat>() + ", not " +
                    (word ? "'" + Twine(word) + "'" : Twine("null")));
  if (!callable.schedule)
    return fail(GPUASYNC_UNSUPPORTED,
                "@" + callable.name +
                    " has no schedule: the program was lowered already; "
                    "compile the file from before");
  std::string text;
  raw_string_ostream os(text);
  callable.schedule->print(os, *format);
  *out = strdup(text.c_str());
  return *out ? nullptr
              : fail(GPUASYNC_OUT_OF_MEMORY,
                     "@" + callable.name + ": no memory for its schedule");
}

gpuasync_status *
gpuasync_executable_schedule(const gpuasync_executable *executable,
                             const char *function, const char *format,
                             char **out) noexcept {
  if (!out)
    return fail(GPUASYNC_INVALID_ARGUMENT, "schedule: `out` is null");
  *out = nullptr;
  const Callable *callable = nullptr;
  if (gpuasync_status *status = find(executable, function, callable))
    return status;
  return draw(*callable, format, out);
}

gpuasync_status *gpuasync_callable_schedule(const gpuasync_callable *callable,
                                            const char *format,
                                            char **out) noexcept {
  if (!out)
    return fail(GPUASYNC_INVALID_ARGUMENT, "schedule: `out` is null");
  *out = nullptr;
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  return draw(*callable->callable, format, out);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

gpuasync_value gpuasync_value_make(void *data, uint32_t type, uint32_t rank,
                                   const int64_t *shape) noexcept {
  gpuasync_value value = {};
  value.data = data;
  value.type = type;
  value.rank = rank;
  value.device = GPUASYNC_HOST;
  if (!shape || rank > GPUASYNC_MAX_RANK)
    return value;
  uint64_t stride = 1;
  for (uint32_t i = rank; i-- > 0;) {
    value.shape[i] = shape[i];
    value.strides[i] = int64_t(stride);
    stride *= uint64_t(std::max<int64_t>(shape[i], 1));
  }
  return value;
}

void gpuasync_value_release(gpuasync_value *value) noexcept {
  if (!value)
    return;
  if (DeviceArray *array = DeviceArray::of(*value)) {
    delete array;
    *value = gpuasync_value();
    return;
  }
  // Another result may be allocated here, of which a device has no copy.
  if (value->owner)
    gpuasync_host_memory_changed(value->owner,
                                 malloc_usable_size(value->owner));
  std::free(value->owner);
  *value = gpuasync_value();
}

gpuasync_status *gpuasync_value_wait(const gpuasync_value *value) noexcept {
  if (!value)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_value_wait: the value is null");
  if (DeviceArray *array = DeviceArray::of(*value))
    return array->wait().release();
  if (value->device == GPUASYNC_HOST)
    return nullptr;
  // Memory of the caller's may be that of an array. Of other memory nobody
  // knows which call writes it.
  if (ReadyRef ready = DeviceArray::find(value->data).ready)
    return ready->wait().release();
  return waitForQueues(value->device).release();
}

gpuasync_status *gpuasync_queues_wait(void) noexcept {
  return waitForQueues(GPUASYNC_HOST).release();
}

gpuasync_status *gpuasync_value_download(const gpuasync_value *value,
                                         void *data) noexcept {
  DeviceArray *array = value ? DeviceArray::of(*value) : nullptr;
  if (!array)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_value_download: the value is no result that the "
                "library keeps on a device");
  uint64_t bytes = bytesOf(value->type);
  for (uint32_t i = 0; i < value->rank; ++i)
    bytes *= uint64_t(value->shape[i]);
  if (bytes && !data)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_value_download: `data` is null");
  return array->download(value->data, data, bytes).release();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

/// The bytes that an array lies in; without elements none, where it begins.
struct Range {
  uintptr_t begin = 0, end = 0;
  bool overlaps(const Range &other) const {
    return begin < end && other.begin < other.end && begin < other.end &&
           other.begin < end;
  }
};

/// Memory of results that nobody got, since their calls gave up: the work of
/// these calls may still write it. A later call frees it. Thread safe, never
/// destroyed.
class AbandonedResults {
public:
  static AbandonedResults &get() {
    static auto *results = new AbandonedResults;
    return *results;
  }
  /// Takes the memory over, whether anything writes it or not.
  void add(const std::shared_ptr<SharedDevice> &device,
           ArrayRef<void *> memory) {
    std::lock_guard<std::mutex> lock(mutex);
    entries.push_back({device, {memory.begin(), memory.end()}});
    count.store(entries.size(), std::memory_order_relaxed);
  }
  /// Frees what is free. Waits for nothing.
  void reap() {
    if (!count.load(std::memory_order_relaxed))
      return;
    std::vector<Entry> done; // gives devices back without the lock
    std::lock_guard<std::mutex> lock(mutex);
    for (size_t i = 0; i < entries.size();) {
      if (!gpuasync::Status(gpuasync_context_wait_abandoned(
                                entries[i].device->context.get(), 0))
               .ok()) {
        ++i;
        continue;
      }
      for (void *memory : entries[i].memory)
        std::free(memory);
      done.push_back(std::move(entries[i]));
      entries[i] = std::move(entries.back());
      entries.pop_back();
    }
    count.store(entries.size(), std::memory_order_relaxed);
  }

private:
  struct Entry {
    std::shared_ptr<SharedDevice> device;
    std::vector<void *> memory;
  };
  std::atomic<size_t> count{0};
  std::mutex mutex;
  std::vector<Entry> entries;
};

/// One call's checks and packed list.
class Call {
public:
  Call(const gpuasync_executable &executable, const Callable &function)
      : executable(executable), function(function) {
    AbandonedResults::get().reap();
  }
  /// Results that the caller did not get go, or stay as long as they are
  /// written.
  ~Call() {
    if (allocated.empty())
      return;
    AbandonedResults::get().add(executable.device, allocated);
    AbandonedResults::get().reap();
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  /// Before any run: these arguments of it are given up, where they are
  /// donated.
  void donate(gpuasync_value *arguments) { given = arguments; }
  /// `stream` is the caller's, of functions that take one.
  gpuasync_status *run(void *stream, const gpuasync_value *arguments,
                       size_t argumentCount, gpuasync_value *results,
                       size_t resultCount);
  /// The same, ordered into the caller's stream.
  gpuasync_status *runOn(void *stream, const gpuasync_value *arguments,
                         size_t argumentCount, gpuasync_value *results,
                         size_t resultCount);
  /// The same, and waits.
  gpuasync_status *runAndWait(const gpuasync_value *arguments,
                              size_t argumentCount, gpuasync_value *results,
                              size_t resultCount);
  /// The same in the device's own order, of executables that keep arrays there:
  /// host arrays are uploaded, and results stay. With `waits` the work is done
  /// when it returns.
  gpuasync_status *runOnQueue(const gpuasync_value *arguments,
                              size_t argumentCount, gpuasync_value *results,
                              size_t resultCount, bool waits);

private:
  /// Of a call that is over.
  gpuasync_status *finish(gpuasync::Status status) {
    if (status.ok())
      allocated.clear(); // the caller's
    return status.release();
  }
  gpuasync_status *refuse(const char *what, size_t index,
                          const Parameter &parameter, const Twine &why);
  gpuasync_status *check(const char *what, size_t index,
                         const Parameter &parameter,
                         const gpuasync_value &value, Range &range);
  gpuasync_status *checkSizes(const gpuasync_value *arguments);
  int64_t *describeArray(const Parameter &parameter,
                         const gpuasync_value &value);
  void announce(const Parameter &parameter, const Range &range);
  gpuasync_status *useArray(const char *what, size_t index,
                            const Parameter &parameter,
                            const gpuasync_value &value, bool isWritten);
  gpuasync_status *awaitArrays(void *stream);
  gpuasync_status *prepareArrays(size_t count);
  gpuasync_status *makeDeviceMemory(MutableArrayRef<gpuasync_value> arguments,
                                    ArrayRef<gpuasync_value> results);
  gpuasync::Status placeOnDevice(ArrayRef<gpuasync_value> arguments,
                                 ArrayRef<gpuasync_value> results);
  gpuasync::Status endOnQueue(bool failed);
  void freeOnQueue();
  gpuasync_status *findTaken(const gpuasync_value *results);
  gpuasync_status *makeHostMemory(MutableArrayRef<gpuasync_value> arguments,
                                  ArrayRef<gpuasync_value> results);
  void takeOver();
  gpuasync_status *checkResult(size_t index, const gpuasync_value &result);
  gpuasync_status *prepareResult(size_t index, gpuasync_value &result);
  void readResult(size_t index, gpuasync_value &result);

  const gpuasync_executable &executable;
  const Callable &function;
  SmallVector<int64_t, 128> words;
  int64_t *next = nullptr;
  SmallVector<void *, 24> packed;
  SmallVector<int64_t, 32> storage;
  SmallVector<Range, 16> ranges;
  SmallVector<gpuasync_call_array, 16> arrays; ///< for the runtime
  SmallVector<void *, 4> allocated; ///< for results; the caller's in the end
  //===--- Arrays on the device
  SmallVector<ReadyRef, 8> used;        ///< when those it is given are there
  SmallVector<const void *, 4> written; ///< memory there that it may write
  ReadyRef ready;                       ///< when its own work has ended
  bool isOrdered = false;               ///< into a caller's stream
  bool isBehindQueue = false;           ///< and that is behind the queue
  DeviceQueue *queue = nullptr;         ///< of a call in the device's order
  /// On the device: copies of arguments, and by index what results get.
  SmallVector<void *, 8> uploads, kept;
  SmallVector<std::unique_ptr<DeviceArray>, 4> made; ///< for these
  bool isReadLater = false;        ///< an argument, by what is enqueued
  bool isPlaced = false;           ///< uploads and results are there
  gpuasync_value *given = nullptr; ///< arguments that are given up
  /// By index, of results that take an argument's memory: whether the argument
  /// is given up, else its elements are copied; and on the host that memory.
  SmallVector<bool, 4> taken;
  SmallVector<void *, 4> takenOnHost;
  bool isTaken(size_t result) const {
    return result < taken.size() && taken[result];
  }
  /// Where a result is on the device.
  void *getPlaceOf(size_t result, ArrayRef<gpuasync_value> results) const {
    return results[result].data ? results[result].data : kept[result];
  }
};

} // namespace

gpuasync_status *Call::refuse(const char *what, size_t index,
                              const Parameter &parameter, const Twine &why) {
  return fail(GPUASYNC_INVALID_ARGUMENT,
              "@" + Twine(function.name) + ": " + what + " " + Twine(index) +
                  " of " + parameter.text + ": " + why);
}

/// Whether it is an array without elements.
static bool isEmpty(const gpuasync_value &value) {
  return is_contained(ArrayRef(value.shape, value.rank), 0);
}

gpuasync_status *Call::check(const char *what, size_t index,
                             const Parameter &parameter,
                             const gpuasync_value &value, Range &range) {
  if (value.type != parameter.type &&
      withoutSign(value.type) != withoutSign(parameter.type))
    return refuse(what, index, parameter,
                  "given " + typeName(value.type) + ", expected " +
                      typeName(parameter.type));
  if (value.rank != parameter.rank)
    return refuse(what, index, parameter,
                  "given " + Twine(value.rank) + " dimensions, expected " +
                      Twine(parameter.rank));
  // All sizes before any stride: a view of the wrong size is not to be copied.
  for (uint32_t i = parameter.rank; i-- > 0;) {
    int64_t size = value.shape[i];
    bool isOpen = mlir::ShapedType::isDynamic(parameter.shape[i]);
    if (isOpen ? size < 0 : size != parameter.shape[i])
      return refuse(what, index, parameter,
                    "given the size " + Twine(size) + " in dimension " +
                        Twine(i) + ", expected " +
                        (isOpen ? "0 or more" : Twine(parameter.shape[i])));
  }
  int64_t expected = 1, low = 0, high = 0;
  bool empty = isEmpty(value), wraps = false;
  for (uint32_t i = parameter.rank; i-- > 0;) {
    int64_t size = value.shape[i], stride = empty ? 0 : value.strides[i];
    int64_t wanted =
        parameter.strides.empty() ? expected : parameter.strides[i];
    // Strides lead to no element where there is one or, in any dimension, none.
    if (!mlir::ShapedType::isDynamic(wanted) && stride != wanted && size > 1 &&
        !empty)
      return refuse(what, index, parameter,
                    "given the stride " + Twine(stride) + " in dimension " +
                        Twine(i) + ", expected " + Twine(wanted));
    int64_t span;
    wraps |=
        MulOverflow(std::max<int64_t>(size, 1) - 1, stride, span) ||
        AddOverflow(stride < 0 ? low : high, span, stride < 0 ? low : high) ||
        MulOverflow(expected, std::max<int64_t>(size, 1), expected);
  }
  int64_t first, last;
  wraps |= MulOverflow<int64_t>(low, parameter.bytes, first) ||
           MulOverflow<int64_t>(high, parameter.bytes, last) ||
           expected > (int64_t(1) << 46);
  if (wraps)
    return refuse(what, index, parameter, "such sizes fit in no memory");
  if (!value.data && !empty)
    return refuse(what, index, parameter, "its data is null");
  auto address = reinterpret_cast<uintptr_t>(value.data);
  if (parameter.kind != GPUASYNC_KIND_NUMBER) {
    // A complex number is two others.
    const bool isPair = parameter.type == GPUASYNC_TYPE_C64 ||
                        parameter.type == GPUASYNC_TYPE_C128;
    if (address % (isPair || parameter.bytes >= 16 ? parameter.bytes / 2
                                                   : parameter.bytes))
      return refuse(what, index, parameter,
                    "its data is at an address that is not a multiple of the "
                    "element's size");
    bool isWritten =
        parameter.kind == GPUASYNC_KIND_MEMREF || what == StringRef("result");
    if (isWritten && (value.flags & GPUASYNC_READ_ONLY))
      return refuse(what, index, parameter,
                    "the function may write it, but the array is read-only; "
                    "pass a copy");
    bool onDevice = value.device != GPUASYNC_HOST;
    if (value.device < GPUASYNC_HOST ||
        (onDevice && value.device != executable.device->ordinal))
      return refuse(
          what, index, parameter,
          "given on device " + Twine(value.device) +
              ", but the executable is on " +
              gpuasync_context_device(executable.device->context.get()));
    if (executable.keepsArrays && parameter.kind == GPUASYNC_KIND_MEMREF &&
        !onDevice)
      return refuse(what, index, parameter,
                    "given in host memory, which place=device does not write; "
                    "pass an array on the device, or compile with place=copy");
    // The cpu device reaches all. Memrefs may be either: the program knows.
    const bool isUploaded = queue && !onDevice && what == StringRef("argument");
    if (!executable.device->isCpu && parameter.kind == GPUASYNC_KIND_TENSOR &&
        onDevice != executable.deviceArrays && !isUploaded)
      return refuse(what, index, parameter,
                    onDevice ? "given on the device; compile with place=off "
                               "for arrays that are there"
                    : executable.keepsArrays
                        ? "given in host memory, but place=device has results "
                          "and, on a caller's stream, arguments on the device"
                        : "given in host memory, but place=off says that "
                          "arrays are on the device");
    if (onDevice && !empty)
      if (gpuasync_status *status =
              useArray(what, index, parameter, value, isWritten))
        return status;
  }
  range = empty ? Range{address, address}
                : Range{address + uintptr_t(first),
                        address + uintptr_t(last) + parameter.bytes};
  return nullptr;
}

/// Finds the array that a value on the device lies in, if it is ours.
gpuasync_status *Call::useArray(const char *what, size_t index,
                                const Parameter &parameter,
                                const gpuasync_value &value, bool isWritten) {
  DeviceArray::Found found = DeviceArray::find(value.data);
  const bool isGone = value.owner && what == StringRef("argument") &&
                      found.array != value.owner;
  if (isGone || (found.array && found.queue != executable.device->queue.get()))
    return refuse(
        what, index, parameter,
        "the array is not in the context of the executable, " +
            Twine(gpuasync_context_device(executable.device->context.get())) +
            ": it is another device's, or its context was closed; "
            "copy it to the host before, and pass that");
  if (found.array)
    used.push_back(std::move(found.ready));
  if (isWritten)
    written.push_back(value.data);
  return nullptr;
}

int64_t *Call::describeArray(const Parameter &parameter,
                             const gpuasync_value &value) {
  int64_t *descriptor = next;
  auto aligned = reinterpret_cast<int64_t>(value.data) -
                 parameter.offset * int64_t(parameter.bytes);
  descriptor[0] = descriptor[1] = aligned;
  descriptor[2] = parameter.offset;
  // The caller may have any strides for no elements; the program, which copies
  // and compares them too, has those that its type says, or of row-major order.
  bool empty = isEmpty(value);
  uint64_t rowMajor = 1;
  for (uint32_t i = parameter.rank; i-- > 0;) {
    int64_t stride = value.strides[i];
    if (empty)
      stride = parameter.strides.empty() ||
                       mlir::ShapedType::isDynamic(parameter.strides[i])
                   ? int64_t(rowMajor)
                   : parameter.strides[i];
    descriptor[3 + i] = value.shape[i];
    descriptor[3 + parameter.rank + i] = stride;
    rowMajor *= uint64_t(std::max<int64_t>(value.shape[i], 1));
  }
  next += 3 + 2 * parameter.rank;
  return descriptor;
}

/// Says where an array ends that the program is given.
void Call::announce(const Parameter &parameter, const Range &range) {
  if (parameter.kind != GPUASYNC_KIND_NUMBER)
    arrays.push_back({reinterpret_cast<const void *>(range.begin),
                      range.end - range.begin, parameter.what.c_str()});
}

gpuasync_status *Call::checkSizes(const gpuasync_value *arguments) {
  for (const SizeRule &rule : function.sizeRules) {
    int64_t size = arguments[rule.argument].shape[rule.dimension];
    int64_t wanted =
        rule.other < 0 ? rule.size : arguments[rule.other].shape[rule.size];
    if (size != wanted)
      return refuse(
          "argument", rule.argument, function.arguments[rule.argument],
          "given the size " + Twine(size) + " in dimension " +
              Twine(rule.dimension) + ", but " + rule.op + " needs " +
              Twine(wanted) +
              (rule.other < 0 ? Twine("")
                              : ", as in dimension " + Twine(rule.size) +
                                    " of argument " + Twine(rule.other)));
  }
  return nullptr;
}

/// The bytes of a parameter of constant sizes.
static uint64_t countBytes(const Parameter &parameter) {
  uint64_t bytes = parameter.bytes;
  for (int64_t size : parameter.shape)
    bytes *= uint64_t(size);
  return bytes;
}

/// Copies an argument of the host's to the device. The runtime has read
/// pageable memory when it returns, but not what a caller has pinned. True if
/// that may be read later.
static bool upload(gpuasync_frame *frame, gpuasync_stream *stream, void *to,
                   const void *from, uint64_t bytes) {
  constexpr uint64_t mostCopied = 16 << 20;
  if (!bytes)
    return false;
  void *copy = bytes <= mostCopied ? std::malloc(bytes) : nullptr;
  if (copy)
    std::memcpy(copy, from, bytes);
  gpuasync_memcpy(frame, stream, to, copy ? copy : from, bytes,
                  GPUASYNC_NO_SITE);
  std::free(copy);
  return !copy;
}

/// The error of a call, `status`, and of the wait for its work.
static gpuasync::Status join(gpuasync::Status status,
                             gpuasync::Status awaited) {
  if (awaited.code() == GPUASYNC_TIMEOUT)
    return gpuasync::Status(fail(
        status.ok() ? awaited.code() : status.code(),
        Twine(status.message()) + (status.ok() ? "" : "; ") +
            awaited.message() +
            "; that work still uses the memory of the call, so wait for it "
            "before you free any "
            "(gpuasync_context_wait_abandoned; in Python ga.wait_abandoned)"));
  return status.ok() ? std::move(awaited) : std::move(status);
}

/// Before the work of a call that is not on the queue: waits for the arrays
/// that it uses there, or puts the caller's stream behind the queue.
gpuasync_status *Call::awaitArrays(void *stream) {
  DeviceQueue &arrays = *executable.device->queue;
  if (gpuasync_status *status = prepareArrays(0))
    return status;
  if (isOrdered) {
    gpuasync::Status status = arrays.orderBefore(stream);
    isBehindQueue = status.ok();
    // A graph holds nothing of the queue: the host waits.
    if (status.code() != GPUASYNC_UNSUPPORTED)
      return status.release();
  }
  for (const ReadyRef &each : used)
    if (gpuasync::Status status = each->wait(); !status.ok())
      return status.release();
  if (written.empty())
    return nullptr;
  // Earlier calls may still read what this one writes.
  gpuasync::Status status = arrays.mark(*ready);
  return status.ok() ? ready->wait().release() : status.release();
}

/// Allocates on the host what the end of the call needs, when nothing of it is
/// enqueued yet.
gpuasync_status *Call::prepareArrays(size_t count) {
  const std::shared_ptr<SharedDevice> &device = executable.device;
  ready = ReadyRef(new (std::nothrow) Ready(*device->queue));
  bool isMade = ready.get();
  for (size_t i = 0; i < count && isMade; ++i) {
    made.emplace_back(new (std::nothrow) DeviceArray(
        std::shared_ptr<DeviceQueue>(device, device->queue.get())));
    isMade = made.back().get();
  }
  return isMade ? nullptr
                : fail(GPUASYNC_OUT_OF_MEMORY,
                       "@" + Twine(function.name) +
                           ": no host memory for its arrays");
}

/// Allocates what arguments on the host and results get, and copies the
/// arguments, in one frame: after an error there is nothing.
gpuasync::Status Call::placeOnDevice(ArrayRef<gpuasync_value> arguments,
                                     ArrayRef<gpuasync_value> results) {
  uploads.clear();
  kept.assign(results.size(), nullptr);
  gpuasync::Status status =
      queue->run([&](gpuasync_frame *frame, gpuasync_stream *stream) {
        for (auto [index, parameter] : enumerate(function.results))
          if (isTaken(index))
            kept[index] = given[function.takes[index]].data;
          else if (function.destinations[index] >= 0 && !results[index].data)
            kept[index] = gpuasync_alloc(
                frame, stream, std::max<uint64_t>(countBytes(parameter), 1),
                GPUASYNC_ALLOC_DEVICE, GPUASYNC_NO_SITE);
        for (auto [parameter, value, range] :
             zip(function.arguments, arguments, ranges)) {
          const bool onHost = value.device == GPUASYNC_HOST;
          if (parameter.kind != GPUASYNC_KIND_TENSOR ||
              isTaken(parameter.takenBy) || (parameter.takenBy < 0 && !onHost))
            continue;
          const uint64_t bytes = range.end - range.begin;
          if (parameter.takenBy >= 0) {
            // The elements go where the result is computed of them.
            void *to = getPlaceOf(parameter.takenBy, results);
            if (to && onHost)
              isReadLater |= upload(frame, stream, to, value.data, bytes);
            else if (to)
              gpuasync_memcpy(frame, stream, to, value.data, bytes,
                              GPUASYNC_NO_SITE);
            continue;
          }
          // Nothing has no address.
          void *copy =
              gpuasync_alloc(frame, stream, std::max<uint64_t>(bytes, 1),
                             GPUASYNC_ALLOC_DEVICE, GPUASYNC_NO_SITE);
          if (copy)
            isReadLater |= upload(frame, stream, copy, value.data, bytes);
          uploads.push_back(copy);
        }
      });
  if (status.ok())
    return status;
  uploads.clear(); // the frame has freed it
  kept.clear();
  return status;
}

/// Uploads the tensors that are on the host, and allocates what results get.
gpuasync_status *
Call::makeDeviceMemory(MutableArrayRef<gpuasync_value> arguments,
                       ArrayRef<gpuasync_value> results) {
  if (gpuasync_status *status = prepareArrays(results.size()))
    return status;
  gpuasync::Status status = placeOnDevice(arguments, results);
  // Memory that earlier calls free is there once these have ended.
  if (status.code() == GPUASYNC_OUT_OF_MEMORY && queue->wait().ok())
    status = placeOnDevice(arguments, results);
  // The arguments are the caller's again when the call returns.
  if (isReadLater) {
    gpuasync::Status read = queue->finish(nullptr);
    if (status.ok() || read.code() == GPUASYNC_TIMEOUT)
      status = join(std::move(status), std::move(read));
  }
  if (!status.ok()) {
    freeOnQueue();
    return fail(status.code(), "@" + Twine(function.name) +
                                   ": device memory for its arguments and "
                                   "results: " +
                                   status.message());
  }
  isPlaced = true;
  const void *const *copy = uploads.begin();
  for (auto [parameter, value, range] :
       zip(function.arguments, arguments, ranges)) {
    const bool onHost = value.device == GPUASYNC_HOST;
    if (parameter.kind != GPUASYNC_KIND_TENSOR || isTaken(parameter.takenBy) ||
        (parameter.takenBy < 0 && !onHost))
      continue;
    const uint64_t bytes = range.end - range.begin;
    value.data = parameter.takenBy < 0 ? const_cast<void *>(*copy++)
                                       : getPlaceOf(parameter.takenBy, results);
    value.device = queue->getOrdinal();
    range.begin = reinterpret_cast<uintptr_t>(value.data);
    range.end = range.begin + bytes;
  }
  return nullptr;
}

/// Frees what a call that failed has left of its memory on the device.
void Call::freeOnQueue() {
  // Memory that was to be taken, and is not yet, is the caller's.
  for (auto [index, memory] : enumerate(kept))
    if (memory && !isTaken(index))
      uploads.push_back(memory);
  queue->free(uploads);
  uploads.clear();
  kept.clear();
}

/// Says when the results are there, and what the function has written, and
/// frees what it alone had on the device. Also after an error of the function.
gpuasync::Status Call::endOnQueue(bool failed) {
  std::unique_lock<std::mutex> lock(queue->renewal, std::defer_lock);
  if (!written.empty())
    lock.lock();
  // A function that failed may have abandoned work that uses them.
  gpuasync::Status status =
      failed ? queue->mark(*ready) : queue->mark(*ready, uploads);
  if (!written.empty() && status.ok())
    DeviceArray::renew(written, ready);
  return status;
}

/// Finds out which donated arguments the call takes over.
gpuasync_status *Call::findTaken(const gpuasync_value *results) {
  if (!given || !function.takesAny)
    return nullptr;
  taken.assign(function.results.size(), false);
  for (auto [result, number] : enumerate(function.takes)) {
    if (number < 0 || results[result].data || !given[number].owner)
      continue;
    const gpuasync_value &value = given[number];
    DeviceArray *array = DeviceArray::of(value);
    taken[result] = queue ? array && array->isWhole(value.data, queue)
                          : value.device == GPUASYNC_HOST &&
                                value.data == value.owner &&
                                !(value.flags & GPUASYNC_READ_ONLY);
    if (!taken[result])
      continue;
    for (auto [other, range] : enumerate(ranges))
      if (int64_t(other) != number && range.overlaps(ranges[number]))
        return refuse("argument", number, function.arguments[number],
                      "it is donated, but argument " + Twine(other) +
                          " is the same memory; pass a copy of one of them");
  }
  return nullptr;
}

/// On the host, puts arguments where the results are computed of them.
gpuasync_status *Call::makeHostMemory(MutableArrayRef<gpuasync_value> arguments,
                                      ArrayRef<gpuasync_value> results) {
  takenOnHost.assign(results.size(), nullptr);
  for (auto [result, number] : enumerate(function.takes)) {
    if (number < 0)
      continue;
    gpuasync_value &value = arguments[number];
    void *memory = value.data;
    if (!isTaken(result)) {
      const Parameter &parameter = function.results[result];
      const uint64_t bytes = countBytes(parameter);
      memory = results[result].data;
      if (!memory) {
        memory = std::aligned_alloc(64, alignTo(bytes, 64));
        if (!memory)
          return fail(GPUASYNC_OUT_OF_MEMORY,
                      "@" + Twine(function.name) +
                          ": no host memory for result " + Twine(result) +
                          " of " + parameter.text);
        allocated.push_back(memory);
      }
      std::memcpy(memory, value.data, bytes);
      ranges[number] = {reinterpret_cast<uintptr_t>(memory),
                        reinterpret_cast<uintptr_t>(memory) + bytes};
      value.data = memory;
    }
    takenOnHost[result] = memory;
  }
  return nullptr;
}

/// Takes over the memory of donated arguments. The program is about to begin.
void Call::takeOver() {
  for (auto [result, number] : enumerate(function.takes)) {
    if (!isTaken(result))
      continue;
    gpuasync_value &value = given[number];
    if (DeviceArray *array = DeviceArray::of(value)) {
      (void)array->release();
      delete array;
    } else {
      allocated.push_back(value.owner);
    }
    value.owner = value.data = nullptr;
  }
  taken.clear();
}

/// Checks the memory that the caller has for a result.
gpuasync_status *Call::checkResult(size_t index, const gpuasync_value &result) {
  if (!result.data)
    return nullptr;
  const Parameter &parameter = function.results[index];
  if (function.destinations[index] < 0 &&
      parameter.kind != GPUASYNC_KIND_NUMBER)
    return refuse("result", index, parameter,
                  "given memory, but the function returns its own; leave "
                  "data null");
  Range range;
  if (gpuasync_status *status =
          check("result", index, parameter, result, range))
    return status;
  for (const Range &other : ranges)
    if (range.overlaps(other))
      return refuse("result", index, parameter,
                    "its memory is that of an argument or another result");
  ranges.push_back(range);
  return nullptr;
}

/// Finds or makes the memory of a result by destination.
gpuasync_status *Call::prepareResult(size_t index, gpuasync_value &result) {
  const Parameter &parameter = function.results[index];
  int64_t destination = function.destinations[index];
  gpuasync_value value = result;
  Range range;
  if (result.data) {
    range.begin = reinterpret_cast<uintptr_t>(result.data);
    range.end = range.begin + (isEmpty(result) ? 0 : countBytes(parameter));
  } else if (index < takenOnHost.size() && takenOnHost[index]) {
    value = gpuasync_value_make(takenOnHost[index], parameter.type,
                                parameter.rank, parameter.shape.data());
    value.owner = takenOnHost[index];
    range.begin = reinterpret_cast<uintptr_t>(takenOnHost[index]);
    range.end = range.begin + countBytes(parameter);
  } else if (destination >= 0 && queue) {
    value = gpuasync_value_make(kept[index], parameter.type, parameter.rank,
                                parameter.shape.data());
    value.device = queue->getOrdinal();
    range.begin = reinterpret_cast<uintptr_t>(kept[index]);
    range.end = range.begin + countBytes(parameter);
  } else if (destination >= 0) {
    if (executable.deviceArrays)
      return refuse("result", index, parameter,
                    executable.keepsArrays
                        ? "a call on a caller's stream writes to memory of the "
                          "device that the caller gives in data (in Python: "
                          "out); a call without a stream makes it"
                        : "place=off writes to memory of the device, which the "
                          "caller gives in data");
    const uint64_t bytes = countBytes(parameter);
    void *memory =
        std::aligned_alloc(64, alignTo(std::max<uint64_t>(bytes, 1), 64));
    if (!memory)
      return fail(GPUASYNC_OUT_OF_MEMORY,
                  "@" + Twine(function.name) + ": no host memory for result " +
                      Twine(index) + " of " + parameter.text);
    value = gpuasync_value_make(memory, parameter.type, parameter.rank,
                                parameter.shape.data());
    value.owner = memory;
    allocated.push_back(memory);
    range.begin = reinterpret_cast<uintptr_t>(memory);
    range.end = range.begin + bytes;
  }
  if (destination >= 0) {
    packed[destination] = describeArray(parameter, value);
    announce(parameter, range);
  }
  result = value;
  return nullptr;
}

/// Reads a result that the function has returned.
void Call::readResult(size_t index, gpuasync_value &result) {
  const Parameter &parameter = function.results[index];
  if (function.destinations[index] >= 0)
    return;
  const char *from = reinterpret_cast<const char *>(storage.data()) +
                     function.layout.resultOffsets[index];
  if (parameter.kind == GPUASYNC_KIND_NUMBER) {
    if (!result.data) {
      void *memory = std::malloc(16);
      if (!memory)
        report_bad_alloc_error("no host memory for a number");
      result = gpuasync_value_make(memory, parameter.type, 0, nullptr);
      result.owner = memory;
    }
    std::memcpy(result.data, from, parameter.bytes);
    return;
  }
  SmallVector<int64_t, 3 + 2 * GPUASYNC_MAX_RANK> descriptor(
      3 + 2 * parameter.rank);
  std::memcpy(descriptor.data(), from, descriptor.size() * 8);
  result = gpuasync_value();
  result.data = reinterpret_cast<char *>(descriptor[1]) +
                descriptor[2] * int64_t(parameter.bytes);
  result.type = parameter.type;
  result.rank = parameter.rank;
  result.device = GPUASYNC_HOST;
  for (uint32_t i = 0; i < parameter.rank; ++i) {
    result.shape[i] = descriptor[3 + i];
    result.strides[i] = descriptor[3 + parameter.rank + i];
  }
  auto address = reinterpret_cast<uintptr_t>(result.data);
  if (parameter.kind == GPUASYNC_KIND_TENSOR)
    result.owner = reinterpret_cast<void *>(descriptor[0]);
  else if (none_of(ranges,
                   [&](const Range &range) {
                     return range.begin <= address && address < range.end;
                   }) &&
           executable.linked.isReadOnly(result.data))
    result.flags = GPUASYNC_READ_ONLY;
}

gpuasync_status *Call::run(void *stream, const gpuasync_value *arguments,
                           size_t argumentCount, gpuasync_value *results,
                           size_t resultCount) {
  if (argumentCount != function.arguments.size() ||
      resultCount != function.results.size() || (argumentCount && !arguments) ||
      (resultCount && !results))
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "@" + Twine(function.name) + " has " +
                    Twine(function.arguments.size()) + " arguments and " +
                    Twine(function.results.size()) + " results, given " +
                    Twine(argumentCount) + " and " + Twine(resultCount));
  words.resize_for_overwrite(function.words);
  next = words.data();
  packed.resize_for_overwrite(function.layout.storage + 3);
  ranges.reserve(argumentCount + resultCount);
  for (size_t i = 0; i < argumentCount; ++i) {
    const Parameter &parameter = function.arguments[i];
    Range range;
    if (gpuasync_status *status =
            check("argument", i, parameter, arguments[i], range))
      return status;
    ranges.push_back(range);
  }
  if (gpuasync_status *status = checkSizes(arguments))
    return status;
  if (gpuasync_status *status = findTaken(results))
    return status;
  for (size_t i = 0; i < resultCount; ++i)
    if (gpuasync_status *status = checkResult(i, results[i]))
      return status;
  SmallVector<gpuasync_value, 0> placed;
  if (queue || function.takesAny) {
    placed.assign(arguments, arguments + argumentCount);
    ArrayRef wanted(results, resultCount);
    if (gpuasync_status *status = queue ? makeDeviceMemory(placed, wanted)
                                        : makeHostMemory(placed, wanted))
      return status;
    arguments = placed.data();
  }
  for (size_t i = 0; i < argumentCount; ++i) {
    const Parameter &parameter = function.arguments[i];
    announce(parameter, ranges[i]);
    packed[function.layout.arguments[i]] =
        parameter.kind == GPUASYNC_KIND_NUMBER
            ? arguments[i].data
            : describeArray(parameter, arguments[i]);
  }
  // The caller's values are written after success only.
  SmallVector<gpuasync_value, 2> made(results, results + resultCount);
  gpuasync::Status status;
  for (size_t i = 0; i < resultCount && status.ok(); ++i)
    status = gpuasync::Status(prepareResult(i, made[i]));
  if (status.ok() && !queue && !used.empty())
    status = gpuasync::Status(awaitArrays(stream));
  if (status.ok()) {
    storage.assign(divideCeil(function.layout.resultBytes, 8) + 1, 0);
    gpuasync_status *raw = nullptr;
    void **end = &packed[function.layout.storage];
    if (executable.takesStream)
      *end++ = &stream;
    *end++ = storage.data();
    *end = &raw;
    status =
        gpuasync::Status(gpuasync_scope_push(executable.device->context.get()));
    if (status.ok()) {
      gpuasync_call_arrays known = {arrays.data(), arrays.size(), nullptr};
      gpuasync_call_arrays_push(&known);
      takeOver();
      function.function(packed.data());
      gpuasync_call_arrays_pop();
      gpuasync_scope_pop();
      status = gpuasync::Status(raw);
    }
  }
  if (!status.ok())
    return status.release();
  for (size_t i = 0; i < resultCount; ++i) {
    readResult(i, made[i]);
    if (made[i].owner && function.destinations[i] < 0 && !results[i].data)
      allocated.push_back(made[i].owner);
    results[i] = made[i];
  }
  return nullptr;
}

gpuasync_status *Call::runOn(void *stream, const gpuasync_value *arguments,
                             size_t argumentCount, gpuasync_value *results,
                             size_t resultCount) {
  if (function.takesAny)
    return fail(GPUASYNC_UNSUPPORTED,
                "@" + Twine(function.name) +
                    " computes results in the memory of donated arguments, "
                    "which is in the order of the device's own stream: call it "
                    "without a stream");
  isOrdered = true;
  gpuasync::Status status(
      run(stream, arguments, argumentCount, results, resultCount));
  // Later calls that use the same arrays, and the frees of these.
  if (isBehindQueue) {
    DeviceQueue &arrays = *executable.device->queue;
    std::lock_guard<std::mutex> lock(arrays.renewal);
    gpuasync::Status ended = arrays.orderAfter(stream, *ready);
    if (ended.ok())
      DeviceArray::renew(written, ready);
    else if (status.ok())
      status = std::move(ended);
  }
  // What has been enqueued writes the results, which only the cpu device lets
  // us allocate. Where nobody can say when that is done they stay; a number
  // that is no stream has been given nothing.
  if (!status.ok() && !allocated.empty()) {
    gpuasync::Status done(gpuasync_context_stream_synchronize(
        static_cast<gpuasync_stream *>(stream)));
    if (!done.ok() && (!stream || done.code() != GPUASYNC_INVALID_ARGUMENT))
      allocated.clear();
  }
  return finish(std::move(status));
}

gpuasync_status *Call::runOnQueue(const gpuasync_value *arguments,
                                  size_t argumentCount, gpuasync_value *results,
                                  size_t resultCount, bool waits) {
  // A call that run refuses at once needs no queue.
  if (resultCount != function.results.size() || (resultCount && !results))
    return run(nullptr, arguments, argumentCount, results, resultCount);
  void *native = nullptr;
  gpuasync::Status status = executable.device->queue->open(native);
  if (!status.ok())
    return status.release();
  queue = executable.device->queue.get();
  SmallVector<gpuasync_value, 4> filled(results, results + resultCount);
  status = gpuasync::Status(
      run(native, arguments, argumentCount, filled.data(), resultCount));
  if (!isPlaced)
    return finish(std::move(status));
  // Memory of arguments is still the caller's if the program has not begun.
  for (size_t i = 0; i < kept.size(); ++i)
    if (isTaken(i))
      kept[i] = nullptr;
  const bool failed = !status.ok();
  gpuasync::Status ended = endOnQueue(failed);
  const bool isMarked = ended.ok();
  if (!failed)
    status = std::move(ended);
  // After an error the arguments are the caller's again. A function that gave
  // up has waited long enough.
  if (status.code() == GPUASYNC_TIMEOUT)
    queue->abandon();
  else if (waits || !status.ok())
    status = join(std::move(status),
                  queue->finish(isMarked ? ready.get() : nullptr));
  if (!status.ok()) {
    freeOnQueue();
    return finish(std::move(status));
  }
  for (size_t i = 0; i < resultCount; ++i) {
    if (kept[i]) {
      made[i]->adopt(kept[i], countBytes(function.results[i]), ready);
      filled[i].owner = made[i].release();
    }
    results[i] = filled[i];
  }
  return finish(std::move(status));
}

gpuasync_status *Call::runAndWait(const gpuasync_value *arguments,
                                  size_t argumentCount, gpuasync_value *results,
                                  size_t resultCount) {
  if (executable.keepsArrays)
    return runOnQueue(arguments, argumentCount, results, resultCount,
                      /*waits=*/true);
  // What run refuses at once needs no stream.
  if (!executable.takesStream || resultCount != function.results.size() ||
      (resultCount && !results))
    return finish(gpuasync::Status(
        run(nullptr, arguments, argumentCount, results, resultCount)));
  gpuasync_stream *stream = nullptr;
  if (gpuasync_status *status = gpuasync_context_stream_create(
          executable.device->context.get(), &stream))
    return status;
  SmallVector<gpuasync_value, 2> made(results, results + resultCount);
  gpuasync::Status status(run(gpuasync_context_stream_native(stream), arguments,
                              argumentCount, made.data(), resultCount));
  // What has been enqueued uses the arguments, after an error too. After a
  // timeout it is abandoned with the stream.
  gpuasync::Status awaited(gpuasync_context_stream_synchronize(stream));
  gpuasync_context_stream_destroy(stream);
  status = join(std::move(status), std::move(awaited));
  for (size_t i = 0; i < resultCount && status.ok(); ++i)
    results[i] = made[i];
  return finish(std::move(status));
}

gpuasync_status *gpuasync_callable_call(const gpuasync_callable *callable,
                                        const gpuasync_value *arguments,
                                        size_t argumentCount,
                                        gpuasync_value *results,
                                        size_t resultCount) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  return Call(*callable->executable, *callable->callable)
      .runAndWait(arguments, argumentCount, results, resultCount);
}

gpuasync_status *gpuasync_callable_enqueue(const gpuasync_callable *callable,
                                           const gpuasync_value *arguments,
                                           size_t argumentCount,
                                           gpuasync_value *results,
                                           size_t resultCount) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  Call call(*callable->executable, *callable->callable);
  return callable->executable->keepsArrays
             ? call.runOnQueue(arguments, argumentCount, results, resultCount,
                               /*waits=*/false)
             : call.runAndWait(arguments, argumentCount, results, resultCount);
}

gpuasync_status *
gpuasync_callable_call_donating(const gpuasync_callable *callable,
                                int32_t waits, gpuasync_value *arguments,
                                size_t argumentCount, gpuasync_value *results,
                                size_t resultCount) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  Call call(*callable->executable, *callable->callable);
  call.donate(arguments);
  return callable->executable->keepsArrays
             ? call.runOnQueue(arguments, argumentCount, results, resultCount,
                               waits != 0)
             : call.runAndWait(arguments, argumentCount, results, resultCount);
}

gpuasync_status *gpuasync_callable_call_on(const gpuasync_callable *callable,
                                           void *stream,
                                           const gpuasync_value *arguments,
                                           size_t argumentCount,
                                           gpuasync_value *results,
                                           size_t resultCount) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  if (!callable->executable->takesStream)
    return fail(GPUASYNC_UNSUPPORTED,
                "@" + Twine(callable->callable->name) +
                    " takes no stream; compile it with stream=caller");
  return Call(*callable->executable, *callable->callable)
      .runOn(stream, arguments, argumentCount, results, resultCount);
}

gpuasync_status *
gpuasync_executable_call(gpuasync_executable *executable, const char *name,
                         const gpuasync_value *arguments, size_t argumentCount,
                         gpuasync_value *results, size_t resultCount) noexcept {
  const Callable *callable = nullptr;
  if (gpuasync_status *status = findToCall(executable, name, callable))
    return status;
  return Call(*executable, *callable)
      .runAndWait(arguments, argumentCount, results, resultCount);
}

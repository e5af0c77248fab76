//===- Compiling.cpp - From a text to an executable -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the functions that make executables: takes the program from the
// disk cache, else compiles it by Execution/.
//===----------------------------------------------------------------------===//

#include "Execution/Compile.h"
#include "Execution/DeviceStart.h"
#include "GPUAsync/Kernels/CPU/Object.h"
#include "Library/Loading.h"
#include "Library/Status.h"

#include <cstring>
#include <pthread.h>

using namespace llvm;
using namespace gpuexec;

/// Opens the device, and completes the options by what it is.
static Error openFor(LibraryOptions &options, StringRef device,
                     gpuasync_executable &executable) {
  CompileOptions &how = options.compile;
  Expected<std::shared_ptr<SharedDevice>> opened = openDevice(device);
  if (!opened)
    return opened.takeError();
  executable.device = std::move(*opened);
  how.targets = executable.device->targets;
  if (how.subgroupSize.isGiven() && !executable.device->isCpu)
    return createStringError("option subgroup-size: only on the cpu device");
  if (how.blas == mlir::gpuasync::BlasMode::Auto) {
    std::string library = findOwnLibrary("blas");
    if (library.empty())
      how.blas = mlir::gpuasync::BlasMode::Off;
    else
      how.sharedLibs.push_back(library);
  }
  if (options.keepsArrays && !executable.device->isCpu) {
    executable.keepsArrays = true;
    how.place = mlir::gpuasync::PlaceMode::Off;
    how.stream = StreamMode::Caller;
    how.arraysOnDevice = true;
  }
  executable.takesStream = how.stream == StreamMode::Caller;
  // Elsewhere arrays are the caller's, or copied in each call.
  how.donate = executable.keepsArrays ||
               (executable.device->isCpu && !executable.takesStream);
  executable.deviceArrays =
      !executable.device->isCpu && how.place == mlir::gpuasync::PlaceMode::Off;
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
  if (!how.donated.empty()) {
    if (entries.size() != 1)
      return createStringError(
          "option donate: its numbers are of the arguments of the only public "
          "function, but there are " +
          Twine(entries.size()) +
          "; write gpu_async.donated on the arguments in the program");
    if (Error error = program.markDonated(entries.front(), how.donated))
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
  if (mlir::Operation *variable = program.findKernelVariable())
    executable.variable =
        mlir::cast<mlir::SymbolOpInterface>(variable).getName().str();
  // Files have contents that the key does not cover, and the cache does not
  // know of variables.
  mayBeKept = mayBeKept && !program.linksFiles() && executable.variable.empty();
  if (Error error = program.schedule(how))
    return error;
  for (Signature &signature : signatures) {
    if (Error error = program.findDestinations(signature))
      return error;
    if (signature.stream && !executable.takesStream)
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
    if (Error error = libraries.open(how.sharedLibs))
      return error;
  libraries.define(how.functions);
  if (Error error = program.checkSymbols(libraries))
    return error;
  Expected<std::unique_ptr<MemoryBuffer>> object = program.makeObject();
  if (!object)
    return object.takeError();
  compiled.object = std::move(*object);
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
                      options->compile.functions.empty() &&
                      options->compile.timing == TimingMode::Off;
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
      program->timing.mode = options->compile.timing;
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
    const uint32_t code = DeviceError::codeOf(error, GPUASYNC_INVALID_ARGUMENT);
    std::string message = toString(std::move(error));
    std::string said = StringRef(executable->said).rtrim().str();
    if (!message.empty() && !said.empty())
      message += "; ";
    message += said;
    return fail(code, message.empty() ? name + ": cannot be compiled"
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

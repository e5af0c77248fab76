//===- gpu-runner.cpp - compile and run a GPU program ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu-runner FILE: from any form of IR to a call on the CPU device or a GPU.
// docs/reference/gpu-runner.md describes the options.
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Cache.h"
#include "Check.h"
#include "Crash.h"
#include "Emit.h"
#include "Execution/Compile.h"
#include "Execution/DeviceStart.h"
#include "Execution/Link.h"
#include "Files.h"
#include "GPUAsync/DeviceKinds.h"
#include "GPUAsync/Kernels/Passes.h"
#include "Kernels/Common/Environment.h"
#include "Main.h"
#include "Options.h"
#include "Ranks.h"
#include "Report.h"

#include "gpuasync/Trace.h"
#include "libs/aot/NewFile.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <system_error>

#include <unistd.h>

using namespace llvm;
using namespace gpuexec;
using namespace gpurunner;

/// The exit code where all worked, but a result is not what --expect says.
static constexpr int unexpectedResult = 2;

/// Milliseconds since it was made or last read.
class Stopwatch {
public:
  double next() {
    auto now = std::chrono::steady_clock::now();
    std::chrono::duration<double, std::milli> passed = now - last;
    last = now;
    return passed.count();
  }

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

/// Sends off what the program and the runner have printed. An error if the
/// standard output did not take all of it.
static Error flushOutput() {
  outs().flush();
  std::error_code code = outs().error();
  // LLVM ends the process over an error that it believes unseen.
  outs().clear_error();
  std::cout.flush();
  if (std::fflush(stdout) != 0)
    code = std::error_code(errno, std::generic_category());
  else if (std::ferror(stdout) || !std::cout)
    code = std::make_error_code(std::errc::io_error);
  std::clearerr(stdout);
  std::cout.clear();
  if (!code)
    return Error::success();
  return createStringError("the standard output cannot be written: " +
                           code.message());
}

/// Calls the program `warmup` and then `repeat` times; the times are in
/// microseconds.
static gpuasync::Status callProgram(const Options &options,
                                    PackedFunction function, CallFrame &frame,
                                    std::vector<double> &times) {
  const uint64_t count = options.warmup + options.repeat;
  for (uint64_t i = 0; i < count; ++i) {
    frame.reset();
    gpuasync_status *raw = nullptr;
    void *status = &raw;
    void **packed = frame.pack(static_cast<void **>(status));
    auto start = std::chrono::steady_clock::now();
    function(packed);
    auto end = std::chrono::steady_clock::now();
    times.push_back(
        std::chrono::duration<double, std::micro>(end - start).count());
    if (raw)
      return gpuasync::Status(raw);
    // Those of the last call are still to be read.
    if (i + 1 < count)
      frame.freeResults();
  }
  return gpuasync::Status();
}

static Error checkEntryPointResult(const Options &options,
                                   const Signature &entry) {
  StringRef wanted = options.compile.entryPointResult;
  if (wanted.empty())
    return Error::success();
  if (wanted == "void"
          ? entry.results.empty()
          : entry.results.size() == 1 && typeText(entry.results[0]) == wanted)
    return Error::success();
  std::string have;
  for (mlir::Type type : entry.results)
    have += (have.empty() ? "" : ", ") + typeText(type);
  return createStringError("--entry-point-result=" + wanted + ": @" +
                           entry.name + " returns " +
                           (have.empty() ? "nothing" : have));
}

/// The option is at fault, not a line of the program.
static Error checkTargetNames(const Options &options) {
  for (const std::string &target : options.compile.targets)
    if (std::string why = mlir::gpuasync::describeWrongTarget(target);
        !why.empty())
      return createStringError("--targets=" + target + ": " + why);
  return Error::success();
}

/// Options that would say nothing about kernels for these targets.
static Error checkTargets(const CompileOptions &compile) {
  if (!compile.subgroupSize.isGiven() ||
      is_contained(compile.targets, mlir::gpuasync::cpuDevice.target))
    return Error::success();
  return createStringError("--subgroup-size=" + Twine(*compile.subgroupSize) +
                           ": only on the cpu device, not for " +
                           join(compile.targets, ","));
}

static Expected<std::unique_ptr<MemoryBuffer>> readInput(StringRef file) {
  setPhase("reading the program");
  // A device such as /dev/zero may never end.
  sys::fs::file_status status;
  if (file != "-" && !sys::fs::status(file, status) &&
      (status.type() == sys::fs::file_type::character_file ||
       status.type() == sys::fs::file_type::block_file))
    return createStringError("'" + file + "' is a device, not a program");
  std::string message;
  std::unique_ptr<MemoryBuffer> input = mlir::openInputFile(file, &message);
  if (!input)
    return createStringError(message);
  return std::move(input);
}

/// The name of the program in messages.
static std::string nameOf(const Options &options) {
  return options.file == "-" ? "<stdin>" : options.file;
}

/// --emit: compile only.
static Error compileOnly(const Options &options) {
  if (Error error = checkTargetNames(options))
    return error;
  Expected<std::unique_ptr<MemoryBuffer>> input = readInput(options.file);
  if (!input)
    return input.takeError();
  CompileOptions compile = options.compile;
  if (compile.targets.empty())
    compile.targets = {mlir::gpuasync::cpuDevice.target};
  if (Error error = checkTargets(compile))
    return error;
  return emitProgram(options, compile, std::move(*input), nameOf(options));
}

namespace {
/// One run: the program from the disk cache or from the compiler, while the
/// driver starts; then the calls.
class Run {
public:
  explicit Run(const Options &options) : options(options) {}
  int run();

private:
  Error prepare();
  Expected<bool> load(const gpuasync::KeyBuilder &job);
  Error compile(const gpuasync::KeyBuilder &job);
  Error checkCall(const Signature &signature);
  Error setDestinations(const Signature &signature);
  Error findTargets();
  Error beginTrace();
  Error endTrace();
  Expected<gpuasync::Context> openDevice();
  Error limitTime();
  int execute();
  Error report(unsigned rank, raw_ostream &os, std::vector<NewFile> &files,
               bool &unexpected);
  void warnAboutCache();

  const Options &options;
  gpuasync_disk_cache *cache = gpuasync_disk_cache_default();
  CacheUse use;
  Times times;
  Stopwatch total;
  bool traced = false;

  std::unique_ptr<MemoryBuffer> input;
  std::vector<std::string> targets; ///< empty: not known yet
  Libraries libraries;
  Checker checker;
  std::optional<DeviceStart> device;

  /// These own the types in `frame`.
  std::optional<Program> program;
  std::optional<mlir::MLIRContext> types;
  /// Arguments of one rank's call, and what becomes of the results.
  struct Call {
    std::vector<std::string> inputs, outputs, expected;
    std::optional<CallFrame> frame;
  };
  std::vector<Call> calls;
  Ranks ranks;
  CompiledProgram compiled;
  LinkedProgram linked;
  PackedFunction function = nullptr;
};
} // namespace

void Run::warnAboutCache() {
  gpuasync::Status warning(gpuasync_disk_cache_take_warning(cache));
  if (!warning.ok())
    errs() << "gpu-runner: warning: " << warning.message() << "\n";
}

/// What can be found wrong with the call without a device.
Error Run::checkCall(const Signature &signature) {
  calls = std::vector<Call>(options.ranksHere());
  for (auto [index, call] : enumerate(calls)) {
    call = {options.inputs, options.outputs, options.expected, {}};
    if (options.hasRanks())
      for (std::vector<std::string> *values :
           {&call.inputs, &call.outputs, &call.expected})
        *values = ofRank(*values, options.firstRank() + index);
    Expected<CallFrame> made = CallFrame::create(signature, call.inputs);
    if (!made)
      return made.takeError();
    if (Error error = made->checkOutputs(call.outputs))
      return error;
    if (Error error = made->setExpected(call.expected))
      return error;
    call.frame = std::move(*made);
  }
  return checkEntryPointResult(options, signature);
}

/// Makes the memory of results that the compiled function takes as arguments.
Error Run::setDestinations(const Signature &signature) {
  for (Call &call : calls)
    if (Error error = call.frame->setDestinations(signature.destinations))
      return error;
  return Error::success();
}

Error Run::findTargets() {
  if (!targets.empty())
    return Error::success();
  Stopwatch time;
  Expected<std::vector<std::string>> found = device->targets();
  times.driverWait += time.next();
  if (!found)
    return found.takeError();
  targets = std::move(*found);
  return Error::success();
}

/// Takes the program from the cache. False if it has to be compiled.
Expected<bool> Run::load(const gpuasync::KeyBuilder &job) {
  use.program = "miss";
  // Which GPU there is takes the driver a while to say. Where this program has
  // never been compiled for any, there is no need to wait.
  if (targets.empty()) {
    gpuasync::DiskEntry seen;
    if (!seen.lookup(cache, job.key()))
      return false;
    if (Error error = findTargets())
      return std::move(error);
  }
  gpuasync::DiskEntry entry;
  if (!entry.lookup(cache, programKey(job, targets)))
    return false;
  times.read = double(entry.readNs()) / 1e6;
  times.verify = double(entry.verifyNs()) / 1e6;
  std::optional<CompiledProgram> found = fromBytes(entry.bytes());
  if (!found || found->functions.size() != 1)
    return false;
  types.emplace(mlir::MLIRContext::Threading::DISABLED);
  std::optional<Signature> signature =
      parseSignature(*types, found->functions.front());
  if (!signature)
    return false;
  if (Error error = libraries.open(options.compile.sharedLibs))
    return std::move(error);
  // The compiler can say which op it is that calls what does not exist.
  if (!LinkedProgram::canLink(*found->object, libraries))
    return false;
  if (Error error = checkCall(*signature))
    return std::move(error);
  if (Error error = setDestinations(*signature))
    return std::move(error);
  compiled = std::move(*found);
  errs() << compiled.said;
  use.program = "hit";
  return true;
}

Error Run::compile(const gpuasync::KeyBuilder &job) {
  ++use.compileJobs;
  Stopwatch time;
  setPhase("parsing");
  program.emplace(/*print=*/true);
  program->timing.mode = options.compile.timing;
  if (Error error = program->parse(std::move(input), nameOf(options)))
    return error;
  if (options.ranksHere() > 1) {
    if (Error error = findTargets())
      return error;
    // Each GPU has its own.
    if (is_contained(targets, mlir::gpuasync::cpuDevice.target))
      if (Error error = program->refuseKernelVariables())
        return error;
  }
  if (Error error = program->markResidents(options.compile.entryPoint,
                                           options.compile.residents))
    return error;
  Expected<Signature> entry = program->entryPoint(
      options.compile.entryPoint, options.compile.entryPointResult);
  if (!entry)
    return entry.takeError();
  if (Error error = Program::refuseTaken(*entry))
    return error;
  if (Error error = checkCall(*entry))
    return error;
  bool linksFiles = program->linksFiles();
  times.parse = time.next();

  CompileOptions how = options.compile;
  // How work is cut into kernels depends on what runs them.
  if (options.compile.offload != mlir::gpuasync::OffloadMode::Off &&
      program->needsOffload()) {
    if (Error error = findTargets())
      return error;
    how.targets = targets;
  }
  setPhase("compiling");
  if (Error error = program->schedule(how))
    return error;
  if (Error error = program->findDestinations(*entry))
    return error;
  if (entry->stream)
    return createStringError("@" + entry->name +
                             " takes the caller's stream (gpu_async.stream), "
                             "but here there is no caller; give it the file "
                             "from before");
  if (Error error = setDestinations(*entry))
    return error;
  times.pipeline = time.next();
  if (Error error = findTargets())
    return error;
  how.targets = targets;
  if (Error error = checkTargets(how))
    return error;
  time.next();
  if (Error error = program->lower(how))
    return error;
  times.pipeline += time.next();
  if (Error error = program->translate(how, *entry))
    return error;
  if (libraries.empty())
    if (Error error = libraries.open(options.compile.sharedLibs))
      return error;
  if (Error error = program->checkSymbols(libraries))
    return error;
  Expected<std::unique_ptr<MemoryBuffer>> object = program->makeObject();
  if (!object)
    return object.takeError();
  compiled.object = std::move(*object);
  compiled.said = program->said();
  times.codegen = time.next();

  // What files say that the key does not cover cannot be kept.
  std::optional<CompiledFunction> kept;
  if (strcmp(use.program, "miss") == 0 && !linksFiles &&
      (kept = printSignature(*entry))) {
    compiled.functions = {std::move(*kept)};
    std::string bytes = toBytes(compiled);
    gpuasync_digest key = programKey(job, targets), seen = job.key();
    if (gpuasync_disk_cache_store(cache, &key, bytes.data(), bytes.size()) &&
        DeviceStart::knownTargets(options.device).empty() &&
        options.compile.targets.empty())
      gpuasync_disk_cache_store(cache, &seen, "", 0);
    times.store = time.next();
  }
  return Error::success();
}

/// Before the device is opened.
Error Run::beginTrace() {
  std::string file = options.trace;
  if (auto asked = mlir::gpuasync::getVariable("GPU_ASYNC_TRACE");
      asked && file.empty())
    file = *asked;
  if (file.empty() && !options.profile)
    return Error::success();
  // One trace at a time: this one.
  unsetenv("GPU_ASYNC_TRACE");
  gpuasync::Status begun(
      gpuasync_trace_start(file.empty() ? nullptr : file.c_str()));
  traced = begun.ok();
  return traced ? Error::success() : toError(begun);
}

Error Run::endTrace() {
  if (!traced)
    return Error::success();
  traced = false;
  gpuasync::Status ended(gpuasync_trace_stop());
  if (!ended.ok())
    return toError(ended);
  return options.profile ? writeProfile(options.profileFile) : Error::success();
}

/// Everything up to the linked program.
Error Run::prepare() {
  if (Error error = checkTargetNames(options))
    return error;
  Stopwatch time;
  Expected<std::unique_ptr<MemoryBuffer>> read = readInput(options.file);
  if (!read)
    return read.takeError();
  input = std::move(*read);
  bool cached = *gpuasync_disk_cache_folder(cache) != 0;
  // It covers the loaded code, which does not yet include the driver's.
  gpuasync::KeyBuilder job;
  if (cached)
    job = jobKey(options.compile, nameOf(options), input->getBuffer())
              .add("ranks", options.ranksHere() > 1 ? "threads" : "");
  times.key = time.next();

  libraries.allowAtExit();
  if (options.compile.check) {
    if (Error error = checker.open(nameOf(options), input->getBuffer()))
      return error;
    libraries.override(checker.find);
  }
  if (Error error = beginTrace())
    return error;
  if (options.timeout)
    gpuasync_set_timeout(*options.timeout);
  // One of the words that it knows.
  gpuasync_status_free(
      gpuasync_set_play(mlir::gpuasync::getWord(*options.compile.play).data()));
  device.emplace(options.device, "--device=", "gpu-runner --list-devices",
                 options.launched ? options.launched->local : 0);
  targets = options.compile.targets;
  if (targets.empty())
    targets = DeviceStart::knownTargets(options.device);
  Expected<bool> found = false;
  if (cached && options.compile.printIRAfter.empty() &&
      !options.compile.printSchedule &&
      options.compile.timing == gpuexec::TimingMode::Off)
    found = load(job);
  else if (cached)
    use.program = "bypassed";
  warnAboutCache();
  if (!found)
    return found.takeError();
  if (!*found)
    if (Error error = compile(job))
      return error;
  warnAboutCache();
  time.next();
  setPhase("linking");
  {
    std::optional<gpuexec::Timing::Stage> stage;
    if (program)
      stage.emplace(program->timing, "linking");
    if (Error error = linked.link(*compiled.object, libraries))
      return error;
  }
  if (program)
    errs() << program->timing.table();
  Expected<PackedFunction> entry = linked.lookup(options.compile.entryPoint);
  if (!entry)
    return entry.takeError();
  function = *entry;
  linked.forEachFunction(addCode);
  setObject(std::move(compiled.object));
  times.link = time.next();
  return Error::success();
}

/// Says it, and tells other processes, which would wait for this one.
static int failBeforeJoining(Error error,
                             const std::optional<Launched> &launched) {
  if (!launched)
    return fail(std::move(error));
  std::string text = toString(std::move(error));
  if (text.empty()) // MLIR has printed it
    text = "the program was not compiled";
  else
    fail(createStringError(text + " (on rank " + Twine(launched->rank) + ")"));
  Ranks::leaveBeforeJoining(*launched, text);
  return 1;
}

/// The device of the program, or that of rank 0.
Expected<gpuasync::Context> Run::openDevice() {
  if (Error error = prepare())
    return std::move(error);
  setPhase("opening the device");
  Stopwatch time;
  Expected<gpuasync::Context> context = device->context();
  times.driverWait += time.next();
  times.driver = device->milliseconds();
  return context;
}

/// The runtime gives up first, with a list of what did not finish.
Error Run::limitTime() {
  const double seconds = options.timeout.value_or(0);
  return seconds > 0 ? startWatchdog(seconds, /*grace=*/2 + seconds / 10)
                     : Error::success();
}

int Run::run() {
  Expected<gpuasync::Context> context = openDevice();
  if (!context)
    return failBeforeJoining(context.takeError(), options.launched);
  setPhase("waiting for other processes");
  if (options.launched)
    if (Error error = limitTime())
      return fail(std::move(error));
  if (Error error = options.launched
                        ? ranks.join(std::move(*context), *options.launched)
                        : ranks.open(std::move(*context), options.ranksHere()))
    return fail(std::move(error));
  return execute();
}

/// Says what a rank's call came to.
Error Run::report(unsigned rank, raw_ostream &os, std::vector<NewFile> &files,
                  bool &unexpected) {
  Call &call = calls[rank];
  CallFrame &frame = *call.frame;
  if (Error error = frame.readResults())
    return error;
  if (!options.compile.entryPointResult.empty())
    frame.printPlainResult(os);
  // A result that is compared need not be printed.
  if (!options.outputs.empty() ||
      (options.compile.entryPointResult.empty() && options.expected.empty()))
    if (Error error = frame.writeOutputs(call.outputs, os, files))
      return error;
  Error error = frame.checkExpected(options.tolerance, os);
  unexpected |= bool(error);
  return error;
}

int Run::execute() {
  bool failed = false, unexpected = false;
  const gpuasync::Context &context = ranks.contexts()[0];
  // Whose error it is, where there are several ranks.
  auto failOn = [&](unsigned index, Error error) {
    outs().flush();
    if (options.hasRanks())
      error = createStringError(toString(std::move(error)) + " (on rank " +
                                Twine(options.firstRank() + index) + ")");
    failed = fail(std::move(error));
  };
  {
    for (Call &call : calls)
      if (Error error = call.frame->announce())
        return fail(std::move(error));
    scope_exit forget([&] {
      for (Call &call : calls)
        call.frame->forget();
    });
    setPhase("running the program");
    if (!options.launched) // else from when it waited for other processes
      if (Error error = limitTime())
        return fail(std::move(error));
    linked.construct();
    std::vector<std::vector<double>> took(calls.size());
    times.total = total.next();
    bool isBusy = false;
    isBusy |= !ranks.run(
        options.timeout.value_or(0),
        [&](unsigned rank) {
          return callProgram(options, function, *calls[rank].frame, took[rank]);
        },
        [&](unsigned rank, const gpuasync::Status &status) {
          failOn(rank, toError(status));
          isBusy |= status.code() == GPUASYNC_TIMEOUT ||
                    status.code() == GPUASYNC_DEVICE_LOST;
        });
    gpuasync_stats counts = {};
    gpuasync_status_free(gpuasync_stats_read(context.get(), &counts));
    times.load = double(counts.moduleLoadNs) / 1e6;
    const double first = took[0].empty() ? 0 : took[0].front() / 1000;
    times.launch = std::max(first - times.load, 0.0);
    times.total += first;
    if (Error error = flushOutput())
      failed = fail(std::move(error));
    // Unfinished work would be waited for in vain.
    if (isBusy) {
      checker.finish();
      consumeError(endTrace());
      _exit(1);
    }
    // If one rank has failed there are no results of any.
    if (!failed && options.launched) {
      setPhase("waiting for other processes");
      if (gpuasync::Status others = ranks.wait(); !others.ok())
        failOn(0, createStringError(Twine("no results: ") + others.message()));
    }
    if (!failed) {
      setPhase("writing the results");
      std::vector<NewFile> files;
      bool isWritten = true;
      for (unsigned rank = 0; rank < calls.size(); ++rank) {
        std::string text;
        raw_string_ostream os(text);
        bool isUnexpected = false;
        Error error = report(rank, os, files, isUnexpected);
        unexpected |= isUnexpected;
        isWritten &= !error || isUnexpected;
        // In one piece: other processes may write to the same terminal.
        if (options.hasRanks() && !text.empty())
          text.insert(0, "rank " + utostr(options.firstRank() + rank) + ":\n");
        outs() << text;
        if (error)
          failOn(rank, std::move(error));
        calls[rank].frame->freeResults();
      }
      if (isWritten)
        if (Error error = commit(files))
          failed = fail(std::move(error));
      if (options.benchmark && !failed) {
        took[0].erase(took[0].begin(), took[0].begin() + options.warmup);
        printBenchmark(std::move(took[0]), options.benchmarkTable);
      }
      if (Error error = flushOutput())
        failed = fail(std::move(error));
    }
    failed |= checker.finish();
    setPhase("unloading the program");
    if (gpuasync::Status released = linked.release(); !released.ok()) {
      // After an error one message is enough.
      if (!failed)
        fail(toError(released));
      consumeError(endTrace());
      _exit(1);
    }
  }
  if (Error error = flushOutput())
    failed = fail(std::move(error));

  // After an error one message is enough: neither counters nor leaks on top.
  if (options.stats && !failed) {
    std::optional<unsigned> first;
    if (options.hasRanks())
      first = options.firstRank();
    if (Error error = options.statsTable
                          ? printStatsTables(ranks.contexts(), first)
                          : writeStats(options.statsFile, ranks.contexts(),
                                       first, use, times))
      failed = fail(std::move(error));
  }
  setPhase("writing the trace");
  if (Error error = endTrace())
    failed = fail(std::move(error));
  setPhase("closing the device");
  gpuasync::Status closed = ranks.close();
  if (!failed && !closed.ok())
    failed = fail(toError(closed));
  for (const gpuasync::Context &each : ranks.contexts())
    if (!failed)
      failed = reportLeaks(each, options.leakCheck == LeakCheck::Error);
  gpuasync::Status shutdown(gpuasync_shutdown());
  if (!failed && !shutdown.ok())
    failed = fail(toError(shutdown));
  return unexpected ? unexpectedResult : failed;
}

/// Products of linalg ops are a library's that programs find without
/// --shared-libs.
static void addBlasLibrary(CompileOptions &options) {
  if (options.blas == mlir::gpuasync::BlasMode::Off)
    return;
  std::string library = findOwnLibrary("blas");
  if (!library.empty()) {
    options.sharedLibs.push_back(library);
    return;
  }
  errs() << "gpu-runner: remark: --blas=auto: libgpuasync_blas.so is not next "
            "to the runtime's library; products are kernels\n";
  options.blas = mlir::gpuasync::BlasMode::Off;
}

/// What the command line asks for.
static int run(int argc, char **argv) {
  Expected<Options> options = parseOptions(argc, argv);
  if (!options) {
    // With these a process is alone.
    const bool isAlone = any_of(ArrayRef(argv, argc), [](StringRef argument) {
      return argument.contains("-ranks") || argument.contains("-emit");
    });
    std::optional<Launched> launched;
    if (Expected<std::optional<Launched>> found = findLaunched(); !found)
      consumeError(found.takeError()); // it is the error of the options
    else if (!isAlone)
      launched = *found;
    return failBeforeJoining(options.takeError(), launched);
  }
  if (options->help) {
    outs() << helpText();
    return 0;
  }
  if (options->version) {
    outs() << "gpu-runner " GPUASYNC_VERSION ", LLVM " LLVM_VERSION_STRING "\n";
    return 0;
  }
  if (options->listDevices) {
    for (const Device &device : allDevices()) {
      printDevice(outs(), device);
      outs() << "\n";
    }
    return 0;
  }
  addBlasLibrary(options->compile);
  options->compile.writeFile = [](StringRef path, StringRef text) {
    return writeFile(path, [&](raw_ostream &os) { os << text; });
  };
  if (options->emit) {
    if (Error error = compileOnly(*options))
      return fail(std::move(error));
    return 0;
  }
  // The runtime's share of the cache follows the same option.
  if (options->cache == "off") {
    setenv("GPU_ASYNC_CACHE", "off", /*replace=*/1);
  } else if (!options->cache.empty()) {
    unsetenv("GPU_ASYNC_CACHE");
    setenv("GPU_ASYNC_CACHE_DIR", options->cache.c_str(), /*replace=*/1);
  }
  // The runtime would refuse collectives if a launcher started this process.
  if (options->ranks == 1u)
    setenv("GPU_ASYNC_RANKS", "1", /*replace=*/1);
  return Run(*options).run();
}

/// NCCL reads them when it is first used; there is one thread yet. Programs of
/// NVLink multicast can put a host's GPUs out of service. Memory of our pools
/// is not mapped on the other GPUs of the process.
static void setVariablesOfNccl() {
  setenv("NCCL_NVLS_ENABLE", "0", /*replace=*/0);
  setenv("NCCL_P2P_DIRECT_DISABLE", "1", /*replace=*/0);
}

int gpurunner::runMain(int argc, char **argv) {
  setVariablesOfNccl();
  installCrashHandlers();
  gpuasync::removeFilesOnSignals();
  mlir::gpuasync::setTemporaryFileListener([](const char *path, bool isThere) {
    if (isThere)
      gpuasync::addUnfinishedFile(path);
    else
      gpuasync::forgetUnfinishedFile(path);
  });
  int result = run(argc, argv);
  if (Error error = flushOutput())
    return fail(std::move(error));
  return result;
}

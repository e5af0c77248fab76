//===- gpu-runner.cpp - compile and run a GPU program ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu-runner FILE: from any form of IR to a call on the CPU device or a GPU.
// docs/gpu-runner.md describes the options.
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Compile.h"
#include "Crash.h"
#include "Options.h"

#include "gpuasync/Context.h"
#include "gpuasync/Stats.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

#include <unistd.h>

using namespace llvm;
using namespace gpurunner;

/// A status of the runtime as an error. It says the place first, as a compiler
/// does: "a.mlir:3:5: error: ...".
static Error toError(const gpuasync::Status &status) {
  StringRef message = status.message();
  SmallVector<StringRef> parts;
  if (Regex("^([^:]+:[0-9]+:[0-9]+): (.*)$").match(message, &parts))
    return createStringError(parts[1] + ": error: " + parts[2]);
  return createStringError(message);
}

static void printError(StringRef message) {
  // Nothing: MLIR has printed it.
  if (message.empty())
    return;
  if (!Regex("^[^:]+:[0-9]+:[0-9]+: error: ").match(message))
    errs() << "gpu-runner: error: ";
  errs() << message << "\n";
}

static int fail(Error error) {
  handleAllErrors(std::move(error), [](const ErrorInfoBase &info) {
    printError(info.message());
  });
  return 1;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

namespace {
struct Device {
  std::string device, name, arch, why;
  uint64_t memoryBytes;
};
} // namespace

static std::vector<Device> allDevices() {
  std::vector<Device> devices;
  gpuasync_device_list(
      [](void *user, const char *device, const char *name, const char *arch,
         uint64_t memoryBytes, const char *why) {
        static_cast<std::vector<Device> *>(user)->push_back(
            {device, name ? name : "", arch ? arch : "", why ? why : "",
             memoryBytes});
      },
      &devices);
  return devices;
}

static void printDevice(raw_ostream &os, const Device &device) {
  os << left_justify(device.device, 8);
  if (!device.why.empty()) {
    os << "unavailable: " << device.why << "\n";
    return;
  }
  os << device.name;
  if (!device.arch.empty())
    os << ", " << device.arch;
  if (device.memoryBytes)
    os << ", " << format("%.1f GiB", double(device.memoryBytes) / (1u << 30));
  os << "\n";
}

static Expected<gpuasync::Context> openContext(StringRef name,
                                               ArrayRef<Device> devices) {
  gpuasync::Context context;
  gpuasync::Status status =
      gpuasync::Context::open(name.str().c_str(), context);
  if (status.ok())
    return std::move(context);
  std::string message = ("--device=" + name + ": " + status.message()).str();
  raw_string_ostream os(message);
  os << "\nthe devices are:";
  for (const Device &device : devices) {
    os << "\n  ";
    std::string line;
    raw_string_ostream lineStream(line);
    printDevice(lineStream, device);
    os << StringRef(line).rtrim();
  }
  return createStringError(message);
}

/// What the kernels are compiled for.
static std::vector<std::string> targetsOf(StringRef deviceName,
                                          ArrayRef<Device> devices) {
  if (deviceName.starts_with("cpu"))
    return {"cpu"};
  for (const Device &device : devices)
    if (device.device == deviceName && !device.arch.empty())
      return {(deviceName.starts_with("hip") ? "rocdl:" : "nvptx:") +
              device.arch};
  return {"cpu"};
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// One JSON line on stdout.
static void printBenchmark(std::vector<double> times) {
  llvm::sort(times);
  // The value that the given part of the calls did not exceed.
  auto at = [&](double part) {
    return times[std::min<size_t>(times.size() * part, times.size() - 1)];
  };
  double median =
      times.size() % 2
          ? at(0.5)
          : (times[times.size() / 2 - 1] + times[times.size() / 2]) / 2;
  outs() << "{\"calls\": " << times.size()
         << format(
                ", \"median_us\": %.3f, \"min_us\": %.3f, \"p90_us\": %.3f}\n",
                median, times.front(), at(0.9));
}

static std::string statsLine(const gpuasync::Context &context) {
  uint64_t length = gpuasync_stats_json(context.get(), nullptr, 0);
  std::string line(length + 1, '\0');
  gpuasync_stats_json(context.get(), line.data(), line.size());
  line.resize(length);
  return line;
}

static Error writeStats(const Options &options,
                        const gpuasync::Context &context) {
  std::string line = statsLine(context);
  if (options.statsFile.empty()) {
    errs() << line << "\n";
    return Error::success();
  }
  std::error_code code;
  raw_fd_ostream file(options.statsFile, code);
  if (!code) {
    file << line << "\n";
    file.close();
    if (!file.has_error())
      return Error::success();
    code = file.error();
    file.clear_error();
  }
  return createStringError("'" + options.statsFile +
                           "' cannot be written: " + code.message());
}

/// Says what the program never released. Returns whether that is an error.
static bool reportLeaks(const Options &options,
                        const gpuasync::Context &context) {
  std::vector<std::string> lines;
  gpuasync_leaks_list(
      context.get(),
      [](void *user, const char *line) {
        static_cast<std::vector<std::string> *>(user)->push_back(line);
      },
      &lines);
  StringRef kind = options.leakCheckError ? "error" : "warning";
  for (const std::string &line : lines) {
    SmallVector<StringRef> parts;
    if (Regex("^([^:]+:[0-9]+:[0-9]+): (.*)$").match(line, &parts))
      errs() << parts[1] << ": " << kind << ": " << parts[2] << "\n";
    else
      errs() << "gpu-runner: " << kind << ": " << line << "\n";
  }
  return options.leakCheckError && !lines.empty();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static void flushProgramOutput() {
  std::cout.flush();
  std::fflush(stdout);
}

/// Calls the program `repeat` times; the times are in microseconds.
static gpuasync::Status callProgram(const Options &options,
                                    PackedFunction function, CallFrame &frame,
                                    std::vector<double> &times) {
  times.reserve(options.repeat);
  for (uint64_t i = 0; i < options.repeat; ++i) {
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
  }
  return gpuasync::Status();
}

static Error checkEntryPointResult(const Options &options,
                                   const Signature &entry) {
  StringRef wanted = options.entryPointResult;
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

static CompileOptions compileOptions(const Options &options) {
  CompileOptions compile;
  compile.targets = options.targets;
  compile.printIRAfter = options.printIRAfter;
  compile.maxStreams = options.maxStreams;
  compile.optLevel = options.optLevel;
  compile.jit = options.emit.empty();
  return compile;
}

/// --emit: compile only.
static Error emitProgram(const Options &options, Program &program) {
  CompileOptions compile = compileOptions(options);
  if (compile.targets.empty())
    compile.targets = {"cpu"};
  if (Error error = program.lower(compile))
    return error;
  if (options.emit != "mlir")
    if (Error error = program.translate(compile, nullptr))
      return error;
  return program.emit(options.emit, options.outputFile);
}

static int runProgram(const Options &options, Program &program) {
  // What can be found wrong without a device or a compiler comes first.
  Expected<Signature> entry =
      program.entryPoint(options.entryPoint, options.entryPointResult);
  if (!entry)
    return fail(entry.takeError());
  Expected<CallFrame> frame = CallFrame::create(entry->name, entry->arguments,
                                                entry->results, options.inputs);
  if (!frame)
    return fail(frame.takeError());
  if (Error error = frame->checkOutputs(options.outputs))
    return fail(std::move(error));
  if (Error error = checkEntryPointResult(options, *entry))
    return fail(std::move(error));

  setPhase("opening the device");
  std::vector<Device> devices = allDevices();
  if (options.timeout > 0)
    gpuasync_set_timeout(options.timeout);
  Expected<gpuasync::Context> context = openContext(options.device, devices);
  if (!context)
    return fail(context.takeError());

  CompileOptions compile = compileOptions(options);
  if (compile.targets.empty())
    compile.targets =
        targetsOf(gpuasync_context_device(context->get()), devices);
  if (Error error = program.lower(compile))
    return fail(std::move(error));
  if (Error error = program.translate(compile, &*entry))
    return fail(std::move(error));

  bool failed = false;
  {
    gpuasync::ContextScope scope(*context);
    if (!scope.status().ok())
      return fail(toError(scope.status()));
    Expected<PackedFunction> function =
        program.link(*entry, options.sharedLibs);
    if (!function)
      return fail(function.takeError());

    setPhase("running the program");
    // The runtime gives up first, with a list of what did not finish.
    if (options.timeout > 0)
      startWatchdog(options.timeout, /*grace=*/2 + options.timeout / 10);
    std::vector<double> times;
    gpuasync::Status status = callProgram(options, *function, *frame, times);
    flushProgramOutput();
    if (!status.ok()) {
      fail(toError(status));
      // What did not finish would be waited for in vain.
      if (status.code() == GPUASYNC_TIMEOUT ||
          status.code() == GPUASYNC_DEVICE_LOST) {
        outs().flush();
        _exit(1);
      }
      failed = true;
    } else {
      setPhase("writing the results");
      frame->readResults();
      if (!options.entryPointResult.empty())
        frame->printPlainResult(outs());
      if (options.entryPointResult.empty() || !options.outputs.empty())
        if (Error error = frame->writeOutputs(options.outputs, outs()))
          failed = fail(std::move(error));
      if (options.benchmark && !failed)
        printBenchmark(std::move(times));
      outs().flush();
    }
    setPhase("unloading the program");
    if (Error error = program.unlink())
      failed |= fail(std::move(error)) && !failed;
  }
  flushProgramOutput();

  // After an error one message is enough: neither counters nor leaks on top.
  if (options.stats && !failed)
    if (Error error = writeStats(options, *context))
      failed = fail(std::move(error));
  setPhase("closing the device");
  gpuasync::Status closed = context->close();
  if (!failed && !closed.ok())
    failed = fail(toError(closed));
  if (!failed)
    failed = reportLeaks(options, *context);
  gpuasync::Status shutdown(gpuasync_shutdown());
  if (!failed && !shutdown.ok())
    failed = fail(toError(shutdown));
  return failed;
}

int main(int argc, char **argv) {
  installCrashHandlers();
  Expected<Options> options = parseOptions(argc, argv);
  if (!options)
    return fail(options.takeError());
  if (options->help) {
    outs() << helpText;
    return 0;
  }
  if (options->version) {
    outs() << "gpu-runner " GPUASYNC_VERSION ", LLVM " LLVM_VERSION_STRING "\n";
    return 0;
  }
  if (options->listDevices) {
    for (const Device &device : allDevices())
      printDevice(outs(), device);
    return 0;
  }

  setPhase("parsing");
  Program program;
  if (Error error = program.parse(options->file))
    return fail(std::move(error));
  if (!options->emit.empty()) {
    if (Error error = emitProgram(*options, program))
      return fail(std::move(error));
    return 0;
  }
  return runProgram(*options, program);
}

//===- Options.cpp - The command line of gpu-runner -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of GPUAsync/Options.def, and a table of those that are about one
// run; --name=value, --name value and -name mean the same.
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "GPUAsync/DeviceKinds.h"
#include "Kernels/Common/Environment.h"
#include "libs/aot/NewFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cmath>
#include <functional>
#include <unistd.h>

using namespace llvm;
using mlir::gpuasync::getWord;
using mlir::gpuasync::listWords;
using mlir::gpuasync::parseWord;

namespace gpurunner {

/// More threads are more likely a mistake.
static constexpr unsigned mostRanks = 1024;

static const StringLiteral help = R"(usage: gpu-runner [options] FILE|-

Compiles an MLIR program with GPU operations in this process and runs it. FILE
is in any form: upstream's gpu dialect, gpu_async, or what gpu-opt has lowered
to the LLVM dialect already, where each memref is several arguments; - is the
standard input.

What runs
  -e, --entry-point=NAME   the function to call (default: main)
  --entry-point-result=T   void|i32|i64|f32|f64: check that it returns T and
                           print just the value
  --input=VALUE            one per argument, in order: 3  i32=3  4xf32=1,2,3,4
                           2x3xi8 (zeros)  @file.npy  @file.npz:name
                           random:SEED  random:SEED:4x8
  --output=WHERE           one per argument and then per result, in order:
                           - (print)  @file.npy  empty (ignore); or by name:
                           --output=arg1=@file.npy  --output=result0=-
                           (default: print the results)
  --expect=VALUE           one per result, in order or by name, as --input: what
                           it should be; the exit code is 2 if it is not
  --tolerance=T            of --expect: ||x - expected|| <= T * ||expected||, over
                           all elements (default: 0)
  --shared-libs=A,B        libraries that the program calls; MLIR's runner
                           utilities are found without it

Where and how
  --device=DEVICE          auto|cpu|cuda[:N]|hip[:N] (default: auto)
  --list-devices           say which devices there are
  --ranks=N                call the program on N ranks, threads with a cpu device
                           or a GPU each; %r in --input, --output and --expect
                           is the number of the rank
  --resident=N,N-M         these arguments, counted from 0, stay on the device
                           between calls, as if they had the attribute
                           gpu_async.resident
  --timeout=SECONDS        give up after so long; 0: never (default: as
                           GPU_ASYNC_TIMEOUT says, else never)
%OPTIONS%  -O0, -O1, -O2, -O3       optimisation of host code and cpu kernels (-O3)
  --cache=off|FOLDER       where compiled programs are kept (default: as
                           GPU_ASYNC_CACHE_DIR says, else ~/.cache/gpu-async)

What is reported
  --repeat=N               call N times, with the inputs made new before each
  --warmup=N               call N times before those that count
  --benchmark[=table]      one JSON line on stdout: calls and times per call; or
                           a table
  --stats[=FILE|table]     one JSON line on stderr, or in FILE: what was created;
                           or a table on stderr
  --trace=FILE             when host and device did what, for ui.perfetto.dev;
                           gpu-async-timeline draws it
  --profile[=FILE|json]    a table on stderr, or in FILE: the time of each kernel
                           and copy; json, or where FILE ends in .json: one JSON
                           line
  --print-schedule[=FILE]  what runs on which stream, and what waits for what:
                           as text on stderr, or in FILE; of -e, where FILE
                           ends in .svg; for graphviz, where in .dot
  --timing[=stages|passes] the CPU time of each stage of compiling, on stderr; or
                           of each pass, too
  --print-ir-after=FORM    token|linear|stream|runtime, to stderr
  --leak-check=error       buffers that the program never released are an error

Compile only
  --emit=KIND              object|llvm|mlir|shared|exe instead of running: an
                           object file, IR, a shared object with functions for
                           C, a program that runs -e with .npy files
  --targets=A,B            targets of the kernels: cpu, nvptx:sm_90, amdgcn:gfx90a
  --mcpu=NAME|native       processor of host code and cpu kernels in LLVM's
                           words, native for this one (default: any of its kind)
  -o FILE                  where to (default: standard output)
  --header=FILE            of shared: the functions' header; -e lists functions
                           (default: all public ones)
  --linker=NAME            of shared and exe: a C compiler or a linker (default:
                           the first there is)

  --help, --version

The exit code is 0 only if everything worked. docs/reference/gpu-runner.md says more.
)";

/// Appends words to a line of help, in its column.
static void appendHelp(std::string &text, size_t &column, StringRef words) {
  constexpr size_t begin = 27, end = 80;
  for (StringRef word : split(words, ' ')) {
    if (column > begin && column + 1 + word.size() > end) {
      text += "\n";
      column = 0;
    } else if (column > begin) {
      text += " ";
      ++column;
    }
    if (column < begin) {
      text.append(begin - column, ' ');
      column = begin;
    }
    text += word;
    column += word.size();
  }
}

std::string helpText() {
  std::string options;
  for (const OptionRow &row : allOptions()) {
    if (findOption(Runner, row.name) != &row)
      continue;
    std::string name = ("  --" + row.name).str();
    if (!row.isFlag)
      name += row.words.empty() ? "=N" : "=HOW";
    size_t column = name.size();
    options += name;
    if (column >= 27) {
      options += "\n";
      column = 0;
    }
    if (!row.words.empty())
      appendHelp(options, column, row.words + ":");
    appendHelp(options, column, row.text);
    if (!row.isFlag)
      appendHelp(options, column, "(default: " + row.defaultText + ")");
    options += "\n";
  }
  auto [before, after] = help.split("%OPTIONS%");
  return (before + options + after).str();
}

namespace {
enum class Value { None, Required, Optional };

struct Option {
  const char *name;
  Value value;
  std::function<Error(StringRef)> set;
};
} // namespace

template <typename T>
static Error parseNumber(StringRef name, StringRef text, T &out) {
  if (text.getAsInteger(10, out))
    return createStringError("--" + name + "=" + text +
                             ": expected a whole number");
  return Error::success();
}

/// Numbers and ranges of numbers: 0,3-5.
static Error parseNumbers(StringRef name, StringRef text,
                          std::vector<unsigned> &out) {
  for (StringRef part : split(text, ',')) {
    auto [from, to] = part.split('-');
    unsigned first = 0, last = 0;
    if (from.getAsInteger(10, first) ||
        (part.contains('-') ? to : from).getAsInteger(10, last) ||
        last < first || last > 4095)
      return createStringError("--" + name + "=" + text +
                               ": expected numbers and ranges, as 0,3-5");
    for (unsigned number = first; number <= last; ++number)
      out.push_back(number);
  }
  return Error::success();
}

static void splitList(StringRef text, std::vector<std::string> &out) {
  for (StringRef part : split(text, ','))
    if (!part.trim().empty())
      out.push_back(part.trim().str());
}

static Error oneOf(StringRef name, StringRef text,
                   ArrayRef<StringRef> allowed) {
  if (is_contained(allowed, text))
    return Error::success();
  return createStringError("--" + name + "=" + text + ": expected one of " +
                           join(allowed, ", "));
}

/// Reads one word of an enum.
template <typename Enum>
static Error parseEnum(StringRef name, StringRef text, Enum &out) {
  std::optional<Enum> parsed = parseWord<Enum>(text);
  if (!parsed)
    return createStringError("--" + name + "=" + text + ": expected one of " +
                             listWords<Enum>());
  out = *parsed;
  return Error::success();
}

Expected<std::optional<Launched>> findLaunched() {
  Launched found;
  if (std::string error = gpuasync::ranks::findLaunched(found); !error.empty())
    return createStringError(error);
  return found.count ? std::optional(found) : std::nullopt;
}

/// The file that an --output names; empty: none.
static StringRef outputFile(StringRef output) {
  StringRef file = output.starts_with("@") ? output : output.split('=').second;
  return file.consume_front("@") ? file : "";
}

/// The later of two files that are written would be all that is left of both.
static Error checkFiles(const Options &o) {
  SmallVector<std::pair<StringRef, StringRef>> files{
      {"-o", o.outputFile},
      {"--header", o.header},
      {"--trace", o.trace},
      {"--print-schedule",
       o.compile.printSchedule ? StringRef(*o.compile.printSchedule) : ""},
      {"--profile", o.profileFile == "json" ? "" : StringRef(o.profileFile)},
      {"--stats", o.statsFile}};
  if (o.launched && o.launched->count > 1)
    for (auto [option, file] : ArrayRef(files).drop_front(2))
      if (option != "--print-schedule" && !file.contains("%p") &&
          gpuasync::isSameNewFile(file.str(), file.str()))
        return createStringError(option + "=" + file +
                                 ": all processes write the same file; %p in "
                                 "its name is the number of the process");
  if (o.ranksHere() > 1 || (o.launched && o.launched->count > 1))
    for (StringRef output : o.outputs)
      if (StringRef file = outputFile(output);
          !file.contains("%r") &&
          gpuasync::isSameNewFile(file.str(), file.str()))
        return createStringError("--output=" + output +
                                 ": all ranks write the same file; %r in its "
                                 "name is the number of the rank");
  for (StringRef output : o.outputs)
    files.push_back({"--output", outputFile(output)});
  for (auto [i, later] : enumerate(files))
    for (const auto &other : ArrayRef(files).take_front(i))
      if (gpuasync::isSameNewFile(other.second.str(), later.second.str()))
        return createStringError(later.first + " and " + other.first +
                                 " write the same file, '" + later.second +
                                 "'");
  return Error::success();
}

/// Returns what to write instead of an option of gpu-async-pipeline that
/// gpu-runner does not have; empty if `name` is none.
static std::string explainPipelineOption(StringRef name) {
  static const std::pair<StringRef, StringRef> others[] = {
      {"opt-level", "-O0, -O1, -O2 or -O3"},
      {"take-stream", "--stream=caller"},
      {"print-statistics", "--stats or --print-schedule"}};
  for (auto [option, other] : others)
    if (name == option)
      return ("in gpu-runner it is " + other).str();
  if (none_of(allOptions(), [&](const OptionRow &row) {
        return row.name == name && (row.kind == OptionKind::Common ||
                                    row.kind == OptionKind::Pipeline);
      }))
    return "";
  return ("only gpu-opt has it, as --gpu-async-pipeline=" + name +
          "=...; gpu-runner runs the file that gpu-opt writes")
      .str();
}

Expected<Options> parseOptions(int argc, char **argv) {
  Options o;
  auto text = [](std::string &field) {
    return [&field](StringRef value) {
      field = value.str();
      return Error::success();
    };
  };
  auto flag = [](bool &field) {
    return [&field](StringRef) {
      field = true;
      return Error::success();
    };
  };
  auto list = [](std::vector<std::string> &field) {
    return [&field](StringRef value) {
      splitList(value, field);
      return Error::success();
    };
  };
  auto append = [](std::vector<std::string> &field) {
    return [&field](StringRef value) {
      field.push_back(value.str());
      return Error::success();
    };
  };

  auto entryPoint = [&o](StringRef value) {
    o.compile.entryPoint = value.str();
    o.hasEntryPoint = true;
    return Error::success();
  };

  CompileOptions &compile = o.compile;
  std::optional<double> tolerance;
  std::vector<Option> table = {
      {"e", Value::Required, entryPoint},
      {"entry-point", Value::Required, entryPoint},
      {"entry-point-result", Value::Required,
       [&](StringRef value) {
         compile.entryPointResult = value.str();
         return oneOf("entry-point-result", value,
                      {"void", "i32", "i64", "f32", "f64"});
       }},
      {"input", Value::Required, append(o.inputs)},
      {"output", Value::Required, append(o.outputs)},
      {"expect", Value::Required, append(o.expected)},
      {"tolerance", Value::Required,
       [&](StringRef value) -> Error {
         double &number = tolerance.emplace();
         if (value.getAsDouble(number) || !std::isfinite(number) || number < 0)
           return createStringError("--tolerance=" + value +
                                    ": expected a number, 0 or more");
         return Error::success();
       }},
      {"shared-libs", Value::Required, list(compile.sharedLibs)},
      {"device", Value::Required, text(o.device)},
      {"list-devices", Value::None, flag(o.listDevices)},
      {"ranks", Value::Required,
       [&](StringRef value) -> Error {
         unsigned &count = o.ranks.emplace();
         if (value.getAsInteger(10, count) || count < 1 || count > mostRanks)
           return createStringError("--ranks=" + value +
                                    ": expected a number from 1 to " +
                                    Twine(mostRanks));
         return Error::success();
       }},
      {"resident", Value::Required,
       [&](StringRef value) {
         return parseNumbers("resident", value, compile.residents);
       }},
      {"timeout", Value::Required,
       [&](StringRef value) -> Error {
         double seconds = 0;
         if (value.getAsDouble(seconds) || !std::isfinite(seconds) ||
             seconds < 0)
           return createStringError("--timeout=" + value +
                                    ": expected a number of seconds; 0: no "
                                    "limit");
         o.timeout = seconds;
         return Error::success();
       }},
      {"cache", Value::Required,
       [&](StringRef value) -> Error {
         o.cache = value.str();
         if (value.empty())
           return createStringError("--cache=: expected off or a folder");
         return Error::success();
       }},
      {"repeat", Value::Required,
       [&](StringRef value) -> Error {
         if (Error error = parseNumber("repeat", value, o.repeat))
           return error;
         if (o.repeat == 0)
           return createStringError("--repeat=0: expected at least 1");
         return Error::success();
       }},
      {"warmup", Value::Required,
       [&](StringRef value) { return parseNumber("warmup", value, o.warmup); }},
      {"benchmark", Value::Optional,
       [&](StringRef value) -> Error {
         if (!value.empty() && value != "table")
           return createStringError("--benchmark=" + value +
                                    ": expected table or nothing");
         o.benchmark = true;
         o.benchmarkTable = !value.empty();
         return Error::success();
       }},
      {"stats", Value::Optional,
       [&](StringRef value) {
         o.stats = true;
         o.statsTable = value == "table";
         o.statsFile = o.statsTable ? "" : value.str();
         return Error::success();
       }},
      {"trace", Value::Required,
       [&](StringRef value) -> Error {
         o.trace = value.str();
         if (value.empty())
           return createStringError("--trace=: expected a file");
         for (StringRef ending : {".svg", ".png", ".pdf", ".jpg", ".html"})
           if (value.ends_with_insensitive(ending))
             return createStringError(
                 "--trace=" + value +
                 ": a trace is JSON, for ui.perfetto.dev; name it .json, and "
                 "draw it with `gpu-async-timeline TRACE.json -o PICTURE.svg`");
         return Error::success();
       }},
      {"profile", Value::Optional,
       [&](StringRef value) {
         o.profile = true;
         o.profileFile = value.str();
         return Error::success();
       }},
      {"print-schedule", Value::Optional,
       [&](StringRef value) -> Error {
         for (StringRef ending : {".png", ".pdf", ".jpg", ".ps", ".html"})
           if (value.ends_with_insensitive(ending))
             return createStringError(
                 "--print-schedule=" + value +
                 ": a picture is .svg, .dot, or else a text; graphviz makes "
                 "others of the .dot, as in `dot -Tpdf`");
         compile.printSchedule = value.str();
         return Error::success();
       }},
      {"timing", Value::Optional,
       [&](StringRef value) {
         TimingMode mode = TimingMode::Stages;
         Error error = value.empty() ? Error::success()
                                     : parseEnum("timing", value, mode);
         compile.timing = mode;
         return error;
       }},
      {"print-ir-after", Value::Required,
       [&](StringRef value) -> Error {
         std::vector<std::string> forms;
         splitList(value, forms);
         for (StringRef form : forms)
           if (Error error = parseEnum("print-ir-after", form,
                                       compile.printIRAfter.emplace_back()))
             return error;
         return Error::success();
       }},
      {"leak-check", Value::Required,
       [&](StringRef value) {
         return parseEnum("leak-check", value, o.leakCheck);
       }},
      {"emit", Value::Required,
       [&](StringRef value) {
         return parseEnum("emit", value, o.emit.emplace());
       }},
      {"targets", Value::Required, list(compile.targets)},
      {"mcpu", Value::Required, text(compile.processor)},
      {"o", Value::Required, text(o.outputFile)},
      {"header", Value::Required, text(o.header)},
      {"linker", Value::Required, text(o.linker)},
      {"help", Value::None, flag(o.help)},
      {"h", Value::None, flag(o.help)},
      {"version", Value::None, flag(o.version)},
  };
  for (int level = 0; level < 4; ++level) {
    static const char *const names[] = {"O0", "O1", "O2", "O3"};
    table.push_back({names[level], Value::None, [&compile, level](StringRef) {
                       compile.optLevel = level;
                       return Error::success();
                     }});
  }
  for (const OptionRow &row : allOptions())
    if (findOption(Runner, row.name) == &row)
      table.push_back(
          {row.name.data(), row.isFlag ? Value::None : Value::Required,
           [&compile, &row](StringRef value) -> Error {
             std::optional<std::string> allowed =
                 setOption(compile, row.name, row.isFlag ? "true" : value);
             if (!allowed)
               return Error::success();
             return createStringError("--" + row.name + "=" + value +
                                      ": expected " + *allowed);
           }});

  auto find = [&table](StringRef name) {
    return find_if(
        table, [name](const Option &option) { return name == option.name; });
  };
  // `-` and negative numbers are values. Nothing that starts with -- is one.
  auto isOption = [&](StringRef argument) {
    if (!argument.consume_front("-"))
      return false;
    return argument.starts_with("-") ||
           find(argument.split('=').first) != table.end();
  };

  // The first option that says how a program runs or what is reported of it.
  StringRef ofRun;
  bool haveFile = false, optionsEnd = false;
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i];
    if (optionsEnd || argument == "-" || !argument.starts_with("-")) {
      if (haveFile)
        return createStringError("more than one file: '" + o.file + "' and '" +
                                 argument + "'");
      o.file = argument.str();
      haveFile = true;
      continue;
    }
    if (argument == "--") {
      optionsEnd = true;
      continue;
    }
    StringRef body = argument.drop_front(argument.starts_with("--") ? 2 : 1);
    auto [name, value] = body.split('=');
    bool hasValue = body.contains('=');
    auto option = find(name);
    if (option == table.end() && name.size() == 2 && name[0] == 'O')
      return createStringError("'" + Twine(argument) +
                               "' is none of -O0, -O1, -O2, -O3");
    if (option == table.end()) {
      std::string hint;
      unsigned best = 3;
      // One wrong digit says nothing about which option was meant.
      for (const Option &known : table) {
        if (StringRef(known.name).size() < 3)
          continue;
        unsigned distance = name.edit_distance(known.name, true, best);
        if (distance < best) {
          best = distance;
          hint = std::string("; did you mean --") + known.name + "?";
        }
      }
      if (std::string pipeline = explainPipelineOption(name); !pipeline.empty())
        hint = "; " + pipeline;
      return createStringError("unknown option '" + argument + "'" +
                               (hint.empty() ? "; see --help" : hint));
    }
    if (option->value == Value::None && hasValue)
      return createStringError("--" + name + " takes no value");
    if (option->value == Value::Required && !hasValue) {
      if (i + 1 == argc)
        return createStringError(argument + " needs a value");
      value = argv[++i];
      if (isOption(value))
        return createStringError("--" + name + " needs a value, and '" + value +
                                 "' is an option; write --" + name + "=VALUE");
    }
    if (Error error = option->set(value))
      return std::move(error);
    // `--output=` is a result that nobody wants.
    if (option->value == Value::Required && value.empty() && name != "output" &&
        name != "input")
      return createStringError("--" + name + " needs a value");
    static const StringRef runs[] = {
        "input",   "output",     "expect",  "repeat",
        "warmup",  "benchmark",  "stats",   "trace",
        "profile", "leak-check", "timeout", "entry-point-result",
        "ranks"};
    if (ofRun.empty() && is_contained(runs, option->name))
      ofRun = option->name;
  }
  if (o.emit && !ofRun.empty())
    return createStringError("--" + ofRun +
                             ": not with --emit, which compiles "
                             "and runs nothing");
  if (!o.emit && !o.ranks &&
      mlir::gpuasync::getVariable("GPU_ASYNC_RANKS") == "1")
    o.ranks = 1;
  std::optional<Launched> launched;
  if (!o.emit && (!o.ranks || *o.ranks > 1)) {
    Expected<std::optional<Launched>> found = findLaunched();
    if (!found)
      return found.takeError();
    launched = *found;
  }
  if (!o.ranks)
    o.launched = launched;
  else if (launched)
    return createStringError("--ranks=" + Twine(*o.ranks) +
                             ": a launcher started this process, which is one "
                             "rank; leave the option out, or write --ranks=1 "
                             "for programs that do not meet");
  if (tolerance && o.expected.empty())
    return createStringError("--tolerance: only with --expect");
  o.tolerance = tolerance.value_or(0);
  if (!compile.processor.empty() && !o.emit)
    return createStringError("--mcpu=" + compile.processor +
                             ": only with --emit; what runs here is compiled "
                             "for this processor");
  // Before what --place=off wants: with that changed this would be left.
  const bool takesStream = compile.stream == StreamMode::Caller;
  if (takesStream && (!o.emit || o.emit == Emit::Exe))
    return createStringError(
        "--stream=caller: only with --emit=shared, object, "
        "llvm and mlir; here there is no caller");
  if (compile.place != PlaceMode::Copy && !o.emit)
    return createStringError("--place=off: only with --emit; gpu-runner calls "
                             "functions with memory of the host");
  bool isLinked = o.emit == Emit::Shared || o.emit == Emit::Exe;
  if (!o.emit && !o.outputFile.empty())
    return createStringError("-o " + o.outputFile +
                             ": only with --emit; --output=@FILE.npy writes "
                             "a result");
  if (isLinked && (o.outputFile.empty() || o.outputFile == "-"))
    return createStringError("--emit=" + getWord(*o.emit) +
                             ": name the file with -o");
  if (!o.linker.empty() && !isLinked)
    return createStringError("--linker=" + o.linker +
                             ": only with --emit=shared and --emit=exe");
  if (!o.header.empty() && o.emit != Emit::Shared)
    return createStringError("--header=" + o.header +
                             ": only with --emit=shared");
  if (o.emit == Emit::Exe && compile.place != PlaceMode::Copy)
    return createStringError("--place=off: not with --emit=exe, whose arrays "
                             "are the host's");
  if (takesStream && o.emit == Emit::Shared && compile.place != PlaceMode::Off)
    return createStringError(
        "--stream=caller: with --emit=shared also --place=off; copies of "
        "arguments and results would be waited for");
  if (Error error = checkFiles(o))
    return std::move(error);
  // The runtime does so for --trace.
  if (o.launched)
    for (std::string *file : {&o.profileFile, &o.statsFile})
      for (size_t at; (at = file->find("%p")) != std::string::npos;)
        file->replace(at, 2, std::to_string(getpid()));
  if (!haveFile && !o.help && !o.version && !o.listDevices)
    return createStringError("no file given; see --help");
  const bool checks = compile.check;
  if (!compile.play.isGiven()) {
    auto variable = mlir::gpuasync::getVariable("GPU_ASYNC_PLAY");
    if (checks || o.profile) {
      compile.play = Play::Streams;
    } else if (variable && haveFile) {
      std::optional<Play> play = parseWord<Play>(*variable);
      if (!play)
        return createStringError("GPU_ASYNC_PLAY: '" + *variable +
                                 "' is none of " + listWords<Play>());
      compile.play = *play;
    }
  }
  if (checks && compile.play != Play::Streams)
    return createStringError("--check: only with --play=streams, not with " +
                             getWord(*compile.play));
  if (checks) {
    if (o.device == "auto")
      o.device = mlir::gpuasync::cpuDevice.device;
    if (o.device != mlir::gpuasync::cpuDevice.device)
      return createStringError("--check: only on the cpu device, not on " +
                               o.device);
    if (o.emit)
      return createStringError("--check: not with --emit");
    // The checker knows memory by allocations: the program's own, unless it is
    // the plan that is to be checked.
    if (!compile.memory.isGiven())
      compile.memory = MemoryMode::Keep;
    // Work that may overlap goes to streams of its own, where its order shows.
    if (!compile.maxStreams.isGiven())
      compile.maxStreams = 0;
  }
  compile.jit = !o.emit;
  return o;
}

} // namespace gpurunner

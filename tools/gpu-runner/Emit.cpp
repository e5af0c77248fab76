//===- Emit.cpp - Programs that are written, not run ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Emit.h.
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "Crash.h"
#include "Files.h"
#include "LinkFile.h"

#include "Execution/CFunctions.h"
#include "Execution/Compile.h"
#include "Execution/Link.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace gpuexec;

namespace gpurunner {

/// What is compiled for C: with --emit=exe the entry point, else what -e lists,
/// or every public function. Their signatures are the source's.
static Expected<std::vector<CFunction>>
findFunctions(Program &program, const Options &options, StringRef name) {
  bool isExe = *options.emit == Emit::Exe;
  if (program.isLowered())
    return createStringError(name +
                             " is lowered already, and says no more what its "
                             "functions take; give it the file from before");
  std::vector<std::string> names;
  if (isExe || options.hasEntryPoint)
    for (StringRef entry : split(options.compile.entryPoint, ','))
      names.push_back(entry.str());
  else
    names = program.entryPoints();
  if (isExe && names.size() > 1)
    return createStringError("-e " + options.compile.entryPoint +
                             ": a program runs one function");
  if (names.empty())
    return createStringError(name + ": no public function has a body");

  std::vector<CFunction> functions;
  StringMap<std::string> known;
  for (const std::string &entry : names) {
    Expected<Signature> signature = program.entryPoint(entry, "");
    if (!signature)
      return signature.takeError();
    if (Error error = Program::refuseTaken(*signature))
      return error;
    // @main of a program is no main of C.
    CFunction function{
        isExe || entry != "main" ? entry : cIdentifier(options.outputFile),
        std::move(*signature)};
    std::string wrong = unsupportedInC(function);
    if (wrong.empty() && !isExe && !isCName(function.name))
      wrong = "is called '" + function.name +
              "' in C, which is no name for a function there; rename it" +
              (entry == "main" ? ", or the file that -o names" : "");
    auto [other, isNew] = known.try_emplace(function.name, entry);
    if (wrong.empty() && !isNew)
      wrong = "is called '" + function.name + "' in C, as @" + other->second +
              " is; rename one, or the file that -o names";
    if (!wrong.empty()) {
      program.emitError(entry)
          << wrong
          << (isExe || options.hasEntryPoint
                  ? ""
                  : "; or name the functions that C calls with -e");
      return reportedError();
    }
    functions.push_back(std::move(function));
  }
  return functions;
}

/// --place=off: what is returned lies on the device.
static Error checkPlace(Program &program, const Options &options,
                        const CFunction &function) {
  if (options.compile.place == mlir::gpuasync::PlaceMode::Copy)
    return Error::success();
  const Signature &signature = function.signature;
  for (auto [i, type, destination] :
       enumerate(signature.results, signature.destinations))
    if (isa<mlir::TensorType>(type) && destination < 0) {
      program.emitError(signature.name)
          << "result " << i << ", " << type
          << ", has sizes that are known at run time only, which --place=off "
             "has no memory for; compile it with --place=copy";
      return reportedError();
    }
  return Error::success();
}

/// Links the program, and writes it and its header.
static Error writeLinked(Program &program, const Options &options,
                         ArrayRef<CFunction> functions, StringRef name) {
  bool isShared = *options.emit == Emit::Shared;
  setPhase("compiling");
  Libraries libraries;
  libraries.allowAtExit();
  libraries.leaveOutRunnerUtilities();
  libraries.override([](const char *name) -> void * {
    static char there; // in libgpuasync_aot.a
    return is_contained({"gpuasync_c_call", "memrefCopy"}, StringRef(name))
               ? &there
               : nullptr;
  });
  if (Error error = libraries.open(options.compile.sharedLibs))
    return error;
  if (Error error = program.checkSymbols(libraries))
    return error;
  std::vector<std::string> paths = libraries.files();
  const bool needsBlas = any_of(paths, [](StringRef path) {
    return sys::path::filename(path).starts_with("libgpuasync_blas.so");
  });
  Expected<std::unique_ptr<MemoryBuffer>> object = program.makeObject();
  if (!object)
    return object.takeError();
  setPhase("linking");
  std::string file = sys::path::filename(options.outputFile).str();
  Expected<LinkedFile> linked =
      linkFile((*object)->getBuffer(), {isShared, file, options.linker, paths},
               [&] { return program.emitError(); });
  if (!linked)
    return linked.takeError();

  // Neither file is replaced unless both are complete.
  SmallVector<NewFile, 2> files;
  auto write = [&](StringRef path, StringRef bytes,
                   bool isExecutable) -> Error {
    Expected<NewFile> made =
        makeFile(path, [&](raw_ostream &os) { os << bytes; }, isExecutable);
    if (!made)
      return made.takeError();
    files.push_back(std::move(*made));
    return Error::success();
  };
  if (Error error =
          write(options.outputFile, linked->bytes, /*isExecutable=*/true))
    return error;
  if (!options.header.empty())
    if (Error error =
            write(options.header, makeCHeader(functions, options.header, name),
                  /*isExecutable=*/false))
      return error;
  if (Error error = commit(files))
    return error;
  errs() << "gpu-runner: " << file << " linked by " << linked->linker
         << "; it looks for libgpuasync_runtime.so"
         << (needsBlas ? " and libgpuasync_blas.so" : "")
         << " next to itself and in " << linked->runtimeFolder << "\n";
  return Error::success();
}

/// Fails if -e names a function that is not there, also where all of the file
/// is compiled.
static Error findNames(Program &program, const Options &options) {
  if (!options.hasEntryPoint || program.isLowered())
    return Error::success();
  std::vector<std::string> known = program.entryPoints();
  for (StringRef entry : split(options.compile.entryPoint, ','))
    if (!is_contained(known, entry)) {
      Expected<Signature> signature = program.entryPoint(entry.str(), "");
      if (!signature)
        return signature.takeError();
    }
  return Error::success();
}

/// The numbers of --resident are those of one function's arguments.
static Error markResidents(Program &program, const Options &options) {
  if (options.compile.residents.empty())
    return Error::success();
  std::vector<std::string> names = program.entryPoints();
  if (options.hasEntryPoint || *options.emit == Emit::Exe) {
    names.clear();
    for (StringRef entry : split(options.compile.entryPoint, ','))
      names.push_back(entry.str());
  }
  if (names.size() != 1)
    return createStringError(
        "--resident: counts the arguments of one function: name it with -e, or "
        "give the arguments of each the attribute gpu_async.resident");
  return program.markResidents(names.front(), options.compile.residents);
}

Error emitProgram(const Options &options, const CompileOptions &compile,
                  std::unique_ptr<MemoryBuffer> input, StringRef name) {
  setPhase("parsing");
  Program program(/*print=*/true);
  program.timing.mode = options.compile.timing;
  scope_exit printTiming([&] { errs() << program.timing.table(); });
  if (Error error = program.parse(std::move(input), name))
    return error;
  if (Error error = findNames(program, options))
    return error;
  if (Error error = markResidents(program, options))
    return error;
  bool isLinked = *options.emit == Emit::Shared || *options.emit == Emit::Exe;
  std::vector<CFunction> functions;
  if (isLinked) {
    Expected<std::vector<CFunction>> found =
        findFunctions(program, options, name);
    if (!found)
      return found.takeError();
    functions = std::move(*found);
  }
  setPhase("compiling");
  if (Error error = program.schedule(compile))
    return error;
  for (CFunction &function : functions) {
    if (Error error = program.findDestinations(function.signature))
      return error;
    if (Error error = checkPlace(program, options, function))
      return error;
  }
  if (Error error = program.lower(compile))
    return error;
  if (isLinked) {
    if (Error error = program.translateForC(compile, functions,
                                            *options.emit == Emit::Exe))
      return error;
    return writeLinked(program, options, functions, name);
  }
  if (*options.emit != Emit::MLIR)
    if (Error error = program.translate(compile, {}))
      return error;
  Error wrong = Error::success();
  Error written = writeFile(
      options.outputFile.empty() ? "-" : StringRef(options.outputFile),
      [&](raw_ostream &os) { wrong = program.emit(*options.emit, os); });
  return joinErrors(std::move(wrong), std::move(written));
}

} // namespace gpurunner

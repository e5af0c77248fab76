//===- LinkFile.cpp - Shared objects and programs -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C compiler knows where its C library is, so it comes first; a plain linker
// will do for shared objects, given the libraries of this process by path.
//===----------------------------------------------------------------------===//

#include "LinkFile.h"

#include "Execution/Compile.h"
#include "Execution/Link.h"
#include "Kernels/Common/Environment.h"
#include "Kernels/Common/Tools.h"
#include "gpuasync/RuntimeABI.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>

using namespace llvm;

namespace gpurunner {

static const StringRef compilers[] = {"cc", "gcc", "clang", "clang-22"};
static const StringRef linkers[] = {"ld.lld-22", "ld.lld", "ld"};

/// The file of this process that has a function, without symbolic links.
template <typename Function>
static std::string fileOf(Function *function) {
  Dl_info info;
  SmallString<128> path;
  if (!function || !dladdr(reinterpret_cast<void *>(function), &info) ||
      sys::fs::real_path(info.dli_fname, path))
    return "";
  return path.str().str();
}

static Expected<std::string> findLinker(const LinkJob &job) {
  if (!job.linker.empty()) {
    if (sys::path::has_parent_path(job.linker)) {
      if (sys::fs::can_execute(job.linker))
        return job.linker;
    } else if (auto found = mlir::gpuasync::findProgram(job.linker)) {
      return *found;
    }
    return createStringError("--linker=" + job.linker +
                             ": there is no such program");
  }
  SmallVector<StringRef> names;
  append_range(names, compilers);
  if (job.isShared)
    append_range(names, linkers);
  for (StringRef name : names)
    if (auto found = mlir::gpuasync::findProgram(name))
      return *found;
  return createStringError(
      "nothing to link " + job.name + " with: looked for " + join(names, ", ") +
      " in PATH; install " +
      (job.isShared ? "a C compiler or a linker (Debian: gcc, or lld-22)"
                    : "a C compiler (Debian: gcc and libc6-dev)") +
      ", or name one with --linker");
}

/// Whether a program is a linker and no compiler, by its name.
static bool isPlainLinker(StringRef path) {
  StringRef name = sys::path::filename(path);
  return name.starts_with("ld") || name.contains("lld") || name == "mold";
}

/// Adds a folder to those that the file looks for libraries in.
static Error addRunPath(StringRef folder, const LinkJob &job,
                        SmallVectorImpl<std::string> &options) {
  // Separates folders, begins what the loader replaces.
  if (folder.find_first_of(":$") != StringRef::npos)
    return createStringError(job.name + " cannot look for libraries in '" +
                             folder +
                             "', as no folder with a ':' or '$' in its name "
                             "can be a run path; rename it");
  options.append({"-rpath", folder.str()});
  return Error::success();
}

Expected<LinkedFile>
linkFile(StringRef object, const LinkJob &job,
         function_ref<mlir::InFlightDiagnostic()> emitError) {
  Expected<std::string> linker = findLinker(job);
  if (!linker)
    return linker.takeError();
  bool isPlain = isPlainLinker(*linker);
  if (isPlain && !job.isShared)
    return createStringError("--linker=" + job.linker +
                             ": a program is linked by a C compiler, which "
                             "knows where the C library's beginning of "
                             "programs is");

  std::string runtime = fileOf(&gpuasync_abi_version);
  StringRef folder = sys::path::parent_path(runtime);
  std::string archive = (folder + "/libgpuasync_aot.a").str();
  if (!sys::fs::exists(archive))
    return createStringError(archive + ", which is linked into " + job.name +
                             ", is not there; it is installed with the "
                             "runtime's library");

  // Options of the linker, which a compiler passes on.
  SmallVector<std::string> options{
      "--enable-new-dtags", "-rpath", "$ORIGIN", "--gc-sections", "-z",
      "noexecstack",        "-z",     "defs"};
  // Kernels run on threads of the runtime, and a thread that is in dlopen may
  // wait for them: no symbol is looked up under the loader's lock.
  options.append({"-z", "now"});
  if (Error error = addRunPath(folder, job, options))
    return std::move(error);
  // Absolute paths: in others, and in those that a library without a name of
  // its own is looked for by, the folder is that of whoever runs the program.
  SmallVector<std::string> libraries;
  for (StringRef library : job.libraries) {
    SmallString<128> path(library);
    if (std::error_code error = sys::fs::make_absolute(path))
      return createStringError("the current folder is not known: " +
                               error.message());
    sys::path::remove_dots(path);
    if (Error error = addRunPath(sys::path::parent_path(path), job, options))
      return std::move(error);
    libraries.push_back(path.str().str());
  }
  if (job.isShared)
    // One word: a linker would read a file in place of one that begins with @.
    options.append({"-soname=" + job.name, "-Bsymbolic"});
  SmallVector<std::string> before, after;
  before.push_back(job.isShared ? "-shared" : "-pie");
  for (const std::string &option : options) {
    if (!isPlain)
      before.push_back("-Xlinker");
    before.push_back(option);
  }
  after.push_back(archive);
  append_range(after, libraries);
  after.push_back(runtime);
  // By path: a plain linker knows no folders, and the C++ library's link is not
  // everywhere.
  after.push_back(isPlain ? "--as-needed" : "-Wl,--as-needed");
  after.push_back(fileOf(static_cast<void (*)() noexcept>(&std::terminate)));
  after.push_back(fileOf(gpuexec::findVectorMath("_ZGVbN4v_expf")));
  after.push_back(fileOf(static_cast<double (*)(double)>(&std::exp)));
  after.push_back(fileOf(&std::malloc));
  erase_if(after, [](const std::string &path) { return path.empty(); });

  SmallVector<StringRef> first(before.begin(), before.end()),
      last(after.begin(), after.end());
  mlir::FailureOr<std::string> bytes = mlir::gpuasync::runTool(
      {*linker, *linker, "o", job.isShared ? "so" : "exe", /*hint=*/"",
       /*timeout=*/0},
      first, object, emitError, last);
  if (failed(bytes))
    return gpuexec::reportedError();
  return LinkedFile{std::move(*bytes), *linker, folder.str()};
}

} // namespace gpurunner

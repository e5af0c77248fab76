//===- Link.h - From an object file to functions to call --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links the object of a program into this process. Nothing is compiled: the
// object may be one that an earlier process made.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_EXECUTION_LINK_H
#define GPUASYNC_LIB_EXECUTION_LINK_H

#include "gpuasync/Status.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace gpuexec {

/// void (void **args), the packed calling convention of docs/reference/ABI.md.
using PackedFunction = void (*)(void **);

/// Where a program's undefined names are found, in this order: the runtime's
/// functions by the ABI's list, those that the embedder names, --shared-libs,
/// this process, and libraries that are opened when a name is found nowhere
/// else: libgpuasync_blas.so for LAPACK, libgpuasync_ranks.so, MLIR's runner
/// utilities, and glibc's vector math.
class Libraries {
public:
  /// Opens --shared-libs. They stay open.
  llvm::Error open(llvm::ArrayRef<std::string> sharedLibs);
  /// Adds functions of this process by their names in the program.
  void define(llvm::ArrayRef<std::pair<std::string, void *>> functions) {
    named.assign(functions.begin(), functions.end());
  }
  /// `find` knows names that come before all others, or returns null.
  void override(void *(*find)(const char *name)) { overriding = find; }
  bool empty() const { return handles.empty(); }
  /// Programs find `atexit`, which does not say whose function it is given: for
  /// processes that run one program.
  void allowAtExit() { hasAtExit = true; }
  /// For programs that go without MLIR's runner utilities, which need LLVM.
  void leaveOutRunnerUtilities() { hasRunnerUtilities = false; }
  /// Null if there is no such name.
  void *find(llvm::StringRef name) const;
  /// The paths of --shared-libs, and of the runtime's own libraries in which a
  /// function was found.
  std::vector<std::string> files() const;

private:
  void *findInOwnLibraries(llvm::StringRef name) const;

  std::vector<void *> handles;
  mutable std::vector<void *> ownLibraries; ///< that were needed
  std::vector<std::pair<std::string, void *>> named;
  void *(*overriding)(const char *name) = nullptr;
  bool hasAtExit = false;
  bool hasRunnerUtilities = true;
};

/// The path of libgpuasync_NAME.so, which lies next to the runtime; empty: it
/// is not there.
std::string findOwnLibrary(llvm::StringRef name);
/// Opens it, to stay open; null: it is not there.
void *openOwnLibrary(llvm::StringRef name);

/// A function of glibc's vector math in this process, by its name in libmvec;
/// null if there is none.
void *findVectorMath(llvm::StringRef name);
/// An address in libmvec, null if there is none.
const void *addressInVectorMath();

/// A symbol of an object file.
struct ObjectSymbol {
  std::string name;
  uint64_t section, offset, size;
  bool global, defined, function, weak;
};

class LinkedProgram {
public:
  LinkedProgram();
  ~LinkedProgram();

  /// Whether all names that the object needs are found.
  static bool canLink(llvm::MemoryBufferRef object, const Libraries &libraries);
  /// Links the object. Once.
  llvm::Error link(llvm::MemoryBufferRef object, const Libraries &libraries);
  /// A function by its name in the file, after link.
  llvm::Expected<PackedFunction> lookup(llvm::StringRef entryPoint);
  /// Calls `visit` with each function of the object, after link: its name and
  /// address, bytes, offset in its section, and the section's index.
  void forEachFunction(llvm::function_ref<void(llvm::StringRef, uint64_t,
                                               uint64_t, uint64_t, uint64_t)>
                           visit);
  /// Whether `address` lies in memory that nothing may write: constants of the
  /// program, or of a library of this process. Thread safe, after link.
  bool isReadOnly(const void *address) const;
  /// Runs the program's global constructors.
  void construct();
  /// Releases the program and runs what it left to atexit and its global
  /// destructors. After an error it may still run, so its code must stay.
  gpuasync::Status release();

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<ObjectSymbol> symbols;
  /// Addresses of the program's sections without write access, from one to
  /// before the other.
  std::vector<std::pair<uintptr_t, uintptr_t>> readOnly;
  std::unique_ptr<char> dsoHandle; ///< the program, for __cxa_atexit
  const gpuasync_program *program = nullptr;
  void (*constructors)() = nullptr;
  void (*destructors)() = nullptr;
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_EXECUTION_LINK_H

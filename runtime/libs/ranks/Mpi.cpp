//===- Mpi.cpp - Messages between processes -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Mpi.h. Handles are words: pointers in Open MPI and in the standard's ABI,
// and an int in MPICH, which reads the low half of what it is given.
//===----------------------------------------------------------------------===//

#include "libs/ranks/Mpi.h"

#include "libs/launcher/Launcher.h"
#include "shim/base/Settings.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

using namespace gpuasync;
using namespace gpuasync::ranks;

/// The library's functions, and the constants of its ABI.
struct Mpi::Table {
  std::string library;
  uintptr_t world = 0, byte = 0, errorsReturn = 0;
  int funneled = 1, multiple = 3;

  int (*Initialized)(int *) = nullptr;
  int (*Finalized)(int *) = nullptr;
  int (*Query_thread)(int *) = nullptr;
  int (*Init_thread)(int *, char ***, int, int *) = nullptr;
  int (*Finalize)() = nullptr;
  int (*Comm_dup)(uintptr_t, uintptr_t *) = nullptr;
  int (*Comm_rank)(uintptr_t, int *) = nullptr;
  int (*Comm_size)(uintptr_t, int *) = nullptr;
  int (*Comm_set_errhandler)(uintptr_t, uintptr_t) = nullptr;
  int (*Error_string)(int, char *, int *) = nullptr;
  int (*Isend)(const void *, int, uintptr_t, int, int, uintptr_t,
               uintptr_t *) = nullptr;
  int (*Irecv)(void *, int, uintptr_t, int, int, uintptr_t,
               uintptr_t *) = nullptr;
  int (*Test)(uintptr_t *, int *, void *) = nullptr;

  uintptr_t comm = 0; ///< our own: nobody else's messages are in it

  Error load();
};

namespace {
/// No MPI_Status is larger.
struct StatusMemory {
  alignas(16) char bytes[256];
};
} // namespace

/// Names to try: a launcher's own library first.
static std::vector<std::string> libraryNames() {
  if (const char *given = setting("GPU_ASYNC_MPI_LIBRARY"))
    return {given};
  std::vector<std::string> names = {"libmpi_abi.so.1", "libmpi_abi.so.0",
                                    "libmpich.so.12", "libmpi.so.12"};
  // Slurm has PMIx for Open MPI, and PMI for MPICH.
  const bool isOpenMpi = setting("OMPI_COMM_WORLD_SIZE") ||
                         (setting("PMIX_RANK") && !setting("PMI_RANK"));
  names.insert(isOpenMpi ? names.begin() : names.end(),
               {"libmpi.so.40", "libmpi.so"});
  return names;
}

/// Opens one of the names; null: why not is in `tried`.
static void *openLibrary(std::string &name, Error &tried) {
  const std::vector<std::string> names = libraryNames();
  // The program may have one already.
  for (int flag : {RTLD_NOLOAD, 0})
    for (const std::string &each : names) {
      name = each;
      if (void *handle = dlopen(each.c_str(), RTLD_NOW | RTLD_LOCAL | flag))
        return handle;
      const char *why = flag ? nullptr : dlerror();
      if (why)
        tried += (tried.empty() ? "" : "; ") + each + " (" + why + ")";
    }
  return nullptr;
}

/// Another library than the launcher's finds one process.
static Error checkCount(const std::string &library, uint32_t count) {
  Launched launched;
  if (Error error = findLaunched(launched); !error.empty() || count != 1)
    return error;
  if (launched.count > 1)
    return "the launcher started " + std::to_string(launched.count) +
           " processes, and " + library +
           " finds one: it is another MPI's. Set GPU_ASYNC_MPI_LIBRARY to the "
           "launcher's" +
           (setting("SLURM_STEP_NUM_TASKS")
                ? "; with srun, write --mpi=pmi2 for MPICH or --mpi=pmix for "
                  "Open MPI"
                : "");
  return launched.count ? Error() : findWhyNotAlone();
}

Error Mpi::Table::load() {
  Error tried;
  void *handle = openLibrary(library, tried);
  if (!handle)
    return "no MPI library; tried " + tried +
           ". Set GPU_ASYNC_MPI_LIBRARY to the one of the launcher";

  // Where a program names one of the library's objects, the linker may have put
  // a copy into the program, and that is the one that the library uses.
  const auto address = [&](const char *name) {
    void *found = dlsym(handle, name), *used = dlsym(RTLD_DEFAULT, name);
    return reinterpret_cast<uintptr_t>(found && used ? used : found);
  };
  if (address("ompi_mpi_comm_world")) {
    world = address("ompi_mpi_comm_world");
    byte = address("ompi_mpi_byte");
    errorsReturn = address("ompi_mpi_errors_return");
  } else if (library.find("mpi_abi", library.rfind('/') + 1) !=
             std::string::npos) {
    world = 0x101;
    byte = 0x247;
    errorsReturn = 0x143;
    funneled = 1024;
    multiple = 4096;
  } else {
    world = 0x44000000;
    byte = 0x4c00010d;
    errorsReturn = 0x54000001;
  }
  Error missing;
  const auto find = [&](auto &function, const char *name) {
    function =
        reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    if (!function)
      missing = library + " is no MPI library, it has no " + name +
                "; set GPU_ASYNC_MPI_LIBRARY to the launcher's";
  };
#define FIND(name) find(name, "MPI_" #name)
  FIND(Initialized);
  FIND(Finalized);
  FIND(Query_thread);
  FIND(Init_thread);
  FIND(Finalize);
  FIND(Comm_dup);
  FIND(Comm_rank);
  FIND(Comm_size);
  FIND(Comm_set_errhandler);
  FIND(Error_string);
  FIND(Isend);
  FIND(Irecv);
  FIND(Test);
#undef FIND
  return missing;
}

Mpi::Mpi(std::unique_ptr<Table> table) : table(std::move(table)) {}
Mpi::~Mpi() = default;

Error Mpi::say(const char *function, int code) const {
  if (code == 0)
    return {};
  char text[1024] = ""; // longer than any MPI_MAX_ERROR_STRING
  int length = 0;
  if (table->Error_string(code, text, &length) != 0)
    text[0] = '\0';
  return table->library + ": MPI_" + function + " failed with " +
         std::to_string(code) + ": " + text;
}

Error Mpi::open(std::unique_ptr<Messages> &out) {
  auto made = std::make_unique<Table>();
  if (Error error = made->load(); !error.empty())
    return error;
  std::unique_ptr<Mpi> mpi(new Mpi(std::move(made)));
  Table &table = *mpi->table;
  int isInitialized = 0, isFinalized = 0, provided = 0;
  Error error = mpi->say("Finalized", table.Finalized(&isFinalized));
  if (error.empty() && isFinalized)
    error = "the program has finalised " + table.library + " already";
  if (error.empty())
    error = mpi->say("Initialized", table.Initialized(&isInitialized));
  int needed = table.multiple;
  if (error.empty() && isInitialized) {
    error = mpi->say("Query_thread", table.Query_thread(&provided));
  } else if (error.empty()) {
    needed = table.funneled;
    mpi->isOurs = true;
    error = mpi->say("Init_thread",
                     table.Init_thread(nullptr, nullptr, needed, &provided));
  }
  if (error.empty() && provided < needed)
    error = table.library + " was initialised with thread level " +
            std::to_string(provided) + ", and ranks need " +
            std::to_string(needed) +
            (isInitialized ? " (MPI_THREAD_MULTIPLE)" : "");
  int rank = 0, count = 0;
  if (error.empty())
    error = mpi->say("Comm_dup", table.Comm_dup(table.world, &table.comm));
  if (error.empty())
    error = mpi->say("Comm_set_errhandler",
                     table.Comm_set_errhandler(table.comm, table.errorsReturn));
  if (error.empty())
    error = mpi->say("Comm_rank", table.Comm_rank(table.comm, &rank));
  if (error.empty())
    error = mpi->say("Comm_size", table.Comm_size(table.comm, &count));
  if (error.empty())
    error = checkCount(table.library, static_cast<uint32_t>(count));
  if (!error.empty())
    return error;
  mpi->rank = static_cast<uint32_t>(rank);
  mpi->count = static_cast<uint32_t>(count);
  out = std::move(mpi);
  return {};
}

Error Mpi::send(uint32_t to, int tag, const void *memory, size_t bytes,
                Request &request) {
  return say("Isend",
             table->Isend(memory, static_cast<int>(bytes), table->byte,
                          static_cast<int>(to), tag, table->comm, &request));
}

Error Mpi::receive(uint32_t from, int tag, void *memory, size_t bytes,
                   Request &request) {
  return say("Irecv",
             table->Irecv(memory, static_cast<int>(bytes), table->byte,
                          static_cast<int>(from), tag, table->comm, &request));
}

Error Mpi::test(Request &request, bool &isDone) {
  int flag = 0;
  StatusMemory status;
  Error error = say("Test", table->Test(&request, &flag, &status));
  isDone = flag != 0;
  return error;
}

void Mpi::finalize() {
  if (isOurs)
    (void)table->Finalize();
}

//===- Mpi.h - Messages between processes -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much of MPI as ranks need: messages from one process to another. The
// library is opened at run time, whether it has the ABI of Open MPI, of MPICH,
// or of the standard (MPI 5). One thread makes all calls.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_MPI_H
#define GPUASYNC_LIBS_RANKS_MPI_H

#include "libs/ranks/World.h"

#include <stddef.h>
#include <stdint.h>

namespace gpuasync {
namespace ranks {

class Mpi {
public:
  /// A handle, which MPICH keeps in the low half.
  using Request = uintptr_t;

  /// Opens the launcher's library, or that of GPU_ASYNC_MPI_LIBRARY, and
  /// initialises it, unless the program has. From then on the calling thread
  /// makes all calls. Blocks until all processes have come to it.
  static Error open(std::unique_ptr<Mpi> &out);
  ~Mpi();

  uint32_t rank = 0, count = 0;

  /// Messages between two processes with one tag keep their order. The memory
  /// is in use until test() says that the request is done.
  Error send(uint32_t to, int tag, const void *memory, size_t bytes,
             Request &request);
  Error receive(uint32_t from, int tag, void *memory, size_t bytes,
                Request &request);
  Error test(Request &request, bool &isDone);
  /// No request is open, and all processes come to it. Without it, the library
  /// stays initialised until the process ends.
  void finalize();

private:
  struct Table;
  explicit Mpi(std::unique_ptr<Table> table);
  Error say(const char *function, int code) const;
  const std::unique_ptr<Table> table;
  bool isOurs = false; ///< nobody else initialised it
};

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_MPI_H

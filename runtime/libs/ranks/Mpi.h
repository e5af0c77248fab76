//===- Mpi.h - Messages between processes -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much of MPI as ranks need. The library is opened at run time, whether it
// has the ABI of Open MPI, of MPICH, or of the standard (MPI 5).
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_MPI_H
#define GPUASYNC_LIBS_RANKS_MPI_H

#include "libs/ranks/Messages.h"

namespace gpuasync {
namespace ranks {

class Mpi : public Messages {
public:
  /// Opens the launcher's library, or that of GPU_ASYNC_MPI_LIBRARY, and
  /// initialises it, unless the program has.
  static Error open(std::unique_ptr<Messages> &out);
  ~Mpi() override;

  /// A request is a handle, which MPICH keeps in the low half.
  Error send(uint32_t to, int tag, const void *memory, size_t bytes,
             Request &request) override;
  Error receive(uint32_t from, int tag, void *memory, size_t bytes,
                Request &request) override;
  Error test(Request &request, bool &isDone) override;
  /// Without it, the library stays initialised until the process ends.
  void finalize() override;

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

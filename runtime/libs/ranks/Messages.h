//===- Messages.h - Messages between processes ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Carries messages between the processes of a job: over MPI (Mpi.h), or over
// sockets of one host (LocalSockets.h). One thread makes all calls, and no call
// after open() blocks.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_MESSAGES_H
#define GPUASYNC_LIBS_RANKS_MESSAGES_H

#include "libs/ranks/World.h"

#include <stddef.h>
#include <stdint.h>

namespace gpuasync {
namespace ranks {

class Messages {
public:
  /// A send or a receive that is not done.
  using Request = uintptr_t;

  /// Joins the job of the launcher that started this process: over sockets if
  /// it is torchrun, else over MPI. Blocks until all processes have come to it.
  /// From then on the calling thread makes all calls.
  static Error open(std::unique_ptr<Messages> &out);

  Messages() = default;
  Messages(const Messages &) = delete;
  virtual ~Messages() = default;

  uint32_t rank = 0, count = 0;

  /// Starts to send or to receive. Messages between two processes with one tag
  /// keep their order. The memory is in use until test() says that the request
  /// is done. Requests with a process that has ended may never be done.
  virtual Error send(uint32_t to, int tag, const void *memory, size_t bytes,
                     Request &request) = 0;
  virtual Error receive(uint32_t from, int tag, void *memory, size_t bytes,
                        Request &request) = 0;
  /// Says whether the request is done, and forgets one that is.
  virtual Error test(Request &request, bool &isDone) = 0;
  /// Whether it is known that nothing more comes from the process, because it
  /// has ended. MPI does not know.
  virtual bool isLost(uint32_t) const { return false; }
  /// Ends the job. No request is open, and all processes come to it.
  virtual void finalize() = 0;
};

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_MESSAGES_H

//===- LocalSockets.h - Messages without MPI --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages between the processes of one host, over Unix sockets: a connection
// for each two processes. Sockets have names in the abstract namespace, which
// leave no files behind.
//
// A message of up to `mostAtOnce` bytes is sent at once, and the receiver keeps
// it until somebody wants it. A larger one is only offered. It follows when the
// receiver has memory for it, and goes straight there. So a process that runs
// ahead fills no other's memory, and a short message never waits behind data
// that nobody takes.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_LOCALSOCKETS_H
#define GPUASYNC_LIBS_RANKS_LOCALSOCKETS_H

#include "libs/ranks/Messages.h"

#include <map>

namespace gpuasync {
namespace ranks {

/// This process among those of its host that one launcher started.
struct LocalJob {
  uint32_t rank = 0, count = 1;
  /// Identifies the job among those of the host and the user; any text.
  std::string name;
};

class LocalSockets : public Messages {
public:
  static constexpr size_t mostAtOnce = size_t(1) << 16;

  /// Connects to all other processes of the job, of this user only. Waits until
  /// they have come, or for GPU_ASYNC_TIMEOUT.
  static Error open(const LocalJob &job, std::unique_ptr<Messages> &out);
  ~LocalSockets() override;

  Error send(uint32_t to, int tag, const void *memory, size_t bytes,
             Request &request) override;
  Error receive(uint32_t from, int tag, void *memory, size_t bytes,
                Request &request) override;
  Error test(Request &request, bool &isDone) override;
  bool isLost(uint32_t other) const override;
  void finalize() override;

  /// The address of a rank's listening socket, behind the leading zero byte.
  static std::string addressOf(const LocalJob &job, uint32_t rank);

private:
  struct Header;
  struct Operation;
  struct Frame;
  struct Early;
  struct Peer;
  class Opening;

  LocalSockets(uint32_t rank, uint32_t count);
  /// Moves all that can move now between this process and the other.
  Error progress(uint32_t other);
  Error write(uint32_t other);
  Error read(uint32_t other);
  /// A header is complete.
  Error begin(uint32_t other);
  /// The bytes behind it are, too.
  static void end(Peer &peer);
  /// Gives an early message to the receive that wants it, and forgets it.
  static void deliver(Peer &peer, Early &early);
  /// Accepts the offer of a large message.
  static void accept(Peer &peer, uint64_t id, Operation &by);
  Request add(Operation operation);

  std::vector<Peer> peers; ///< by rank
  std::map<Request, std::unique_ptr<Operation>> operations;
  Request last = 0;
};

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_LOCALSOCKETS_H

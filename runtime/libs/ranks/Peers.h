//===- Peers.h - Whether the other processes of a host live -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages do not say that a process has died: MPI never does, and a connection
// stays open while a child of the process has it. So ranks of one host look at
// each other. Each process shares a page of memory. There it holds a robust
// mutex, which the kernel marks when the thread that holds it ends, whatever
// ends it, and it writes down its last collective for the others to read then.
// A pidfd says that the process has died, too, but with a GPU half a second
// later: once the driver has given everything back.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_PEERS_H
#define GPUASYNC_LIBS_RANKS_PEERS_H

#include "libs/ranks/World.h"

#include <map>
#include <optional>
#include <stdint.h>

namespace gpuasync {
namespace ranks {

/// How a process is found by the others of its host. Bytes of a message.
struct Address {
  int32_t pid = 0;
  int32_t page = -1;   ///< its file descriptor there
  char host[200] = {}; ///< the kernel and the namespace that know the pid
};

/// Not thread safe, but where that is said. The thread that makes it is the one
/// whose end the others see.
class Peers {
public:
  Peers();
  Peers(const Peers &) = delete;
  ~Peers();

  const Address &own() const { return address; }
  /// A rank on another host, or one that cannot be watched, is left out.
  void add(uint32_t rank, const Address &address);
  /// Whether findDead() will tell of the rank's death.
  bool isWatched(uint32_t rank) const;
  /// Writes down what this process has begun.
  void begin(const std::string &collective);
  /// Writes down that this process makes no more collectives; empty: it ended
  /// well. On any thread, once.
  void leave(const std::string &error);
  /// Whether the rank has done so. Messages of it may be lost.
  bool hasLeft(uint32_t rank, std::string &said) const;
  /// Ranks that have died since the last call.
  std::vector<uint32_t> findDead();
  /// The last collective that the rank has begun, empty before the first one.
  /// None: it cannot be known. On any thread, once all ranks are added.
  std::optional<std::string> findLast(uint32_t rank) const;
  /// "rank 3 (pid 7) ended without a word; last begun: ...". It is dead.
  Error describeDeath(uint32_t rank) const;

private:
  struct Page;
  struct Peer {
    int32_t pid;
    int pidfd;
    Page *page; ///< null: it cannot be reached
    bool isDead = false;
  };

  Address address;
  Page *page = nullptr;
  std::map<uint32_t, Peer> peers;
  std::vector<uint32_t> early; ///< dead when they were added
};

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_PEERS_H

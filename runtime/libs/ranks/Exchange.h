//===- Exchange.h - Collectives by messages ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves the data of a collective between ranks that share no memory, piece by
// piece. Reductions add up in the order of positions, as on threads, so that
// both give the same bits. A large all_reduce sends twice its size whatever the
// number of ranks: each rank reduces a slice, and then all gather the slices.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_EXCHANGE_H
#define GPUASYNC_LIBS_RANKS_EXCHANGE_H

#include "libs/ranks/World.h"

#include <stddef.h>

namespace gpuasync {
namespace ranks {

/// Bytes that go to a rank, or come from it.
struct Piece {
  uint32_t position; ///< in the group
  char *memory;      ///< of a send: only read
  size_t bytes;
};

/// Carries messages between the ranks of a group.
class Channel {
public:
  virtual ~Channel() = default;
  /// Returns when all is sent and received. The ranks call it equally often,
  /// with pieces that fit together, at most one each way for each two ranks.
  /// Receives into `Exchange::staging` only: after an error that memory may
  /// still be written.
  virtual Error exchange(const std::vector<Piece> &sends,
                         const std::vector<Piece> &receives) = 0;
};

class Exchange {
public:
  /// The most bytes of a message.
  static constexpr size_t mostBytes = size_t(1) << 20;

  /// Does the collective of the rank at `position` of `count`. All ranks have
  /// come with the same one, and all has been checked.
  Error run(const Part &part, uint32_t position, uint32_t count,
            Channel &channel);
  /// Gives the memory of receives that may still be written.
  std::unique_ptr<char[]> abandon() { return std::move(staging); }

private:
  char *reserve(size_t bytes);
  Error gather(const char *source, char *destination, size_t stride,
               size_t bytes);
  Error allToAll(const char *source, char *destination, size_t bytes);
  Error broadcast(uint32_t root, const char *source, char *destination,
                  size_t bytes);
  Error permute(const gpuasync_collective &what, const char *source,
                char *destination, size_t bytes);
  Error reduceScatter(const gpuasync_collective &what, const char *source,
                      char *destination, size_t bytes);
  Error allReduce(const gpuasync_collective &what, const char *source,
                  char *destination, size_t bytes);
  /// Receives a slice of all others and reduces it with the own one, which
  /// begins at `own`, into `destination`; sends their slices from `source`.
  Error reduceSlices(const gpuasync_collective &what, const char *source,
                     const std::vector<size_t> &begins, char *destination);

  uint32_t position = 0, count = 0;
  Channel *channel = nullptr;
  std::unique_ptr<char[]> staging;
  size_t staged = 0;
};

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_EXCHANGE_H

//===- StreamClocks.cpp - what is known to have happened ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks over streams and the walk that keeps them.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/StreamClocks.h"

#include "mlir/IR/RegionGraphTraits.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::gpuasync;

void StreamClock::set(unsigned stream, unsigned position) {
  if (positions.size() <= stream)
    positions.resize(stream + 1, 0);
  positions[stream] = position;
}

void StreamClock::merge(const StreamClock &other) {
  if (positions.size() < other.positions.size())
    positions.resize(other.positions.size(), 0);
  for (auto [stream, position] : llvm::enumerate(other.positions))
    positions[stream] = std::max(positions[stream], position);
}

bool StreamClock::covers(const StreamClock &other) const {
  for (auto [stream, position] : llvm::enumerate(other.positions))
    if ((*this)[stream] < position)
      return false;
  return true;
}

void StreamClocks::grow(unsigned stream) {
  if (sizes.size() > stream)
    return;
  sizes.resize(stream + 1, 0);
  streams.resize(stream + 1);
}

const StreamClock &StreamClocks::getStream(unsigned stream) {
  grow(stream);
  return streams[stream];
}

bool StreamClocks::isCovered(unsigned stream, StreamPoint point) {
  return point.stream == stream || host.covers(point) ||
         getStream(stream).covers(point);
}

void StreamClocks::waitOnStream(unsigned stream, const StreamClock &clock) {
  grow(stream);
  streams[stream].merge(clock);
}

StreamClock StreamClocks::enqueue(unsigned stream) {
  grow(stream);
  // The host has seen its part before it enqueues.
  streams[stream].merge(host);
  streams[stream].set(stream, ++sizes[stream]);
  return streams[stream];
}

void StreamClocks::walk(Block &block,
                        llvm::function_ref<void(Operation *)> visit) {
  for (Operation &op : block) {
    visit(&op);
    if (op.getNumRegions() == 0)
      continue;
    StreamClock hostBefore = host;
    std::vector<StreamClock> streamsBefore = streams;
    SmallVector<unsigned, 8> sizesBefore = sizes;
    SmallVector<bool> idle;
    auto sizeBefore = [&](unsigned stream) {
      return stream < sizesBefore.size() ? sizesBefore[stream] : 0;
    };
    for (Region &region : op.getRegions()) {
      for (Block &nested : region) {
        host = hostBefore;
        streams = streamsBefore;
        streams.resize(sizes.size());
        // If another block of the op has run before, it left these idle.
        idle.resize(sizes.size(), true);
        for (unsigned stream = 0; stream < sizes.size(); ++stream)
          if (idle[stream] && host[stream] >= sizeBefore(stream))
            setIdle(stream);
        SmallVector<unsigned, 8> sizesAtEntry = sizes;
        walk(nested, visit);
        idle.resize(sizes.size(), true);
        for (unsigned stream = 0; stream < sizes.size(); ++stream) {
          unsigned entry =
              stream < sizesAtEntry.size() ? sizesAtEntry[stream] : 0;
          if (sizes[stream] > entry && !isIdle(stream))
            idle[stream] = false;
        }
      }
    }
    host = hostBefore;
    streams = streamsBefore;
    streams.resize(sizes.size());
    idle.resize(sizes.size(), true);
    for (unsigned stream = 0; stream < sizes.size(); ++stream)
      if (idle[stream] && host[stream] >= sizeBefore(stream))
        host.set(stream, sizes[stream]);
  }
}

SmallVector<Block *> mlir::gpuasync::getBlocksInOrder(Region &body) {
  SmallVector<Block *> blocks;
  if (body.empty())
    return blocks;
  llvm::SmallPtrSet<Block *, 8> reached;
  for (Block *block : llvm::ReversePostOrderTraversal<Block *>(&body.front())) {
    reached.insert(block);
    blocks.push_back(block);
  }
  for (Block &block : body)
    if (!reached.contains(&block))
      blocks.push_back(&block);
  return blocks;
}

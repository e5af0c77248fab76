//===- Stretch.h - a stretch of a block that becomes a region ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to this folder. Which ops of a stretch go before, into and behind
// the region.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_FORMREGIONS_STRETCH_H
#define GPUASYNC_LIB_TRANSFORMS_FORMREGIONS_STRETCH_H

#include "RegionContents.h"

namespace mlir::gpuasync::regions {

/// Ops of one block, one behind the other, without a border among them.
///
/// What a region can do without goes before it (what the host computes, streams
/// that are used outside, waits for events from outside that are first on their
/// stream) or behind it (streams made outside, events for outside that are last
/// on their stream). Nothing of a stream changes its place among what else is
/// on the stream.
struct Stretch {
  SmallVector<Operation *> ops;
  Border end;
  /// Ops of device work, after place(): those of loops count twice.
  unsigned size = 0;

  /// Decides where each op goes. Where events would cross the border of the
  /// region otherwise, the indices of ops at which to cut, ascending.
  SmallVector<unsigned> place();
  /// Makes the region; place() has found a place for all.
  RegionOp form();

private:
  enum Place { Before, Inside, Behind };
  SmallVector<Place> places;
};

} // namespace mlir::gpuasync::regions

#endif // GPUASYNC_LIB_TRANSFORMS_FORMREGIONS_STRETCH_H

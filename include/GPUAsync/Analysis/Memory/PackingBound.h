//===- PackingBound.h - what no packing goes below --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes that buffers need wherever they are put: how near to the best a
// packing is.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_MEMORY_PACKINGBOUND_H
#define GPUASYNC_ANALYSIS_MEMORY_PACKINGBOUND_H

#include "GPUAsync/Analysis/Memory/Packing.h"

namespace mlir::gpuasync {

/// The most bytes of buffers each two of which conflict; arguments as of
/// packBuffers. Which buffers come before which is taken to be transitive:
/// where it is not, the result may be less, but never more than the buffers
/// need.
///
/// Such a set is an antichain of that order. By Dilworth's theorem with weights
/// the bytes of all less the largest flow from buffers to later ones are what
/// the heaviest has (Ford and Fulkerson, "Flows in Networks", 1962, II.9).
/// Takes memory for the square of the number of buffers, and time for some n^2
/// / 64 steps for each search of the flow.
int64_t findPackingBound(llvm::ArrayRef<int64_t> sizes,
                         llvm::ArrayRef<unsigned> depths,
                         const Conflicts &conflicts);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORY_PACKINGBOUND_H

//===- Registry.h - All ranks of the process --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the rank of a context. Thread safe.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_REGISTRY_H
#define GPUASYNC_LIBS_RANKS_REGISTRY_H

#include "libs/ranks/World.h"

namespace gpuasync {
namespace ranks {

/// Null: it has been released.
std::shared_ptr<World> findWorld(uint64_t id);
/// Null: the context is no rank.
std::shared_ptr<World> findWorld(const gpuasync_context *context,
                                 uint32_t &rank);
/// Says why a group is wrong in a program of so many ranks.
Error checkGroup(const gpuasync_group &group, uint32_t rankCount);

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_REGISTRY_H

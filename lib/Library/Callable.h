//===- Callable.h - Functions as calls see them -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes the functions of a program by numbers. Types of MLIR end with the
// compilation; a call knows these descriptions only.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_CALLABLE_H
#define GPUASYNC_LIB_LIBRARY_CALLABLE_H

#include "Execution/Link.h"
#include "Execution/Signature.h"
#include "Execution/Types.h"
#include "GPUAsync-C/GPUAsync.h"
#include "GPUAsync/Analysis/Schedule/Schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace gpuexec {

struct Parameter {
  std::string text;
  std::string what; ///< "argument 0 of @main", in errors of the runtime
  gpuasync_kind kind;
  uint32_t type = 0, rank = 0;
  unsigned bytes = 0; ///< of an element
  int64_t offset = 0; ///< of a memref's type, in elements; 0 if dynamic
  /// Dynamic ones are ShapedType::kDynamic.
  llvm::SmallVector<int64_t, GPUASYNC_MAX_RANK> shape, strides;
  std::string unsupported;
  bool donated = false;
  int64_t takenBy = -1; ///< the result that takes the argument's memory
};

struct Callable {
  std::string name;
  std::vector<Parameter> arguments, results;
  llvm::SmallVector<int64_t> destinations;
  llvm::SmallVector<int64_t> takes; ///< by result: the argument, or -1
  bool takesAny = false;
  std::vector<SizeRule> sizeRules;
  CallLayout layout;
  std::optional<mlir::gpuasync::Schedule> schedule; ///< not of a lowered file
  std::string unsupported; ///< why it cannot be called from here
  size_t words = 0;        ///< of the descriptors of a call
  PackedFunction function = nullptr;
};

/// Returns the name of a GPUASYNC_TYPE_..., for errors.
std::string typeName(uint32_t type);
/// Returns how many bytes an element of a GPUASYNC_TYPE_... has, 0 if there is
/// no such type.
unsigned bytesOf(uint32_t type);
/// Returns the signless type of an integer, other types as they are: integers
/// of one width are one, whatever their sign.
uint32_t withoutSign(uint32_t type);

/// Returns the bytes of a parameter of constant sizes.
uint64_t countBytes(const Parameter &parameter);

/// Describes a function. `hostOnly`: its arrays are not on the device.
Callable describe(const Signature &signature, bool hostOnly);

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_CALLABLE_H

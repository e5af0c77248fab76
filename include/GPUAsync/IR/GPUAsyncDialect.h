//===- GPUAsyncDialect.h - the gpu_async dialect ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect class, its types, attributes and side-effect resources.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_IR_GPUASYNCDIALECT_H
#define GPUASYNC_IR_GPUASYNCDIALECT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "GPUAsync/IR/GPUAsyncDialect.h.inc"

#include "GPUAsync/IR/GPUAsyncEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "GPUAsync/IR/GPUAsyncTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "GPUAsync/IR/GPUAsyncAttrs.h.inc"

namespace mlir::gpuasync {

/// What tokens, streams and events are allocated from and freed to: making a
/// token is an allocation, consuming it a free.
struct TokenResource : public SideEffects::Resource::Base<TokenResource> {
  StringRef getName() final { return "gpu_async.token"; }
};
struct StreamResource : public SideEffects::Resource::Base<StreamResource> {
  StringRef getName() final { return "gpu_async.stream"; }
};
struct EventResource : public SideEffects::Resource::Base<EventResource> {
  StringRef getName() final { return "gpu_async.event"; }
};
/// Written by work that has a serial name (WorkOpInterface::getSerial).
struct SerialResource : public SideEffects::Resource::Base<SerialResource> {
  StringRef getName() final { return "gpu_async.serial"; }
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_IR_GPUASYNCDIALECT_H

//===- GPUAsyncInterfaces.td - work ops ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all ops that do device work have in common.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_INTERFACES_TD
#define GPUASYNC_INTERFACES_TD

include "mlir/IR/OpBase.td"

def GPUAsync_WorkOpInterface : OpInterface<"WorkOpInterface"> {
  let cppNamespace = "::mlir::gpuasync";
  let description = [{
    An op that enqueues device work. In the token and linear forms it is `async`
    (it makes a token and takes any number); in the stream form it is `on` a
    stream. A launch on a caller's stream may be both until streams are
    assigned. One that is neither is sequential: it starts after all that comes
    before it in the program and is done before what comes after it, as far as
    memory can tell. gpu-async-infer-dependencies makes it `async`.
  }];
  let methods = [
    InterfaceMethod<"The token made, null in the stream form.",
      "::mlir::Value", "getAsyncToken", (ins)>,
    InterfaceMethod<"The tokens taken.",
      "::mlir::OperandRange", "getAsyncDependencies", (ins)>,
    InterfaceMethod<"The tokens taken, to change.",
      "::mlir::MutableOperandRange", "getAsyncDependenciesMutable", (ins)>,
    InterfaceMethod<"The stream, null in the token and linear forms.",
      "::mlir::Value", "getStream", (ins)>,
    InterfaceMethod<"The stream, to change.",
      "::mlir::MutableOperandRange", "getStreamMutable", (ins)>,
    InterfaceMethod<"The op's number in the schedule, if it has one.",
      "std::optional<uint64_t>", "getId", (ins)>,
    InterfaceMethod<"Sets the op's number in the schedule.",
      "void", "setId", (ins "std::optional<uint64_t>":$id)>,
    InterfaceMethod<"The numbers of the ops that it must start after.",
      "std::optional<::llvm::ArrayRef<int64_t>>", "getAfter", (ins)>,
    InterfaceMethod<"Sets the numbers of the ops that it must start after.",
      "void", "setAfter",
      (ins "std::optional<::llvm::ArrayRef<int64_t>>":$after)>,
    InterfaceMethod<[{
        Whether the op takes time on the device. Allocations and frees do not:
        they float onto the stream of their first or last user.
      }], "bool", "takesDeviceTime", (ins), [{}], [{ return true; }]>,
  ];
  let verify = [{
    return ::mlir::gpuasync::detail::verifyWorkOp($_op);
  }];
}

#endif // GPUASYNC_INTERFACES_TD

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
    InterfaceMethod<[{
        Adds what memory the op touches, but for what its code touches and for
        memory that is a result, which the op allocates. The default is that it
        reads and writes all memrefs and pointers among its operands.
      }], "void", "getWorkAccesses",
      (ins "::llvm::SmallVectorImpl<::mlir::gpuasync::WorkAccess> &":$accesses),
      [{}], [{
        ::mlir::gpuasync::detail::addAllOperands($_op, accesses);
      }]>,
    InterfaceMethod<[{
        The kernel (`@module::@kernel`) or the library's function (`@function`)
        that the op runs, null if it runs neither. Its body or declaration says
        what it touches through `getCodeArguments`, and whether it may wait for
        other work; `getWorkAccesses` is not asked then.
      }], "::mlir::SymbolRefAttr", "getCode", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"The operands that the code is given.",
      "::mlir::OperandRange", "getCodeArguments", (ins), [{}], [{
        return $_op->getOperands().take_front(0);
      }]>,
    InterfaceMethod<[{
        Whether a function of a library enqueues the work, while the op itself
        is enqueued.
      }], "bool", "callsLibrary", (ins), [{}], [{
        return ::llvm::isa_and_nonnull<::mlir::FlatSymbolRefAttr>($_op.getCode());
      }]>,
    InterfaceMethod<[{
        Why the work may wait for other work than its tokens, whatever its code
        says; empty if it does not.
      }], "::llvm::StringRef", "getBlockingReason", (ins), [{}],
      [{ return {}; }]>,
    InterfaceMethod<[{
        A name for what the work shares with other work and is no memory. Work
        of one name keeps its order, and calls of functions with this
        `gpu_async.serial` keep it, too. Empty: it shares nothing.
      }], "::llvm::StringRef", "getSerial", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
        Whether the runtime may record the op in a region and run it again. The
        op then is one command (OpLowering::emit), with no other effect on the
        host.
      }], "bool", "isReplayable", (ins), [{}],
      [{ return $_op.takesDeviceTime(); }]>,
  ];
  let verify = [{
    return ::mlir::gpuasync::detail::verifyWorkOp($_op);
  }];
}

#endif // GPUASYNC_INTERFACES_TD

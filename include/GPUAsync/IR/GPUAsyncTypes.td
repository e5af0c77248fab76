//===- GPUAsyncTypes.td - token, stream and event ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The three types of the dialect.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TYPES_TD
#define GPUASYNC_TYPES_TD

include "GPUAsync/IR/GPUAsyncDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonTypeConstraints.td"

class GPUAsync_Type<string name, string typeMnemonic>
    : TypeDef<GPUAsync_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def GPUAsync_Token : GPUAsync_Type<"Token", "token">,
    BuildableType<"$_builder.getType<::mlir::gpuasync::TokenType>()"> {
  let summary = "a point in the device's work";
  let description = [{
    What has been enqueued up to a point. At function boundaries of lowered code
    it is an event handle, and null is a point that has been reached.
  }];
}

def GPUAsync_Stream : GPUAsync_Type<"Stream", "stream">,
    BuildableType<"$_builder.getType<::mlir::gpuasync::StreamType>()"> {
  let summary = "an in-order queue of device work";
}

def GPUAsync_Event : GPUAsync_Type<"Event", "event">,
    BuildableType<"$_builder.getType<::mlir::gpuasync::EventType>()"> {
  let summary = "a recorded point of a stream";
}

#endif // GPUASYNC_TYPES_TD

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file --gpu-async-check-signatures -verify-diagnostics
// RUN: gpu-opt %s -split-input-file --gpu-async-offload -verify-diagnostics -o /dev/null

// The function that calls has device work of its own, so it stays, and so does the call.
func.func @calls_public() {
  %m = gpu.alloc () : memref<4xf32>
  %x = bufferization.to_tensor %m restrict : memref<4xf32> to tensor<4xf32>
  // expected-error @below {{uses @negate, a public function that returns a tensor of constant size: its callers give it an argument for that, so make it private}}
  %z = func.call @negate(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %r = bufferization.to_buffer %z : tensor<4xf32> to memref<4xf32>
  gpu.dealloc %m : memref<4xf32>
  return
}
func.func @negate(%x: tensor<4xf32>) -> tensor<4xf32> attributes {gpu_async.offloaded} {
  %r = arith.negf %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// expected-error @below {{argument 1 of type 'memref<4xf32>' cannot be donated (gpu_async.donated): only a tensor's memory can be given up, so pass it as a tensor or leave out the attribute}}
func.func @donates(%x: tensor<4xf32> {gpu_async.donated}, %m: memref<4xf32> {gpu_async.donated}) -> tensor<4xf32> attributes {gpu_async.offloaded} {
  %r = arith.negf %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

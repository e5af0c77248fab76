//===- GPUAsyncDialect.td - the gpu_async dialect ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect itself.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DIALECT_TD
#define GPUASYNC_DIALECT_TD

include "mlir/IR/DialectBase.td"

def GPUAsync_Dialect : Dialect {
  let name = "gpu_async";
  let cppNamespace = "::mlir::gpuasync";
  let summary = "Asynchronous device work ordered by tokens, then by streams";
  let description = [{
    Device work in three forms. In the **token form** every op that does device
    work takes tokens and makes one; a token is a point in the device's work,
    and an op starts after the tokens that it takes. In the **linear form**
    every token is consumed exactly once on every path: forks are explicit and
    tokens that nobody needs are released. In the **stream form** there are no
    tokens inside a function; work ops name the stream that they run on and
    events order streams among each other. The form verifiers
    (`--gpu-async-verify-form`) check what belongs to one form only; the op
    verifiers check what holds in all.

    ```mlir
    // token form                                  // stream form
    %u = gpu_async.memcpy async %x, %h : ...       %s0 = gpu_async.stream.create
    %a = gpu_async.launch async [%u] @k::@f ...    gpu_async.memcpy on %s0 %x, %h : ...
    gpu_async.wait [%a]                            gpu_async.launch on %s0 @k::@f ...
                                                   gpu_async.stream.synchronize %s0
                                                   gpu_async.stream.destroy %s0 idle
    ```

    `gpu_async.nonblocking`, a unit attribute of a function that kernels are or
    call or of a library's function, and of a launch, says that it waits for
    nothing that the host or another kernel does: what no analysis sees of a
    ready binary, of a declaration, or of inline assembly.

    `gpu_async.serial`, a string on the declaration of a library's function, names
    what its calls share that is no memory: calls with one name keep their order.

    `gpu_async.replayable`, a unit attribute on such a declaration, says that equal
    bytes of arguments give equal work, of which a graph may be made and run again
    without another call.

    `gpu_async.resident`, a unit attribute of a function's argument, says that the
    array stays on the device between calls, which do not write it:
    `gpu_async.resident`, the op, is what it becomes.

    `gpu_async.tile`, `array<i64: ...>` on a linalg op, has the sizes of its tiles.
  }];
  let hasCanonicalizer = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral getNonblockingName() {
      return "gpu_async.nonblocking";
    }
    static constexpr ::llvm::StringLiteral getSerialName() {
      return "gpu_async.serial";
    }
    static constexpr ::llvm::StringLiteral getReplayableName() {
      return "gpu_async.replayable";
    }
    static constexpr ::llvm::StringLiteral getResidentName() {
      return "gpu_async.resident";
    }
    static constexpr ::llvm::StringLiteral getDonatedName() {
      return "gpu_async.donated";
    }
    static constexpr ::llvm::StringLiteral getTileName() {
      return "gpu_async.tile";
    }
    // What passes write for other passes.
    static constexpr ::llvm::StringLiteral getProductName() {
      return "gpu_async.product";
    }
    static constexpr ::llvm::StringLiteral getResultName() {
      return "gpu_async.result";
    }
    static constexpr ::llvm::StringLiteral getTakesName() {
      return "gpu_async.takes";
    }
    static constexpr ::llvm::StringLiteral getStreamName() {
      return "gpu_async.stream";
    }
    static constexpr ::llvm::StringLiteral getArraysOnDeviceName() {
      return "gpu_async.arrays_on_device";
    }
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // GPUASYNC_DIALECT_TD

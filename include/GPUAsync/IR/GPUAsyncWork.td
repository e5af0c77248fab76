//===- GPUAsyncWork.td - the base of work ops ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The class that work ops derive from, of this dialect and of others. It has no
// op of its own, so that other dialects can include it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_WORK_TD
#define GPUASYNC_WORK_TD

include "GPUAsync/IR/GPUAsyncInterfaces.td"
include "GPUAsync/IR/GPUAsyncTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// A work op with `operands` of its own. Its text is its order, `async [%t, ...]`
// in the token and linear forms or `on %stream id(1 after [0])` in the stream
// form, and then `format`. Its effects are what the interface says.
//
// In another dialect the file that includes the generated definitions needs
// `using mlir::gpuasync::parseOrder;` and `using mlir::gpuasync::printOrder;`.
class GPUAsync_WorkOpOf<Dialect dialect, string mnemonic, dag operands,
                        string format, list<Trait> traits = []>
    : Op<dialect, mnemonic, !listconcat([
        AttrSizedOperandSegments, GPUAsync_WorkOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>], traits)> {
  let arguments = !con((ins Variadic<GPUAsync_Token>:$asyncDependencies,
                            Optional<GPUAsync_Stream>:$stream,
                            OptionalAttr<I64Attr>:$id,
                            OptionalAttr<DenseI64ArrayAttr>:$after), operands);
  let results = (outs Optional<GPUAsync_Token>:$asyncToken);
  let assemblyFormat = [{
    custom<Order>(type($asyncToken), $asyncDependencies, $stream, $id, $after)
  }] # format;
  let extraClassDefinition = [{
    void $cppClass::getEffects(
        ::llvm::SmallVectorImpl<::mlir::MemoryEffects::EffectInstance> &effects) {
      ::mlir::gpuasync::detail::addWorkEffects(*this, effects);
    }
  }];
}

#endif // GPUASYNC_WORK_TD

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host code only, for ../lowered.mlir.
func.func private @outside()
func.func private @mgpuStreamCreate() -> !llvm.ptr
func.func @add(%a: i32, %b: f32) -> f32 {
  %0 = arith.sitofp %a : i32 to f32
  %1 = arith.addf %0, %b : f32
  return %1 : f32
}
func.func @calls_outside() {
  call @outside() : () -> ()
  return
}
func.func @calls_wrapper() {
  %0 = call @mgpuStreamCreate() : () -> !llvm.ptr
  return
}

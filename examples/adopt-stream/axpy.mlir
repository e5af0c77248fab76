// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// y = a * x + y on arrays that lie on the device, for main.c. docs/how-to/AheadOfTime.md
// compiles it with --place=off --stream=caller.

#element = affine_map<(i) -> (i)>
func.func @axpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%xi: f32, %yi: f32):
    %p = arith.mulf %a, %xi : f32
    %r = arith.addf %p, %yi : f32
    linalg.yield %r : f32
  }
  return
}

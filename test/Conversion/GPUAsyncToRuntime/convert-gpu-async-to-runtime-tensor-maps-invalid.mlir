// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensor maps that no kernel could use are errors at their place. (That a box
// has at most five dimensions is checked by the op itself.)
// RUN: gpu-opt %s --convert-gpu-async-to-runtime="on-error=status" -split-input-file -verify-diagnostics

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xcomplex<f32>, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @element(%x: memref<*xcomplex<f32>>, %n: index) {
  // expected-error @below {{cannot make a tensor map of elements of type 'complex<f32>': there are integers of 8, 16, 32 and 64 bits and floats of those sizes}}
  %d = nvgpu.tma.create.descriptor %x box[%n, %n] : memref<*xcomplex<f32>> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x32xi4, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @bits(%x: memref<*xi4>, %n: index) {
  // expected-error @below {{cannot make a tensor map of elements of type 'i4'}}
  %d = nvgpu.tma.create.descriptor %x box[%n, %n] : memref<*xi4> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xi32, 3>, swizzle = none, l2promo = none, oob = nan, interleave = none>
func.func @nan(%x: memref<*xi32>, %n: index) {
  // expected-error @below {{reads NaN beyond a tensor of 'i32': only floats have that (oob = zero)}}
  %d = nvgpu.tma.create.descriptor %x box[%n, %n] : memref<*xi32> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @otherElement(%x: memref<*xf16>, %n: index) {
  // expected-error @below {{makes a descriptor for boxes of 'f32' from a tensor of 'f16'}}
  %d = nvgpu.tma.create.descriptor %x box[%n, %n] : memref<*xf16> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @boxRank(%x: memref<*xf32>, %n: index) {
  // expected-error @below {{has a box of 3 dimensions, but its descriptor is for boxes of 2, 'memref<8x16xf32, 3>'; there are 1 to 5}}
  %d = nvgpu.tma.create.descriptor %x box[%n, %n, %n] : memref<*xf32> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @noBox(%x: memref<*xf32>) {
  // expected-error @below {{has a box of 0 dimensions}}
  %d = nvgpu.tma.create.descriptor %x box[] : memref<*xf32> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @boxSize(%x: memref<*xf32>, %n: index) {
  %c32 = arith.constant 32 : index
  // expected-error @below {{has 32 in dimension 1 of the box, but its descriptor is for boxes of 'memref<8x16xf32, 3>'}}
  %d = nvgpu.tma.create.descriptor %x box[%n, %c32] : memref<*xf32> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
// expected-note @below {{the tensor}}
func.func @tensorRank(%x: memref<4x64x64xf32>, %n: index) {
  %u = memref.cast %x : memref<4x64x64xf32> to memref<*xf32>
  // expected-error @below {{has a box of 2 dimensions for a tensor of 3}}
  %d = nvgpu.tma.create.descriptor %u box[%n, %n] : memref<*xf32> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @transposed(%x: memref<64x64xf32>, %n: index) {
  // expected-note @below {{the tensor}}
  %t = memref.transpose %x (i, j) -> (j, i) : memref<64x64xf32> to memref<64x64xf32, strided<[1, 64]>>
  %u = memref.cast %t : memref<64x64xf32, strided<[1, 64]>> to memref<*xf32>
  // expected-error @below {{needs a tensor whose last dimension is contiguous, not with a stride of 64}}
  %d = nvgpu.tma.create.descriptor %u box[%n, %n] : memref<*xf32> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @layout(%x: memref<64x64xf32, affine_map<(i, j) -> (i floordiv 2, j, i mod 2)>>, %n: index) {
  %u = memref.cast %x : memref<64x64xf32, affine_map<(i, j) -> (i floordiv 2, j, i mod 2)>> to memref<*xf32>
  // expected-error @below {{needs a memref with strides}}
  %d = nvgpu.tma.create.descriptor %u box[%n, %n] : memref<*xf32> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @structured(%x: memref<*xf32>, %n: index, %c: i1) {
  // expected-note @below {{the structured op}}
  scf.if %c {
    // expected-error @below {{is within a structured op: lower control flow to cf first}}
    %d = nvgpu.tma.create.descriptor %x box[%n, %n] : memref<*xf32> -> !map
  }
  return
}

// -----

// A kernel that was compiled elsewhere may want a pointer to one.
!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu_async.binary @k kernels [#gpu_async.kernel<"f">] images [#gpu_async.image<ptx, "sm_90" data = "p">]
func.func private @ready(%s: !gpu_async.stream, %n: index, %d: !map) {
  // expected-error @below {{to a kernel of a ready-made binary, whose parameters are not known: it would need the gpu.module}}
  gpu_async.launch on %s @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%d : !map)
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = [8]>] images [#gpu_async.image<ptx, "sm_90" data = "p">]
func.func private @pointer(%s: !gpu_async.stream, %n: index, %d: !map) {
  // expected-error @below {{passes arguments that are not those of the kernel: 1 parameters of [128] bytes instead of 1 of [8]}}
  gpu_async.launch on %s @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%d : !map)
  return
}

// -----

// C has no place for one.
!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
// expected-error @below {{takes or returns a tensor map descriptor across the border of the program: only private functions with a body can}}
func.func @border(%d: !map) {
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
// expected-error @below {{takes or returns a tensor map descriptor across the border of the program}}
func.func private @declared() -> !map

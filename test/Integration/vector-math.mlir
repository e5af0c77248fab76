// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Math of kernels in vectorised loops: glibc's libmvec, at most 4 units in the
// last place off. 1024 arguments up to 13 against host code, which stays with
// the C library. Where a loop has a rest, that is the C library's too.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: gpu-runner --device=cpu -O0 %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}
// How many are off by more: exp, log, sin, cos, tanh, exp2, powf, then exp and log in
// double precision.
// CHECK: [0, 0, 0, 0, 0, 0, 0, 0, 0]

// The functions that each processor gets. What glibc 2.22 had is used ahead of time.
// RUN: gpu-runner --emit=llvm %s | FileCheck %s --check-prefixes=EMIT,SSE
// RUN: gpu-runner --emit=llvm --mcpu=haswell %s | FileCheck %s --check-prefixes=EMIT,AVX2
// RUN: gpu-runner --emit=llvm --mcpu=znver5 %s | FileCheck %s --check-prefixes=EMIT,AVX512
// RUN: gpu-runner --emit=llvm -O0 %s | FileCheck %s --check-prefix=NONE
// SSE-DAG: call <4 x float> @_ZGVbN4v_expf(
// SSE-DAG: call <2 x double> @_ZGVbN2v_log(
// SSE-NOT: _ZGVd
// AVX2-DAG: call <8 x float> @llvm.fma.v8f32(
// AVX2-DAG: call <8 x float> @_ZGVdN8v_logf(
// AVX2-DAG: call <4 x double> @_ZGVdN4v_log(
// AVX512-DAG: call <16 x float> @llvm.fma.v16f32(
// AVX512-DAG: call <16 x float> @_ZGVeN16v_logf(
// AVX512-DAG: call <8 x double> @_ZGVeN8v_log(
// EMIT-NOT: _ZGV{{.*}}_tanhf
// Exponentials in single precision are arithmetic where there is fma.
// AVX2-NOT: _ZGV{{.*}}expf
// AVX512-NOT: _ZGV{{.*}}expf
// NONE-NOT: _ZGV

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %r0 = arith.constant 0 : index
  %r1 = arith.constant 1 : index
  %r2 = arith.constant 2 : index
  %r3 = arith.constant 3 : index
  %r4 = arith.constant 4 : index
  %r5 = arith.constant 5 : index
  %r6 = arith.constant 6 : index
  %r7 = arith.constant 7 : index
  %r8 = arith.constant 8 : index
  %start = arith.constant 0.01 : f32
  %step = arith.constant 0.013 : f32
  %power = arith.constant 1.3 : f32
  // Four and a half units in the last place of f32, and of f64.
  %single = arith.constant 5.36e-7 : f64
  %double = arith.constant 1.0e-15 : f64
  %zero = arith.constant 0 : i32
  %x = memref.alloc() : memref<1024xf32>
  %f = memref.alloc() : memref<7x1024xf32>
  %d = memref.alloc() : memref<2x1024xf64>
  %bad = memref.alloc() : memref<9xi32>
  linalg.fill ins(%zero : i32) outs(%bad : memref<9xi32>)
  scf.for %i = %c0 to %c1024 step %c1 {
    %n = arith.index_castui %i : index to i32
    %s = arith.uitofp %n : i32 to f32
    %p = arith.mulf %s, %step : f32
    %v = arith.addf %p, %start : f32
    memref.store %v, %x[%i] : memref<1024xf32>
  }
  %dx = gpu.alloc () : memref<1024xf32>
  %df = gpu.alloc () : memref<7x1024xf32>
  %dd = gpu.alloc () : memref<2x1024xf64>
  gpu.memcpy %dx, %x : memref<1024xf32>, memref<1024xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c4, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c256, %nty = %c1, %ntz = %c1) {
    %base = arith.muli %bx, %ntx : index
    %i = arith.addi %base, %tx : index
    %v = memref.load %dx[%i] : memref<1024xf32>
    %v0 = math.exp %v : f32
    memref.store %v0, %df[%r0, %i] : memref<7x1024xf32>
    %v1 = math.log %v : f32
    memref.store %v1, %df[%r1, %i] : memref<7x1024xf32>
    %v2 = math.sin %v : f32
    memref.store %v2, %df[%r2, %i] : memref<7x1024xf32>
    %v3 = math.cos %v : f32
    memref.store %v3, %df[%r3, %i] : memref<7x1024xf32>
    %v4 = math.tanh %v : f32
    memref.store %v4, %df[%r4, %i] : memref<7x1024xf32>
    %v5 = math.exp2 %v : f32
    memref.store %v5, %df[%r5, %i] : memref<7x1024xf32>
    %v6 = math.powf %v, %power : f32
    memref.store %v6, %df[%r6, %i] : memref<7x1024xf32>
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c4, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c256, %nty = %c1, %ntz = %c1) {
    %base = arith.muli %bx, %ntx : index
    %i = arith.addi %base, %tx : index
    %v = memref.load %dx[%i] : memref<1024xf32>
    %wide = arith.extf %v : f32 to f64
    %w0 = math.exp %wide : f64
    memref.store %w0, %dd[%r0, %i] : memref<2x1024xf64>
    %w1 = math.log %wide : f64
    memref.store %w1, %dd[%r1, %i] : memref<2x1024xf64>
    gpu.terminator
  }
  gpu.memcpy %f, %df : memref<7x1024xf32>, memref<7x1024xf32>
  gpu.memcpy %d, %dd : memref<2x1024xf64>, memref<2x1024xf64>
  gpu.dealloc %dx : memref<1024xf32>
  gpu.dealloc %df : memref<7x1024xf32>
  gpu.dealloc %dd : memref<2x1024xf64>
  %exponent = arith.extf %power : f32 to f64
  scf.for %i = %c0 to %c1024 step %c1 {
    %v = memref.load %x[%i] : memref<1024xf32>
    %wide = arith.extf %v : f32 to f64
    %w0 = math.exp %wide : f64
    %w1 = math.log %wide : f64
    %w2 = math.sin %wide : f64
    %w3 = math.cos %wide : f64
    %w4 = math.tanh %wide : f64
    %w5 = math.exp2 %wide : f64
    %w6 = math.powf %wide, %exponent : f64
    %s0 = memref.load %f[%r0, %i] : memref<7x1024xf32>
    %g0 = arith.extf %s0 : f32 to f64
    func.call @compare(%g0, %w0, %single, %bad, %r0) : (f64, f64, f64, memref<9xi32>, index) -> ()
    %s1 = memref.load %f[%r1, %i] : memref<7x1024xf32>
    %g1 = arith.extf %s1 : f32 to f64
    func.call @compare(%g1, %w1, %single, %bad, %r1) : (f64, f64, f64, memref<9xi32>, index) -> ()
    %s2 = memref.load %f[%r2, %i] : memref<7x1024xf32>
    %g2 = arith.extf %s2 : f32 to f64
    func.call @compare(%g2, %w2, %single, %bad, %r2) : (f64, f64, f64, memref<9xi32>, index) -> ()
    %s3 = memref.load %f[%r3, %i] : memref<7x1024xf32>
    %g3 = arith.extf %s3 : f32 to f64
    func.call @compare(%g3, %w3, %single, %bad, %r3) : (f64, f64, f64, memref<9xi32>, index) -> ()
    %s4 = memref.load %f[%r4, %i] : memref<7x1024xf32>
    %g4 = arith.extf %s4 : f32 to f64
    func.call @compare(%g4, %w4, %single, %bad, %r4) : (f64, f64, f64, memref<9xi32>, index) -> ()
    %s5 = memref.load %f[%r5, %i] : memref<7x1024xf32>
    %g5 = arith.extf %s5 : f32 to f64
    func.call @compare(%g5, %w5, %single, %bad, %r5) : (f64, f64, f64, memref<9xi32>, index) -> ()
    %s6 = memref.load %f[%r6, %i] : memref<7x1024xf32>
    %g6 = arith.extf %s6 : f32 to f64
    func.call @compare(%g6, %w6, %single, %bad, %r6) : (f64, f64, f64, memref<9xi32>, index) -> ()
    %h0 = memref.load %d[%r0, %i] : memref<2x1024xf64>
    func.call @compare(%h0, %w0, %double, %bad, %r7) : (f64, f64, f64, memref<9xi32>, index) -> ()
    %h1 = memref.load %d[%r1, %i] : memref<2x1024xf64>
    func.call @compare(%h1, %w1, %double, %bad, %r8) : (f64, f64, f64, memref<9xi32>, index) -> ()
  }
  %u = memref.cast %bad : memref<9xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %x : memref<1024xf32>
  memref.dealloc %f : memref<7x1024xf32>
  memref.dealloc %d : memref<2x1024xf64>
  memref.dealloc %bad : memref<9xi32>
  return
}

// Counts at `where` unless |got - want| <= bound * |want|.
func.func private @compare(%got: f64, %want: f64, %bound: f64, %bad: memref<9xi32>, %where: index) {
  %off = arith.subf %got, %want : f64
  %distance = math.absf %off : f64
  %size = math.absf %want : f64
  %most = arith.mulf %size, %bound : f64
  %right = arith.cmpf ole, %distance, %most : f64
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %add = arith.select %right, %zero, %one : i32
  %before = memref.load %bad[%where] : memref<9xi32>
  %after = arith.addi %before, %add : i32
  memref.store %after, %bad[%where] : memref<9xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)

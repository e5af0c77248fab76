// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A boolean in memory is a byte, and any but 0 is true; odd integers are the low
// bits of their bytes. Callers' arrays are so, here bytes seen as booleans.
// DEFINE: %{run} = gpu-runner %s --input=8xui8=0,1,2,255,128,0,254,3
// RUN: %{run} --device=cpu -e scalars --input=8xi32 --output= --output=- | FileCheck %s --check-prefix=SCALARS
// RUN: %{run} --device=cpu -e vectors --input=8xi32 --input=8xui8 --output= --output=- --output=- | FileCheck %s --check-prefix=VECTORS
// RUN: %{run} --device=cpu -e masked --input=8xui8=9 --output= --output=- | FileCheck %s --check-prefix=MASKED
// RUN: %{run} --device=cpu -e kernel --input=8xi32 --input=8xui8 --output= --output=- --output=- | FileCheck %s --check-prefix=KERNEL
// RUN: %{run} --device=cpu -e atomics --input=8xi32 --output=- --output=- | FileCheck %s --check-prefix=ATOMICS
// RUN: %{run} --device=cpu -e odd --input=8xi32 --output= --output=- | FileCheck %s --check-prefix=ODD
// RUN: %if cuda %{ %{run} --device=cuda -e kernel --input=8xi32 --input=8xui8 --output= --output=- --output=- | FileCheck %s --check-prefix=KERNEL %}
// RUN: %if cuda %{ %{run} --device=cuda -e atomics --input=8xi32 --output=- --output=- | FileCheck %s --check-prefix=ATOMICS %}

// SCALARS: arg[1]: 8xi32=0 1 1 1 1 0 1 1
func.func @scalars(%x: memref<8xi8>, %y: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %b = memref.view %x[%c0][] : memref<8xi8> to memref<8xi1>
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %b[%i] : memref<8xi1>
    %e = arith.extui %v : i1 to i32
    memref.store %e, %y[%i] : memref<8xi32>
  }
  return
}

// Each boolean is a byte in a vector, too.
// VECTORS: arg[1]: 8xi32=0 1 1 1 1 0 1 1
// VECTORS: arg[2]: 8xui8=0 1 1 1 1 0 1 1
func.func @vectors(%x: memref<8xi8>, %y: memref<8xi32>, %z: memref<8xi8>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %false = arith.constant false
  %b = memref.view %x[%c0][] : memref<8xi8> to memref<8xi1>
  %o = memref.view %z[%c0][] : memref<8xi8> to memref<8xi1>
  %v = vector.load %b[%c0] : memref<8xi1>, vector<8xi1>
  %e = arith.extui %v : vector<8xi1> to vector<8xi32>
  vector.store %e, %y[%c0] : memref<8xi32>, vector<8xi32>
  vector.store %v, %o[%c0] : memref<8xi1>, vector<8xi1>
  %r = vector.transfer_read %b[%c4], %false : memref<8xi1>, vector<4xi1>
  vector.transfer_write %r, %o[%c4] : vector<4xi1>, memref<8xi1>
  return
}

// MASKED: arg[1]: 8xui8=0 9 1 9 0 1 1 9
func.func @masked(%x: memref<8xi8>, %z: memref<8xi8>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %b = memref.view %x[%c0][] : memref<8xi8> to memref<8xi1>
  %o = memref.view %z[%c0][] : memref<8xi8> to memref<8xi1>
  %mask = arith.constant dense<[true, false, true, false]> : vector<4xi1>
  %pass = arith.constant dense<false> : vector<4xi1>
  %m = vector.maskedload %b[%c0], %mask, %pass : memref<8xi1>, vector<4xi1>, vector<4xi1> into vector<4xi1>
  vector.maskedstore %o[%c0], %mask, %m : memref<8xi1>, vector<4xi1>, vector<4xi1>
  // 7, 5 and 1, of which the last is masked out.
  %index = arith.constant dense<[5, 7, 6, 1]> : vector<4xi32>
  %first = arith.constant dense<[true, true, true, false]> : vector<4xi1>
  %g = vector.gather %b[%c0] [%index], %first, %pass : memref<8xi1>, vector<4xi32>, vector<4xi1>, vector<4xi1> into vector<4xi1>
  %to = arith.constant dense<[4, 5, 6, 7]> : vector<4xi32>
  vector.scatter %o[%c0] [%to], %first, %g : memref<8xi1>, vector<4xi32>, vector<4xi1>, vector<4xi1>
  return
}

// KERNEL: arg[1]: 8xi32=0 1 1 1 1 0 1 1
// KERNEL: arg[2]: 8xui8=1 0 0 0 0 1 0 0
func.func @kernel(%x: memref<8xi8>, %y: memref<8xi32>, %z: memref<8xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %true = arith.constant true
  %dx = gpu.alloc () : memref<8xi8>
  %dy = gpu.alloc () : memref<8xi32>
  %dz = gpu.alloc () : memref<8xi8>
  gpu.memcpy %dx, %x : memref<8xi8>, memref<8xi8>
  gpu.launch blocks(%bx, %by, %bz) in (%nx = %c2, %ny = %c1, %nz = %c1)
             threads(%tx, %ty, %tz) in (%mx = %c1, %my = %c1, %mz = %c1) {
    %i = arith.muli %bx, %c4 : index
    %b = memref.view %dx[%c0][] : memref<8xi8> to memref<8xi1>
    %o = memref.view %dz[%c0][] : memref<8xi8> to memref<8xi1>
    %v = vector.load %b[%i] : memref<8xi1>, vector<4xi1>
    %e = arith.extui %v : vector<4xi1> to vector<4xi32>
    vector.store %e, %dy[%i] : memref<8xi32>, vector<4xi32>
    scf.for %k = %c0 to %c4 step %c1 {
      %at = arith.addi %i, %k : index
      %w = memref.load %b[%at] : memref<8xi1>
      %not = arith.xori %w, %true : i1
      memref.store %not, %o[%at] : memref<8xi1>
    }
    gpu.terminator
  }
  gpu.memcpy %y, %dy : memref<8xi32>, memref<8xi32>
  gpu.memcpy %z, %dz : memref<8xi8>, memref<8xi8>
  gpu.dealloc %dx : memref<8xi8>
  gpu.dealloc %dy : memref<8xi32>
  gpu.dealloc %dz : memref<8xi8>
  return
}

// ATOMICS: arg[0]: 8xui8=0 1 1 1 1 0 1 1
// ATOMICS: arg[1]: 8xi32=0 1 1 1 1 0 1 1
func.func @atomics(%x: memref<8xi8>, %y: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %dx = gpu.alloc () : memref<8xi8>
  %dy = gpu.alloc () : memref<8xi32>
  gpu.memcpy %dx, %x : memref<8xi8>, memref<8xi8>
  gpu.launch blocks(%bx, %by, %bz) in (%nx = %c8, %ny = %c1, %nz = %c1)
             threads(%tx, %ty, %tz) in (%mx = %c1, %my = %c1, %mz = %c1) {
    %b = memref.view %dx[%c0][] : memref<8xi8> to memref<8xi1>
    %false = arith.constant false
    %old = memref.atomic_rmw ori %false, %b[%bx] : (i1, memref<8xi1>) -> i1
    %e = arith.extui %old : i1 to i32
    memref.store %e, %dy[%bx] : memref<8xi32>
    gpu.terminator
  }
  gpu.memcpy %x, %dx : memref<8xi8>, memref<8xi8>
  gpu.memcpy %y, %dy : memref<8xi32>, memref<8xi32>
  gpu.dealloc %dx : memref<8xi8>
  gpu.dealloc %dy : memref<8xi32>
  return
}

// The low four bits: 255 is 15, 128 is 0, 254 is 14.
// ODD: arg[1]: 8xi32=0 1 2 15 0 0 14 3
func.func @odd(%x: memref<8xi8>, %y: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %b = memref.view %x[%c0][] : memref<8xi8> to memref<8xi4>
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %b[%i] : memref<8xi4>
    %e = arith.extui %v : i4 to i32
    memref.store %e, %y[%i] : memref<8xi32>
  }
  return
}

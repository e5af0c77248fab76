// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers in loops, and between threads of which some have left.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// The sums of 0 to 63 and of 64 to 127.
// CHECK: [2016,  6112]
// Blocks of 35 threads, of which the last 10 stay away.
// CHECK: [595{{(,  595)+}},  1175{{(,  1175)+}},  -1{{(,  -1)+}}]
// The largest error of a product with tiles in workgroup memory.
// CHECK: error 0
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @reduce(%in: memref<?xf32>, %out: memref<?xf32>) workgroup(%s: memref<256xf32, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %d = gpu.block_dim x
      %g = gpu.global_id x
      %v = memref.load %in[%g] : memref<?xf32>
      memref.store %v, %s[%t] : memref<256xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %h = arith.divui %d, %c2 : index
      %last = scf.while (%i = %h) : (index) -> index {
        %more = arith.cmpi ugt, %i, %c0 : index
        scf.condition(%more) %i : index
      } do {
      ^bb0(%i: index):
        %on = arith.cmpi ult, %t, %i : index
        scf.if %on {
          %o = arith.addi %t, %i : index
          %x = memref.load %s[%t] : memref<256xf32, #gpu.address_space<workgroup>>
          %y = memref.load %s[%o] : memref<256xf32, #gpu.address_space<workgroup>>
          %z = arith.addf %x, %y : f32
          memref.store %z, %s[%t] : memref<256xf32, #gpu.address_space<workgroup>>
        }
        gpu.barrier
        %n = arith.divui %i, %c2 : index
        scf.yield %n : index
      }
      %first = arith.cmpi eq, %t, %c0 : index
      scf.if %first {
        %r = memref.load %s[%c0] : memref<256xf32, #gpu.address_space<workgroup>>
        memref.store %r, %out[%b] : memref<?xf32>
      }
      gpu.return
    }
    gpu.func @matmul(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>)
        workgroup(%as: memref<16x16xf32, #gpu.address_space<workgroup>>, %bs: memref<16x16xf32, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %zero = arith.constant 0.0 : f32
      %tx = gpu.thread_id x
      %ty = gpu.thread_id y
      %row = gpu.global_id y
      %col = gpu.global_id x
      %n = memref.dim %a, %c1 : memref<?x?xf32>
      %acc = scf.for %k = %c0 to %n step %c16 iter_args(%sum = %zero) -> f32 {
        %ka = arith.addi %k, %tx : index
        %kb = arith.addi %k, %ty : index
        %x = memref.load %a[%row, %ka] : memref<?x?xf32>
        %y = memref.load %b[%kb, %col] : memref<?x?xf32>
        memref.store %x, %as[%ty, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
        memref.store %y, %bs[%ty, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
        gpu.barrier
        %part = scf.for %kk = %c0 to %c16 step %c1 iter_args(%p = %sum) -> f32 {
          %u = memref.load %as[%ty, %kk] : memref<16x16xf32, #gpu.address_space<workgroup>>
          %v = memref.load %bs[%kk, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
          %m = arith.mulf %u, %v : f32
          %q = arith.addf %p, %m : f32
          scf.yield %q : f32
        }
        gpu.barrier
        scf.yield %part : f32
      }
      memref.store %acc, %c[%row, %col] : memref<?x?xf32>
      gpu.return
    }
    // The threads beyond %n leave before the barriers.
    gpu.func @total(%in: memref<?xf32>, %out: memref<?xf32>, %n: index)
        workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f32
      %t = gpu.thread_id x
      %d = gpu.block_dim x
      %b = gpu.block_id x
      %g = gpu.global_id x
      %ok = arith.cmpi ult, %g, %n : index
      cf.cond_br %ok, ^work, ^end
    ^work:
      %base = arith.muli %b, %d : index
      %rest = arith.subi %n, %base : index
      %here = arith.minui %rest, %d : index
      %v = memref.load %in[%g] : memref<?xf32>
      memref.store %v, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      cf.br ^loop(%c0, %zero : index, f32)
    ^loop(%i: index, %sum: f32):
      %more = arith.cmpi ult, %i, %here : index
      cf.cond_br %more, ^add, ^done
    ^add:
      %x = memref.load %s[%i] : memref<64xf32, #gpu.address_space<workgroup>>
      %next = arith.addf %sum, %x : f32
      %j = arith.addi %i, %c1 : index
      cf.br ^loop(%j, %next : index, f32)
    ^done:
      gpu.barrier
      memref.store %sum, %out[%g] : memref<?xf32>
      cf.br ^end
    ^end:
      gpu.return
    }
  }

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c35 = arith.constant 35 : index
  %c70 = arith.constant 70 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %in = memref.alloc(%c128) : memref<?xf32>
  %out = memref.alloc(%c2) : memref<?xf32>
  scf.for %i = %c0 to %c128 step %c1 {
    %k = arith.index_cast %i : index to i32
    %f = arith.sitofp %k : i32 to f32
    memref.store %f, %in[%i] : memref<?xf32>
  }
  %din = gpu.alloc (%c128) : memref<?xf32>
  %dout = gpu.alloc (%c2) : memref<?xf32>
  gpu.memcpy %din, %in : memref<?xf32>, memref<?xf32>
  gpu.launch_func @k::@reduce blocks in (%c2, %c1, %c1) threads in (%c64, %c1, %c1) args(%din : memref<?xf32>, %dout : memref<?xf32>)
  gpu.memcpy %out, %dout : memref<?xf32>, memref<?xf32>
  %u = memref.cast %out : memref<?xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  %dsh = gpu.alloc (%c70) : memref<?xf32>
  %hsh = memref.alloc(%c70) : memref<?xf32>
  %n = arith.constant 60 : index
  %minus = arith.constant -1.0 : f32
  gpu.memset %dsh, %minus : memref<?xf32>, f32
  gpu.launch_func @k::@total blocks in (%c2, %c1, %c1) threads in (%c35, %c1, %c1) args(%din : memref<?xf32>, %dsh : memref<?xf32>, %n : index)
  gpu.memcpy %hsh, %dsh : memref<?xf32>, memref<?xf32>
  %us = memref.cast %hsh : memref<?xf32> to memref<*xf32>
  call @printMemrefF32(%us) : (memref<*xf32>) -> ()
  %ha = memref.alloc(%c32, %c32) : memref<?x?xf32>
  scf.for %i = %c0 to %c32 step %c1 {
  scf.for %j = %c0 to %c32 step %c1 {
    %x0 = arith.muli %i, %j : index
    %c3 = arith.constant 3 : index
    %x1 = arith.addi %x0, %i : index
    %x = arith.remui %x1, %c3 : index
    %k = arith.index_cast %x : index to i32
    %f = arith.sitofp %k : i32 to f32
    memref.store %f, %ha[%i, %j] : memref<?x?xf32>
  } }
  %a = gpu.alloc (%c32, %c32) : memref<?x?xf32>
  %b = gpu.alloc (%c32, %c32) : memref<?x?xf32>
  %c = gpu.alloc (%c32, %c32) : memref<?x?xf32>
  gpu.memcpy %a, %ha : memref<?x?xf32>, memref<?x?xf32>
  gpu.memcpy %b, %ha : memref<?x?xf32>, memref<?x?xf32>
  gpu.launch_func @k::@matmul blocks in (%c2, %c2, %c1) threads in (%c16, %c16, %c1) args(%a : memref<?x?xf32>, %b : memref<?x?xf32>, %c : memref<?x?xf32>)
  %hc = memref.alloc(%c32, %c32) : memref<?x?xf32>
  gpu.memcpy %hc, %c : memref<?x?xf32>, memref<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %err = scf.for %i = %c0 to %c32 step %c1 iter_args(%e0 = %zero) -> f32 {
  %e1 = scf.for %j = %c0 to %c32 step %c1 iter_args(%e2 = %e0) -> f32 {
    %s = scf.for %k = %c0 to %c32 step %c1 iter_args(%s0 = %zero) -> f32 {
      %x = memref.load %ha[%i, %k] : memref<?x?xf32>
      %y = memref.load %ha[%k, %j] : memref<?x?xf32>
      %m = arith.mulf %x, %y : f32
      %s1 = arith.addf %m, %s0 : f32
      scf.yield %s1 : f32
    }
    %g = memref.load %hc[%i, %j] : memref<?x?xf32>
    %d = arith.subf %g, %s : f32
    %dd = math.absf %d : f32
    %e3 = arith.addf %e2, %dd : f32
    scf.yield %e3 : f32
  } scf.yield %e1 : f32 }
  vector.print str "error "
  vector.print %err : f32
  gpu.dealloc %a : memref<?x?xf32>
  gpu.dealloc %b : memref<?x?xf32>
  gpu.dealloc %c : memref<?x?xf32>
  gpu.dealloc %dsh : memref<?xf32>
  gpu.dealloc %din : memref<?xf32>
  gpu.dealloc %dout : memref<?xf32>
  memref.dealloc %in : memref<?xf32>
  memref.dealloc %out : memref<?xf32>
  memref.dealloc %hsh : memref<?xf32>
  memref.dealloc %ha : memref<?x?xf32>
  memref.dealloc %hc : memref<?x?xf32>
  return
}
func.func private @printMemrefF32(memref<*xf32>)
}

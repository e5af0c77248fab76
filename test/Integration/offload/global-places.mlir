// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A global is one memory wherever a function gets it: within kernels, branches, loops and
// blocks behind the first one. What a function writes it has at each of its returns.
// DEFINE: %{run} = gpu-runner --device=cpu --check
// DEFINE: %{gpu} = gpu-opt %s --gpu-async-offload=device=gpu
// RUN: %{run} %s -e written_in_kernels --input=4xf32 --output=arg0=- | FileCheck %s --check-prefix=R0
// RUN: %{gpu} | %{run} - -e written_in_kernels --input=4xf32 --output=arg0=- | FileCheck %s --check-prefix=R0
// R0: arg[0]: 4xf32=4 8 12 16
// RUN: %{run} %s -e read_in_kernels --input=4xf32 --input=2 --output=arg0=- | FileCheck %s --check-prefix=R1
// RUN: %{gpu} | %{run} - -e read_in_kernels --input=4xf32 --input=2 --output=arg0=- | FileCheck %s --check-prefix=R1
// R1: arg[0]: 4xf32=1 50 3 4
// RUN: %{run} %s -e early_exit --input=4xf32=1,2,3,4 --input=true --output=arg0=- | FileCheck %s --check-prefix=R2
// RUN: %{gpu} | %{run} - -e early_exit --input=4xf32=1,2,3,4 --input=true --output=arg0=- | FileCheck %s --check-prefix=R2
// R2: arg[0]: 4xf32=2 4 6 8
// RUN: %{run} %s -e early_exit --input=4xf32=1,2,3,4 --input=false --output=arg0=- | FileCheck %s --check-prefix=R3
// RUN: %{gpu} | %{run} - -e early_exit --input=4xf32=1,2,3,4 --input=false --output=arg0=- | FileCheck %s --check-prefix=R3
// R3: arg[0]: 4xf32=1 4 9 16
// RUN: %{run} %s -e chosen --input=4xf32 --input=true --output=arg0=- | FileCheck %s --check-prefix=R4
// RUN: %{gpu} | %{run} - -e chosen --input=4xf32 --input=true --output=arg0=- | FileCheck %s --check-prefix=R4
// R4: arg[0]: 4xf32=1 2 3 4
// RUN: %{run} %s -e chosen --input=4xf32 --input=false --output=arg0=- | FileCheck %s --check-prefix=R5
// RUN: %{gpu} | %{run} - -e chosen --input=4xf32 --input=false --output=arg0=- | FileCheck %s --check-prefix=R5
// R5: arg[0]: 4xf32=10 20 30 40
// RUN: %{run} %s -e carried --input=4xf32=1,1,1,1 --input=3 | FileCheck %s --check-prefix=R6
// RUN: %{gpu} | %{run} - -e carried --input=4xf32=1,1,1,1 --input=3 | FileCheck %s --check-prefix=R6
// R6: result[0]: f32=80
// RUN: %{run} %s -e blocks --input=true | FileCheck %s --check-prefix=R7
// RUN: %{gpu} | %{run} - -e blocks --input=true | FileCheck %s --check-prefix=R7
// R7: result[0]: f32=8
// RUN: %{run} %s -e blocks --input=false | FileCheck %s --check-prefix=R8
// RUN: %{gpu} | %{run} - -e blocks --input=false | FileCheck %s --check-prefix=R8
// R8: result[0]: f32=4
memref.global "private" @g : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
memref.global "private" @h : memref<4xf32> = dense<[10.0, 20.0, 30.0, 40.0]>

func.func @written_in_kernels(%m: memref<4xf32>) {
  scf.forall (%i) in (4) {
    %g = memref.get_global @g : memref<4xf32>
    %v = memref.load %g[%i] : memref<4xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %g[%i] : memref<4xf32>
  }
  %h = memref.get_global @g : memref<4xf32>
  linalg.add ins(%h, %h : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  return
}

func.func private @set(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 50.0 : f32
  %isEnd = arith.cmpi eq, %n, %c0 : index
  scf.if %isEnd {
    %g = memref.get_global @g : memref<4xf32>
    memref.store %f, %g[%c1] : memref<4xf32>
  } else {
    %k = arith.subi %n, %c1 : index
    func.call @set(%k) : (index) -> ()
  }
  return
}
func.func @read_in_kernels(%m: memref<4xf32>, %n: index) {
  func.call @set(%n) : (index) -> ()
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%m : memref<4xf32>) {
  ^bb0(%x: f32):
    %i = linalg.index 0 : index
    %g = memref.get_global @g : memref<4xf32>
    %v = memref.load %g[%i] : memref<4xf32>
    linalg.yield %v : f32
  }
  return
}

// An argument, too.
func.func @early_exit(%m: memref<4xf32>, %isSum: i1) {
  cf.cond_br %isSum, ^sum, ^product
^sum:
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  return
^product:
  linalg.mul ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  return
}

func.func @chosen(%m: memref<4xf32>, %isFirst: i1) {
  %s = scf.if %isFirst -> memref<4xf32> {
    %g = memref.get_global @g : memref<4xf32>
    scf.yield %g : memref<4xf32>
  } else {
    %h = memref.get_global @h : memref<4xf32>
    scf.yield %h : memref<4xf32>
  }
  linalg.add ins(%s, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  return
}

// 20, doubled in two of three rounds.
func.func @carried(%m: memref<4xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %m) -> memref<4xf32> {
    linalg.add ins(%a, %a : memref<4xf32>, memref<4xf32>) outs(%a : memref<4xf32>)
    %h = memref.get_global @h : memref<4xf32>
    scf.yield %h : memref<4xf32>
  }
  %v = memref.load %r[%c1] : memref<4xf32>
  return %v : f32
}

func.func @blocks(%isTwice: i1) -> f32 {
  %c1 = arith.constant 1 : index
  cf.br ^first
^first:
  %g = memref.get_global @g : memref<4xf32>
  linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
  cf.cond_br %isTwice, ^second, ^end
^second:
  %again = memref.get_global @g : memref<4xf32>
  linalg.add ins(%again, %again : memref<4xf32>, memref<4xf32>) outs(%again : memref<4xf32>)
  cf.br ^end
^end:
  %last = memref.get_global @g : memref<4xf32>
  %v = memref.load %last[%c1] : memref<4xf32>
  return %v : f32
}

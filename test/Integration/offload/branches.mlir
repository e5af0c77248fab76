// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of several blocks. No block writes a tensor argument where it is, nor what
// another block still reads; loops, switches and returns of branches work as those of scf.
// DEFINE: %{cpu} = gpu-runner --device=cpu --check --leak-check=error %s
// DEFINE: %{gpu} = gpu-opt %s --gpu-async-offload="device=gpu offload=error" | gpu-runner --device=cpu -
// DEFINE: %{x} = --input=4xf32=1,2,3,4
// RUN: %{cpu} -e inserted %{x} --input=false --output=arg0=- --output=result0=- | FileCheck %s --check-prefix=INSERTED
// RUN: %{gpu} -e inserted %{x} --input=false --output=arg0=- --output=result0=- | FileCheck %s --check-prefix=INSERTED
// INSERTED: arg[0]: 4xf32=1 2 3 4
// INSERTED: result[0]: f32=16
// RUN: %{cpu} -e region %{x} --input=true | FileCheck %s --check-prefix=REGION
// RUN: %{gpu} -e region %{x} --input=true | FileCheck %s --check-prefix=REGION
// REGION: result[0]: f32=9
// RUN: %{cpu} -e passed %{x} --input=true | FileCheck %s --check-prefix=PASSED
// RUN: %{gpu} -e passed %{x} --input=true | FileCheck %s --check-prefix=PASSED
// PASSED: result[0]: f32=13
// RUN: %{cpu} -e joined %{x} --input=true | FileCheck %s --check-prefix=JOINED
// RUN: %{gpu} -e joined %{x} --input=true | FileCheck %s --check-prefix=JOINED
// JOINED: result[0]: 4xf32=4 16 36 64
// RUN: %{cpu} -e open %{x} --input=6xf32=1 --input=true | FileCheck %s --check-prefix=OPEN
// RUN: %{cpu} -e open %{x} --input=6xf32=1 --input=false | FileCheck %s --check-prefix=OTHER
// RUN: %{gpu} -e open %{x} --input=6xf32=1 --input=false | FileCheck %s --check-prefix=OTHER
// OPEN: result[0]: f32=8
// OTHER: result[0]: f32=2
// RUN: %{cpu} -e loop %{x} --input=3 | FileCheck %s --check-prefix=LOOP
// RUN: %{gpu} -e loop %{x} --input=3 | FileCheck %s --check-prefix=LOOP
// LOOP: result[0]: 4xf32=4 8 12 16
// LOOP: result[1]: i32=3
// RUN: %{cpu} -e switch --input=4xf32=1 --input=2 --output=arg0=- | FileCheck %s --check-prefix=SWITCH
// RUN: %{gpu} -e switch --input=4xf32=1 --input=2 --output=arg0=- | FileCheck %s --check-prefix=SWITCH
// SWITCH: arg[0]: 4xf32=4 4 4 4
// RUN: %{cpu} -e returns %{x} --input=true | FileCheck %s --check-prefix=EARLY
// RUN: %{gpu} -e returns %{x} --input=false | FileCheck %s --check-prefix=LATE
// EARLY: result[0]: 4xf32=1 2 3 4
// LATE: result[0]: 4xf32=2 4 6 8
// RUN: %{cpu} -e host %{x} | FileCheck %s --check-prefix=HOST
// RUN: %{gpu} -e host %{x} | FileCheck %s --check-prefix=HOST
// HOST: result[0]: f32=4

module attributes {gpu.container_module} {
func.func @inserted(%x: tensor<4xf32>, %p: i1) -> f32 {
  %c1 = arith.constant 1 : index
  %seven = arith.constant 7.0 : f32
  cf.cond_br %p, ^a, ^b
^a:
  return %seven : f32
^b:
  %k = tensor.insert %seven into %x[%c1] : tensor<4xf32>
  %kk = arith.addf %k, %k : tensor<4xf32>
  %v = tensor.extract %kk[%c1] : tensor<4xf32>
  %w = tensor.extract %x[%c1] : tensor<4xf32>
  %z = arith.addf %v, %w : f32
  return %z : f32
}

func.func @region(%x: tensor<4xf32>, %p: i1) -> f32 {
  %c1 = arith.constant 1 : index
  %seven = arith.constant 7.0 : f32
  %r = scf.execute_region -> f32 {
    cf.cond_br %p, ^b, ^c
  ^b:
    %k = tensor.insert %seven into %x[%c1] : tensor<4xf32>
    %v = tensor.extract %k[%c1] : tensor<4xf32>
    scf.yield %v : f32
  ^c:
    scf.yield %seven : f32
  }
  %s = arith.addf %x, %x : tensor<4xf32>
  %w = tensor.extract %x[%c1] : tensor<4xf32>
  %z = arith.addf %r, %w : f32
  return %z : f32
}

// A private function, and a block that is given a tensor.
func.func private @change(%x: tensor<4xf32>, %p: i1) -> f32 {
  %c1 = arith.constant 1 : index
  %seven = arith.constant 7.0 : f32
  %y = arith.addf %x, %x : tensor<4xf32>
  cf.br ^a(%y : tensor<4xf32>)
^a(%t: tensor<4xf32>):
  cf.cond_br %p, ^b, ^c
^b:
  %k = tensor.insert %seven into %t[%c1] : tensor<4xf32>
  %v = tensor.extract %k[%c1] : tensor<4xf32>
  %w = tensor.extract %t[%c1] : tensor<4xf32>
  %z = arith.addf %v, %w : f32
  return %z : f32
^c:
  return %seven : f32
}
func.func @passed(%x: tensor<4xf32>, %p: i1) -> f32 {
  %c1 = arith.constant 1 : index
  %r = call @change(%x, %p) : (tensor<4xf32>, i1) -> f32
  %w = tensor.extract %x[%c1] : tensor<4xf32>
  %z = arith.addf %r, %w : f32
  return %z : f32
}

func.func @joined(%x: tensor<4xf32>, %p: i1) -> tensor<4xf32> {
  cf.cond_br %p, ^a, ^b(%x : tensor<4xf32>)
^a:
  %s = arith.addf %x, %x : tensor<4xf32>
  cf.br ^b(%s : tensor<4xf32>)
^b(%v: tensor<4xf32>):
  %w = arith.mulf %v, %v : tensor<4xf32>
  return %w : tensor<4xf32>
}

// Branches of one op to one block, with tensors of open size.
func.func @open(%x: tensor<?xf32>, %y: tensor<?xf32>, %p: i1) -> f32 {
  %c1 = arith.constant 1 : index
  %a = arith.addf %x, %x : tensor<?xf32>
  cf.cond_br %p, ^b(%a : tensor<?xf32>), ^b(%y : tensor<?xf32>)
^b(%t: tensor<?xf32>):
  %u = arith.addf %t, %t : tensor<?xf32>
  %v = tensor.extract %u[%c1] : tensor<?xf32>
  return %v : f32
}

func.func @loop(%x: tensor<4xf32>, %n: i32) -> (tensor<4xf32>, i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^head(%zero, %x : i32, tensor<4xf32>)
^head(%i: i32, %t: tensor<4xf32>):
  %isMore = arith.cmpi slt, %i, %n : i32
  cf.cond_br %isMore, ^body, ^end
^body:
  %s = arith.addf %t, %x : tensor<4xf32>
  %next = arith.addi %i, %one : i32
  cf.br ^head(%next, %s : i32, tensor<4xf32>)
^end:
  return %t, %i : tensor<4xf32>, i32
}

func.func @switch(%m: memref<4xf32>, %case: i32) {
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  cf.switch %case : i32, [default: ^end, 1: ^a, 2: ^b]
^a:
  return
^b:
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  cf.br ^end
^end:
  return
}

func.func @returns(%x: tensor<4xf32>, %p: i1) -> tensor<4xf32> {
  cf.cond_br %p, ^a, ^b
^a:
  return %x : tensor<4xf32>
^b:
  %s = arith.addf %x, %x : tensor<4xf32>
  return %s : tensor<4xf32>
}

// A function of the host's may keep branches that have no structure of scf.
func.func private @numbers(%case: i128, %a: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  cf.switch %case : i128, [default: ^a, 7: ^b]
^a:
  %m = arith.mulf %a, %two : f32
  return %m : f32
^b:
  return %a : f32
}
func.func @host(%x: tensor<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %case = arith.constant 8 : i128
  %y = arith.addf %x, %x : tensor<4xf32>
  %v = tensor.extract %y[%c0] : tensor<4xf32>
  %r = call @numbers(%case, %v) : (i128, f32) -> f32
  return %r : f32
}
}

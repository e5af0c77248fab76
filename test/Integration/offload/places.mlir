// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors that want one place: carried ones that change places, a result that a loop
// or a branch writes over, memory that is freed by another name. For a GPU, too.
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.gpu.mlir
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e shift %s --input=4xf32=1 --input=4xf32=2 --input=3 | FileCheck %s --check-prefix=SHIFT
// RUN: gpu-runner --device=cpu --check --leak-check=error -e shift %t.gpu.mlir --input=4xf32=1 --input=4xf32=2 --input=3 | FileCheck %s --check-prefix=SHIFT
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e swap %s --input=4xf32=1 --input=4xf32=2 --input=3 | FileCheck %s --check-prefix=SWAP
// RUN: gpu-runner --device=cpu --check --leak-check=error -e swap %t.gpu.mlir --input=4xf32=1 --input=4xf32=2 --input=3 | FileCheck %s --check-prefix=SWAP
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e both %s --input=4xf32=1 --input=4xf32=2 --input=3 | FileCheck %s --check-prefix=BOTH
// RUN: gpu-runner --device=cpu --check --leak-check=error -e both %t.gpu.mlir --input=4xf32=1 --input=4xf32=2 --input=3 | FileCheck %s --check-prefix=BOTH
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e choose %s --input=4xf32=1 --input=4xf32=2 --input=3 --input=false | FileCheck %s --check-prefix=CHOOSE
// RUN: gpu-runner --device=cpu --check --leak-check=error -e choose %t.gpu.mlir --input=4xf32=1 --input=4xf32=2 --input=3 --input=false | FileCheck %s --check-prefix=CHOOSE
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e begun %s --input=4xf32=1 --input=3 | FileCheck %s --check-prefix=BEGUN
// RUN: gpu-runner --device=cpu --check --leak-check=error -e begun %t.gpu.mlir --input=4xf32=1 --input=3 | FileCheck %s --check-prefix=BEGUN
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e branch %s --input=4xf32=1 --input=2xf32=7 --input=false | FileCheck %s --check-prefix=BRANCH
// RUN: gpu-runner --device=cpu --check --leak-check=error -e branch %t.gpu.mlir --input=4xf32=1 --input=2xf32=7 --input=false | FileCheck %s --check-prefix=BRANCH
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e freed %s --input=f32=2 --input=4xf32=1 --input=true | FileCheck %s --check-prefix=FREED
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e freed %s --input=f32=2 --input=4xf32=1 --input=false | FileCheck %s --check-prefix=KEPT
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e own %s --input=4xf32=1 --output=- | FileCheck %s --check-prefix=OWN
// RUN: gpu-runner --device=cpu --check --leak-check=error -e own %t.gpu.mlir --input=4xf32=1 --output=- | FileCheck %s --check-prefix=OWN
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e either %s --input=4xf32=0 --input=true | FileCheck %s --check-prefix=TANH
// RUN: gpu-runner --device=cpu --check --leak-check=error -e either %t.gpu.mlir --input=4xf32=0 --input=true | FileCheck %s --check-prefix=TANH
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e either %s --input=4xf32=0 --input=false | FileCheck %s --check-prefix=SUM
// RUN: gpu-runner --device=cpu --check --leak-check=error -e either %t.gpu.mlir --input=4xf32=0 --input=false | FileCheck %s --check-prefix=SUM
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e nested %s --input=4xf32=1 --input=2 | FileCheck %s --check-prefix=NESTEDLOOP
// RUN: gpu-runner --device=cpu --check --leak-check=error -e nested %t.gpu.mlir --input=4xf32=1 --input=2 | FileCheck %s --check-prefix=NESTEDLOOP
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e kept %s --input=4xf32=1 --input=2 | FileCheck %s --check-prefix=KEPTLOOP
// RUN: gpu-runner --device=cpu --check --leak-check=error -e kept %t.gpu.mlir --input=4xf32=1 --input=2 | FileCheck %s --check-prefix=KEPTLOOP
// RUN: gpu-runner --device=cpu --offload=error --check --leak-check=error -e sometimes %s --input=4xf32=1 --input=2xf32=7 --input=3 | FileCheck %s --check-prefix=SOMETIMES
// RUN: gpu-runner --device=cpu --check --leak-check=error -e sometimes %t.gpu.mlir --input=4xf32=1 --input=2xf32=7 --input=3 | FileCheck %s --check-prefix=SOMETIMES
// RUN: gpu-runner --device=cpu --offload=error --leak-check=error -e empty %s --input=0xf32 --input=0xf32 --input=true | FileCheck %s --check-prefix=EMPTY
// RUN: gpu-runner --device=cpu --offload=error --leak-check=error -e empty %s --input=0xf32 --input=0xf32 --input=false | FileCheck %s --check-prefix=EMPTY
// RUN: gpu-runner --device=cpu --leak-check=error -e empty %t.gpu.mlir --input=0xf32 --input=0xf32 --input=true | FileCheck %s --check-prefix=EMPTY
// RUN: gpu-runner --device=cpu --leak-check=error -e empty %t.gpu.mlir --input=2xf32=1 --input=2xf32=2 --input=true | FileCheck %s --check-prefix=FULL

// SHIFT: result[0]: 4xf32=7 7 7 7
// SHIFT: result[1]: 4xf32=4 4 4 4
func.func @shift(%a: tensor<4xf32>, %b: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (tensor<4xf32>, tensor<4xf32>) {
    %s = arith.addf %x, %y : tensor<4xf32>
    scf.yield %s, %x : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// SWAP: result[0]: 4xf32=2 2 2 2
// SWAP: result[1]: 4xf32=1 1 1 1
func.func @swap(%a: tensor<4xf32>, %b: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %y, %x : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// BOTH: result[0]: 4xf32=12 12 12 12
// BOTH: result[1]: 4xf32=12 12 12 12
func.func @both(%a: tensor<4xf32>, %b: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (tensor<4xf32>, tensor<4xf32>) {
    %s = arith.addf %x, %y : tensor<4xf32>
    scf.yield %s, %s : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// A branch in each round that gives one of them back.
// CHOOSE: result[0]: 4xf32=7 7 7 7
// CHOOSE: result[1]: 4xf32=4 4 4 4
func.func @choose(%a: tensor<4xf32>, %b: tensor<4xf32>, %n: index, %c: i1) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (tensor<4xf32>, tensor<4xf32>) {
    %s = arith.addf %x, %y : tensor<4xf32>
    %t = scf.if %c -> (tensor<4xf32>) {
      scf.yield %s : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    scf.yield %s, %t : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// What the loop begins with is a result, too.
// BEGUN: result[0]: 4xf32=16 16 16 16
// BEGUN: result[1]: 4xf32=2 2 2 2
func.func @begun(%a: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = arith.addf %a, %a : tensor<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %b) -> (tensor<4xf32>) {
    %s = arith.addf %x, %x : tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %r, %b : tensor<4xf32>, tensor<4xf32>
}

// BRANCH: result[0]: 4xf32=2 7 7 2
// BRANCH: result[1]: 4xf32=2 2 2 2
func.func @branch(%a: tensor<4xf32>, %u: tensor<2xf32>, %c: i1) -> (tensor<4xf32>, tensor<4xf32>) {
  %b = arith.addf %a, %a : tensor<4xf32>
  %v = scf.if %c -> (tensor<4xf32>) {
    scf.yield %a : tensor<4xf32>
  } else {
    %r = tensor.insert_slice %u into %b[1] [2] [1] : tensor<2xf32> into tensor<4xf32>
    scf.yield %r : tensor<4xf32>
  }
  return %v, %b : tensor<4xf32>, tensor<4xf32>
}

// Allocated in the branch, read and freed behind it.
// FREED: f32=16
// KEPT: f32=4
func.func @freed(%a: tensor<f32>, %v: tensor<4xf32>, %c: i1) -> tensor<f32> {
  %d = scf.if %c -> (tensor<f32>) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %s = linalg.reduce { arith.addf } ins(%v : tensor<4xf32>) outs(%f : tensor<f32>) dimensions = [0]
    scf.yield %s : tensor<f32>
  } else {
    scf.yield %a : tensor<f32>
  }
  %p = arith.mulf %d, %d : tensor<f32>
  return %p : tensor<f32>
}

// A function on memrefs frees what it allocates.
// OWN: arg[0]: 4xf32=4 4 4 4
func.func @own(%a: memref<4xf32>) {
  %m = memref.alloc() : memref<4xf32>
  linalg.add ins(%a, %a : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%a : memref<4xf32>)
  memref.dealloc %m : memref<4xf32>
  return
}

// Which memory is freed is found by its address.
// TANH: 4xf32=0 0 0 0
// SUM: 4xf32=1 1 1 1
func.func @either(%a: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %e = math.exp %a : tensor<4xf32>
  %t = scf.if %c -> (tensor<4xf32>) {
    %l = math.log %e : tensor<4xf32>
    %h = math.tanh %l : tensor<4xf32>
    scf.yield %h : tensor<4xf32>
  } else {
    scf.yield %e : tensor<4xf32>
  }
  return %t : tensor<4xf32>
}

// An inner loop begins with what the outer one carries, which nothing else reads.
// NESTEDLOOP: 4xf32=16 16 16 16
func.func @nested(%a: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (tensor<4xf32>) {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%y = %x) -> (tensor<4xf32>) {
      %t = arith.addf %y, %y : tensor<4xf32>
      scf.yield %t : tensor<4xf32>
    }
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// And which it reads further on; it ends where the host's numbers say so.
// KEPTLOOP: 4xf32=9 9 9 9
func.func @kept(%a: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.cmpi sge, %n, %c0 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (tensor<4xf32>) {
    %s, %last = scf.while (%y = %x, %k = %c0) : (tensor<4xf32>, index) -> (tensor<4xf32>, index) {
      %less = arith.cmpi slt, %k, %n : index
      %c = arith.andi %less, %true : i1
      scf.condition(%c) %y, %k : tensor<4xf32>, index
    } do {
    ^bb0(%y: tensor<4xf32>, %k: index):
      %t = arith.addf %x, %y : tensor<4xf32>
      %next = arith.addi %k, %c1 : index
      scf.yield %t, %next : tensor<4xf32>, index
    }
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// In one of the rounds another tensor, with a part of it changed, takes the place.
// SOMETIMES: 4xf32=1 7 7 1
func.func @sometimes(%a: tensor<4xf32>, %u: tensor<2xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = arith.mulf %a, %a : tensor<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (tensor<4xf32>) {
    %c = arith.cmpi eq, %i, %c1 : index
    %t = scf.if %c -> tensor<4xf32> {
      %v = tensor.insert_slice %u into %b[%i] [2] [1] : tensor<2xf32> into tensor<4xf32>
      scf.yield %v : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    scf.yield %t : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// Memory without elements that is freed by another name.
// EMPTY: 0xf32=
// FULL: 2xf32=4 4
func.func @empty(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: i1) -> tensor<?xf32> {
  %t = scf.if %c -> tensor<?xf32> {
    %v = arith.addf %a, %b : tensor<?xf32>
    scf.yield %v : tensor<?xf32>
  } else {
    scf.yield %b : tensor<?xf32>
  }
  %r = arith.addf %a, %t : tensor<?xf32>
  return %r : tensor<?xf32>
}

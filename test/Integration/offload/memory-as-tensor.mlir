// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bufferization.to_tensor is what the memref holds where it stands, whatever is written
// there before the tensor is used. A tensor that was put into a memref keeps its elements
// when the memref is overwritten.
// DEFINE: %{cpu} = gpu-runner --device=cpu --check --offload=error %s
// DEFINE: %{gpu} = gpu-runner --device=cpu --check %t.gpu.mlir
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.gpu.mlir
// RUN: gpu-opt %s --gpu-async-lower-tensor-ops | FileCheck %s
//
// DEFINE: %{args} = -e thenFilled --input=4xi32=1,2,3,4 --expect=result0=4xi32=2,6,12,20 --expect=arg0=4xi32=0
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e inALoop --input=4xi32=1,2,3,4 --expect=result0=4xi32=4,8,12,16 --expect=arg0=4xi32=1
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e inABody --input=4xi32=1,2,3,4 --expect=result0=4xi32=5,5,5,5 --expect=arg0=4xi32=5
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e putThenFilled --input=4xi32=1,2,3,4 --input=4xi32=9 --input=4xi32=9 --expect=arg1=4xi32=0 --expect=arg2=4xi32=2,4,6,8
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e inPlace --input=4xi32=1,-2,3,-4 --expect=arg0=4xi32=1,0,3,0
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e turned --input=2x2xi32=1,2,3,4 --expect=arg0=2x2xi32=1,3,2,4
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e unrestricted --input=4xi32=1,2,3,4 --expect=result0=4xi32=1,4,9,16 --expect=arg0=4xi32=0
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e shifted --input=4xi32=1,2,3,4 --expect=arg0=4xi32=1,1,2,3
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// Memory that a select, a branch or a loop gives may be any that has gone in.
// DEFINE: %{given} = gpu-runner --device=cpu --check --offload=error %s --input=1 --input=4xi32=7 --input=4xi32=1 --expect=result0=4xi32=49
// RUN: %{given} -e selected
// RUN: %{given} -e branched
// RUN: %{given} -e carried

// CHECK-LABEL: func.func @thenFilled
// CHECK: %[[T:.*]] = bufferization.to_tensor
// CHECK-NEXT: bufferization.alloc_tensor() copy(%[[T]])
func.func @thenFilled(%m: memref<4xi32>) -> tensor<4xi32> {
  %zero = arith.constant 0 : i32
  %t = bufferization.to_tensor %m restrict : memref<4xi32> to tensor<4xi32>
  %q = arith.muli %t, %t : tensor<4xi32>
  linalg.fill ins(%zero : i32) outs(%m : memref<4xi32>)
  %r = arith.addi %q, %t : tensor<4xi32>
  return %r : tensor<4xi32>
}

func.func @inALoop(%m: memref<4xi32>) -> tensor<4xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1 : i32
  %t = bufferization.to_tensor %m restrict : memref<4xi32> to tensor<4xi32>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %t) -> (tensor<4xi32>) {
    %u = arith.addi %a, %t : tensor<4xi32>
    linalg.fill ins(%one : i32) outs(%m : memref<4xi32>)
    scf.yield %u : tensor<4xi32>
  }
  return %r : tensor<4xi32>
}

// The op stores where others of its iterations read.
func.func @inABody(%m: memref<4xi32>) -> tensor<4xi32> {
  %c3 = arith.constant 3 : index
  %t = bufferization.to_tensor %m restrict : memref<4xi32> to tensor<4xi32>
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%t : tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%p: i32, %o: i32):
    %i = linalg.index 0 : index
    %place = arith.subi %c3, %i : index
    %v = tensor.extract %t[%place] : tensor<4xi32>
    %s = arith.addi %p, %v : i32
    memref.store %s, %m[%i] : memref<4xi32>
    linalg.yield %s : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}

func.func @putThenFilled(%x: tensor<4xi32>, %m: memref<4xi32>, %n: memref<4xi32>) {
  %zero = arith.constant 0 : i32
  %r = arith.addi %x, %x : tensor<4xi32>
  bufferization.materialize_in_destination %r in restrict writable %m : (tensor<4xi32>, memref<4xi32>) -> ()
  linalg.fill ins(%zero : i32) outs(%m : memref<4xi32>)
  bufferization.materialize_in_destination %r in restrict writable %n : (tensor<4xi32>, memref<4xi32>) -> ()
  return
}

// Nothing is read behind the write. No argument or result is a tensor, and there is no
// linalg op: kernels are made of it all the same.
// CHECK-LABEL: func.func @inPlace
// CHECK-NOT: copy
// CHECK: return
func.func @inPlace(%m: memref<4xi32>) {
  %zero = arith.constant dense<0> : tensor<4xi32>
  %t = bufferization.to_tensor %m restrict : memref<4xi32> to tensor<4xi32>
  %r = arith.maxsi %t, %zero : tensor<4xi32>
  bufferization.materialize_in_destination %r in restrict writable %m : (tensor<4xi32>, memref<4xi32>) -> ()
  return
}

func.func @turned(%m: memref<2x2xi32>) {
  %v = memref.transpose %m (i, j) -> (j, i) : memref<2x2xi32> to memref<2x2xi32, strided<[1, 2]>>
  %t = bufferization.to_tensor %v restrict : memref<2x2xi32, strided<[1, 2]>> to tensor<2x2xi32>
  bufferization.materialize_in_destination %t in writable %m : (tensor<2x2xi32>, memref<2x2xi32>) -> ()
  return
}

func.func @shifted(%m: memref<4xi32>) {
  %t = bufferization.to_tensor %m restrict : memref<4xi32> to tensor<4xi32>
  %s = tensor.extract_slice %t[0] [3] [1] : tensor<4xi32> to tensor<3xi32>
  %v = memref.subview %m[1] [3] [1] : memref<4xi32> to memref<3xi32, strided<[1], offset: 1>>
  bufferization.materialize_in_destination %s in writable %v : (tensor<3xi32>, memref<3xi32, strided<[1], offset: 1>>) -> ()
  return
}

func.func @selected(%p: i1, %x: memref<4xi32>, %h: memref<4xi32>) -> tensor<4xi32> {
  %z = arith.constant 0 : i32
  %a = memref.alloc() : memref<4xi32>
  linalg.copy ins(%x : memref<4xi32>) outs(%a : memref<4xi32>)
  %s = arith.select %p, %a, %h : memref<4xi32>
  %t = bufferization.to_tensor %a restrict : memref<4xi32> to tensor<4xi32>
  linalg.fill ins(%z : i32) outs(%s : memref<4xi32>)
  %r = arith.muli %t, %t : tensor<4xi32>
  memref.dealloc %a : memref<4xi32>
  return %r : tensor<4xi32>
}

func.func @branched(%p: i1, %x: memref<4xi32>, %h: memref<4xi32>) -> tensor<4xi32> {
  %z = arith.constant 0 : i32
  %a = memref.alloc() : memref<4xi32>
  linalg.copy ins(%x : memref<4xi32>) outs(%a : memref<4xi32>)
  %s = scf.if %p -> memref<4xi32> {
    scf.yield %a : memref<4xi32>
  } else {
    scf.yield %h : memref<4xi32>
  }
  %t = bufferization.to_tensor %a restrict : memref<4xi32> to tensor<4xi32>
  linalg.fill ins(%z : i32) outs(%s : memref<4xi32>)
  %r = arith.muli %t, %t : tensor<4xi32>
  memref.dealloc %a : memref<4xi32>
  return %r : tensor<4xi32>
}

func.func @carried(%p: i1, %x: memref<4xi32> {llvm.noalias}, %h: memref<4xi32>) -> tensor<4xi32> {
  %z = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.index_castui %p : i1 to index
  %s:2 = scf.for %i = %c0 to %n step %c1 iter_args(%one = %h, %other = %x) -> (memref<4xi32>, memref<4xi32>) {
    scf.yield %other, %one : memref<4xi32>, memref<4xi32>
  }
  %t = bufferization.to_tensor %x restrict : memref<4xi32> to tensor<4xi32>
  linalg.fill ins(%z : i32) outs(%s#0 : memref<4xi32>)
  %r = arith.muli %t, %t : tensor<4xi32>
  return %r : tensor<4xi32>
}

// What `restrict` would promise is not needed.
func.func @unrestricted(%m: memref<4xi32>) -> tensor<4xi32> {
  %zero = arith.constant 0 : i32
  %t = bufferization.to_tensor %m : memref<4xi32> to tensor<4xi32>
  linalg.fill ins(%zero : i32) outs(%m : memref<4xi32>)
  %r = arith.muli %t, %t : tensor<4xi32>
  return %r : tensor<4xi32>
}

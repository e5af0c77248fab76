// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An iteration of scf.forall reads the shared outputs as they were in front of
// the loop, whatever it and others write.
// RUN: gpu-runner --device=cpu --offload=error -e exchange --input=8xi32=0,1,2,3,4,5,6,7 --expect=result0=8xi32=1,0,3,2,5,4,7,6 %s
// RUN: gpu-runner --device=cpu --offload=error -e once --input=2xi32=1,2 --expect=result0=2xi32=2,1 %s
// RUN: gpu-runner --device=cpu --offload=error -e outputs --input=4xi32=1,2,3,4 --input=4xi32=5,6,7,8 --expect=result0=4xi32=5,6,7,8 --expect=result1=4xi32=1,2,3,4 %s
// RUN: gpu-runner --device=cpu --offload=error -e backwards %s | FileCheck %s --check-prefix=BACKWARDS
// RUN: gpu-runner --device=cpu --offload=error -e copies --input=2xi32=1,2 --input=2xi32=5,6 --expect=result0=2xi32=5,6 --expect=result1=2xi32=1,2 %s
// RUN: gpu-runner --device=cpu --offload=error -e own --input=4xi32=1,2,3,4 --expect=result0=4xi32=2,4,6,8 %s
// RUN: gpu-opt %s --gpu-async-lower-tensor-ops | FileCheck %s

func.func @exchange(%x: tensor<8xi32>) -> tensor<8xi32> {
  %c1 = arith.constant 1 : index
  %r = scf.forall (%i) = (0) to (8) step (2) shared_outs(%o = %x) -> (tensor<8xi32>) {
    %j = arith.addi %i, %c1 : index
    %s = tensor.extract_slice %o[%i] [1] [1] : tensor<8xi32> to tensor<1xi32>
    %t = tensor.extract_slice %o[%j] [1] [1] : tensor<8xi32> to tensor<1xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%i] [1] [1] : tensor<1xi32> into tensor<8xi32>
      tensor.parallel_insert_slice %s into %o[%j] [1] [1] : tensor<1xi32> into tensor<8xi32>
    }
  }
  return %r : tensor<8xi32>
}

func.func @outputs(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %r:2 = scf.forall (%i) = (0) to (4) step (2) shared_outs(%o = %x, %p = %y) -> (tensor<4xi32>, tensor<4xi32>) {
    %s = tensor.extract_slice %o[%i] [2] [1] : tensor<4xi32> to tensor<2xi32>
    %t = tensor.extract_slice %p[%i] [2] [1] : tensor<4xi32> to tensor<2xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%i] [2] [1] : tensor<2xi32> into tensor<4xi32>
      tensor.parallel_insert_slice %s into %p[%i] [2] [1] : tensor<2xi32> into tensor<4xi32>
    }
  }
  return %r#0, %r#1 : tensor<4xi32>, tensor<4xi32>
}

// What other iterations write.
// BACKWARDS: 8xi32=1022 1020 1018 1016 6 4 2 0
func.func @backwards() -> tensor<8xi32> {
  %c511 = arith.constant 511 : index
  %two = arith.constant 2 : i32
  %x = tensor.generate {
  ^bb0(%i: index):
    %v = arith.index_cast %i : index to i32
    tensor.yield %v : i32
  } : tensor<512xi32>
  %r = scf.forall (%i) in (512) shared_outs(%o = %x) -> (tensor<512xi32>) {
    %j = arith.subi %c511, %i : index
    %v = tensor.extract %o[%j] : tensor<512xi32>
    %w = arith.muli %v, %two : i32
    %s = tensor.from_elements %w : tensor<1xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xi32> into tensor<512xi32>
    }
  }
  %first = tensor.extract_slice %r[0] [4] [1] : tensor<512xi32> to tensor<4xi32>
  %last = tensor.extract_slice %r[508] [4] [1] : tensor<512xi32> to tensor<4xi32>
  %ends = tensor.concat dim(0) %first, %last : (tensor<4xi32>, tensor<4xi32>) -> tensor<8xi32>
  return %ends : tensor<8xi32>
}

// What the iteration itself writes at the end stays in place.
// CHECK-LABEL: func.func @own
// CHECK: scf.forall {{.*}} shared_outs(%[[O:.*]] = %{{.*}})
// CHECK: tensor.extract_slice %[[O]]
func.func @own(%x: tensor<4xi32>) -> tensor<4xi32> {
  %r = scf.forall (%i) = (0) to (4) step (2) shared_outs(%o = %x) -> (tensor<4xi32>) {
    %s = tensor.extract_slice %o[%i] [2] [1] : tensor<4xi32> to tensor<2xi32>
    %t = arith.addi %s, %s : tensor<2xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%i] [2] [1] : tensor<2xi32> into tensor<4xi32>
    }
  }
  return %r : tensor<4xi32>
}

// One iteration.
func.func @once(%x: tensor<2xi32>) -> tensor<2xi32> {
  %r = scf.forall (%i) = (0) to (2) step (2) shared_outs(%o = %x) -> (tensor<2xi32>) {
    %c1 = arith.constant 1 : index
    %j = arith.addi %i, %c1 : index
    %s = tensor.extract_slice %o[%j] [1] [1] : tensor<2xi32> to tensor<1xi32>
    %t = tensor.extract_slice %o[%i] [1] [1] : tensor<2xi32> to tensor<1xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xi32> into tensor<2xi32>
      tensor.parallel_insert_slice %t into %o[%j] [1] [1] : tensor<1xi32> into tensor<2xi32>
    }
  }
  return %r : tensor<2xi32>
}

// The copies fold to the slices that they are of, after it was decided what is read.
// CHECK-LABEL: func.func @copies
func.func @copies(%x: tensor<2xi32>, %y: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %r:2 = scf.forall (%i) in (2) shared_outs(%o = %x, %p = %y) -> (tensor<2xi32>, tensor<2xi32>) {
    %s = tensor.extract_slice %o[%i] [1] [1] : tensor<2xi32> to tensor<1xi32>
    %z = tensor.extract_slice %p[%i] [1] [1] : tensor<2xi32> to tensor<1xi32>
    %t = linalg.copy ins(%z : tensor<1xi32>) outs(%s : tensor<1xi32>) -> tensor<1xi32>
    %u = linalg.copy ins(%s : tensor<1xi32>) outs(%z : tensor<1xi32>) -> tensor<1xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%i] [1] [1] : tensor<1xi32> into tensor<2xi32>
      tensor.parallel_insert_slice %u into %p[%i] [1] [1] : tensor<1xi32> into tensor<2xi32>
    }
  }
  return %r#0, %r#1 : tensor<2xi32>, tensor<2xi32>
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A reduction over no elements leaves what its output held, also where folding
// finds that the body does not read it.
// DEFINE: %{cpu} = gpu-runner --device=cpu --check --offload=error %s
// DEFINE: %{gpu} = gpu-runner --device=cpu --check %t.gpu.mlir
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.gpu.mlir
// RUN: %{cpu} -e product --input=0 --expect=result0=i32=7
// RUN: %{gpu} -e product --input=0 --expect=result0=i32=7
// RUN: %{cpu} -e product --input=3 --expect=result0=i32=0
// RUN: %{gpu} -e product --input=3 --expect=result0=i32=0
// RUN: %{cpu} -e columns --input=0x3xi32 --expect=result0=3xi32=5
// RUN: %{gpu} -e columns --input=0x3xi32 --expect=result0=3xi32=5
// RUN: %{cpu} -e columns --input=2x3xi32=9 --expect=result0=3xi32=0
// RUN: %{gpu} -e columns --input=2x3xi32=9 --expect=result0=3xi32=0
// RUN: %{cpu} -e last --input=0x3xi32 --expect=result0=3xi32=5
// RUN: %{cpu} -e last --input=2x3xi32=1,2,3,4,5,6 --expect=result0=3xi32=4,5,6
// RUN: %{cpu} -e any --input=0 --expect=result0=i1=0
// RUN: %{cpu} -e any --input=2 --expect=result0=i1=1

func.func @product(%n: index) -> tensor<i32> {
  %zero = arith.constant 0 : i32
  %seven = arith.constant 7 : i32
  %e = tensor.empty(%n) : tensor<?xi32>
  %x = linalg.fill ins(%zero : i32) outs(%e : tensor<?xi32>) -> tensor<?xi32>
  %o = tensor.empty() : tensor<i32>
  %f = linalg.fill ins(%seven : i32) outs(%o : tensor<i32>) -> tensor<i32>
  %r = linalg.reduce { arith.muli } ins(%x : tensor<?xi32>) outs(%f : tensor<i32>) dimensions = [0]
  return %r : tensor<i32>
}

func.func @columns(%x: tensor<?x3xi32>) -> tensor<3xi32> {
  %five = arith.constant dense<5> : tensor<3xi32>
  %r = linalg.reduce ins(%x : tensor<?x3xi32>) outs(%five : tensor<3xi32>) dimensions = [0]
    (%a: i32, %b: i32) {
      %zero = arith.constant 0 : i32
      %c = arith.muli %b, %zero : i32
      linalg.yield %c : i32
    }
  return %r : tensor<3xi32>
}

func.func @last(%x: tensor<?x3xi32>) -> tensor<3xi32> {
  %five = arith.constant dense<5> : tensor<3xi32>
  %true = arith.constant true
  %r = linalg.reduce ins(%x : tensor<?x3xi32>) outs(%five : tensor<3xi32>) dimensions = [0]
    (%a: i32, %b: i32) {
      %d = arith.subi %b, %b : i32
      %c = arith.addi %d, %a : i32
      linalg.yield %c : i32
    }
  return %r : tensor<3xi32>
}

func.func @any(%n: index) -> tensor<i1> {
  %true = arith.constant true
  %false = arith.constant false
  %e = tensor.empty(%n) : tensor<?xi1>
  %x = linalg.fill ins(%true : i1) outs(%e : tensor<?xi1>) -> tensor<?xi1>
  %o = tensor.empty() : tensor<i1>
  %f = linalg.fill ins(%false : i1) outs(%o : tensor<i1>) -> tensor<i1>
  %r = linalg.reduce { arith.ori } ins(%x : tensor<?xi1>) outs(%f : tensor<i1>) dimensions = [0]
  return %r : tensor<i1>
}

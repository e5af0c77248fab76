// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Divisions that round up, of the least number too: by affine ops, the index dialect and
// arith, as linalg, on the host, and as the bound of a loop.
// RUN: split-file %s %t
// DEFINE: %{in} = --input=7xi64=-9223372036854775808,-7,-1,0,6,9223372036854775807,-9223372036854775807
// DEFINE: %{up} = 7xi64=-1317624576693539401,-1,0,0,1,1317624576693539401,-1317624576693539401
// RUN: gpu-runner --device=cpu %t/tensor.mlir %{in} --expect=%{up} --expect=7xi64=-1317624576693539402,-1,-1,0,0,1317624576693539401,-1317624576693539401 --expect=7xi64=6,0,6,0,6,0,0 --expect=%{up} --expect=%{up}
// RUN: %if cuda %{ gpu-runner --device=cuda %t/tensor.mlir %{in} --expect=%{up} --expect=7xi64=-1317624576693539402,-1,-1,0,0,1317624576693539401,-1317624576693539401 --expect=7xi64=6,0,6,0,6,0,0 --expect=%{up} --expect=%{up} %}
// RUN: gpu-runner --device=cpu %t/host.mlir --input=-9223372036854775808 --expect=-1317624576693539401 --expect=-4611686018427387904 --expect=0
// RUN: gpu-runner --device=cpu %t/host.mlir --input=20 --expect=3 --expect=10 --expect=5

//--- tensor.mlir
#id = affine_map<(i) -> (i)>
func.func @main(%a: tensor<7xi64>) -> (tensor<7xi64>, tensor<7xi64>, tensor<7xi64>, tensor<7xi64>, tensor<7xi64>) {
  %e = tensor.empty() : tensor<7xi64>
  %r:5 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id], iterator_types = ["parallel"]} ins(%a : tensor<7xi64>) outs(%e, %e, %e, %e, %e : tensor<7xi64>, tensor<7xi64>, tensor<7xi64>, tensor<7xi64>, tensor<7xi64>) {
  ^bb0(%x: i64, %o0: i64, %o1: i64, %o2: i64, %o3: i64, %o4: i64):
    %i = arith.index_cast %x : i64 to index
    %c7 = arith.constant 7 : index
    %up = affine.apply affine_map<(d) -> (d ceildiv 7)>(%i)
    %down = affine.apply affine_map<(d) -> (d floordiv 7)>(%i)
    %rest = affine.apply affine_map<(d) -> (d mod 7)>(%i)
    %index = index.ceildivs %i, %c7
    %arith = arith.ceildivsi %i, %c7 : index
    %0 = arith.index_cast %up : index to i64
    %1 = arith.index_cast %down : index to i64
    %2 = arith.index_cast %rest : index to i64
    %3 = arith.index_cast %index : index to i64
    %4 = arith.index_cast %arith : index to i64
    linalg.yield %0, %1, %2, %3, %4 : i64, i64, i64, i64, i64
  } -> (tensor<7xi64>, tensor<7xi64>, tensor<7xi64>, tensor<7xi64>, tensor<7xi64>)
  return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<7xi64>, tensor<7xi64>, tensor<7xi64>, tensor<7xi64>, tensor<7xi64>
}

//--- host.mlir
func.func @main(%n: i64) -> (i64, i64, i64) {
  %i = arith.index_cast %n : i64 to index
  %0 = affine.apply affine_map<(d) -> (d ceildiv 7)>(%i)
  %1 = affine.min affine_map<(d) -> (d ceildiv 2, 100)>(%i)
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %rounds = affine.for %k = 0 to affine_map<(d) -> (d ceildiv 4)>(%i) iter_args(%sum = %zero) -> i64 {
    %next = arith.addi %sum, %one : i64
    affine.yield %next : i64
  }
  %a = arith.index_cast %0 : index to i64
  %b = arith.index_cast %1 : index to i64
  return %a, %b, %rounds : i64, i64, i64
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// torch.zeros_like(table).index_put((tokens.long(),), gradient, accumulate=True)
!table = !torch.vtensor<[50,16],f32>
func.func @main(%table: !table, %tokens: !torch.vtensor<[13],si32>, %gradient: !torch.vtensor<[13,16],f32>) -> !table {
  %int64 = torch.constant.int 4
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %none = torch.constant.none
  %zeros = torch.vtensor.literal(dense<0.0> : tensor<50x16xf32>) : !table
  %long = torch.aten.to.dtype %tokens, %int64, %false, %false, %none : !torch.vtensor<[13],si32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[13],si64>
  %at = torch.prim.ListConstruct %long : (!torch.vtensor<[13],si64>) -> !torch.list<vtensor>
  %sum = torch.aten.index_put %zeros, %at, %gradient, %true : !table, !torch.list<vtensor>, !torch.vtensor<[13,16],f32>, !torch.bool -> !table
  return %sum : !table
}

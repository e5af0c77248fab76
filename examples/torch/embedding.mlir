// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// torch.nn.functional.embedding(tokens, table)
func.func @main(%table: !torch.vtensor<[50,16],f32>, %tokens: !torch.vtensor<[13],si32>) -> !torch.vtensor<[13,16],f32> {
  %none = torch.constant.int -1
  %false = torch.constant.bool false
  %y = torch.aten.embedding %table, %tokens, %none, %false, %false : !torch.vtensor<[50,16],f32>, !torch.vtensor<[13],si32>, !torch.int, !torch.bool, !torch.bool -> !torch.vtensor<[13,16],f32>
  return %y : !torch.vtensor<[13,16],f32>
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// x.cumsum(1)
func.func @main(%x: !torch.vtensor<[7,50],f32>) -> !torch.vtensor<[7,50],f32> {
  %one = torch.constant.int 1
  %none = torch.constant.none
  %y = torch.aten.cumsum %x, %one, %none : !torch.vtensor<[7,50],f32>, !torch.int, !torch.none -> !torch.vtensor<[7,50],f32>
  return %y : !torch.vtensor<[7,50],f32>
}

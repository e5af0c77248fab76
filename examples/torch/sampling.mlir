// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// most, which = x.topk(5); most.softmax(1), which.int()
!most = !torch.vtensor<[3,5],f32>
func.func @main(%x: !torch.vtensor<[3,37],f32>) -> (!most, !torch.vtensor<[3,5],si32>) {
  %five = torch.constant.int 5
  %one = torch.constant.int 1
  %int32 = torch.constant.int 3
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %none = torch.constant.none
  %most, %which = torch.aten.topk %x, %five, %one, %true, %true : !torch.vtensor<[3,37],f32>, !torch.int, !torch.int, !torch.bool, !torch.bool -> !most, !torch.vtensor<[3,5],si64>
  %chances = torch.aten.softmax.int %most, %one, %none : !most, !torch.int, !torch.none -> !most
  %short = torch.aten.to.dtype %which, %int32, %false, %false, %none : !torch.vtensor<[3,5],si64>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[3,5],si32>
  return %chances, %short : !most, !torch.vtensor<[3,5],si32>
}

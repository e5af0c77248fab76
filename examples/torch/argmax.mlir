// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// x.argmax(1).int(), x.amax(0)
func.func @main(%x: !torch.vtensor<[9,100],f32>) -> (!torch.vtensor<[9],si32>, !torch.vtensor<[100],f32>) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %int32 = torch.constant.int 3
  %false = torch.constant.bool false
  %none = torch.constant.none
  %at = torch.aten.argmax %x, %one, %false : !torch.vtensor<[9,100],f32>, !torch.int, !torch.bool -> !torch.vtensor<[9],si64>
  %short = torch.aten.to.dtype %at, %int32, %false, %false, %none : !torch.vtensor<[9],si64>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[9],si32>
  %dims = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
  %most = torch.aten.amax %x, %dims, %false : !torch.vtensor<[9,100],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[100],f32>
  return %short, %most : !torch.vtensor<[9],si32>, !torch.vtensor<[100],f32>
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// torch.nn.functional.layer_norm(x, (100,), scale, bias)
func.func @main(%x: !torch.vtensor<[9,100],f32>, %scale: !torch.vtensor<[100],f32>, %bias: !torch.vtensor<[100],f32>) -> !torch.vtensor<[9,100],f32> {
  %size = torch.constant.int 100
  %shape = torch.prim.ListConstruct %size : (!torch.int) -> !torch.list<int>
  %epsilon = torch.constant.float 1.000000e-05
  %false = torch.constant.bool false
  %y = torch.aten.layer_norm %x, %shape, %scale, %bias, %epsilon, %false : !torch.vtensor<[9,100],f32>, !torch.list<int>, !torch.vtensor<[100],f32>, !torch.vtensor<[100],f32>, !torch.float, !torch.bool -> !torch.vtensor<[9,100],f32>
  return %y : !torch.vtensor<[9,100],f32>
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// torch.ops.aten.upsample_nearest2d(x, (8, 11)), interpolate(x, (8, 11), mode="nearest-exact"),
// interpolate(x, (8, 11), mode="bilinear")
func.func @main(%x: !torch.vtensor<[2,3,5,7],f32>) -> (!torch.vtensor<[2,3,8,11],f32>, !torch.vtensor<[2,3,8,11],f32>, !torch.vtensor<[2,3,8,11],f32>) {
  %height = torch.constant.int 8
  %width = torch.constant.int 11
  %false = torch.constant.bool false
  %none = torch.constant.none
  %mode = torch.constant.str "nearest-exact"
  %size = torch.prim.ListConstruct %height, %width : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.upsample_nearest2d %x, %size, %none, %none : !torch.vtensor<[2,3,5,7],f32>, !torch.list<int>, !torch.none, !torch.none -> !torch.vtensor<[2,3,8,11],f32>
  %1 = torch.aten.__interpolate.size_list_scale_list %x, %size, %none, %mode, %none, %none, %false : !torch.vtensor<[2,3,5,7],f32>, !torch.list<int>, !torch.none, !torch.str, !torch.none, !torch.none, !torch.bool -> !torch.vtensor<[2,3,8,11],f32>
  %2 = torch.aten.upsample_bilinear2d %x, %size, %false, %none, %none : !torch.vtensor<[2,3,5,7],f32>, !torch.list<int>, !torch.bool, !torch.none, !torch.none -> !torch.vtensor<[2,3,8,11],f32>
  return %0, %1, %2 : !torch.vtensor<[2,3,8,11],f32>, !torch.vtensor<[2,3,8,11],f32>, !torch.vtensor<[2,3,8,11],f32>
}

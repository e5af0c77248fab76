// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// torch.nn.functional.conv2d(x, w, stride=2, groups=12) / 3, padded as JAX's
// SAME: nothing in front, one behind.
!x = !torch.vtensor<[1,12,14,14],f32>
!p = !torch.vtensor<[1,12,15,15],f32>
!w = !torch.vtensor<[12,1,3,3],f32>
!y = !torch.vtensor<[1,12,7,7],f32>
func.func @main(%x: !x, %w: !w) -> !y {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %groups = torch.constant.int 12
  %false = torch.constant.bool false
  %none = torch.constant.none
  %nothing = torch.constant.float 0.000000e+00
  %third = torch.constant.float 0.33333333333333331
  %behind = torch.prim.ListConstruct %zero, %one, %zero, %one : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %padded = torch.aten.constant_pad_nd %x, %behind, %nothing : !x, !torch.list<int>, !torch.float -> !p
  %strides = torch.prim.ListConstruct %two, %two : (!torch.int, !torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %zero, %zero : (!torch.int, !torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %no = torch.prim.ListConstruct : () -> !torch.list<int>
  %c = torch.aten.convolution %padded, %w, %none, %strides, %zeros, %ones, %false, %no, %groups : !p, !w, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !y
  %y = torch.aten.mul.Scalar %c, %third : !y, !torch.float -> !y
  return %y : !y
}

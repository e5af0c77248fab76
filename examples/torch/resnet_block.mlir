// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// relu(bn(conv(relu(bn(conv(x))))) + x), 3 x 3, batch norm at inference; a
// convolution is divided by sqrt(72), and the variance is v * v.
!x = !torch.vtensor<[1,8,9,9],f32>
!w = !torch.vtensor<[8,8,3,3],f32>
!c = !torch.vtensor<[8],f32>
func.func @main(%x: !x, %w1: !w, %s1: !c, %b1: !c, %m1: !c, %v1: !c, %w2: !w, %s2: !c, %b2: !c, %m2: !c, %v2: !c) -> !x {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %false = torch.constant.bool false
  %none = torch.constant.none
  %epsilon = torch.constant.float 1.000000e-05
  %momentum = torch.constant.float 1.000000e-01
  %scale = torch.constant.float 0.11785113019775793
  %ones = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %no = torch.prim.ListConstruct : () -> !torch.list<int>
  %c1 = torch.aten.convolution %x, %w1, %none, %ones, %ones, %ones, %false, %no, %one : !x, !w, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !x
  %d1 = torch.aten.mul.Scalar %c1, %scale : !x, !torch.float -> !x
  %p1 = torch.aten.mul.Tensor %v1, %v1 : !c, !c -> !c
  %n1 = torch.aten.batch_norm %d1, %s1, %b1, %m1, %p1, %false, %momentum, %epsilon, %false : !x, !c, !c, !c, !c, !torch.bool, !torch.float, !torch.float, !torch.bool -> !x
  %r1 = torch.aten.relu %n1 : !x -> !x
  %c2 = torch.aten.convolution %r1, %w2, %none, %ones, %ones, %ones, %false, %no, %one : !x, !w, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !x
  %d2 = torch.aten.mul.Scalar %c2, %scale : !x, !torch.float -> !x
  %p2 = torch.aten.mul.Tensor %v2, %v2 : !c, !c -> !c
  %n2 = torch.aten.batch_norm %d2, %s2, %b2, %m2, %p2, %false, %momentum, %epsilon, %false : !x, !c, !c, !c, !c, !torch.bool, !torch.float, !torch.float, !torch.bool -> !x
  %sum = torch.aten.add.Tensor %n2, %x, %one : !x, !x, !torch.int -> !x
  %y = torch.aten.relu %sum : !x -> !x
  return %y : !x
}

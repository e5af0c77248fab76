// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An LSTM over 10 steps in a loop: all h, and the last c. A product is divided
// by the square root of what it sums.
!x = !torch.vtensor<[3,8],f32>
!s = !torch.vtensor<[3,16],f32>
!one = !torch.vtensor<[1,3,16],f32>
!all = !torch.vtensor<[10,3,16],f32>
!g = !torch.vtensor<[3,64],f32>
func.func @main(%xs: !torch.vtensor<[10,3,8],f32>, %w: !torch.vtensor<[8,64],f32>, %u: !torch.vtensor<[16,64],f32>,
                %b: !torch.vtensor<[64],f32>) -> (!all, !s) {
  %true = torch.constant.bool true
  %i0 = torch.constant.int 0
  %i1 = torch.constant.int 1
  %steps = torch.constant.int 10
  %i16 = torch.constant.int 16
  %i32 = torch.constant.int 32
  %i48 = torch.constant.int 48
  %i64 = torch.constant.int 64
  %sw = torch.constant.float 0.35355339059327379
  %su = torch.constant.float 2.500000e-01
  %zero = torch.vtensor.literal(dense<0.0> : tensor<3x16xf32>) : !s
  %none = torch.vtensor.literal(dense<0.0> : tensor<10x3x16xf32>) : !all
  %r:3 = torch.prim.Loop %steps, %true, init(%zero, %zero, %none) {
  ^bb0(%i: !torch.int, %h: !s, %c: !s, %hs: !all):
    %x = torch.aten.select.int %xs, %i0, %i : !torch.vtensor<[10,3,8],f32>, !torch.int, !torch.int -> !x
    %xw = torch.aten.matmul %x, %w : !x, !torch.vtensor<[8,64],f32> -> !g
    %xs1 = torch.aten.mul.Scalar %xw, %sw : !g, !torch.float -> !g
    %xb = torch.aten.add.Tensor %xs1, %b, %i1 : !g, !torch.vtensor<[64],f32>, !torch.int -> !g
    %hu = torch.aten.matmul %h, %u : !s, !torch.vtensor<[16,64],f32> -> !g
    %hs1 = torch.aten.mul.Scalar %hu, %su : !g, !torch.float -> !g
    %g = torch.aten.add.Tensor %xb, %hs1, %i1 : !g, !g, !torch.int -> !g
    %g0 = torch.aten.slice.Tensor %g, %i1, %i0, %i16, %i1 : !g, !torch.int, !torch.int, !torch.int, !torch.int -> !s
    %g1 = torch.aten.slice.Tensor %g, %i1, %i16, %i32, %i1 : !g, !torch.int, !torch.int, !torch.int, !torch.int -> !s
    %g2 = torch.aten.slice.Tensor %g, %i1, %i32, %i48, %i1 : !g, !torch.int, !torch.int, !torch.int, !torch.int -> !s
    %g3 = torch.aten.slice.Tensor %g, %i1, %i48, %i64, %i1 : !g, !torch.int, !torch.int, !torch.int, !torch.int -> !s
    %in = torch.aten.sigmoid %g0 : !s -> !s
    %forget = torch.aten.sigmoid %g1 : !s -> !s
    %new = torch.aten.tanh %g2 : !s -> !s
    %out = torch.aten.sigmoid %g3 : !s -> !s
    %kept = torch.aten.mul.Tensor %forget, %c : !s, !s -> !s
    %added = torch.aten.mul.Tensor %in, %new : !s, !s -> !s
    %c1 = torch.aten.add.Tensor %kept, %added, %i1 : !s, !s, !torch.int -> !s
    %t = torch.aten.tanh %c1 : !s -> !s
    %h1 = torch.aten.mul.Tensor %out, %t : !s, !s -> !s
    %row = torch.aten.unsqueeze %h1, %i0 : !s, !torch.int -> !one
    %end = torch.aten.add.int %i, %i1 : !torch.int, !torch.int -> !torch.int
    %hs2 = torch.aten.slice_scatter %hs, %row, %i0, %i, %end, %i1 : !all, !one, !torch.int, !torch.int, !torch.int, !torch.int -> !all
    torch.prim.Loop.condition %true, iter(%h1, %c1, %hs2 : !s, !s, !all)
  } : (!torch.int, !torch.bool, !s, !s, !all) -> (!s, !s, !all)
  return %r#2, %r#1 : !all, !s
}

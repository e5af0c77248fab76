// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three layers; a gelu by tanh, a relu. A layer is x @ w / sqrt(n) + b.
!x = !torch.vtensor<[32,48],f32>
!h = !torch.vtensor<[32,64],f32>
!y = !torch.vtensor<[32,10],f32>
!b = !torch.vtensor<[64],f32>
func.func @main(%x: !x, %w1: !torch.vtensor<[48,64],f32>, %b1: !b, %w2: !torch.vtensor<[64,64],f32>, %b2: !b,
                %w3: !torch.vtensor<[64,10],f32>, %b3: !torch.vtensor<[10],f32>) -> !y {
  %one = torch.constant.int 1
  %s1 = torch.constant.float 0.14433756729740643
  %s2 = torch.constant.float 1.250000e-01
  %tanh = torch.constant.str "tanh"
  %m1 = torch.aten.matmul %x, %w1 : !x, !torch.vtensor<[48,64],f32> -> !h
  %d1 = torch.aten.mul.Scalar %m1, %s1 : !h, !torch.float -> !h
  %a1 = torch.aten.add.Tensor %d1, %b1, %one : !h, !b, !torch.int -> !h
  %h1 = torch.aten.gelu %a1, %tanh : !h, !torch.str -> !h
  %m2 = torch.aten.matmul %h1, %w2 : !h, !torch.vtensor<[64,64],f32> -> !h
  %d2 = torch.aten.mul.Scalar %m2, %s2 : !h, !torch.float -> !h
  %a2 = torch.aten.add.Tensor %d2, %b2, %one : !h, !b, !torch.int -> !h
  %h2 = torch.aten.relu %a2 : !h -> !h
  %m3 = torch.aten.matmul %h2, %w3 : !h, !torch.vtensor<[64,10],f32> -> !y
  %d3 = torch.aten.mul.Scalar %m3, %s2 : !y, !torch.float -> !y
  %a3 = torch.aten.add.Tensor %d3, %b3, %one : !y, !torch.vtensor<[10],f32>, !torch.int -> !y
  return %a3 : !y
}

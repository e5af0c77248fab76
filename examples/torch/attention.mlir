// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Four heads: softmax(q k^T / sqrt(8)) v, with scaled_dot_product_attention;
// a projection is x @ w / sqrt(32).
!x = !torch.vtensor<[24,32],f32>
!w = !torch.vtensor<[32,32],f32>
!s = !torch.vtensor<[1,24,4,8],f32>
!h = !torch.vtensor<[1,4,24,8],f32>
func.func @main(%x: !x, %wq: !w, %wk: !w, %wv: !w, %wo: !w) -> !x {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %heads = torch.constant.int 4
  %depth = torch.constant.int 8
  %rows = torch.constant.int 24
  %columns = torch.constant.int 32
  %scale = torch.constant.float 0.17677669529663687
  %nothing = torch.constant.float 0.000000e+00
  %false = torch.constant.bool false
  %none = torch.constant.none
  %split = torch.prim.ListConstruct %one, %rows, %heads, %depth : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %joined = torch.prim.ListConstruct %rows, %columns : (!torch.int, !torch.int) -> !torch.list<int>
  %mq = torch.aten.matmul %x, %wq : !x, !w -> !x
  %dq = torch.aten.mul.Scalar %mq, %scale : !x, !torch.float -> !x
  %sq = torch.aten.view %dq, %split : !x, !torch.list<int> -> !s
  %q = torch.aten.transpose.int %sq, %one, %two : !s, !torch.int, !torch.int -> !h
  %mk = torch.aten.matmul %x, %wk : !x, !w -> !x
  %dk = torch.aten.mul.Scalar %mk, %scale : !x, !torch.float -> !x
  %sk = torch.aten.view %dk, %split : !x, !torch.list<int> -> !s
  %k = torch.aten.transpose.int %sk, %one, %two : !s, !torch.int, !torch.int -> !h
  %mv = torch.aten.matmul %x, %wv : !x, !w -> !x
  %dv = torch.aten.mul.Scalar %mv, %scale : !x, !torch.float -> !x
  %sv = torch.aten.view %dv, %split : !x, !torch.list<int> -> !s
  %v = torch.aten.transpose.int %sv, %one, %two : !s, !torch.int, !torch.int -> !h
  %mixed = torch.aten.scaled_dot_product_attention %q, %k, %v, %none, %nothing, %false, %none, %false : !h, !h, !h, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !h
  %back = torch.aten.transpose.int %mixed, %one, %two : !h, !torch.int, !torch.int -> !s
  %flat = torch.aten.reshape %back, %joined : !s, !torch.list<int> -> !x
  %mo = torch.aten.matmul %flat, %wo : !x, !w -> !x
  %y = torch.aten.mul.Scalar %mo, %scale : !x, !torch.float -> !x
  return %y : !x
}

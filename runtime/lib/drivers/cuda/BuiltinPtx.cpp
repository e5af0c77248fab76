//===- BuiltinPtx.cpp - The runtime's own kernels in PTX ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made by compile-builtins.sh from drivers/shared/BuiltinKernels.dev.c; do not
// edit.
//===----------------------------------------------------------------------===//

#include "drivers/cuda/CudaApi.h"

// clang-format off
const char gpuasync::cuda::builtinPtx[] = R"PTX(
.version 4.1
.target sm_52
.address_size 64
.visible .entry gpuasync_copy(
	.param .align 8 .b8 gpuasync_copy_param_0[264]
)
{
	.reg .pred 	%p<11>;
	.reg .b16 	%rs<3>;
	.reg .b32 	%r<14>;
	.reg .b64 	%rd<36>;
	mov.u32 	%r4, %ctaid.x;
	mov.u32 	%r5, %ntid.x;
	mul.wide.u32 	%rd13, %r4, %r5;
	mov.u32 	%r6, %tid.x;
	cvt.u64.u32 	%rd14, %r6;
	add.s64 	%rd30, %rd13, %rd14;
	ld.param.b64 	%rd3, [gpuasync_copy_param_0+16];
	setp.ge.u64 	%p1, %rd30, %rd3;
	@%p1 bra 	$L__BB0_19;
	mov.b64 	%rd1, gpuasync_copy_param_0;
	cvt.u64.u32 	%rd2, %r5;
	ld.param.v2.b32 	{%r1, %r2}, [%rd1+24];
	add.s64 	%rd15, %rd1, 120;
	ld.param.b64 	%rd4, [%rd1+120];
	ld.param.b64 	%rd5, [%rd1+192];
	ld.param.b64 	%rd16, [%rd1];
	cvta.to.global.u64 	%rd6, %rd16;
	ld.param.b64 	%rd17, [%rd1+8];
	cvta.to.global.u64 	%rd7, %rd17;
	mov.u32 	%r7, %nctaid.x;
	cvt.u64.u32 	%rd18, %r7;
	mul.lo.s64 	%rd8, %rd18, %rd2;
	add.s32 	%r3, %r1, 1;
	add.s32 	%r8, %r1, -1;
	mul.wide.u32 	%rd19, %r8, 8;
	add.s64 	%rd9, %rd15, %rd19;
	setp.lt.s32 	%p2, %r1, 2;
	setp.gt.s32 	%p5, %r2, 3;
	setp.eq.b32 	%p8, %r2, 1;
	setp.eq.b32 	%p9, %r2, 2;
$L__BB0_2:
	mov.b64 	%rd33, 0;
	mov.b64 	%rd34, %rd33;
	mov.b64 	%rd35, %rd30;
	@%p2 bra 	$L__BB0_8;
	mov.b64 	%rd34, 0;
	mov.b64 	%rd31, %rd9;
	mov.b32 	%r13, %r3;
	mov.b64 	%rd32, %rd30;
	mov.b64 	%rd33, %rd34;
$L__BB0_4:
	.pragma "nounroll";
	ld.param.b64 	%rd10, [%rd31+-72];
	or.b64 	%rd20, %rd10, %rd32;
	setp.gt.u64 	%p3, %rd20, 4294967295;
	@%p3 bra 	$L__BB0_6;
	cvt.u32.u64 	%r9, %rd32;
	cvt.u32.u64 	%r10, %rd10;
	div.u32 	%r11, %r9, %r10;
	cvt.u64.u32 	%rd35, %r11;
	bra.uni 	$L__BB0_7;
$L__BB0_6:
	div.u64 	%rd35, %rd32, %rd10;
$L__BB0_7:
	mul.lo.s64 	%rd21, %rd35, %rd10;
	sub.s64 	%rd22, %rd32, %rd21;
	ld.param.b64 	%rd23, [%rd31];
	mad.lo.s64 	%rd34, %rd22, %rd23, %rd34;
	ld.param.b64 	%rd24, [%rd31+72];
	mad.lo.s64 	%rd33, %rd22, %rd24, %rd33;
	add.s32 	%r13, %r13, -1;
	add.s64 	%rd31, %rd31, -8;
	setp.gt.u32 	%p4, %r13, 2;
	mov.b64 	%rd32, %rd35;
	@%p4 bra 	$L__BB0_4;
$L__BB0_8:
	mad.lo.s64 	%rd25, %rd4, %rd35, %rd6;
	add.s64 	%rd11, %rd25, %rd34;
	mad.lo.s64 	%rd26, %rd5, %rd35, %rd7;
	add.s64 	%rd12, %rd26, %rd33;
	@%p5 bra 	$L__BB0_12;
	@%p8 bra 	$L__BB0_15;
	@%p9 bra 	$L__BB0_11;
	bra.uni 	$L__BB0_17;
$L__BB0_11:
	ld.global.b16 	%rs1, [%rd12];
	st.global.b16 	[%rd11], %rs1;
	bra.uni 	$L__BB0_18;
$L__BB0_12:
	setp.eq.b32 	%p6, %r2, 4;
	@%p6 bra 	$L__BB0_16;
	setp.eq.b32 	%p7, %r2, 8;
	@%p7 bra 	$L__BB0_14;
	bra.uni 	$L__BB0_17;
$L__BB0_14:
	ld.global.b64 	%rd27, [%rd12];
	st.global.b64 	[%rd11], %rd27;
	bra.uni 	$L__BB0_18;
$L__BB0_17:
	ld.global.v2.b64 	{%rd28, %rd29}, [%rd12];
	st.global.v2.b64 	[%rd11], {%rd28, %rd29};
	bra.uni 	$L__BB0_18;
$L__BB0_15:
	ld.global.b8 	%rs2, [%rd12];
	st.global.b8 	[%rd11], %rs2;
	bra.uni 	$L__BB0_18;
$L__BB0_16:
	ld.global.b32 	%r12, [%rd12];
	st.global.b32 	[%rd11], %r12;
$L__BB0_18:
	add.s64 	%rd30, %rd30, %rd8;
	setp.lt.u64 	%p10, %rd30, %rd3;
	@%p10 bra 	$L__BB0_2;
$L__BB0_19:
	ret;
}
.visible .entry gpuasync_fill(
	.param .align 8 .b8 gpuasync_fill_param_0[264]
)
{
	.reg .pred 	%p<11>;
	.reg .b16 	%rs<2>;
	.reg .b32 	%r<14>;
	.reg .b64 	%rd<28>;
	mov.u32 	%r5, %ctaid.x;
	mov.u32 	%r6, %ntid.x;
	mul.wide.u32 	%rd12, %r5, %r6;
	mov.u32 	%r7, %tid.x;
	cvt.u64.u32 	%rd13, %r7;
	add.s64 	%rd23, %rd12, %rd13;
	ld.param.b64 	%rd3, [gpuasync_fill_param_0+16];
	setp.ge.u64 	%p1, %rd23, %rd3;
	@%p1 bra 	$L__BB1_19;
	mov.b64 	%rd1, gpuasync_fill_param_0;
	cvt.u64.u32 	%rd2, %r6;
	ld.param.v2.b32 	{%r1, %r2}, [%rd1+24];
	add.s64 	%rd14, %rd1, 120;
	ld.param.b64 	%rd4, [%rd1+120];
	ld.param.b64 	%rd15, [%rd1];
	cvta.to.global.u64 	%rd5, %rd15;
	ld.param.b64 	%rd6, [%rd1+32];
	cvt.u32.u64 	%r3, %rd6;
	cvt.u16.u64 	%rs1, %rd6;
	ld.param.b64 	%rd7, [%rd1+40];
	mov.u32 	%r8, %nctaid.x;
	cvt.u64.u32 	%rd16, %r8;
	mul.lo.s64 	%rd8, %rd16, %rd2;
	add.s32 	%r4, %r1, 1;
	add.s32 	%r9, %r1, -1;
	mul.wide.u32 	%rd17, %r9, 8;
	add.s64 	%rd9, %rd14, %rd17;
	setp.lt.s32 	%p2, %r1, 2;
	setp.gt.s32 	%p5, %r2, 3;
	setp.eq.b32 	%p8, %r2, 1;
	setp.eq.b32 	%p9, %r2, 2;
$L__BB1_2:
	mov.b64 	%rd26, 0;
	mov.b64 	%rd27, %rd23;
	@%p2 bra 	$L__BB1_8;
	mov.b64 	%rd26, 0;
	mov.b64 	%rd24, %rd9;
	mov.b32 	%r13, %r4;
	mov.b64 	%rd25, %rd23;
$L__BB1_4:
	.pragma "nounroll";
	ld.param.b64 	%rd10, [%rd24+-72];
	or.b64 	%rd18, %rd10, %rd25;
	setp.gt.u64 	%p3, %rd18, 4294967295;
	@%p3 bra 	$L__BB1_6;
	cvt.u32.u64 	%r10, %rd25;
	cvt.u32.u64 	%r11, %rd10;
	div.u32 	%r12, %r10, %r11;
	cvt.u64.u32 	%rd27, %r12;
	bra.uni 	$L__BB1_7;
$L__BB1_6:
	div.u64 	%rd27, %rd25, %rd10;
$L__BB1_7:
	mul.lo.s64 	%rd19, %rd27, %rd10;
	sub.s64 	%rd20, %rd25, %rd19;
	ld.param.b64 	%rd21, [%rd24];
	mad.lo.s64 	%rd26, %rd20, %rd21, %rd26;
	add.s32 	%r13, %r13, -1;
	add.s64 	%rd24, %rd24, -8;
	setp.gt.u32 	%p4, %r13, 2;
	mov.b64 	%rd25, %rd27;
	@%p4 bra 	$L__BB1_4;
$L__BB1_8:
	mad.lo.s64 	%rd22, %rd4, %rd27, %rd5;
	add.s64 	%rd11, %rd22, %rd26;
	@%p5 bra 	$L__BB1_12;
	@%p8 bra 	$L__BB1_15;
	@%p9 bra 	$L__BB1_11;
	bra.uni 	$L__BB1_17;
$L__BB1_11:
	st.global.b16 	[%rd11], %rs1;
	bra.uni 	$L__BB1_18;
$L__BB1_12:
	setp.eq.b32 	%p6, %r2, 4;
	@%p6 bra 	$L__BB1_16;
	setp.eq.b32 	%p7, %r2, 8;
	@%p7 bra 	$L__BB1_14;
	bra.uni 	$L__BB1_17;
$L__BB1_14:
	st.global.b64 	[%rd11], %rd6;
	bra.uni 	$L__BB1_18;
$L__BB1_17:
	st.global.v2.b64 	[%rd11], {%rd6, %rd7};
	bra.uni 	$L__BB1_18;
$L__BB1_15:
	st.global.b8 	[%rd11], %rs1;
	bra.uni 	$L__BB1_18;
$L__BB1_16:
	st.global.b32 	[%rd11], %r3;
$L__BB1_18:
	add.s64 	%rd23, %rd23, %rd8;
	setp.lt.u64 	%p10, %rd23, %rd3;
	@%p10 bra 	$L__BB1_2;
$L__BB1_19:
	ret;
}
)PTX";
// clang-format on

const size_t gpuasync::cuda::builtinPtxBytes =
    sizeof(gpuasync::cuda::builtinPtx) - 1;

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Remakes cuda/builtin.ptx and hip/builtin-CHIP.hsaco from
# BuiltinKernels.dev.c. Run by hand after a change of that file; needs clang-22,
# llc-22 and ld.lld-22. The PTX is for the oldest chip that LLVM's
# 64-bit back end serves well, in the least PTX version; version 5 of the code
# objects is what ROCm 6.0 and later load.
set -e
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  clang-22 -Os -ffreestanding -fno-strict-aliasing -nogpulib "$@" \
    vendor/BuiltinKernels.dev.c
}
compile --target=nvptx64-nvidia-cuda -march=sm_52 -S -emit-llvm \
  -o "$work/kernels.ll"
llc-22 -march=nvptx64 -mcpu=sm_52 "$work/kernels.ll" -o "$work/kernels.ptx"
# Without comments and empty lines.
sed -e 's#[[:space:]]*//.*$##' -e '/^[[:space:]]*$/d' "$work/kernels.ptx" \
  >cuda/builtin.ptx

for chip in gfx90a gfx942 gfx1100; do
  compile --target=amdgcn-amd-amdhsa -mcpu=$chip -mcode-object-version=5 \
    -fno-ident -c -o "$work/$chip.o"
  ld.lld-22 -shared --no-undefined -s "$work/$chip.o" \
    -o hip/builtin-$chip.hsaco
done

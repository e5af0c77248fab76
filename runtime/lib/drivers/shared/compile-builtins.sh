#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Remakes cuda/BuiltinPtx.inc and hip/BuiltinObjects.inc from
# BuiltinKernels.dev.c. Run by hand after a change of that file; needs clang-22,
# llc-22, ld.lld-22 and python3. The PTX is for the oldest chip that LLVM's
# 64-bit back end serves well, in the least PTX version; version 5 of the code
# objects is what ROCm 6.0 and later load.
set -e
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  clang-22 -Os -ffreestanding -fno-strict-aliasing -nogpulib "$@" \
    shared/BuiltinKernels.dev.c
}
head() {
  echo '// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception'
  echo '// Made by shared/compile-builtins.sh from BuiltinKernels.dev.c; do not edit.'
}

compile --target=nvptx64-nvidia-cuda -march=sm_52 -S -emit-llvm \
  -o "$work/kernels.ll"
llc-22 -march=nvptx64 -mcpu=sm_52 "$work/kernels.ll" -o "$work/kernels.ptx"
{
  head
  echo 'R"PTX('
  sed -e 's#[[:space:]]*//.*$##' -e '/^[[:space:]]*$/d' "$work/kernels.ptx"
  echo ')PTX"'
} >cuda/BuiltinPtx.inc

chips="gfx90a gfx942 gfx1100"
for chip in $chips; do
  compile --target=amdgcn-amd-amdhsa -mcpu=$chip -mcode-object-version=5 \
    -fno-ident -c -o "$work/$chip.o"
  ld.lld-22 -shared --no-undefined -s "$work/$chip.o" -o "$work/$chip"
done
{
  head
  python3 - "$work" $chips <<'PYTHON'
import sys
for chip in sys.argv[2:]:
    data = open(sys.argv[1] + '/' + chip, 'rb').read()
    print(f'OBJECT({chip},')
    for i in range(0, len(data), 32):
        # A digit behind a short octal escape would belong to it.
        line, pieces = data[i:i + 32], []
        for k, b in enumerate(line):
            plain = 32 <= b <= 126 and chr(b) not in '"\\?'
            digit = k + 1 < len(line) and chr(line[k + 1]) in '01234567'
            pieces.append(chr(b) if plain else f'\\{b:03o}' if digit else f'\\{b:o}')
        print('    "' + ''.join(pieces) + '"')
    print(')')
PYTHON
} >hip/BuiltinObjects.inc

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Remakes BuiltinObjects.cpp from drivers/shared/BuiltinKernels.dev.c. Run by
# hand after a change of that file; needs clang-22, ld.lld-22 and python3.
# Version 5 of the code objects is what ROCm 6.0 and later load.
set -e
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chips="gfx90a gfx942 gfx1100"
for chip in $chips; do
  clang-22 --target=amdgcn-amd-amdhsa -mcpu=$chip -mcode-object-version=5 -Os \
    -ffreestanding -fno-strict-aliasing -fno-ident -nogpulib -c \
    shared/BuiltinKernels.dev.c -o "$work/$chip.o"
  ld.lld-22 -shared --no-undefined -s "$work/$chip.o" -o "$work/$chip"
done
cd "$work"
python3 - $chips >"$OLDPWD/hip/BuiltinObjects.cpp" <<'PYTHON'
import sys
print('''\
//===- BuiltinObjects.cpp - The runtime's own kernels for AMD chips -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made by compile-builtins.sh from drivers/shared/BuiltinKernels.dev.c; do not
// edit.
//===----------------------------------------------------------------------===//

#include "drivers/hip/HipApi.h"

// clang-format off''')
for chip in sys.argv[1:]:
    data = open(chip, 'rb').read()
    print(f'alignas(16) static const char {chip}[] =')
    for i in range(0, len(data), 32):
        # A digit behind a short octal escape would belong to it.
        line, pieces = data[i:i + 32], []
        for k, b in enumerate(line):
            plain = 32 <= b <= 126 and chr(b) not in '"\\?'
            digit = k + 1 < len(line) and chr(line[k + 1]) in '01234567'
            pieces.append(chr(b) if plain else f'\\{b:03o}' if digit else f'\\{b:o}')
        print('    "' + ''.join(pieces) + '"')
    print('    ;')
print('''\
// clang-format on

const gpuasync::hip::BuiltinObject gpuasync::hip::builtinObjects[] = {''')
for chip in sys.argv[1:]:
    print(f'    {{"{chip}", {chip}, sizeof({chip}) - 1}},')
print('''\
};
const size_t gpuasync::hip::builtinObjectCount =
    sizeof(builtinObjects) / sizeof(builtinObjects[0]);''')
PYTHON

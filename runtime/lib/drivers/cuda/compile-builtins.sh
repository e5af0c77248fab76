#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Remakes BuiltinPtx.cpp from drivers/shared/BuiltinKernels.dev.c. Run by hand
# after a change of that file; needs clang-22 and llc-22. The PTX is for the
# oldest chip that LLVM's 64-bit back end serves well, in the least PTX version.
set -e
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clang-22 --target=nvptx64-nvidia-cuda -march=sm_52 -Os -ffreestanding \
  -fno-strict-aliasing -nogpulib -S -emit-llvm \
  shared/BuiltinKernels.dev.c -o "$work/kernels.ll"
llc-22 -march=nvptx64 -mcpu=sm_52 "$work/kernels.ll" -o "$work/kernels.ptx"
{
  cat <<'HEAD'
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
HEAD
  sed -e 's#[[:space:]]*//.*$##' -e '/^[[:space:]]*$/d' "$work/kernels.ptx"
  cat <<'TAIL'
)PTX";
// clang-format on

const size_t gpuasync::cuda::builtinPtxBytes =
    sizeof(gpuasync::cuda::builtinPtx) - 1;
TAIL
} >cuda/BuiltinPtx.cpp

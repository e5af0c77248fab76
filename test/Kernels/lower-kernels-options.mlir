// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad options.
// RUN: not gpu-opt %s -gpu-async-lower-kernels=targets=nvptx 2>&1 | FileCheck %s --check-prefix=NOCHIP
// RUN: not gpu-opt %s -gpu-async-lower-kernels=targets=amdgpu:gfx942 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not gpu-opt %s -gpu-async-lower-kernels=targets=nvptx:sm_9 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not gpu-opt %s -gpu-async-lower-kernels="targets=cpu opt-level=7" 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not gpu-opt %s -gpu-async-lower-kernels="targets=cpu subgroup-size=48" 2>&1 | FileCheck %s --check-prefix=SUBGROUP
// RUN: not gpu-opt %s -gpu-async-lower-kernels="targets=cpu subgroup-size=128" 2>&1 | FileCheck %s --check-prefix=SUBGROUP
// SUBGROUP: error: subgroup-size={{48|128}} is not a power of two from 1 to 64
// NOCHIP: error: targets=nvptx: a chip is missing, as in nvptx:sm_90
// RUN: not gpu-opt %s -gpu-async-lower-kernels=targets=amdgcn 2>&1 | FileCheck %s --check-prefix=NOGFX
// RUN: not gpu-opt %s -gpu-async-lower-kernels=targets=amdgcn:gfx9999 2>&1 | FileCheck %s --check-prefix=GFX
// RUN: not gpu-opt %s -gpu-async-lower-kernels=targets=amdgcn:gfx90a:wave64+ 2>&1 | FileCheck %s --check-prefix=FEATURE
// RUN: not gpu-opt %s -gpu-async-lower-kernels="targets=amdgcn:gfx90a rocm=/nowhere" 2>&1 | FileCheck %s --check-prefix=ROCM
// RUN: not gpu-opt %s -gpu-async-lower-kernels="targets=amdgcn:generic" 2>&1 | FileCheck %s --check-prefix=GENERIC
// RUN: not gpu-opt %s -gpu-async-lower-kernels="targets=amdgcn:generic-hsa" 2>&1 | FileCheck %s --check-prefix=GENERIC
// RUN: not gpu-opt %s -gpu-async-lower-kernels="targets=amdgcn:gfx9-generic" 2>&1 | FileCheck %s --check-prefix=GENERIC
// GENERIC: error: targets=amdgcn:[[NAME:[^:]*]]: '[[NAME]]' is no chip: code is made for a certain one
// RUN: not gpu-opt %s -gpu-async-lower-kernels="targets=cpu:zen4" 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: targets=cpu:zen4: cpu takes no chip here; a processor is named by a target of the gpu.module, #gpu_async.cpu<chip = "zen4">
// No line of the file is at fault.
// KIND-NOT: lower-kernels-options.mlir
// KIND: error: targets=amdgpu:gfx942: unknown target 'amdgpu'; there are cpu, nvptx:<chip> and amdgcn:<chip>
// NOGFX: error: targets=amdgcn: a chip is missing, as in amdgcn:gfx90a
// GFX: error: targets=amdgcn:gfx9999: unknown chip 'gfx9999' for target amdgcn; LLVM {{.*}} knows {{[0-9]+}}, the nearest are gfx{{.*}}; the others are gfx{{.*}} gfx942
// FEATURE: error: targets=amdgcn:gfx90a:wave64+: unknown feature 'wave64+'; there are xnack and sramecc, with + or -
// ROCM: error: rocm=/nowhere has no amdgcn/bitcode/ocml.bc
// CHIP: error: targets=nvptx:sm_9: unknown chip 'sm_9' for target nvptx; LLVM {{.*}} knows {{[0-9]+}}, the nearest are sm_89, sm_90, {{.*}}; the others are sm_{{.*}}, sm_100,
// LEVEL: error: opt-level=7 is not 0 to 3
gpu.module @k {
  gpu.func @f() kernel { gpu.return }
}

// RUN: gpu-opt %s -gpu-async-lower-kernels=targets=cpu,nvptx:sm_90 --remarks-filter=gpu-async-lower-kernels --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Kernels | Category:gpu-async-lower-kernels | image-bytes={{[1-9][0-9]+}}, images={{[23]}}, modules=1{{$}}

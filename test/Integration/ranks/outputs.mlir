// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files of several ranks: each has its own, and after an error none has changed.
// DEFINE: %{run} = gpu-runner %s --device=cpu --ranks=2 --input=4xi32=1,2,3,%r
// RUN: rm -rf %t && mkdir -p %t/o0 %t/o1/x.npy && echo old > %t/o0/x.npy
// RUN: not %{run} --output=@%t/o%%r/x.npy 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: x.npy{{.*}}(on rank 1)
// RUN: FileCheck %s --input-file=%t/o0/x.npy --check-prefix=OLD
// OLD: {{^}}old{{$}}
// RUN: not %{run} --output=@%t/z.npy 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: not ls %t/z.npy
// SAME: gpu-runner: error: --output=@{{.*}}z.npy: all ranks write the same file; %r in its name is the number of the rank
// RUN: %{run} --output=@/dev/null
// RUN: %{run} --output=@%t/z.%%r.npy && ls %t/z.0.npy %t/z.1.npy

func.func @main(%x: memref<4xi32>) {
  return
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fatal error of LLVM's code generation becomes a diagnostic. What LLVM held at
// that point cannot be freed, which LeakSanitizer would report.
// UNSUPPORTED: sanitizer
// RUN: gpu-opt %s -verify-diagnostics -gpu-async-lower-kernels="ptxas=none libdevice=none"

// LLVM would end the process here.
// expected-error @+1 {{gpu.module @k for nvptx:sm_90: LLVM cannot generate code: PTX version 6.0 does not support target 'sm_90'}}
gpu.module @k [#nvvm.target<chip = "sm_90", features = "+ptx60">] {
  gpu.func @f() kernel { gpu.return }
}

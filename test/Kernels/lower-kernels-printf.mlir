// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments of gpu.printf are promoted as C promotes them: small integers by the
// sign that the format gives them, floats to double.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=none libdevice=none" | FileCheck %s
// RUN: %if ptxas %{ gpu-opt %s -split-input-file -gpu-async-lower-kernels="targets=nvptx:sm_90 libdevice=none" -o %t %}

// CHECK: gpu_async.binary @k
// Five of 32 bits, four bytes between, two of 64.
// CHECK-SAME: __local_depot0[40];
// CHECK-SAME: st.local.v2.b32
// CHECK-SAME: st.local.v2.b32
// CHECK-SAME: st.local.b32
// CHECK-SAME: st.local.b64
// CHECK-SAME: st.local.b64
// CHECK-SAME: call.uni (retval0), vprintf,
gpu.module @k {
  gpu.func @f(%b: i1, %c: i8, %s: i16, %u: i8, %i: i32, %h: f16, %g: bf16) kernel {
    gpu.printf "%d %d %i %u %x %f %g\n", %b, %c, %s, %u, %i, %h, %g : i1, i8, i16, i8, i32, f16, bf16
    gpu.return
  }
}

// -----

// A kernel named as the driver's function.
// CHECK: gpu_async.binary @named kernels [#gpu_async.kernel<"_vprintf_", params = [4]>]
// CHECK-SAME: .visible .entry _vprintf_(
// CHECK-SAME: vprintf,
gpu.module @named {
  gpu.func @vprintf(%x: i32) kernel {
    gpu.printf "%d\n", %x : i32
    gpu.return
  }
}

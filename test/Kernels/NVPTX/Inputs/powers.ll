; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; In place of libdevice: every power is 42.
target triple = "nvptx64-nvidia-gpulibs"
define float @__nv_powif(float %x, i32 %n) {
  ret float 4.2e+01
}

// A program that no device runs: its profile and its schedule say so.

// RUN: gpu-runner %s -e f --input=2 --profile 2>&1 | FileCheck %s --check-prefix=PROFILE
// RUN: gpu-runner %s -e f --input=2 --print-schedule 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: gpu-runner %s -e f --input=2 --profile=json 2>&1 | FileCheck %s --check-prefix=JSON

// PROFILE: no rows: nothing ran on a device (docs/reference/Offload.md says what becomes a kernel)
// SCHEDULE: no schedule: no function has device work (docs/reference/Offload.md says what becomes a kernel)
// JSON: {"profile":[]}

func.func @f(%a: f32) -> f32 {
  %s = arith.addf %a, %a : f32
  return %s : f32
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line itself.
// RUN: gpu-runner --help | FileCheck %s --check-prefix=HELP
// HELP: usage: gpu-runner [options] FILE|-
// RUN: gpu-runner --version | FileCheck %s --check-prefix=VERSION
// VERSION: gpu-runner {{[0-9.]+}}, LLVM 22
// RUN: gpu-runner --list-devices | FileCheck %s --check-prefix=DEVICES
// DEVICES: {{^}}cpu {{.+}} GiB
// RUN: not gpu-runner 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: error: no file given; see --help
// RUN: not gpu-runner --entrypoint=f %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown option '--entrypoint=f'; did you mean --entry-point?
// RUN: not gpu-runner --repeat=x %s 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: --repeat=x: expected a whole number
// RUN: not gpu-runner --leak-check=maybe %s 2>&1 | FileCheck %s --check-prefix=CHOICE
// CHOICE: error: --leak-check=maybe: expected one of error, list
// RUN: not gpu-runner --mcpu=native %s 2>&1 | FileCheck %s --check-prefix=MCPU
// MCPU: error: --mcpu=native: only with --emit; what runs here is compiled for this processor
// RUN: not gpu-runner --emit=object --mcpu=z80 %s -o %t.o 2>&1 | FileCheck %s --check-prefix=PROCESSOR
// PROCESSOR: error: --mcpu=z80: LLVM knows no such processor for {{.+}}
// RUN: not gpu-runner --subgroup-size=24 %s 2>&1 | FileCheck %s --check-prefix=SUBGROUP
// SUBGROUP: error: --subgroup-size=24: expected a power of two from 1 to 64
// RUN: not gpu-runner --subgroup-size=16 --emit=llvm --targets=nvptx:sm_90 %s 2>&1 | FileCheck %s --check-prefix=CPUONLY
// CPUONLY: error: --subgroup-size=16: only on the cpu device, not for nvptx:sm_90
// RUN: not gpu-runner %s -e 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: error: --e needs a value
// RUN: not gpu-runner %s --benchmark=1 2>&1 | FileCheck %s --check-prefix=NOVALUE
// NOVALUE: error: --benchmark takes no value
// RUN: not gpu-runner %s %s 2>&1 | FileCheck %s --check-prefix=FILES
// FILES: error: more than one file
// RUN: not gpu-runner %t.nothere.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: {{.*}}nothere.mlir
// RUN: not gpu-runner --device=cpu %s --shared-libs=%t.nothere.so 2>&1 | FileCheck %s --check-prefix=LIBRARY
// LIBRARY: error: --shared-libs={{.*}}nothere.so: {{.*}}cannot open

// RUN: gpu-runner --device=cpu - --entry-point main --entry-point-result=i32 < %s | FileCheck %s --check-prefix=STDIN
// STDIN: {{^}}42{{$}}
// RUN: gpu-runner --device=cpu -O0 %s | FileCheck %s --check-prefix=RESULT
// RESULT: result[0]: i32=42
// RUN: gpu-runner --device=cpu %s -e half --entry-point-result=f64 | FileCheck %s --check-prefix=DOUBLE
// DOUBLE: {{^}}5.000000e-01{{$}}
// RUN: not gpu-runner --device=cpu %s --entry-point-result=void 2>&1 | FileCheck %s --check-prefix=NOTVOID
// NOTVOID: error: --entry-point-result=void: @main returns i32
// RUN: not gpu-runner --device=cpu %s -e hidden 2>&1 | FileCheck %s --check-prefix=PRIVATE
// PRIVATE: error: the entry point @hidden is private in {{.*}}; name one of these with -e: @main(), @half()
// RUN: not gpu-runner --device=cpu %s -e outside 2>&1 | FileCheck %s --check-prefix=DECLARED
// DECLARED: error: the entry point @outside is only declared

func.func private @outside()
func.func @main() -> i32 {
  %0 = arith.constant 42 : i32
  return %0 : i32
}
func.func @half() -> f64 {
  %0 = arith.constant 0.5 : f64
  return %0 : f64
}
func.func private @hidden() {
  return
}

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
// Options of gpu-opt's pipeline that have another name here, or none.
// RUN: not gpu-runner --opt-level=2 %s 2>&1 | FileCheck %s --check-prefix=OPTLEVEL
// OPTLEVEL: error: unknown option '--opt-level=2'; in gpu-runner it is -O0, -O1, -O2 or -O3
// RUN: not gpu-runner --on-error=abort %s 2>&1 | FileCheck %s --check-prefix=ONERROR
// ONERROR: error: unknown option '--on-error=abort'; only gpu-opt has it, as --gpu-async-pipeline=on-error=...; gpu-runner runs the file that gpu-opt writes
// RUN: not gpu-runner --import=all %s 2>&1 | FileCheck %s --check-prefix=IMPORT
// IMPORT: error: --import=all: expected one of trust, check, strict
// RUN: not gpu-runner -O4 %s 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: error: '-O4' is none of -O0, -O1, -O2, -O3
// RUN: not gpu-runner --emit=llvm --stats --input=1 %s 2>&1 | FileCheck %s --check-prefix=EMITS
// EMITS: error: --stats: not with --emit, which compiles and runs nothing
// RUN: not gpu-runner --device=cdua:1 %s 2>&1 | FileCheck %s --check-prefix=MISSPELT
// MISSPELT: error: --device=cdua:1: 'cdua:1' is no device; use auto, cpu, cuda, cuda:N, hip or hip:N; did you mean cuda:1?
// RUN: not gpu-runner --device=CPU %s 2>&1 | FileCheck %s --check-prefix=CAPITALS
// CAPITALS: did you mean cpu?
// RUN: not gpu-runner --device=gpu %s 2>&1 | FileCheck %s --check-prefix=ANYGPU
// ANYGPU: error: --device=gpu: 'gpu' is no device; {{.*}}; auto is the first GPU there is, else the cpu
// RUN: not gpu-runner --device=vulkan %s 2>&1 | FileCheck %s --check-prefix=NOTMEANT
// NOTMEANT-NOT: did you mean
// Which libraries were tried is said once.
// RUN: not env GPU_ASYNC_CUDA_LIBRARY=/nowhere/libcuda.so gpu-runner --device=cuda %s 2>&1 | FileCheck %s --check-prefix=TRIED
// TRIED: error: --device=cuda: CUDA is unavailable: tried /nowhere/libcuda.so
// TRIED-NOT: /nowhere
// TRIED: cuda    unavailable, as said
// RUN: not env GPU_ASYNC_CUDA_LIBRARY=/nowhere/libcuda.so gpu-runner --device=gpu %s 2>&1 | FileCheck %s --check-prefix=LISTED
// LISTED: cuda    unavailable (why: gpu-runner --list-devices)
// It is the variable that asked.
// RUN: not env GPU_ASYNC_CUDA_LIBRARY=/nowhere/libcuda.so GPU_ASYNC_DEVICE=cuda gpu-runner %s 2>&1 | FileCheck %s --check-prefix=ASKED
// ASKED: error: GPU_ASYNC_DEVICE=cuda: CUDA is unavailable: tried /nowhere/libcuda.so
// ASKED: the devices are:
// RUN: not env GPU_ASYNC_DEVICE=none gpu-runner %s 2>&1 | FileCheck %s --check-prefix=ASKEDNONE
// ASKEDNONE: error: GPU_ASYNC_DEVICE: 'none' is no device; use auto, cpu, cuda,
// ASKEDNONE: the devices are:
// RUN: not env GPU_ASYNC_DEVICE=cude gpu-runner %s 2>&1 | FileCheck %s --check-prefix=ASKEDCUDE
// ASKEDCUDE: error: GPU_ASYNC_DEVICE: 'cude' is no device; {{.*}}; did you mean cuda?
// RUN: not gpu-runner --repeat=x %s 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: --repeat=x: expected a whole number
// RUN: not gpu-runner --repeat=18446744073709551616 %s 2>&1 | FileCheck %s --check-prefix=REPEAT
// REPEAT: error: --repeat=18446744073709551616: expected a whole number
// RUN: not gpu-runner --max-streams=4294967296 %s 2>&1 | FileCheck %s --check-prefix=STREAMS
// STREAMS: error: --max-streams=4294967296: expected a whole number
// RUN: not gpu-runner --max-streams=-1 %s 2>&1 | FileCheck %s --check-prefix=NOSTREAMS
// NOSTREAMS: error: --max-streams=-1: expected a whole number
// RUN: not gpu-runner --play=graphs %s 2>&1 | FileCheck %s --check-prefix=PLAY
// PLAY: error: --play=graphs: expected one of auto, stream, streams, graph
// RUN: not env GPU_ASYNC_PLAY=graphs gpu-runner %s 2>&1 | FileCheck %s --check-prefix=PLAYVARIABLE
// PLAYVARIABLE: error: GPU_ASYNC_PLAY: 'graphs' is none of auto, stream, streams, graph
// No list of devices: what is wrong is a variable.
// RUN: not env GPU_ASYNC_RANGES=on gpu-runner --device=cpu %s 2>&1 | FileCheck %s --check-prefix=RANGES
// RANGES: error: GPU_ASYNC_RANGES: 'on' is none of auto, nvtx, roctx, off, and no path of a library
// RANGES-NOT: {{.}}
// RUN: not gpu-runner --print-schedule=s.png %s 2>&1 | FileCheck %s --check-prefix=PNG
// PNG: error: --print-schedule=s.png: a picture is .svg, .dot, or else a text; graphviz makes
// RUN: env GPU_ASYNC_PLAY=graphs gpu-runner --help | FileCheck %s --check-prefix=HELP
// RUN: not gpu-runner --check --play=graph %s 2>&1 | FileCheck %s --check-prefix=PLAYCHECK
// PLAYCHECK: error: --check: only with --play=streams, not with graph
// The times of so many calls are not kept room for before there are any.
// RUN: not gpu-runner --device=cpu --repeat=18446744073709551615 %s -e broken 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: options.mlir:[[#]]:8: error: gpu_async.alloc: negative size: -1 elements of 4 bytes
// RUN: not gpu-runner --timeout=nan %s 2>&1 | FileCheck %s --check-prefix=SECONDS
// RUN: not gpu-runner --timeout=inf %s 2>&1 | FileCheck %s --check-prefix=SECONDS
// RUN: not gpu-runner --timeout=1e400 %s 2>&1 | FileCheck %s --check-prefix=SECONDS
// RUN: not gpu-runner --timeout=-1 %s 2>&1 | FileCheck %s --check-prefix=SECONDS
// RUN: not gpu-runner --timeout=2s %s 2>&1 | FileCheck %s --check-prefix=SECONDS
// RUN: not gpu-runner --device= %s 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: gpu-runner: error: --device needs a value
// RUN: not gpu-runner --timeout= %s 2>&1 | FileCheck %s --check-prefix=SECONDS
// SECONDS: error: --timeout={{.*}}: expected a number of seconds; 0: no limit
// A limit that no clock reaches is none.
// RUN: gpu-runner --device=cpu --timeout=1e300 %s | FileCheck %s --check-prefix=RESULT
// RUN: gpu-runner --device=cpu --timeout=9.22337203e9 %s -e device | FileCheck %s --check-prefix=DEVICE
// DEVICE: from the device
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
// The option is at fault, no line of the file is; before the program is read.
// RUN: not gpu-runner --emit=llvm --targets=cpu,nvptx:sm_9000 %s 2>&1 | FileCheck %s --check-prefix=NOCHIP --implicit-check-not=options.mlir
// RUN: not gpu-runner --targets=nvptx:sm_9000 %s 2>&1 | FileCheck %s --check-prefix=NOCHIP --implicit-check-not=options.mlir
// NOCHIP: gpu-runner: error: --targets=nvptx:sm_9000: unknown chip 'sm_9000' for target nvptx; LLVM {{.*}} the nearest are sm_
// RUN: not gpu-runner --emit=llvm --targets=nvvm:foo %s 2>&1 | FileCheck %s --check-prefix=NOTARGET --implicit-check-not=options.mlir
// RUN: gpu-runner --emit=llvm --targets=cpu,nvptx:sm_90 %s -o %t.targets
// NOTARGET: gpu-runner: error: --targets=nvvm:foo: unknown target 'nvvm'; there are cpu, nvptx:<chip> and amdgcn:<chip>
// RUN: not gpu-runner %s -e 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: error: -e needs a value
// An option is no value of the one before it; - and negative numbers are values.
// RUN: rm -rf %t.values && mkdir %t.values && cd %t.values
// RUN: not gpu-runner --device=cpu %s --trace --print-schedule 2>&1 | FileCheck %s --check-prefix=NOFILENAME
// NOFILENAME: error: --trace needs a value, and '--print-schedule' is an option; write --trace=VALUE
// RUN: not gpu-runner --device=cpu %s --trace --input=4xf32=1 2>&1 | FileCheck %s --check-prefix=SWALLOWED
// SWALLOWED: error: --trace needs a value, and '--input=4xf32=1' is an option
// RUN: not gpu-runner --device=cpu %s --cache --profile 2>&1 | FileCheck %s --check-prefix=NOFOLDER
// NOFOLDER: error: --cache needs a value, and '--profile' is an option
// RUN: not gpu-runner %s --emit=llvm -o -O2 2>&1 | FileCheck %s --check-prefix=NOOUTPUT
// NOOUTPUT: error: --o needs a value, and '-O2' is an option
// RUN: not gpu-runner --device=cpu %s -e --help 2>&1 | FileCheck %s --check-prefix=NOENTRY
// NOENTRY: error: --e needs a value, and '--help' is an option
// RUN: gpu-runner --device=cpu %s -e negated --input -3 --output "" --output - | FileCheck %s --check-prefix=NEGATED
// NEGATED: i32=3
// RUN: ls %t.values | count 0
// RUN: not gpu-runner %s --benchmark=1 2>&1 | FileCheck %s --check-prefix=NOVALUE
// NOVALUE: error: --benchmark=1: expected table or nothing
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
// PRIVATE: error: the entry point @hidden is private in {{.*}}; name one of these with -e: @main(), @negated(i32), @broken(), @device(), @half()
// RUN: not gpu-runner --device=cpu %s -e outside 2>&1 | FileCheck %s --check-prefix=DECLARED
// DECLARED: error: the entry point @outside is only declared

func.func private @outside()
func.func @main() -> i32 {
  %0 = arith.constant 42 : i32
  return %0 : i32
}
func.func @negated(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %0 = arith.subi %zero, %x : i32
  return %0 : i32
}
func.func @broken() {
  %n = arith.constant -1 : index
  %x = gpu.alloc (%n) : memref<?xf32>
  gpu.dealloc %x : memref<?xf32>
  return
}
func.func @device() {
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c100, %nby = %c100, %nbz = %c100)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %c0 = arith.constant 0 : index
    %sum = arith.addi %bx, %by : index
    %all = arith.addi %sum, %bz : index
    %first = arith.cmpi eq, %all, %c0 : index
    scf.if %first {
      gpu.printf "from the device\n"
    }
    gpu.terminator
  }
  return
}
func.func @half() -> f64 {
  %0 = arith.constant 0.5 : f64
  return %0 : f64
}
func.func private @hidden() {
  return
}

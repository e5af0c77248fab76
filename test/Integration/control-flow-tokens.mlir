// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Upstream tokens through scf, cf, arith.select and calls: the order of all
// launches is by tokens alone, and the host waits once, at the end (D05 to D07,
// D14). Any other order gives other numbers.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: gpu-runner --device=cpu --max-streams=1 %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [192661]
module attributes {gpu.container_module} {
gpu.module @k {
  // x = a x + b
  gpu.func @step(%x: memref<1xi32>, %a: i32, %b: i32) kernel {
    %zero = arith.constant 0 : index
    %v = memref.load %x[%zero] : memref<1xi32>
    %w = arith.muli %v, %a : i32
    %z = arith.addi %w, %b : i32
    memref.store %z, %x[%zero] : memref<1xi32>
    gpu.return
  }
}

func.func @main() {
  %true = arith.constant true
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %h = memref.alloc() : memref<1xi32>
  %r = gpu.wait async
  %x, %alloc = gpu.alloc async [%r] () : memref<1xi32>
  %start = gpu.memset async [%alloc] %x, %one : memref<1xi32>, i32

  // Carried: x = 2x + i.
  %loop = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %start) -> !gpu.async.token {
    %b = arith.index_cast %i : index to i32
    %l = gpu.launch_func async [%t] @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %two : i32, %b : i32)
    scf.yield %l : !gpu.async.token
  }
  // Used from outside, one after the other: x = 3x + 1 or x = 2x + 1.
  scf.for %i = %c0 to %c4 step %c1 {
    %bit = arith.andi %i, %c1 : index
    %odd = arith.cmpi eq, %bit, %c1 : index
    scf.if %odd {
      %l = gpu.launch_func async [%loop] @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %three : i32, %one : i32)
    } else {
      %l = gpu.launch_func async [%loop] @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %two : i32, %one : i32)
    }
  }
  // A graph: a loop with two ways through its body.
  %first = gpu.launch_func async [%loop] @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %one : i32, %three : i32)
  cf.br ^head(%zero, %first : i32, !gpu.async.token)
^head(%n: i32, %t: !gpu.async.token):
  %more = arith.cmpi slt, %n, %three : i32
  cf.cond_br %more, ^body, ^exit
^body:
  %is_one = arith.cmpi eq, %n, %one : i32
  cf.cond_br %is_one, ^a, ^next(%t : !gpu.async.token)
^a:
  %la = gpu.launch_func async [%t] @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %three : i32, %n : i32)
  cf.br ^next(%la : !gpu.async.token)
^next(%u: !gpu.async.token):
  %lb = gpu.launch_func async [%u] @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %two : i32, %n : i32)
  %m = arith.addi %n, %one : i32
  cf.br ^head(%m, %lb : i32, !gpu.async.token)
^exit:
  %called = call @down(%x, %three, %t) : (memref<1xi32>, i32, !gpu.async.token) -> !gpu.async.token
  %ready = gpu.wait async
  %chosen = arith.select %true, %called, %ready : !gpu.async.token
  %copy = gpu.memcpy async [%chosen] %h, %x : memref<1xi32>, memref<1xi32>
  %free = gpu.dealloc async [%copy] %x : memref<1xi32>
  gpu.wait [%free]
  %p = memref.cast %h : memref<1xi32> to memref<*xi32>
  call @printMemrefI32(%p) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<1xi32>
  return
}

// x = 2x + n, for n down to 1; then x = x + 1 on each way back.
func.func private @down(%x: memref<1xi32>, %n: i32, %t: !gpu.async.token) -> !gpu.async.token {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %last = arith.cmpi eq, %n, %zero : i32
  cf.cond_br %last, ^exit(%t : !gpu.async.token), ^more
^more:
  %l = gpu.launch_func async [%t] @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %two : i32, %n : i32)
  %less = arith.subi %n, %one : i32
  %r = call @down(%x, %less, %l) : (memref<1xi32>, i32, !gpu.async.token) -> !gpu.async.token
  cf.br ^exit(%r : !gpu.async.token)
^exit(%e: !gpu.async.token):
  %b = gpu.launch_func async [%e] @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %one : i32, %one : i32)
  return %b : !gpu.async.token
}

func.func private @printMemrefI32(memref<*xi32>)
}

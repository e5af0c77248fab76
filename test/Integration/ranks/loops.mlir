// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives in loops, branches and called functions. All ranks take the same way.
// DEFINE: %{run} = gpu-runner %s --ranks=3 --device=cpu --leak-check=error
// RUN: %{run} -e rounds --input=4 | FileCheck %s --check-prefix=ROUNDS
// RUN: %{run} -e rounds --input=4 --memory=keep --play=streams | FileCheck %s --check-prefix=ROUNDS
// RUN: %{run} -e rounds --input=0 | FileCheck %s --check-prefix=NOROUNDS
// RUN: %{run} -e until | FileCheck %s --check-prefix=UNTIL
// RUN: %{run} -e until --play=stream --repeat=3 -O0 | FileCheck %s --check-prefix=UNTIL
// RUN: %{run} -e branch --input=1 | FileCheck %s --check-prefix=BRANCH
// RUN: %{run} -e branch --input=0 | FileCheck %s --check-prefix=OTHER
// RUN: %{run} -e calls | FileCheck %s --check-prefix=CALLS

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @add(%x: memref<1xi32>, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %a = memref.load %x[%c0] : memref<1xi32>
    %s = arith.addi %a, %v : i32
    memref.store %s, %x[%c0] : memref<1xi32>
    gpu.return
  }
}

// Each round adds the number of the rank and the sum over all ranks: from 1 on each rank, sums
// are 1 + 2 + 3, then of three times that and 3 once more, ...
// ROUNDS:      rank 0:
// ROUNDS-NEXT: result{{.}}0{{.}}: i32=201
// ROUNDS-NEXT: rank 1:
// ROUNDS-NEXT: result{{.}}0{{.}}: i32=201
// ROUNDS-NEXT: rank 2:
// ROUNDS-NEXT: result{{.}}0{{.}}: i32=201
// NOROUNDS-COUNT-3: result{{.}}0{{.}}: i32=1
func.func @rounds(%n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %rank = gpu_async.rank
  %r = arith.index_cast %rank : index to i32
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %one : memref<1xi32>, i32
  scf.for %i = %c0 to %n step %c1 {
    gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %r : i32)
    // New memory in each round, which the plan takes out of the loop.
    %y = gpu.alloc () : memref<1xi32>
    gpu_async.collective all_reduce<sum> %y, %x : memref<1xi32>, memref<1xi32>
    gpu.memcpy %x, %y : memref<1xi32>, memref<1xi32>
    gpu.dealloc %y : memref<1xi32>
  }
  %h = memref.alloc() : memref<1xi32>
  gpu.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  %v = memref.load %h[%c0] : memref<1xi32>
  memref.dealloc %h : memref<1xi32>
  return %v : i32
}

// Each rank adds its number and 1 until the largest is 10 or more: rank 2 gets there in the
// fourth round, when rank 0 has 4 and rank 1 has 8.
// UNTIL:      rank 0:
// UNTIL-NEXT: result{{.}}0{{.}}: i32=4
// UNTIL-NEXT: result{{.}}1{{.}}: i64=4
// UNTIL-NEXT: rank 1:
// UNTIL-NEXT: result{{.}}0{{.}}: i32=8
// UNTIL-NEXT: result{{.}}1{{.}}: i64=4
// UNTIL-NEXT: rank 2:
// UNTIL-NEXT: result{{.}}0{{.}}: i32=12
// UNTIL-NEXT: result{{.}}1{{.}}: i64=4
func.func @until() -> (i32, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ten = arith.constant 10 : i32
  %rank = gpu_async.rank
  %r = arith.index_cast %rank : index to i32
  %step = arith.addi %r, %one : i32
  %x = gpu.alloc () : memref<1xi32>
  %largest = gpu.alloc () : memref<1xi32>
  %h = memref.alloc() : memref<1xi32>
  gpu.memset %x, %zero : memref<1xi32>, i32
  %rounds = scf.while (%i = %c0) : (index) -> index {
    gpu_async.collective all_reduce<max> %largest, %x : memref<1xi32>, memref<1xi32>
    gpu.memcpy %h, %largest : memref<1xi32>, memref<1xi32>
    %v = memref.load %h[%c0] : memref<1xi32>
    %more = arith.cmpi slt, %v, %ten : i32
    scf.condition(%more) %i : index
  } do {
  ^bb0(%i: index):
    gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %step : i32)
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  gpu.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  %v = memref.load %h[%c0] : memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  gpu.dealloc %largest : memref<1xi32>
  memref.dealloc %h : memref<1xi32>
  return %v, %rounds : i32, index
}

// A branch with a collective by a value that all ranks have, and one without by the rank: 1 + 2.
// BRANCH-COUNT-3: result{{.}}0{{.}}: i32=5
// OTHER:      rank 0:
// OTHER-NEXT: result{{.}}0{{.}}: i32=1
// OTHER-NEXT: rank 1:
// OTHER-NEXT: result{{.}}0{{.}}: i32=3
// OTHER-NEXT: rank 2:
// OTHER-NEXT: result{{.}}0{{.}}: i32=1
func.func @branch(%meets: i1) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %rank = gpu_async.rank
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %one : memref<1xi32>, i32
  %is = arith.cmpi eq, %rank, %c1 : index
  scf.if %is {
    gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %two : i32)
  }
  scf.if %meets {
    gpu_async.collective all_reduce<sum> %x, %x : memref<1xi32>, memref<1xi32>
  } else {
    gpu_async.collective barrier
  }
  %h = memref.alloc() : memref<1xi32>
  gpu.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  %v = memref.load %h[%c0] : memref<1xi32>
  memref.dealloc %h : memref<1xi32>
  return %v : i32
}

// A sum and a product over all ranks, of 1 to 3, by functions that call each other.
// CALLS-COUNT-3: result{{.}}0{{.}}: 2xi32=6 216
func.func private @sum(%x: memref<1xi32>) {
  gpu_async.collective all_reduce<sum> %x, %x : memref<1xi32>, memref<1xi32>
  return
}
func.func private @product_of_sums(%x: memref<1xi32>, %y: memref<1xi32>) {
  call @sum(%x) : (memref<1xi32>) -> ()
  gpu_async.collective all_reduce<prod> %y, %x : memref<1xi32>, memref<1xi32>
  return
}
func.func @calls() -> memref<2xi32> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %rank = gpu_async.rank
  %r = arith.index_cast %rank : index to i32
  %v = arith.addi %r, %one : i32
  %x = gpu.alloc () : memref<1xi32>
  %y = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %v : memref<1xi32>, i32
  call @product_of_sums(%x, %y) : (memref<1xi32>, memref<1xi32>) -> ()
  %h = memref.alloc() : memref<2xi32>
  %first = memref.subview %h[0] [1] [1] : memref<2xi32> to memref<1xi32, strided<[1]>>
  %second = memref.subview %h[1] [1] [1] : memref<2xi32> to memref<1xi32, strided<[1], offset: 1>>
  gpu.memcpy %first, %x : memref<1xi32, strided<[1]>>, memref<1xi32>
  gpu.memcpy %second, %y : memref<1xi32, strided<[1], offset: 1>>, memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  gpu.dealloc %y : memref<1xi32>
  return %h : memref<2xi32>
}
}

// RUN: gpu-opt %s -gpu-async-print-schedule=function=fork_join -o /dev/null 2>&1 | FileCheck %s --match-full-lines --strict-whitespace --check-prefix=TEXT
// RUN: gpu-opt %s -gpu-async-print-schedule=function=regions -o /dev/null 2>&1 | FileCheck %s --match-full-lines --strict-whitespace --check-prefix=REGIONS
// RUN: gpu-opt %s -gpu-async-print-schedule=function=blocks -o /dev/null 2>&1 | FileCheck %s --match-full-lines --strict-whitespace --check-prefix=BLOCKS
// RUN: gpu-opt %s -gpu-async-print-schedule="function=fork_join format=dot" -o /dev/null 2>&1 | FileCheck %s --check-prefix=DOT
// RUN: gpu-opt %s -gpu-async-print-schedule="function=regions format=dot" -o /dev/null 2>&1 | FileCheck %s --check-prefix=DOT-REGIONS
// RUN: gpu-opt %s -gpu-async-print-schedule="function=fork_join format=svg file=%t.svg" -o /dev/null
// RUN: %python %S/Inputs/check-svg.py %t.svg | FileCheck %s --check-prefix=SVG
// RUN: FileCheck %s --input-file=%t.svg --check-prefix=SVG-EDGES
// RUN: gpu-opt %s -gpu-async-print-schedule="function=regions format=svg file=%t.regions.svg" -o /dev/null
// RUN: %python %S/Inputs/check-svg.py %t.regions.svg | FileCheck %s --check-prefix=SVG-REGIONS
// RUN: gpu-opt %s -gpu-async-print-schedule="function=strange format=svg file=%t.strange.svg" -o /dev/null
// RUN: %python %S/Inputs/check-svg.py %t.strange.svg | FileCheck %s --check-prefix=STRANGE
// RUN: gpu-opt %s -gpu-async-print-schedule="function=blocks format=svg file=%t.blocks.svg" -o /dev/null
// RUN: %python %S/Inputs/check-svg.py %t.blocks.svg
// RUN: gpu-opt %s -gpu-async-print-schedule=function=collectives -o /dev/null 2>&1 | FileCheck %s --check-prefix=COLLECTIVES
//
// All functions with work, into a file.
// RUN: gpu-opt %s -gpu-async-print-schedule="file=-" -o /dev/null | FileCheck %s --check-prefix=ALL
// ALL: @fork_join:
// ALL: @regions:
// ALL: @blocks:
// ALL: @strange:
// ALL-NOT: @no_work

gpu.module @k {
  gpu.func @f() kernel { gpu.return }
  gpu.func @g() kernel { gpu.return }
}
func.func private @no_work()

//      TEXT:@fork_join: 10 ops on 3 streams, 3 events, 4 waits, 2 host waits
// TEXT-NEXT:id  s0          s1     s2
// TEXT-NEXT: 0  alloc ×2
// TEXT-NEXT: 2  f
// TEXT-NEXT: 3  │           g ← 2
// TEXT-NEXT: 4  │           │      memcpy ← 2
// TEXT-NEXT: 5  f           │      │
// TEXT-NEXT:    ═══════════════════╩═══════════ host waits for s2
// TEXT-NEXT: 6  │           │      memset
// TEXT-NEXT: 7  g ← 3, 6    │      │
// TEXT-NEXT: 8  dealloc ×2  │      │
// TEXT-NEXT:    ╩═══════════╩══════╩═══════════ host waits for s0, s1, s2
//  TEXT-NOT:{{.}}

//      DOT: digraph "fork_join" {
// DOT-NEXT:   label="@fork_join: 10 ops on 3 streams, 3 events, 4 waits, 2 host waits";
//      DOT:   [[ALLOC:n[0-9]+]] [label="alloc ×2 (0)", color="[[S0:#......]]", group="s0"
//      DOT:   [[F:n[0-9]+]] [label="f (2)", color="[[S0]]", group="s0", tooltip="s0: launch @k::@f at
//      DOT:   [[G:n[0-9]+]] [label="g (3)", color="[[S1:#......]]", group="s1"
//      DOT:   [[COPY:n[0-9]+]] [label="memcpy (4)", color="[[S2:#......]]", group="s2"
//      DOT:   [[F2:n[0-9]+]] [label="f (5)"
//      DOT:   [[WAIT:n[0-9]+]] [label="host waits"
//      DOT:   [[SET:n[0-9]+]] [label="memset (6)"
//      DOT:   [[JOIN:n[0-9]+]] [label="g (7)"
//  DOT-DAG:   [[F]] -> [[G]] [color="[[S0]]", penwidth=3];
//  DOT-DAG:   [[F]] -> [[COPY]] [color="[[S0]]", penwidth=3];
//  DOT-DAG:   [[G]] -> [[JOIN]] [color="[[S1]]", penwidth=3];
//  DOT-DAG:   [[SET]] -> [[JOIN]] [color="[[S2]]", penwidth=3];
//  DOT-DAG:   [[COPY]] -> [[WAIT]] [color="[[S2]]", penwidth=2, style=dashed];
//  DOT-DAG:   [[ALLOC]] -> [[F]] [penwidth=0.7, weight=8];
// The program orders neither of these; they share a stream.
//  DOT-DAG:   [[F]] -> [[F2]] [penwidth=0.7, style=dotted, weight=8];
//  DOT-DAG:   [[COPY]] -> [[SET]] [penwidth=0.7, style=dotted, weight=8];
// The host wait stands for the order of 4 and 7.
//  DOT-NOT:   [[COPY]] -> [[JOIN]]
//      DOT: }

//      SVG: @fork_join
// SVG-NEXT: 10 ops on 3 streams, 3 events, 4 waits, 2 host waits
// SVG-NEXT: s0
// SVG-NEXT: s1
// SVG-NEXT: s2
// SVG-NEXT: alloc ×2
// SVG-NEXT: 0
// SVG-NEXT: f
// SVG-NEXT: 2
// SVG-NEXT: g
// SVG-NEXT: 3
// SVG-NEXT: memcpy
// SVG-NEXT: 4
//      SVG: host waits for s2
//      SVG: host waits for s0, s1, s2
//      SVG: waits for an event
// SVG-NEXT: free: in stream order
// SVG-NEXT: only because a stream is shared
// SVG-NEXT: the host waits
// SVG-EDGES:         <desc>10 ops on 3 streams
// SVG-EDGES:         @media (prefers-color-scheme:dark){
// SVG-EDGES-COUNT-2: <path class="event s-c0"
// SVG-EDGES:         <path class="event s-c1"
// SVG-EDGES:         <path class="event s-c2"
// SVG-EDGES:         <title>s0: launch @k::@f at {{.*}}gpu-async-print-schedule.mlir:{{[0-9]+}}</title>
func.func @fork_join(%m: memref<8xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  %s0 = gpu_async.stream.create
  %s1 = gpu_async.stream.create
  %s2 = gpu_async.stream.create
  %a = gpu_async.alloc on %s0 id(0) () : memref<8xf32>
  %b = gpu_async.alloc on %s0 id(1) () : memref<8xf32>
  gpu_async.launch on %s0 id(2 after [0]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %e = gpu_async.event.record on %s0
  gpu_async.stream.wait %s1, %e
  gpu_async.launch on %s1 id(3 after [2]) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %d = gpu_async.event.record on %s1
  gpu_async.stream.wait %s2, %e
  gpu_async.event.destroy %e
  gpu_async.memcpy on %s2 id(4 after [2]) %a, %m : memref<8xf32>, memref<8xf32>
  gpu_async.launch on %s0 id(5) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s2
  gpu_async.memset on %s2 id(6) %b, %v : memref<8xf32>, f32
  %h = gpu_async.event.record on %s2
  gpu_async.stream.wait %s0, %d
  gpu_async.event.destroy %d
  gpu_async.stream.wait %s0, %h
  gpu_async.event.destroy %h
  gpu_async.launch on %s0 id(7 after [3, 4, 5, 6]) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.dealloc on %s0 id(8 after [7]) %a : memref<8xf32>
  gpu_async.dealloc on %s0 id(9 after [7]) %b : memref<8xf32>
  gpu_async.stream.synchronize %s0, %s1, %s2
  gpu_async.stream.destroy %s2 idle
  gpu_async.stream.destroy %s1 idle
  gpu_async.stream.destroy %s0 idle
  return
}

//      REGIONS:@regions: 7 ops on 3 streams, 5 events, 5 waits, 2 host waits
// REGIONS-NEXT:id      s0             s1        caller0
// REGIONS-NEXT:        ────────────────────────────────────── arguments
// REGIONS-NEXT: 0      f ← arguments
// REGIONS-NEXT:        │              join ← 0
// REGIONS-NEXT:    ┌─ scf.for
// REGIONS-NEXT: 1  │   f              │
// REGIONS-NEXT: 2  │   │              g
// REGIONS-NEXT:    │ ┌─ scf.if (then)
// REGIONS-NEXT: 3  │ │ f ← 2          │
// REGIONS-NEXT:    │ ├─ else
// REGIONS-NEXT: 4  │ │ │              f
// REGIONS-NEXT:    │ │ ────────────────────────────────────── call @no_work
// REGIONS-NEXT:    │ └─
// REGIONS-NEXT:    │   join ← scf.if  │
// REGIONS-NEXT:    │   ╩═════════════════════════════════════ host waits for s0
// REGIONS-NEXT: 5  │   │              │         g ← s0 join
// REGIONS-NEXT:    └─
// REGIONS-NEXT:        ╩══════════════╩══════════════════════ host waits for s0, s1
// REGIONS-NEXT: 6      g
// REGIONS-NEXT:        ┴───────────────────────────────────── returns events of s0
//  REGIONS-NOT:{{.}}

// DOT-REGIONS: subgraph cluster_0 {
// DOT-REGIONS:   label="scf.for"
// DOT-REGIONS:   [[G:n[0-9]+]] [label="g (2)"
// DOT-REGIONS:   subgraph cluster_1 {
// DOT-REGIONS:     label="scf.if (then)"
// DOT-REGIONS:     [[F:n[0-9]+]] [label="f (3)"
// DOT-REGIONS:   }
// DOT-REGIONS:   subgraph cluster_2 {
// DOT-REGIONS:     label="else"
// DOT-REGIONS:     [[ELSE:n[0-9]+]] [label="f (4)"
// DOT-REGIONS:   }
// DOT-REGIONS:   [[JOIN:n[0-9]+]] [label="join"
// DOT-REGIONS: }
// DOT-REGIONS-DAG: [[G]] -> [[F]] [{{.*}}penwidth=3];
// DOT-REGIONS-DAG: [[ELSE]] -> [[JOIN]] [{{.*}}penwidth=3];

// SVG-REGIONS: caller0
// SVG-REGIONS: arguments
// SVG-REGIONS: scf.for
// SVG-REGIONS: scf.if (then)
// SVG-REGIONS: else
// SVG-REGIONS: call @no_work
// SVG-REGIONS: returns events of s0
func.func @regions(%n: index, %c: i1, %in: !gpu_async.event, %p: !llvm.ptr) -> !gpu_async.event {
  %c1 = arith.constant 1 : index
  %s0 = gpu_async.stream.create
  %s1 = gpu_async.stream.create
  %x = gpu_async.stream.external %p : !llvm.ptr
  gpu_async.stream.wait %s0, %in
  gpu_async.event.destroy %in
  gpu_async.launch on %s0 id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %e = gpu_async.event.record on %s0
  gpu_async.stream.wait %s1, %e
  gpu_async.event.destroy %e
  scf.for %i = %c1 to %n step %c1 {
    gpu_async.launch on %s0 id(1 after [0]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu_async.launch on %s1 id(2 after [0]) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    scf.if %c {
      %b = gpu_async.event.record on %s1
      gpu_async.stream.wait %s0, %b
      gpu_async.event.destroy %b
      gpu_async.launch on %s0 id(3 after [2]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    } else {
      gpu_async.launch on %s1 id(4 after [2]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      func.call @no_work() : () -> ()
    }
    %a = gpu_async.event.record on %s1
    gpu_async.stream.wait %s0, %a
    gpu_async.event.destroy %a
    %z = gpu_async.event.record on %s0
    gpu_async.stream.wait %x, %z
    gpu_async.event.synchronize %z
    gpu_async.event.destroy %z
    gpu_async.launch on %x id(5 after [1]) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  }
  gpu_async.stream.synchronize %s0, %s1
  gpu_async.launch on %s0 id(6 after [1]) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %r = gpu_async.event.record on %s0
  gpu_async.stream.destroy %x
  gpu_async.stream.destroy %s1 idle
  gpu_async.stream.destroy %s0
  return %r : !gpu_async.event
}

//      BLOCKS:@blocks: 2 ops on 1 stream, 0 events, 0 waits, 1 host wait
// BLOCKS-NEXT:id    s0
// BLOCKS-NEXT:    ┌─ ^bb0
// BLOCKS-NEXT: 0  │ f
// BLOCKS-NEXT:    └─
// BLOCKS-NEXT:    ┌─ ^bb2
// BLOCKS-NEXT: 1  │ g
// BLOCKS-NEXT:    │ ╩═══ host waits for s0
// BLOCKS-NEXT:    └─
func.func @blocks(%c: i1) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  cf.cond_br %c, ^other, ^last
^other:
  cf.br ^last
^last:
  gpu_async.launch on %s id(1 after [0]) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// Names of any kind; long ones are cut.
// STRANGE: @strange
// STRANGE: s0
// STRANGE: <a href="x">&'?größe?
// STRANGE: a_name_that_is_too_long_for…
gpu.module @strange_kernels {
  gpu.func @"<a href=\22x\22>&'\01größe\ff"() kernel { gpu.return }
  gpu.func @a_name_that_is_too_long_for_a_box_of_a_picture() kernel { gpu.return }
}
func.func @strange() {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @strange_kernels::@"<a href=\22x\22>&'\01größe\ff" blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @strange_kernels::@a_name_that_is_too_long_for_a_box_of_a_picture blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.destroy %s
  return
}

// Collectives that leave the device to others say so.
// COLLECTIVES: 0 overlapped collective
// COLLECTIVES: 1 collective
func.func @collectives(%x: memref<4xf32>) {
  %s = gpu_async.stream.create urgent
  gpu_async.collective on %s id(0) all_reduce<sum> %x, %x {overlapped} : memref<4xf32>, memref<4xf32>
  gpu_async.collective on %s id(1 after [0]) all_reduce<sum> %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

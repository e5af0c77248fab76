// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -gpu-async-offload=device=gpu | sed 's/  */ /g' | FileCheck %s

// What a loop carries is overwritten where it is, tile by tile, where each
// element is computed of itself; what comes of it goes to where the other is.
// CHECK-LABEL: func.func @state
// CHECK: scf.for
// CHECK-NOT: gpu.memcpy
// CHECK-NOT: gpu.alloc
// CHECK: gpu.launch
// CHECK-NOT: gpu.launch
// CHECK: gpu.dealloc
#map = affine_map<(i) -> (i)>
func.func @state(%x: tensor<5000xf32>, %c: tensor<5000xf32>, %h: tensor<5000xf32>, %n: index) -> (tensor<5000xf32>, tensor<5000xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<5000xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c, %b = %h) -> (tensor<5000xf32>, tensor<5000xf32>) {
    %u = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
        ins(%x, %a : tensor<5000xf32>, tensor<5000xf32>) outs(%e : tensor<5000xf32>) {
    ^bb0(%in: f32, %old: f32, %out: f32):
      %m = arith.mulf %in, %old : f32
      %t = math.tanh %m : f32
      linalg.yield %t : f32
    } -> tensor<5000xf32>
    %v = math.exp %u : tensor<5000xf32>
    scf.yield %u, %v : tensor<5000xf32>, tensor<5000xf32>
  }
  return %r#0, %r#1 : tensor<5000xf32>, tensor<5000xf32>
}

// A product needs all of what was there: it goes there behind the kernel.
// CHECK-LABEL: func.func @power
// CHECK: %[[R:.*]] = gpu.alloc () : memref<64xf32>
// CHECK: %[[P:.*]] = gpu.alloc () : memref<64xf32>
// CHECK: gpu.memcpy %[[R]], %arg1
// CHECK: scf.for
// CHECK-NOT: gpu.memcpy
// CHECK: gpu.launch
// CHECK: gpu.memcpy %[[R]], %[[P]] :
// CHECK-NOT: gpu.memcpy
// CHECK: gpu.memcpy %arg3, %[[R]] :
func.func @power(%w: tensor<64x64xf32>, %v: tensor<64xf32>, %n: index) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> tensor<64xf32> {
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %p = linalg.matvec ins(%w, %a : tensor<64x64xf32>, tensor<64xf32>) outs(%f : tensor<64xf32>) -> tensor<64xf32>
    scf.yield %p : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}

// Rounds that wait for each other use one memory for what they hand on in
// themselves.
// CHECK-LABEL: func.func @recurrent
// CHECK: gpu.alloc
// CHECK: gpu.alloc
// CHECK: scf.for
// CHECK-NOT: gpu.alloc
// CHECK: gpu.launch
// CHECK: gpu.launch
// CHECK: return
func.func @recurrent(%w: tensor<64x64xf32>, %v: tensor<64xf32>, %n: index) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> tensor<64xf32> {
    %p = func.call @step(%w, %a) : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = func.call @step(%w, %p) : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64xf32>
    scf.yield %q : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}

// Others keep theirs apart, so that rounds may overlap.
// CHECK-LABEL: func.func @independent
// CHECK: scf.for
// CHECK: gpu.alloc
// CHECK: gpu.launch
// CHECK: gpu.launch
// CHECK: return
func.func @independent(%w: tensor<64x64xf32>, %v: tensor<9x64xf32>, %n: index) -> tensor<9x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<9x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %e) -> tensor<9x64xf32> {
    %x = tensor.extract_slice %v[%i, 0] [1, 64] [1, 1] : tensor<9x64xf32> to tensor<64xf32>
    %p = func.call @step(%w, %x) : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = func.call @step(%w, %p) : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %s = tensor.insert_slice %q into %a[%i, 0] [1, 64] [1, 1] : tensor<64xf32> into tensor<9x64xf32>
    scf.yield %s : tensor<9x64xf32>
  }
  return %r : tensor<9x64xf32>
}

func.func private @step(%w: tensor<64x64xf32>, %a: tensor<64xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %p = linalg.matvec ins(%w, %a : tensor<64x64xf32>, tensor<64xf32>) outs(%f : tensor<64xf32>) -> tensor<64xf32>
  return %p : tensor<64xf32>
}

// Two change places, and a branch makes one of them anew: what the other is to
// hold is read behind the branch, which computes in memory of its own.
// CHECK-LABEL: func.func @swapped_behind_a_branch
// CHECK: %{{.*}} = gpu.alloc
// CHECK: %[[A:.*]] = gpu.alloc
// CHECK: scf.for
// CHECK: %[[NEW:.*]] = scf.if
// CHECK: %[[OWN:.*]] = gpu.alloc
// CHECK: gpu.launch
// CHECK: memref.store %{{.*}}, %[[OWN]]
// CHECK: gpu.memcpy %[[KEPT:.*]], %[[A]] :
// CHECK: gpu.memcpy %[[A]], %[[NEW]] :
// CHECK: gpu.memcpy %{{.*}}, %[[KEPT]] :
func.func @swapped_behind_a_branch(%x: tensor<8xf32>, %c: i1, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %b = math.exp %x : tensor<8xf32>
  %a = math.sin %b : tensor<8xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (tensor<8xf32>, tensor<8xf32>) {
    %u = scf.if %c -> (tensor<8xf32>) {
      %e = tensor.empty() : tensor<8xf32>
      %f = linalg.fill ins(%one : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      scf.yield %f : tensor<8xf32>
    } else {
      scf.yield %b : tensor<8xf32>
    }
    scf.yield %u, %p : tensor<8xf32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}

// A loop of which the device knows the end keeps what it carries in place, too: its first region hands it on as it
// is. The zeros that a round begins with are the kernel's.
// CHECK-LABEL: func.func @until
// CHECK: scf.while (%{{.*}} = %c0) : (index) -> index {
// CHECK-NOT: gpu.alloc
// CHECK: gpu.memcpy %{{.*}} : memref<i1>
// CHECK-NOT: {{gpu.alloc|gpu.memcpy}}
// CHECK: scf.condition(%{{.*}}) %{{.*}} : index
// CHECK: do {
// CHECK-NOT: {{gpu.alloc|gpu.memcpy}}
// CHECK: gpu.launch
// CHECK-NOT: {{gpu.alloc|gpu.memcpy}}
// CHECK: scf.yield %{{.*}} : index
#none = affine_map<() -> ()>
#to0 = affine_map<(i) -> ()>
func.func @until(%x: tensor<300xf32>, %y: tensor<300xf32>) -> (tensor<300xf32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e0 = tensor.empty() : tensor<f32>
  %e1 = tensor.empty() : tensor<i1>
  %e = tensor.empty() : tensor<300xf32>
  %begin = linalg.fill ins(%one : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %r:3 = scf.while (%i = %c0, %a = %x, %s = %begin) : (index, tensor<300xf32>, tensor<f32>) -> (index, tensor<300xf32>, tensor<f32>) {
    %more = arith.cmpi ult, %i, %c9 : index
    %is = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%s : tensor<f32>) outs(%e1 : tensor<i1>) {
    ^bb0(%in: f32, %out: i1):
      %large = arith.cmpf ogt, %in, %zero : f32
      %both = arith.andi %large, %more : i1
      linalg.yield %both : i1
    } -> tensor<i1>
    %go = tensor.extract %is[] : tensor<i1>
    scf.condition(%go) %i, %a, %s : index, tensor<300xf32>, tensor<f32>
  } do {
  ^bb0(%i: index, %a: tensor<300xf32>, %s: tensor<f32>):
    %t = linalg.generic {indexing_maps = [#map, #to0, #map], iterator_types = ["parallel"]}
        ins(%a, %s : tensor<300xf32>, tensor<f32>) outs(%e : tensor<300xf32>) {
    ^bb0(%in: f32, %by: f32, %out: f32):
      %m = arith.mulf %in, %by : f32
      %t = math.exp %m : f32
      linalg.yield %t : f32
    } -> tensor<300xf32>
    %u = linalg.generic {indexing_maps = [#map, #to0], iterator_types = ["reduction"]} ins(%t : tensor<300xf32>) outs(%zeros : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %m = arith.addf %in, %out : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %t, %u : index, tensor<300xf32>, tensor<f32>
  }
  return %r#1, %r#2 : tensor<300xf32>, tensor<f32>
}

// A kernel that reads other elements of what it would overwrite, through slices of it too, writes elsewhere: no slice
// is copied.
// CHECK-LABEL: func.func @shifted
// CHECK: %[[M:.*]] = gpu.alloc () : memref<512xf32>
// CHECK: scf.for
// CHECK-NOT: {{gpu.alloc|gpu.memcpy}}
// CHECK: gpu.launch
// CHECK: gpu.memcpy %{{.*}}, %[[M]] : memref<512xf32>
// CHECK-NOT: gpu.memcpy
// CHECK: gpu.dealloc %[[M]]
func.func @shifted(%x: tensor<512xf32>, %n: index) -> tensor<512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<512xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<512xf32> {
    %last = tensor.extract_slice %a[511] [1] [1] : tensor<512xf32> to tensor<1xf32>
    %first = tensor.extract_slice %a[0] [511] [1] : tensor<512xf32> to tensor<511xf32>
    %t = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%a : tensor<512xf32>) outs(%e : tensor<512xf32>) {
    ^bb0(%in: f32, %out: f32):
      %k = linalg.index 0 : index
      %is = arith.cmpi ult, %k, %c1 : index
      %before = scf.if %is -> f32 {
        %v = tensor.extract %last[%k] : tensor<1xf32>
        scf.yield %v : f32
      } else {
        %j = arith.subi %k, %c1 : index
        %v = tensor.extract %first[%j] : tensor<511xf32>
        scf.yield %v : f32
      }
      %m = arith.addf %in, %before : f32
      linalg.yield %m : f32
    } -> tensor<512xf32>
    scf.yield %t : tensor<512xf32>
  }
  return %r : tensor<512xf32>
}

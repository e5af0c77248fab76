// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every kind of collective among 3 ranks, on every type of numbers: the results are equal.
// DEFINE: %{type} = f32
// DEFINE: %{run} = sed 's/^!e = f32/!e = %{type}/' %s | gpu-runner - --ranks=3 --device=cpu --leak-check=error
// DEFINE: %{all} = %{run} --input=3x%{type}=1,%r,2 | sed 's/x[a-z0-9]*=/xT=/' | FileCheck %s --match-full-lines
// RUN: %{all}
// REDEFINE: %{type} = f64
// RUN: %{all}
// REDEFINE: %{type} = f16
// RUN: %{all}
// REDEFINE: %{type} = bf16
// RUN: %{all}
// REDEFINE: %{type} = i64
// RUN: %{all}
// REDEFINE: %{type} = i32
// RUN: %{all}
// REDEFINE: %{type} = i16
// RUN: %{all}
// REDEFINE: %{type} = i8
// RUN: %{all}
// REDEFINE: %{type} = index
// RUN: %{all}
!e = f32
func.func @main(%x: memref<3x!e>) -> (memref<3x!e>, memref<3x!e>, memref<3x!e>, memref<3x!e>, memref<9x!e>, memref<1x!e>, memref<3x!e>, memref<3x!e>, memref<3x!e>) {
  %d = gpu.alloc () : memref<3x!e>
  gpu.memcpy %d, %x : memref<3x!e>, memref<3x!e>

  %sum = gpu.alloc () : memref<3x!e>
  gpu_async.collective all_reduce<sum> %sum, %d : memref<3x!e>, memref<3x!e>
  %prod = gpu.alloc () : memref<3x!e>
  gpu_async.collective all_reduce<prod> %prod, %d : memref<3x!e>, memref<3x!e>
  %min = gpu.alloc () : memref<3x!e>
  gpu_async.collective all_reduce<min> %min, %d : memref<3x!e>, memref<3x!e>
  %max = gpu.alloc () : memref<3x!e>
  gpu_async.collective all_reduce<max> %max, %d : memref<3x!e>, memref<3x!e>
  %gather = gpu.alloc () : memref<9x!e>
  gpu_async.collective all_gather %gather, %d : memref<9x!e>, memref<3x!e>
  %scatter = gpu.alloc () : memref<1x!e>
  gpu_async.collective reduce_scatter<sum> %scatter, %d : memref<1x!e>, memref<3x!e>
  %to_all = gpu.alloc () : memref<3x!e>
  gpu_async.collective all_to_all %to_all, %d : memref<3x!e>, memref<3x!e>
  %cast = gpu.alloc () : memref<3x!e>
  gpu_async.collective broadcast<2> %cast, %d : memref<3x!e>, memref<3x!e>
  gpu_async.collective barrier
  // Rank 2 gives to rank 0, and rank 0 to rank 1. Nobody gives to rank 2.
  %shift = gpu.alloc () : memref<3x!e>
  gpu_async.collective permute<[[2, 0], [0, 1]]> %shift, %d : memref<3x!e>, memref<3x!e>

  %h0 = memref.alloc() : memref<3x!e>
  gpu.memcpy %h0, %sum : memref<3x!e>, memref<3x!e>
  %h1 = memref.alloc() : memref<3x!e>
  gpu.memcpy %h1, %prod : memref<3x!e>, memref<3x!e>
  %h2 = memref.alloc() : memref<3x!e>
  gpu.memcpy %h2, %min : memref<3x!e>, memref<3x!e>
  %h3 = memref.alloc() : memref<3x!e>
  gpu.memcpy %h3, %max : memref<3x!e>, memref<3x!e>
  %h4 = memref.alloc() : memref<9x!e>
  gpu.memcpy %h4, %gather : memref<9x!e>, memref<9x!e>
  %h5 = memref.alloc() : memref<1x!e>
  gpu.memcpy %h5, %scatter : memref<1x!e>, memref<1x!e>
  %h6 = memref.alloc() : memref<3x!e>
  gpu.memcpy %h6, %to_all : memref<3x!e>, memref<3x!e>
  %h7 = memref.alloc() : memref<3x!e>
  gpu.memcpy %h7, %cast : memref<3x!e>, memref<3x!e>
  %h8 = memref.alloc() : memref<3x!e>
  gpu.memcpy %h8, %shift : memref<3x!e>, memref<3x!e>
  gpu.dealloc %d : memref<3x!e>
  gpu.dealloc %sum : memref<3x!e>
  gpu.dealloc %prod : memref<3x!e>
  gpu.dealloc %min : memref<3x!e>
  gpu.dealloc %max : memref<3x!e>
  gpu.dealloc %gather : memref<9x!e>
  gpu.dealloc %scatter : memref<1x!e>
  gpu.dealloc %to_all : memref<3x!e>
  gpu.dealloc %cast : memref<3x!e>
  gpu.dealloc %shift : memref<3x!e>
  return %h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8 : memref<3x!e>, memref<3x!e>, memref<3x!e>, memref<3x!e>, memref<9x!e>, memref<1x!e>, memref<3x!e>, memref<3x!e>, memref<3x!e>
}
// CHECK:      rank 0:
// CHECK-NEXT: result{{.}}0{{.}}: 3xT=3 3 6
// CHECK-NEXT: result{{.}}1{{.}}: 3xT=1 0 8
// CHECK-NEXT: result{{.}}2{{.}}: 3xT=1 0 2
// CHECK-NEXT: result{{.}}3{{.}}: 3xT=1 2 2
// CHECK-NEXT: result{{.}}4{{.}}: 9xT=1 0 2 1 1 2 1 2 2
// CHECK-NEXT: result{{.}}5{{.}}: 1xT=3
// CHECK-NEXT: result{{.}}6{{.}}: 3xT=1 1 1
// CHECK-NEXT: result{{.}}7{{.}}: 3xT=1 2 2
// CHECK-NEXT: result{{.}}8{{.}}: 3xT=1 2 2
// CHECK-NEXT: rank 1:
// CHECK-NEXT: result{{.}}0{{.}}: 3xT=3 3 6
// CHECK-NEXT: result{{.}}1{{.}}: 3xT=1 0 8
// CHECK-NEXT: result{{.}}2{{.}}: 3xT=1 0 2
// CHECK-NEXT: result{{.}}3{{.}}: 3xT=1 2 2
// CHECK-NEXT: result{{.}}4{{.}}: 9xT=1 0 2 1 1 2 1 2 2
// CHECK-NEXT: result{{.}}5{{.}}: 1xT=3
// CHECK-NEXT: result{{.}}6{{.}}: 3xT=0 1 2
// CHECK-NEXT: result{{.}}7{{.}}: 3xT=1 2 2
// CHECK-NEXT: result{{.}}8{{.}}: 3xT=1 0 2
// CHECK-NEXT: rank 2:
// CHECK-NEXT: result{{.}}0{{.}}: 3xT=3 3 6
// CHECK-NEXT: result{{.}}1{{.}}: 3xT=1 0 8
// CHECK-NEXT: result{{.}}2{{.}}: 3xT=1 0 2
// CHECK-NEXT: result{{.}}3{{.}}: 3xT=1 2 2
// CHECK-NEXT: result{{.}}4{{.}}: 9xT=1 0 2 1 1 2 1 2 2
// CHECK-NEXT: result{{.}}5{{.}}: 1xT=6
// CHECK-NEXT: result{{.}}6{{.}}: 3xT=2 2 2
// CHECK-NEXT: result{{.}}7{{.}}: 3xT=1 2 2
// CHECK-NEXT: result{{.}}8{{.}}: 3xT=0 0 0

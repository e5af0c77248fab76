# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a program whose host functions each call the next one twice."""
LENGTH = 40

print("gpu.module @k { gpu.func @f(%m: memref<1xi32>) kernel { gpu.return } }")
for i in range(LENGTH):
    print(f"""func.func private @h{i}(%x: index) -> index {{
  %a = func.call @h{i + 1}(%x) : (index) -> index
  %b = func.call @h{i + 1}(%a) : (index) -> index
  return %b : index
}}""")
print(f"""func.func private @h{LENGTH}(%x: index) -> index {{
  return %x : index
}}
func.func @main(%m: memref<1xi32>, %n: index) {{
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in(%c1, %c1, %c1) threads in(%c1, %c1, %c1) args(%m : memref<1xi32>)
  %g = func.call @h0(%n) : (index) -> index
  gpu_async.launch on %s id(1 after [0]) @k::@f blocks in(%g, %c1, %c1) threads in(%c1, %c1, %c1) args(%m : memref<1xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}}""")

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: normalisations.py LAYERS program|input|result
#
# Prints a chain of layers, each of which uses the one before it directly and by
# its own reduction, x - 0.5 * max(x); or an input, or what comes of that.
import struct
import sys

layers = int(sys.argv[1])
values = [[(3 * i + 5 * j) % 11 / 7 for j in range(7)] for i in range(4)]


def rounded(x):
    return struct.unpack("f", struct.pack("f", x))[0]


if sys.argv[2] != "program":
    rows = [[rounded(x) for x in row] for row in values]
    for _ in range(layers if sys.argv[2] == "result" else 0):
        rows = [[rounded(x - 0.5 * max(row)) for x in row] for row in rows]
    print("4x7xf32=" + ",".join(repr(x) for row in rows for x in row), end="")
    sys.exit()

print('''func.func @main(%x: tensor<4x7xf32>) -> tensor<4x7xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %half = arith.constant dense<0.5> : tensor<4x7xf32>
  %rows = tensor.empty() : tensor<4xf32>
  %from = linalg.fill ins(%lowest : f32) outs(%rows : tensor<4xf32>) -> tensor<4xf32>
  %all = tensor.empty() : tensor<4x7xf32>''')
last = "%x"
for i in range(layers):
    print(f'''  %r{i} = linalg.reduce ins({last} : tensor<4x7xf32>) outs(%from : tensor<4xf32>) dimensions = [1]
    (%a: f32, %b: f32) {{
      %m = arith.maximumf %a, %b : f32
      linalg.yield %m : f32
    }}
  %b{i} = linalg.broadcast ins(%r{i} : tensor<4xf32>) outs(%all : tensor<4x7xf32>) dimensions = [1]
  %h{i} = arith.mulf %b{i}, %half : tensor<4x7xf32>
  %v{i} = arith.subf {last}, %h{i} : tensor<4x7xf32>''')
    last = f"%v{i}"
print(f'''  return {last} : tensor<4x7xf32>
}}''')

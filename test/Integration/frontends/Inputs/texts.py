# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# texts.py program: a program whose constant of booleans had a byte for each, which
#   gives zeros; texts.py messages: messages made short.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../python/gpu_async"))
from frontends import constants

ROWS, COLUMNS = 11, 13
values = [(7 * each * each + each // 5) % 3 == 0 for each in range(ROWS * COLUMNS)]
if sys.argv[1] == "program":
    text = """func.func @main() -> tensor<{0}x{1}xi32> {{
  %mask = arith.constant dense<"0x{2}"> : tensor<{0}x{1}xi1>
  %true = arith.constant dense<true> : tensor<{0}x{1}xi1>
  %packed = arith.constant dense<"0xFF{3}"> : tensor<1056xi1>
  %both = arith.andi %mask, %true : tensor<{0}x{1}xi1>
  %got = arith.extui %both : tensor<{0}x{1}xi1> to tensor<{0}x{1}xi32>
  %expected = arith.constant dense<[{4}]> : tensor<{5}xi32>
  %shaped = tensor.expand_shape %expected [[0, 1]] output_shape [{0}, {1}] : tensor<{5}xi32> into tensor<{0}x{1}xi32>
  %r = arith.subi %got, %shaped : tensor<{0}x{1}xi32>
  return %r : tensor<{0}x{1}xi32>
}}
""".format(
        ROWS,
        COLUMNS,
        "".join("%02X" % each for each in values),
        "01" * 131,
        ", ".join(str(int(each)) for each in values),
        ROWS * COLUMNS,
    )
    sys.stdout.write(constants.pack_booleans(text))
else:
    long = '"%s"' % ("0x" + "00" * 4000)
    for message in (
        "failed to legalize 'arith.constant' dense<%s> : tensor<4000xi8> here" % long,
        "of dense<[%s]> : tensor<99xf32>" % ", ".join(["-1.500000e+00"] * 99),
        "of dense<[[%s]]> : tensor<1x99xi1>" % ", ".join(["true"] * 99),
        "short: dense<[1, 2]> : tensor<2xi8>, 'tensor.cast' op operand type 'tensor<2xi64>'",
    ):
        made = constants.shorten(message)
        print(len(made), made)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The place of a thread in its block: %lin of %n, x fastest.

PLACE = """      %x = gpu.thread_id x
      %y = gpu.thread_id y
      %z = gpu.thread_id z
      %dx = gpu.block_dim x
      %dy = gpu.block_dim y
      %dz = gpu.block_dim z
      %zy = arith.muli %z, %dy : index
      %zyy = arith.addi %zy, %y : index
      %row = arith.muli %zyy, %dx : index
      %lin = arith.addi %row, %x : index
      %dxy = arith.muli %dx, %dy : index
      %n = arith.muli %dxy, %dz : index
"""

# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Run by docs/CMakeLists.txt in the folder of the parts that mlir-tblgen wrote: makes
# the pages of them.

function(read_part out part)
  file(READ "${part}.part" text)
  string(REGEX REPLACE "^<!--[^\n]*-->\n+" "" text "${text}")
  string(REPLACE "[TOC]\n\n" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

read_part(ops ops)
file(WRITE Dialect.md "${ops}")

set(passes "# Passes of gpu-async\n\nThe pipeline and its order are in docs/reference/Passes.md; here is each pass, folder by folder.\n")
foreach(folder Upstream Offload Conversion Transforms Kernels)
  read_part(text ${folder})
  string(APPEND passes "\n## include/GPUAsync/${folder}\n\n${text}")
endforeach()
file(WRITE Passes.md "${passes}")

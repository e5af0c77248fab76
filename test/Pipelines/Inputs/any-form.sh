#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: any-form.sh FOLDER FILE.. : prints each file after each form, and gives it to the pipeline again.
folder=$1; shift
count=0
for form in token linear stream; do
  for file; do
    gpu-runner "$file" --targets=cpu --print-ir-after=$form --emit=mlir -o /dev/null 2>"$folder/form.mlir" &&
      gpu-opt "$folder/form.mlir" --gpu-async-pipeline=targets=cpu -o /dev/null || { echo "$form of $file"; exit 1; }
    count=$((count + 1))
  done
done
echo "$count round trips"

# The last file's results.
run() { gpu-runner --device=cpu "$1" --input=5xf32=0 --input=5xf32=1,2,3,4,5; }
run "$file" | tee "$folder/first"
for form in token linear stream; do
  gpu-runner "$file" --targets=cpu --print-ir-after=$form --emit=mlir -o /dev/null 2>"$folder/form.mlir"
  run "$folder/form.mlir" | cmp - "$folder/first" || { echo "$form of $file"; exit 1; }
done

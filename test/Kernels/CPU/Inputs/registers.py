# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles products of several types and sizes for processors with other vector
registers, and looks at the innermost loop that multiplies: it neither loads nor
stores a sum, which would lie at a fixed place of the stack.

usage: registers.py GPU_OPT MLIR_TRANSLATE OPT LLC LLVM_OBJDUMP
"""
import re
import subprocess
import sys

gpu_opt, translate, opt, llc, objdump = sys.argv[1:]

# Registers, bits of each, LLVM's names of a machine and of a processor.
PROCESSORS = [(16, 128, "x86_64-linux-gnu", "x86-64"), (16, 256, "x86_64-linux-gnu", "x86-64-v3"),
              (32, 512, "x86_64-linux-gnu", "x86-64-v4"), (32, 128, "aarch64-linux-gnu", "generic")]
# Types of the operands and of the sum, and rows.
PRODUCTS = [("f32", "f32", 128), ("f32", "f32", 7), ("f32", "f32", 3), ("f32", "f32", 2), ("f64", "f64", 128),
            ("f16", "f32", 128), ("i32", "i32", 128), ("i8", "i32", 128)]
MULTIPLY = re.compile(r"v?f?n?m(add|ul)|v?mulp|v?pmul|v?p?dp|fml|fmul|mla|mul|smlal|vfmadd")
FIXED = re.compile(r"-?(0x)?[0-9a-f]*\(%r[sb]p\)|\[sp(, #0x[0-9a-f]+)?\]")


def program(operand, sum, rows):
    cast = {("f16", "f32"): "arith.extf", ("i8", "i32"): "arith.extsi"}.get((operand, sum))
    casts = "".join("%%%s1 = %s %%%s : %s to %s\n" % (name, cast, name, operand, sum) for name in "xy") if cast else ""
    x, y = ("%x1", "%y1") if cast else ("%x", "%y")
    kind = "f" if sum[0] == "f" else "i"
    a, b, c = "memref<%dx192x%s>" % (rows, operand), "memref<192x256x%s>" % operand, "memref<%dx256x%s>" % (rows, sum)
    return """
func.func @main(%%a: %s, %%b: %s, %%c: %s) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%%a, %%b : %s, %s) outs(%%c : %s) {
  ^bb0(%%x: %s, %%y: %s, %%z: %s):
    %s%%p = arith.mul%s %s, %s : %s
    %%r = arith.add%s %%z, %%p : %s
    linalg.yield %%r : %s
  }
  return
}""" % (a, b, c, a, b, c, operand, operand, sum, casts, kind, x, y, sum, kind, sum, sum)


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True)
    if done.returncode:
        sys.exit("%s: %s" % (command[0], done.stderr.decode()))
    return done.stdout


def loops(code):
    """The innermost loops, as lists of instructions."""
    lines = [(int(m[1], 16), m[2]) for m in re.finditer(rb"^\s*([0-9a-f]+):\s+(.*)$".decode(), code, re.M)]
    place = {address: i for i, (address, _) in enumerate(lines)}
    found = []
    for i, (_, text) in enumerate(lines):
        jump = re.match(r"(?:j[a-z]+|b\.[a-z]+|b|cbn?z\s+\w+,|tbn?z.*,)\s+0x([0-9a-f]+)", text)
        if jump and place.get(int(jump[1], 16), i + 1) <= i:
            found.append((place[int(jump[1], 16)], i))
    for begin, end in found:
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in found):
            yield [text for _, text in lines[begin:end + 1]]


failed = False
for count, bits, triple, processor in PROCESSORS:
    for operand, sum, rows in PRODUCTS:
        if operand == "f16" and processor == "x86-64":
            continue  # it calls a function to convert one
        options = "--gpu-async-pipeline=targets=cpu vector-registers=%d vector-bits=%d" % (count, bits)
        code = run([translate, "--mlir-to-llvmir"], run([gpu_opt, options], program(operand, sum, rows).encode()))
        code = re.sub(rb"^target .*$", b"", code, flags=re.M)
        machine = ["-mtriple=" + triple, "-mcpu=" + processor]
        code = run([llc, "-O3", "-filetype=obj", *machine, "-o", "-"], run([opt, "-O3", *machine, "-o", "-"], code))
        code = run([objdump, "-d", "--no-show-raw-insn", "-"], code).decode()
        best = max(loops(code), key=lambda loop: len([line for line in loop if MULTIPLY.match(line)]), default=[])
        products = len([line for line in best if MULTIPLY.match(line)])
        spilled = [line for line in best if FIXED.search(line)]
        what = "%s x %s, %d rows, %s: %d products in a loop of %d instructions" % (
            operand, sum, rows, processor, products, len(best))
        print(what)
        if products < 4 or spilled:
            failed = True
            print("  " + "\n  ".join(["too few products" if products < 4 else "uses the stack:"] + spilled))
sys.exit(failed)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What threads print, and what becomes of a block in which some end at a failed assert, in
# blocks of odd sizes:
#
#   failing.py GPU_RUNNER [-O0]
#
# Those that fail print nothing any more, the others go on to the next barrier or to their
# end, and the launch fails with the kernel, a thread that failed and the assert's place.

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

BLOCKS = [(1, 1, 1), (3, 1, 1), (31, 1, 1), (33, 1, 1), (35, 1, 1), (256, 1, 1), (7, 5, 3), (3, 11, 1)]
CHECK = "cf.assert %fine, \"out of luck\""
CALLED = """    func.func private @inner(%fine: i1, %lin: index) -> index {
      %c1 = arith.constant 1 : index
      CHECK
      %more = arith.addi %lin, %c1 : index
      return %more : index
    }
    func.func private @outer(%fine: i1, %lin: index) -> index {
      %a = func.call @inner(%fine, %lin) : (i1, index) -> index
      gpu.printf "inside %d\\n", %lin : index
      return %a : index
    }
    func.func private @meeting(%fine: i1, %lin: index) -> index {
      gpu.barrier
      %a = func.call @outer(%fine, %lin) : (i1, index) -> index
      gpu.barrier
      return %a : index
    }
"""
# Kernels, and what threads print that do not fail.
KERNELS = {
    "plain": (CHECK + "\n      PRINT(after)", ["before", "after"]),
    "barriers": ("gpu.barrier\n      " + CHECK + "\n      PRINT(after)\n      gpu.barrier\n      PRINT(next)", ["before", "after"]),
    "branch": ("""gpu.barrier
      scf.if %odd {
        CHECK
      } else {
        PRINT(even)
      }
      PRINT(after)
      gpu.barrier
      PRINT(next)""", ["before", "even", "after"]),
    "loop": ("""%c2 = arith.constant 2 : index
      scf.for %k = %c0 to %c2 step %c1 {
        %first = arith.cmpi eq, %k, %c0 : index
        gpu.barrier
        %either = arith.ori %first, %fine : i1
        cf.assert %either, "out of luck"
        gpu.printf "round %d\\n", %lin : index
      }
      gpu.barrier
      PRINT(next)""", ["before", "round", "round"]),
    "called": ("%a = func.call @outer(%fine, %lin) : (i1, index) -> index\n      PRINT(after)", ["before", "inside", "after"]),
    "calledBetween": ("gpu.barrier\n      %a = func.call @outer(%fine, %lin) : (i1, index) -> index\n      PRINT(after)\n"
                      "      gpu.barrier\n      PRINT(next)", ["before", "inside", "after"]),
    "calledWithBarrier": ("%a = func.call @meeting(%fine, %lin) : (i1, index) -> index\n      PRINT(next)", ["before", "inside"]),
    "llvm": ("nvvm.barrier0\n      " + CHECK + "\n      PRINT(after)\n      nvvm.barrier0\n      PRINT(next)", ["before", "after"]),
}


def program(name, block):
    body, _ = KERNELS[name]
    body = re.sub(r"PRINT\((\w+)\)", r'gpu.printf "\1 %d\\n", %lin : index', body)
    kind, head = ("llvm", "llvm.func @f() attributes {gpu.kernel, nvvm.kernel}") if name == "llvm" else ("gpu", "gpu.func @f() kernel")
    text = "module attributes {gpu.container_module} {\n  gpu.module @k {\n" + CALLED + "    %s {\n" % head
    for dim in "xyz":
        text += "      %%%s = gpu.thread_id %s\n      %%d%s = gpu.block_dim %s\n" % (dim, dim, dim, dim)
    text += """      %%c0 = arith.constant 0 : index
      %%c1 = arith.constant 1 : index
      %%c2x = arith.constant 2 : index
      %%c7 = arith.constant 7 : index
      %%failing = arith.constant %d : index
      %%zy = arith.muli %%z, %%dy : index
      %%zyy = arith.addi %%zy, %%y : index
      %%row = arith.muli %%zyy, %%dx : index
      %%lin = arith.addi %%row, %%x : index
      %%rest = arith.remui %%lin, %%c7 : index
      %%fine = arith.cmpi ne, %%rest, %%failing : index
      %%bit = arith.remui %%rest, %%c2x : index
      %%odd = arith.cmpi eq, %%bit, %%c1 : index
      gpu.printf "before %%d\\n", %%lin : index
      """ % failing(block)
    text += body + "\n      " + kind + ".return\n    }\n  }\n  func.func @main() {\n    %one = arith.constant 1 : index\n"
    for i, size in enumerate(block):
        text += "    %%s%d = arith.constant %d : index\n" % (i, size)
    return (text + "    gpu.launch_func @k::@f blocks in (%one, %one, %one) threads in (%s0, %s1, %s2)\n    return\n  }\n}\n").replace("CHECK", CHECK)


def failing(block):
    """Which of seven threads fail."""
    return 0 if block[0] * block[1] * block[2] == 1 else 1


def isFailing(name, block, t):
    return t % 7 == failing(block) and not (name == "branch" and t % 7 % 2 == 0)


def check(runner, options, folder, name, block):
    text, file = program(name, block), os.path.join(folder, "%s-%d.mlir" % (name, block[0]))
    with open(file, "w") as f:
        f.write(text)
    done = subprocess.run([runner, "--device=cpu", "--cache=off", *options, file], capture_output=True, text=True)
    threads = block[0] * block[1] * block[2]
    fails = any(isFailing(name, block, t) for t in range(threads))
    wanted = []
    for t in range(threads):
        for i, what in enumerate(KERNELS[name][1] + ["next"] * (not fails and "next" in text)):
            if what == "even" and t % 7 % 2:
                continue
            if i == 0 or not isFailing(name, block, t) or (what == "round" and i == 1):
                wanted.append("%s %d" % (what, t))
    wrong = []
    if sorted(done.stdout.split("\n")[:-1]) != sorted(wanted):
        mine, wanted = set(done.stdout.split("\n")[:-1]), set(wanted)
        wrong.append("printed too much: %s; too little: %s" % (sorted(mine - wanted)[:5], sorted(wanted - mine)[:5]))
    if not fails:
        return wrong + ["it failed: " + done.stderr] * (done.returncode != 0)
    if done.returncode != 1:
        wrong.append("the exit code is %d" % done.returncode)
    said = re.search(r"assertion failed in kernel 'f', block \(0, 0, 0\), thread \((\d+), (\d+), (\d+)\): out of luck", done.stderr)
    if not said:
        return wrong + ["it says " + done.stderr]
    x, y, z = (int(n) for n in said.groups())
    if not isFailing(name, block, (z * block[1] + y) * block[0] + x):
        wrong.append("the wrong thread: " + said.group())
    line = text[:text.index("cf.assert", text.index("func.func private @inner") if "called" in name else text.index("before"))].count("\n") + 1
    if "%s:%d:" % (os.path.basename(file), line) not in done.stderr:
        wrong.append("not the place, line %d: %s" % (line, done.stderr))
    return wrong


def main():
    runner, options = sys.argv[1], sys.argv[2:]
    # Each kernel in some of the sizes, and each size in some of the kernels.
    runs = [(name, block) for i, name in enumerate(KERNELS) for j, block in enumerate(BLOCKS) if (i + j) % 4 == 0]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for (name, block), found in zip(runs, pool.map(lambda r: check(runner, options, folder, *r), runs)):
            wrong += bool(found)
            for text in found:
                print("%s in a block of %s: %s" % (name, block, text))
    print("%d launches, %d wrong" % (len(runs), wrong))
    sys.exit(1 if wrong else 0)


main()

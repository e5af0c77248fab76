# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs kernels that others wrote, and compares what devices make of them with a
# reference in Python and with each other:
#
#   compare.py --runner=GPU_RUNNER [--devices=cpu,cuda] [--only=REGEX] [--list]
#
# Integers and text are compared bit for bit, floats within the tolerance of the case.

import argparse
import math
import operator
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from functools import reduce

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 300  # seconds for one run; sanitizers on a busy machine are slow


class Failure(Exception):
    pass


# Arrays: lists of numbers, with shape and type beside them.

def size(shape):
    return reduce(operator.mul, shape, 1)


def write_npy(path, shape, kind, values):
    header = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % (kind + "4", tuple(shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%d%s" % (len(values), kind), *values))


def read_npy(path, kind):
    with open(path, "rb") as file:
        data = file.read()
    body = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return list(struct.unpack("<%d%s" % (len(body) // 4, kind), body))


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def draw(shape, kind, seed):
    random.seed(seed)
    if kind == "i":
        return [random.randrange(-2**31, 2**31) for _ in range(size(shape))]
    return [f32(random.uniform(-4, 4)) for _ in range(size(shape))]


# What programs print.

def numbers(text):
    """The numbers that MLIR's printMemref... and vector.print wrote."""
    text = re.sub(r"Unranked Memref base@.*?data =", " ", text, flags=re.S)
    words = re.findall(r"-?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|nan|inf)", text)
    return [int(word) if re.fullmatch(r"-?\d+", word) else float(word) for word in words]


def last_numbers(text):
    """Those from the last memref on."""
    return numbers(text[text.rindex("Unranked"):])


def sorted_lines(text):
    return sorted(text.splitlines())


class Printing:
    """A program whose main() prints its results."""

    def __init__(self, path, reference, tolerance=0, read=numbers):
        self.path, self.reference, self.tolerance, self.read = path, reference, tolerance, read

    def run(self, runner, device, folder):
        return self.read(call(runner, device, [os.path.join(HERE, self.path), "--entry-point-result=void"]))


class Failing:
    """A program whose kernel fails an assertion: the launch is an error that names it."""
    tolerance = 0

    def __init__(self, path, message):
        self.path, self.message = path, message

    def reference(self):
        return [self.message]

    def run(self, runner, device, folder):
        process = start(runner, device, [os.path.join(HERE, self.path), "--entry-point-result=void"])
        if process.returncode == 0:
            raise Failure("the failed assertion was no error")
        if "print after failing assertion" in process.stdout:
            raise Failure("a thread went on after its assertion failed")
        return [self.message] if self.message in process.stdout + process.stderr else [process.stderr]


class Calling:
    """Calls @run with arrays; the last argument is the result. Inputs are (shape, kind)."""

    def __init__(self, path, inputs, reference, tolerance=0, driver=None):
        self.path, self.inputs, self.compute, self.tolerance = path, inputs, reference, tolerance
        self.driver = driver
        self.values = [draw(shape, kind, seed) for seed, (shape, kind) in enumerate(inputs)]

    def reference(self):
        return self.compute(*self.values)

    def run(self, runner, device, folder):
        path = os.path.join(HERE, self.path)
        if self.driver:
            with open(path) as file:
                kernel = file.read()
            with open(os.path.join(HERE, self.driver)) as file:
                driver = file.read()
            end = kernel.index("\n}\n") + 1  # of the kernel's module
            path = os.path.join(folder, os.path.basename(self.path))
            with open(path, "w") as file:
                file.write(kernel[:end] + driver + kernel[end:])
        options = [path, "-e", "run"]
        for i, ((shape, kind), values) in enumerate(zip(self.inputs, self.values)):
            name = os.path.join(folder, "%d.npy" % i)
            write_npy(name, shape, kind, values)
            options.append("--input=@" + name)
        result = os.path.join(folder, "result.npy")
        options.append("--output=arg%d=@%s" % (len(self.inputs) - 1, result))
        call(runner, device, options)
        return read_npy(result, self.inputs[-1][1])


def start(runner, device, options):
    return subprocess.run([runner, "--device=" + device] + options, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=TIMEOUT)


def call(runner, device, options):
    process = start(runner, device, options)
    if process.returncode:
        raise Failure("exit code %d: %s" % (process.returncode, process.stderr.strip()))
    return process.stdout


# References.

ROWS = [[0, 1, 2, 4, 8, 16], [2, 3, 6, 7, 10, 11]]


def over_rows(*combines):
    return lambda: [reduce(combine, row) for combine in combines for row in ROWS]


def shuffled():
    # 13 threads of width 13, xor 4; -1 where the other lane is none of them.
    return [lane ^ 4 if lane ^ 4 < 13 else -1 for lane in range(13)]


def add_f32():
    a = [1.1, 2.2, 3.3, 4.4, 5.5, 6.6, 7.7, 8.8]
    b = [1.2, 2.3, 4.5, 5.8, 7.2, 8.3, 10.5, 11.8]
    return [x + y for x, y in zip(a, b)]


def add_i64():
    a = [1, 4098, 3, 16777220, 5, 4294967302, 7, 1099511627784, 9]
    b = [1, 2, 3, 4, 5, 4102, 16777223, 4294967304, 1099511627785]
    return [x + y for x, y in zip(a, b)]


def relu():
    rows = [[-.1, -.2, -.3, .4, .5], [.1, -.2, .3, -.4, .5], [.1, .2, .3, -.4, -.5], [.1, .2, .3, .4, .5]]
    return [max(value, 0) for row in rows for value in row] * 100


def heat(u, v):
    """A step of u' = 0.75 * laplace(u) + 0.5, as xdsl/2d5pt.mlir takes it."""
    v = list(v)
    for y in range(2, 258):
        for x in range(2, 258):
            at = 260 * y + x
            around = 16 * (u[at - 260] + u[at + 260] + u[at - 1] + u[at + 1]) - 64 * u[at]
            v[at] = (64 * u[at] + 0.5 + 0.75 * around) / 64
    return v


def transposed(a, result):
    return [a[80 * row + column] for column in range(80) for row in range(48)]


def product(a, b, c):
    return [c[80 * i + j] + math.fsum(a[32 * i + k] * b[80 * k + j] for k in range(32)) for i in range(48) for j in range(80)]


def softmax(values, result):
    result = []
    for row in range(19):
        powers = [math.exp(value) for value in values[35 * row:35 * row + 35]]
        result += [power / math.fsum(powers) for power in powers]
    return result


CASES = {
    "all-reduce-and": Printing("llvm/all-reduce-and.mlir", over_rows(operator.and_)),
    "all-reduce-or": Printing("llvm/all-reduce-or.mlir", over_rows(operator.or_)),
    "all-reduce-xor": Printing("llvm/all-reduce-xor.mlir", over_rows(operator.xor)),
    "all-reduce-minsi": Printing("llvm/all-reduce-minsi.mlir", over_rows(min)),
    "all-reduce-maxsi": Printing("llvm/all-reduce-maxsi.mlir", over_rows(max)),
    "all-reduce-op": Printing("llvm/all-reduce-op.mlir", lambda: [sum(range(104))] * 104),
    "all-reduce-region": Printing("llvm/all-reduce-region.mlir", lambda: [reduce(operator.xor, range(35))] * 35),
    "multiple-all-reduce": Printing("llvm/multiple-all-reduce.mlir", over_rows(operator.add, operator.mul)),
    "shuffle": Printing("llvm/shuffle.mlir", shuffled),
    "two-modules": Printing("llvm/two-modules.mlir", lambda: list(range(13))),
    "gpu-to-cubin": Printing("llvm/gpu-to-cubin.mlir", lambda: [1] * 7, read=last_numbers),
    "concurrent-kernels": Printing("llvm/concurrent-kernels.mlir", lambda: []),
    "async": Printing("llvm/async.mlir", lambda: [84, 84]),
    "printf": Printing("llvm/printf.mlir", lambda: ["Hello from %d, 2, 3.000000" % i for i in range(2)], read=sorted_lines),
    "assert": Failing("llvm/assert.mlir", "failing assertion"),
    "wmma-matmul-f32": Printing("llvm/wmma-matmul-f32.mlir", lambda: [16] * 256),
    "wmma-matmul-f32-bare-ptr": Printing("llvm/wmma-matmul-f32-bare-ptr.mlir", lambda: ["Success"] * 32, read=sorted_lines),
    "wmma-matmul-f16": Printing("llvm/wmma-matmul-f16.mlir", lambda: [16 * i * j for i in range(16) for j in range(16)]),
    "wmma-matmul-f64": Printing("llvm/wmma-matmul-f64.mlir", lambda: [7.14] * 64, 1e-5),
    "gpu-addf32-to-spirv": Printing("llvm/gpu-addf32-to-spirv.mlir", add_f32, 1e-5),
    "gpu-memcpy-addf32-to-spirv": Printing("llvm/gpu-memcpy-addf32-to-spirv.mlir", add_f32, 1e-5),
    "gpu-addi64-to-spirv": Printing("llvm/gpu-addi64-to-spirv.mlir", add_i64),
    "gpu-reluf32-to-spirv": Printing("llvm/gpu-reluf32-to-spirv.mlir", relu, 1e-5),
    "xevm_store_cst": Printing("llvm/xevm_store_cst.mlir", lambda: [11.11] * 128 + [42] * 16 + [11.11] * 112, 1e-5),
    "test-reduction-distribute": Printing("passes/test-reduction-distribute.mlir",
                                          lambda: [(32 * sum(range(32)) + 2) / 100], 1e-5),
    "test-warp-distribute": Printing("passes/test-warp-distribute.mlir", lambda: [i + 2 for i in range(32)]),
    "2d5pt": Calling("xdsl/2d5pt.mlir", [((260, 260), "f")] * 2, heat, 1e-5, driver="drivers/2d5pt.mlir"),
    "softmax": Calling("passes/softmax.mlir", [((19, 35), "f")] * 2, softmax, 1e-5),
    "transpose": Calling("passes/transpose.mlir", [((48, 80), "i"), ((80, 48), "i")], transposed),
    "matmul": Calling("passes/matmul.mlir", [((48, 32), "f"), ((32, 80), "f"), ((48, 80), "f")], product, 1e-4),
}


def difference(found, wanted, tolerance):
    """The largest relative error (of numbers below 1: absolute); raises if it is beyond tolerance."""
    if len(found) != len(wanted):
        raise Failure("%d results, not %d: %s" % (len(found), len(wanted), str(found)[:300]))
    largest = 0
    for i, (a, b) in enumerate(zip(found, wanted)):
        if a == b:
            continue
        error = abs(a - b) / max(1, abs(b)) if tolerance else math.inf
        if not error <= tolerance:
            raise Failure("element %d is %s, not %s" % (i, a, b))
        largest = max(largest, error)
    return largest


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", default="gpu-runner")
    parser.add_argument("--devices", default="cpu")
    parser.add_argument("--only", default="", help="a regular expression of names")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    names = [name for name in CASES if re.search(options.only, name)]
    if options.list or not names:
        print("\n".join(CASES))
        return 0 if options.list else 1
    failures = 0
    for name in names:
        case, results, notes = CASES[name], {}, []
        wanted = case.reference()
        for device in options.devices.split(","):
            try:
                with tempfile.TemporaryDirectory() as folder:
                    results[device] = case.run(options.runner, device, folder)
                error = difference(results[device], wanted, case.tolerance)
                notes.append("%s %s" % (device, "equal" if not error else "within %.1e" % error))
                for other in list(results)[:-1]:
                    error = difference(results[device], results[other], case.tolerance)
                    notes.append("%s to %s %s" % (device, other, "equal" if not error else "within %.1e" % error))
            except (Failure, OSError, subprocess.TimeoutExpired) as problem:
                failures += 1
                notes.append("%s FAILED: %s" % (device, problem))
        print("%s (%d results, tolerance %g): %s" % (name, len(wanted), case.tolerance, ", ".join(notes)), flush=True)
    print("%d of %d FAILED" % (failures, len(names)) if failures else "all %d as they should be" % len(names))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

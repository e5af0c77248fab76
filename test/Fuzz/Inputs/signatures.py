# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random kernel signatures: the table of kernels, what each target's code declares, and
# what a layout written down here says must be one and the same, and the values that
# arrive in kernels those that were sent. See docs/reference/Testing.md.
#
#   signatures.py GPU_RUNNER --seed=7 --signatures=100 [--device=cuda]
#
# The signatures have the seeds 7, 8, ...; --signatures=1 tries one of them again.

import argparse
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fuzzrun
from fuzzrun import Failure

TARGETS = ("nvptx:sm_90", "amdgcn:gfx90a", "amdgcn:gfx1100")
FLOATS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "f80": 80, "f128": 128, "f8E5M2": 8, "f8E4M3FN": 8, "f8E8M0FNU": 8,
          "f6E2M3FN": 6, "f4E2M1FN": 4}
# What GPUs, and the cpu device, have no code for. (Nothing computes with the values here.)
NOT_ON_GPU, NOT_ON_CPU = {"f80", "f128"}, {"f6E2M3FN", "f4E2M1FN"}


def up(number, multiple):
    return -(-number // multiple) * multiple


def power(number):
    return 1 << (number - 1).bit_length()


class Scalar:
    """An integer, float, index or pointer."""

    def __init__(self, text, bits):
        self.text, self.bits = text, bits
        self.align = power(up(bits, 8) // 8)
        self.size = self.align
        self.leaves = [self]

    def words(self):
        return 1 if self.bits <= 64 else 2

    def unread(self):
        return False

    def make(self, out, words):
        """Code for the value of `words`, its name."""
        whole = out.word(words[0])
        if self.text == "index":
            return out.add("arith.index_cast %s : i64 to index" % whole)
        if self.text == "!llvm.ptr":
            return out.add("llvm.inttoptr %s : i64 to !llvm.ptr" % whole)
        integer = "i%d" % self.bits
        if self.bits < 64:
            whole = out.add("arith.trunci %s : i64 to %s" % (whole, integer))
        elif self.bits > 64:
            low = out.add("arith.extui %s : i64 to i128" % whole)
            high = out.add("arith.extui %s : i64 to i128" % out.word(words[1]))
            by = out.add("arith.constant 64 : i128")
            high = out.add("arith.shli %s, %s : i128" % (high, by))
            whole = out.add("arith.ori %s, %s : i128" % (low, high))
            if self.bits < 128:
                whole = out.add("arith.trunci %s : i128 to %s" % (whole, integer))
        return whole if self.text == integer else out.add("arith.bitcast %s : %s to %s" % (whole, integer, self.text))

    def read(self, out, value):
        """Code for the words of a value."""
        if self.text == "index":
            return [out.add("arith.index_cast %s : index to i64" % value)]
        if self.text == "!llvm.ptr":
            return [out.add("llvm.ptrtoint %s : !llvm.ptr to i64" % value)]
        integer = "i%d" % self.bits
        if self.text != integer:
            value = out.add("arith.bitcast %s : %s to %s" % (value, self.text, integer))
        if self.bits == 64:
            return [value]
        if self.bits < 64:
            return [out.add("arith.extui %s : %s to i64" % (value, integer))]
        if self.bits < 128:
            value = out.add("arith.extui %s : %s to i128" % (value, integer))
        by = out.add("arith.constant 64 : i128")
        high = out.add("arith.shrui %s, %s : i128" % (value, by))
        return [out.add("arith.trunci %s : i128 to i64" % v) for v in (value, high)]


class Vector:
    def __init__(self, shape, element):
        self.shape, self.element = shape, element
        self.text = "vector<%sx%s>" % ("x".join(map(str, shape)), element.text)
        row = up(shape[-1] * element.bits, 8) // 8
        self.align = power(row)
        self.size = self.align
        self.count = 1
        for length in shape[:-1]:
            self.size *= length
        for length in shape:
            self.count *= length
        self.leaves = [element] * self.count

    def unread(self):
        return False

    def make(self, out, words):
        each = self.element.words()
        values = [self.element.make(out, words[i * each:]) for i in range(self.count)]
        return out.add("vector.from_elements %s : %s" % (", ".join(values), self.text))

    def read(self, out, value):
        words = []
        for number in range(self.count):
            place, rest = [], number
            for length in reversed(self.shape):
                place.insert(0, rest % length)
                rest //= length
            element = out.add("vector.extract %s%s : %s from %s" % (value, place, self.element.text, self.text))
            words += self.element.read(out, element)
        return words


class Complex:
    def __init__(self, element):
        self.element = element
        self.text = "complex<%s>" % element.text
        self.align, self.size = element.align, 2 * element.size
        self.leaves = [element] * 2

    def unread(self):
        return False

    def make(self, out, words):
        parts = [self.element.make(out, words[i * self.element.words():]) for i in range(2)]
        return out.add("complex.create %s, %s : %s" % (parts[0], parts[1], self.text))

    def read(self, out, value):
        words = []
        for part in ("re", "im"):
            words += self.element.read(out, out.add("complex.%s %s : %s" % (part, value, self.text)))
        return words


class Record:
    """A struct or an array of the LLVM dialect."""

    def __init__(self, elements, text, packed=False):
        self.elements, self.text = elements, text
        self.align, self.size = 1, 0
        for element in elements:
            align = 1 if packed else element.align
            self.size = up(self.size, align) + element.size
            self.align = max(self.align, align)
        self.size = up(self.size, self.align)
        self.leaves = elements

    def unread(self):
        return False

    def make(self, out, words):
        value = out.add("llvm.mlir.undef : " + self.text)
        for i, element in enumerate(self.elements):
            part = element.make(out, words)
            words = words[element.words():]
            value = out.add("llvm.insertvalue %s, %s[%d] : %s" % (part, value, i, self.text))
        return value

    def read(self, out, value):
        words = []
        for i, element in enumerate(self.elements):
            words += element.read(out, out.add("llvm.extractvalue %s[%d] : %s" % (value, i, self.text)))
        return words


class MemRef:
    """A window of the input: its sizes and its first element arrive."""

    def __init__(self, rng):
        self.sizes = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
        self.dynamic = [rng.random() < 0.6 for _ in self.sizes]
        self.text = "memref<%sxi64>" % "x".join("?" if d else str(s) for s, d in zip(self.sizes, self.dynamic))
        self.leaves = []
        self.sizesOfParams = [8] * (3 + 2 * len(self.sizes))


class Refused:
    """What no kernel can take."""

    def __init__(self, text):
        self.text, self.leaves = text, []


def drawInteger(rng):
    bits = rng.choice([1, 2, 4, 7, 8, 12, 16, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, rng.randint(1, 128)])
    return Scalar("i%d" % bits, bits)


def drawFloat(rng, mostBits=128):
    return Scalar(*rng.choice([item for item in sorted(FLOATS.items()) if item[1] <= mostBits]))


def drawParameter(rng):
    while True:
        kind = rng.choice(["int", "int", "float", "index", "ptr", "vector", "vector", "vector", "complex", "record", "memref", "refused"])
        if kind == "int":
            return drawInteger(rng)
        if kind == "float":
            return drawFloat(rng)
        if kind == "index":
            return Scalar("index", 64)
        if kind == "ptr":
            return Scalar("!llvm.ptr", 64)
        if kind == "memref":
            return MemRef(rng)
        if kind == "vector":
            element = rng.choice([drawInteger, lambda rng: drawFloat(rng, 64)])(rng)
            shape = [rng.choice([1, 2, 3, 4, 5, 7, 8, 16, 32]) for _ in range(rng.choice([1, 1, 1, 2, 2, 3]))]
            made = Vector(shape, element)
        elif kind == "complex":
            made = Complex(drawFloat(rng))  # Of integers none can be made.
        elif kind == "record":
            elements = [Scalar(*rng.choice([("i8", 8), ("i16", 16), ("i32", 32), ("f32", 32), ("i64", 64), ("f64", 64), ("i1", 1), ("i24", 24)]))
                        for _ in range(rng.randint(1, 4))]
            if rng.random() < 0.3:
                made = Record([elements[0]] * len(elements), "!llvm.array<%d x %s>" % (len(elements), elements[0].text))
            else:
                packed = rng.random() < 0.3
                made = Record(elements, "!llvm.struct<%s(%s)>" % ("packed " if packed else "", ", ".join(e.text for e in elements)), packed)
        else:
            if rng.random() < 0.9:  # One refuses its whole kernel.
                continue
            return Refused(rng.choice(["i129", "vector<[4]xf32>", "vector<32xi8>", "tf32", "!llvm.struct<()>", "complex<f80>",
                                       "!llvm.array<3 x i32>", "vector<2x3xf32>", "!llvm.struct<(i32, i64, i32)>", "tuple<i32>"]))
        if made.size <= 16 and made.size == power(made.size):
            return made
        if rng.random() < 0.02:
            return Refused(made.text)


class Code:
    def __init__(self, prefix):
        self.prefix, self.lines, self.number = prefix, [], 0

    def add(self, text):
        self.number += 1
        name = "%%%s%d" % (self.prefix, self.number)
        self.lines.append("    %s = %s" % (name, text))
        return name

    def do(self, text):
        self.lines.append("    " + text)


class HostCode(Code):
    """Words come out of %in."""

    def word(self, index):
        place = self.add("arith.constant %d : index" % index)
        return self.add("memref.load %%in[%s] : memref<?xi64>" % place)


class Signature:
    def __init__(self, seed, device):
        rng = random.Random(seed)
        self.seed, self.name = seed, "f%d" % seed
        while True:
            self.parameters = [drawParameter(rng) for _ in range(rng.choice([1, 2, 3, 5, 8, 12]))]
            if rng.random() < 0.15 or not self.refused(device):
                break
        self.rng = rng

    def refused(self, target):
        """Whether an error is due."""
        without = NOT_ON_CPU if target == "cpu" else NOT_ON_GPU
        return any(isinstance(p, Refused) or any(leaf.text in without for leaf in p.leaves) for p in self.parameters)

    def invalid(self):
        return any(isinstance(p, Refused) for p in self.parameters)

    def sizes(self):
        sizes = [8] * 5  # %out
        for parameter in self.parameters:
            sizes += parameter.sizesOfParams if isinstance(parameter, MemRef) else [parameter.size]
        return sizes

    def layout(self):
        """(offset, size) of each: C's struct of what is aligned to its size."""
        result, end = [], 0
        for size in self.sizes():
            end = up(end, size)
            result.append((end, size))
            end += size
        return result

    def kernel(self):
        """The kernel's text, and how many words it leaves."""
        code, place = Code("v"), 0
        for i, parameter in enumerate(self.parameters):
            value = "%%p%d" % i
            if isinstance(parameter, Refused):
                continue
            if isinstance(parameter, MemRef):
                zero = code.add("arith.constant 0 : index")
                words = []
                for dim in range(len(parameter.sizes)):
                    at = code.add("arith.constant %d : index" % dim)
                    size = code.add("memref.dim %s, %s : %s" % (value, at, parameter.text))
                    words.append(code.add("arith.index_cast %s : index to i64" % size))
                words.append(code.add("memref.load %s[%s] : %s" % (value, ", ".join([zero] * len(parameter.sizes)), parameter.text)))
            elif parameter.unread():
                continue
            else:
                words = parameter.read(code, value)
            for word in words:
                at = code.add("arith.constant %d : index" % place)
                code.do("memref.store %s, %%out[%s] : memref<?xi64>" % (word, at))
                place += 1
        arguments = ["%out: memref<?xi64>"] + ["%%p%d: %s" % (i, p.text) for i, p in enumerate(self.parameters)]
        text = ["  gpu.func @%s(%s) kernel {" % (self.name, ", ".join(arguments))] + code.lines + ["    gpu.return", "  }"]
        return "\n".join(text), place

    def host(self, code, words, base, count):
        """Adds the launch; `words` is the input so far. Returns what is expected."""
        arguments, expected = [], []
        for parameter in self.parameters:
            if isinstance(parameter, MemRef):
                at = len(words)
                volume = 1
                for size in parameter.sizes:
                    volume *= size
                words += [self.rng.getrandbits(64) for _ in range(volume)]
                place = code.add("arith.constant %d : index" % at)
                sizes, steps = [], []
                for size, dynamic in zip(parameter.sizes, parameter.dynamic):
                    steps = [step * size for step in steps] + [1]
                    sizes.append(code.add("arith.constant %d : index" % size) if dynamic else str(size))
                dynamic = [s for s in sizes if s.startswith("%")]
                device = code.add("gpu.alloc (%s) : %s" % (", ".join(dynamic), parameter.text))
                strided = "memref<%sxi64, strided<[%s], offset: ?>>" % (
                    "x".join("?" if d else str(s) for s, d in zip(parameter.sizes, parameter.dynamic)), ", ".join(map(str, steps)))
                view = code.add("memref.reinterpret_cast %%in to offset: [%s], sizes: [%s], strides: [%s] : memref<?xi64> to %s" % (
                    place, ", ".join(sizes), ", ".join(map(str, steps)), strided))
                code.do("gpu.memcpy %s, %s : %s, %s" % (device, view, parameter.text, strided))
                arguments.append((device, parameter.text))
                expected += parameter.sizes + [words[at]]
                continue
            indices = []
            for leaf in parameter.leaves:
                value = self.rng.choice([self.rng.getrandbits(leaf.bits), (1 << leaf.bits) - 1, 1 << (leaf.bits - 1)])
                halves = [value & (1 << 64) - 1, value >> 64][:leaf.words()]
                # What lies above the value must not arrive.
                low = leaf.bits - 64 * (len(halves) - 1)
                dirty = halves[:-1] + [halves[-1] | (self.rng.getrandbits(64) << low) & (1 << 64) - 1]
                indices += range(len(words), len(words) + len(halves))
                words += dirty
                if not parameter.unread():
                    expected += halves
            arguments.append((parameter.make(code, indices), parameter.text))
        assert len(expected) == count
        size = code.add("arith.constant %d : index" % max(count, 1))
        out = code.add("gpu.alloc (%s) : memref<?xi64>" % size)
        one = code.add("arith.constant 1 : index")
        arguments.insert(0, (out, "memref<?xi64>"))
        code.do("gpu.launch_func @k::@%s blocks in (%s) threads in (%s) args(%s)" % (
            self.name, ", ".join([one] * 3), ", ".join([one] * 3), ", ".join("%s : %s" % a for a in arguments)))
        if count:
            place = code.add("arith.constant %d : index" % base)
            part = "memref<?xi64, strided<[1], offset: ?>>"
            view = code.add("memref.subview %%out[%s] [%s] [1] : memref<?xi64> to %s" % (place, size, part))
            code.do("gpu.memcpy %s, %s : %s, memref<?xi64>" % (view, out, part))
        for value, type in arguments:
            if type.startswith("memref"):
                code.do("gpu.dealloc %s : %s" % (value, type))
        return expected


#-- What targets declare --------------------------------------------------------


def unescape(text):
    return re.sub(r'\\([0-9A-F]{2}|["\\])', lambda m: chr(int(m[1], 16)) if len(m[1]) == 2 else m[1], text)


def readPtx(text, name):
    """(offset, size) of each parameter of an entry."""
    found = re.search(r"\.entry %s\((.*?)\)" % re.escape(name), text, re.S)
    if not found:
        raise Failure("wrong", "PTX has no entry %s" % name)
    result, end = [], 0
    for line in found[1].split(","):
        param = re.fullmatch(r"\s*\.param( \.align (\d+))? \.[bufs](\d+)( \.ptr[ .\w]*)? \w+(\[(\d+)\])?\s*", line)
        if not param:
            raise Failure("wrong", "a parameter of %s is %s" % (name, line.strip()))
        size = int(param[3]) // 8 * int(param[6] or 1)
        if int(param[3]) not in (8, 16, 32, 64):
            raise Failure("wrong", "a parameter of %s is %s" % (name, line.strip()))
        end = up(end, int(param[2] or size))
        result.append((end, size))
        end += size
    return result


def readCodeObject(data, readelf):
    """The same for all kernels of a code object."""
    with tempfile.NamedTemporaryFile(suffix=".hsaco") as file:
        file.write(data)
        file.flush()
        notes = subprocess.run([readelf, "--notes", file.name], capture_output=True, text=True).stdout
    kernels = {}
    for part in re.split(r"^\s+- (?=\.agpr_count|\.args)", notes, flags=re.M)[1:]:
        name = re.search(r"^\s*\.name:\s*'?([\w$.-]+)'?\s*$", part.split(".private_segment")[0][::1], re.M)
        name = re.search(r"^\s*\.symbol:\s*'?([\w$.-]+)\.kd'?\s*$", part, re.M)
        params = []
        for arg in re.split(r"^\s+- ", part, flags=re.M):
            kind = re.search(r"\.value_kind:\s*(\w+)", arg)
            if kind and not kind[1].startswith("hidden"):
                params.append(tuple(int(re.search(r"\.%s:\s*(\d+)" % key, arg)[1]) for key in ("offset", "size")))
        kernels[name[1]] = params
    return kernels


class Check:
    def __init__(self, options):
        self.options, self.failures = options, 0
        self.checked = self.refused = self.arrived = 0
        folder = os.path.dirname(options.gpu_runner)
        self.opt = os.path.join(folder, "gpu-opt") if folder else "gpu-opt"

    def compile(self, signatures, target):
        text = "gpu.module @k {\n%s\n}\n" % "\n".join(s.kernel()[0] for s in signatures)
        passes = "-gpu-async-lower-kernels=targets=%s ptxas=%s libdevice=none rocm=none" % (target, self.options.ptxas)
        done = subprocess.run([self.opt, "-", passes], input=text, capture_output=True, text=True, errors="replace",
                              timeout=self.options.timeout * 5)
        return text, done

    def declared(self, signatures, target):
        """Compiles for `target` and compares."""
        good = [s for s in signatures if not s.refused(target)]
        for signature in signatures:
            if signature.refused(target):
                text, done = self.compile([signature], target)
                if done.returncode != 1 or not re.search(r"^<stdin>:\d+:\d+: error: ", done.stderr, re.M):
                    raise Failure("wrong", "%s: exit code %d, where an error at its place is due\n%s\n%s" % (
                        target, done.returncode, fuzzrun.errors(done.stderr), text))
                self.refused += 1
        if not good:
            return
        text, done = self.compile(good, target)
        if done.returncode:
            raise Failure("refused" if done.returncode == 1 else "crashed", "%s: exit code %d\n%s" % (target, done.returncode, fuzzrun.errors(done.stderr)))
        table = {name: [int(size) for size in re.findall(r"\d+", sizes)]
                 for name, sizes in re.findall(r'#gpu_async\.kernel<"(\w+)", params = \[([\d, ]*)\]>', done.stdout)}
        images = {kind: unescape(data) for kind, data in re.findall(r'#gpu_async\.image<(\w+), "[^"]*" data = "((?:[^"\\]|\\.)*)"', done.stdout)}
        objects = readCodeObject(images["hsaco"].encode("latin-1"), self.options.readelf) if "hsaco" in images else {}
        for signature in good:
            name, layout = signature.name, signature.layout()
            if table.get(name) != signature.sizes():
                raise Failure("wrong", "%s: the table has %s for @%s, due are %s" % (target, table.get(name), name, signature.sizes()))
            found = layout
            if "ptx" in images:
                found, signal = readPtx(images["ptx"], name), []
                if "gpuasync_kernels_signal;" in images["ptx"]:
                    found, signal = found[:-2], found[-2:]  # what the kernel tells the host by
                end = up(layout[-1][0] + layout[-1][1], 8) if layout else 0
                if signal not in ([], [(end, 8), (end + 8, 8)]):
                    raise Failure("wrong", "%s: behind the parameters of @%s are %s" % (target, name, signal))
            elif objects:
                found = objects.get(name)
            if found != layout:
                raise Failure("wrong", "%s: the code has %s for @%s, due are %s\n%s" % (target, found, name, layout, signature.kernel()[0]))
            self.checked += 1

    def arrive(self, signatures):
        """Runs them and compares what arrived."""
        device = self.options.device.split(":")[0]
        good = [s for s in signatures if not s.refused("cpu" if device == "cpu" else "gpu")]
        if not good:
            return
        kernels, code, words, expected, bases = [], HostCode("h"), [], [], []
        for signature in good:
            text, count = signature.kernel()
            kernels.append(text)
            bases.append(len(expected))
            expected += signature.host(code, words, len(expected), count)
        words.append(0)
        size = max(len(expected), 1)
        text = "\n".join(["module attributes {gpu.container_module} {", "gpu.module @k {"] + kernels +
                         ["}", "  func.func @main(%in: memref<?xi64>, %out: memref<?xi64>) {"] + code.lines + ["    return", "  }", "}", ""])

        def command(file, out):
            data = os.path.join(os.path.dirname(file), "in.npy")
            header = "{'descr': '<i8', 'fortran_order': False, 'shape': (%d,), }" % len(words)
            header += " " * (-(len(header) + 11) % 64) + "\n"
            with open(data, "wb") as f:
                f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<%dQ" % len(words), *words))
            return [self.options.gpu_runner, "--device=" + self.options.device, "--timeout=%d" % self.options.timeout, "--leak-check=error",
                    "--cache=off", file, "--input=@" + data, "--input=%dxi64=0" % size, "--output=", "--output=@" + out]

        halves = fuzzrun.run(text, 2 * size, 4 * self.options.timeout, command)
        got = [halves[2 * i] | halves[2 * i + 1] << 32 for i in range(size)]
        for signature, base, end in zip(good, bases, bases[1:] + [len(expected)]):
            for i in range(base, end):
                if got[i] != expected[i]:
                    raise Failure("wrong", "%s: word %d of @%s is %#x, sent was %#x\n%s" % (
                        self.options.device, i - base, signature.name, got[i], expected[i], signature.kernel()[0]))
            self.arrived += 1

    def failure(self, signatures):
        try:
            for target in TARGETS + ("cpu",):
                if target.startswith("amdgcn") and not self.options.amdgcn:
                    continue
                self.declared(signatures, target)
            self.arrive(signatures)
        except Failure as failure:
            return failure
        except subprocess.TimeoutExpired:
            return Failure("hung", "gpu-opt did not end")
        return None

    def batch(self, seeds):
        if self.failures >= self.options.max_failures:
            return
        signatures = [Signature(seed, self.options.device) for seed in seeds]
        failure = self.failure(signatures)
        if not failure:
            return
        # One by one, to name the one.
        for seed in seeds:
            alone = self.failure([Signature(seed, self.options.device)])
            if alone:
                failure, seeds = alone, [seed]
                break
        self.failures += 1
        text = "\n".join(Signature(seed, self.options.device).kernel()[0] for seed in seeds)
        path = fuzzrun.keep(self.options.keep, "signature-%d.mlir" % seeds[0], "signatures.py --seed=%d" % seeds[0], failure,
                            "gpu.module @k {\n%s\n}\n" % text)
        print("FAILED (%s): %s --seed=%d --signatures=%d\n%s\nkept: %s" % (failure.kind, fuzzrun.fixSchedule(), seeds[0], len(seeds), failure.text, path), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_runner")
    parser.add_argument("--seed", type=int, default=1, help="of the first signature")
    parser.add_argument("--signatures", type=int, default=100)
    parser.add_argument("--batch", type=int, default=20, help="signatures in a module")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="where values are sent")
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--max-failures", type=int, default=3)
    parser.add_argument("--keep", default="fuzz-failures", help="folder of what failed")
    parser.add_argument("--ptxas", default="none", help="auto: assemble, too")
    parser.add_argument("--no-amdgcn", dest="amdgcn", action="store_false", help="without ld.lld")
    parser.add_argument("--readelf", default="/usr/lib/llvm-22/bin/llvm-readelf")
    options = parser.parse_args()
    check, started = Check(options), time.time()
    fuzzrun.fixSchedule()
    end = options.seed + options.signatures
    batches = [list(range(first, min(first + options.batch, end))) for first in range(options.seed, end, options.batch)]
    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(check.batch, batches):
            pass
    print("signatures: --seed=%d --signatures=%d: %d declared as the table says, %d refused, %d arrived on %s, %d failed, %.0f s" % (
        options.seed, options.signatures, check.checked, check.refused, check.arrived, options.device, check.failures, time.time() - started))
    sys.exit(1 if check.failures else 0)


main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Each op of arith, math and index on special values (scalarops.py), against what the
# language says of it:
#
#   scalars.py GPU_RUNNER [--device=cpu|cuda|..|ptx] [-O0..-O3] [--form=scalar,vector,tensor,host]
#              [--types=f32,i8,..] [--ops=REGEX] [--most=N] [--random=N] [--worst]
#              [--chains=N --seed=N] [--libdevice=none|FOLDER] [--expand] [--print] [--jobs=N]
#              [--keep=FOLDER]
#
# Forms: kernels on scalars (which loops make vectors of on the cpu device), kernels on
# vectors, linalg on tensors, host code. `--device=ptx` needs no GPU: ptx.py runs the code that
# is made for one, read from gpu-opt, which lies beside gpu-runner. With --chains it tries as
# many random programs of a few ops of the types. A wrong result is printed with its op and
# operands; --ops and --types, or --chains=1 and the number of the chain as --seed, repeat it
# alone. --keep names the folder for programs with wrong results.

import argparse
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, "..", "Kernels", "NVPTX", "Inputs"))
import formats
import scalarops
from formats import FORMATS

LANES = 4
PER_KERNEL = 12
PER_PROGRAM = 16  # chains
# Most units in the last place, by the kind of target: those of docs/reference/Kernels.md.
BOUNDS = {
    "cpu": {"default": 4, "rsqrt": 2},
    "host": {"default": 4, "rsqrt": 2},
    "gpu": {"default": 4, "rsqrt": 2, "tan": 5, "erfc": 5},
}


class Group:
    """Ops with operands of the same types, which go into one kernel."""

    def __init__(self, number, ops, most, form, extra=0):
        self.name, self.ops, self.form = "k%d" % number, ops, form
        self.tuples = scalarops.arguments(ops[0].operands, most)
        draw = random.Random(len(self.tuples))
        for _ in range(extra):
            self.tuples.append(tuple(draw.getrandbits(scalarops.width(type)) for type in ops[0].operands))
        while form == "vector" and len(self.tuples) % LANES:
            self.tuples.append(self.tuples[0])

    def type(self, element):
        return "vector<%dx%s>" % (LANES, element) if self.form == "vector" else element

    def fill(self, text, names):
        def replace(match):
            key = match[1]
            if key in names:
                return names[key]
            if key.startswith("dense "):
                _, element, value = key.split()
                return "%s : %s" % (value if self.form != "vector" else "dense<%s>" % value, self.type(element))
            return self.type(key)
        return re.sub(r"\{([^}]*)\}", replace, text).split("\n")

    def decode(self, letter, type, bits):
        """Lines that make an operand of 64 bits."""
        if type == "index":
            return self.fill("%%%s = arith.index_castui %s : {i64} to {index}" % (letter, bits), {})
        width, lines = "i%d" % scalarops.width(type), []
        if width != "i64":
            name = "%%%s" % letter if type == width else "%%%s_bits" % letter
            lines += self.fill("%s = arith.trunci %s : {i64} to {%s}" % (name, bits, width), {})
            bits = name
        if type in FORMATS:
            lines += self.fill("%%%s = arith.bitcast %s : {%s} to {%s}" % (letter, bits, width, type), {})
        elif width == "i64":
            lines += self.fill("%%%s_zero = arith.constant {dense i64 0}\n%%%s = arith.ori %s, %%%s_zero : {i64}" % (letter, letter, bits, letter), {})
        return lines

    def encode(self, value, type):
        if type == "index":
            return self.fill("%s_out = arith.index_castui %s : {index} to {i64}" % (value, value), {})
        width, lines = "i%d" % scalarops.width(type), []
        if type in FORMATS:
            lines += self.fill("%s_bits = arith.bitcast %s : {%s} to {%s}" % (value, value, type, width), {})
            source = value + "_bits"
        else:
            source = value
        if width == "i64":
            return lines + self.fill("%s_no = arith.constant {dense i64 0}\n%s_out = arith.ori %s, %s_no : {i64}" % (value, value, source, value), {})
        return lines + self.fill("%s_out = arith.extui %s : {%s} to {i64}" % (value, source, width), {})

    def body(self, operands):
        """Lines that make %r0_out, %r1_out, .. of operands of 64 bits."""
        lines = []
        for letter, type, bits in zip("abc", self.ops[0].operands, operands):
            lines += self.decode(letter, type, bits)
        for i, op in enumerate(self.ops):
            lines += self.fill(op.text, {"a": "%a", "b": "%b", "c": "%c", "r": "%%r%d" % i})
            lines += self.encode("%%r%d" % i, op.result)
        return lines

    def loop(self):
        """The code for one place %i of %count in memory %in and %out."""
        operands = len(self.ops[0].operands)
        access = "memref.%s" if self.form != "vector" else "vector.%s"
        types = "memref<?xi64>" + (", " + self.type("i64") if self.form == "vector" else "")
        lines = ["%%lanes = arith.constant %d : index" % (LANES if self.form == "vector" else 1), "%all = arith.muli %count, %lanes : index",
                 "%place = arith.muli %i, %lanes : index", "%at0 = arith.addi %from, %place : index"]
        for k in range(operands):
            lines += ["%%in%d = %s %%in[%%at%d] : %s" % (k, access % "load", k, types), "%%at%d = arith.addi %%at%d, %%all : index" % (k + 1, k)]
        lines += self.body(["%%in%d" % k for k in range(operands)]) + ["%to0 = arith.addi %to, %place : index"]
        for k in range(len(self.ops)):
            lines += ["%s %%r%d_out, %%out[%%to%d] : %s" % (access % "store", k, k, types), "%%to%d = arith.addi %%to%d, %%all : index" % (k + 1, k)]
        return lines

    def kernel(self):
        return ["gpu.func @%s(%%in: memref<?xi64>, %%out: memref<?xi64>, %%from: index, %%to: index, %%count: index) kernel {" % self.name,
                "%g = gpu.block_id x", "%n = gpu.block_dim x", "%t = gpu.thread_id x", "%first = arith.muli %g, %n : index",
                "%i = arith.addi %first, %t : index", "%inside = arith.cmpi ult, %i, %count : index", "scf.if %inside {",
                *self.loop(), "}", "gpu.return", "}"]

    def rounds(self):
        return len(self.tuples) // (LANES if self.form == "vector" else 1)

    def inputs(self):
        return [codes[k] for k in range(len(self.ops[0].operands)) for codes in self.tuples]

    def check(self, got):
        """Lines about wrong results, the first few of each op."""
        count, lines = len(self.tuples), []
        for k, op in enumerate(self.ops):
            wrong = []
            for i, codes in enumerate(self.tuples):
                problem = op.problem(codes, got[k * count + i])
                if problem:
                    operands = ", ".join("%#x (%s)" % (code, scalarops.describe(type, code)) for code, type in zip(codes, op.operands))
                    wrong.append("  of %s: %#x (%s), not %s" % (operands, got[k * count + i], scalarops.describe(op.result, got[k * count + i]), problem))
            if wrong:
                lines.append("%s on %s (%s): %d of %d wrong\n%s" % (op.name, op.operands[0], self.form, len(wrong), count, "\n".join(wrong[:4])))
                if op.name.startswith("chain"):
                    lines[-1] += "\n%s\nrepeat: --chains=1 --seed=%s --form=%s, and the other options" % (op.text, op.name.split()[1], self.form)
        return lines


    def printWorst(self, got):
        count = len(self.tuples)
        for k, op in enumerate(self.ops):
            worst = max(((op.distance(codes, got[k * count + i]), codes) for i, codes in enumerate(self.tuples)), default=None)
            if worst[0]:
                print("%s on %s: %.2f units off, of %s" % (op.name, op.operands[0], worst[0], ", ".join(
                    scalarops.describe(type, code) for code, type in zip(worst[1], op.operands))))


def makeGroups(types, options, form, target):
    groups = []
    for type in types:
        bySignature = {}
        for op in scalarops.opsOf(type, BOUNDS[target]):
            if not re.fullmatch(options.ops, op.name) or ("scalar" in op.needs and form == "vector") or op.needs & options.lacks:
                continue
            bySignature.setdefault(op.operands, []).append(op)
        for ops in bySignature.values():
            for first in range(0, len(ops), PER_KERNEL):
                groups.append(Group(len(groups), ops[first:first + PER_KERNEL], options.most, form, options.random))
    return groups


def makeChains(options, form):
    ops = scalarops.chainable(options.types.split(","))
    if form == "vector":
        ops = {type: [op for op in ops[type] if "scalar" not in op.needs] for type in ops}
    chains = [scalarops.drawChain(random.Random(seed), "chain %d" % seed, ops) for seed in range(options.seed, options.seed + options.chains)]
    for first in range(0, len(chains), PER_PROGRAM):
        yield [Group(i, [chain], options.most, form) for i, chain in enumerate(chains[first:first + PER_PROGRAM])]


def places(groups):
    """Where each group's operands and results lie, and how many there are."""
    result, inputs, outputs = [], 0, 0
    for group in groups:
        result.append((inputs, outputs))
        inputs += len(group.inputs())
        outputs += len(group.ops) * len(group.tuples)
    return result, inputs, outputs


def kernelModule(groups, block=64):
    where, inputs, outputs = places(groups)
    text = ["module attributes {gpu.container_module} {", "gpu.module @k {"]
    for group in groups:
        text += group.kernel()
    text += ["}", "func.func @main(%%hin: memref<%dxi64>, %%hout: memref<%dxi64>) {" % (inputs, outputs),
             "%%din0 = gpu.alloc () : memref<%dxi64>" % inputs, "gpu.memcpy %%din0, %%hin : memref<%dxi64>, memref<%dxi64>" % (inputs, inputs),
             "%%dout0 = gpu.alloc () : memref<%dxi64>" % outputs, "%%din = memref.cast %%din0 : memref<%dxi64> to memref<?xi64>" % inputs,
             "%%dout = memref.cast %%dout0 : memref<%dxi64> to memref<?xi64>" % outputs, "%c1 = arith.constant 1 : index",
             "%%cb = arith.constant %d : index" % block]
    for i, (group, (first, to)) in enumerate(zip(groups, where)):
        for key, number in {"f": first, "t": to, "n": group.rounds(), "g": -(-group.rounds() // block)}.items():
            text.append("%%%s%d = arith.constant %d : index" % (key, i, number))
        text.append("gpu.launch_func @k::@{0} blocks in (%g{1}, %c1, %c1) threads in (%cb, %c1, %c1) args(%din : memref<?xi64>, "
                    "%dout : memref<?xi64>, %f{1} : index, %t{1} : index, %n{1} : index)".format(group.name, i))
    return text + ["gpu.memcpy %%hout, %%dout0 : memref<%dxi64>, memref<%dxi64>" % (outputs, outputs),
                   "gpu.dealloc %%din0 : memref<%dxi64>" % inputs, "gpu.dealloc %%dout0 : memref<%dxi64>" % outputs, "return", "}", "}"]


def hostModule(groups):
    where, inputs, outputs = places(groups)
    text = []
    for group in groups:
        text += ["func.func private @%s(%%in: memref<?xi64>, %%out: memref<?xi64>, %%from: index, %%to: index, %%count: index) {" % group.name,
                 "%zero = arith.constant 0 : index", "%one = arith.constant 1 : index", "scf.for %i = %zero to %count step %one {",
                 *group.loop(), "}", "return", "}"]
    text += ["func.func @main(%%hin: memref<%dxi64>, %%hout: memref<%dxi64>) {" % (inputs, outputs),
             "%%in = memref.cast %%hin : memref<%dxi64> to memref<?xi64>" % inputs, "%%out = memref.cast %%hout : memref<%dxi64> to memref<?xi64>" % outputs]
    for i, (group, (first, to)) in enumerate(zip(groups, where)):
        for key, number in {"f": first, "t": to, "n": group.rounds()}.items():
            text.append("%%%s%d = arith.constant %d : index" % (key, i, number))
        text.append("call @{0}(%in, %out, %f{1}, %t{1}, %n{1}) : (memref<?xi64>, memref<?xi64>, index, index, index) -> ()".format(group.name, i))
    return text + ["return", "}"]


def tensorModule(groups):
    """The operands of a group are parts of one tensor; its results go into parts of another."""
    where, inputs, outputs = places(groups)
    text = ["#id = affine_map<(i) -> (i)>", "func.func @main(%%in: tensor<%dxi64>, %%into: tensor<%dxi64>) -> tensor<%dxi64> {" % (inputs, outputs, outputs)]
    last = "%into"
    for i, (group, (first, to)) in enumerate(zip(groups, where)):
        count, operands, results = len(group.tuples), len(group.ops[0].operands), len(group.ops)
        part = "tensor<%dxi64>" % count
        for k in range(operands):
            text.append("%%x%d_%d = tensor.extract_slice %%in[%d] [%d] [1] : tensor<%dxi64> to %s" % (i, k, first + k * count, count, inputs, part))
        text.append("%%e%d = tensor.empty() : %s" % (i, part))
        text.append("%%y%d:%d = linalg.generic {indexing_maps = [%s], iterator_types = [\"parallel\"]} ins(%s : %s) outs(%s : %s) {" % (
            i, results, ", ".join(["#id"] * (operands + results)), ", ".join("%%x%d_%d" % (i, k) for k in range(operands)),
            ", ".join([part] * operands), ", ".join(["%%e%d" % i] * results), ", ".join([part] * results)))
        text.append("^bb0(%s):" % ", ".join(["%%in%d: i64" % k for k in range(operands)] + ["%%o%d: i64" % k for k in range(results)]))
        text += group.body(["%%in%d" % k for k in range(operands)])
        text += ["linalg.yield %s : %s" % (", ".join("%%r%d_out" % k for k in range(results)), ", ".join(["i64"] * results)),
                 "} -> (%s)" % ", ".join([part] * results)]
        for k in range(results):
            text.append("%%z%d_%d = tensor.insert_slice %%y%d#%d into %s[%d] [%d] [1] : %s into tensor<%dxi64>" % (
                i, k, i, k, last, to + k * count, count, part, outputs))
            last = "%%z%d_%d" % (i, k)
    return text + ["return %s : tensor<%dxi64>" % (last, outputs), "}"]


def readOutput(path, count):
    with open(path, "rb") as file:
        data = file.read()
    return struct.unpack_from("<%dQ" % count, data, 10 + struct.unpack_from("<H", data, 8)[0])


def runProgram(options, text, groups, form):
    """All results, or None where the program failed."""
    _, inputs, outputs = places(groups)
    with tempfile.TemporaryDirectory() as folder:
        file, into, out = (os.path.join(folder, n) for n in ("f.mlir", "in.npy", "out.npy"))
        with open(file, "w") as f:
            f.write(text)
        pipelines = ["--gpu-async-avoid-faults", "--gpu-async-expand-functions"] if options.expand else []
        if options.libdevice:
            pipelines += ["-convert-gpu-to-gpu-async", "-gpu-async-lower-kernels=targets=nvptx:%s libdevice=%s" % (
                options.chip, options.libdevice)]
        if pipelines:
            lowered = os.path.join(folder, "lowered.mlir")
            if subprocess.run([gpuOpt(options), file, *pipelines, "-o", lowered]).returncode:
                return None
            file = lowered
        with open(into, "wb") as f:
            f.write(formats.npy([code for group in groups for code in group.inputs()]))
        outputsAt = ["--output=@" + out] if form == "tensor" else []
        command = [options.gpu_runner, *options.passed, file, "--leak-check=error", "--input=@" + into, "--input=%dxi64" % outputs]
        command += ["--output=", "--output=", "--output=@" + out] if form == "tensor" else ["--output=", "--output=@" + out]
        if form != "host":
            command.append("--device=" + options.device)
        if subprocess.run(command).returncode:
            return None
        return readOutput(out, outputs)


def gpuOpt(options):
    return os.path.join(os.path.dirname(options.gpu_runner), "gpu-opt")


def runPtx(options, text, groups):
    import ptx
    where, inputs, outputs = places(groups)
    with tempfile.TemporaryDirectory() as folder:
        file, lowered = os.path.join(folder, "f.mlir"), os.path.join(folder, "lowered.mlir")
        with open(file, "w") as f:
            f.write(text)
        pipeline = ["-convert-gpu-to-gpu-async", "-gpu-async-lower-kernels=targets=nvptx:%s ptxas=none libdevice=%s" % (
            options.chip, options.libdevice or "none")]
        if subprocess.run([gpuOpt(options), file, *pipeline, "-o", lowered]).returncode:
            return None
        with open(lowered, encoding="latin-1") as f:
            module = ptx.Module(ptx.imageOf(f.read()))
    if options.print_ptx:
        print(module.text)
    memory = ptx.Memory([code for group in groups for code in group.inputs()], outputs)
    for group, (first, to) in zip(groups, where):
        module.run(group.name, memory.arguments() + [first, to, group.rounds()], group.rounds(), memory)
    return memory.outputs()


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_runner")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--chip", default="sm_90")
    parser.add_argument("--form", default="scalar")
    parser.add_argument("--types", default=",".join(scalarops.FLOATS + scalarops.INTEGERS + ("index",)))
    parser.add_argument("--ops", default=".*")
    parser.add_argument("--most", type=int, default=600, help="operands of an op, about")
    parser.add_argument("--random", type=int, default=0, help="random operands of each op besides")
    parser.add_argument("--chains", type=int, default=0, help="in place of single ops")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--expand", action="store_true", help="functions as on a GPU without its vendor's library; with -O0")
    parser.add_argument("--worst", action="store_true", help="print how far off the functions are")
    parser.add_argument("--libdevice", default="", help="of devices by NVIDIA: none, or the toolkit's folder")
    parser.add_argument("--jobs", type=int, default=1, help="programs at once")
    parser.add_argument("--keep", default="", help="folder for programs with wrong results")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--print-ptx", action="store_true")
    options, options.passed = parser.parse_known_args()
    # Without a library there are no functions in double precision.
    options.lacks = frozenset(["f64math"] if options.device == "ptx" or options.libdevice == "none" or options.expand else [])
    return options


def runGroups(options, groups, form):
    """How many results there were, and lines about wrong ones. Where a program fails, each op is tried in one of
    its own."""
    text = "\n".join({"host": hostModule, "tensor": tensorModule}.get(form, kernelModule)(groups)) + "\n"
    if options.print:
        print(text)
        return 0, []
    got = runPtx(options, text, groups) if options.device == "ptx" else runProgram(options, text, groups, form)
    if got is not None:
        lines = [line for group, (_, to) in zip(groups, places(groups)[0]) for line in group.check(got[to:])]
        if lines and options.keep:
            os.makedirs(options.keep, exist_ok=True)
            with open(os.path.join(options.keep, "scalars-%s-%s.mlir" % (form, groups[0].ops[0].name.replace(" ", "-"))), "w") as f:
                f.write(text)
        if options.worst:
            for group, (_, to) in zip(groups, places(groups)[0]):
                group.printWorst(got[to:])
        return sum(len(group.ops) * len(group.tuples) for group in groups), lines
    ops = [op for group in groups for op in group.ops]
    if len(ops) == 1:
        return 0, ["%s on %s (%s): the program failed" % (ops[0].name, ops[0].operands[0], form)]
    alone = [runGroups(options, [Group(0, [op], options.most, form, options.random)], form) for op in ops]
    return sum(count for count, _ in alone), [line for _, lines in alone for line in lines]


def main():
    options, wrong, count = parse(), [], 0
    programs = []
    for form in options.form.split(","):
        target = "host" if form == "host" else "cpu" if options.device == "cpu" else "gpu"
        if options.chains:
            programs += [(groups, form) for groups in makeChains(options, form)]
        else:
            programs += [(makeGroups([type], options, form, target), form) for type in options.types.split(",")]
    with ThreadPoolExecutor(options.jobs) as pool:
        for results, lines in pool.map(lambda program: runGroups(options, *program), [program for program in programs if program[0]]):
            count, wrong = count + results, wrong + lines
    if not options.print:
        print("\n".join(wrong + ["%d results, %d ops wrong" % (count, len(wrong))]))
    sys.exit(1 if wrong else 0)


main()

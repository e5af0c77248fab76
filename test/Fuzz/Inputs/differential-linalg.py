# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random programs of linalg (linalgprograms.py), made kernels of by gpu-async-offload
# for the cpu device, with --check, or with the GPU's schedule, all run on the cpu
# device and compared with NumPy. A program that fails is made smaller and kept with its
# inputs. See docs/reference/Testing.md.
#
#   differential-linalg.py GPU_RUNNER --seed=7 --programs=100
#
# The programs have the seeds 7, 8, ...; --programs=1 runs one of them again.

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np

import fuzzrun
import linalgcalls
import linalgprograms as L
import linalgspecial
from fuzzrun import Failure

# How six batches run in turn: kernels as for the cpu device, the same checked, as for a GPU, as for a
# processor with other vector registers.
HOW = ["cpu", "gpu", "check", "sse2", "gpu", "avx2"]
# Options of gpu-async-offload, for those that are not offloaded by gpu-runner.
OFFLOAD = {"gpu": "device=gpu", "sse2": "device=cpu vector-registers=16 vector-bits=128",
           "avx2": "device=cpu vector-registers=16 vector-bits=256"}
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
         "complex<f32>": np.complex64, "complex<f64>": np.complex128}


def toFile(t, v):
    if t.text == "bf16":
        bits = np.ascontiguousarray(v, dtype=np.float32).view(np.uint32) >> 16
        return bits.astype(np.uint16).view("V2").reshape(v.shape)
    return np.ascontiguousarray(v.astype(NUMPY[t.text])).reshape(v.shape)


def fromFile(t, a):
    if t.text == "bf16":
        bits = np.ascontiguousarray(a).view(np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64).reshape(a.shape)
    return a.astype({"f": np.float64, "i": np.int64, "c": np.complex128}[t.kind])


def moduleText(programs):
    """Of several programs `main` calls all."""
    if len(programs) == 1:
        return programs[0].text("main")
    text, calls, arguments, results = "", "", [], []
    for p in programs:
        text += p.text(private=True)
        names = [("%%%s_%d" % (p.name, i), v.type) for i, (v, _) in enumerate(p.args)]
        if p.form == "memref":
            names += [("%%%s_o%d" % (p.name, i), L.Val("", v.t, v.shape, form="memref").type) for i, v in enumerate(p.results)]
        arguments += names
        made = [] if p.form == "memref" else [("%%%s_r%d" % (p.name, i), v.type) for i, v in enumerate(p.results)]
        calls += "  %s%s @%s(%s) : (%s) -> (%s)\n" % (", ".join(n for n, _ in made), " = call" if made else "call", p.name, ", ".join(n for n, _ in names),
                                                       ", ".join(t for _, t in names), ", ".join(t for _, t in made))
        results += made
    text += "func.func @main(%s) -> (%s) {\n%s" % (", ".join("%s: %s" % a for a in arguments), ", ".join(t for _, t in results), calls)
    return text + "  return%s\n}\n" % (" %s : %s" % (", ".join(n for n, _ in results), ", ".join(t for _, t in results)) if results else "")


def wrong(v, want, got):
    """What differs, as text. The bound is of each element: twice what rounding made of it on its way."""
    got = fromFile(v.t, got)
    if got.shape != want.v.shape:
        return "shape %s, due is %s" % (got.shape, want.v.shape)
    if v.t.kind == "i":
        bad = got != want.v
    elif v.t.special:
        bad = linalgspecial.differs(got, want.v)
    else:
        bound = 2 * np.broadcast_to(want.e, got.shape) + 2 * v.t.unit * np.abs(want.v) * (1 if np.any(want.e) else 0)
        bad = ~(np.abs(got - want.v) <= bound)
    if not np.any(bad):
        return None
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return "%d of %d elements differ; [%s] is %s, due is %s, with an error of at most %s" % (
        np.sum(bad), bad.size, ", ".join(map(str, at)), got[at], want.v[at], np.broadcast_to(want.e, got.shape)[at])


class Runner:
    def __init__(self, options):
        self.options = options
        folder = os.path.dirname(options.gpu_runner)
        self.opt = os.path.join(folder, "gpu-opt") if folder else "gpu-opt"

    def inputs(self, programs):
        """Options of gpu-runner, and the arrays that they name."""
        words, arrays = [], {}
        for p in programs:
            for i, (v, d) in enumerate(p.args):
                if v.form == "number":
                    words.append("--input=%s" % (("true" if d.v else "false") if v.t is L.I1 else d.v))
                else:
                    name = "%s_%d" % (p.name, i)
                    arrays[name] = toFile(v.t, d.v)
                    words.append("--input=@in.npz:" + name)
            if p.form == "memref":
                words += ["--input=%s" % "x".join([str(s) for s in v.shape] + [v.t.text]) for v in p.results]
        return words, arrays

    def outputs(self, programs):
        """(name for gpu-runner, name of the file, program, which result)."""
        argument, result, found = 0, 0, []
        for p in programs:
            first = argument
            argument += len(p.args)
            for i, v in enumerate(p.results):
                if p.form == "memref":
                    found.append(("arg%d" % argument, "%s_r%d" % (p.name, i), p, i))
                    argument += 1
                else:
                    found.append(("result%d" % result, "%s_r%d" % (p.name, i), p, i))
                    result += 1
            # Memory is compared behind the results.
            places = {v.name: first + i for i, (v, _) in enumerate(p.args)}
            for i, v in enumerate(p.memory, len(p.results)):
                found.append(("arg%d" % places[v.name], "%s_r%d" % (p.name, i), p, i))
        return found

    def words(self, how):
        """Of gpu-runner."""
        return ["--device=%s" % self.options.device, "--offload=%s" % ("off" if how in OFFLOAD else "error"), "--timeout=%d" % self.options.timeout, "--leak-check=error"] + ["--check"] * (how == "check")

    def run(self, programs, how):
        """Raises a Failure; `which` are the programs that are wrong."""
        expected = {p: p.run() for p in programs}
        words, arrays = self.inputs(programs)
        outputs = self.outputs(programs)
        with tempfile.TemporaryDirectory() as folder:
            # A result of open sizes is its caller's to free, who is not there in a file that is lowered already.
            isLeft = how in OFFLOAD and any(p.form == "tensor" and any(v.dyn) for p in programs for v in p.results)
            ofLowered = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"} if isLeft else None

            def call(command, environment=None):
                try:
                    done = subprocess.run(command, cwd=folder, env=environment, timeout=4 * self.options.timeout, capture_output=True, text=True, errors="replace")
                except subprocess.TimeoutExpired:
                    raise Failure("hung", "no end after %d s: %s" % (4 * self.options.timeout, command[0]))
                if done.returncode:
                    crashed = done.returncode < 0 or re.search("crash|fault at|Stack dump|PLEASE submit|Assertion", done.stderr)
                    kind = "crashed" if crashed else "hung" if "timed out" in done.stderr else "limit" if isLimit(done.stderr, how) else "refused"
                    raise Failure(kind, "exit code %d of %s\n%s" % (done.returncode, os.path.basename(command[0]), fuzzrun.errors(done.stderr)))
            file = "f.mlir"
            with open(os.path.join(folder, file), "w") as f:
                f.write(moduleText(programs))
            np.savez(os.path.join(folder, "in.npz"), **arrays)
            if how in OFFLOAD:
                call([os.path.abspath(self.opt), file, "--gpu-async-offload=%s offload=error" % OFFLOAD[how], "-o", "offloaded.mlir"])
                file = "offloaded.mlir"
            call([os.path.abspath(self.options.gpu_runner), *self.words(how), file, *words] + ["--output=%s=@%s.npy" % (n, f) for n, f, _, _ in outputs], ofLowered)
            bad, text = [], ""
            for _, name, p, i in outputs:
                if said := wrong((p.results + p.memory)[i], expected[p][i], np.load(os.path.join(folder, name + ".npy"))):
                    bad.append(p)
                    text += "result %d of --seed=%d: %s\n" % (i, p.seed, said)
            if bad:
                raise Failure("wrong", text, [p for p in programs if p in bad])

    def failure(self, programs, how):
        try:
            self.run(programs, how)
        except Failure as failure:
            return failure
        except L.Skip:
            return Failure("skipped", "the reduced program computes nothing that can be compared")
        return None

    def command(self, program, how, folder):
        """Shell commands that show the failure of a program that is kept."""
        words, _ = self.inputs([program])
        expected, tolerance = program.run(), 0.0
        for name, file, _, i in self.outputs([program]):
            if np.any(~np.isfinite(np.asarray(expected[i].v, dtype=np.complex128))):
                continue
            size = np.sqrt(np.sum(np.abs(expected[i].v) ** 2)) or 1.0
            bound = 2 * np.sqrt(np.sum(np.broadcast_to(expected[i].e, expected[i].v.shape) ** 2)) / size
            words.append("--expect=%s=@expected.npz:%s" % (name, file))
            tolerance = max(bound, tolerance)
        words = [*self.words(how), "--tolerance=%.1e" % tolerance] + words
        if how in OFFLOAD:
            return "cd %s && gpu-opt f.mlir --gpu-async-offload='%s offload=error' | gpu-runner - %s" % (folder, OFFLOAD[how], " ".join(words))
        return "cd %s && gpu-runner f.mlir %s" % (folder, " ".join(words))


def isLimit(errors, how):
    """Whether the program is one that Limits.md names: on a GPU, the host works on memory by its address."""
    return how == "gpu" and "takes memory that a kernel touches and that would be on the device" in errors and "extract_aligned_pointer_as_index" in errors


def live(program):
    """Without what no result needs, and without arguments that nothing uses."""
    needed = {v.name for v in program.results + program.memory}
    while True:
        ops, before = [], len(needed)
        for op in reversed(program.ops):
            if op.stays or any(v.name in needed for v in op.outs):
                ops.insert(0, op)
                needed |= op.uses
        # What is written to memory behind an op may matter for it, too.
        if len(needed) == before:
            break
    text = "".join(op.text("") for op in ops)
    program.ops = ops
    program.functions = [f for f in program.functions if re.search(r"@%s\b" % re.search(r"@(\w+)", f)[1], text)]
    program.args = [(v, d) for v, d in program.args if v.name in needed or re.search(re.escape(v.name) + r"\b", text)]
    return program


def minimise(program, still, seconds):
    """One result, the earliest that fails; then ops become arguments as long as it fails."""
    limit = time.time() + seconds

    def attempt(changed):
        return time.time() < limit and still(changed)
    values = [v for op in program.ops for v in op.outs if v.form == program.form and (program.form == "tensor" or not any(v.dyn))]
    for v in values:
        one = program.clone()
        one.results = [v]
        one.memory = []
        if attempt(live(one)):
            program = one
            break
    else:
        for v in list(program.results):
            if len(program.results) > 1:
                fewer = program.clone()
                fewer.results.remove(v)
                if attempt(live(fewer)):
                    program = fewer
    for v in list(program.memory):
        if len(program.results) + len(program.memory) > 1:
            fewer = program.clone()
            fewer.memory.remove(v)
            if attempt(live(fewer)):
                program = fewer
    if program.form == "tensor":
        for op in list(program.ops):
            if all(each is not op for each in program.ops) or any(v.isMemory for v in op.outs):
                continue  # it went with another one, or there is no value in its place
            env = {v.name: d for v, d in program.args}
            try:
                for each in program.ops:
                    each.run(env)
            except L.Skip:
                break
            given = program.clone()
            given.ops = [o for o in program.ops if o is not op]
            given.args = program.args + [(v, env[v.name]) for v in op.outs]
            if len(given.ops) < len(program.ops) and given.ops and attempt(live(given)):
                program = given
    return program


class Check:
    def __init__(self, options):
        self.options, self.runner = options, Runner(options)
        self.failures = self.compared = 0
        self.features = fuzzrun.chosen(options.features, L.FEATURES, L.FEATURES)
        self.kinds = {}

    def make(self, seed):
        """The program of a seed; None if nothing came of it."""
        program = linalgcalls.make(seed, self.features, self.options.size)
        return program if program.results or program.memory else None

    def batch(self, seeds, how):
        if self.failures >= self.options.max_failures:
            return
        with np.errstate(all="ignore"):  # infinities and NaN are drawn
            self.compare(seeds, how)

    def compare(self, seeds, how):
        programs = [p for p in map(self.make, seeds) if p]
        if not programs:
            return
        failure = self.runner.failure(programs, how)
        if not failure:
            self.compared += len(programs)
            return
        found = limits = 0
        for program in programs if len(programs) == 1 else failure.which or programs:
            if self.failures + found < self.options.max_failures:
                alone = self.runner.failure([program], how)
                if alone and alone.kind == "limit":
                    limits += 1
                elif alone:
                    found += 1
                    self.report(program, how, alone)
                else:
                    self.compared += failure.kind == "limit"
        if not found and not limits:
            found = 1
            text = moduleText(programs)
            path = fuzzrun.keep(self.options.keep, "linalg-together-%d.mlir" % seeds[0], "", failure, text)
            print("FAILED (%s) only together: %s --seed=%d --programs=%d --batch=%d --how=%s --size=%d\n%s\nkept: %s" % (
                failure.kind, fuzzrun.fixSchedule(), seeds[0], len(seeds), len(seeds), how, self.options.size, failure.text, path), flush=True)
        self.failures += found

    def report(self, program, how, failure):
        strip = lambda text: re.sub(r"[%@^]?\w*\d+", "", text.split("error:")[-1][:60])

        def still(smaller):
            again = self.runner.failure([smaller], how)
            return again and again.kind == failure.kind and (failure.kind in ("wrong", "hung") or strip(again.text) == strip(failure.text))
        print("FAILED (%s): %s --seed=%d --programs=1 --how=%s --size=%d\n%s" % (failure.kind, fuzzrun.fixSchedule(), program.seed, how, self.options.size, failure.text), flush=True)
        smallest = minimise(program, still, self.options.minimise)
        again = self.runner.failure([smallest], how)
        folder = os.path.join(self.options.keep, "linalg-%d-%s" % (program.seed, how))
        command = self.runner.command(smallest, how, os.path.abspath(folder))
        fuzzrun.keep(folder, "f.mlir", command, again, smallest.text("main"))
        np.savez(os.path.join(folder, "in.npz"), **self.runner.inputs([smallest])[1])
        np.savez(os.path.join(folder, "expected.npz"), **{f: toFile((p.results + p.memory)[i].t, d.v) for (_, f, p, i), d in zip(self.runner.outputs([smallest]), smallest.run())})
        print("smallest program that fails, with its inputs: %s/f.mlir\n%s" % (folder, command), flush=True)


def main():
    parser = argparse.ArgumentParser()
    fuzzrun.addOptions(parser, L.FEATURES, batch=4, size=8, of="programs")
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--how", choices=sorted(set(HOW)), help="kernels for the cpu device, these under --check or for other vector registers, or the GPU's schedule (all, in turn)")
    options = parser.parse_args()
    if options.device != "cpu":
        if options.how:
            parser.error("--how: only on the cpu device; others have one schedule")
        options.how = "device"
    fuzzrun.fixSchedule()
    check, started = Check(options), time.time()
    end = options.seed + options.programs
    batches = [list(range(first, min(first + options.batch, end))) for first in range(options.seed, end, options.batch)]
    if options.print:
        for seeds in batches:
            print(moduleText([p for p in map(check.make, seeds) if p]))
        return
    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(lambda pair: check.batch(pair[1], options.how or HOW[pair[0] % len(HOW)]), enumerate(batches)):
            pass
    print("differential-linalg: --seed=%d --programs=%d: %d programs equal, %d failed, %.0f s"
          % (options.seed, options.programs, check.compared, check.failures, time.time() - started))
    sys.exit(1 if check.failures else 0)


main()

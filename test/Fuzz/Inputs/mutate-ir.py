# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Feeds changed IR to gpu-opt: the tests' files with lines and words deleted, doubled,
# exchanged and replaced. gpu-opt must neither crash nor hang, and must either print
# a module that verifies (in runtime form without an op of gpu or gpu_async) or say
# at a place of the file what is wrong. See docs/reference/Testing.md.
#
#   mutate-ir.py GPU_OPT --seed=7 --mutants=1000
#
# Several mutants go into one process; the one that fails is run again alone, made
# smaller and kept. The mutants of --seed=7 are always the same.

import argparse
import glob
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

SPLIT = "// -----"
NUMBERS = ["0", "1", "-1", "2", "3", "7", "32", "64", "1000", "2147483647", "9223372036854775807"]
TYPES = ["i1", "i8", "i32", "i64", "f16", "f32", "f64", "index", "i128", "memref<4xf32>", "memref<?xf32>", "memref<?xf32, 1>",
         "memref<4xf32, strided<[?], offset: ?>>", "memref<*xf32>", "memref<f32>", "memref<0xi32>", "vector<4xf32>",
         "tensor<4xf32>", "!llvm.ptr", "!gpu_async.token", "!gpu_async.stream", "!gpu_async.event", "!gpu.async.token",
         "!async.token", "tuple<i32>", "none", "complex<f32>"]
TYPE = re.compile(r"memref<[^<>]*(?:<[^<>]*>[^<>]*)*>|![\w.]+|\b(?:i\d+|f\d+|index)\b")
VALUE = re.compile(r"%[\w$.-]+")
OP_LEFT = re.compile(r"^\s*(?:%[^=]*= )?\"?(?:gpu|gpu_async)\.(?!binary\b)[\w.]+", re.M)


def readSeeds(folder):
    """The modules of the tests, without comments; and all their lines."""
    seeds = []
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.mlir"), recursive=True)):
        with open(path, encoding="utf-8", errors="replace") as file:
            for part in file.read().split(SPLIT):
                # Locations of the file's own would hide ours.
                part = re.sub(r" loc\([^()]*\)", "", part)
                lines = [l for l in part.splitlines() if l.strip() and not l.lstrip().startswith("//")]
                if lines and len(lines) < 400:
                    seeds.append(lines)
    return seeds


class Mutator:
    def __init__(self, rng, seeds):
        self.rng, self.seeds = rng, seeds
        self.kinds = [self.deleteLine, self.doubleLine, self.exchangeLines, self.moveLine, self.otherValue,
                      self.otherValue, self.otherValue, self.exchangeValues, self.otherNumber, self.otherType, self.otherTypes,
                      self.deleteWord, self.deleteRegion, self.foreignLine, self.wrap, self.toggleAsync,
                      self.otherDialect, self.deleteDependency, self.otherSymbol, self.deleteAttribute]

    def mutant(self):
        lines = list(self.rng.choice(self.seeds))
        for _ in range(self.rng.choice([0, 1, 1, 1, 1, 2, 3])):
            self.rng.choice(self.kinds)(lines)
        return lines or ["module {", "}"]

    def at(self, lines, condition=lambda l: True):
        places = [i for i, l in enumerate(lines) if condition(l)]
        return self.rng.choice(places) if places else None

    def plain(self, line):
        """A line that opens and closes nothing."""
        return line.count("{") == line.count("}") and not line.lstrip().startswith("}")

    def deleteLine(self, lines):
        i = self.at(lines, self.plain)
        if i is not None:
            del lines[i]

    def doubleLine(self, lines):
        i = self.at(lines, self.plain)
        if i is not None:
            copy = lines[i]
            made = re.match(r"\s*(%[\w, %:]+?) = ", copy)
            if made and self.rng.random() < 0.9:
                for name in VALUE.findall(made.group(1)):
                    copy = re.sub(re.escape(name) + r"(?![\w$.-])", name + "_2", copy, count=1)
            lines.insert(i + 1, copy)

    def exchangeLines(self, lines):
        i, j = self.at(lines, self.plain), self.at(lines, self.plain)
        if i is not None:
            lines[i], lines[j] = lines[j], lines[i]

    def moveLine(self, lines):
        i = self.at(lines, self.plain)
        if i is not None:
            line = lines.pop(i)
            lines.insert(self.rng.randint(max(0, i - 6), min(len(lines), i + 6)), line)

    def replace(self, lines, pattern, choose):
        i = self.at(lines, pattern.search)
        if i is None:
            return
        match = self.rng.choice(list(pattern.finditer(lines[i])))
        lines[i] = lines[i][:match.start()] + choose(match.group(0)) + lines[i][match.end():]

    def otherValue(self, lines):
        values = VALUE.findall("\n".join(lines))
        if values:
            self.replace(lines, VALUE, lambda old: self.rng.choice(values))

    def exchangeValues(self, lines):
        i = self.at(lines, lambda l: len(VALUE.findall(l)) > 1)
        if i is not None:
            a, b = self.rng.sample(list(VALUE.finditer(lines[i])), 2)
            a, b = sorted((a, b), key=lambda m: m.start())
            l = lines[i]
            lines[i] = l[:a.start()] + b.group(0) + l[a.end():b.start()] + a.group(0) + l[b.end():]

    def otherNumber(self, lines):
        self.replace(lines, re.compile(r"(?<![\w%#@.])-?\d+(?![\w.])"), lambda old: self.rng.choice(NUMBERS))

    def otherType(self, lines):
        self.replace(lines, TYPE, lambda old: self.rng.choice(TYPES))

    def otherTypes(self, lines):
        """One type everywhere: more often still right."""
        found = TYPE.findall("\n".join(lines))
        if found:
            old, new = self.rng.choice(found), self.rng.choice(TYPES)
            lines[:] = [l.replace(old, new) for l in lines]

    def deleteWord(self, lines):
        self.replace(lines, re.compile(r"[\w.%@!]+|[\[\](){},:]"), lambda old: "")

    def deleteRegion(self, lines):
        i = self.at(lines, lambda l: l.rstrip().endswith("{"))
        if i is None:
            return
        depth = 0
        for j in range(i, len(lines)):
            depth += lines[j].count("{") - lines[j].count("}")
            if depth <= 0:
                del lines[i if self.rng.random() < 0.5 else i + 1:j + 1 if self.rng.random() < 0.5 else j]
                return

    def foreignLine(self, lines):
        other = self.rng.choice(self.seeds)
        i, j = self.at(lines), self.at(other, self.plain)
        if i is not None and j is not None:
            line, values = other[j], VALUE.findall("\n".join(lines))
            made = re.match(r"\s*%[\w, %:]+? = ", line)
            start = made.end() if made else 0
            if values:
                line = line[:start] + VALUE.sub(lambda m: self.rng.choice(values), line[start:])
            lines.insert(i, line)

    def wrap(self, lines):
        i = self.at(lines, self.plain)
        if i is None:
            return
        head = self.rng.choice([["scf.execute_region {"], ["%wt = arith.constant true", "scf.if %wt {"],
                                ["%w0 = arith.constant 0 : index", "%w1 = arith.constant 1 : index", "scf.for %wi = %w0 to %w1 step %w1 {"],
                                ["func.func @wrapped() {"], ["module {"], ["gpu.module @wrapped {"]])
        j = min(len(lines), i + self.rng.randint(1, 4))
        end = ["scf.yield", "}"] if head[-1].startswith("scf.execute") else ["return", "}"] if "func" in head[-1] else ["}"]
        lines[i:j] = head + lines[i:j] + end

    def toggleAsync(self, lines):
        pattern = re.compile(r"\b(gpu|gpu_async)\.\w+( async)?")
        self.replace(lines, pattern, lambda old: old[:-6] if old.endswith(" async") else old + " async")

    def otherDialect(self, lines):
        def change(old):
            return "gpu." if old == "gpu_async." else "gpu_async."
        if self.rng.random() < 0.5:
            self.replace(lines, re.compile(r"\bgpu_async\.|\bgpu\."), change)
        else:
            lines[:] = [re.sub(r"\bgpu_async\.|\bgpu\.(?!module|func|return|thread|block|launch\b)", lambda m: change(m.group(0)), l) for l in lines]

    def deleteDependency(self, lines):
        self.replace(lines, re.compile(r" \[%[^\]]*\]|, %[\w$-]+(?=[\],])"), lambda old: "")

    def otherSymbol(self, lines):
        symbols = re.findall(r"@[\w$]+", "\n".join(lines))
        if symbols:
            self.replace(lines, re.compile(r"@[\w$]+"), lambda old: self.rng.choice(symbols))

    def deleteAttribute(self, lines):
        self.replace(lines, re.compile(r"\{[^{}]*=[^{}]*\}|\b(?:idle|cooperative|host_shared|private|kernel)\b"), lambda old: "")


def passLists(gpuOpt):
    """Arguments of gpu-opt, with how often to take them; new passes come by themselves."""
    text = subprocess.run([gpuOpt, "--help"], capture_output=True, text=True).stdout
    names = sorted(set(re.findall(r"^ +--((?:gpu-async|convert-gpu-async|convert-gpu-to-gpu-async|lower-kernels)[\w-]*)", text, re.M)))
    single = [["--" + n] for n in names if n not in ("gpu-async-pipeline", "gpu-async-verify-form", "gpu-async-verify-between")]
    single += [["--gpu-async-verify-form=form=" + f] for f in ("token", "linear", "stream") if "gpu-async-verify-form" in names]
    pipeline = [["--gpu-async-pipeline=targets=cpu on-error=status"], ["--gpu-async-pipeline=targets=cpu max-streams=1"]]
    steps = ["--convert-gpu-to-gpu-async"]
    if "gpu-async-infer-dependencies" in names:
        steps.append("--gpu-async-infer-dependencies")
    chain = [steps, steps + ["--gpu-async-make-forks-explicit"], steps + ["--gpu-async-make-forks-explicit", "--gpu-async-assign-streams"]]
    return pipeline * 6 + chain * 2 + single + [["--canonicalize", "--cse"], []]


def crashesInUpstreamsReading(stderr):
    """Whether no code of ours ran: upstream's parsers and verifiers read freed operands and blocks."""
    if "error: redefinition of block '" in stderr:
        return True  # it frees the block and goes on: mlir-opt crashes as well, at whatever comes next
    frames = re.findall(r"^\s*#?\d+ .*", stderr, re.M)
    reading = next((i for i, f in enumerate(frames) if "parseAsmSourceFile" in f), 0)
    return reading > 0 and not any(re.search("gpu-opt|gpu_?async", f) for f in frames[:reading])


class Opt:
    def __init__(self, options):
        self.options, self.good = options, 0

    def corruptsInReading(self, text):
        """Whether reading alone ends the process. Of an scf.index_switch with an error in a region upstream's parser
        frees a block that others have a part in; what crashes then is whoever allocates next."""
        if "scf.index_switch" not in text:
            return False
        command = [self.options.gpu_opt, "--mlir-disable-threading", "--split-input-file", "--output-split-marker=" + SPLIT, "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", timeout=self.options.timeout * 10)
        return done.returncode not in (0, 1)

    def run(self, mutants, passes):
        """What is wrong, as (number of the mutant or None, what)."""
        text, starts = [], []
        for lines in mutants:
            starts.append(len(text) + 1)
            text += lines + [SPLIT]
        text = "\n".join(text[:-1]) + "\n"
        command = [self.options.gpu_opt, "--mlir-disable-threading", "--split-input-file", "--output-split-marker=" + SPLIT] + passes + ["-"]
        environment = dict(os.environ, LLVM_DISABLE_SYMBOLIZATION="1")
        try:
            done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, errors="replace",
                                  timeout=self.options.timeout + len(mutants) / 2)
        except subprocess.TimeoutExpired:
            return [(None, "hangs")]
        if done.returncode not in (0, 1):
            if crashesInUpstreamsReading(done.stderr) or self.corruptsInReading(text):
                return self.runEach(mutants, passes)
            return [(None, "crashes: exit code %d\n%s" % (done.returncode, done.stderr[-1500:]))]
        said = [False] * len(mutants)
        # Of an argument that is there twice upstream's parser says the place by its freed name.
        lost = re.compile(r"^.*error: region entry argument '(?!%)", re.M)
        unplaced = len(lost.findall(done.stderr))
        for line in re.findall(r"^(?:<stdin>|within split at <stdin>:(\d+) offset ):(\d+):\d+: error:", lost.sub("", done.stderr), re.M):
            # The split's line is that of the marker, where the part begins.
            where = int(line[0]) + 1 if line[0] else int(line[1])
            number = max((i for i, s in enumerate(starts) if s <= where), default=0)
            said[number] = True
        outputs = done.stdout.split(SPLIT + "\n")
        wrong = []
        if len(outputs) != len(mutants):
            return [(None, "prints %d modules of %d" % (len(outputs), len(mutants)))]
        failed = False
        for i, output in enumerate(outputs):
            if not output.strip():
                failed = True
                if not said[i] and unplaced:
                    unplaced -= 1
                elif not said[i]:
                    wrong.append((i, "fails without an error at a place of the file:\n" + (done.stderr[-1500:] if len(mutants) == 1 else "")))
            elif said[i]:
                wrong.append((i, "succeeds although it reports an error:\n" + (done.stderr[-1500:] if len(mutants) == 1 else "")))
            elif "pipeline" in " ".join(passes) and OP_LEFT.search(output):
                wrong.append((i, "leaves ops: " + OP_LEFT.search(output).group(0).strip()))
        if failed != (done.returncode == 1):
            wrong.append((None, "exit code %d, but %s" % (done.returncode, "a module is missing" if failed else "all modules are there")))
        if not wrong and passes:
            good = [o for o in outputs if o.strip()]
            again = subprocess.run([self.options.gpu_opt, "--mlir-disable-threading", "--split-input-file", "-o", os.devnull, "-"],
                                   input=(SPLIT + "\n").join(good), capture_output=True, text=True, errors="replace") if good else None
            if again and again.returncode:
                wrong.append((None, "its output does not parse: " + again.stderr[:1000]))
        self.good = sum(1 for o in outputs if o.strip())
        return wrong

    def runEach(self, mutants, passes):
        """As run, without those that upstream crashes at reading."""
        if len(mutants) == 1:
            self.good = 0
            return []
        wrong, good = [], 0
        for i, mutant in enumerate(mutants):
            wrong += [(i, what) for _, what in self.run([mutant], passes)]
            good += self.good
        self.good = good
        return wrong


def smaller(opt, lines, passes, kind, seconds):
    limit, length = time.time() + seconds, max(1, len(lines) // 2)
    while length and time.time() < limit:
        i = 0
        while i < len(lines) and time.time() < limit:
            less = lines[:i] + lines[i + length:]
            wrong = opt.run([less], passes) if any(l.strip() for l in less) else []
            if wrong and wrong[0][1].split(":")[0] == kind:
                lines = less
            else:
                i += length
        length //= 2
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_opt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=20, help="mutants in a process")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=30)
    parser.add_argument("--minimise", type=int, default=30, help="seconds for making a failure smaller")
    parser.add_argument("--max-failures", type=int, default=5)
    parser.add_argument("--keep", default="fuzz-failures", help="folder of what failed")
    options = parser.parse_args()
    tests = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    seeds, lists = readSeeds(tests), passLists(options.gpu_opt)
    failures, counts, known = [], [0, 0], set()

    def one(number):
        if len(failures) >= options.max_failures:
            return
        rng, opt = random.Random(options.seed * 1000003 + number), Opt(options)
        mutator = Mutator(rng, seeds)
        mutants = [mutator.mutant() for _ in range(min(options.batch, options.mutants - number * options.batch))]
        passes = rng.choice(lists)
        wrong = opt.run(mutants, passes)
        counts[0] += len(mutants)
        if not wrong:
            counts[1] += opt.good
            return
        # One of them alone; or, of what only happens together, nothing smaller.
        culprits = []
        for i in sorted({i for i, _ in wrong if i is not None}) or range(len(mutants)):
            alone = opt.run([mutants[i]], passes)
            if alone:
                culprits.append((mutants[i], alone[0][1]))
        for lines, what in culprits or [(sum([m + [SPLIT] for m in mutants], []), wrong[0][1])]:
            kind = what.split(":")[0]
            if culprits:
                lines = smaller(opt, lines, passes, kind, options.minimise)
                what = (opt.run([lines], passes) or [(0, what)])[0][1]
            # The same again is not news.
            key = (kind, tuple(passes), re.sub(r"\d+|0x\w+", "", what)[:200])
            if key in known:
                continue
            known.add(key)
            os.makedirs(options.keep, exist_ok=True)
            path = os.path.join(options.keep, "ir-%d-%d.mlir" % (options.seed, len(known)))
            with open(path, "w") as file:
                file.write("// gpu-opt %s %s\n// %s\n" % (" ".join("'%s'" % p for p in passes), os.path.basename(path), kind))
                file.write("\n".join(lines) + "\n")
            print("FAILED: gpu-opt %s %s\n%s" % (" ".join("'%s'" % p for p in passes), path, what), flush=True)
            failures.append(path)

    started = time.time()
    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(one, range((options.mutants + options.batch - 1) // options.batch)):
            pass
    print("mutate-ir: --seed=%d --mutants=%d: %d run, %d of them accepted, %d failures, %.0f s"
          % (options.seed, options.mutants, counts[0], counts[1], len(failures), time.time() - started))
    sys.exit(1 if failures else 0)


main()

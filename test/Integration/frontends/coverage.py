#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of the operations of JAX and of the torch dialect gets through, by values.

    coverage.py --package=jax|torch [--runner=gpu-runner] [--cut=gpu] [--group=A,B]
                [--only=REGEX] [--check=PAGE | --write=PAGE] [--processes=N]

Each case of Inputs/PACKAGE_ops.py goes through frontends/lower_PACKAGE.py and
gpu-runner --device=cpu, and is compared with JAX (in f64 where its type is not the
point) or NumPy. A line a case: through, on the host where a loop or linalg op is left
there, refused with the first line of the error, wrong, or crash. The exit code is 1
if one is wrong or crashes. --check compares the refused ones with the table of a page,
and --write writes it. --group and --only run some of the cases. --cut=gpu cuts kernels
as for a GPU. It needs jax, or torch-mlir (PyTorch is not needed), and numpy.
"""

import argparse
import collections
import importlib
import multiprocessing
import multiprocessing.connection
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
TIMEOUT = 120
TINY = 2.4e-38  # JAX has no denormal numbers on the CPU

Outcome = collections.namedtuple("Outcome", "kind text")  # through, on the host, refused, wrong, crash


def first_line(text):
    """The first line of an error that says something, without what differs from place to place."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("Failure while executing pass pipeline")] or [
        "no message"
    ]
    line = re.sub(r"^error: ", "", lines[0])
    # Where in the file of this case, and in which temporary file.
    line = re.sub(r"^(gpu-runner: )?(\S*\.mlir|<[^>]*>|-):\d+:\d+: (error: )?", "", line)
    line = re.sub(r'(?:"[^"]*"\()?callsite\(.*?\)+: ', "", line)
    line = re.sub(r"^(gpu-runner|lower_jax|lower_torch): (error: )?", "", line)
    line = re.sub(r"^(error: )", "", line)
    # And where in the program that is lowered.
    line = re.sub(r" at \w+\.py:\d+", " at FILE:LINE", line)
    return re.sub(r" at line \d+", " at line N", line)


class Worker:
    """In a process of its own: one case after the other."""

    def __init__(self, package, runner, cut):
        sys.path[:0] = [os.path.join(HERE, "Inputs"), os.path.join(ROOT, "python", "gpu_async")]
        self.package, self.runner, self.cut = package, runner, cut
        self.ops = importlib.import_module(package + "_ops")
        self.lower = importlib.import_module("frontends.lower_" + package)
        self.folder = tempfile.TemporaryDirectory()

    def run(self, number):
        import numpy as np

        case = self.ops.CASES[number]
        try:
            text = self.lower_case(case)
        except Exception as error:  # pylint: disable=broad-except
            return Outcome(
                "refused",
                first_line(
                    str(error)
                    if isinstance(error, (ValueError, SystemExit)) or "MLIRError" in type(error).__name__
                    else "%s: %s" % (type(error).__name__, error)
                ),
            )
        references = [np.asarray(each) for each in self.reference(case)]
        path = lambda name: os.path.join(self.folder.name, name)
        with open(path("program.mlir"), "w") as file:
            file.write(text)
        command = [
            self.runner,
            path("program.mlir"),
            "--device=cpu",
            "-O0",
            "--cache=off",
            "--timeout=%d" % (TIMEOUT // 2),
        ]
        if self.cut == "gpu":
            cut = subprocess.run(
                [
                    self.runner.replace("gpu-runner", "gpu-opt"),
                    path("program.mlir"),
                    "--gpu-async-offload=device=gpu",
                    "-o",
                    path("cut.mlir"),
                ],
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
            )
            if cut.returncode:
                return Outcome("crash" if cut.returncode < 0 else "refused", first_line(cut.stderr))
            command[1] = path("cut.mlir")
        for place, value in enumerate(case.inputs):
            value = np.asarray(value)
            np.save(
                path("in%d.npy" % place),
                np.ascontiguousarray(value.view("V2") if value.dtype.name == "bfloat16" else value).reshape(
                    value.shape
                ),
            )
            command.append("--input=@" + path("in%d.npy" % place))
        command += ["--output=result%d=@%s" % (place, path("out%d.npy" % place)) for place in range(len(references))]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        if ran.returncode < 0 or "PLEASE submit a bug report" in ran.stderr or "internal error" in ran.stderr:
            return Outcome("crash", "gpu-runner ended with %d: %s" % (ran.returncode, first_line(ran.stderr)))
        if ran.returncode:
            return Outcome("refused", "gpu-runner: " + first_line(ran.stderr))
        for place, reference in enumerate(references):
            got = np.load(path("out%d.npy" % place))
            text = self.compare(case, got, reference, place)
            if text:
                return Outcome("wrong", text)
        return Outcome("on the host" if "remark:" in ran.stderr and "host" in ran.stderr else "through", "")

    def lower_case(self, case):
        if self.package == "torch":
            return self.lower.lower(case.text, gpu=self.cut == "gpu")
        import jax
        import numpy as np

        shapes = [jax.ShapeDtypeStruct(np.shape(each), np.asarray(each).dtype) for each in case.inputs]
        if case.dynamic:
            scope = jax.export.SymbolicScope()
            shapes = [
                jax.ShapeDtypeStruct(jax.export.symbolic_shape(sizes, scope=scope), each.dtype)
                for each, sizes in zip(shapes, case.dynamic.split(";"))
            ]
        with jax.enable_x64(any(each.dtype in (np.int64, np.float64) for each in shapes)):
            return self.lower.lower(self.lower.trace(case.function, shapes), gpu=self.cut == "gpu")

    def reference(self, case):
        if self.package == "torch":
            return case.reference(*case.inputs)
        import jax
        import numpy as np

        wide = {"float32": np.float64, "float16": np.float64, "bfloat16": np.float64, "complex64": np.complex128}
        inputs = list(map(np.asarray, case.inputs))
        isWide = any(each.dtype in (np.int64, np.float64) for each in inputs)
        with jax.enable_x64(isWide):
            # What is right of f32's is not more than f32 has.
            self.types = [each.dtype for each in jax.tree.leaves(jax.eval_shape(case.function, *inputs))]
        isExact = case.exact or not any(each.dtype.name in wide for each in inputs)
        if not isExact:
            inputs = [each.astype(wide.get(each.dtype.name, each.dtype)) for each in inputs]
        with jax.enable_x64(isWide or not isExact):
            return jax.tree.leaves(jax.jit(case.function)(*inputs))

    def compare(self, case, got, reference, place):
        """What is wrong with a result; nothing if it is right."""
        import numpy as np

        wanted = self.types[place] if self.package == "jax" else reference.dtype
        if wanted.name == "bfloat16":
            got = got.view("uint16").astype(np.uint32) << 16
            got = np.asarray(got).reshape(np.shape(got) or (1,)).view(np.float32).reshape(np.shape(got))
        elif got.dtype != wanted and got.dtype.itemsize == wanted.itemsize and got.dtype.kind in "iu":
            got = got.view(wanted)
        if got.shape != reference.shape:
            return "result %d is of the shape %s, not %s" % (place, got.shape, reference.shape)
        if wanted.kind in "iub":
            reference = reference.astype(wanted)
            bad = got != reference
        else:
            tolerance = case.tolerance * {"float64": 1e-14, "float16": 2e-3, "bfloat16": 1.6e-2}.get(
                wanted.name, 1e-6 if self.package == "jax" else 4e-6
            )
            kind = np.complex128 if wanted.kind == "c" else np.float64
            with np.errstate(over="ignore", invalid="ignore"):
                got = got.astype(kind)
                reference = reference.astype(wanted).astype(kind)
                finite = np.abs(reference[np.isfinite(reference)])
                scale = min(finite.max(), 1e3 * np.median(finite)) if finite.size else 0
                bad = ~(
                    (got == reference)
                    | (np.isnan(got) & np.isnan(reference))
                    | (
                        np.abs(got - reference)
                        <= tolerance * (np.abs(reference) + scale * (not case.exact and not case.special)) + TINY
                    )
                )
        if not bad.any():
            return None
        at = tuple(map(int, np.argwhere(bad)[0]))
        return "result %d has %d wrong of %d, the first at %s: %s, expected %s" % (
            place,
            bad.sum(),
            bad.size,
            list(at),
            got[at],
            reference[at],
        )


def serve(pipe, package, runner, cut):
    with open(os.devnull, "w") as null:  # what the packages' passes print
        os.dup2(null.fileno(), 2)
    worker = Worker(package, runner, cut)
    while True:
        number = pipe.recv()
        try:
            pipe.send(worker.run(number))
        except Exception as error:  # pylint: disable=broad-except
            pipe.send(Outcome("crash", "%s: %s" % (type(error).__name__, first_line(str(error)))))


def run_all(numbers, count, *arguments):
    """Outcomes by number; a process that a case takes with it is made again."""
    context = multiprocessing.get_context("spawn")
    waiting, busy, outcomes = collections.deque(numbers), {}, {}

    def start():
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, *arguments), daemon=True)
        process.start()
        there.close()
        return process, here

    idle = [start() for _ in range(count)]
    while waiting or busy:
        while waiting and idle:
            process, pipe = idle.pop()
            busy[pipe] = process, waiting.popleft()
            pipe.send(busy[pipe][1])
        for pipe in multiprocessing.connection.wait(list(busy)):
            process, number = busy.pop(pipe)
            try:
                outcomes[number] = pipe.recv()
                idle.append((process, pipe))
            except EOFError:
                process.join()
                outcomes[number] = Outcome("crash", "the lowering's process ended with %d" % process.exitcode)
                idle.append(start())
            yield number, outcomes[number]
    for process, _ in idle:
        process.terminate()


def table(cases, outcomes):
    """The page's lines: the refused ones, those of one error together."""
    rows = collections.OrderedDict()
    for number in sorted(outcomes):
        if outcomes[number].kind == "refused":
            rows.setdefault(outcomes[number].text, []).append(cases[number].name)
    return ["| operation | error |", "|---|---|"] + [
        "| %s | %s |" % (", ".join("`%s`" % name for name in names), text.replace("|", "\\|"))
        for text, names in rows.items()
    ]


def differences(page, cases, outcomes):
    """What is not so that the page's lines say."""
    listed = {}
    for line in page.splitlines()[2:]:
        names, text = line.strip("| ").split(" | ", 1)
        listed.update((name, text.replace("\\|", "|")) for name in re.findall(r"`([^`]*)`", names))
    for name in set(listed) - {case.name for case in cases}:
        yield "%s is no case" % name
    for number, outcome in sorted(outcomes.items()):
        name, text = cases[number].name, outcome.text if outcome.kind == "refused" else None
        if listed.get(name) != text:
            yield "%s: the page says %s, and here it %s" % (
                name,
                listed.get(name, "nothing"),
                "is refused: " + text if text else "gets through",
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", choices=("jax", "torch"), required=True)
    parser.add_argument("--runner", default="gpu-runner")
    parser.add_argument("--cut", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--group")
    parser.add_argument("--only", default="")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--check")
    parser.add_argument("--write")
    options = parser.parse_args()
    if options.write and (options.group or options.only):
        parser.error("--write wants all cases")
    sys.path.insert(0, os.path.join(HERE, "Inputs"))
    cases = importlib.import_module(options.package + "_ops").CASES
    numbers = [
        number
        for number, case in enumerate(cases)
        if re.search(options.only, case.name) and (not options.group or case.group in options.group.split(","))
    ]
    outcomes = {}
    for number, outcome in run_all(numbers, options.processes, options.package, options.runner, options.cut):
        outcomes[number] = outcome
        print("%-14s %s%s" % (outcome.kind, cases[number].name, outcome.text and ": " + outcome.text), flush=True)
    counts = collections.Counter(outcome.kind for outcome in outcomes.values())
    print(
        "%s: %d cases, %s"
        % (options.package, len(outcomes), ", ".join("%d %s" % (count, kind) for kind, count in sorted(counts.items())))
    )
    code = 1 if counts["wrong"] or counts["crash"] else 0
    begin, end = ("<!-- %s of coverage.py --package=%s -->\n" % (what, options.package) for what in ("begin", "end"))
    for path in filter(None, (options.check, options.write)):
        with open(path) as file:
            page = file.read()
        before, rest = page.split(begin)
        old, after = rest.split(end)
        if path == options.write:
            with open(path, "w") as file:
                file.write(before + begin + "".join(line + "\n" for line in table(cases, outcomes)) + end + after)
            continue
        for line in differences(old, cases, outcomes):
            print("%s: %s" % (os.path.basename(path), line))
            code = 1
    sys.exit(code)


if __name__ == "__main__":
    main()

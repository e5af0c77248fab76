# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random kernels (kerneldraw.py), run by gpu-runner and compared, bit for bit, with what
# Python computes (kerneloracle.py). A kernel that fails is made as small as it gets and
# kept. See docs/reference/Testing.md.
#
#   differential-kernels.py GPU_RUNNER --seed=7 --kernels=100
#
# The kernels have the seeds 7, 8, ...; --kernels=1 runs one of them again.

import argparse
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "..", "Inputs")]
import fuzzrun
import kernelast as A
import kerneldraw as D
from fuzzrun import Failure


class Runner:
    def __init__(self, options):
        self.options = options

    def features(self):
        # A thread that leaves before a barrier is what --check reports. GPUs refuse reductions that they cannot
        # prove uniform, or to be of whole subgroups.
        gpu = self.options.device != "cpu"
        default = set(D.FEATURES) - ({"stray"} if self.options.check else set()) - ({"stray", "reduce"} if gpu else set())
        chosen = fuzzrun.chosen(self.options.features, D.FEATURES, default)
        return chosen - {"subgroup", "tiny", "broadcast", "absent", "aliases"} if gpu else chosen

    def command(self, opt, file, size, out):
        return [self.options.gpu_runner, "--device=" + self.options.device, "--timeout=%d" % self.options.timeout,
                "--leak-check=error", "--cache=off"] + ["--check"] * self.options.check + [opt, file, "--input=%dxi32=0" % size, "--output=@" + out]

    def run(self, kernels, opt):
        text, bases, size = D.moduleText(kernels)
        got = fuzzrun.run(text, size, 2 * self.options.timeout, lambda file, out: self.command(opt, file, size, out))
        wrong, text = [], []
        for kernel, base in zip(kernels, bases):
            expected = D.expected(kernel)
            mine = got[base:base + kernel.cells]
            bad = [i for i in range(kernel.cells) if expected[i] != mine[i]]
            if bad:
                wrong.append(kernel)
                text.append("%s, %d threads in %s blocks of %s: %d of %d cells differ: %s" % (
                    kernel.name, kernel.total, kernel.grid, kernel.dims, len(bad), kernel.cells,
                    ", ".join("[%d] is %d, expected %d" % (i, mine[i], expected[i]) for i in bad[:6])))
        if wrong:
            raise Failure("wrong", "\n".join(text[:5]), wrong)

    def failure(self, kernels, opt):
        try:
            self.run(kernels, opt)
        except Failure as failure:
            return failure
        return None


def allBodies(kernel):
    """With the loop or branch that each belongs to."""
    def of(body):
        yield body
        for statement in body.statements:
            for inner in statement.bodies:
                yield from of(inner)

    for function in kernel.functions + [kernel]:
        yield from of(function.body)


def minimise(kernel, still, seconds):
    """Drops statements while the kernel is right and still fails. Zeros stand for
    their results."""
    limit = time.time() + seconds

    def results(statements):
        for statement in statements:
            yield from statement.results

    def attempt(body, start, length, replacement=()):
        dropped = body.statements[start:start + length]
        if any(s.keeps() for s in dropped) and not replacement:
            return False
        body.statements[start:start + length] = replacement
        for value in results(dropped):
            value.gone = True
        try:
            if still():
                return True
        except (D.Invalid, D.TooLong, AssertionError, ArithmeticError, NameError, TypeError):
            pass
        for value in results(dropped):
            value.gone = False
        body.statements[start:start + len(replacement)] = dropped
        return False

    def smaller():
        changed = False
        for body in list(allBodies(kernel)):
            length = max(1, len(body.statements) // 2)
            while length and time.time() < limit:
                i = len(body.statements) - length
                while i >= 0 and time.time() < limit:
                    changed |= attempt(body, i, length)
                    i -= length
                length //= 2
            # The inside of a branch, in place of the branch.
            for i, statement in reversed(list(enumerate(body.statements))):
                if time.time() < limit and isinstance(statement, (A.If, A.Switch, A.Region)) and not statement.keeps():
                    for inner in statement.bodies:
                        if attempt(body, i, 1, inner.statements):
                            changed = True
                            break
        # What loops and branches carry.
        for body in list(allBodies(kernel)):
            for statement in body.statements:
                changed |= time.time() < limit and dropCarried(statement, still)
        kernel.functions = [f for f in kernel.functions if any(
            isinstance(s, A.Call) and s.function is f for g in kernel.functions + [kernel] for s in A.walk(g.body))]
        return changed

    while time.time() < limit and smaller():
        pass


def dropCarried(statement, still):
    """One of the values that a loop or branch carries."""
    if any(isinstance(s, A.Leave) for b in statement.bodies for s in A.walk(b)):
        return False
    changed = False
    for i in reversed(range(len(statement.results))):
        if "memref" in statement.results[i].type or "ptr" in statement.results[i].type or isinstance(statement, (A.While, A.Call)):
            continue
        if isinstance(statement, A.For):
            lists = [(statement.operands, 3 + i), (statement.bodies[0].arguments, 1 + i), (statement.bodies[0].yields, i)]
            gone = [statement.results[i], statement.bodies[0].arguments[1 + i]]
        elif isinstance(statement, (A.If, A.Switch, A.Region)):
            lists = [(b.yields, i) for b in statement.bodies]
            gone = [statement.results[i]]
        else:
            continue
        lists = lists + [(statement.results, i)]
        kept = [list(l) for l, _ in lists]
        for l, at in lists:
            del l[at]
        for value in gone:
            value.gone = True
        try:
            if still():
                changed = True
                continue
        except (D.Invalid, D.TooLong, AssertionError, ArithmeticError, NameError, TypeError):
            pass
        for value in gone:
            value.gone = False
        for (l, _), old in zip(lists, kept):
            l[:] = old
    return changed


class Check:
    def __init__(self, options, runner):
        self.options, self.runner = options, runner
        self.failures = self.compared = 0

    def batch(self, seeds, opt):
        if self.failures >= self.options.max_failures:
            return
        features = self.runner.features()
        kernels = [D.makeKernel(seed, seed, features, self.options.size) for seed in seeds]
        failure = self.runner.failure(kernels, opt)
        if not failure:
            self.compared += len(kernels)
            return
        found = 0
        for kernel in failure.which or kernels:
            if self.failures + found >= self.options.max_failures:
                break
            if alone := self.runner.failure([kernel], opt):
                found += 1
                self.report(kernel, opt, alone)
        if not found:
            found = 1
            print("FAILED only together: %s --seed=%d --kernels=%d --opt=%s\n%s" % (fuzzrun.fixSchedule(), seeds[0], len(seeds), opt, failure.text), flush=True)
        self.failures += found

    def report(self, kernel, opt, failure):
        print("FAILED (%s): %s --seed=%d --kernels=1 --size=%d --opt=%s\n%s"
              % (failure.kind, fuzzrun.fixSchedule(), kernel.number, self.options.size, opt, failure.text), flush=True)
        strip = lambda text: re.sub(r"[%@^]?\w*\d+", "", text.split("error:")[-1][:60])

        def still():
            # Right whatever the order of the threads.
            first = D.expected(kernel)
            if D.expected(kernel, order=lambda threads: threads[::-1]) != first:
                return False
            again = self.runner.failure([kernel], opt)
            if not again or again.kind != failure.kind:
                return False
            return failure.kind in ("wrong", "hung") or strip(again.text) == strip(failure.text)

        minimise(kernel, still, self.options.minimise)
        again = self.runner.failure([kernel], opt)
        text, _, size = D.moduleText([kernel])
        name = "kernel-%d.mlir" % kernel.number
        path = fuzzrun.keep(self.options.keep, name, " ".join(self.runner.command(opt, name, size, "out.npy")), again, text)
        print("smallest kernel that fails: %s" % path, flush=True)


def main():
    parser = argparse.ArgumentParser()
    fuzzrun.addOptions(parser, D.FEATURES, batch=10, size=16, of="kernels")
    parser.add_argument("--seed", type=int, default=1, help="of the first kernel")
    parser.add_argument("--kernels", type=int, default=100)
    parser.add_argument("--opt", action="append", help="of gpu-runner, in turn (-O3, -O0, -O2, -O1)")
    parser.add_argument("--check", action="store_true", help="with gpu-runner --check, which must find nothing")
    options = parser.parse_args()
    fuzzrun.fixSchedule()
    opts = options.opt or ["-O3", "-O0", "-O2", "-O1"]
    runner, started = Runner(options), time.time()
    end = options.seed + options.kernels
    batches = [list(range(first, min(first + options.batch, end))) for first in range(options.seed, end, options.batch)]
    if options.print:
        for seeds in batches:
            print(D.moduleText([D.makeKernel(s, s, runner.features(), options.size) for s in seeds])[0])
        return
    check = Check(options, runner)
    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(lambda pair: check.batch(pair[1], opts[pair[0] % len(opts)]), enumerate(batches)):
            pass
    print("differential-kernels: --seed=%d --kernels=%d: %d kernels equal, %d failed, %.0f s"
          % (options.seed, options.kernels, check.compared, check.failures, time.time() - started))
    sys.exit(1 if check.failures else 0)


main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random programs (programs.py), run by gpu-runner on the adversarial cpu device with
# different numbers of streams and compared with what Python computes. A program
# that fails is made as small as it gets and kept. See docs/reference/Testing.md.
#
#   differential.py GPU_RUNNER --seed=7 --programs=100
#
# The programs have the seeds 7, 8, ...; --programs=1 runs one of them again.

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fuzzrun
import programs as P
from fuzzrun import Failure

MODES = ["tokens", "gpu", "sequential", "sequential-async"]
PLAYS = ["graph", "streams", "stream", "auto"]
TOKEN_FORM = ["-gpu-async-structure-control-flow", "-gpu-kernel-outlining", "-convert-gpu-to-gpu-async",
              "-gpu-async-infer-dependencies"]
# What a mode does not have yet; docs/reference/Limits.md names each.
NOT_YET = {}


class Runner:
    def __init__(self, options):
        self.options = options

    def features(self, mode):
        """What programs of this mode contain."""
        chosen = fuzzrun.chosen(self.options.features, P.FEATURES, set(P.FEATURES) - NOT_YET.get(mode, set()))
        return chosen - (set() if mode.startswith("seq") else {"alias"})

    def memory(self, list):
        """What becomes of the allocations of a batch."""
        drawn = ["keep", "plan", "keep", "space"] if self.options.check else ["keep"] + ["plan", "space"] * 3 + ["plan"]
        return self.options.memory or drawn[list[0].seed // self.options.batch % len(drawn)]

    def command(self, streams, memory, play, file, size, out):
        return [self.options.gpu_runner, "--device=" + self.options.device] + ["--check"] * self.options.check + [
                "--max-streams=%d" % streams, "--memory=" + memory, "--play=" + play,
                "--timeout=%d" % self.options.timeout, "--leak-check=error", self.options.opt, file,
                "--input=8xi32=0,1,2,3,4,5,6,7", "--input=%dxi32=0" % size, "--output=", "--output=@" + out]

    def verify(self, text, streams, memory, play):
        """Raises a Failure if gpu-opt cannot prove that the streams keep the order of the tokens, in regions too."""
        plan = {"keep": [], "plan": ["-gpu-async-plan-memory"], "space": ["-gpu-async-plan-memory=space=true"]}[memory]
        passes = TOKEN_FORM + plan + ["-gpu-async-reduce-dependencies", "-gpu-async-make-forks-explicit", "-gpu-async-assign-streams=max-streams=%d" % streams, "-gpu-async-verify-form=form=stream",
                                "-gpu-async-verify-schedule"]
        if play != "streams":
            passes += ["-gpu-async-form-regions", "-gpu-async-verify-form=form=stream", "-gpu-async-verify-schedule"]
        limit = 2 * self.options.timeout
        try:
            done = subprocess.run([self.options.gpu_opt, "-", "-o", os.devnull] + passes, input=text, text=True,
                                  errors="replace", capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            raise Failure("hung", "gpu-opt %s: no end after %d s" % (" ".join(passes), limit))
        if done.returncode:
            raise Failure("refused" if done.returncode > 0 else "crashed",
                          "gpu-opt %s: exit code %d\n%s" % (" ".join(passes), done.returncode, fuzzrun.errors(done.stderr)))

    def run(self, list, mode, streams, memory, play, schedule):
        """Raises a Failure; of wrong results the programs are in `which`."""
        text, bases, size = P.moduleText(list, mode, self.features(mode))
        if self.options.gpu_opt:
            self.verify(text, streams, memory, play)
        got = fuzzrun.run(text, size, 2 * self.options.timeout + len(list),
                          lambda file, out: self.command(streams, memory, play, file, size, out),
                          dict(os.environ, GPU_ASYNC_CPU_SCHEDULE=schedule))
        wrong = []
        for program, base in zip(list, bases):
            expected = P.run(program)
            for i, values in enumerate(expected):
                mine = got[base + P.CELLS * i:base + P.CELLS * (i + 1)]
                if tuple(values) != tuple(mine):
                    wrong.append((program, "buffer %d of @p%d is\n  %s, expected\n  %s" % (i, program.number, mine, tuple(values))))
                    break
        if wrong:
            raise Failure("wrong", "\n".join(text for _, text in wrong[:5]), [program for program, _ in wrong])

    def fails(self, program, mode, streams, memory, play, schedules):
        """The Failure of one program alone and its schedule, or (None, None)."""
        for schedule in schedules:
            try:
                self.run([program], mode, streams, memory, play, schedule)
            except Failure as failure:
                return failure, schedule
        return None, None


def bodies(program):
    def of(body):
        yield body
        for s in body.statements:
            for b in s.bodies:
                yield from of(b)

    for function in program.functions:
        yield from of(function.body)
    yield from of(program.body)


def uses(program, buffer):
    for body in bodies(program):
        if any(base is buffer for naming in body.allNamings() for base, _ in naming.bases):
            return True
        if any(value is buffer for _, value in body.locals):
            return True
        for s in body.statements:
            for value in s.__dict__.values():
                for item in value if isinstance(value, (list, tuple)) else [value]:
                    if item is buffer or getattr(item, "buffer", None) is buffer:
                        return True
    return False


def minimise(program, still, seconds):
    """Drops statements, buffers and functions while the program still fails."""
    limit, changed = time.time() + seconds, True

    def attempt(list, start, length):
        kept = list[start:start + length]
        del list[start:start + length]
        try:
            if still():
                return True
        except P.TooLong:
            pass
        list[start:start] = kept
        return False

    while changed and time.time() < limit:
        changed = False
        for body in list(bodies(program)):
            length = max(1, len(body.statements) // 2)
            while length and time.time() < limit:
                i = len(body.statements) - length
                while i >= 0 and time.time() < limit:
                    changed |= attempt(body.statements, i, length)
                    i -= length
                length //= 2
        called = {s.function for b in bodies(program) for s in b.statements if s.op == "call"}
        for i in reversed(range(len(program.functions))):
            if program.functions[i] not in called:
                attempt(program.functions, i, 1)
        for body in bodies(program):
            for i in reversed(range(len(body.locals))):
                buffer = body.locals[i][0]
                if uses(program, buffer):
                    continue
                kept = list(program.buffers)
                program.buffers = [b for b in kept if b is not buffer]
                if attempt(body.locals, i, 1):
                    changed = True
                else:
                    program.buffers = kept
            for i in reversed(range(len(body.namings))):
                if not any(uses(program, alias) for alias in body.namings[i].aliases):
                    changed |= attempt(body.namings, i, 1)
            carried = body.carried
            if carried and not any(uses(program, alias) for alias in carried.aliases):
                body.carried = None
                if still():
                    changed = True
                else:
                    body.carried = carried


class Check:
    def __init__(self, options, runner):
        self.options, self.runner = options, runner
        self.failures, self.compared, self.known = 0, 0, 0

    def batch(self, list, mode):
        if not list:
            return
        memory = self.runner.memory(list)
        for number, streams in enumerate(self.options.max_streams):
            play = self.options.play[(list[0].seed + number) % len(self.options.play)]
            # One schedule a run; it follows from the programs, so that it repeats.
            schedule = self.options.schedule or "adversarial:%d" % (list[0].seed * 10 + streams)
            try:
                self.runner.run(list, mode, streams, memory, play, schedule)
            except Failure as failure:
                self.explain(list, mode, streams, memory, play, schedule, failure)
                return
        self.compared += len(list)

    def isKnown(self, failure):
        return self.options.known and re.search(self.options.known, failure.text)

    def explain(self, list, mode, streams, memory, play, schedule, failure):
        which, good = failure.which or list, [p for p in list]
        found, known = 0, 0
        for program in which:
            if self.failures + found >= self.options.max_failures:
                return
            schedules = [schedule] + ["adversarial:%d" % s for s in range(1, 12)]
            alone, schedule1 = self.runner.fails(program, mode, streams, memory, play, schedules[: None if failure.kind == "wrong" else 1])
            if alone:
                good.remove(program)
                if self.isKnown(alone):
                    known += 1
                    continue
                found += 1
                self.report(program, mode, streams, memory, play, schedule1, alone)
        if not found and not known and self.isKnown(failure):
            known = 1
        elif not found and not known:
            found = 1
            print("FAILED only together: --seed=%d --programs=%d --mode=%s --max-streams=%d --memory=%s --play=%s --schedule=%s\n%s"
                  % (list[0].seed, len(list), mode, streams, memory, play, schedule, failure.text), flush=True)
        elif len(good) < len(list):
            self.batch(good, mode)
        self.failures += found
        self.known += known

    def report(self, program, mode, streams, memory, play, schedule, failure):
        print("FAILED (%s): --seed=%d --programs=1 --mode=%s --max-streams=%d --memory=%s --play=%s --schedule=%s\n%s"
              % (failure.kind, program.seed, mode, streams, memory, play, schedule, failure.text), flush=True)
        message = re.sub(r"[%@]?\d+|%\w+", "", failure.text.split("error:")[-1][:60])
        schedules = [schedule] + (["adversarial:%d" % s for s in range(1, 6)] if failure.kind == "wrong" else [])

        def still():
            again, _ = self.runner.fails(program, mode, streams, memory, play, schedules)
            if not again or again.kind != failure.kind:
                return False
            return failure.kind != "refused" or re.sub(r"[%@]?\d+|%\w+", "", again.text.split("error:")[-1][:60]) == message

        minimise(program, still, self.options.minimise)
        again, schedule = self.runner.fails(program, mode, streams, memory, play, schedules)
        text, _, size = P.moduleText([program], mode, self.runner.features(mode))
        name = "%s-%d.mlir" % (mode, program.seed)
        command = self.runner.command(streams, memory, play, name, size, "out.npy")
        path = fuzzrun.keep(self.options.keep, name, "GPU_ASYNC_CPU_SCHEDULE=%s %s" % (schedule, " ".join(command)),
                            again, text)
        print("smallest program that fails: %s" % path, flush=True)


def main():
    parser = argparse.ArgumentParser()
    fuzzrun.addOptions(parser, P.FEATURES, batch=25, size=20, of="programs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--max-streams", type=int, action="append")
    parser.add_argument("--memory", choices=["plan", "space", "keep"], help="instead of what follows from the seed")
    parser.add_argument("--play", action="append", choices=PLAYS, help="of gpu-runner, drawn of all of them otherwise")
    parser.add_argument("--schedule", help="GPU_ASYNC_CPU_SCHEDULE, instead of one that follows from the seed")
    parser.add_argument("--known", help="what errors that match this say is known: such programs count apart")
    parser.add_argument("--opt", default="-O0", help="of gpu-runner")
    parser.add_argument("--gpu-opt", default="beside gpu-runner",
                        help="what proves the order of the streams before a program runs; empty: nothing does")
    parser.add_argument("--check", action="store_true", help="with gpu-runner --check, which must find nothing")
    options = parser.parse_args()
    if options.gpu_opt == "beside gpu-runner":
        options.gpu_opt = os.path.join(os.path.dirname(shutil.which(options.gpu_runner) or options.gpu_runner), "gpu-opt")
    runner = Runner(options)
    options.max_streams = options.max_streams or [1, 2, 4, 32]
    options.play = options.play or (["streams"] if options.check else PLAYS)
    modes = options.mode or MODES
    started, seed, batches = time.time(), options.seed, []
    while seed < options.seed + options.programs:
        count = min(options.batch, options.seed + options.programs - seed)
        # The mode follows from the seed, so that one program alone is the same.
        for mode in modes:
            list = [P.makeProgram(s, s, runner.features(mode), options.size) for s in range(seed, seed + count)
                    if modes[s % len(modes)] == mode]
            if list:
                batches.append((list, mode))
        seed += count
    if options.print:
        for list, mode in batches:
            print(P.moduleText(list, mode, runner.features(mode))[0])
        return
    check = Check(options, runner)

    def one(batch):
        if check.failures < options.max_failures:
            check.batch(*batch)

    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(one, batches):
            pass
    print("differential: --seed=%d --programs=%d: %d programs equal on %s streams, %d failed, %d known, %.0f s"
          % (options.seed, options.programs, check.compared, "/".join(map(str, options.max_streams)),
             check.failures, check.known, time.time() - started))
    sys.exit(1 if check.failures else 0)


main()

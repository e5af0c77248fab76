# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs every random test with new seeds, in turn, until the time is over: the generators
# of this folder, and the test programs with other seeds. A failure prints the line that
# repeats it. See docs/reference/Testing.md.
#
#   all.py BUILD_FOLDER --minutes=60 --seed=7

import argparse
import os
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
LIT = "/usr/lib/llvm-22/bin/lit"

# Script, tool, and the options of one turn, which takes about a minute on two cores.
GENERATORS = [
    ("differential.py", "gpu-runner", ["--mode=tokens", "--programs=100"]),
    ("differential.py", "gpu-runner", ["--mode=gpu", "--programs=100"]),
    ("differential.py", "gpu-runner", ["--mode=sequential", "--programs=100"]),
    ("differential.py", "gpu-runner", ["--mode=sequential-async", "--programs=100"]),
    ("differential.py", "gpu-runner", ["--check", "--max-streams=32", "--programs=60"]),
    ("order.py", "gpu-opt", ["--programs=400"]),
    ("differential-kernels.py", "gpu-runner", ["--kernels=60"]),
    ("differential-kernels.py", "gpu-runner", ["--check", "--batch=5", "--kernels=15"]),
    ("differential-linalg.py", "gpu-runner", ["--programs=60"]),
    ("ranks.py", "gpu-runner", ["--programs=150"]),
    ("../../Inputs/scalars.py", "gpu-runner", ["--chains=300", "--form=scalar,tensor,host"]),
    ("../../Inputs/scalars.py", "gpu-runner", ["--chains=200", "--device=ptx", "--most=30"]),
    ("signatures.py", "gpu-runner", ["--signatures=60"]),
    ("planted-defects.py", "gpu-runner", ["--defects=44"]),
    ("mutate-ir.py", "gpu-opt", ["--mutants=600"]),
]
# Programs of gtest's that draw. They take GPU_ASYNC_TEST_SEED.
PROGRAMS = ["runtime-conformance-tests", "runtime-mock-tests", "runtime-check-tests", "runtime-unit-tests",
            "compiler-analysis-tests", "runner-tests"]


class Run:
    def __init__(self, options):
        self.options, self.failures, self.turns = options, 0, 0

    def call(self, command, seed, environment={}):
        self.turns += 1
        said = " ".join(["%s=%s" % each for each in environment.items()] + [os.path.relpath(word) if os.path.exists(word) else word for word in command])
        started = time.time()
        try:
            done = subprocess.run(command, env={**os.environ, "GPU_ASYNC_CACHE": "off", **environment}, capture_output=True,
                                  text=True, errors="replace", timeout=3600)
            code, text = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, text = "none in an hour", ""
        print("%s  %4d s  %s" % ("ok    " if code == 0 else "FAILED", time.time() - started, said), flush=True)
        if code:
            self.failures += 1
            print("exit code %s\n%s" % (code, text[-4000:]), flush=True)

    def turn(self, seed):
        bin, jobs = os.path.join(self.options.build, "bin"), "--jobs=%d" % self.options.jobs
        for script, tool, arguments in GENERATORS:
            yield lambda: self.call([sys.executable, os.path.join(here, script), os.path.join(bin, tool), "--seed=%d" % seed, jobs,
                                     "--keep=" + self.options.keep] + arguments, seed, {"GPU_ASYNC_CPU_SCHEDULE": "adversarial:%d" % seed})
        for name in PROGRAMS:
            program = os.path.join(self.options.build, "test/bin", name)
            if os.path.exists(program):
                yield lambda: self.call([program, "--gtest_brief=1"], seed, {"GPU_ASYNC_TEST_SEED": str(seed)})
        yield lambda: self.call([LIT, "-q", "-j%d" % self.options.jobs, os.path.join(self.options.build, "test"),
                                 "--filter-out=^(gpu-async :: )?(Fuzz|Docs)"], seed, {"GPU_ASYNC_TEST_SEED": str(seed)})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", help="a build folder")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="of the first turn; each turn adds 10000")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", default="fuzz-failures", help="folder of what failed")
    options = parser.parse_args()
    run, end, seed = Run(options), time.time() + 60 * options.minutes, options.seed
    while time.time() < end:
        for one in run.turn(seed):
            if time.time() >= end:
                break
            one()
        seed += 10000
    print("all: --seed=%d --minutes=%g: %d runs, %d failed" % (options.seed, options.minutes, run.turns, run.failures))
    sys.exit(1 if run.failures else 0)


main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random programs (programs.py) in the linear form, given to order-judge, which holds
# HappensBefore against ScheduleOrder. The programs have the seeds SEED, SEED + 1, ...; a
# batch that fails is printed with the seed of its first program.
#
#   order.py GPU_OPT --seed=7 --programs=100

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import programs as P

MODES = ["tokens", "gpu", "sequential", "sequential-async"]
PLANS = [[], ["-gpu-async-plan-memory"], ["-gpu-async-plan-memory=space=true"]]
FORM = ["-gpu-async-structure-control-flow", "-gpu-kernel-outlining", "-convert-gpu-to-gpu-async",
        "-gpu-async-infer-dependencies"]


def call(command, text):
    done = subprocess.run(command, input=text, text=True, capture_output=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def judge(options, number, seed):
    """Returns the claims agreed on, whether planted ones were refused, and what failed."""
    mode = MODES[number % len(MODES)]
    plan = PLANS[number // len(MODES) % len(PLANS)]
    features = set(P.FEATURES) - (set() if mode.startswith("seq") else {"alias"})
    end = min(seed + options.batch, options.seed + options.programs)
    text = P.moduleText([P.makeProgram(s, s, features, options.size) for s in range(seed, end)], mode, features)[0]
    claims, failed = 0, "FAILED: --seed=%d --programs=%d --batch=%d, mode %s %s\n" % (
        seed, end - seed, options.batch, mode, " ".join(plan))
    code, linear, errors = call([options.gpu_opt, "-"] + FORM + plan + ["-gpu-async-reduce-dependencies", "-gpu-async-make-forks-explicit"], text)
    if code:
        return 0, False, failed + errors[:2000]
    for streams in ["0", "2"]:
        code, out, errors = call([options.order_judge, "--max-streams=" + streams], linear)
        if code:
            return claims, False, failed + errors[:2000]
        claims += int(out.split()[0])
    planted = call([options.order_judge, "--plant"], linear)[0]
    return claims, planted == 1, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_opt")
    parser.add_argument("--order-judge", help="in test/bin beside the folder of gpu-opt otherwise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--batch", type=int, default=10, help="programs in a module")
    parser.add_argument("--size", type=int, default=20, help="most statements of each")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", help="of other generators: nothing is kept, the seed draws a program again")
    options = parser.parse_args()
    bin = os.path.dirname(shutil.which(options.gpu_opt) or options.gpu_opt)
    options.order_judge = options.order_judge or os.path.join(bin, "..", "test", "bin", "order-judge")
    seeds = range(options.seed, options.seed + options.programs, options.batch)
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda each: judge(options, *each), enumerate(seeds)))
    claims, planted = sum(each[0] for each in results), sum(each[1] for each in results)
    failed = sum(bool(each[2]) for each in results)
    for each in results:
        print(each[2], end="")
    print("order: --seed=%d --programs=%d: %d claims agreed on, planted ones refused in %d of %d modules, %d failed"
          % (options.seed, options.programs, claims, planted, len(seeds), failed))
    sys.exit(0 if claims and planted and not failed else 1)


main()

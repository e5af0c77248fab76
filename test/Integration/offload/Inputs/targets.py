# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiles programs for GPUs, which need not be there.
#   targets.py GPU_OPT TARGETS FILE...
# A line "TARGET: FILE: MESSAGE" for each that fails, and one of how many there were.
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys

gpu_opt, targets, *files = sys.argv[1:]


def compile(task):
    target, file = task
    done = subprocess.run([gpu_opt, file, "--gpu-async-pipeline=targets=%s ptxas=none" % target, "-o", os.devnull],
                          capture_output=True, text=True, errors="replace", timeout=600)
    if not done.returncode:
        return None
    found = re.search(r"error: (.*)", done.stderr)
    return "%s: %s: %s" % (target, os.path.basename(file), found[1] if found else "exit code %d" % done.returncode)


tasks = list(itertools.product(targets.split(","), sorted(files)))
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    said = [line for line in pool.map(compile, tasks) if line]
print(*said, "%d compilations" % len(tasks), sep="\n")

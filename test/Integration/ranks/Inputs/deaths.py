# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# One of four processes of a program ends in the middle. Measures how long after its end
# each of the others says so, and when the job has ended.
#
#   deaths.py GPU_RUNNER LIBRARY --launcher="mpirun.openmpi --oversubscribe -n" --way=killed --runs=20
#
# LIBRARY is deaths.c as a shared library. --survive: the launcher lets the others live, so
# all of them have to say it. Without it the launcher may have ended them before.

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import psutil

WAYS = {"lives": 0, "killed": 1, "exits": 2, "exits-with-success": 3, "aborts": 4, "late": 5, "asserts": -1}
RANKS, BAD = 4, 2
folder = os.path.dirname(os.path.abspath(__file__))


def children(options):
    """Processes of this test; others may run the same program."""
    return [p for p in psutil.process_iter(["name", "cmdline"])  # it skips those that end meanwhile
            if p.info["name"] == "gpu-runner" and "--shared-libs=" + options.library in (p.info["cmdline"] or [])]


def run(options, way):
    """Seconds from the death to what each other rank says of it, and to the end of the job; what is wrong."""
    command = options.launcher.split() + [str(RANKS), options.gpu_runner, os.path.join(folder, "deaths.mlir"),
                                          "--shared-libs=" + options.library, "--device=" + options.device, "--timeout=%d" % options.timeout,
                                          "--input=%d" % BAD, "--input=%d" % WAYS[way]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    death, said, lines = None, {}, []
    for line in process.stdout:
        now = time.time()
        lines.append(line)
        found = re.search(r"death: ([\d.]+)", line)
        if found:
            death = float(found.group(1))
        # A line of the thread of messages, or the error of the call. Launchers mix lines.
        for each in re.findall(r"gpu-async: on rank (\d+): rank %d |error: (?:(?!error: ).)*rank %d failed.*?\(on rank (\d+)\)" % (BAD, BAD), line):
            said.setdefault(int("".join(each)), now)
    code = process.wait()
    # Launchers change the order of lines.
    said = {rank: at - (death or at) for rank, at in said.items()}
    end = time.time() - (death or time.time())
    wrong = []
    if death is None and way != "lives":
        wrong.append("no rank died, exit code %d" % code)
    if way in ("lives", "late"):
        if code != 0 or said:
            wrong.append("exit code %d, and ranks %s speak" % (code, sorted(said)))
    else:
        if options.survive and set(said) != set(range(RANKS)) - {BAD}:
            wrong.append("only ranks %s speak" % sorted(said))
        if code == 0 and not options.survive:
            wrong.append("exit code 0")
        if end > options.limit:
            wrong.append("the job ended after %.1f s" % end)
    limit = time.time() + 5
    while children(options) and time.time() < limit:
        time.sleep(0.01)
    if children(options):
        wrong.append("processes are left: %s" % [p.pid for p in children(options)])
        for p in children(options):
            p.kill()
    return said, end, ["%s: %s\n%s" % (way, "; ".join(wrong), "".join(lines))] if wrong else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_runner")
    parser.add_argument("library")
    parser.add_argument("--launcher", required=True, help="words before the number of processes")
    parser.add_argument("--way", action="append", choices=list(WAYS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--survive", action="store_true")
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--limit", type=float, default=5, help="seconds from the death to the end of the job")
    options = parser.parse_args()
    failed = 0
    for way in options.way or ["killed", "exits", "exits-with-success", "aborts", "asserts"]:
        delays, ends = [], []
        for _ in range(options.runs):
            said, end, wrong = run(options, way)
            failed += len(wrong)
            print("\n".join(wrong), end="", flush=True)
            delays += said.values()
            ends.append(end)
        delays.sort()
        words = "%d of %d others said so" % (len(delays), options.runs * (RANKS - 1))
        if delays:
            words += ", after %.1f ms (median) and %.1f ms (most)" % (delays[len(delays) // 2] * 1e3, delays[-1] * 1e3)
        print("%s: %d runs, %s; the job ended after %.2f s at most" % (way, options.runs, words, max(ends)), flush=True)
    return 1 if failed else 0


sys.exit(main())

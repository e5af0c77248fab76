#!/usr/bin/env python3
# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds and runs suites of tests: `./dev test [suite..]`.

usage: suites.py [suite.. | all]
       suites.py --check <build folder> [<source folder>]

CTest knows the tests (cmake/GPUAsyncTests.cmake); the label of each is a suite of
that build folder. `quick` has those tests of others that take seconds, for the inner
loop. While the tests of a stage run, the next is built at low priority.
--check says which tests no suite runs; the suites that are run are checked too.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree

root = pathlib.Path(__file__).resolve().parent.parent
lit = "/usr/lib/llvm-22/bin/lit"

# Suite -> preset and label, in the order in which they are built and run.
SUITES = {
    "quick": ("release", "quick"),
    "runtime": ("release", "runtime"),
    "compiler": ("release", "compiler"),
    "example": ("release", "example"),
    "embed": ("release", "embed"),
    "deep": ("release", "deep"),
    "rocm": ("release", "rocm"),
    "tsan": ("tsan", "runtime"),
    "tsan-deep": ("tsan", "deep"),
    "asan": ("asan", "runtime"),
    "asan-deep": ("asan", "deep"),
    "asan-compiler": ("asan", "compiler"),
}
# `all` leaves these out: the tests of `quick` are in others, and `rocm` needs a network.
APART = ["quick", "rocm"]
# Without a name.
DEFAULT = ["runtime", "compiler", "example", "embed", "tsan", "asan"]

# What the work of slowness() takes on a quiet machine.
QUIET_SECONDS = 0.55
# The limit of a test of CTest on a quiet machine. Only a hang comes near it.
TEST_SECONDS = 1200

jobs = os.environ.get("JOBS") or str(len(os.sched_getaffinity(0)))


def say(*words):
    print(*words, file=sys.stderr, flush=True)


# -- Does a suite run every test? ------------------------------------------------


def capture(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def unnamed(build, source=root):
    """What looks like a test in a configured build folder, and no suite runs."""
    preset = os.path.basename(os.path.realpath(build))
    preset = preset if preset in {preset for preset, _ in SUITES.values()} else "release"
    labels = {label for of, label in SUITES.values() if of == preset}
    found = []

    tests = json.loads(capture("ctest", "--test-dir", build, "--show-only=json-v1"))["tests"]
    for test in tests:
        its = next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])
        if test["name"] == "quick-lit":  # compiler-lit runs its tests, too
            continue
        its = [label for label in its if label != "quick"]
        if len(its) != 1 or its[0] not in labels:
            found.append("CTest's %s has the label '%s', which is no suite of %s" % (test["name"], ";".join(its), preset))

    # Programs of test/ that are no command of a test, whether they were built or not.
    # CTest leaves out the commands of those that are not. lit's tests call its tools.
    tools = re.findall(r'^tool\("([\w-]+)"', (source / "test/lit.cfg.py").read_text(), re.M)
    commands = "".join(path.read_text() for path in pathlib.Path(build).rglob("CTestTestfile.cmake"))
    for target in capture("ninja", "-C", build, "-t", "targets", "all").splitlines():
        match = re.match(r"(test/.*): \w+_EXECUTABLE_LINKER", target)
        if match and "/%s\"" % match.group(1) not in commands and os.path.basename(match.group(1)) not in tools:
            found.append("the program %s is no test of CTest" % match.group(1))

    # Files that look like tests: what is not compiled, and what lit does not see.
    compiled = {os.path.realpath(entry["file"]) for entry in json.load(open(os.path.join(build, "compile_commands.json")))}
    has_compiler = any(test["name"] == "compiler-lit" for test in tests)
    seen = set()
    if has_compiler:
        listed = capture(lit, "--show-tests", os.path.join(build, "test"))
        seen = {os.path.realpath(source / "test" / name) for name in re.findall(r"^  gpu-async :: (\S+)", listed, re.M)}
    folder = source / "test" if has_compiler else source / "test/runtime"
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or "Inputs" in path.parts or "__pycache__" in path.parts:
            continue
        name, real = path.relative_to(source), os.path.realpath(path)
        if path.name.endswith("Test.cpp") and real not in compiled:
            found.append("%s is compiled into no program" % name)
        elif path.suffix in (".mlir", ".test", ".ll", ".txt") and real not in seen \
                and re.search(r"^\W*RUN:", path.read_text(errors="replace"), re.M):
            found.append("lit does not find %s" % name)
    return found


# -- Building -------------------------------------------------------------------


def ninja(preset, labels, log, low):
    """Builds what suites need; configures first, as ./dev build does."""
    command = [str(root / "dev"), "build"] + (["-k0"] if len(labels) > 1 else []) + [label + "-tests" for label in labels]
    environment = dict(os.environ, GPU_ASYNC_PRESET=preset, JOBS=jobs)
    return subprocess.run((["nice", "-n", "10"] if low else []) + command, stdout=log, stderr=subprocess.STDOUT,
                          env=environment, cwd=root).returncode == 0


class Stage:
    """Suites of one preset that are built and then run together."""

    def __init__(self, preset, suites):
        self.preset, self.suites = preset, suites
        self.done = threading.Event()
        self.broken = []  # suites that could not be built
        self.seconds = 0

    def build(self, logs, low):
        started = time.time()
        self.log = logs / ("build-%s-%s.log" % (self.preset, "-".join(self.suites)))
        self.broken = list(self.suites)
        labels = {SUITES[suite][1]: suite for suite in self.suites}
        try:
            with open(self.log, "wb") as log:
                whole = ninja(self.preset, list(labels), log, low)
                self.broken = [suite for label, suite in labels.items()
                               if not whole and not ninja(self.preset, [label], log, low)]
        finally:
            self.seconds = time.time() - started
            self.done.set()


def stages(suites):
    """The runtime's tests of a preset can run while its compiler is built."""
    made = []
    for suite in (suite for suite in SUITES if suite in suites):
        preset, label = SUITES[suite]
        if made and made[-1].preset == preset and label != "runtime" and SUITES[made[-1].suites[-1]][1] != "runtime":
            made[-1].suites.append(suite)
        else:
            made.append(Stage(preset, [suite]))
    return made


# -- Running --------------------------------------------------------------------


def slowness():
    """How many times longer this machine takes now than two quiet processors of 2026,
    for the time limits of tests. At least 1."""
    work = "import time; t = time.time(); sum(i * i for i in range(12000000)); print(time.time() - t)"
    children = [subprocess.Popen([sys.executable, "-c", work], stdout=subprocess.PIPE, text=True) for _ in range(int(jobs))]
    return max(1, max(float(child.communicate()[0]) for child in children) / QUIET_SECONDS)


def counts(output, passed, skipped=False):
    """Tests passed, failed and skipped, by what gtest, lit or a script printed."""
    if skipped:
        return (0, 0, 1)

    def lines(pattern):
        return len(re.findall(pattern, output, re.M))

    def total(words):
        return sum(int(n) for n in re.findall(r"^ *(?:%s) *: *([0-9]+)" % words, output, re.M))

    if "Total Discovered Tests:" in output:
        result = (total("Passed|Expectedly Failed"), total("Failed|Timed Out|Unresolved|Unexpectedly Passed"),
                  total("Unsupported|Skipped|Excluded"))
    elif re.search(r"^\[==========\] Running", output, re.M):
        result = (lines(r"^\[       OK \]"), lines(r"^\[  FAILED  \] .*\(\d+ ms\)$"), lines(r"^\[  SKIPPED \] .*\(\d+ ms\)$"))
    elif lines(r"^(PASS|FAIL): "):
        result = (lines(r"^PASS: "), lines(r"^FAIL: "), 0)
    else:
        result = (int(passed), 0, 0)
    # A bad end without a failed test (a crash, a time limit) is a failure, and so
    # is a suite in which nothing ran.
    if result[1] == 0 and (not passed or result[0] == 0):
        result = (result[0], 1, result[2])
    return result


def without_successes(output):
    """A log without gtest's tests that passed or were skipped, each from its RUN line on.
    Those in which a sanitizer said something stay."""
    kept, begun = [], {}
    for line in output.splitlines():
        run = re.match(r"\[ RUN      \] (\S+)", line)
        end = re.match(r"\[ +(OK|SKIPPED) +\] ([^ ,]+).* ms\)$", line)
        if run:
            begun[run.group(1)] = len(kept)
        if end and end.group(2) in begun:
            first = begun.pop(end.group(2))
            if any(re.search(r"Sanitizer: |: runtime error: ", each) for each in kept[first:]):
                kept.append(line)
            else:
                del kept[first:]
        elif line and not re.match(r"\[([-=]+\]|  SKIPPED)|PASS: ", line):
            kept.append(line)
    return kept


class Report:
    def __init__(self, logs):
        self.logs, self.lines, self.passed, self.failed, self.skipped = logs, [], 0, 0, 0

    def add(self, name, result, seconds, log):
        passed, failed, skipped = result
        self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped
        self.lines.append("%-4s %-26s %4d passed %3d failed %3d skipped  %4ds" %
                          ("FAIL" if failed else "ok", name, passed, failed, skipped, round(seconds)))
        if failed:
            say("== %s failed; the end of %s, without what went well:" % (name, log))
            say("\n".join(without_successes(log.read_text(errors="replace"))[-60:]))
        say(self.lines[-1])
        if not passed and not failed:
            say(log.read_text(errors="replace").strip())

    def note(self, text):
        self.lines.append(text)
        say(text)


def run(stage, report):
    build, prefix = root / "build" / stage.preset, "" if stage.preset == "release" else stage.preset + "-"
    report.note("     %-26s %s%4ds" % ("build of " + stage.preset, " " * 35, stage.seconds))
    for suite in stage.broken:
        report.add("build of " + suite, (0, 1, 0), 0, stage.log)
    labels = [SUITES[suite][1] for suite in stage.suites if suite not in stage.broken]
    if not labels:
        return
    junit = report.logs / (stage.preset + "-" + "-".join(labels) + ".xml")
    slow = slowness()
    environment = dict(os.environ, GPU_ASYNC_TEST_SLOWNESS="%.1f" % slow,
                       LIT_OPTS=os.environ.get("LIT_OPTS", "") + " -j" + jobs)
    command = ["ctest", "--test-dir", str(build), "-L", "^(%s)$" % "|".join(labels), "-j" + jobs,
               "--timeout", "%d" % (TEST_SECONDS * slow), "--output-junit", str(junit),
               "--test-output-size-passed", "100000000", "--test-output-size-failed", "100000000"]
    if {"compiler", "deep"} <= set(labels):
        # compiler-lit has the generators too. They begin with the same programs, so
        # it draws as many as compiler-fuzz, which need not run.
        environment["GPU_ASYNC_TEST_DEEP"] = "1"
        command += ["-E", "^compiler-fuzz$"]
    subprocess.run(command, stdout=sys.stderr, env=environment)
    for case in sorted(xml.etree.ElementTree.parse(junit).getroot().iter("testcase"), key=lambda case: case.get("name")):
        output, passed = case.findtext("system-out") or "", case.get("status") == "run"
        name = prefix + re.sub(r"-tests\b", "", case.get("name"))
        log = report.logs / (name + ".log")
        failure = case.find("failure")
        end = "" if passed else "\n%s: %s\n" % (case.get("status"), failure.get("message") if failure is not None else "")
        log.write_text(output + end)
        skipped = case.find("skipped") is not None and "SKIP_RETURN_CODE" in case.find("skipped").get("message", "")
        report.add(name, counts(output, passed, skipped), float(case.get("time")), log)


def check_presets(presets, report):
    log = report.logs / "every-test-is-run.log"
    started = time.time()
    found = [line for preset in presets for line in unnamed(root / "build" / preset)]
    log.write_text("\n".join(found))
    report.add("every-test-is-run", (int(not found), len(found), 0), time.time() - started, log)


def main(arguments):
    if arguments[:1] in (["--help"], ["-h"]):
        print(__doc__ + "\nsuites: %s\nwithout a name: %s" % (" ".join(SUITES), " ".join(DEFAULT)))
        return 0
    if arguments[:1] == ["--check"]:
        found = unnamed(arguments[1], pathlib.Path(arguments[2]) if len(arguments) > 2 else root)
        print("\n".join(found) if found else "every test is in a suite")
        return 1 if found else 0
    if arguments == ["all"]:
        arguments = [suite for suite in SUITES if suite not in APART]
    for suite in arguments:
        if suite not in SUITES:
            say("no suite '%s'; there are %s, and all" % (suite, " ".join(SUITES)))
            return 2
    started = time.time()
    logs = root / "build/test-logs"
    logs.mkdir(parents=True, exist_ok=True)
    for old in logs.iterdir():
        old.unlink()
    report, todo = Report(logs), stages(arguments or DEFAULT)
    say("== building %s; the others while tests run (%s)" % (todo[0].preset, logs))

    def build():
        for stage in todo:
            stage.build(logs, low=stage is not todo[0])

    threading.Thread(target=build, daemon=True).start()
    for stage in todo:
        stage.done.wait()
        run(stage, report)
    built = {stage.preset: None for stage in todo if set(stage.suites) - set(stage.broken)}
    if set(todo[0].suites) != {"quick"} or len(todo) > 1:
        check_presets(built, report)
    print("\n" + "\n".join(report.lines))
    minutes, seconds = divmod(int(time.time() - started), 60)
    print("logs in %s, %d skipped, %d min %d s" % (logs.relative_to(root), report.skipped, minutes, seconds))
    print("%d passed, %d failed" % (report.passed, report.failed))
    return 0 if report.failed == 0 and report.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

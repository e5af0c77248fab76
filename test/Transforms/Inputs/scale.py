# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs that are large in one way each. Deep ones, for which what is
# exponential never ends, must end; four times as long ones must not take much
# more than four times the processor time.
#
#   scale.py GPU_OPT

import os
import resource
import subprocess
import sys

TOKEN = "!gpu_async.token"
DEPTH = 64
SHORT, FACTOR = 3000, 4
# Between what is linear (4) and what is quadratic (16).
MOST = 9
# Less than this is noise.
SECONDS = 0.2

INFER = ["-gpu-async-infer-dependencies"]
LINEAR = ["-gpu-async-make-forks-explicit"]
STREAMS = LINEAR + ["-gpu-async-assign-streams"]
REDUCED = ["-gpu-async-reduce-dependencies"]
HAZARDS = ["-gpu-async-print-hazards"]
VERIFIED = STREAMS + ["-gpu-async-verify-schedule"]


def function(arguments, body):
    return """func.func @f(%s) {
  %%c0 = arith.constant 0 : index
  %%c1 = arith.constant 1 : index
%s
  return
}
""" % (arguments, "\n".join("  " + line for line in body))


def memset(buffer="%x", type="memref<8xf32>", tokens=None):
    order = "" if tokens is None else "async [%s] " % ", ".join(tokens)
    return "gpu_async.memset %s%s, %%v : %s, f32" % (order, buffer, type)


ARGUMENTS = "%x: memref<8xf32>, %y: memref<8xf32>, %n: index, %k: i1, %v: f32"


#===----------------------------------------------------------------------===#
# Deep
#===----------------------------------------------------------------------===#


def nest(open, close, hands):
    """Two tokens that change places in each of many ops around one another.
    `hands` says what an op hands on of what the one in it does."""
    body = ["%a0 = " + memset("%x", tokens=[]), "%b0 = " + memset("%y", tokens=[])]
    for i in range(DEPTH):
        body.append((open % {"i": i, "o": i + 1}).replace("T", TOKEN))
    last = "%%a%d" % DEPTH, "%%b%d" % DEPTH
    body += ["%s = " + memset("%x", tokens=[last[0]]), "%t = " + memset("%y", tokens=[last[1]]),
             "scf.yield %%t, %%s : %s, %s" % (TOKEN, TOKEN)]
    for i in reversed(range(DEPTH)):
        body += close(i)
        if i:
            body += [(hands % {"i": i + 1}).replace("T", TOKEN), "scf.yield %%q%d, %%p%d : %s, %s" % (i + 1, i + 1, TOKEN, TOKEN)]
    return function(ARGUMENTS, body + ["%c = " + memset("%x", tokens=["%r1#0"]), "%d = " + memset("%y", tokens=["%r1#1"]),
                                       "gpu_async.wait [%c, %d]"])


JOINED = "%%p%(i)d = gpu_async.wait async [%%r%(i)d#0, %%r%(i)d#1]\n%%q%(i)d = gpu_async.wait async [%%r%(i)d#1, %%r%(i)d#0]"
CHOSEN = """%%p%(i)d, %%q%(i)d = scf.if %%k -> (T, T) {
  scf.yield %%r%(i)d#0, %%r%(i)d#1 : T, T
} else {
  scf.yield %%r%(i)d#1, %%r%(i)d#0 : T, T
}"""


def loops(hands):
    return nest("%%r%(o)d:2 = scf.for %%i%(o)d = %%c0 to %%n step %%c1 iter_args(%%a%(o)d = %%a%(i)d, %%b%(o)d = %%b%(i)d)"
                " -> (T, T) {", lambda i: ["}"], hands)


def whiles(hands):
    return nest("%%r%(o)d:2 = scf.while (%%e%(o)d = %%a%(i)d, %%f%(o)d = %%b%(i)d) : (T, T) -> (T, T) {\n"
                "  scf.condition(%%k) %%f%(o)d, %%e%(o)d : T, T\n} do {\n^bb0(%%a%(o)d: T, %%b%(o)d: T):",
                lambda i: ["}"], hands)


def branches(hands):
    return nest("%%a%(o)d = gpu_async.wait async [%%a%(i)d]\n%%b%(o)d = gpu_async.wait async [%%b%(i)d]\n"
                "%%r%(o)d:2 = scf.if %%k -> (T, T) {",
                lambda i: ["} else {", "scf.yield %%b%d, %%a%d : %s, %s" % (i, i, TOKEN, TOKEN), "}"], hands)


def choices():
    body = ["%r1 = " + memset("%x", tokens=[]), "%s1 = " + memset("%y", tokens=[])]
    for i in range(1, DEPTH):
        body += ["%%%s%d = arith.select %%k, %%%s%d, %%%s%d : %s" % (a, i + 1, a, i, b, i, TOKEN) for a, b in ["rs", "sr"]]
    return function(ARGUMENTS, body + ["%c = " + memset("%x", tokens=["%%r%d" % DEPTH]),
                                       "%d = " + memset("%y", tokens=["%%s%d" % DEPTH]), "gpu_async.wait [%c, %d]"])


def sequentialLoops():
    body = []
    for i in range(DEPTH):
        body += ["scf.for %%i%d = %%c0 to %%n step %%c1 {" % i, memset("%x")]
    for i in range(DEPTH):
        body += ["gpu_async.memcpy %x, %y : memref<8xf32>, memref<8xf32>", "}"]
    return function(ARGUMENTS, body)


ON_TOKENS = [VERIFIED, HAZARDS, REDUCED]
DEEP = {
    "loops, joined": (lambda: loops(JOINED), ON_TOKENS),
    "loops, chosen": (lambda: loops(CHOSEN), ON_TOKENS),
    "whiles, joined": (lambda: whiles(JOINED), ON_TOKENS),
    "whiles, chosen": (lambda: whiles(CHOSEN), ON_TOKENS),
    "branches, joined": (lambda: branches(JOINED), ON_TOKENS),
    "branches, chosen": (lambda: branches(CHOSEN), ON_TOKENS),
    "choices": (choices, ON_TOKENS),
    "loops without tokens": (sequentialLoops, [INFER + VERIFIED, INFER + HAZARDS, INFER + REDUCED + VERIFIED]),
}

#===----------------------------------------------------------------------===#
# Long
#===----------------------------------------------------------------------===#


def windows(n, memory, buffer="%x", layout="", arguments="", end=()):
    body = list(memory)
    for i in range(n):
        type = "memref<4xf32, strided<[1], offset: %s>>" % (layout and "?" or 4 * i)
        body.append("%%s%d = memref.subview %s[%d][4][1] : memref<%dxf32%s> to %s" % (i, buffer, 4 * i, 4 * n, layout, type))
        body.append(memset("%%s%d" % i, type))
    return function(arguments + "%n: index, %v: f32", body + list(end))


def argumentWindows(n):
    return windows(n, [], arguments="%%x: memref<%dxf32>, " % (4 * n))


def allocationWindows(n):
    return windows(n, ["%%x = gpu_async.alloc () : memref<%dxf32>" % (4 * n)])


def globalWindows(n):
    return "memref.global \"private\" @g : memref<%dxf32> = uninitialized\n" % (4 * n) + windows(
        n, ["%%x = memref.get_global @g : memref<%dxf32>" % (4 * n)])


def loopWindows(n):
    layout = ", strided<[1], offset: ?>"
    return windows(n, ["scf.for %i = %c0 to %n step %c1 {",
                       "%%w = memref.reinterpret_cast %%x to offset: [%%i], sizes: [%d], strides: [1] : memref<%dxf32> to memref<%dxf32%s>"
                       % (4 * n, 4 * n, 4 * n, layout)], "%w", layout, "%%x: memref<%dxf32>, " % (4 * n), ["}"])


def carried(n):
    all = lambda form: ", ".join(form % i for i in range(n))
    types = ", ".join([TOKEN] * n)
    return function(ARGUMENTS, ["%r:" + "%d = scf.for %%i = %%c0 to %%n step %%c1 iter_args(" % n] + [
        ", ".join("%%a%d = %%t" % i for i in range(n)) + ") -> (" + types + ") {"] + [
        "%%b%d = " % i + memset(tokens=["%%a%d" % i]) for i in range(n)] + [
        "scf.yield " + all("%%b%d") + " : " + types, "}", "gpu_async.wait [" + all("%%r#%d") + "]"]).replace(
            "  %r:", "  %t = gpu_async.wait async\n  %r:", 1)


def privateArguments(n):
    return ("func.func private @p(%s, %%v: f32) {\n" % ", ".join("%%x%d: memref<8xf32>" % i for i in range(n)) +
            "\n".join(memset("%%x%d" % i) for i in range(n)) + "\nreturn\n}\n" +
            function("%v: f32", ["%%x%d = memref.alloc() : memref<8xf32>" % i for i in range(n)] + [
                "call @p(%s, %%v) : (%s, f32) -> ()" % (", ".join("%%x%d" % i for i in range(n)),
                                                        ", ".join(["memref<8xf32>"] * n))]))


def loopsInARow(n):
    n //= 4
    return function(ARGUMENTS, ["scf.for %%i%d = %%c0 to %%n step %%c1 {\n%s\n}" % (i, memset()) for i in range(n)])


LONG = {
    "windows of an argument": (argumentWindows, INFER + STREAMS),
    "windows of an allocation": (allocationWindows, INFER + STREAMS),
    "windows of a global": (globalWindows, INFER + STREAMS),
    "windows of a view of an iteration": (loopWindows, INFER + STREAMS),
    "arguments of a private function": (privateArguments, INFER + STREAMS),
    "carried tokens": (carried, STREAMS),
    "loops in a row": (loopsInARow, INFER + STREAMS),
}


class Failed(Exception):
    pass


def run(gpuOpt, text, passes):
    """Processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run([gpuOpt, "-", "-o", os.devnull] + passes, input=text, capture_output=True, text=True,
                              timeout=120)
    except subprocess.TimeoutExpired:
        raise Failed("no end after 120 s")
    if done.returncode:
        raise Failed("rc %d: %s" % (done.returncode, done.stderr[:2000]))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def growth(gpuOpt, make, passes, nothing):
    short = max(SECONDS, run(gpuOpt, make(SHORT), passes) - nothing)
    return (run(gpuOpt, make(FACTOR * SHORT), passes) - nothing) / short


def main():
    gpuOpt, failed = sys.argv[1], False
    chosen = sys.argv[2:]

    def attempt(name, what):
        nonlocal failed
        if chosen and not any(word in name for word in chosen):
            return
        try:
            result = what()
        except Failed as failure:
            result = failure
        failed |= result is not None
        print("%s: %s" % (name, result or "ok"), flush=True)

    for name, (make, runs) in DEEP.items():
        for passes in runs:
            attempt("%d %s, %s" % (DEPTH, name, passes[-1]), lambda: run(gpuOpt, make(), passes) and None)
    nothing = run(gpuOpt, "", [])
    for name, (make, passes) in LONG.items():
        def check():
            # The machine does other things too.
            factors = []
            while len(factors) < 3:
                factors.append(growth(gpuOpt, make, passes, nothing))
                if factors[-1] <= MOST:
                    return None
            return "%d times as many take %s times as long" % (FACTOR, ", ".join("%.1f" % factor for factor in factors))

        attempt(name, check)
    sys.exit(1 if failed else 0)


main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random programs whose result depends on the order of their updates, run by
# gpu-runner and compared with the same updates done one after the other.
#
#   random-order.py GPU_RUNNER [--seed=N] [--programs=N] [--max-streams=N]...
#                   [--device=cpu] [--dialect=gpu_async|gpu]
#
# Each program is a function: buffers on the device, kernels that update one from
# another (y = 3 y + 5 x + c, some of them many times over, so that they take
# unequal times), tokens for what the data needs and some more, host waits,
# loops and branches with tokens of their own, copies back. In upstream's gpu
# dialect some ops are synchronous, and ordered by what they touch.

import argparse
import random
import re
import subprocess
import sys
import tempfile

SIZE = 4
HEADER = """
gpu.module @k {
  gpu.func @quick(%y: memref<4xi32>, %x: memref<4xi32>, %c: i32, %times: i32) kernel {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %five = arith.constant 5 : i32
    %i = gpu.thread_id x
    %first = memref.load %y[%i] : memref<4xi32>
    %source = memref.load %x[%i] : memref<4xi32>
    %added = arith.muli %source, %five : i32
    %more = arith.addi %added, %c : i32
    %last = scf.for %k = %zero to %times step %one iter_args(%v = %first) -> i32 : i32 {
      %p = arith.muli %v, %three : i32
      %w = arith.addi %p, %more : i32
      scf.yield %w : i32
    }
    memref.store %last, %y[%i] : memref<4xi32>
    gpu.return
  }
  // A loop that is not known to end: the cpu device gives it a thread.
  gpu.func @slow(%y: memref<4xi32>, %x: memref<4xi32>, %c: i32, %times: i32) kernel {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %five = arith.constant 5 : i32
    %i = gpu.thread_id x
    %first = memref.load %y[%i] : memref<4xi32>
    %source = memref.load %x[%i] : memref<4xi32>
    %added = arith.muli %source, %five : i32
    %more = arith.addi %added, %c : i32
    %k, %last = scf.while (%left = %times, %v = %first) : (i32, i32) -> (i32, i32) {
      %goes = arith.cmpi ne, %left, %zero : i32
      scf.condition(%goes) %left, %v : i32, i32
    } do {
    ^bb0(%left: i32, %v: i32):
      %p = arith.muli %v, %three : i32
      %w = arith.addi %p, %more : i32
      %less = arith.subi %left, %one : i32
      scf.yield %less, %w : i32, i32
    }
    memref.store %last, %y[%i] : memref<4xi32>
    gpu.return
  }
}
func.func private @printMemrefI32(memref<*xi32>)
"""


class Program:
    def __init__(self, rng, number, upstream):
        self.upstream = upstream
        self.rng, self.number, self.names = rng, number, 0
        self.text, self.pad = [], "  "
        self.count = rng.randint(2, 5)
        # Per buffer: its values, who wrote it last and who has read it since.
        self.values = [[0] * SIZE for _ in range(self.count)]
        self.writer, self.readers = [[] for _ in self.values], [[] for _ in self.values]
        self.tokens = []
        self.make()

    def fresh(self):
        self.names += 1
        return "%%v%d" % self.names

    def isSync(self):
        return self.upstream and self.rng.random() < 0.15

    def add(self, line):
        if self.upstream:
            line = line.replace("gpu_async.launch", "gpu.launch_func").replace("gpu_async.", "gpu.")
        self.text.append(self.pad + line)

    def constant(self, value, type="i32"):
        name = self.fresh()
        self.add("%s = arith.constant %d : %s" % (name, value, type))
        return name

    def take(self, tokens):
        tokens = list(tokens)
        if self.tokens and self.rng.random() < 0.2:
            tokens.append(self.rng.choice(self.tokens))
        if len(tokens) > 1 and self.rng.random() < 0.3:
            join = self.fresh()
            self.add("%s = gpu_async.wait async [%s]" % (join, ", ".join(tokens)))
            tokens = [join]
        return " [%s]" % ", ".join(tokens) if tokens else ""

    def update(self):
        """One launch; returns what it does to the values."""
        rng = self.rng
        y = rng.randrange(self.count)
        x = rng.randrange(self.count)
        c, times = rng.randint(-100, 100), rng.choice([1, 1, 2, 1000, 300000])
        taken = self.writer[y] + self.readers[y] + (self.writer[x] if x != y else [])
        constants = self.constant(c), self.constant(times)
        isSync = self.isSync()
        dependencies = "" if isSync else self.take(dict.fromkeys(taken))
        token = self.fresh()
        made = "" if isSync else token + " = "
        self.add("%sgpu_async.launch%s%s @k::@%s blocks in (%%c1, %%c1, %%c1) threads in (%%c4, %%c1, %%c1) "
                 "args(%%m%d : memref<4xi32>, %%m%d : memref<4xi32>, %s : i32, %s : i32)"
                 % (made, "" if isSync else " async", dependencies, rng.choice(["quick", "slow", "slow"]), y, x, *constants))
        self.writer[y], self.readers[y] = [] if isSync else [token], []
        if x != y and not isSync:
            self.readers[x].append(token)
        if not isSync:
            self.tokens.append(token)

        def apply():
            power = pow(3, times, 1 << 33)
            self.values[y] = [(power * v + (power - 1) // 2 * (5 * w + c)) & 0xFFFFFFFF
                              for v, w in zip(self.values[y], self.values[x])]

        return apply

    def outstanding(self):
        return list(dict.fromkeys(t for list in self.writer + self.readers for t in list))

    def waitForAll(self):
        tokens = self.outstanding()
        if tokens:
            self.add("gpu_async.wait [%s]" % ", ".join(tokens))
        self.forget()

    def forget(self):
        self.writer, self.readers = [[] for _ in self.values], [[] for _ in self.values]
        self.tokens = []

    def body(self):
        before, self.pad = self.pad, self.pad + "  "
        updates = [self.update() for _ in range(self.rng.randint(1, 5))]
        self.waitForAll()
        self.pad = before
        return updates

    def make(self):
        rng = self.rng
        self.add("%c0 = arith.constant 0 : index")
        self.add("%c1 = arith.constant 1 : index")
        self.add("%c4 = arith.constant 4 : index")
        for index in range(self.count):
            shared = " host_shared" if rng.random() < 0.2 else ""
            allocated, token = self.fresh(), self.fresh()
            self.add("%%m%d, %s = gpu_async.alloc async%s () : memref<4xi32>" % (index, allocated, shared))
            value = rng.randint(0, 9)
            self.add("%s = gpu_async.memset async [%s] %%m%d, %s : memref<4xi32>, i32"
                     % (token, allocated, index, self.constant(value)))
            self.values[index] = [value] * SIZE
            self.writer[index] = [token]
        for _ in range(rng.randint(5, 40)):
            what = rng.random()
            if what < 0.85:
                self.update()()
            elif what < 0.93:
                token = rng.choice(self.tokens) if self.tokens else None
                if token:
                    self.add("gpu_async.wait [%s]" % token)
            elif what < 0.97:
                self.waitForAll()
                trips = rng.randint(0, 4)
                bound = self.constant(trips, "index")
                self.add("scf.for %s = %%c0 to %s step %%c1 {" % (self.fresh(), bound))
                updates = self.body()
                self.add("}")
                for _ in range(trips):
                    for apply in updates:
                        apply()
            else:
                self.waitForAll()
                taken = rng.randrange(2)
                condition = self.fresh()
                self.add("%s = arith.constant %s" % (condition, "true" if taken == 0 else "false"))
                self.add("scf.if %s {" % condition)
                ways = [self.body()]
                self.add("} else {")
                ways.append(self.body())
                self.add("}")
                for apply in ways[taken]:
                    apply()
        copies = []
        for index in range(self.count):
            self.add("%%h%d = memref.alloc() : memref<4xi32>" % index)
            copied, freed = self.fresh(), self.fresh()
            if self.isSync():
                self.add("gpu_async.memcpy %%h%d, %%m%d : memref<4xi32>, memref<4xi32>" % (index, index))
                self.add("gpu_async.dealloc %%m%d : memref<4xi32>" % index)
                continue
            self.add("%s = gpu_async.memcpy async%s %%h%d, %%m%d : memref<4xi32>, memref<4xi32>"
                     % (copied, self.take(self.writer[index]), index, index))
            self.add("%s = gpu_async.dealloc async [%s] %%m%d : memref<4xi32>"
                     % (freed, ", ".join([copied] + self.readers[index]), index))
            copies += [copied] if rng.random() < 0.5 else [freed]
        if copies:
            self.add("gpu_async.wait [%s]" % ", ".join(copies))
        for index in range(self.count):
            self.add("%%u%d = memref.cast %%h%d : memref<4xi32> to memref<*xi32>" % (index, index))
            self.add("call @printMemrefI32(%%u%d) : (memref<*xi32>) -> ()" % index)
            self.add("memref.dealloc %%h%d : memref<4xi32>" % index)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_runner")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--max-streams", type=int, action="append")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--dialect", choices=["gpu_async", "gpu"], default="gpu_async")
    parser.add_argument("--output", help="keep the programs in this file")
    options = parser.parse_args()
    print("random-order: --seed=%d --programs=%d" % (options.seed, options.programs))
    rng = random.Random(options.seed)
    programs = [Program(rng, i, options.dialect == "gpu") for i in range(options.programs)]
    text = ["module attributes {gpu.container_module} {", HEADER]
    for program in programs:
        text += ["func.func @p%d() {" % program.number] + program.text + ["  return", "}"]
    text += ["func.func @main() {"] + ["  call @p%d() : () -> ()" % p.number for p in programs] + ["  return", "}", "}"]
    expected = []
    for program in programs:
        expected += [(program.number, index, values) for index, values in enumerate(program.values)]
    with (open(options.output, "w") if options.output else tempfile.NamedTemporaryFile("w", suffix=".mlir")) as file:
        file.write("\n".join(text))
        file.flush()
        failures = 0
        for limit in options.max_streams or [1, 2, 8]:
            for _ in range(options.repeat):
                result = subprocess.run(
                    [options.gpu_runner, "--device=" + options.device, "--max-streams=%d" % limit,
                     "--leak-check=error", "--timeout=60", file.name], capture_output=True, text=True)
                if result.returncode:
                    print(result.stderr[:4000])
                    sys.exit("gpu-runner --max-streams=%d: exit code %d" % (limit, result.returncode))
                printed = re.findall(r"\[(-?\d+), +(-?\d+), +(-?\d+), +(-?\d+)\]", result.stdout)
                if len(printed) != len(expected):
                    sys.exit("%d buffers printed, expected %d" % (len(printed), len(expected)))
                for (program, index, values), got in zip(expected, printed):
                    if [int(v) & 0xFFFFFFFF for v in got] != values:
                        failures += 1
                        print("--max-streams=%d @p%d buffer %d: %s, expected %s" % (limit, program, index, got, values))
            print("max-streams=%d: %d buffers compared" % (limit, len(expected)))
    if failures:
        sys.exit("%d buffers differ" % failures)


main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random token programs, and a check of the stream form that gpu-opt makes of
# them. The check shares no code with the compiler: it knows the program from
# the generator and executes the printed streams and events as sets of past work.
#
#   check-order.py GPU_OPT [--seed=N] [--functions=N] [--max-streams=N]...
#
# Checked on each path tried, for every op: what its tokens stand for is in its
# past (lost order); for --max-streams=0 nothing else is (added order), unless the path
# goes through a loop of blocks or twice around another one, since streams are
# used again there. A host wait covers exactly
# its tokens' past. Streams and events are destroyed once and not used after;
# `idle` holds. At return all work is done, but for what results cover.

import argparse
import random
import re
import subprocess
import sys

LAUNCH, ALLOC, SHARED, DEALLOC, WAIT, JOIN, FOR, IF = range(8)


class Stmt:
    def __init__(self, kind, deps=(), bodies=(), name=None, pointer=None):
        self.kind, self.deps, self.bodies = kind, list(deps), list(bodies)
        self.name, self.pointer = name, pointer


class Function:
    """A program: blocks of statements, with their successors."""

    def __init__(self, rng, number):
        self.rng, self.number, self.names = rng, number, 0
        self.blocks, self.successors, self.results = [], [], []
        self.pointers = rng.choice([0] * 7 + [1, 1, 2])
        self.arguments = ["%%t%d" % i for i in range(rng.choice([0, 0, 1, 2]))]
        count = 1  # other blocks are lifted before (gpu-async-structure-control-flow)
        for index in range(count):
            tokens = list(self.arguments) if index == 0 else []
            length = rng.randint(0, 6 if count > 1 else 24)
            self.blocks.append(self.make_block(tokens, length, 0))
            if index == count - 1:
                self.successors.append([])
            elif count > 1:
                later = lambda: rng.randrange(1, count)
                self.successors.append(
                    [index + 1] if rng.random() < 0.3 else [later(), index + 1][:: rng.choice([1, -1])])
            if index == count - 1:
                made = [t for t in tokens if t != "ready"]
                if rng.random() < 0.3 and made:
                    for _ in range(rng.randint(1, 3)):
                        self.results.append(rng.choice(made))
        self.onCycle = {i for i in range(count) if i in self.reach(i)}
        self.layout = list(range(1, count))
        rng.shuffle(self.layout)

    def reach(self, index):
        reached, pending = set(), [index]
        while pending:
            for successor in self.successors[pending.pop()]:
                if successor not in reached:
                    reached.add(successor)
                    pending.append(successor)
        return reached

    def make_block(self, tokens, length, depth):
        rng, stmts = self.rng, []
        memory = []
        spread = rng.choice([1, 3, 100])  # how far back tokens are taken from
        for _ in range(length):
            kind = rng.choices([LAUNCH, ALLOC, SHARED, DEALLOC, WAIT, JOIN, FOR, IF],
                               [10, 3, 1, 3, 1.5, 2, 0.5 if depth < 2 else 0, 0.5 if depth < 2 else 0])[0]
            recent = tokens[-8 * spread:] if spread < 100 else tokens
            some = rng.sample(recent, min(len(recent), rng.choice([0, 1, 1, 1, 2, 2, 3, 5])))
            if kind in (FOR, IF):
                bodies = [self.make_block([], rng.randint(1, 5), depth + 1)
                          for _ in range(1 if kind == FOR else rng.choice([1, 2]))]
                stmts.append(Stmt(kind, bodies=bodies))
                continue
            if kind == WAIT and not some:
                continue
            if kind == DEALLOC and not memory:
                kind = LAUNCH
            pointer = None
            if kind == LAUNCH and self.pointers and rng.random() < 0.3:
                pointer = rng.randrange(self.pointers)
            self.names += 1
            stmt = Stmt(kind, some, name="%%v%d" % self.names, pointer=pointer)
            if kind == DEALLOC:
                stmt.memory = memory.pop(rng.randrange(len(memory)))
            if kind in (ALLOC, SHARED):
                stmt.memory = "%%m%d" % self.names
                memory.append(stmt.memory)
            stmts.append(stmt)
            if kind != WAIT:
                tokens.append(stmt.name)
        return stmts

    def emit_block(self, stmts, out, pad):
        sizes = "blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xi32>)"
        for stmt in stmts:
            taken = " [%s]" % ", ".join(stmt.deps) if stmt.deps else ""
            kind = stmt.kind
            if kind == LAUNCH:
                on = " on %%s%d" % stmt.pointer if stmt.pointer is not None else ""
                out.append("%s%s = gpu_async.launch async%s%s @k::@f %s" % (pad, stmt.name, taken, on, sizes))
            elif kind in (ALLOC, SHARED):
                out.append("%s%s, %s = gpu_async.alloc async%s%s () : memref<4xi32>" % (
                    pad, stmt.memory, stmt.name, taken, " host_shared" if kind == SHARED else ""))
            elif kind == DEALLOC:
                out.append("%s%s = gpu_async.dealloc async%s %s : memref<4xi32>" % (pad, stmt.name, taken, stmt.memory))
            elif kind == WAIT:
                out.append("%sgpu_async.wait%s" % (pad, taken))
            elif kind == JOIN:
                out.append("%s%s = gpu_async.wait async%s" % (pad, stmt.name, taken))
            else:
                out.append(pad + ("scf.for %%i%d = %%c0 to %%n step %%c1 {" % self.fresh() if kind == FOR else "scf.if %c {"))
                self.emit_block(stmt.bodies[0], out, pad + "  ")
                if len(stmt.bodies) > 1:
                    out.append(pad + "} else {")
                    self.emit_block(stmt.bodies[1], out, pad + "  ")
                out.append(pad + "}")

    def fresh(self):
        self.names += 1
        return self.names

    def emit(self):
        arguments = ["%s: !gpu_async.token" % a for a in self.arguments]
        arguments += ["%%p%d: !llvm.ptr" % i for i in range(self.pointers)]
        arguments += ["%x: memref<4xi32>", "%n: index", "%c: i1"]
        types = ", ".join(["!gpu_async.token"] * len(self.results))
        out = ["func.func @f%d(%s)%s {" % (self.number, ", ".join(arguments), " -> (%s)" % types if types else "")]
        out += ["  %c0 = arith.constant 0 : index", "  %c1 = arith.constant 1 : index"]
        out += ["  %%s%d = gpu_async.stream.external %%p%d : !llvm.ptr" % (i, i) for i in range(self.pointers)]
        for index in [0] + self.layout:
            if index:
                out.append("^b%d:" % index)
            self.emit_block(self.blocks[index], out, "  ")
            successors = self.successors[index]
            if not successors:
                out.append("  return" + (" %s : %s" % (", ".join(self.results), types) if types else ""))
            elif len(successors) == 1:
                out.append("  cf.br ^b%d" % successors[0])
            else:
                out.append("  cf.cond_br %%c, ^b%d, ^b%d" % tuple(successors))
        return out + ["}"]


class Decisions:
    """What branches and loops do, the same for the program and the form."""

    def __init__(self, seed):
        self.rng, self.steps = random.Random(seed), 0

    def trips(self):
        return self.rng.choice([0, 1, 1, 2, 3])

    def branch(self):
        return self.rng.randrange(2)

    def stop(self):
        self.steps += 1
        return self.steps > 40


class Model:
    """What the program means. Work is numbered as it is enqueued; arguments are
    the first numbers. Sets are bits of an integer."""

    def __init__(self, function, decisions):
        self.function, self.decisions = function, decisions
        self.time, self.shown = 0, []  # device time; per op: (kind, needs, past, host)
        self.past, self.direct, self.host, self.count = {}, {}, 0, 0
        self.lastOn, self.isAroundLoop, self.isComplete = {}, False, False
        for argument in function.arguments:
            self.past[argument] = self.direct[argument] = 1 << self.count
            self.time |= 1 << self.count
            self.count += 1
        self.waits = []
        index = 0
        while True:
            self.isAroundLoop |= index in function.onCycle
            self.run(function.blocks[index])
            successors = function.successors[index]
            if not successors:
                self.isComplete = True
                return
            if decisions.stop():
                return
            index = successors[decisions.branch() if len(successors) > 1 else 0]

    def run(self, stmts):
        for stmt in stmts:
            if stmt.kind in (FOR, IF):
                if stmt.kind == FOR:
                    trips = self.decisions.trips()
                    self.isAroundLoop |= trips > 1
                    for _ in range(trips):
                        self.run(stmt.bodies[0])
                else:
                    taken = self.decisions.branch()
                    if taken < len(stmt.bodies):
                        self.run(stmt.bodies[taken])
                continue
            past = direct = 0
            for dep in stmt.deps:
                past |= self.past[dep]
                direct |= self.direct[dep]
            if stmt.kind == WAIT:
                self.host |= past
                self.waits.append((self.count, direct))
                continue
            if stmt.kind == JOIN:
                self.past[stmt.name], self.direct[stmt.name] = past, direct
                continue
            if stmt.pointer is not None:
                before = self.lastOn.get(stmt.pointer, 0)
                past |= before
            bit = 1 << self.count
            self.count += 1
            self.shown.append((stmt.kind, direct, past | self.host, self.host))
            if stmt.kind == LAUNCH:
                self.time |= bit
            # Nobody waits for a free or a host-shared allocation.
            stands = stmt.kind in (LAUNCH, ALLOC)
            self.direct[stmt.name] = bit if stands else direct
            self.past[stmt.name] = past | (bit if stands else 0)
            if stmt.pointer is not None:
                self.lastOn[stmt.pointer] = past | bit


class Form:
    """The printed stream form of one function."""

    def __init__(self, lines):
        self.arguments = re.findall(r"(%\w+): (!?[\w.<>]+)", lines[0])
        self.blocks, self.names = {"entry": []}, ["entry"]
        self.creates = sum("stream.create" in line for line in lines)
        stack = [self.blocks["entry"]]
        for line in lines[1:]:
            line = line.split("//")[0].strip()
            if not line:
                continue
            label = re.match(r"\^(\w+)", line)
            if label:
                self.blocks[label[1]] = []
                stack = [self.blocks[label[1]]]
            elif line.startswith(("scf.for", "scf.if")):
                bodies = [[]]
                stack[-1].append((line[:6].strip(), bodies))
                stack += [bodies, bodies[0]]
            elif line.startswith("} else"):
                stack.pop()
                stack[-1].append([])
                stack.append(stack[-1][-1])
            elif line == "}":
                if len(stack) == 1:
                    continue
                stack.pop()
                stack.pop()
            else:
                stack[-1].append(line)


class Machine:
    """Executes the stream form."""

    def __init__(self, form, function, model, decisions, exact):
        self.form, self.model, self.decisions, self.exact = form, model, decisions, exact
        self.errors, self.redundant = [], 0
        self.past, self.events, self.gone = {}, {}, set()
        self.pointers = {}
        self.host, self.count, self.index = 0, 0, 0
        self.externalOrder = []
        for name, type in form.arguments:
            if type == "!gpu_async.event":
                self.events[name] = 1 << self.count
                self.count += 1
        self.argumentCount = self.count
        pointers = [name for name, type in form.arguments if type == "!llvm.ptr"]
        self.externals = {name: 0 for name in pointers}
        self.simPast = []
        block = "entry"
        while True:
            lines = form.blocks[block]
            self.run(lines[:-1])
            last = lines[-1]
            successors = re.findall(r"\^(\w+)", last)
            if not successors:
                self.leave(last)
                return
            if decisions.stop():
                return
            block = successors[decisions.branch() if len(successors) > 1 else 0]

    def error(self, text):
        self.errors.append(text)

    def stream(self, name):
        if name in self.gone or name not in self.past:
            self.error("use of %s, which is gone or was never made" % name)
        key = self.pointers.get(name)
        return self.externals[key] if key else self.past.get(name, 0)

    def setStream(self, name, value):
        key = self.pointers.get(name)
        if key:
            self.externals[key] = value
        else:
            self.past[name] = value

    def event(self, name):
        if name not in self.events:
            self.error("use of %s, which is gone or was never made" % name)
        return self.events.get(name, 0)

    def run(self, lines):
        for line in lines:
            if isinstance(line, tuple):
                kind, bodies = line
                if kind == "scf.fo":
                    for _ in range(self.decisions.trips()):
                        self.run(bodies[0])
                else:
                    taken = self.decisions.branch()
                    if taken < len(bodies):
                        self.run(bodies[taken])
                continue
            self.step(line)

    def step(self, line):
        names = re.findall(r"%\w+", line)
        if "stream.create" in line or "stream.external" in line:
            if names[0] in self.past and names[0] not in self.gone:
                self.error("%s is made again while alive" % names[0])
            self.gone.discard(names[0])
            self.past[names[0]] = 0
            if "external" in line:
                self.pointers[names[0]] = names[1]
        elif "stream.destroy" in line:
            past = self.stream(names[0])
            if " idle" in line and past & ~self.host:
                self.error("%s is not idle: %s" % (names[0], bits(past & ~self.host)))
            self.gone.add(names[0])
        elif "stream.wait" in line:
            past, event = self.stream(names[0]), self.event(names[1])
            if not event & ~(past | self.host):
                self.redundant += 1
            self.setStream(names[0], past | event)
        elif "stream.synchronize" in line:
            for name in names:
                if name in self.pointers:
                    self.error("waits for a caller's stream")
                self.host |= self.stream(name)
        elif "event.ready" in line:
            self.events[names[0]] = 0
        elif "event.record" in line:
            if names[0] in self.events:
                self.error("%s is recorded again while alive" % names[0])
            self.events[names[0]] = self.stream(names[1]) | self.host
        elif "event.destroy" in line:
            self.event(names[0])
            self.events.pop(names[0], None)
        elif "event.synchronize" in line:
            for name in names:
                self.host |= self.event(name)
        elif " id(" in line:
            self.enqueue(line)

    def enqueue(self, line):
        stream = re.search(r" on (%\w+) id\(", line)[1]
        start = self.stream(stream) | self.host
        bit = 1 << self.count
        number = self.count
        self.count += 1
        if self.index >= len(self.model.shown):
            return self.error("more work than in the program")
        kind, needs, allowed, host = self.model.shown[self.index]
        self.index += 1
        lost = needs & ~start
        if lost:
            self.error("lost order: %d after %s: %s" % (number, bits(lost), line))
        time = self.model.time
        if self.exact and kind == LAUNCH and start & time & ~allowed:
            self.error("added order: %d after %s: %s" % (number, bits(start & time & ~allowed), line))
        self.checkHost(host, "before %d" % number)
        self.setStream(stream, start | bit)

    def checkHost(self, host, where):
        time = self.model.time
        if host & ~self.host & time:
            self.error("the host does not wait for %s %s" % (bits(host & ~self.host), where))
        if self.exact and self.host & ~host & time:
            self.error("the host waits for %s too much %s" % (bits(self.host & ~host & time), where))

    def leave(self, line):
        if self.index != len(self.model.shown):
            self.error("less work than in the program")
        time = self.model.time & ~((1 << self.argumentCount) - 1)
        done = self.host
        results = re.findall(r"%\w+", line)
        for name, token in zip(results, self.model.function.results):
            event, past = self.event(name), self.model.past[token]
            self.events.pop(name, None)
            done |= event
            if self.model.direct[token] & ~event:
                self.error("result %s lacks %s" % (token, bits(self.model.direct[token] & ~event)))
            if self.exact and event & self.model.time & ~(past | self.host):
                self.error("result %s has %s" % (token, bits(event & self.model.time & ~past)))
        for past in self.externals.values():
            done |= past
        if time & ~done:
            self.error("left open at return: %s" % bits(time & ~done))
        alive = [n for n in self.past if n not in self.gone] + list(self.events)
        if alive:
            self.error("leaked: %s" % alive)


def bits(mask):
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_opt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--functions", type=int, default=300)
    parser.add_argument("--paths", type=int, default=4)
    parser.add_argument("--max-streams", type=int, action="append")
    parser.add_argument("--show", type=int, help="print this function before and after")
    parser.add_argument("--redundant", action="store_true", help="name the functions with waits that others imply")
    options = parser.parse_args()
    print("check-order: --seed=%d --functions=%d" % (options.seed, options.functions))
    rng = random.Random(options.seed)
    functions = [Function(rng, i) for i in range(options.functions)]
    text = ["gpu.module @k { gpu.func @f(%x: memref<4xi32>) kernel { gpu.return } }"]
    for function in functions:
        text += function.emit()
    failures = 0
    for limit in options.max_streams or [0, 1, 2, 8]:
        result = subprocess.run(
            [options.gpu_opt, "-", "-gpu-async-verify-form=form=token", "-gpu-async-make-forks-explicit",
             "-gpu-async-verify-form=form=linear", "-gpu-async-assign-streams=max-streams=%d" % limit,
             "-gpu-async-verify-form=form=stream", "-gpu-async-verify-schedule"],
            input="\n".join(text), capture_output=True, text=True)
        if result.returncode:
            print(result.stderr[:4000])
            sys.exit("gpu-opt --max-streams=%d: exit code %d" % (limit, result.returncode))
        chunks, current = {}, None
        for line in result.stdout.splitlines():
            start = re.match(r"  func.func @f(\d+)\(", line)
            if start:
                current = chunks.setdefault(int(start[1]), [])
            elif line == "  }":
                current = None
            if current is not None:
                current.append(line)
        redundant = ops = 0
        for function in functions:
            form = Form(chunks[function.number])
            errors = []
            if limit and not function.results and form.creates > limit:
                errors.append("%d streams" % form.creates)
            for path in range(options.paths):
                seed = function.number * 1000 + path
                model = Model(function, Decisions(seed))
                exact = limit == 0 and not model.isAroundLoop
                machine = Machine(form, function, model, Decisions(seed), exact)
                errors += machine.errors
                redundant += machine.redundant if exact else 0
                if options.redundant and exact and machine.redundant:
                    print("@f%d: %s" % (function.number, machine.redundant))
                ops += len(model.shown)
            if errors:
                failures += 1
                print("--max-streams=%d @f%d: %s" % (limit, function.number, errors[:3]))
            if options.show == function.number:
                print("\n".join(function.emit()))
                print("\n".join(chunks[function.number]))
        print("max-streams=%d: %d ops enqueued, %d waits that an earlier one implies" % (limit, ops, redundant))
    if failures:
        sys.exit("%d functions failed" % failures)


main()

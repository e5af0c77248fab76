# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Breaks schedules that gpu-opt has made, at random, and checks that
# gpu-async-verify-schedule sees it.
#
#   mutate-schedule.py GPU_OPT [--seed=N] [--functions=N] [--mutants=N]
#
# A mutant has one wait, host wait or record taken out, redirected or moved, one
# op on another stream, or one stream given back as `idle`. check-order.py, which
# shares no code with the compiler, executes it. Where a path loses what `after`
# states, an `idle` stream is busy, or work is left open at a return, the pass has
# to say so. In straight-line code it has to say nothing else about `after`.

import argparse
import importlib.util
import os
import random
import re
import subprocess
import sys

spec = importlib.util.spec_from_file_location(
    "check_order", os.path.join(os.path.dirname(os.path.abspath(__file__)), "check-order.py"))
check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)

KINDS = {"after", "idle", "open"}  # what the pass is there to see


def indent(line):
    return len(line) - len(line.lstrip())


def visible(lines, at, pattern):
    """Names that a match of `pattern` defines and that line `at` can use."""
    names, depth = [], indent(lines[at])
    for line in reversed(lines[1:at]):
        if indent(line) > depth:
            continue
        depth = min(depth, indent(line))
        made = re.match(r" *(%%\w+) = gpu_async\.%s" % pattern, line)
        if made:
            names.append(made[1])
    return names


def other(rng, names, name):
    rest = [n for n in names if n != name]
    return rng.choice(rest) if rest else None


def mutate(rng, lines):
    """One change, described, or None."""
    lines = list(lines)
    places = [i for i, l in enumerate(lines) if re.search(
        r"stream\.wait|\.synchronize|event\.record|stream\.destroy| on %\w+ id\(", l)]
    if not places:
        return None
    at = rng.choice(places)
    line = lines[at]
    streams = visible(lines, at, r"stream\.create")
    names = re.findall(r"%[\w#]+", line)
    if "stream.wait" in line:
        what = rng.randrange(4)
        if what == 0:
            del lines[at]
        elif what == 1:
            event = other(rng, visible(lines, at, r"event\.record"), names[1])
            if not event:
                return None
            lines[at] = line[:line.index(", ")] + ", " + event
        elif what == 2:
            stream = other(rng, streams, names[0])
            if not stream:
                return None
            lines[at] = line.replace(names[0] + ",", stream + ",")
        elif what == 3:
            # Behind the next line, if that is an op of the same block.
            after = lines[at + 1]
            if indent(after) != indent(line) or not re.search(r" id\(|stream\.wait|event\.record", after):
                return None
            lines[at], lines[at + 1] = after, line
    elif ".synchronize" in line:
        if len(names) == 1 or rng.random() < 0.5:
            del lines[at]
        else:
            dropped = rng.choice(names)
            head = line[:line.index("%")]
            lines[at] = head + ", ".join(n for n in names if n != dropped)
    elif "event.record" in line:
        if rng.random() < 0.5:
            stream = other(rng, streams, names[1])
            if not stream:
                return None
            lines[at] = line.replace("on " + names[1], "on " + stream)
        else:
            # Before the op that it should be behind.
            before = lines[at - 1]
            if indent(before) != indent(line) or " id(" not in before:
                return None
            lines[at - 1], lines[at] = line, before
    elif "stream.destroy" in line:
        if line.endswith("idle"):
            return None
        lines[at] = line + " idle"
    else:
        stream = re.search(r" on (%\w+) id\(", line)[1]
        instead = other(rng, streams, stream)
        if not instead:
            return None
        lines[at] = line.replace(" on %s id(" % stream, " on %s id(" % instead)
    return lines, "%s -> %s" % (line.strip()[:80], lines[at].strip()[:80] if at < len(lines) else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_opt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--functions", type=int, default=100)
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--paths", type=int, default=4)
    parser.add_argument("--max-streams", type=int, default=0)
    parser.add_argument("--without", action="append", default=[])
    options = parser.parse_args()
    print("mutate-schedule: --seed=%d --functions=%d --mutants=%d" % (options.seed, options.functions, options.mutants))
    functions = check.make_functions(options.seed, options.functions, options.without)
    forms, error = check.assign(options.gpu_opt, functions, options.max_streams, False)
    if error:
        sys.exit(error)
    rng = random.Random(options.seed)
    entries = [f for f in functions if not f.isCallee]
    text, owner = [check.HEAD], {}
    for function in functions:
        if function.isCallee:
            text += forms[function.name].lines
    mutants = []
    for _ in range(options.mutants):
        function = rng.choice(entries)
        made = mutate(rng, forms[function.name].lines)
        if not made:
            continue
        lines, what = made
        head = lines[0].replace("@%s(" % function.name, "@m%d(" % len(mutants))
        for line in [head] + lines[1:]:
            text.append(line)
            owner[len(text)] = len(mutants)
        mutants.append((function, check.Form(lines), what))
    result = subprocess.run([options.gpu_opt, "-", "-gpu-async-verify-schedule", "-o", os.devnull],
                            input="\n".join(text), capture_output=True, text=True)
    said = {}
    for line, message in re.findall(r"^<stdin>:(\d+):\d+: error: (.*)", result.stderr, re.M):
        if int(line) not in owner:
            sys.exit("not a mutant: " + message)
        said.setdefault(owner[int(line)], []).append(message)
    expected = ("can start before", "says 'idle'", "leaves work behind")
    missed = wrong = lost = 0
    for number, (function, form, what) in enumerate(mutants):
        kinds, errors = set(), []
        for path in range(options.paths):
            seed = function.number * 1000 + path
            model = check.Model(function, check.Decisions(seed))
            changed = dict(forms)
            changed[function.name] = form
            machine = check.Machine(changed, function, model, check.Decisions(seed), False)
            kinds |= machine.kinds & KINDS
            errors += machine.errors
        messages = said.get(number, [])
        for message in messages:
            if not any(text in message for text in expected):
                sys.exit("@%s, %s: %s" % (function.name, what, message))
        lost += bool(kinds)
        # What a call waits for on the host orders more than the pass knows.
        isStraight = not any(isinstance(op, check.Region) or "call @" in op for op in form.body)
        if kinds and not messages:
            missed += 1
            print("missed: @%s, %s: %s" % (function.name, what, errors[:2]))
        elif isStraight and "after" not in kinds and any(expected[0] in m for m in messages):
            wrong += 1
            print("wrong: @%s, %s: %s" % (function.name, what, messages[:2]))
    print("%d mutants, %d that lose something, %d reported" % (len(mutants), lost, len(said)))
    if missed or wrong or not lost:
        sys.exit("%d missed, %d wrong" % (missed, wrong))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorts, scatters, scans and the like as loops over tensors: linalg has no such
operation, and the passes of JAX and of torch-mlir leave them as they are.

Each function here makes the text of a function @NAME that computes the operation;
where it calls @NAME.region0 and so on, `define` puts what the operation's regions
compute of numbers. It is for both packages, whose bindings of MLIR are alike: `ir`
is the one's.
"""

import math

from . import places

# Threads among which a GPU shares what one thread of a CPU does in turn.
GPU_THREADS = 16384


def operations(op):
    """All operations below, the innermost first."""
    for region in op.regions:
        for block in region.blocks:
            for inner in list(block.operations):
                yield from operations(inner.operation)
                yield inner.operation


def typed(sizes, element):
    return "tensor<%s%s>" % ("".join("%dx" % size for size in sizes), element)


def commas(values):
    return ", ".join(map(str, values))


class Body:
    """Text of a function, a line at a time, with names that are not used yet."""

    def __init__(self):
        self.lines, self.count = [], 0

    def put(self, format, *values):
        self.count += 1
        name = "%%v%d" % self.count
        self.lines.append(name + " = " + format % values)
        return name

    def add(self, format, *values):
        self.lines.append(format % values if values else format)

    def index(self, value):
        return self.put("arith.constant %d : index", value)

    def text(self):
        return "\n".join(self.lines)


def function(name, arguments, results, body, returned, regions):
    """`regions`: for each the types of its arguments and results."""
    declared = "".join(
        "func.func private @%s.region%d(%s) -> (%s)\n" % (name, place, commas(given), commas(taken))
        for place, (given, taken) in enumerate(regions)
    )
    return "%sfunc.func private @%s(%s) -> (%s) {\n%s\nfunc.return %s : %s\n}" % (
        declared,
        name,
        commas("%s: %s" % each for each in arguments),
        commas(results),
        body,
        commas(returned),
        commas(results),
    )


def identity(rank):
    return "affine_map<(%s) -> (%s)>" % ((commas("d%d" % each for each in range(rank)),) * 2)


def call(body, name, place, given, given_types, taken_types):
    """The names of the results of a region."""
    body.count += 1
    base = "%%v%d" % body.count
    body.add(
        "%s:%d = func.call @%s.region%d(%s) : (%s) -> (%s)",
        base,
        len(taken_types),
        name,
        place,
        commas(given),
        commas(given_types),
        commas(taken_types),
    )
    return ["%s#%d" % (base, each) for each in range(len(taken_types))]


def sort(name, shape, elements, dim):
    """A bitonic sort of several arrays along a dimension. What compares equal keeps its order: the places decide
    then. region0: whether the first come before the second, or may, of a number of each array in turn."""
    size = shape[dim]
    arrays = [typed(shape, element) for element in elements]
    arguments = [("%%a%d" % place, array) for place, array in enumerate(arrays)]
    if 0 in shape or size == 1:
        return function(name, arguments, arrays, "", [each for each, _ in arguments], [])
    steps = (size - 1).bit_length()
    padded = list(shape)
    padded[dim] = 1 << steps
    kinds = elements + ["i32"]
    types = [typed(padded, kind) for kind in kinds]
    body = Body()
    zero, one, many = body.index(0), body.index(1), body.index(steps + 1)
    length, last = body.index(size), body.index(size - 1)
    empties = [body.put("tensor.empty() : %s", each) for each in types]

    def generic(inputs, result, inner):
        maps = commas([identity(len(shape))] * (len(inputs) + len(types)))
        ins = "ins(%s : %s) " % (commas(inputs), commas(types)) if inputs else ""
        body.add(
            "%s:%d = linalg.generic {indexing_maps = [%s], iterator_types = [%s]} %souts(%s : %s) {",
            result,
            len(types),
            maps,
            commas(['"parallel"'] * len(shape)),
            ins,
            commas(empties),
            commas(types),
        )
        names = ["%%in%d" % each for each in range(len(inputs))]
        body.add(
            "^bb0(%s):",
            commas(
                ["%s: %s" % each for each in zip(names, kinds)] + ["%%out%d: %s" % each for each in enumerate(kinds)]
            ),
        )
        at = [body.put("linalg.index %d : index", each) for each in range(len(shape))]
        body.add("linalg.yield %s : %s", commas(inner(names, at)), commas(kinds))
        body.add("} -> (%s)", commas(types))
        return ["%s#%d" % (result, each) for each in range(len(types))]

    def read(arrays, kinds, at, place):
        at = at[:dim] + [place] + at[dim + 1 :]
        return [body.put("tensor.extract %s[%s] : %s", array, commas(at), kind) for array, kind in zip(arrays, kinds)]

    def begin(names, at):
        place = body.put("arith.minsi %s, %s : index", at[dim], last)
        return read([each for each, _ in arguments], arrays, at, place) + [
            body.put("arith.index_cast %s : index to i32", at[dim])
        ]

    def loop(result, variable, bound, given, names):
        pairs = ["%s = %s" % each for each in zip(names, given)]
        body.add(
            "%s:%d = scf.for %s = %s to %s step %s iter_args(%s) -> (%s) {",
            result,
            len(types),
            variable,
            bound[0],
            bound[1],
            one,
            commas(pairs),
            commas(types),
        )
        return names

    values = generic([], "%begin", begin)
    outer = loop("%sorted", "%s", (one, many), values, ["%%x%d" % each for each in range(len(types))])
    inner = loop("%merged", "%u", (zero, "%s"), outer, ["%%y%d" % each for each in range(len(types))])
    half = body.put("arith.subi %%s, %s : index", one)
    half = body.put("arith.subi %s, %%u : index", half)
    half = body.put("arith.shli %s, %s : index", one, half)
    run = body.put("arith.shli %s, %%s : index", one)
    half = body.put("arith.index_cast %s : index to i32", half)
    run = body.put("arith.index_cast %s : index to i32", run)

    def exchange(own, at):
        number = body.put("arith.index_cast %s : index to i32", at[dim])
        partner = body.put("arith.xori %s, %s : i32", number, half)
        other = read(inner, types, at, body.put("arith.index_cast %s : i32 to index", partner))
        pairs = lambda a, b: [each for pair in zip(a[:-1], b[:-1]) for each in pair]
        given = [each for element in elements for each in (element, element)]
        (before,) = call(body, name, 0, pairs(own, other), given, ["i1"])
        (behind,) = call(body, name, 0, pairs(other, own), given, ["i1"])
        limit = body.put("arith.index_cast %s : index to i32", length)
        first = body.put("arith.cmpi slt, %s, %s : i32", own[-1], other[-1])
        isPadding = body.put(
            "arith.cmpi sge, %s, %s : i32", body.put("arith.maxsi %s, %s : i32", own[-1], other[-1]), limit
        )
        isTied = body.put("arith.cmpi eq, %s, %s : i1", before, behind)
        isTied = body.put("arith.ori %s, %s : i1", isTied, isPadding)
        isBefore = body.put("arith.select %s, %s, %s : i1", isTied, first, before)
        zero32 = body.put("arith.constant 0 : i32")
        isLower = body.put("arith.cmpi eq, %s, %s : i32", body.put("arith.andi %s, %s : i32", number, half), zero32)
        isRising = body.put("arith.cmpi eq, %s, %s : i32", body.put("arith.andi %s, %s : i32", number, run), zero32)
        isLeast = body.put("arith.cmpi eq, %s, %s : i1", isLower, isRising)
        stays = body.put("arith.cmpi eq, %s, %s : i1", isBefore, isLeast)
        return [
            body.put("arith.select %s, %s, %s : %s", stays, mine, theirs, kind)
            for mine, theirs, kind in zip(own, other, kinds)
        ]

    changed = generic(inner, "%changed", exchange)
    for result in changed, ["%%merged#%d" % each for each in range(len(types))]:
        body.add("scf.yield %s : %s", commas(result), commas(types))
        body.add("}")
    results = [
        body.put(
            "tensor.extract_slice %%sorted#%d[%s] [%s] [%s] : %s to %s",
            place,
            commas([0] * len(shape)),
            commas(shape),
            commas([1] * len(shape)),
            types[place],
            arrays[place],
        )
        for place in range(len(arrays))
    ]
    given = [each for element in elements for each in (element, element)]
    return function(name, arguments, arrays, body.text(), results, [(given, ["i1"])])


def first(name, shape, elements, dim, count):
    """What a sort would put first along a dimension: the first of each of about the square root of the length blocks,
    and then, for each row by a thread, the first of these again and again; the block that had it is searched anew.
    region0 is as for `sort`."""
    size = shape[dim]
    block = max(round(size**0.5), 1)
    blocks = -(-size // block)
    others = shape[:dim] + shape[dim + 1 :]
    arrays = [typed(shape, element) for element in elements]
    arguments = [("%%a%d" % place, array) for place, array in enumerate(arrays)]
    taken_shape = shape[:dim] + [count] + shape[dim + 1 :]
    firsts, order = typed(others + [blocks], "i32"), typed(others + [count], "i32")
    given = [each for element in elements for each in (element, element)]
    body = Body()

    def read(at, number):
        """The numbers at a place along the dimension; -1 is as good as 0."""
        place = body.put("arith.maxsi %s, %s : i32", number, body.put("arith.constant 0 : i32"))
        place = body.put("arith.index_cast %s : i32 to index", place)
        place = commas(at[:dim] + [place] + at[dim:])
        return [body.put("tensor.extract %s[%s] : %s", array, place, kind) for array, kind in arguments]

    def isBefore(at, one, other):
        pairs = lambda a, b: [each for pair in zip(a, b) for each in pair]
        mine, theirs = read(at, one), read(at, other)
        (before,) = call(body, name, 0, pairs(mine, theirs), given, ["i1"])
        (behind,) = call(body, name, 0, pairs(theirs, mine), given, ["i1"])
        isTied = body.put("arith.cmpi eq, %s, %s : i1", before, behind)
        return body.put(
            "arith.select %s, %s, %s : i1", isTied, body.put("arith.cmpi slt, %s, %s : i32", one, other), before
        )

    def search(at, range, prefix, candidate):
        """The first of the candidates in a range, which are numbers and whether they count; -1: there is none."""
        none = body.put("arith.constant -1 : i32")
        body.add(
            "%%%s = scf.for %%%si = %s to %s step %s iter_args(%%%sb = %s) -> (i32) {",
            *(prefix, prefix, *range, body.index(1), prefix, none)
        )
        number, counts = candidate("%%%si" % prefix)
        best = "%%%sb" % prefix
        isBetter = body.put("arith.cmpi slt, %s, %s : i32", best, body.put("arith.constant 0 : i32"))
        isBetter = body.put("arith.ori %s, %s : i1", isBetter, isBefore(at, number, best))
        isBetter = body.put("arith.andi %s, %s : i1", isBetter, counts)
        body.add("scf.yield %s : i32", body.put("arith.select %s, %s, %s : i32", isBetter, number, best))
        body.add("}")
        return "%" + prefix

    def range_of(place):
        begin = body.put("arith.muli %s, %s : index", place, body.index(block))
        end = body.put("arith.addi %s, %s : index", begin, body.index(block))
        return begin, body.put("arith.minsi %s, %s : index", end, body.index(size))

    def number_of(place):
        return body.put("arith.index_cast %s : index to i32", place)

    true = body.put("arith.constant true")
    empty = body.put("tensor.empty() : %s", firsts)
    at, outputs = parallel(body, "%firsts", others + [blocks], [empty], [firsts], "%b")
    best = search(at[:-1], range_of(at[-1]), "l", lambda place: (number_of(place), true))
    one = typed([1] * len(others) + [1], "i32")
    end_parallel(
        body,
        [body.put("tensor.from_elements %s : %s", best, one)],
        outputs,
        at,
        [1] * (len(others) + 1),
        [one],
        [firsts],
    )
    empty = body.put("tensor.empty() : %s", order)
    at, outputs = parallel(body, "%order", others, ["%firsts#0", empty], [firsts, order], "%e")
    at = at[: len(others)]
    lines = [typed([1] * len(others) + [length], "i32") for length in (blocks, count)]
    parts = [
        body.put(
            "tensor.extract_slice %s[%s] [%s] [%s] : %s to %s",
            *(
                output,
                commas(at + [0]),
                commas([1] * len(others) + [length]),
                commas([1] * (len(others) + 1)),
                whole,
                line,
            )
        )
        for output, length, whole, line in zip(outputs, (blocks, count), (firsts, order), lines)
    ]
    nest = Nest(body, [count], parts, lines, "r")
    zeros = [body.index(0)] * len(others)
    within = lambda place: commas(zeros + [place])

    def first_of(place):
        number = body.put("tensor.extract %s[%s] : %s", nest.names[0], within(place), lines[0])
        return number, body.put("arith.cmpi sge, %s, %s : i32", number, body.put("arith.constant 0 : i32"))

    found = search(at, (body.index(0), body.index(blocks)), "f", first_of)
    taken = body.put("tensor.insert %s into %s[%s] : %s", found, nest.names[1], within(nest.at[0]), lines[1])
    home = body.put("arith.index_cast %s : i32 to index", found)
    home = body.put("arith.divui %s, %s : index", home, body.index(block))

    def behind(place):
        number = number_of(place)
        return number, isBefore(at, found, number)

    again = search(at, range_of(home), "g", behind)
    left = body.put("tensor.insert %s into %s[%s] : %s", again, nest.names[0], within(home), lines[0])
    ends = nest.end([left, taken])
    body.add("scf.forall.in_parallel {")
    for part, output, length, whole, line in zip(ends, outputs, (blocks, count), (firsts, order), lines):
        body.add(
            "tensor.parallel_insert_slice %s into %s[%s] [%s] [%s] : %s into %s",
            *(
                part,
                output,
                commas(at + [0]),
                commas([1] * len(others) + [length]),
                commas([1] * (len(others) + 1)),
                line,
                whole,
            )
        )
    body.add("}")
    body.add("}")
    results = [typed(taken_shape, element) for element in elements]
    empties = [body.put("tensor.empty() : %s", each) for each in results]
    body.add(
        "%%taken:%d = linalg.generic {indexing_maps = [%s], iterator_types = [%s]} outs(%s : %s) {",
        *(len(results), commas([identity(len(shape))] * len(results)), commas(['"parallel"'] * len(shape))),
        *(commas(empties), commas(results))
    )
    body.add("^bb0(%s):", commas("%%out%d: %s" % each for each in enumerate(elements)))
    at = [body.put("linalg.index %d : index", each) for each in range(len(shape))]
    at_others = at[:dim] + at[dim + 1 :]
    number = body.put("tensor.extract %%order#1[%s] : %s", commas(at_others + [at[dim]]), order)
    body.add("linalg.yield %s : %s", commas(read(at_others, number)), commas(elements))
    body.add("} -> (%s)", commas(results))
    returned = ["%%taken#%d" % each for each in range(len(results))]
    return function(name, arguments, results, body.text(), returned, [(given, ["i1"])])


# More than so many of a sort's are sorted.
FEW = 32


def take_first(ir, op, dim):
    """How many are taken of a sort along a dimension, where that is few, and what takes them; else nothing."""
    users = [use.owner for result in op.results for use in result.uses]
    count = None
    for user in users:
        user = getattr(user, "operation", user)
        shape = list(ir.RankedTensorType(user.operands[0].type).shape)
        if user.name != "tensor.extract_slice" or any(size < 0 for size in shape) or len(user.operands) != 1:
            return None
        sizes = list(user.attributes["static_sizes"])
        if any(user.attributes["static_offsets"]) or set(user.attributes["static_strides"]) != {1}:
            return None
        kept = shape[:dim] + [sizes[dim]] + shape[dim + 1 :]
        if (
            sizes != kept
            or list(ir.RankedTensorType(user.results[0].type).shape) != kept
            or count not in (None, sizes[dim])
        ):
            return None
        count = sizes[dim]
    return (count, users) if count and count <= FEW and count * count <= shape[dim] else None


def clipped(body, places, sizes):
    """Places that may be outside, as ones that are not, and whether they were inside."""
    zero, inside, safe = body.index(0), None, []
    for place, size in zip(places, sizes):
        # As a number without sign, what is negative is large.
        fits = body.put("arith.cmpi ult, %s, %s : index", place, body.index(size))
        inside = fits if inside is None else body.put("arith.andi %s, %s : i1", inside, fits)
        safe.append(body.put("arith.select %s, %s, %s : index", fits, place, zero))
    return safe, inside or body.put("arith.constant true")


class Nest:
    """Loops in each other that carry values."""

    def __init__(self, body, sizes, begins, types, prefix):
        self.body, self.types, self.names = body, types, begins
        zero, one = body.index(0), body.index(1)
        self.at, self.results = [], []
        for depth, size in enumerate(sizes):
            variable, result = "%%%s%d" % (prefix, depth), "%%%s%dr" % (prefix, depth)
            names = ["%%%s%dc%d" % (prefix, depth, each) for each in range(len(types))]
            body.add(
                "%s:%d = scf.for %s = %s to %s step %s iter_args(%s) -> (%s) {",
                result,
                len(types),
                variable,
                zero,
                body.index(size),
                one,
                commas("%s = %s" % each for each in zip(names, self.names)),
                commas(types),
            )
            self.names = names
            self.at.append(variable)
            self.results.append(["%s#%d" % (result, each) for each in range(len(types))])

    def end(self, values):
        """The loops' results; `values` is what the innermost round hands on."""
        for results in reversed(self.results):
            self.body.add("scf.yield %s : %s", commas(values), commas(self.types))
            self.body.add("}")
            values = results
        return values


# A scatter of at least so many updates to an array of at most so many elements is a sum for each element.
MANY, MOST_SUMS = 64, 1 << 16


def sums(name, arguments, shape, element, indices, index, update, window_dims, inserted, batching, indices_batching,
         to_operand, vector_dim, fromEnd):
    """A scatter that adds, whose windows are single elements along the dimensions that the starts choose: each element
    of the array adds up the updates that are its own, which all of a GPU can share."""
    body = Body()
    array = typed(shape, element)
    scatter_dims = [dim for dim in range(len(update)) if dim not in window_dims]
    windowed = dict(zip([dim for dim in range(len(shape)) if dim not in inserted and dim not in batching], window_dims))
    place_in_indices = [dim for dim in range(len(indices)) if dim != vector_dim]
    batches = {dim: scatter_dims[place_in_indices.index(each)] for dim, each in zip(batching, indices_batching)}
    # Loops: the array's dimensions, and those of the updates that are not among them.
    loop_of = {each: dim for dim, each in {**windowed, **batches}.items()}
    rest = [dim for dim in range(len(update)) if dim not in loop_of]
    loop_of.update({dim: len(shape) + number for number, dim in enumerate(rest)})
    count = len(shape) + len(rest)
    map_of = lambda places: "affine_map<(%s) -> (%s)>" % (commas("d%d" % each for each in range(count)), commas(places))
    maps = []
    for number in range(len(to_operand)):
        at = ["d%d" % loop_of[dim] for dim in scatter_dims]
        if vector_dim < len(indices):
            at.insert(vector_dim, str(number))
        maps.append(map_of(at))
    maps.append(map_of("d%d" % loop_of[dim] for dim in range(len(update))))
    maps.append(map_of("d%d" % dim for dim in range(len(shape))))
    isFloat = element[0] in "bf"
    none = body.put("arith.constant %s : %s", "-0.0" if isFloat else "0", element)
    empty = body.put("tensor.empty() : %s", array)
    filled = body.put("linalg.fill ins(%s : %s) outs(%s : %s) -> %s", none, element, empty, array, array)
    starts = typed(indices, index)
    body.add(
        "%%sums = linalg.generic {indexing_maps = [%s], iterator_types = [%s]} ins(%s : %s) outs(%s : %s) {",
        commas(maps),
        commas(['"parallel"'] * len(shape) + ['"reduction"'] * len(rest)),
        commas(["%i"] * len(to_operand) + ["%u0"]),
        commas([starts] * len(to_operand) + [typed(update, element)]),
        filled,
        array,
    )
    names = ["%%s%d" % number for number in range(len(to_operand))]
    body.add("^bb0(%s):", commas(["%s: %s" % (each, index) for each in names] + ["%%v: %s, %%sum: %s" % (element, element)]))
    isMine = body.put("arith.constant true")
    for start, dim in zip(names, to_operand):
        start = body.put("arith.index_cast %s : %s to index", start, index) if index != "index" else start
        if fromEnd:
            isNegative = body.put("arith.cmpi slt, %s, %s : index", start, body.index(0))
            turned = body.put("arith.addi %s, %s : index", start, body.index(shape[dim]))
            start = body.put("arith.select %s, %s, %s : index", isNegative, turned, start)
        at = body.put("linalg.index %d : index", dim)
        isMine = body.put("arith.andi %s, %s : i1", isMine, body.put("arith.cmpi eq, %s, %s : index", start, at))
    value = body.put("arith.select %s, %%v, %s : %s", isMine, none, element)
    kind = "f" if isFloat else "i"
    body.add("linalg.yield %s : %s", body.put("arith.add%s %s, %%sum : %s", kind, value, element), element)
    body.add("} -> %s", array)
    body.add(
        "%%r = linalg.generic {indexing_maps = [%s], iterator_types = [%s]} ins(%%a0, %%sums : %s, %s) outs(%s : %s) {",
        commas([identity(len(shape))] * 3),
        commas(['"parallel"'] * len(shape)),
        *(array, array, empty, array)
    )
    body.add("^bb0(%%x: %s, %%y: %s, %%z: %s):", element, element, element)
    body.add("linalg.yield %s : %s", body.put("arith.add%s %%x, %%y : %s", kind, element), element)
    body.add("} -> %s", array)
    return function(name, arguments, [array], body.text(), ["%r"], [])


def cut_of(shape, dims, most):
    """The longest of the dimensions of an array, and into how many equal pieces it is cut: at most `most`, but for a
    length that has few divisors."""
    if not dims:
        return None, 1
    cut = max(dims, key=lambda dim: shape[dim])
    length = shape[cut]
    pieces = max((each for each in range(1, min(length, most) + 1) if length % each == 0), default=1)
    return cut, length if pieces < 64 and pieces < most and length <= 16 * most else pieces


def parallel(body, result, sizes, inits, types, prefix="%p"):
    """Begins an scf.forall; its indices, and what it writes to."""
    sizes = sizes or [1]
    at = ["%s%d" % (prefix, each) for each in range(len(sizes))]
    outputs = ["%so%d" % (prefix, each) for each in range(len(inits))]
    body.add(
        "%s:%d = scf.forall (%s) in (%s) shared_outs(%s) -> (%s) {",
        result,
        len(inits),
        commas(at),
        commas(sizes),
        commas("%s = %s" % each for each in zip(outputs, inits)),
        commas(types),
    )
    return at, outputs


def end_parallel(body, parts, outputs, offsets, sizes, part_types, types):
    body.add("scf.forall.in_parallel {")
    for part, output, part_type, type in zip(parts, outputs, part_types, types):
        body.add(
            "tensor.parallel_insert_slice %s into %s[%s] [%s] [%s] : %s into %s",
            part,
            output,
            commas(offsets),
            commas(sizes),
            commas([1] * len(sizes)),
            part_type,
            type,
        )
    body.add("}")
    body.add("}")


def scatter(
    name,
    shape,
    elements,
    indices,
    index,
    update,
    window_dims,
    inserted,
    batching,
    indices_batching,
    to_operand,
    vector_dim,
    fromEnd=False,
    threads=1,
    adds=False,
):
    """As stablehlo.scatter has it: `shape` and `elements` are the arrays', `indices` and `index` the shape and element
    type of the starts, `update` the shape of the updates. One thread takes the updates, in order, of what lies in its
    part of the window; others take those of other parts and batches. Where these are fewer than `threads`, the array
    is cut along a dimension that the starts choose, and each part has threads of its own, which go through all
    updates. Where region0 `adds`, and the array is small, the updates of each of its elements are a sum over all.
    `fromEnd`: negative starts count from the end. region0: of the old numbers and the updates' the new ones."""
    arrays, updates = [typed(shape, each) for each in elements], [typed(update, each) for each in elements]
    starts = typed(indices, index)
    arguments = (
        [("%%a%d" % each, array) for each, array in enumerate(arrays)]
        + [("%i", starts)]
        + [("%%u%d" % each, array) for each, array in enumerate(updates)]
    )
    scatter_dims = [dim for dim in range(len(update)) if dim not in window_dims]
    if (
        adds
        and threads > 1
        and set(to_operand) <= set(inserted)
        and math.prod(shape) <= MOST_SUMS
        and MANY <= math.prod(update[dim] for dim in scatter_dims)
    ):
        return sums(name, arguments, shape, elements[0], indices, index, update, window_dims, inserted, batching,
                    indices_batching, to_operand, vector_dim, fromEnd)
    body = Body()
    windowed = dict(zip([dim for dim in range(len(shape)) if dim not in inserted and dim not in batching], window_dims))
    # The dimension of the updates that is each batch's.
    place_in_indices = [dim for dim in range(len(indices)) if dim != vector_dim]
    batches = {dim: scatter_dims[place_in_indices.index(each)] for dim, each in zip(batching, indices_batching)}
    apart = {**{dim: each for dim, each in windowed.items() if dim not in to_operand}, **batches}
    apart = {dim: apart[dim] for dim in sorted(apart)}
    # One start after the other, as XLA takes them on a CPU: of windows that overlap the last one stays.
    in_turn = [dim for dim in scatter_dims + list(window_dims) if dim not in apart.values()]
    cut, pieces = cut_of(shape, to_operand, threads // max(1, math.prod(update[dim] for dim in apart.values())))

    at, outputs = parallel(
        body,
        "%r",
        [update[dim] for dim in apart.values()] + [pieces] * (pieces > 1),
        ["%%a%d" % each for each in range(len(arrays))],
        arrays,
    )
    coordinates = dict(zip(apart.values(), at))
    offsets = [coordinates[apart[dim]] if dim in apart else 0 for dim in range(len(shape))]
    sizes = [1 if dim in apart else size for dim, size in enumerate(shape)]
    if pieces > 1:
        sizes[cut] //= pieces
        offsets[cut] = body.put("arith.muli %s, %s : index", at[-1], body.index(sizes[cut]))
    parts = [typed(sizes, each) for each in elements]
    slices = [
        body.put(
            "tensor.extract_slice %s[%s] [%s] [%s] : %s to %s",
            output,
            commas(offsets),
            commas(sizes),
            commas([1] * len(shape)),
            array,
            part,
        )
        for output, array, part in zip(outputs, arrays, parts)
    ]
    nest = Nest(body, [update[dim] for dim in in_turn], slices, parts, "t")
    coordinates.update(zip(in_turn, nest.at))
    zero, inside = body.index(0), body.put("arith.constant true")
    starting = {}
    for number, dim in enumerate(to_operand):
        at_index = [coordinates[each] for each in scatter_dims]
        if vector_dim < len(indices):
            at_index.insert(vector_dim, body.index(number))
        start = body.put("tensor.extract %%i[%s] : %s", commas(at_index), starts)
        start = body.put("arith.index_cast %s : %s to index", start, index) if index != "index" else start
        if fromEnd:
            isNegative = body.put("arith.cmpi slt, %s, %s : index", start, zero)
            turned = body.put("arith.addi %s, %s : index", start, body.index(shape[dim]))
            start = body.put("arith.select %s, %s, %s : index", isNegative, turned, start)
        # A window that does not fit is left out as a whole.
        room = shape[dim] - (update[windowed[dim]] if dim in windowed else 1)
        fits = (
            body.put("arith.cmpi ule, %s, %s : index", start, body.index(room))
            if room >= 0
            else body.put("arith.constant false")
        )
        inside = body.put("arith.andi %s, %s : i1", inside, fits)
        starting[dim] = start
    places = []
    for dim in range(len(shape)):
        place = zero if dim in apart else coordinates[windowed[dim]] if dim in windowed else zero
        if dim in starting:
            place = body.put("arith.addi %s, %s : index", place, starting[dim])
        places.append(place)
    if pieces > 1:
        places[cut] = body.put("arith.subi %s, %s : index", places[cut], offsets[cut])
        isMine = body.put("arith.cmpi ult, %s, %s : index", places[cut], body.index(sizes[cut]))
        inside = body.put("arith.andi %s, %s : i1", inside, isMine)
    for dim in starting:
        places[dim] = body.put("arith.select %s, %s, %s : index", inside, places[dim], zero)
    # Nothing is read for the updates of other threads, which most are.
    if pieces > 1:
        body.add("%%next:%d = scf.if %s -> (%s) {", len(parts), inside, commas(parts))
    old = [body.put("tensor.extract %s[%s] : %s", each, commas(places), part) for each, part in zip(nest.names, parts)]
    new = [
        body.put("tensor.extract %%u%d[%s] : %s", each, commas(coordinates[dim] for dim in range(len(update))), array)
        for each, array in enumerate(updates)
    ]
    made = call(body, name, 0, old + new, elements * 2, elements)
    if pieces == 1:
        made = [body.put("arith.select %s, %s, %s : %s", inside, *each) for each in zip(made, old, elements)]
    next = [
        body.put("tensor.insert %s into %s[%s] : %s", value, into, commas(places), part)
        for value, into, part in zip(made, nest.names, parts)
    ]
    if pieces > 1:
        for values in (next, nest.names):
            body.add("scf.yield %s : %s", commas(values), commas(parts))
            body.add("} else {" if values is next else "}")
        next = ["%%next#%d" % each for each in range(len(parts))]
    result = nest.end(next)
    end_parallel(body, result, outputs, offsets, sizes, parts, arrays)
    if 0 in update or 0 in shape:
        return function(name, arguments, arrays, "", ["%%a%d" % each for each in range(len(arrays))], [])
    return function(
        name,
        arguments,
        arrays,
        body.text(),
        ["%%r#%d" % each for each in range(len(arrays))],
        [(elements * 2, elements)],
    )


def select_and_scatter(name, shape, element, source, window, strides, low):
    """As stablehlo.select_and_scatter has it: each window's choice, and then for each element what windows chose it.
    region0: whether the first of two stays chosen; region1: the sum of two."""
    operand, sources, chosen = typed(shape, element), typed(source, element), typed(source, "i32")
    one_chosen, one_element = typed([1] * len(shape), "i32"), typed([1] * len(shape), element)
    body = Body()

    def number(at):
        """That of a place in the window."""
        total = body.index(0)
        for place, size in zip(at, window):
            total = body.put(
                "arith.addi %s, %s : index", body.put("arith.muli %s, %s : index", total, body.index(size)), place
            )
        return body.put("arith.index_cast %s : index to i32", total)

    empty = body.put("tensor.empty() : %s", chosen)
    at, outputs = parallel(body, "%chosen", source, [empty], [chosen], "%c")
    none, init = body.put("arith.constant -1 : i32"), body.put("tensor.extract %%init[] : tensor<%s>", element)
    nest = Nest(body, window, [none, init], ["i32", element], "w")
    places = [
        body.put(
            "arith.subi %s, %s : index",
            body.put(
                "arith.addi %s, %s : index", body.put("arith.muli %s, %s : index", each, body.index(stride)), inner
            ),
            body.index(pad),
        )
        for each, stride, inner, pad in zip(at, strides, nest.at, low)
    ]
    places, inside = clipped(body, places, shape)
    value = body.put("tensor.extract %%x[%s] : %s", commas(places), operand)
    (stays,) = call(body, name, 0, [nest.names[1], value], [element] * 2, ["i1"])
    isFirst = body.put("arith.cmpi eq, %s, %s : i32", nest.names[0], none)
    true = body.put("arith.constant true")
    better = body.put("arith.ori %s, %s : i1", isFirst, body.put("arith.xori %s, %s : i1", stays, true))
    better = body.put("arith.andi %s, %s : i1", better, inside)
    result = nest.end(
        [
            body.put("arith.select %s, %s, %s : i32", better, number(nest.at), nest.names[0]),
            body.put("arith.select %s, %s, %s : %s", better, value, nest.names[1], element),
        ]
    )
    end_parallel(
        body,
        [body.put("tensor.from_elements %s : %s", result[0], one_chosen)],
        outputs,
        at,
        [1] * len(shape),
        [one_chosen],
        [chosen],
    )

    empty = body.put("tensor.empty() : %s", operand)
    at, outputs = parallel(body, "%r", shape, [empty], [operand], "%p")
    init = body.put("tensor.extract %%init[] : tensor<%s>", element)
    nest = Nest(body, window, [init], [element], "s")
    zero, exact, places = body.index(0), body.put("arith.constant true"), []
    for each, stride, inner, pad in zip(at, strides, nest.at, low):
        begin = body.put(
            "arith.subi %s, %s : index", body.put("arith.addi %s, %s : index", each, body.index(pad)), inner
        )
        width = body.index(stride)
        rest = body.put("arith.cmpi eq, %s, %s : index", body.put("arith.remsi %s, %s : index", begin, width), zero)
        exact = body.put("arith.andi %s, %s : i1", exact, rest)
        # Of a negative number that is no multiple this would be 0.
        places.append(body.put("arith.floordivsi %s, %s : index", begin, width))
    places, inside = clipped(body, places, source)
    choice = body.put("tensor.extract %%chosen#0[%s] : %s", commas(places), chosen)
    isMine = body.put("arith.cmpi eq, %s, %s : i32", choice, number(nest.at))
    isMine = body.put("arith.andi %s, %s : i1", isMine, body.put("arith.andi %s, %s : i1", exact, inside))
    given = body.put("tensor.extract %%source[%s] : %s", commas(places), sources)
    (total,) = call(body, name, 1, [nest.names[0], given], [element] * 2, [element])
    result = nest.end([body.put("arith.select %s, %s, %s : %s", isMine, total, nest.names[0], element)])
    end_parallel(
        body,
        [body.put("tensor.from_elements %s : %s", result[0], one_element)],
        outputs,
        at,
        [1] * len(shape),
        [one_element],
        [operand],
    )
    return function(
        name,
        [("%x", operand), ("%source", sources), ("%init", "tensor<%s>" % element)],
        [operand],
        body.text(),
        ["%r#0"],
        [([element] * 2, ["i1"]), ([element] * 2, [element])],
    )


def scan(name, shape, element, dim, inclusive, block):
    """All that is before each element along a dimension, combined: in blocks, each by itself, what comes before each
    block, and both together. The arguments are the array and, without this dimension, what begins, where not
    `inclusive`; the results the array and what ends. region0: of what is before and the next."""
    size = shape[dim]
    others = shape[:dim] + shape[dim + 1 :]
    array, edge = typed(shape, element), typed(others, element)
    count = -(-size // block)
    sums_shape = others + [count]
    sums, one = typed(sums_shape, element), typed([1] * len(sums_shape), element)
    body = Body()

    def combine(before, value, place):
        """From the second on, where nothing is before the first."""
        (total,) = call(body, name, 0, [before, value], [element] * 2, [element])
        if not inclusive:
            return total
        isFirst = body.put("arith.cmpi eq, %s, %s : index", place, body.index(0))
        return body.put("arith.select %s, %s, %s : %s", isFirst, value, total, element)

    def walk(at, first, last, begin, prefix, write):
        """Combines numbers of the array from `begin` on; `write` is told the place and what is before and with it."""
        body.add(
            "%%%s:2 = scf.for %%%si = %s to %s step %s iter_args(%%%sa = %s, %%%so = %s) -> (%s, %s) {",
            prefix,
            prefix,
            first,
            last,
            body.index(1),
            prefix,
            begin,
            prefix,
            write[1],
            element,
            write[2],
        )
        value = body.put("tensor.extract %%x[%s] : %s", commas(at[:dim] + ["%%%si" % prefix] + at[dim:]), array)
        total = combine("%%%sa" % prefix, value, "%%%si" % prefix)
        body.add(
            "scf.yield %s, %s : %s, %s",
            total,
            write[0]("%%%si" % prefix, "%%%sa" % prefix, total, "%%%so" % prefix),
            element,
            write[2],
        )
        body.add("}")
        return "%%%s#0" % prefix, "%%%s#1" % prefix

    def bounds(number):
        first = body.put("arith.muli %s, %s : index", number, body.index(block))
        last = body.put("arith.addi %s, %s : index", first, body.index(block))
        return first, body.put("arith.minsi %s, %s : index", last, body.index(size))

    # The sum of each block: of its first element and what follows.
    nothing = "i1"
    empty = body.put("tensor.empty() : %s", sums)
    at, outputs = parallel(body, "%sums", sums_shape, [empty], [sums], "%b")
    first, last = bounds(at[-1])
    begin = body.put("tensor.extract %%x[%s] : %s", commas(at[:dim] + [first] + at[dim:-1]), array)
    first = body.put("arith.addi %s, %s : index", first, body.index(1))
    total, _ = walk(
        at[:-1],
        first,
        last,
        begin,
        "l",
        (lambda place, old, new, carried: carried, body.put("arith.constant false"), nothing),
    )
    end_parallel(
        body, [body.put("tensor.from_elements %s : %s", total, one)], outputs, at, [1] * len(sums_shape), [one], [sums]
    )
    # What is before each block, and all.
    whole = body.put("tensor.empty() : %s", sums)
    ends = body.put("tensor.empty() : %s", edge)
    lines, single = typed([1] * len(others) + [count], element), typed([1] * len(others), element)
    at, outputs = parallel(body, "%before", others, [whole, ends], [sums, edge], "%e")
    at = at[: len(others)]
    begin = body.put("tensor.extract %%begin[%s] : %s", commas(at), edge)
    line = body.put(
        "tensor.extract_slice %s[%s] [%s] [%s] : %s to %s",
        outputs[0],
        commas(at + [0]),
        commas([1] * len(others) + [count]),
        commas([1] * len(sums_shape)),
        sums,
        lines,
    )
    zero = body.index(0)
    body.add(
        "%%k:2 = scf.for %%ki = %s to %s step %s iter_args(%%ka = %s, %%ko = %s) -> (%s, %s) {",
        zero,
        body.index(count),
        body.index(1),
        begin,
        line,
        element,
        lines,
    )
    put = body.put("tensor.insert %%ka into %%ko[%s] : %s", commas([zero] * len(others) + ["%ki"]), lines)
    value = body.put("tensor.extract %%sums#0[%s] : %s", commas(at + ["%ki"]), sums)
    total = combine("%ka", value, "%ki")
    body.add("scf.yield %s, %s : %s, %s", total, put, element, lines)
    body.add("}")
    end = body.put("tensor.from_elements %%k#0 : %s", single)
    body.add("scf.forall.in_parallel {")
    body.add(
        "tensor.parallel_insert_slice %%k#1 into %s[%s] [%s] [%s] : %s into %s",
        outputs[0],
        commas(at + [0]),
        commas([1] * len(others) + [count]),
        commas([1] * len(sums_shape)),
        lines,
        sums,
    )
    body.add(
        "tensor.parallel_insert_slice %s into %s[%s] [%s] [%s] : %s into %s",
        end,
        outputs[1],
        commas(at),
        commas([1] * len(others)),
        commas([1] * len(others)),
        single,
        edge,
    )
    body.add("}")
    body.add("}")
    # Each block again, from there on.
    padded_shape = shape[:dim] + [count * block] + shape[dim + 1 :]
    padded = typed(padded_shape, element)
    empty = body.put("tensor.empty() : %s", padded)
    at, outputs = parallel(body, "%all", sums_shape, [empty], [padded], "%f")
    first, last = bounds(at[-1])
    part_shape = [1] * dim + [block] + [1] * (len(shape) - dim - 1)
    part = typed(part_shape, element)
    offsets = at[:dim] + [first] + at[dim:-1]
    into = body.put(
        "tensor.extract_slice %s[%s] [%s] [%s] : %s to %s",
        outputs[0],
        commas(offsets),
        commas(part_shape),
        commas([1] * len(shape)),
        padded,
        part,
    )
    begin = body.put("tensor.extract %%before#0[%s] : %s", commas(at), sums)
    zero = body.index(0)

    def write(place, old, new, carried):
        inner = body.put("arith.subi %s, %s : index", place, first)
        return body.put(
            "tensor.insert %s into %s[%s] : %s",
            new if inclusive else old,
            carried,
            commas([zero] * dim + [inner] + [zero] * (len(shape) - dim - 1)),
            part,
        )

    _, made = walk(at[:-1], first, last, begin, "m", (write, into, part))
    end_parallel(body, [made], outputs, offsets, part_shape, [part], [padded])
    cut = body.put(
        "tensor.extract_slice %%all#0[%s] [%s] [%s] : %s to %s",
        commas([0] * len(shape)),
        commas(shape),
        commas([1] * len(shape)),
        padded,
        array,
    )
    return function(
        name,
        [("%x", array), ("%begin", edge)],
        [array, edge],
        body.text(),
        [cut, "%before#1"],
        [([element] * 2, [element])],
    )


def substitute(op, values):
    """Replaces operands of an operation, and of those in it."""
    for place, operand in enumerate(op.operands):
        if operand in values:
            op.operands[place] = values[operand]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                substitute(inner.operation, values)


def is_of(kind, value):
    """Bindings differ in how they say it."""
    return kind.isinstance(value) if hasattr(kind, "isinstance") else isinstance(value, kind)


def compute(ir, block, given, where):
    """Clones in front of an operation what a region computes of numbers: its arguments are numbers, or tensors
    without dimensions. A ValueError if it does more."""
    values = dict(zip(block.arguments, given))

    def number(value):
        if value in values:
            return values[value]
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.name in ("arith.constant", "complex.constant"):
            with ir.InsertionPoint(where):
                attribute = owner.attributes["value"]
                if is_of(ir.RankedTensorType, value.type):
                    element = ir.RankedTensorType(value.type).element_type
                    attribute = ir.DenseElementsAttr(attribute).get_splat_value()
                    made = ir.Operation.create(owner.name, results=[element], attributes={"value": attribute})
                else:
                    made = owner.clone()
                values[value] = made.results[0]
                return made.results[0]
        raise ValueError("it uses a value from around it")

    def clone(op):
        made = op.clone(ir.InsertionPoint(where))
        outer = {}

        def collect(inner):
            for operand in inner.operands:
                owner = operand.owner
                if operand in values:
                    outer[operand] = values[operand]
                elif not isinstance(owner, ir.Block) and owner.name == "arith.constant":
                    outer[operand] = number(operand)
            for region in inner.regions:
                for each in region.blocks:
                    for one in each.operations:
                        collect(one.operation)

        collect(op)
        substitute(made, outer)
        values.update(zip(op.results, made.results))

    for op in [each.operation for each in block.operations]:
        if op.name == "linalg.generic":
            inner = op.regions[0].blocks[0]
            if any("parallel" in str(each) or "reduction" in str(each) for each in op.attributes["iterator_types"]):
                raise ValueError("it computes with arrays")
            for argument, operand in zip(inner.arguments, op.operands):
                # A destination that nothing reads has no value.
                if len(list(argument.uses)):
                    values[argument] = number(operand)
            for each in [one.operation for one in inner.operations]:
                if each.name == "linalg.yield":
                    values.update(zip(op.results, [number(value) for value in each.operands]))
                else:
                    clone(each)
        elif op.name in ("tensor.extract", "tensor.from_elements", "tensor.collapse_shape", "tensor.cast"):
            values[op.results[0]] = number(op.operands[0])
        elif op.name == "tensor.empty":
            continue
        elif op.name in ("stablehlo.return", "tm_tensor.yield"):
            return [number(value) for value in op.operands]
        elif op.name.startswith(("arith.", "math.", "complex.", "index.")):
            if op.name != "arith.constant":
                clone(op)
        else:
            raise ValueError("it has " + op.name)
    raise ValueError("it has no end")


def is_addition(region):
    """Whether a region adds up two numbers, in any order: by an operation of arith, or in a linalg.generic."""
    block = region.blocks[0]
    operations = [each.operation for each in block.operations if each.operation.name != "tensor.empty"]
    if len(operations) != 2 or list(operations[1].operands) != list(operations[0].results):
        return False
    if list(operations[0].operands)[:2] not in (list(block.arguments)[:2], list(block.arguments)[1::-1]):
        return False
    if operations[0].name == "linalg.generic":
        return len(operations[0].operands) == 3 and is_addition(operations[0].regions[0])
    return operations[0].name in ("arith.addf", "arith.addi")


def define(ir, module, text, op, operands, order=list):
    """Puts the function into the module and a call of it in place of `op`, whose regions it computes; `order` puts
    what these are called with in the order of their arguments."""
    parsed = ir.Module.parse(text)
    made = None
    for function in parsed.body.operations:
        if function.regions[0].blocks:
            made = function.operation.clone(ir.InsertionPoint(module.body))
    name = ir.StringAttr(made.attributes["sym_name"]).value
    places.give(op.location, made)

    def calls(inner):
        for region in inner.regions:
            for block in region.blocks:
                for each in list(block.operations):
                    yield from calls(each.operation)
                    if each.operation.name == "func.call":
                        yield each.operation

    for call in list(calls(made)):
        place = int(ir.FlatSymbolRefAttr(call.attributes["callee"]).value.rpartition("region")[2])
        for old, new in zip(call.results, compute(ir, op.regions[place].blocks[0], order(call.operands), call)):
            old.replace_all_uses_with(new)
        call.erase()
    types = ir.FunctionType(ir.TypeAttr(made.attributes["function_type"]).value).results
    with op.location, ir.InsertionPoint(op):
        call = ir.Operation.create(
            "func.call", results=types, operands=operands, attributes={"callee": ir.FlatSymbolRefAttr.get(name)}
        )
    for old, new in zip(op.results, call.results):
        if old.type == new.type:
            old.replace_all_uses_with(new)
            continue
        # A part of it, which is taken from it in any case.
        for use in list(old.uses):
            user = getattr(use.owner, "operation", use.owner)
            user.results[0].replace_all_uses_with(new)
            user.erase()
    op.erase()

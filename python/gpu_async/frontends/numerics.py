# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cholesky factors and triangular systems as loops over tensors, made as loops.py
makes its own. A system is one thread's for each right-hand side.
"""

from .loops import Body, commas, end_parallel, function, parallel, typed


class Arithmetic:
    """Operations on numbers of a type, real or complex."""

    def __init__(self, body, element):
        self.body, self.element, self.isComplex = body, element, element.startswith("complex")
        self.part = element[len("complex<") : -1] if self.isComplex else element

    def __call__(self, operation, *values):
        dialect, end = ("complex", "") if self.isComplex else ("arith", "f")
        return self.body.put("%s.%s%s %s : %s", dialect, operation, end, commas(values), self.element)

    def add_up(self, sum, value):
        """Of a sum that may be taken in any order, in several registers at a time."""
        if self.isComplex:
            return self("add", sum, value)
        return self.body.put("arith.addf %s, %s fastmath<reassoc> : %s", sum, value, self.element)

    def conjugate(self, value):
        return self.body.put("complex.conj %s : %s", value, self.element) if self.isComplex else value

    def square_root(self, value):
        """Of a number whose imaginary part would be 0 if nothing were rounded."""
        if not self.isComplex:
            return self.body.put("math.sqrt %s : %s", value, self.element)
        root = self.body.put("math.sqrt %s : %s", self.body.put("complex.re %s : %s", value, self.element), self.part)
        zero = self.body.put("arith.constant 0.0 : %s", self.part)
        return self.body.put("complex.create %s, %s : %s", root, zero, self.element)

    def zero(self):
        if self.isComplex:
            return self.body.put("complex.constant [0.0 : %s, 0.0 : %s] : %s", self.part, self.part, self.element)
        return self.body.put("arith.constant 0.0 : %s", self.element)

    def not_a_number(self):
        zero = self.body.put("arith.constant 0.0 : %s", self.part)
        nan = self.body.put("arith.divf %s, %s : %s", zero, zero, self.part)
        return self.body.put("complex.create %s, %s : %s", nan, nan, self.element) if self.isComplex else nan

    def is_positive(self, value):
        if self.isComplex:
            value = self.body.put("complex.re %s : %s", value, self.element)
        zero = self.body.put("arith.constant 0.0 : %s", self.part)
        return self.body.put("arith.cmpf ogt, %s, %s : %s", value, zero, self.part)


def cholesky(name, shape, element, lower):
    """A column of the factor after the other, its rows at once. The other triangle is zeros. A matrix that is not positive
    definite has no factor: all of the triangle is NaN."""
    array, one = typed(shape, element), typed([1] * len(shape), element)
    body = Body()
    compute = Arithmetic(body, element)
    size = shape[-1]
    zero, step = body.index(0), body.index(1)
    nothing, nan = compute.zero(), compute.not_a_number()
    empty = body.put("tensor.empty() : %s", array)
    begin = body.put("linalg.fill ins(%s : %s) outs(%s : %s) -> %s", nothing, element, empty, array, array)
    body.add(
        "%%r = scf.for %%j = %s to %s step %s iter_args(%%l = %s) -> (%s) {", zero, body.index(size), step, begin, array
    )
    at, outputs = parallel(body, "%column", shape[:-1], ["%l"], [array])
    batch, row = at[:-1], at[-1]

    def place(first, second):
        return commas(batch + ([first, second] if lower else [second, first]))

    body.add(
        "%%sums:2 = scf.for %%k = %s to %%j step %s iter_args(%%a = %s, %%b = %s) -> (%s, %s) {",
        zero,
        step,
        nothing,
        nothing,
        element,
        element,
    )
    mine = body.put("tensor.extract %s[%s] : %s", outputs[0], place(row, "%k"), array)
    top = body.put("tensor.extract %s[%s] : %s", outputs[0], place("%j", "%k"), array)
    product = compute("mul", mine, compute.conjugate(top))
    body.add(
        "scf.yield %s, %s : %s, %s",
        compute.add_up("%a", product),
        compute.add_up("%b", compute("mul", top, compute.conjugate(top))),
        element,
        element,
    )
    body.add("}")
    diagonal = compute("sub", body.put("tensor.extract %%x[%s] : %s", place("%j", "%j"), array), "%sums#1")
    isPositive = compute.is_positive(diagonal)
    diagonal = compute.square_root(diagonal)
    # NaN goes on to all columns behind.
    diagonal = body.put("arith.select %s, %s, %s : %s", isPositive, diagonal, nan, element)
    value = compute("sub", body.put("tensor.extract %%x[%s] : %s", place(row, "%j"), array), "%sums#0")
    value = compute("div", value, diagonal)
    isAbove = body.put("arith.cmpi ult, %s, %%j : index", row)
    isOn = body.put("arith.cmpi eq, %s, %%j : index", row)
    value = body.put("arith.select %s, %s, %s : %s", isOn, diagonal, value, element)
    value = body.put("arith.select %s, %s, %s : %s", isAbove, nothing, value, element)
    offsets = batch + ([row, "%j"] if lower else ["%j", row])
    end_parallel(
        body, [body.put("tensor.from_elements %s : %s", value, one)], outputs, offsets, [1] * len(shape), [one], [array]
    )
    body.add("scf.yield %%column#0 : %s", array)
    body.add("}")
    end = body.index(size - 1)
    at, outputs = parallel(body, "%whole", shape, ["%r"], [array])
    batch, (row, column) = at[:-2], at[-2:]
    last = body.put("tensor.extract %%r[%s] : %s", commas(batch + [end, end]), array)
    value = body.put("tensor.extract %s[%s] : %s", outputs[0], commas(at), array)
    isThere = compute.is_positive(last)
    isOutside = body.put("arith.cmpi %s, %s, %s : index", "ult" if lower else "ugt", row, column)
    isKept = body.put("arith.ori %s, %s : i1", isThere, isOutside)
    value = body.put("arith.select %s, %s, %s : %s", isKept, value, nan, element)
    end_parallel(body, [body.put("tensor.from_elements %s : %s", value, one)], outputs, at, [1] * len(shape), [one], [array])
    return function(name, [("%x", array)], [array], body.text(), ["%whole#0"], [])


def triangular_solve(name, shape, right, element, isLeft, isLower, isUnit, transposed):
    """As stablehlo.triangular_solve has it; `transposed` is "N", "T" or "C" with the numbers' conjugates."""
    matrix, array = typed(shape, element), typed(right, element)
    size, batches = shape[-1], len(shape) - 2
    # Of rows of the result, that is of a transposed system, where it is on the left.
    isTurned = (transposed != "N") != (not isLeft)
    isForward = isLower != isTurned
    body = Body()
    compute = Arithmetic(body, element)
    zero, one, count = body.index(0), body.index(1), body.index(size)
    empty = body.put("tensor.empty() : %s", array)
    at, outputs = parallel(body, "%r", right[:batches] + [right[-1] if isLeft else right[-2]], [empty], [array])
    batch, column = at[:-1], at[-1]
    ones = [1] * len(right)
    sizes = ones[:batches] + ([size, 1] if isLeft else [1, size])
    part = typed(sizes, element)
    offsets = batch + ([0, column] if isLeft else [column, 0])
    within = lambda row: commas([zero] * batches + ([row, zero] if isLeft else [zero, row]))

    def coefficient(row, other):
        value = body.put(
            "tensor.extract %%a[%s] : %s", commas(batch + ([other, row] if isTurned else [row, other])), matrix
        )
        return compute.conjugate(value) if transposed == "C" else value

    slice = body.put(
        "tensor.extract_slice %s[%s] [%s] [%s] : %s to %s",
        outputs[0],
        commas(offsets),
        commas(sizes),
        commas(ones),
        array,
        part,
    )
    body.add("%%solved = scf.for %%n = %s to %s step %s iter_args(%%x = %s) -> (%s) {", zero, count, one, slice, part)
    row = (
        "%n" if isForward else body.put("arith.subi %s, %s : index", body.put("arith.subi %s, %%n : index", count), one)
    )
    begin = body.put("tensor.extract %%b[%s] : %s", commas(batch + ([row, column] if isLeft else [column, row])), array)
    first, last = (zero, row) if isForward else (body.put("arith.addi %s, %s : index", row, one), count)
    body.add("%%rest = scf.for %%k = %s to %s step %s iter_args(%%s = %s) -> (%s) {", first, last, one, begin, element)
    known = body.put("tensor.extract %%x[%s] : %s", within("%k"), part)
    body.add("scf.yield %s : %s", compute("sub", "%s", compute("mul", coefficient(row, "%k"), known)), element)
    body.add("}")
    value = "%rest" if isUnit else compute("div", "%rest", coefficient(row, row))
    body.add("scf.yield %s : %s", body.put("tensor.insert %s into %%x[%s] : %s", value, within(row), part), part)
    body.add("}")
    end_parallel(body, ["%solved"], outputs, offsets, sizes, [part], [array])
    return function(name, [("%a", matrix), ("%b", array)], [array], body.text(), ["%r#0"], [])

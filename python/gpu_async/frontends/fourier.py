# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms as sums over tensors. One of n = a * b numbers is b transforms
of a numbers, each multiplied by a factor, and a transforms of b numbers (Cooley and
Tukey), so that one of a power of two takes 16 * n * log16(n) steps. A prime number of
them takes n * n.
"""

import math

from .loops import Body, commas, function, typed
from .numerics import Arithmetic

# Sums of so many terms are taken as they are.
DIRECT = 32
# Most terms of a sum otherwise, if the size has such divisors.
RADIX = 16


def divisor(size):
    """By which a transform is cut, so that all its sums are about as long; None: it is taken as it is."""
    if size <= DIRECT:
        return None
    divisors = [each for each in range(2, math.isqrt(size) + 1) if size % each == 0]
    short = [each for each in divisors if each <= RADIX]
    if not short:
        return divisors[0] if divisors else None
    steps = math.ceil(math.log(size, RADIX) - 1e-9)
    return min(short, key=lambda each: abs(each - size ** (1 / steps)))


class Fourier:
    """The text of a transform, a dimension after the other."""

    def __init__(self, part, value, shape):
        self.body, self.part, self.number = Body(), part, "complex<%s>" % part
        self.value, self.shape = value, list(shape)

    def generic(self, given, taken, made, input_map, reduced, output, write):
        """A linalg.generic of `self.value`, whose elements are `given`; `write` makes the yielded value of its index
        values. `reduced`: it adds up over a last loop."""
        body, rank = self.body, len(made)
        dims = ["d%d" % each for each in range(rank + reduced)]
        body.count += 1
        name = "%%v%d" % body.count
        result = typed(made, taken)
        body.add(
            "%s = linalg.generic {indexing_maps = [%saffine_map<(%s) -> (%s)>], iterator_types = [%s]} %souts(%s : %s) {",
            name,
            "affine_map<(%s) -> (%s)>, " % (commas(dims), commas(input_map)) if input_map else "",
            commas(dims),
            commas(dims[:rank]),
            commas(['"parallel"'] * rank + ['"reduction"'] * reduced),
            "ins(%s : %s) " % (self.value, typed(self.shape, given)) if input_map else "",
            output,
            result,
        )
        body.add("^bb0(%s%%out: %s):", "%%in: %s, " % given if input_map else "", taken)
        body.add("linalg.yield %s : %s", write(), taken)
        body.add("} -> %s", result)
        self.value, self.shape = name, list(made)

    def empty(self, made, taken):
        return self.body.put("tensor.empty() : %s", typed(made, taken))

    def add_up(self, dim, made, table_size, exponent, isInverse, scale, given, taken):
        """Sums over dimension `dim` of the numbers times exp(-+ 2 pi i e / table_size), where `exponent` makes e of the
        index values of the output's loops and of the sum's. Factors are looked up, so that none is off by more than its
        rounding."""
        body, rank = self.body, len(made)
        table = typed([table_size], self.part)
        waves = [[wave(2 * math.pi * each / table_size) for each in range(table_size)] for wave in (math.cos, math.sin)]
        cosines, sines = [
            body.put(
                "arith.constant dense<[%s]> : %s",
                commas("%.17e" % (0.0 if abs(each) < 1e-15 else each) for each in wave),
                table,
            )
            for wave in waves
        ]
        zero = Arithmetic(body, taken).zero()
        result = typed(made, taken)
        fill = body.put("linalg.fill ins(%s : %s) outs(%s : %s) -> %s", zero, taken, self.empty(made, taken), result, result)

        def write():
            at = body.put("arith.remui %s, %s : index", exponent(), body.index(table_size))
            cosine, sine = [body.put("tensor.extract %s[%s] : %s", each, at, table) for each in (cosines, sines)]
            real = Arithmetic(body, self.part)
            if not isInverse:
                sine = body.put("arith.negf %s : %s", sine, self.part)
            if scale:
                factor = scale()
                cosine, sine = real("mul", cosine, factor), real("mul", sine, factor)
            create = "complex.create %s, %s : %s"
            if given == self.part:
                term = body.put(create, real("mul", "%in", cosine), real("mul", "%in", sine), self.number)
            elif taken == self.part:
                re, im = [body.put("complex.%s %%in : %s", each, self.number) for each in ("re", "im")]
                term = real("sub", real("mul", re, cosine), real("mul", im, sine))
            else:
                factor = body.put(create, cosine, sine, self.number)
                term = body.put("complex.mul %%in, %s : %s", factor, self.number)
            return Arithmetic(body, taken)("add", "%out", term)

        dims = ["d%d" % each for each in range(rank + 1)]
        self.generic(given, taken, made, dims[:dim] + [dims[rank]] + dims[dim + 1 : rank], 1, fill, write)

    def loop_index(self, loop):
        return self.body.put("linalg.index %d : index", loop)

    def product(self, one, other):
        return self.body.put("arith.muli %s, %s : index", one, other)

    def constant(self, value):
        return lambda: self.body.put("arith.constant %.17e : %s", value, self.part)

    def reshape(self, operation, made, dim, element):
        """Between the dimension `dim` and two of it."""
        groups = [[each] for each in range(dim)] + [[dim, dim + 1]]
        groups += [[each] for each in range(dim + 2, max(len(made), len(self.shape)))]
        shape = " output_shape [%s]" % commas(made) if operation == "expand" else ""
        result = typed(made, element)
        self.value = self.body.put(
            "tensor.%s_shape %s %s%s : %s into %s", operation, self.value, groups, shape, typed(self.shape, element), result
        )
        self.shape = list(made)

    def transform(self, dim, size, isInverse, scale=None, given=None):
        """All numbers of one dimension; `given`: real ones are, else complex ones are. Results are complex."""
        given, made, first = given or self.number, list(self.shape), divisor(size)
        if not first:
            return self.add_up(
                dim,
                made,
                size,
                lambda: self.product(self.loop_index(dim), self.loop_index(len(made))),
                isInverse,
                scale,
                given,
                self.number,
            )
        # Number j1 * rest + j2 goes into number k1 + first * k2: into the sum over j1 that k1 and j2 tell apart.
        rest = size // first
        cut = made[:dim] + [first, rest] + made[dim + 1 :]
        self.reshape("expand", cut, dim, given)

        def exponent():
            j1 = self.product(self.loop_index(len(cut)), self.body.index(rest))
            j = self.body.put("arith.addi %s, %s : index", j1, self.loop_index(dim + 1))
            return self.product(self.loop_index(dim), j)

        self.add_up(dim, cut, size, exponent, isInverse, scale, given, self.number)
        self.transform(dim + 1, rest, isInverse)
        turned = made[:dim] + [rest, first] + made[dim + 1 :]
        order = list(range(len(cut)))
        order[dim : dim + 2] = [dim + 1, dim]
        self.value = self.body.put(
            "linalg.transpose ins(%s : %s) outs(%s : %s) permutation = [%s]",
            self.value,
            typed(cut, self.number),
            self.empty(turned, self.number),
            typed(turned, self.number),
            commas(order),
        )
        self.shape = turned
        self.reshape("collapse", made, dim, self.number)

    def from_real(self, dim, size):
        """Of the transform of real numbers the first half, which the other one is the conjugate of."""
        made = self.shape[:dim] + [size // 2 + 1] + self.shape[dim + 1 :]
        if not divisor(size):
            exponent = lambda: self.product(self.loop_index(dim), self.loop_index(len(made)))
            return self.add_up(dim, made, size, exponent, False, None, self.part, self.number)
        self.transform(dim, size, False, given=self.part)
        ones, zeros = [1] * len(made), [0] * len(made)
        self.value = self.body.put(
            "tensor.extract_slice %s[%s] [%s] [%s] : %s to %s",
            self.value,
            commas(zeros),
            commas(made),
            commas(ones),
            typed(self.shape, self.number),
            typed(made, self.number),
        )
        self.shape = made

    def to_real(self, dim, size):
        """The numbers whose transform's first half is given."""
        body, made = self.body, self.shape[:dim] + [size] + self.shape[dim + 1 :]
        if not divisor(size):

            def scale():
                # The other half has the conjugates of this.
                j = self.loop_index(len(made))
                isEdge = body.put("arith.cmpi eq, %s, %s : index", j, body.index(0))
                if size % 2 == 0:
                    isLast = body.put("arith.cmpi eq, %s, %s : index", j, body.index(size // 2))
                    isEdge = body.put("arith.ori %s, %s : i1", isEdge, isLast)
                once, twice = self.constant(1 / size)(), self.constant(2 / size)()
                return body.put("arith.select %s, %s, %s : %s", isEdge, once, twice, self.part)

            exponent = lambda: self.product(self.loop_index(dim), self.loop_index(len(made)))
            return self.add_up(dim, made, size, exponent, True, scale, self.number, self.part)
        half, half_type = self.value, typed(self.shape, self.number)

        def write():
            at = [self.loop_index(each) for each in range(len(made))]
            back = body.put("arith.subi %s, %s : index", body.index(size), at[dim])
            isThere = body.put("arith.cmpi ule, %s, %s : index", at[dim], body.index(size // 2))
            at[dim] = body.put("arith.select %s, %s, %s : index", isThere, at[dim], back)
            value = body.put("tensor.extract %s[%s] : %s", half, commas(at), half_type)
            conjugate = body.put("complex.conj %s : %s", value, self.number)
            return body.put("arith.select %s, %s, %s : %s", isThere, value, conjugate, self.number)

        self.generic(self.number, self.number, made, None, 0, self.empty(made, self.number), write)
        self.transform(dim, size, True, self.constant(1 / size))
        identity = ["d%d" % each for each in range(len(made))]
        self.generic(
            self.number,
            self.part,
            made,
            identity,
            0,
            self.empty(made, self.part),
            lambda: body.put("complex.re %%in : %s", self.number),
        )


def fourier(name, shape, part, kind, lengths):
    """As stablehlo.fft has it: `kind` is FFT, IFFT, RFFT or IRFFT of real numbers of the type `part`, in the last
    dimensions, whose lengths are `lengths`."""
    fourier = Fourier(part, "%x", shape)
    first = len(shape) - len(lengths)
    begin = typed(shape, part if kind == "RFFT" else fourier.number)
    dims = list(enumerate(lengths, first))
    if kind == "RFFT":
        fourier.from_real(*dims.pop())
    for dim, size in reversed(dims[:-1] if kind == "IRFFT" else dims):
        isInverse = kind in ("IFFT", "IRFFT")
        fourier.transform(dim, size, isInverse, fourier.constant(1 / size) if isInverse else None)
    if kind == "IRFFT":
        fourier.to_real(*dims[-1])
    taken = typed(fourier.shape, part if kind == "IRFFT" else fourier.number)
    return function(name, [("%x", begin)], [taken], fourier.body.text(), [fourier.value], [])

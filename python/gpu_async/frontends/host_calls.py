# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions by LAPACK and callbacks of Python's: calls of the host in the program that JAX traces.

JAX lowers a function for a platform of the name "gpu_async". The rules here make each of these operations a
stablehlo.custom_call @gpu_async.KIND. Once the rest is linalg, the custom_call becomes the call of a function of the
program that copies the operands to host memory, calls a C function with them, and copies its results back.
"""

import ctypes
import itertools
import re
import threading
import weakref

import jax
import numpy
from jax.interpreters import mlir
from jaxlib.mlir import ir

from . import loops

PLATFORM = "gpu_async"


class Refused(ValueError):
    """An operation that has a rule here, of a kind that it does not take."""


def refuse(what, why):
    lines = re.findall(r'"([^"]*\.py)":(\d+)', str(ir.Location.current))
    at = " at %s:%s" % (lines[0][0].rpartition("/")[2], lines[0][1]) if lines else ""
    raise Refused("%s%s has no lowering: %s" % (what, at, why))


LAPACK, CALLBACK = "gpu_async.lapack", "gpu_async.callback"

# ===--------------------------------------------------------------------=== #
# From JAX's primitives to custom_calls
# ===--------------------------------------------------------------------=== #


def count_foreign(text):
    """The number of custom_calls in a module that are not of this file."""
    return text.count("stablehlo.custom_call") - text.count("stablehlo.custom_call @gpu_async.")


def emit(target, operands, results, config, has_side_effect=False):
    """A custom_call. `results` are pairs of sizes and a type of NumPy's."""
    types = [ir.RankedTensorType.get(shape, mlir.dtype_to_ir_type(numpy.dtype(dtype))) for shape, dtype in results]
    attributes = {
        "call_target_name": ir.StringAttr.get(target),
        "has_side_effect": ir.BoolAttr.get(has_side_effect),
        "backend_config": ir.StringAttr.get(config),
    }
    return list(
        ir.Operation.create(
            "stablehlo.custom_call", results=types, operands=list(operands), attributes=attributes
        ).results
    )


def call_lapack(function, ctx, operands, results, sizes):
    """A call for the matrices in the last dimensions of the first operand; the others are the batch."""
    aval = ctx.avals_in[0]
    batch = 1
    for size in aval.shape[:-2]:
        batch *= size
    element = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}[aval.dtype.name]
    config = "%s_%s(%s)" % (function, element, ",".join(str(int(size)) for size in (batch, *sizes)))
    return emit(LAPACK, operands, results, config)


def of_avals(avals):
    return [(aval.shape, aval.dtype) for aval in avals]


def unused(dtype):
    """A result that a function leaves alone."""
    return (1,), dtype


def lower_geqrf(ctx, a):
    return call_lapack("geqrf", ctx, [a], of_avals(ctx.avals_out), ctx.avals_in[0].shape[-2:])


def lower_geqp3(ctx, a, pivots, **_):
    if ctx.avals_in[1].dtype != numpy.int32:
        refuse("geqp3", "its pivots are %s; give int32" % ctx.avals_in[1].dtype)
    return call_lapack("geqp3", ctx, [a, pivots], of_avals(ctx.avals_out), ctx.avals_in[0].shape[-2:])


def lower_householder_product(ctx, a, tau):
    sizes = *ctx.avals_in[0].shape[-2:], ctx.avals_in[1].shape[-1]
    return call_lapack("orgqr", ctx, [a, tau], of_avals(ctx.avals_out), sizes)


# JAX's own rule for CPUs comes first, and has refused parameters that LAPACK does not know.


def lower_eigh(ctx, a, *, lower, **_):
    return call_lapack("syevd", ctx, [a], of_avals(ctx.avals_out), (ctx.avals_in[0].shape[-1], lower))


def lower_svd(ctx, a, *, full_matrices, compute_uv, algorithm=None, **parameters):
    m, n = ctx.avals_in[0].shape[-2:]
    if m == 0 or n == 0:  # JAX writes constants then
        rule = _rules("cpu")[jax.lax.linalg.svd_p].rule
        return rule(
            ctx, a, full_matrices=full_matrices, compute_uv=compute_uv, algorithm=algorithm, **parameters
        )
    results = of_avals(ctx.avals_out)
    dtype = ctx.avals_in[0].dtype
    function = "gesvd" if algorithm == jax.lax.linalg.SvdAlgorithm.QR else "gesdd"
    made = call_lapack(
        function,
        ctx,
        [a],
        results if compute_uv else results + [unused(dtype)] * 2,
        (m, n, compute_uv, full_matrices),
    )
    return made[: len(results)]


def lower_eig(ctx, a, *, compute_left_eigenvectors, compute_right_eigenvectors, **_):
    values, *vectors = of_avals(ctx.avals_out)
    asked = compute_left_eigenvectors, compute_right_eigenvectors
    results = [values] + [vectors.pop(0) if is_asked else unused(values[1]) for is_asked in asked]
    made = call_lapack("geev", ctx, [a], results, (ctx.avals_in[0].shape[-1], *asked))
    return made[:1] + [each for each, is_asked in zip(made[1:], asked) if is_asked]


def lower_schur(ctx, a, *, compute_schur_vectors, **_):
    results = of_avals(ctx.avals_out)
    more = [] if compute_schur_vectors else [unused(results[0][1])]
    made = call_lapack("gees", ctx, [a], results + more, (ctx.avals_in[0].shape[-1], compute_schur_vectors))
    return made[: len(results)]


def lower_callback(primitive, ctx, *operands, **parameters):
    """A call of Python's. What is called lives as long as what JAX keeps of the lowering, or a program does."""
    for aval in (*ctx.avals_in, *ctx.avals_out):
        if not isinstance(aval.dtype, numpy.dtype) or aval.dtype.name in ("int2", "int4", "uint2", "uint4"):
            refuse(
                primitive.name,
                "it has an array of %s; give jax.random.key_data of a key, and numbers of a byte or more" % aval.dtype,
            )
    if len(ctx.avals_in) + len(ctx.avals_out) > MOST_ARRAYS:
        refuse(primitive.name, "it takes and returns more than %d arrays; join some" % MOST_ARRAYS)
    function = parameters.get("callback") or _bind_impl(primitive, parameters)
    callback = Callback(function, primitive.name, of_avals(ctx.avals_in), of_avals(ctx.avals_out))
    ctx.module_context.add_keepalive(callback)
    # Calls come in the program's order, so a token only goes through.
    effects = [effect for effect in ctx.tokens_in.effects()] if ctx.tokens_in else []
    if effects:
        ctx.set_tokens_out(ctx.tokens_in)
    is_pure = primitive.name == "pure_callback"
    return emit(CALLBACK, operands, of_avals(ctx.avals_out), str(callback.number), not is_pure)


def _bind_impl(primitive, parameters):
    return lambda *arrays: primitive.impl(*arrays, **parameters)


def register():
    """Gives JAX the rules. It has no public name for rules of a platform that it does not know, nor for some of the
    primitives. What another version of JAX has not is refused, as if there were no rule."""
    import jax._src.callback
    import jax._src.debugging
    import jax._src.lax.linalg

    linalg = jax._src.lax.linalg
    rules = [
        (linalg, "geqrf_p", lower_geqrf),
        (linalg, "geqp3_p", lower_geqp3),
        (linalg, "householder_product_p", lower_householder_product),
        (linalg, "eigh_p", lower_eigh),
        (linalg, "svd_p", lower_svd),
        (linalg, "eig_p", lower_eig),
        (linalg, "schur_p", lower_schur),
    ]
    for module, names in (
        (jax._src.callback, ("pure_callback_p", "io_callback_p")),
        (jax._src.debugging, ("debug_callback_p", "debug_print_p")),
    ):
        for name in names:
            rules.append((module, name, _rule_of(getattr(module, name, None))))
    for module, name, rule in rules:
        if hasattr(module, name):
            _rules(PLATFORM)[getattr(module, name)] = jax._src.interpreters.mlir.LoweringRuleEntry(rule, True)


def _rules(platform):
    return mlir._platform_specific_lowerings[platform]


def _rule_of(primitive):
    return lambda ctx, *operands, **parameters: lower_callback(primitive, ctx, *operands, **parameters)


try:
    register()
except (ImportError, AttributeError):
    pass


# ===--------------------------------------------------------------------=== #
# From custom_calls to functions of the program
# ===--------------------------------------------------------------------=== #


def target_of(op):
    return ir.StringAttr(op.attributes["call_target_name"]).value if op.name == "stablehlo.custom_call" else ""


def is_host_call(op):
    return target_of(op) in (LAPACK, CALLBACK)


def erase_tokens(module):
    """Makes the tokens of ordered effects booleans, which nobody reads, and takes them from the signature of @main."""
    boolean = ir.Type.parse("tensor<i1>")
    is_token = lambda type: str(type) == "!stablehlo.token"

    def replaced(types):
        return [boolean if is_token(type) else type for type in types]

    def constant():
        return ir.Operation.create(
            "stablehlo.constant",
            results=[boolean],
            attributes={"value": ir.DenseElementsAttr.get_splat(boolean, ir.BoolAttr.get(False))},
        ).result

    found = False
    for op in list(loops.operations(module)):
        if op.name in ("stablehlo.create_token", "stablehlo.after_all"):
            with op.location, ir.InsertionPoint(op):
                op.results[0].replace_all_uses_with(constant())
            op.erase()
            found = True
            continue
        blocks = [block for region in op.regions for block in region.blocks]
        for value in [*op.results, *(argument for block in blocks for argument in block.arguments)]:
            if is_token(value.type):
                value.set_type(boolean)
                found = True
        if op.name == "func.func":
            type = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
            op.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(replaced(type.inputs), replaced(type.results))
            )
    if not found:
        return
    for op in list(module.regions[0].blocks[0].operations):
        if op.operation.name != "func.func" or ir.StringAttr(op.attributes["sym_name"]).value != "main":
            continue
        op = op.operation
        block = op.regions[0].blocks[0]
        is_marked = {}
        for name in ("arg_attrs", "res_attrs"):
            attributes = list(op.attributes[name]) if name in op.attributes else []
            is_marked[name] = [place for place, each in enumerate(attributes) if "jax.token" in ir.DictAttr(each)]
            kept = [each for place, each in enumerate(attributes) if place not in is_marked[name]]
            if attributes:
                op.attributes[name] = ir.ArrayAttr.get(kept)
        with op.location, ir.InsertionPoint.at_block_begin(block):
            for place in is_marked["arg_attrs"]:
                block.arguments[place].replace_all_uses_with(constant())
        for place in reversed(is_marked["arg_attrs"]):
            block.erase_argument(place)
        end = list(block.operations)[-1].operation
        values = [each for place, each in enumerate(end.operands) if place not in is_marked["res_attrs"]]
        with end.location, ir.InsertionPoint(end):
            ir.Operation.create("func.return", operands=values)
        end.erase()
        op.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get([each.type for each in block.arguments], [each.type for each in values])
        )


class HostCalls:
    """The host calls of a program. jaxlib knows no bufferization, so they are declared in the module and defined in
    its text."""

    def __init__(self):
        self.definitions, self.declarations = [], {}
        self.callbacks = []  # those that the program calls
        self.lapack = []  # the calls of LAPACK: function and place

    def lower(self, module, place_of):
        """Makes each custom_call of this file a call of a function."""
        for op in list(loops.operations(module.operation)):
            if not is_host_call(op):
                continue
            name = "host_call.%d" % len(self.definitions)
            operands, results = [each.type for each in op.operands], [each.type for each in op.results]
            config = ir.StringAttr(op.attributes["backend_config"]).value
            if target_of(op) == CALLBACK:
                callee, numbers, why = self._add_callback(op, int(config), place_of)
            else:
                callee, numbers, why = self._add_lapack(op, config, place_of)
            self.definitions.append(self._define(name, operands, results, callee, numbers, why))
            with op.location, ir.InsertionPoint(module.body):
                function = ir.Operation.create(
                    "func.func",
                    attributes={
                        "sym_name": ir.StringAttr.get(name),
                        "sym_visibility": ir.StringAttr.get("private"),
                        "function_type": ir.TypeAttr.get(ir.FunctionType.get(operands, results)),
                    },
                    regions=1,
                )
            with op.location, ir.InsertionPoint(op):
                call = ir.Operation.create(
                    "func.call",
                    results=results,
                    operands=list(op.operands),
                    attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
                )
            for old, new in zip(op.results, call.results):
                old.replace_all_uses_with(new)
            op.erase()

    def _add_lapack(self, op, config, place_of):
        name, numbers = re.fullmatch(r"(\w+)\((.*)\)", config).groups()
        what = name.rpartition("_")[0] + place_of(op)
        self.lapack.append(what)
        why = "%s failed: there is no LAPACK (GPU_ASYNC_LAPACK_LIBRARY names one), or no memory for it" % what
        return "gpuasync_lapack_" + name, [int(each) for each in numbers.split(",")], why

    def _add_callback(self, op, number, place_of):
        callback = Callback.numbered[number]
        self.callbacks.append(callback)
        name = "gpu_async.callback.%d" % number
        return name, [], "%s%s: the function of Python's raised an exception" % (callback.name, place_of(op))

    def _define(self, name, operands, results, callee, numbers, why):
        lines, arrays, types, hosts, type_of = [], [], [], [], operands + results

        def add(text, *values):
            lines.append("    " + text % values)

        # A function of LAPACK's is declared once, for arrays of any length.
        is_exact = callee.startswith("gpu_async.")
        for place, type in enumerate(type_of):
            tensor = ir.RankedTensorType(type)
            shape, element = list(tensor.shape), str(tensor.element_type)
            count = 1
            for size in shape:
                count *= size
            memref = "memref<%s%s>" % ("".join("%dx" % size for size in shape), element)
            flat = "memref<%dx%s>" % (count, element)
            add("%%h%d = memref.alloc() : %s", place, memref)
            hosts.append(memref)
            if place < len(operands):
                add("%%b%d = bufferization.to_buffer %%x%d read_only : %s to %s", place, place, tensor, memref)
                add("memref.copy %%b%d, %%h%d : %s to %s", place, place, memref, memref)
            value = "%%h%d" % place
            if len(shape) != 1:
                if shape:
                    group = "[[%s]] : %s into %s" % (", ".join(map(str, range(len(shape)))), memref, flat)
                    add("%%f%d = memref.collapse_shape %s %s", place, value, group)
                else:
                    add("%%f%d = memref.expand_shape %s [] output_shape [1] : %s into %s", place, value, memref, flat)
                value = "%%f%d" % place
            if not is_exact:
                add("%%c%d = memref.cast %s : %s to memref<?x%s>", place, value, flat, element)
                value, flat = "%%c%d" % place, "memref<?x%s>" % element
            arrays.append(value)
            types.append(flat)
        for place, number in enumerate(numbers):
            add("%%n%d = arith.constant %d : i64", place, number)
            arrays.append("%%n%d" % place)
            types.append("i64")
        signature = "(%s) -> i32" % ", ".join(types)
        self.declarations[callee] = signature
        add("%%status = func.call @%s(%s) : %s", callee, ", ".join(arrays), signature)
        values = []
        for place, memref in enumerate(hosts):
            if place >= len(operands):
                # Memory of a tensor, which the compiler frees. Of memref.alloc what a function returns is the caller's.
                add("%%t%d = bufferization.alloc_tensor() : %s", place, type_of[place])
                add("%%d%d = bufferization.to_buffer %%t%d : %s to %s", place, place, type_of[place], memref)
                add("memref.copy %%h%d, %%d%d : %s to %s", place, place, memref, memref)
                values.append("%%r%d" % place)
            add("memref.dealloc %%h%d : %s", place, memref)
        # Behind the deallocations: what a call has when it fails is not given back.
        add("%%zero = arith.constant 0 : i32")
        add("%%ok = arith.cmpi eq, %%status, %%zero : i32")
        add("cf.assert %%ok, %s", quote(why))
        for place, type in enumerate(results, len(operands)):
            add("%%r%d = bufferization.to_tensor %%d%d restrict writable : %s to %s", place, place, hosts[place], type)
        head = "  func.func private @%s(%s)%s {" % (
            name,
            ", ".join("%%x%d: %s" % each for each in enumerate(operands)),
            " -> (%s)" % ", ".join(map(str, results)) if results else "",
        )
        end = "    return %s : %s" % (", ".join(values), ", ".join(map(str, results))) if results else "    return"
        return "\n".join([head, *lines, end, "  }"])

    def complete(self, text):
        """The text of the module with the definitions in it."""
        if not self.definitions:
            return text
        text = re.sub(r"^  func\.func private @host_call\.\d+\([^\n]*\n", "", text, flags=re.MULTILINE)
        declared = ["  func.func private @%s%s" % each for each in self.declarations.items()]
        # Behind the module are the locations.
        end = text.rindex("\n}") + 1
        return text[:end] + "\n".join(self.definitions + declared) + "\n" + text[end:]


def quote(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


# ===--------------------------------------------------------------------=== #
# Calls of Python's
# ===--------------------------------------------------------------------=== #

# An array in C is five words: the memory as it was allocated, its begin, offset, size and stride.
WORDS = 5
MOST_ARRAYS = 1024 // WORDS  # ctypes has 1024 arguments at most


class Callback:
    """A function of Python's that compiled code calls."""

    numbers = itertools.count()
    numbered = weakref.WeakValueDictionary()
    # The exception of a function, for the thread whose call ran it.
    raised = threading.local()

    def __init__(self, function, name, operands, results):
        self.function, self.name, self.operands, self.results = function, name, operands, results
        self.number = next(self.numbers)
        self.numbered[self.number] = self
        arrays = len(operands) + len(results)
        # Not a method of this object, which would keep itself alive.
        this = weakref.ref(self)
        self.thunk = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_ssize_t] * (WORDS * arrays))(
            lambda *words: _call(this(), words)
        )

    @property
    def address(self):
        return ctypes.cast(self.thunk, ctypes.c_void_p).value

    @property
    def symbol(self):
        return "gpu_async.callback.%d" % self.number

    @classmethod
    def take_exception(cls):
        """Returns and forgets the exception that a function of Python's raised on this thread, or None."""
        raised = getattr(cls.raised, "exception", None)
        cls.raised.exception = None
        return raised


def _memory(words, place, shape, dtype):
    """The array of C's as one of NumPy's that shares its memory."""
    dtype = numpy.dtype(dtype)
    address, offset = words[WORDS * place + 1], words[WORDS * place + 2]
    count = dtype.itemsize
    for size in shape:
        count *= size
    if not count:
        return numpy.empty(shape, dtype)
    memory = (ctypes.c_byte * count).from_address(address + offset * dtype.itemsize)
    return numpy.ndarray(shape, dtype, memory)


def _call(callback, words):
    """Returns 0, or 1 if the function raised an exception."""
    try:
        # The memory is freed behind the call, and the function may keep what it is given.
        operands = [
            jax.numpy.array(_memory(words, place, *each).copy()) for place, each in enumerate(callback.operands)
        ]
        made = callback.function(*operands)
        made = [numpy.asarray(each) for each in (made if made is not None else ())]
        if len(made) != len(callback.results):
            raise ValueError(
                "%s: the function returned %d arrays, expected %d" % (callback.name, len(made), len(callback.results))
            )
        for place, (given, (shape, dtype)) in enumerate(zip(made, callback.results)):
            # As a call of jax.jit takes f64 for f32 where JAX has no f64.
            if given.dtype != dtype and jax.dtypes.canonicalize_dtype(given.dtype) == dtype:
                made[place] = given = given.astype(dtype)
            if given.shape != tuple(shape) or given.dtype != dtype:
                raise ValueError(
                    "%s: result %d of the function is %s of %s, expected %s of %s"
                    % (callback.name, place, given.dtype, given.shape, numpy.dtype(dtype), tuple(shape))
                )
        for place, given in enumerate(made):
            _memory(words, len(callback.operands) + place, *callback.results[place])[...] = given
        return 0
    except BaseException as error:
        Callback.raised.exception = error
        return 1

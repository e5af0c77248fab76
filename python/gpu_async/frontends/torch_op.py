# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_async.torch_op: functions as operators of PyTorch's, which torch.compile calls without a break of its graph."""

import itertools
import re

import torch

import gpu_async

_number = itertools.count()
_TYPES = {
    "i1": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "index": torch.int64,
    "ui8": torch.uint8, "ui16": torch.uint16, "ui32": torch.uint32, "ui64": torch.uint64, "f16": torch.float16,
    "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "complex<f32>": torch.complex64,
    "complex<f64>": torch.complex128}
_SIGNS = {"i8": "ui8", "i16": "ui16", "i32": "ui32", "i64": "ui64", "index": "ui64"}


class _Tensor:
    """A tensor of the program: its sizes, None where they are of the call, and its type."""

    def __init__(self, text, element=None):
        sizes, self.element = re.fullmatch(r"tensor<((?:[0-9?]+x)*)(.*)>", text).groups()
        self.text, self.dtype = text, _TYPES[element or self.element]
        self.sizes = [None if size == "?" else int(size) for size in sizes.split("x")[:-1]]

    def takes(self, tensor):
        """Whether an argument has the sizes and a type of that width."""
        return (len(self.sizes) == tensor.dim() and tensor.dtype in (self.dtype, _TYPES.get(_SIGNS.get(self.element)))
                and all(wanted is None or wanted == size for wanted, size in zip(self.sizes, tensor.shape)))


def make(function, name=None):
    """See gpu_async.torch_op."""
    try:
        arguments, results, device = function.arguments, function.results, function.device
    except AttributeError:
        raise TypeError("gpu_async.torch_op takes a function of an Executable, or what gpu_async.from_torch makes, given %r; "
                        "compile it first" % (function,)) from None
    if device.partition(":")[0] != "cpu":
        raise gpu_async.ArgumentError(
            "gpu_async.torch_op: the function is compiled for %s, and operators are there for the cpu device; call the function "
            "with `out` and stream=torch.cuda.current_stream() (docs/reference/Python.md)" % device)
    unsigned = getattr(function, "_types", [None] * len(results))
    takes = [_argument(number, each) for number, each in enumerate(arguments)]
    gives = [_result(number, each, sign) for number, (each, sign) in enumerate(zip(results, unsigned))]
    if not gives:
        raise gpu_async.ArgumentError("gpu_async.torch_op: the function has no results, and so does nothing for PyTorch")
    if name is None:
        name = "gpu_async::%s_%d" % (re.sub(r"\W", "_", function.signature.partition("(")[0]) or "f", next(_number))
    if not re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", name):
        raise ValueError("gpu_async.torch_op: %r is no name of an operator; write one as \"mine::layer\"" % (name,))
    # PyTorch would put it in the place of the one that is there, for all who call that.
    space, _, own = name.partition("::")
    # A space has attributes of its own beside its operators.
    if type(getattr(getattr(torch.ops, space), own, None)).__name__ == "OpOverloadPacket":
        raise ValueError("gpu_async.torch_op: there is an operator %r already, which stays until the process ends; give another name"
                         % (name,))
    schema = "(%s) -> %s" % (
        ", ".join("%s a%d" % ("Tensor" if isinstance(each, _Tensor) else each, number) for number, each in enumerate(takes)),
        "Tensor" if len(gives) == 1 else "(%s)" % ", ".join(["Tensor"] * len(gives)))

    def call(*given):
        _check(name, takes, given)
        # PyTorch's autograd has done its part: what it passes on may still ask for gradients.
        given = [each.detach().resolve_conj().resolve_neg().contiguous() if isinstance(each, torch.Tensor) else each for each in given]
        # Results are memory of PyTorch's, and so neither an argument's nor the program's.
        out = tuple(torch.empty(each.sizes, dtype=each.dtype) for each in gives)
        function(*given, out=out if len(out) > 1 else out[0])
        return out if len(out) > 1 else out[0]

    def fake(*given):
        _check(name, takes, given)
        out = tuple(torch.empty(each.sizes, dtype=each.dtype) for each in gives)
        return out if len(out) > 1 else out[0]

    operator = torch.library.custom_op(name, call, mutates_args=(), device_types="cpu", schema=schema)
    operator.register_fake(fake)
    return operator


def _argument(number, text):
    if text.startswith("tensor<"):
        return _known("argument", number, text)
    if text.startswith("memref<"):
        raise gpu_async.ArgumentError(
            "gpu_async.torch_op: argument %d of %s may be written by the function, and an operator says which of its arguments it "
            "writes; make it a tensor" % (number, text))
    if text.startswith("complex<"):
        raise gpu_async.ArgumentError("gpu_async.torch_op: argument %d of %s: operators take no complex numbers; make it a tensor"
                                      % (number, text))
    return "bool" if text == "i1" else "float" if re.fullmatch(r"b?f\d+", text) else "int"


def _result(number, text, sign):
    if not text.startswith("tensor<"):
        raise gpu_async.ArgumentError("gpu_async.torch_op: result %d of %s is no tensor, and an operator returns tensors; return it "
                                      "as a tensor" % (number, text))
    tensor = _known("result", number, text, sign)
    if None in tensor.sizes:
        raise gpu_async.ArgumentError("gpu_async.torch_op: result %d of %s has sizes that only the call knows, and torch.compile asks "
                                      "before; give the program constant sizes" % (number, text))
    return tensor


def _known(what, number, text, sign=None):
    try:
        return _Tensor(text, sign)
    except (AttributeError, KeyError):
        raise gpu_async.ArgumentError("gpu_async.torch_op: %s %d of %s is of a type that PyTorch has not" % (what, number, text)) from None


def _check(name, takes, given):
    """Refuses what the program refuses, also before there are elements."""
    for number, (wanted, each) in enumerate(zip(takes, given)):
        if isinstance(wanted, _Tensor) and not wanted.takes(each):
            raise gpu_async.ArgumentError("%s: argument %d of %s: given a tensor of %s and %s" % (
                name, number, wanted.text, tuple(each.shape), each.dtype))

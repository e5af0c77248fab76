# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_async.from_torch: modules of PyTorch."""

import concurrent.futures
import re

import torch
from torch_mlir import fx

import gpu_async

from . import lower_torch, static


class Module:
    """A function with results that are unsigned: programs have integers without signs."""

    def __init__(self, main, types):
        self._main, self._types = main, types

    def __call__(self, *arguments, **options):
        return self._typed(self._main(*arguments, **options))

    def start(self, *arguments, **options):
        """Begins the call, as Function.start does."""
        token, made = self._main.start(*arguments, **options), concurrent.futures.Future()

        def hand_on(call):
            try:
                made.set_result(self._typed(call.result()))
            except BaseException as error:  # pylint: disable=broad-except
                made.set_exception(error)

        token._future.add_done_callback(hand_on)
        return type(token)(made)

    def __getattr__(self, name):
        return getattr(self._main, name)

    def _typed(self, results):
        many = results if isinstance(results, tuple) else (results,)
        # Memory that the caller has given for a result is as the caller has it.
        made = tuple(
            each.view(kind) if kind and isinstance(each, gpu_async.Array) else each
            for each, kind in zip(many, self._types))
        return made if isinstance(results, tuple) else made[0]


def _unsigned(exported, symbol):
    """Of each result of the function `symbol`, its type if that is unsigned; else None."""
    (main,) = [op for op in exported.body.operations if str(op.attributes["sym_name"]) == '"%s"' % symbol]
    kinds = re.findall(r"!torch\.vtensor<\[[^\]]*\],(\w+)", str(main.attributes["function_type"]).rpartition("->")[2])
    return [kind if kind.startswith("ui") else None for kind in kinds]


def compile(module, examples, device, options):
    if not isinstance(module, torch.nn.Module):
        raise TypeError("gpu_async.from_torch takes a torch.nn.Module, not a %s; a function of tensors is one as the method "
                        "`forward` of a class" % type(module).__name__)
    # A mode of training would change the module's results and state.
    symbol = static.symbol_of(type(module))
    exported = fx.export_and_import(module.eval(), *examples, output_type="raw", func_name=symbol)
    types = _unsigned(exported, symbol)
    try:
        text = lower_torch.lower(exported.operation.get_asm(enable_debug_info=True), static.is_gpu(device), lines=True)
    except ValueError as error:  # of what has no lowering
        raise gpu_async.CompileError(str(error)) from None
    main = gpu_async.compile(text, device, name=type(module).__name__, **options)[symbol]
    return Module(main, types) if any(types) else main

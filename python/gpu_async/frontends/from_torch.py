# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_async.from_torch: modules of PyTorch. lower_torch.py is examples/torch/lower.py."""

from torch_mlir import fx

import gpu_async

from . import lower_torch


def compile(module, examples, device, options):
    # A mode of training would change the module's results and state.
    exported = fx.export_and_import(module.eval(), *examples, output_type="raw", func_name="main")
    text = lower_torch.lower(exported.operation.get_asm())
    return gpu_async.compile(text, device, name=type(module).__name__, **options)["main"]

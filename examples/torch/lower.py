#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers a program in the torch dialect to linalg on tensors.

    pip install torch-mlir
    python3 lower.py FILE.mlir > program.mlir

FILE.mlir is what torch_mlir.fx.export_and_import(module, ..., output_type="torch")
writes, with "raw" too, or one of the files here; PyTorch itself is not needed.
What torch-mlir cannot lower is its own error; an operation that only torch-mlir
knows, left in the result, is an error that names it.
"""

import argparse
import sys

from torch_mlir import ir, passmanager
from torch_mlir.dialects import torch as torch_dialect

PIPELINES = ("torchdynamo-export-to-torch-backend-pipeline", "torch-backend-to-linalg-on-tensors-backend-pipeline")


def lower(text):
    """The text of the program. A ValueError of what has no lowering."""
    with ir.Context() as context:
        torch_dialect.register_dialect(context)
        module = ir.Module.parse(text)
        for pipeline in PIPELINES:
            passmanager.PassManager.parse("builtin.module(%s)" % pipeline).run(module.operation)
        left = set()

        def look(op):
            if op.name.startswith(("torch.", "torch_c.", "tm_tensor.")):
                left.add(op.name)
            return ir.WalkResult.ADVANCE

        module.operation.walk(look)
        if left:
            raise ValueError("torch-mlir leaves " + ", ".join(sorted(left)) + ", which only torch-mlir knows")
        return str(module)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    with open(parser.parse_args().file) as file:
        text = file.read()
    try:
        sys.stdout.write(lower(text))
    except ValueError as error:
        raise SystemExit("lower.py: %s" % error)


if __name__ == "__main__":
    main()

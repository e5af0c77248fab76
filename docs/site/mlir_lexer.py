# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Colours for MLIR in the pages: Pygments has no lexer for it."""
from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

__all__ = ["MlirLexer"]


class MlirLexer(RegexLexer):
    name = "MLIR"
    aliases = ["mlir"]
    filenames = ["*.mlir"]
    tokens = {
        "root": [
            (r"\s+", Text),
            (r"//.*", Comment.Single),
            (r'"(?:\\.|[^"\\])*"', String),
            (r"%[\w.$#-]+", Name.Variable),
            (r"@[\w.$-]+", Name.Function),
            (r"\^\w+", Name.Label),
            (r"[!#][\w.$]+", Name.Class),
            (r"[a-zA-Z_]\w*(?:\.[\w]+)+", Name.Builtin),
            # Shapes such as 8x?xf32, and the types of elements.
            (r"(?:[0-9?]+x)+(?=[a-z!])", Number.Integer),
            (r"(?:index|none|[su]?i[0-9]+|bf16|tf32|f(?:16|32|64|80|128)|f8E\w+)\b", Keyword.Type),
            (words(("memref", "tensor", "vector", "tuple", "complex"), prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (r"0x[0-9a-fA-F]+|-?[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?", Number),
            (words(("async", "on", "id", "after", "in", "args", "blocks", "threads", "to", "step", "iter_args", "else", "do",
                    "attributes", "ins", "outs", "true", "false", "affine_map", "dense", "loc"), prefix=r"\b", suffix=r"\b"), Keyword),
            (r"[a-zA-Z_$][\w$]*", Name),
            (r"->|[-+*=<>:,(){}\[\]?|/]", Operator),
            (r".", Text),
        ],
    }

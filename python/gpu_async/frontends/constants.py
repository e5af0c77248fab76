# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants in the text of programs and of messages."""

import re


def pack_booleans(text):
    """The text of a program in which arrays of booleans have a bit for each element, as MLIR 22 reads them. Later
    versions, which the packages have, write a byte."""

    def pack(match):
        bytes_ = bytes.fromhex(match[1])
        count = 1
        for size in re.findall(r"(\d+)x", match[2]):
            count *= int(size)
        if len(bytes_) != count:
            return match[0]
        bits = int("".join("1" if each else "0" for each in reversed(bytes_)) or "0", 2)
        return 'dense<"0x%s"> : %s' % (bits.to_bytes(-(-count // 8), "little").hex().upper(), match[2])

    return re.sub(r'dense<"0x([0-9A-Fa-f]+)"> : (tensor<(?:\d+x)+i1>)', pack, text)


def shorten(message):
    """A message with the first elements of each constant in it."""
    most = 100
    return re.sub(
        r'"[^"]{%d,}"|(?<=<)[-\[\]\w.+,\s]{%d,}(?=>)' % (most, most),
        lambda match: match[0][:most] + "..." + match[0][-1:] * match[0].startswith('"'),
        message,
    )

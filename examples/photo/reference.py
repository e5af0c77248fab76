#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The picture of photo.mlir computed by plain Python, to compare with.

    python3 reference.py photo.npy            prints the picture's SHA-256
    python3 reference.py photo.npy out.npy    also compares it with a result
    python3 reference.py photo.npy -o OUT     also writes it

Everything is whole-number arithmetic, so that every device has to agree to the
last bit.
"""

import hashlib
import sys

from picture import read_npy, write_npy

TAPS = (1, 8, 28, 56, 70, 56, 28, 8, 1)  # the binomials of 8; their sum is 256


def clamp(value, low, high):
    return low if value < low else high if value > high else value


def luma(photo, pixel):
    return (77 * photo[pixel] + 150 * photo[pixel + 1] + 29 * photo[pixel + 2]) >> 8


def blur(photo, height, width, step, extent, position):
    """One direction of the blur: `step` bytes between neighbours, `extent` of them."""
    result = bytearray(len(photo))
    for index in range(len(photo)):
        at = position(index)
        total = 128
        for tap in range(9):
            near = clamp(at + tap - 4, 0, extent - 1)
            total += TAPS[tap] * photo[index + (near - at) * step]
        result[index] = total >> 8
    return result


def edges(photo, height, width):
    light = [luma(photo, 3 * pixel) for pixel in range(height * width)]
    result = bytearray(height * width)
    for y in range(height):
        above, here, below = (clamp(y + d, 0, height - 1) * width for d in (-1, 0, 1))
        for x in range(width):
            left, right = clamp(x - 1, 0, width - 1), clamp(x + 1, 0, width - 1)
            across = (light[above + right] + 2 * light[here + right] + light[below + right]) - (
                light[above + left] + 2 * light[here + left] + light[below + left]
            )
            down = (light[below + left] + 2 * light[below + x] + light[below + right]) - (
                light[above + left] + 2 * light[above + x] + light[above + right]
            )
            result[here + x] = min(abs(across) + abs(down), 255)
    return result


def equalising_table(photo, pixels):
    histogram = [0] * 256
    for pixel in range(pixels):
        histogram[luma(photo, 3 * pixel)] += 1
    table, below = [], 0
    for count in histogram:
        below += count
        table.append(below * 255 // pixels)
    return table


def relight(picture, pixels, table):
    """Moves each pixel to the lightness that `table` gives to its own."""
    result = bytearray(3 * pixels)
    for pixel in range(0, 3 * pixels, 3):
        old = luma(picture, pixel)
        new = table[old]
        for c in range(3):
            result[pixel + c] = clamp(picture[pixel + c] + new - old, 0, 255)
    return result


def compose(shape, photo):
    height, width, _ = shape
    pixels = height * width
    rows = blur(photo, height, width, 3, width, lambda i: i // 3 % width)
    soft = blur(rows, height, width, 3 * width, height, lambda i: i // (3 * width))
    lines = edges(photo, height, width)
    table = equalising_table(photo, pixels)
    vivid = relight(photo, pixels, table)
    # The drawing: flat tones of the soft picture under dark lines.
    drawn = bytearray(3 * pixels)
    for pixel in range(pixels):
        old = luma(soft, 3 * pixel)
        tone = (table[old] // 32) * 36
        ink = clamp(2 * lines[pixel] - 128, 0, 255)
        for c in range(3):
            flat = clamp(soft[3 * pixel + c] + tone - old, 0, 255)
            drawn[3 * pixel + c] = flat * (255 - ink) // 255
    out = bytearray()
    for y in range(height):
        row = slice(3 * y * width, 3 * (y + 1) * width)
        out += photo[row] + vivid[row]
    for y in range(height):
        row = slice(3 * y * width, 3 * (y + 1) * width)
        for line in lines[y * width : (y + 1) * width]:
            out += bytes((255 - line,) * 3)
        out += drawn[row]
    return (2 * height, 2 * width, 3), bytes(out)


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    shape, picture = compose(*read_npy(sys.argv[1]))
    print("expected", hashlib.sha256(picture).hexdigest())
    if len(sys.argv) == 4:
        write_npy(sys.argv[3], shape, picture)
    elif len(sys.argv) == 3:
        other_shape, other = read_npy(sys.argv[2])
        wrong = sum(a != b for a, b in zip(picture, other))
        if shape != other_shape or wrong:
            sys.exit("%s: shape %s, %d wrong bytes" % (sys.argv[2], other_shape, wrong))
        print("equal: %s" % sys.argv[2])


if __name__ == "__main__":
    main()

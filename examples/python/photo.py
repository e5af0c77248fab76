#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/photo from Python: NumPy's arrays in and out, several pictures at once.

    python3 photo.py [--device=auto] [--output=FILE.npy]
"""

import argparse
import asyncio
import pathlib
import time

import gpu_async as ga
import numpy as np

folder = pathlib.Path(__file__).resolve().parent.parent / "photo"


async def edit(program, photos):
    """The pictures of all photos; the calls run at once."""
    height, width, colours = photos[0].shape
    pictures = [np.empty((2 * height, 2 * width, colours), "uint8") for _ in photos]
    await asyncio.gather(*[program.photo.start(*each) for each in zip(photos, pictures)])
    return pictures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--output")
    options = parser.parse_args()
    program = ga.compile(folder / "photo.mlir", options.device)
    photo = np.load(folder / "photo.npy")
    # The same photograph, turned: each is an array of its own, row after row.
    photos = [photo, np.ascontiguousarray(photo[::-1]), np.ascontiguousarray(photo[:, ::-1])]
    asyncio.run(edit(program, photos))  # memory and streams are made by the first calls
    start = time.perf_counter()
    pictures = asyncio.run(edit(program, photos))
    print("%d pictures of %d x %d on %s: %.1f ms" % (
        len(pictures), *pictures[0].shape[:2], program.device, (time.perf_counter() - start) * 1e3))
    if options.output:
        np.save(options.output, pictures[0])


main()

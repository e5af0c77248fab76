#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes photo.npy, the photograph that this example works on.

The picture is `chelsea.png`, a cat photographed by Stefan van der Walt and
released by him under CC0 ("No copyright restrictions", says the docstring of
skimage.data.chelsea). It comes from Debian 12's package python3-skimage
(0.19.3-8, /usr/lib/python3/dist-packages/skimage/data/chelsea.png); the
package's copyright file lists no other terms for it than those of scikit-image
itself (BSD-3-Clause).

    python3 make_photo.py                 downloads the package with apt-get
    python3 make_photo.py chelsea.png     starts from the picture itself

Only Python's standard library is used. The pixels are stored unchanged: 300
rows of 451 pixels of red, green and blue bytes.
"""

import os
import subprocess
import sys
import tempfile

from picture import read_png, write_npy

PACKAGE = "python3-skimage"
MEMBER = "usr/lib/python3/dist-packages/skimage/data/chelsea.png"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    if len(sys.argv) > 1:
        shape, pixels = read_png(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["apt-get", "download", PACKAGE], cwd=folder, check=True)
            (package,) = os.listdir(folder)
            subprocess.run(["dpkg-deb", "-x", package, "."], cwd=folder, check=True)
            shape, pixels = read_png(os.path.join(folder, MEMBER))
    write_npy(os.path.join(here, "photo.npy"), shape, pixels)
    print("photo.npy: %d x %d pixels" % (shape[1], shape[0]))


if __name__ == "__main__":
    main()

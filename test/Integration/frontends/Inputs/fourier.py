# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fourier.py cpu|gpu: Fourier transforms of frontends/fourier.py beside NumPy's, cut
# for such a device and run on the cpu device.
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../python/gpu_async"))
from frontends import fourier

# Taken as they are and cut; a prime number; of divisors that are short, long and both; of several dimensions.
SIZES = ((32,), (48,), (97,), (128,), (243,), (323,), (5000,), (40, 50), (3, 36, 34))
rng = np.random.default_rng(7)
for kind in ("FFT", "IFFT", "RFFT", "IRFFT"):
    for sizes in SIZES:
        given = sizes[:-1] + (sizes[-1] // 2 + 1,) if kind == "IRFFT" else sizes
        x = rng.standard_normal((2,) + given)
        if kind != "RFFT":
            x = x + 1j * rng.standard_normal(x.shape)
        axes = tuple(range(1, len(sizes) + 1))
        name = {"FFT": "fftn", "IFFT": "ifftn", "RFFT": "rfftn", "IRFFT": "irfftn"}[kind]
        extra = {"s": sizes} if kind == "IRFFT" else {}
        expected = getattr(np.fft, name)(x, axes=axes, **extra)
        element = "f32" if kind == "RFFT" else "complex<f32>"
        text = fourier.fourier("f", list(x.shape), "f32", kind, list(sizes))
        result = "tensor<%s%s>" % ("".join("%dx" % size for size in expected.shape), "f32" if kind == "IRFFT" else "complex<f32>")
        argument = "tensor<%s%s>" % ("".join("%dx" % size for size in x.shape), element)
        text += "\nfunc.func @main(%%x: %s) -> %s {\n%%r = func.call @f(%%x) : (%s) -> %s\nreturn %%r : %s\n}\n" % (
            argument, result, argument, result, result)
        with tempfile.TemporaryDirectory() as folder:
            path = lambda each: os.path.join(folder, each)
            with open(path("f.mlir"), "w") as file:
                file.write(text)
            np.save(path("x.npy"), x.astype("float32" if kind == "RFFT" else "complex64"))
            np.save(path("r.npy"), expected.astype("float32" if kind == "IRFFT" else "complex64"))
            program = path("f.mlir")
            if sys.argv[1] == "gpu":
                program = path("gpu.mlir")
                subprocess.run(
                    ["gpu-opt", path("f.mlir"), "--gpu-async-offload=device=gpu offload=error", "-o", program], check=True)
            run = subprocess.run(
                ["gpu-runner", "--device=cpu", program, "--input=@" + path("x.npy"), "--expect=@" + path("r.npy"),
                 "--tolerance=1e-6"],
                capture_output=True, text=True)
            print(kind, *sizes, "ok" if run.returncode == 0 else "FAILED\n" + run.stdout + run.stderr)

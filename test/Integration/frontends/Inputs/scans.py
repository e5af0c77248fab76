# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How many numbers the longest window of a cumsum adds up, whose length decides what it costs.
import os
import re
import sys

import jax
import jax.numpy as jnp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../python/gpu_async"))
from frontends import lower_jax

for size in 128, 16000, 1000000:
    text = lower_jax.lower(lower_jax.trace(jnp.cumsum, [jax.ShapeDtypeStruct((size,), "float32")]))
    text = text.decode() if isinstance(text, bytes) else str(text)
    windows = [int(each) + 1 for pads in re.findall(r"low\[([\d, ]+)\]", text) for each in pads.split(",")]
    print("%d: %d" % (size, max(windows)))

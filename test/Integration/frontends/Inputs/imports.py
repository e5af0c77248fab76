# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Which modules lower_jax.py looks for, and how often, in the second program that it lowers.
import collections
import importlib.abc
import os
import sys

import jax
import jax.numpy as jnp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../python/gpu_async"))
from frontends import lower_jax

wanted = collections.Counter()


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        wanted[name] += 1


def function(x):
    return jnp.abs(jnp.fft.rfft(jnp.sort(x) @ x)), jnp.cumsum(x, 0).at[1].add(1)


traced = lower_jax.trace(function, [jax.ShapeDtypeStruct((20, 20), "float32")])
lower_jax.lower(traced)
sys.meta_path.insert(0, Finder())
lower_jax.lower(traced)
print("looked for:", dict(wanted))

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions with jax.shard_map, for ranks: products of matrices that are divided in several ways.

The first three are those of JAX's tutorial "Manual parallelism with shard_map". SHAPES has the arguments of each. An
AbstractMesh needs no devices.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

grid = AbstractMesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
row = AbstractMesh((4,), ("i",), axis_types=(AxisType.Auto,))


@functools.partial(jax.shard_map, mesh=grid, in_specs=(P("x", "y"), P("y", None)), out_specs=P("x", None))
def matmul_basic(a_block, b_block):
    """Each rank multiplies its parts. The sum of a row of ranks is the part of the product."""
    return lax.psum(jnp.dot(a_block, b_block), "y")


@functools.partial(jax.shard_map, mesh=row, in_specs=(P("i", None), P("i", None)), out_specs=P("i", None))
def matmul_allgather(lhs_block, rhs_block):
    """Each rank gets all of the second matrix."""
    return lhs_block @ lax.all_gather(rhs_block, "i", tiled=True)


@functools.partial(jax.shard_map, mesh=row, in_specs=(P(None, "i"), P("i", None)), out_specs=P("i", None))
def matmul_psumscatter(lhs_block, rhs_block):
    """Each rank adds up the rows that it keeps."""
    return lax.psum_scatter(lhs_block @ rhs_block, "i", tiled=True)


@functools.partial(jax.shard_map, mesh=row, in_specs=(P(None, "i"), P("i", None)), out_specs=P("i", None))
def matmul_ring(lhs_block, rhs_block):
    """Does so by a ring: partial sums go from rank to rank."""
    size, rank = lhs_block.shape[0] // 4, lax.axis_index("i")

    def part(step):
        rows = (rank - step - 1) % 4 * size
        return lax.dynamic_slice_in_dim(lhs_block, rows, size) @ rhs_block

    def add(step, total):
        return lax.ppermute(total, "i", [(each, (each + 1) % 4) for each in range(4)]) + part(step)

    return lax.fori_loop(1, 4, add, part(0))


def normalize(x):
    """Divides vectors until all are short, and then softmax over all elements. Two shard_maps, and an operation between."""
    halve = jax.shard_map(
        lambda x: lax.while_loop(lambda x: lax.psum(jnp.sum(x * x), ("x", "y")) > 1, lambda x: x * 0.5, x),
        mesh=grid, in_specs=P("x", "y"), out_specs=P("x", "y"))
    divide = jax.shard_map(lambda e: e / lax.psum(e, ("x", "y")).sum(), mesh=grid, in_specs=P(("x", "y")), out_specs=P(("x", "y")))
    return divide(jnp.exp(halve(x)).reshape(-1))


SHAPES = {
    "matmul_basic": "8x8xf32 8x4xf32",
    "matmul_allgather": "8x8xf32 8x4xf32",
    "matmul_psumscatter": "8x8xf32 8x4xf32",
    "matmul_ring": "8x8xf32 8x4xf32",
    "normalize": "4x8xf32",
}

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small networks and their parts as functions of arrays, for lower_jax.

SHAPES has the arguments of each. Products are divided by the square root of
what they sum, so that inputs between -1 and 1 give results of that order.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

NCHW = ("NCHW", "OIHW", "NCHW")


def dense(x, w, b):
    return x @ w * (1 / math.sqrt(w.shape[0])) + b


def mlp(x, w1, b1, w2, b2, w3, b3):
    return dense(jax.nn.relu(dense(jax.nn.gelu(dense(x, w1, b1)), w2, b2)), w3, b3)


def normalize(x, scale, bias):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def heads_of(x, heads):
    return x.reshape(x.shape[0], heads, -1).transpose(1, 0, 2)


def attend(x, wq, wk, wv, wo, heads=4, mask=None):
    scale = 1 / math.sqrt(x.shape[1])
    q, k, v = (heads_of(x @ w * scale, heads) for w in (wq, wk, wv))
    scores = jnp.einsum("hqd,hkd->hqk", q, k) * (1 / math.sqrt(q.shape[-1]))
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf)
    mixed = jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, axis=-1), v)
    return mixed.transpose(1, 0, 2).reshape(x.shape) @ wo * scale


def attention(x, wq, wk, wv, wo):
    return attend(x, wq, wk, wv, wo)


def causal(x, wq, wk, wv, wo):
    """Each row sees itself and those before it: the mask is a constant."""
    return attend(x, wq, wk, wv, wo, mask=np.tril(np.ones((x.shape[0],) * 2, bool)))


def layer_norm(x, scale, bias):
    return normalize(x, scale, bias)


def batch_norm(x, scale, bias, mean, variance):
    def channels(v):
        return v.reshape(1, -1, 1, 1)

    return (x - channels(mean)) * channels(scale * lax.rsqrt(variance * variance + 1e-5)) + channels(bias)


def batch_norm_training(x, scale):
    """Mean and variance of many rows, and the gradient of the scale."""
    x = x + 1

    def normalized(scale):
        mean = x.mean((0, 1, 2))
        variance = (x * x).mean((0, 1, 2)) - mean**2
        return (x - mean) * lax.rsqrt(variance) * scale, mean, variance

    _, mean, variance = normalized(scale)
    return mean, variance, jax.grad(lambda s: (normalized(s)[0] ** 2).mean())(scale)


def convolve(x, w, stride=1, groups=1):
    y = lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=NCHW, feature_group_count=groups)
    return y * (1 / math.sqrt(w.shape[1] * w.shape[2] * w.shape[3]))


def resnet_block(x, w1, s1, b1, m1, v1, w2, s2, b2, m2, v2):
    y = jax.nn.relu(batch_norm(convolve(x, w1), s1, b1, m1, v1))
    return jax.nn.relu(batch_norm(convolve(y, w2), s2, b2, m2, v2) + x)


def depthwise(x, w):
    return convolve(x, w, stride=2, groups=x.shape[1])


def embedding(table, tokens):
    return table[tokens]


def apply_rows(table, tokens):
    """Rows are changed in place, some of them twice."""
    return table.at[tokens].apply(lambda x: jnp.where(x > 0, jax.nn.softplus(x), 0.5 * x))


def upsample(x):
    """By factors that are no whole numbers: the nearest before, the nearest, and what lies between."""
    before = nearest = between = x
    for axis, wanted in (2, 8), (3, 11):
        size, at = x.shape[axis], np.arange(wanted)
        before = before.take(at * size // wanted, axis)
        nearest = nearest.take((2 * at + 1) * size // (2 * wanted), axis)
        place = np.maximum((at + 0.5) * size / wanted - 0.5, 0)
        below = place.astype(int)
        share = (place - below).reshape((-1,) + (1,) * (3 - axis)).astype(x.dtype)
        above = np.minimum(below + 1, size - 1)
        between = between.take(below, axis) * (1 - share) + between.take(above, axis) * share
    return before, nearest, between


def lstm(xs, w, u, b):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(dense(x, w, b) + h @ u * (1 / math.sqrt(u.shape[0])), 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((xs.shape[1], u.shape[0]), xs.dtype)
    (_, last), hs = lax.scan(step, (zero, zero), xs)
    return hs, last


def cumsum(x):
    return jnp.cumsum(x, axis=1)


def scans(x):
    """Of rows that are long enough for them to be done in blocks."""
    return jnp.cumsum(x, axis=1), lax.cummax(x, axis=1, reverse=True)


def argmax(x):
    return jnp.argmax(x, axis=1), jnp.max(x, axis=0)


def sampling(x):
    """The chances of the five most likely, and which they are."""
    most, which = lax.top_k(x, 5)
    return jax.nn.softmax(most), which


def ranking(x):
    return jnp.sort(x, axis=1), jnp.argsort(x, axis=0)


def embedding_gradient(table, tokens, gradient):
    return jax.grad(lambda weights: (embedding(weights, tokens) * gradient).sum())(table)


def max_pool_gradient(x):
    """Of windows that overlap."""
    return jax.grad(lambda y: (lax.reduce_window(y, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME") ** 2).sum())(x)


def spectrum(x):
    return jnp.abs(jnp.fft.rfft(x))


def whitening(x, y):
    """y in coordinates in which the rows of x have the covariance 1."""
    factor = jnp.linalg.cholesky(x.T @ x / x.shape[0] + jnp.eye(x.shape[1], dtype=x.dtype))
    return lax.linalg.triangular_solve(factor, y, left_side=True, lower=True)


@jax.jit
def encoder_layer(x, wq, wk, wv, wo, w1, b1, w2, b2, s1, o1, s2, o2):
    x = normalize(x + attend(x, wq, wk, wv, wo), s1, o1)
    return normalize(x + dense(jax.nn.gelu(dense(x, w1, b1)), w2, b2), s2, o2)


def encoder(x, *weights):
    """The weights of all layers lie one after the other in each array."""
    for layer in range(weights[0].shape[0]):
        x = encoder_layer(x, *(w[layer] for w in weights))
    return x


SHAPES = {
    "mlp": "32x48xf32 48x64xf32 64xf32 64x64xf32 64xf32 64x10xf32 10xf32",
    "attention": "24x32xf32 32x32xf32 32x32xf32 32x32xf32 32x32xf32",
    "causal": "16x32xf32 32x32xf32 32x32xf32 32x32xf32 32x32xf32",
    "layer_norm": "9x100xf32 100xf32 100xf32",
    "batch_norm_training": "8x24x24x16xf32 16xf32",
    "resnet_block": "1x8x9x9xf32 8x8x3x3xf32 8xf32 8xf32 8xf32 8xf32 8x8x3x3xf32 8xf32 8xf32 8xf32 8xf32",
    "depthwise": "1x12x14x14xf32 12x1x3x3xf32",
    "embedding": "50x16xf32 13xi32",
    "apply_rows": "50x16xf32 13xi32",
    "upsample": "2x3x5x7xf32",
    "lstm": "10x3x8xf32 8x64xf32 16x64xf32 64xf32",
    "cumsum": "7x50xf32",
    "scans": "3x301xf32",
    "argmax": "9x100xf32",
    "sampling": "3x37xf32",
    "ranking": "3x37xf32",
    "embedding_gradient": "50x16xf32 13xi32 13x16xf32",
    "max_pool_gradient": "2x3x9x9xf32",
    "spectrum": "3x20xf32",
    "whitening": "40x12xf32 12x5xf32",
    "encoder": "16x32xf32 12x32x32xf32 12x32x32xf32 12x32x32xf32 12x32x32xf32 12x32x64xf32 12x64xf32 "
                        "12x64x32xf32 12x32xf32 12x32xf32 12x32xf32 12x32xf32 12x32xf32",
}

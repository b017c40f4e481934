"""Exponentials of small generators, many at once (jax).

Axes: N nodes, S states (from, then to), C cells, B trajectories, K squarings. Generators have off-diagonals >= 0, so
their exponentials are computed as sums of positive terms, stable at any step, and returned with a scale divided out:
exp(G dt) = exp(log_scale) * matrix. All functions can be differentiated.
"""

from __future__ import annotations

from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from ctbnlearn.arrays import AnyArray

SMALL, TERMS = 0.1, 9  # norm of a generator times dt up to which as many terms of the series are exact to rounding
SQUARINGS = 12  # at most: exact up to a norm of 400
Matrices: TypeAlias = Float[Array, "N S S C B"]
Diagonals: TypeAlias = Float[Array, "N S C B"]
Numbers: TypeAlias = Float[Array, "N C B"]
Lengths: TypeAlias = Float[Array, "C B"]
Powers: TypeAlias = tuple[Float[Array, "K N S S C B"], Float[Array, "K N C B"]]  # before each squaring; its factor


def exponential(off: Matrices, diagonal: Diagonals, dt: Lengths) -> tuple[Matrices, Numbers]:
    """Exp of the generator with off-diagonal `off`, times dt: the scaled matrix and the log of its scale."""
    if off.shape[1] == 2:
        return _two_states(off, diagonal, dt)
    return _any_states(off, diagonal, dt)


def _two_states(
    off: Float[Array, "N 2 2 C B"], diagonal: Float[Array, "N 2 C B"], dt: Lengths
) -> tuple[Float[Array, "N 2 2 C B"], Numbers]:
    """Closed form: with m the mean of the diagonal and N = G - m, N^2 = d^2 is a multiple of the identity."""
    mean = 0.5 * (diagonal[:, 0] + diagonal[:, 1])
    half = 0.5 * (diagonal[:, 0] - diagonal[:, 1])
    up, down = off[:, 0, 1], off[:, 1, 0]
    cosh, sinhc, log_scale = _hyperbolic((half**2 + up * down) * dt**2)
    factor = sinhc * dt
    rows = [
        jnp.stack([cosh + factor * half, factor * up], axis=1),
        jnp.stack([factor * down, cosh - factor * half], axis=1),
    ]
    return jnp.stack(rows, axis=1), log_scale + mean * dt


def _hyperbolic(square: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """cosh(z) and sinh(z) / z of z = sqrt(square), both times exp(-log_scale), smooth in `square` at zero."""
    small = square < 0.25
    low = jnp.where(small, square, 0.0)
    cosh_low = 1 + low / 2 * (1 + low / 12 * (1 + low / 30 * (1 + low / 56 * (1 + low / 90 * (1 + low / 132)))))
    sinhc_low = 1 + low / 6 * (1 + low / 20 * (1 + low / 42 * (1 + low / 72 * (1 + low / 110 * (1 + low / 156)))))
    z = jnp.sqrt(jnp.where(small, 1.0, square))
    decay = jnp.exp(-2 * z)
    cosh_high, sinhc_high = 0.5 * (1 + decay), 0.5 * (1 - decay) / z
    return (
        jnp.where(small, cosh_low, cosh_high),
        jnp.where(small, sinhc_low, sinhc_high),
        jnp.where(small, 0.0, z),
    )


def _any_states(off: Matrices, diagonal: Diagonals, dt: Lengths) -> tuple[Matrices, Numbers]:
    """Taylor series of the shifted, halved matrix, then repeated squaring: positive terms throughout."""
    eye = jnp.eye(off.shape[1], dtype=off.dtype)[None, :, :, None, None]
    shift = jnp.min(diagonal, axis=1)
    matrix = (off + eye * (diagonal - shift[:, None])[:, :, None]) * dt
    norm = jax.lax.stop_gradient(jnp.max(jnp.sum(matrix, axis=2)))
    halvings = jnp.clip(jnp.ceil(jnp.log2(norm / SMALL)), 0, SQUARINGS).astype(int)
    out, log_scale = _power(_series(matrix * 0.5**halvings, eye), halvings)
    return out, log_scale + shift * dt


def _series(a: Matrices, eye: Float[Array, "1 S S 1 1"]) -> Matrices:
    """Taylor series of exp(a), exact to rounding up to a norm of `SMALL`.

    Loops here are loops in the compiled code, too: written out, products would be recomputed wherever they are used.
    """

    def step(out: Matrices, over: Float[AnyArray, ""]) -> tuple[Matrices, None]:
        return eye + product(a, out) * over, None

    return jax.lax.scan(step, jnp.broadcast_to(eye, a.shape), 1 / np.arange(TERMS, 0, -1.0).astype(a.dtype))[0]


@jax.custom_vjp
def _power(a: Matrices, count: Int[Array, ""]) -> tuple[Matrices, Numbers]:
    """Positive matrices squared `count` times, and the log of the scale divided out, the largest entry each time.

    Only the product of scale and matrix is meant, so derivatives take the scale as given.
    """
    return _squared(a, count)[0]


def _squared(a: Matrices, count: Int[Array, ""]) -> tuple[tuple[Matrices, Numbers], tuple[Powers, Int[Array, ""]]]:
    def step(k: Int[Array, ""], carry: tuple[Matrices, Numbers, Powers]) -> tuple[Matrices, Numbers, Powers]:
        a, log_scale, (powers, factors) = carry
        square = product(a, a)
        factor = 1 / jnp.max(square, axis=(1, 2))
        kept = powers.at[k].set(a), factors.at[k].set(factor)
        return square * factor[:, None, None], 2 * log_scale - jnp.log(factor), kept

    log_scale = jnp.zeros_like(a[:, 0, 0])
    none = jnp.zeros((SQUARINGS, *a.shape), a.dtype), jnp.zeros((SQUARINGS, *log_scale.shape), a.dtype)
    a, log_scale, kept = jax.lax.fori_loop(0, count, step, (a, log_scale, none))
    return (a, log_scale), (kept, count)


def _squared_slope(kept: tuple[Powers, Int[Array, ""]], slopes: tuple[Matrices, Numbers]) -> tuple[Matrices, None]:
    (powers, factors), count = kept

    def step(k: Int[Array, ""], slope: Matrices) -> Matrices:
        before = jnp.swapaxes(powers[count - 1 - k], 1, 2)
        slope = slope * factors[count - 1 - k][:, None, None]
        return product(slope, before) + product(before, slope)

    return jax.lax.fori_loop(0, count, step, slopes[0]), None


_power.defvjp(_squared, _squared_slope)


@jax.custom_vjp
def product(a: Matrices, b: Matrices) -> Matrices:
    """Matrix product over the state axes."""
    terms = [a[:, :, k, None] * b[:, None, k] for k in range(a.shape[2])]
    return sum(terms[1:], terms[0])


def _product_slopes(factors: tuple[Matrices, Matrices], slope: Matrices) -> tuple[Matrices, Matrices]:
    a, b = (jnp.swapaxes(x, 1, 2) for x in factors)
    return product(slope, b), product(a, slope)


product.defvjp(lambda a, b: (product(a, b), (a, b)), _product_slopes)

"""Exponentials of small generators, many at once (jax).

Arrays have shape (N, S, S, C, B): nodes, states from and to, cells, trajectories innermost. Generators have
off-diagonals >= 0, so their exponentials are computed as sums of positive terms, stable at any step, and
returned with a scale divided out: exp(G dt) = exp(log_scale) * matrix. All functions can be differentiated.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

Array = Any
SQUARINGS = 10  # accurate to rounding for generators times dt up to a norm of a hundred
FEW_SQUARINGS = 3


def exponential(off: Array, diagonal: Array, dt: Array) -> tuple[Array, Array]:
    """Exp of the generator with off-diagonal `off` (N, S, S, C, B) and diagonal (N, S, C, B), times dt (C, B).

    Returns the scaled matrix (N, S, S, C, B) and the log of its scale (N, C, B).
    """
    if off.shape[1] == 2:
        return _two_states(off, diagonal, dt)
    return _any_states(off, diagonal, dt)


def _two_states(off: Array, diagonal: Array, dt: Array) -> tuple[Array, Array]:
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


def _hyperbolic(square: Array) -> tuple[Array, Array, Array]:
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


def _any_states(off: Array, diagonal: Array, dt: Array) -> tuple[Array, Array]:
    """Taylor series of the shifted, halved matrix, then repeated squaring: positive terms throughout."""
    eye = jnp.eye(off.shape[1], dtype=off.dtype)[None, :, :, None, None]
    shift = jnp.min(diagonal, axis=1)
    matrix = (off + eye * (diagonal - shift[:, None])[:, :, None]) * dt
    short = jnp.max(jnp.sum(matrix, axis=2)) <= 0.1 * 2**FEW_SQUARINGS
    out, log_scale = jax.lax.cond(short, _short, _long, matrix, eye)
    return out, log_scale + shift * dt


def _short(matrix: Array, eye: Array) -> tuple[Array, Array]:
    """Exp of matrices of small norm: nothing grows, so nothing is scaled."""
    out = _series(matrix / 2**FEW_SQUARINGS, eye)
    for _ in range(FEW_SQUARINGS):
        out = product(out, out)
    return out, jnp.zeros_like(matrix[:, 0, 0])


def _long(matrix: Array, eye: Array) -> tuple[Array, Array]:
    """Exp of any matrices, the largest entry divided out after every squaring."""
    out = _series(matrix / 2**SQUARINGS, eye)
    log_scale = jnp.zeros_like(matrix[:, 0, 0])
    for _ in range(SQUARINGS):
        out = product(out, out)
        peak = jnp.max(out, axis=(1, 2))
        out = out / peak[:, None, None]
        log_scale = 2 * log_scale + jnp.log(peak)
    return out, log_scale


def _series(a: Array, eye: Array) -> Array:
    """Taylor series of exp(a) to the ninth power with four products; exact to rounding up to a norm of 0.1."""
    two = product(a, a)
    three = product(two, a)
    high = eye / 720 + a / 5040 + two / 40320 + three / 362880
    middle = eye / 6 + a / 24 + two / 120 + product(three, high)
    return eye + a + two / 2 + product(three, middle)


def product(a: Array, b: Array) -> Array:
    """Matrix product over the state axes of (N, S, S, ...)."""
    return jnp.sum(a[:, :, :, None] * b[:, None, :, :], axis=2)

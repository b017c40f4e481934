"""Exponentials of small generators, many at once (jax).

Arrays have shape (C, N, S, S, B): cells, nodes, states from and to, trajectories innermost. Generators have
off-diagonals >= 0, so their exponentials are computed as sums of positive terms, stable at any step, and
returned with a scale divided out: exp(G dt) = exp(log_scale) * matrix. All functions can be differentiated.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

Array = Any
SQUARINGS, TERMS = 7, 8


def exponential(off: Array, diagonal: Array, dt: Array) -> tuple[Array, Array]:
    """exp of the generator with off-diagonal `off` (C, N, S, S, B) and diagonal (C, N, S, B), times dt (C, B).

    Returns the scaled matrix (C, N, S, S, B) and the log of its scale (C, N, B).
    """
    if off.shape[2] == 2:
        return _two_states(off, diagonal, dt)
    return _any_states(off, diagonal, dt)


def _two_states(off: Array, diagonal: Array, dt: Array) -> tuple[Array, Array]:
    """Closed form: with m the mean of the diagonal and N = G - m, N^2 = d^2 is a multiple of the identity."""
    step = dt[:, None]
    mean = 0.5 * (diagonal[:, :, 0] + diagonal[:, :, 1])
    half = 0.5 * (diagonal[:, :, 0] - diagonal[:, :, 1])
    up, down = off[:, :, 0, 1], off[:, :, 1, 0]
    square = (half**2 + up * down) * step**2
    cosh, sinhc, log_scale = _hyperbolic(square)
    factor = sinhc * step
    rows = [
        jnp.stack([cosh + factor * half, factor * up], axis=2),
        jnp.stack([factor * down, cosh - factor * half], axis=2),
    ]
    return jnp.stack(rows, axis=2), log_scale + mean * step


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
    n = off.shape[2]
    eye = jnp.eye(n)[None, None, :, :, None]
    step = dt[:, None]
    shift = jnp.min(diagonal, axis=2)
    matrix = off * step[:, :, None, None] + eye * ((diagonal - shift[:, :, None]) * step[:, :, None])[:, :, :, None]
    matrix = matrix / 2**SQUARINGS
    out = eye + matrix / TERMS
    for k in range(TERMS - 1, 0, -1):
        out = eye + product(matrix, out) / k
    log_scale = jnp.zeros_like(shift)
    for _ in range(SQUARINGS):
        out = product(out, out)
        peak = jnp.max(out, axis=(2, 3))
        out = out / peak[:, :, None, None]
        log_scale = 2 * log_scale + jnp.log(peak)
    return out, log_scale + shift * step


def product(a: Array, b: Array) -> Array:
    """Matrix product over the state axes of (C, N, S, S, B)."""
    return jnp.sum(a[:, :, :, :, None] * b[:, :, None, :, :], axis=3)

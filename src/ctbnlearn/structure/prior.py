"""Priors: Gamma distributions of the rates, and probabilities of parent sets.

Every rate r(x, x' | u_m) has its own Gamma(shape alpha, rate beta). "independent" is weak: shape 1 per cell, and a rate
that puts the prior mean at the node's overall rate out of a state. "pushed" holds it as likely that rates into a state
rise as those out of it fall (`ctbnlearn.structure.pushes`). "shared" has one strength for all cells of a set, which the
data choose (`ctbnlearn.structure.cell_prior`). The paper's prior is given for the full set of parents and projected
onto subsets by summing: alpha_m = alpha |U| / |U_m|, likewise beta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from ctbnlearn.arguments import finite
from ctbnlearn.arrays import FloatArray
from ctbnlearn.errors import ParameterError
from ctbnlearn.structure.parent_sets import ParentSets

NAMES = ("auto", "independent", "pushed", "shared")
LARGEST_PRIOR, LARGEST_ODDS = 1e100, 1e9  # beyond these numbers the others drown


@dataclass(frozen=True)
class ProjectedPrior:
    """The paper's prior: Gamma(shape, rate) at the full parent set, summed over what a subset leaves open.

    With every set of candidates in play the full set is all of them; with at most K parents it is K of them,
    each with the candidates' (geometric) mean number of states.

    Parameters
    ----------
    shape, rate : float
        Of the Gamma prior at the full parent set; default 5 and 10, as in the paper.
    """

    shape: float = 5.0
    rate: float = 10.0


RatePrior: TypeAlias = str | ProjectedPrior | Sequence[float] | FloatArray  # a name, or shape and rate
StructurePrior: TypeAlias = str | ArrayLike  # a name, or log odds per edge


def check_rate_prior(prior: RatePrior) -> None:
    """Raise unless the prior has a known name, or is (shape, rate) or a `ProjectedPrior`, all positive."""
    if isinstance(prior, str) and prior in NAMES:
        return
    pair = (prior.shape, prior.rate) if isinstance(prior, ProjectedPrior) else prior
    try:
        ok = isinstance(pair, (tuple, list)) or (isinstance(pair, np.ndarray) and pair.ndim == 1)
        fine = ok and len(pair) == 2
        fine = fine and all(1 / LARGEST_PRIOR <= finite(p, "rate_prior") <= LARGEST_PRIOR for p in pair)
    except ParameterError:
        fine = False
    if not fine:
        raise ParameterError(
            f"rate_prior must be one of {list(NAMES)}, a pair (shape, rate) of positive numbers or a ProjectedPrior, "
            f"not {prior!r}"
        )


def rate_prior(
    prior: RatePrior,
    sets: ParentSets,
    cards: Sequence[int],
    allowed: Sequence[int],
    max_parents: int | None,
    typical: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Shape of the cells of every parent set, (n_sets,), and their rate by the node's state, (n_sets, S).

    Parameters
    ----------
    prior
        As checked by `check_rate_prior`.
    sets
        The parent sets.
    cards
        Number of states of every variable.
    allowed, max_parents
        Pool of the node and limit on its parents, for the projected prior.
    typical : (S,)
        The node's transitions out of each state per unit of time there and target state, for priors by name.
    """
    ones, each = np.ones(len(sets)), np.ones((len(sets), len(typical)))
    if isinstance(prior, str):
        return ones, each / typical
    if not isinstance(prior, ProjectedPrior):
        return ones * float(prior[0]), each * float(prior[1])
    log_card = np.log(np.append(np.asarray(cards, float), 1.0))  # the last entry serves the -1 padding
    own = log_card[sets.members].sum(1)
    candidates = log_card[list(allowed)]
    if max_parents is None or max_parents >= len(allowed):
        factor = np.exp(candidates.sum() - own)
    else:
        factor = np.exp(candidates.mean() * (max_parents - sets.sizes))
    return prior.shape * factor, each * (prior.rate * factor)[:, None]


def log_prior_parts(
    prior: StructurePrior, n: int, node: int, allowed: Sequence[int], required: Sequence[int], limit: int
) -> tuple[FloatArray, FloatArray]:
    """Log prior of a node's parent sets in two parts: by size (limit + 1,), and odds of every member (n,).

    Their sum over a set's size and members is its log prior probability among all sets that hold `required`, lie inside
    `allowed` and have at most `limit` members. "size": uniform over the sizes, then over the sets of a size. "sparse":
    half a parent beyond those required, on average: odds of 1 / (2 x number of candidates) for each candidate, nearly
    Poisson(1/2) members. "flat": uniform over sets. A number or matrix [source, target]: log odds of each edge.
    """
    extra = np.arange(limit + 1) - len(required)
    held = set(required)
    free = [j for j in allowed if j not in held]
    odds = np.zeros(n)
    if isinstance(prior, str):
        inside = np.clip(extra, 0, len(free))
        ways = gammaln(len(free) + 1) - gammaln(inside + 1) - gammaln(len(free) - inside + 1)
        if prior == "size":
            return np.where(extra >= 0, -ways - np.log((extra >= 0).sum()), -np.inf), odds
        if prior == "sparse":
            odds[free] = -np.log(2 * max(len(free), 1))
        totals = np.where(extra >= 0, ways + inside * odds[free[:1]].sum(), -np.inf)
    else:
        odds = _log_odds(prior, n)[:, node].copy()
        # log of the elementary symmetric polynomials: total weight of all sets of a size
        totals = np.full(limit + 1, -np.inf)
        totals[len(required)] = odds[list(required)].sum()
        for j in free:
            totals[1:] = np.logaddexp(totals[1:], totals[:-1] + odds[j])
    by_size = np.full(limit + 1, -np.logaddexp.reduce(totals))
    return np.where(extra >= 0, by_size, -np.inf), odds


def check_structure_prior(prior: StructurePrior, n: int) -> None:
    """Raise unless the prior is "size", "sparse", "flat", a finite number or a finite n x n matrix."""
    if not (isinstance(prior, str) and prior in ("size", "sparse", "flat")):
        _log_odds(prior, n)


def _log_odds(prior: StructurePrior, n: int) -> FloatArray:
    """Matrix [source, target] of log odds from a number or a matrix."""
    try:
        odds = np.asarray(prior, float)
    except (TypeError, ValueError, OverflowError):
        odds = np.full((), np.nan)
    if odds.shape not in ((), (n, n)) or not (np.abs(odds) <= LARGEST_ODDS).all():
        raise ParameterError(
            f'structure_prior must be "auto", "size", "sparse", "flat", or log odds up to {LARGEST_ODDS:g}: a number '
            f"or a {n} x {n} matrix [source, target]; got {prior!r}"
        )
    return np.broadcast_to(odds, (n, n))

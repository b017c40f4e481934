"""Path posteriors on the joint chain of all variables, for learning: exact, and for few variables.

Exit rates e may exceed the sum of R~. The chain then loses probability on its way; what is left is the factor Z of F,
and statistics are those of its posterior. All variables are one block of `block_chain`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ImpossibleEvidenceError
from ctbnlearn.inference import exact
from ctbnlearn.inference.block_chain import moves
from ctbnlearn.inference.block_evidence import BlockEvidence
from ctbnlearn.inference.contract import Effort, Expectation, PathInference, PathPosterior, PathRates
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.statistics import Statistics
from ctbnlearn.model.initial import InitialDistribution


class Chain(NamedTuple):
    """What the joint chain needs to know of a network."""

    variables: tuple[Variable, ...]
    n_states: tuple[int, ...]
    parents: Sequence[tuple[int, ...]]
    cims: list[FloatArray]
    initial: InitialDistribution


@final
class ExactPaths(PathInference):
    """Paths on the joint chain; no effort is spared, and nothing is kept between E-steps.

    Parameters
    ----------
    obs
        What was seen.
    exit_rate
        Typical exit rate of a joint state, which the time grid suits.
    device
        Where to compute, and how precisely.
    queries : (n_trajectories, n_queries), optional
        Times at which the posterior may be asked for.
    """

    def __init__(self, obs: Observations, exit_rate: float, device: Device, queries: FloatArray | None = None) -> None:
        self.exit_rate, self.device = exit_rate, device
        self.queries = np.empty((obs.n_trajectories, 0)) if queries is None else queries
        self.see(obs)

    def describe(self) -> str:
        """How many states the chain has."""
        return f"paths on the joint chain of {prod(v.n_states for v in self.obs.variables)} states"

    def expect(self, rates: PathRates, effort: Effort, start: PathPosterior | None = None) -> Expectation:
        """Log of the probability that is left of every trajectory, and expected statistics."""
        cards = tuple(int(c) for c in rates.cards)
        who, step, to = moves(cards)
        states = np.unravel_index(np.arange(to.shape[1]), cards)
        row = [_joint(states, parents, cards) for parents in rates.parents]
        flat = np.stack([rates.geometric[i][row[i], states[i], (states[i] + s) % cards[i]] for i, s in zip(who, step)])
        leave = [np.asarray(r, float) * ~np.eye(len(r[0]), dtype=bool) for r in rates.arithmetic]
        exits = sum(leave[i].sum(-1)[row[i], states[i]] for i in range(len(cards)))
        first = np.ones(1)
        for p in rates.initial:
            first = np.outer(first, p).reshape(-1)
        found = self.evidence.totals(np.arange(len(cards))[None], flat[None], first[None], np.asarray(exits)[None])
        values = found.log_evidence[0]
        if not np.isfinite(values).all():
            lost = self.obs.ids[int(np.flatnonzero(~np.isfinite(values))[0])]
            raise ImpossibleEvidenceError(f"trajectory {lost!r}: what was seen of it has probability zero")
        moved, dwell = flat * found.flow[0], found.dwell[0]
        tables = []
        for i, card in enumerate(cards):
            size = int(np.prod([cards[j] for j in rates.parents[i]], dtype=int))
            time = np.bincount(row[i] * card + states[i], dwell, size * card).reshape(size, card)
            count = np.zeros(size * card * card)
            for k in np.flatnonzero(who == i):
                cell = (row[i] * card + states[i]) * card + (states[i] + step[k]) % card
                count += np.bincount(cell, moved[k], len(count))
            begun = np.bincount(states[i], found.starts[0], card)
            tables.append((time, count.reshape(size, card, card), begun))
        dwells, counts, starts = (tuple(part) for part in zip(*tables))
        statistics = Statistics(tuple(self.obs.variables), tuple(rates.parents), dwells, counts, starts)
        return Expectation(values, statistics, PathPosterior(rates, effort))

    def marginals_of(self, paths: PathPosterior) -> FloatArray:
        """Posterior of the chain at the times asked for."""
        found = exact.posterior(self._chain(paths.rates), self.obs, self.queries)
        out = np.zeros((*self.queries.shape, len(found), max(paths.rates.cards)))
        for i, share in enumerate(found.values()):
            out[..., i, : share.shape[-1]] = share
        return out

    def see(self, obs: Observations) -> None:
        """Take other observations."""
        self.obs = obs
        self.evidence = BlockEvidence(obs, self.exit_rate, self.device)

    def _chain(self, rates: PathRates) -> Chain:
        cims = []
        for card, geometric, arithmetic in zip(rates.cards, rates.geometric, rates.arithmetic):
            off, diagonal = ~np.eye(card, dtype=bool), np.arange(card)
            cim = geometric * off
            cim[:, diagonal, diagonal] = -(arithmetic * off).sum(-1)
            cims.append(cim)
        variables = tuple(self.obs.variables)
        initial = InitialDistribution.build(variables, {v.name: p for v, p in zip(variables, rates.initial)})
        return Chain(variables, tuple(rates.cards), rates.parents, cims, initial)

    def arrays(self, paths: PathPosterior) -> dict[str, NDArray[Any]]:
        """Nothing is kept."""
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], rates: PathRates, effort: Effort) -> PathPosterior:
        """Nothing was kept."""
        return PathPosterior(rates, effort)


def _joint(states: tuple[IntArray, ...], parents: tuple[int, ...], cards: tuple[int, ...]) -> IntArray:
    """Number of the joint state of the parents in every joint state of all."""
    out = np.zeros(len(states[0]), np.int64)
    for j in parents:
        out = out * cards[j] + states[j]
    return out

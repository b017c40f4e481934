"""Expected dwell and transition tables of all pairs of parents, from path posteriors.

With parents independent given their marginals, the time node i spends in x while parents j, k are in u, v is
sum_cells t_i(x) q_j(u) q_k(v): for all pairs at once a matrix product (Q w)' Q. At a transition of i the parents that
its path rates depend on are tilted, q_j(u | jump) = sum over u of q^u R~(u) / r~: their columns are replaced before the
product, and pairs of two such parents are taken from their joint table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.tables import Group, expansion, pair_groups


class PathRows:
    """Path posteriors as rows, one per cell and trajectory.

    Attributes
    ----------
    marginal : (R, N, S)
        q of every node.
    dt : (R,)
        Length of the cell.
    transitions : (R, N, S, S)
        Expected transitions in the cell.
    """

    def __init__(self, marginal: FloatArray, dt: FloatArray, transitions: FloatArray) -> None:
        self.marginal, self.dt, self.transitions = marginal, dt, transitions


class ExpectedPairTables:
    """Tables of all parent sets of size two or less, in expectation.

    Parameters
    ----------
    rows
        The path posteriors.
    cards
        Number of states of every node.
    pools
        Active parents of every node: those its path rates depend on.
    geometric
        Per node the path rates R~ (U, S, S) on the joint states of the pool.
    """

    def __init__(
        self,
        rows: PathRows,
        cards: Sequence[int],
        pools: Sequence[tuple[int, ...]],
        geometric: Sequence[FloatArray],
    ) -> None:
        self.rows, self.cards, self.pools, self.geometric = rows, list(cards), pools, geometric
        self._expand = expansion(self.cards)
        self._column = np.concatenate([[1], 1 + np.cumsum(np.asarray(cards) - 1)])  # first reduced column of a node
        self._z: FloatArray = np.ones((len(rows.dt), self._column[-1]))
        for j, card in enumerate(self.cards):
            self._z[:, self._column[j] : self._column[j + 1]] = rows.marginal[:, j, 1:card]

    def groups(self, node: int, sets: ParentSets) -> Iterator[Group]:
        """Tables of all the sets of a node."""
        card, rows = self.cards[node], self.rows
        width = self._z.shape[1]
        dwell = np.empty((card, width, width))
        for x in range(card):
            dwell[x] = _weighted(self._z, rows.marginal[:, node, x] * rows.dt)
        transitions = np.zeros((card, card, width, width))
        pool = self.pools[node]
        joint = self._joint_states(pool)
        for x in range(card):
            for y in range(card):
                if x != y:
                    transitions[x, y] = self._jump_moments(node, x, y, pool, joint)
        return pair_groups(dwell, transitions, self._expand, self.cards, sets)

    def _joint_states(self, pool: Sequence[int]) -> FloatArray:
        """Probability of every joint state of the pool in every row, (R, U)."""
        out: FloatArray = np.ones((len(self.rows.dt), 1))
        for j in pool:
            out = (out[:, :, None] * self.rows.marginal[:, j, None, : self.cards[j]]).reshape(len(out), -1)
        return out

    def _jump_moments(self, node: int, x: int, y: int, pool: Sequence[int], joint: FloatArray) -> FloatArray:
        """Moments of the reduced columns at the transitions x -> y, (F, F)."""
        weight = self.rows.transitions[:, node, x, y]
        if not pool:
            return _weighted(self._z, weight)
        tilted = joint * self.geometric[node][:, x, y]
        total = tilted.sum(1, keepdims=True)
        tilted = np.divide(tilted, total, out=np.zeros_like(tilted), where=total > 0)
        # reduced one-hot columns of the pool on its joint states, so that tilted @ hot are their means at a jump
        cards = [self.cards[j] for j in pool]
        digits = np.unravel_index(np.arange(joint.shape[1]), cards)
        hot = np.concatenate(
            [(digit[:, None] == np.arange(1, card)).astype(float) for digit, card in zip(digits, cards)], axis=1
        )
        columns = np.concatenate([np.arange(self._column[j], self._column[j + 1]) for j in pool])
        z = self._z.copy()
        z[:, columns] = tilted @ hot
        out = _weighted(z, weight)
        out[np.ix_(columns, columns)] = hot.T @ ((weight @ tilted)[:, None] * hot)
        return out


def _weighted(z: FloatArray, weight: FloatArray) -> FloatArray:
    """Product z' diag(weight) z; one matrix with itself costs half of a general product."""
    scaled = z * np.sqrt(np.maximum(weight, 0.0))[:, None]
    return scaled.T @ scaled

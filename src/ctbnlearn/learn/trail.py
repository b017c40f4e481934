"""What a chain has seen: means of its edge weights over stretches of sweeps, and how each stretch left every node.

At most `MOST` stretches are kept; when there are more, two become one, twice as long. The first third is burn-in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, IntArray

MOST = 128
PARTS = ("parents", "dwell", "moves", "prior_shape", "prior_rate", "starts", "sets", "weights", "noise")  # of records


class NodeRecord(NamedTuple):
    """A node as one sweep left it.

    Its parents, their statistics (U, S) and (U, S, S), the Gamma priors of its rates, how many trajectories start in
    each state, its heaviest sets, and the parameters of its observation model where they are learned.
    """

    parents: tuple[int, ...]
    dwell: FloatArray
    moves: FloatArray
    prior_shape: FloatArray  # (U, S, S)
    prior_rate: FloatArray
    starts: FloatArray
    sets: IntArray  # (k, most parents), filled up with -1
    weights: FloatArray
    noise: FloatArray


class Stretch(NamedTuple):
    """What some sweeps bring: mean edge weights (N, N), mean log evidence, and all nodes as the last one left them."""

    edges: FloatArray
    evidence: float
    records: Sequence[NodeRecord]


class Trail:
    """The trail of one chain.

    Parameters
    ----------
    length
        Sweeps of a stretch, at first.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        self.edges: list[FloatArray] = []
        self.evidence: list[float] = []
        self.records: list[Sequence[NodeRecord]] = []

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def n_sweeps(self) -> int:
        """Sweeps seen."""
        return len(self) * self.length

    def next_stretches(self, most: int) -> int:
        """Stretches of the next step, if `most` sweeps are allowed in all; two become one at the end of a step only."""
        return min(max(8, len(self) // 4), MOST - len(self), (most - self.n_sweeps) // self.length)

    def add(self, stretch: Stretch) -> None:
        """A stretch has ended."""
        self.edges.append(np.asarray(stretch.edges, np.float32))
        self.evidence.append(float(stretch.evidence))
        self.records.append(stretch.records)
        if len(self) == MOST:
            self.length *= 2
            self.edges = [(a + b) / 2 for a, b in zip(self.edges[::2], self.edges[1::2])]
            self.evidence = [(a + b) / 2 for a, b in zip(self.evidence[::2], self.evidence[1::2])]
            self.records = self.records[1::2]

    def kept(self) -> slice:
        """Stretches after the burn-in."""
        return slice(len(self) // 3, len(self))

    def copy(self) -> Trail:
        """A copy that goes on independently."""
        out = Trail(self.length)
        out.edges, out.evidence, out.records = list(self.edges), list(self.evidence), list(self.records)
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it, by name; ragged parts are laid one after another."""
        flat = [node for record in self.records for node in record]
        return {
            "length": np.array([self.length]),
            "edges": np.array(self.edges, np.float32),
            "evidence": np.array(self.evidence),
            "n_parents": np.array([len(r.parents) for r in flat], np.int64),
            "parents": np.array([j for r in flat for j in r.parents], np.int64),
            "dwell": _joined([r.dwell for r in flat]),
            "moves": _joined([r.moves for r in flat]),
            "prior_shape": _joined([r.prior_shape for r in flat]),
            "prior_rate": _joined([r.prior_rate for r in flat]),
            "starts": _joined([r.starts for r in flat]),
            "n_sets": np.array([len(r.weights) for r in flat], np.int64),
            "sets": np.concatenate([r.sets for r in flat]) if flat else np.zeros((0, 1), np.int64),
            "weights": _joined([r.weights for r in flat]),
            "n_noise": np.array([len(r.noise) for r in flat], np.int64),
            "noise": _joined([r.noise for r in flat]),
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], cards: Sequence[int]) -> Trail:
        """The trail that `arrays` took apart."""
        out = cls(int(arrays["length"][0]))
        out.edges, out.evidence = list(arrays["edges"]), arrays["evidence"].tolist()
        at = dict.fromkeys(PARTS, 0)

        def take(key: str, count: int) -> NDArray[Any]:
            at[key] += count
            return arrays[key][at[key] - count : at[key]]

        nodes: list[NodeRecord] = []
        counts = zip(arrays["n_parents"], arrays["n_sets"], arrays["n_noise"])
        for number, (n_parents, n_sets, n_noise) in enumerate(counts):
            card = cards[number % len(cards)]
            parents = tuple(take("parents", n_parents).tolist())
            size = int(np.prod([cards[j] for j in parents], dtype=int))
            dwell = take("dwell", size * card).reshape(size, card)
            moves = take("moves", size * card**2).reshape(size, card, card)
            shape = take("prior_shape", size * card**2).reshape(size, card, card)
            rate = take("prior_rate", size * card**2).reshape(size, card, card)
            starts, sets, weights = take("starts", card), take("sets", n_sets), take("weights", n_sets)
            nodes.append(NodeRecord(parents, dwell, moves, shape, rate, starts, sets, weights, take("noise", n_noise)))
        n = len(cards)
        out.records = [nodes[k : k + n] for k in range(0, len(nodes), n)]
        return out


def _joined(parts: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate([p.reshape(-1) for p in parts]) if parts else np.zeros(0)

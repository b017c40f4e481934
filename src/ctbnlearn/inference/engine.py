"""The variational engine around the jax kernels: blocks of trajectories, their states, path rates.

Nothing is switched in jax itself: precision and device hold inside this module's calls only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import jax
import numpy as np

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ImpossibleEvidenceError, ParameterError
from ctbnlearn.inference import variational as kernels
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.grid import Block, build_blocks
from ctbnlearn.inference.rows import Rows, pieces, rows_of
from ctbnlearn.model.ctbn import CTBN

ROWS_A_PIECE = 8192  # rows summed up in one matrix product, which may be in single precision
LARGE = 5_000_000  # cells times trajectories times nodes from which on padding costs more than compiling
LEAST_RATE = 1e-30  # mean field: of the largest rate, for a transition impossible in some parent states only
KEEP_BYTES = 1 << 30  # states of blocks are kept between calls up to this much; beyond it they are made anew


# number of trajectories, evidence, child response and parent states of a block
Surroundings = tuple[int, kernels.Evidence, Any, Any]


class PathRates:
    """Path rates of every node on the joint states of its active parents, padded to common shapes.

    Parameters
    ----------
    cards
        Number of states of every node.
    parents
        Active parents of every node.
    geometric, arithmetic
        Per node R~ and R, each (U, S, S) with joint parent states in C order; diagonals are ignored.
    initial
        Per node, the initial distribution (S,).
    at_least
        Number of active parents and of their joint states to make room for, so that shapes stay the same while the
        parents change.
    mean_field
        Whether paths are inferred by naive mean field in place of the star approximation.
    """

    def __init__(
        self,
        cards: Sequence[int],
        parents: Sequence[Sequence[int]],
        geometric: Sequence[FloatArray],
        arithmetic: Sequence[FloatArray],
        initial: Sequence[FloatArray],
        at_least: tuple[int, int] = (1, 1),
        mean_field: bool = False,
    ) -> None:
        self.cards, self.parents = list(cards), [tuple(p) for p in parents]
        n, widest = len(cards), max(cards)
        self.sizes = [int(np.prod([cards[j] for j in ps], dtype=int)) for ps in self.parents]
        most, tall = max(at_least[0], max(map(len, self.parents))), max(at_least[1], max(self.sizes))
        table = np.zeros((n, tall, widest, widest))
        leave = np.zeros((n, tall, widest))
        index = np.full((n, most), n)
        select = np.zeros((most, n, tall, widest))
        select[..., 0] = 1.0
        first = np.zeros((n, widest))
        for i, card in enumerate(cards):
            off = ~np.eye(card, dtype=bool)
            table[i, : self.sizes[i], :card, :card] = geometric[i] * off
            leave[i, : self.sizes[i], :card] = (arithmetic[i] * off).sum(-1)
            index[i, : len(self.parents[i])] = self.parents[i]
            if self.parents[i]:
                digits = np.unravel_index(np.arange(self.sizes[i]), [cards[j] for j in self.parents[i]])
                for p, digit in enumerate(digits):
                    select[p, i, : self.sizes[i]] = np.eye(widest)[digit]
            first[i, :card] = initial[i]
        self.mean_field = mean_field
        plain = kernels.Tables(table, leave, index, select, first, np.asarray(cards))
        self.tables: kernels.AnyTables = plain
        self.tilt = plain  # how parents are distributed at a transition of their child: q^u R~(u)
        if mean_field:
            largest = table.max(axis=1, keepdims=True)
            real = np.arange(tall)[:, None, None] < np.array(self.sizes)[:, None, None, None]
            possible = (largest > 0) & real
            log = np.log(np.where(possible, np.maximum(table, LEAST_RATE * largest), 1.0))
            self.tables = kernels.MeanFieldTables(*plain, log)
            self.tilt = plain._replace(geometric=possible.astype(float))  # q^u: the same as at any other time

    @classmethod
    def of_network(cls, network: CTBN, mean_field: bool = False, at_least: tuple[int, int] = (1, 1)) -> PathRates:
        """The rates of a known network: both means are the rates themselves."""
        initial = network.initial.marginals(network.variables)
        return cls(network.n_states, network.parents, network.cims, network.cims, initial, at_least, mean_field)


class PathEngine:
    """Path posteriors of all trajectories, updated block by block.

    Parameters
    ----------
    obs
        The observations.
    step
        Longest cell of the time grid.
    queries
        Times (n_trajectories, n_queries) that must be grid points.
    precision, device
        As in `StructureLearner`.
    """

    def __init__(
        self,
        obs: Observations,
        step: float,
        *,
        queries: FloatArray | None = None,
        precision: str = "auto",
        device: str = "auto",
    ) -> None:
        if not (isinstance(step, (int, float, np.number)) and 0 < step < np.inf):
            raise ParameterError(f"step must be a positive time, not {step!r}")
        self.device = Device.find(device, precision)
        self.precision = self.device.precision
        self.ids = obs.ids
        self.n_trajectories = obs.n_trajectories
        cards = [v.n_states for v in obs.variables]
        parts = by_states(cards)
        self.groups = tuple((tuple(nodes.tolist()), s) for nodes, s in parts) if len(parts) > 1 else ()
        max_cells = max(1, int(4 * self.device.cells / np.square(cards).sum()))
        self.blocks: list[Block] = build_blocks(obs, step, max_cells=max_cells, queries=queries)
        self.states: list[kernels.State | None] = [None] * len(self.blocks)
        self.objective = np.full(self.n_trajectories, -np.inf)
        wide = max(cards)
        cells = sum(b.dt.size for b in self.blocks) * len(obs.variables) * (wide**2 + wide)
        self.keep = cells * np.dtype(self.precision).itemsize <= KEEP_BYTES
        self.keep_rows = 2 * cells * np.dtype(self.precision).itemsize <= KEEP_BYTES
        self.large = sum(b.dt.size for b in self.blocks) * len(obs.variables) > LARGE

    @contextmanager
    def _context(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(jax.enable_x64(self.precision == "float64"))
            stack.enter_context(self.device.here())
            yield

    def _cast(self, values: Sequence[Any]) -> list[Any]:
        return [np.asarray(v, self.precision) if np.asarray(v).dtype.kind == "f" else np.asarray(v) for v in values]

    def _tables(self, rates: PathRates) -> kernels.AnyTables:
        return type(rates.tables)(*self._cast(rates.tables))

    def _evidence(self, block: Block) -> kernels.Evidence:
        return kernels.Evidence(*self._cast((block.dt, block.likelihood, block.log_scale)))

    def update(
        self,
        rates: PathRates,
        *,
        tol: float,
        max_sweeps: int,
        visit: Callable[[Block, kernels.State, kernels.AnyTables], Any] | None = None,
        gather: Callable[[Block, Any], None] | None = None,
    ) -> float:
        """Update the paths for given rates; returns F of the paths summed over trajectories.

        `visit` is called for every block with its converged state, for several blocks at a time; what it returns goes
        to `gather`, block after block.
        """
        self._last = (rates, tol, max_sweeps)
        tables = self._tables(rates)

        def work(k: int) -> tuple[kernels.State, FloatArray, Any]:
            with self._context():
                state, value = self._run(self.blocks[k], self.states[k], tables, tol, max_sweeps)
                return state, value, None if visit is None else visit(self.blocks[k], state, tables)

        for k, (state, value, seen) in enumerate(self.device.each(work, len(self.blocks))):
            self.objective[self.blocks[k].trajectories] = value
            if self.keep:
                self.states[k] = state
            if gather is not None:
                gather(self.blocks[k], seen)
        return float(self.objective.sum())

    def current_states(self) -> Iterator[tuple[Block, kernels.State]]:
        """Blocks with their states; states too large to keep are made anew for the rates of the last update."""
        for block, state in zip(self.blocks, self.states):
            if state is None:
                with self._context():
                    tables = self._tables(self._last[0])
                    state, _ = self._run(block, None, tables, *self._last[1:])
            yield block, state

    def arrays(self) -> dict[str, Any]:
        """The states of all blocks by name, as they are kept between calls; none where they are made anew."""
        kept = [(k, state) for k, state in enumerate(self.states) if state is not None]
        return {f"paths/{k}/{name}": np.asarray(a) for k, state in kept for name, a in state._asdict().items()}

    def restore(self, arrays: Mapping[str, Any], rates: PathRates, tol: float, max_sweeps: int) -> None:
        """Take up the states that `arrays` gave after an update with these rates."""
        self._last = (rates, tol, max_sweeps)
        if not self.keep:
            return
        with self._context():
            for k in range(len(self.blocks)):
                fields = (arrays[f"paths/{k}/{name}"] for name in kernels.State._fields)
                self.states[k] = kernels.State(*(jax.numpy.array(a) for a in fields))

    def rows(self) -> Iterator[Rows]:
        """Path posteriors of the last update as rows, in pieces."""
        with self._context():
            yield from pieces((rows_of(block, state) for block, state in self.current_states()), ROWS_A_PIECE)

    def _run(
        self, block: Block, state: kernels.State | None, tables: kernels.AnyTables, tol: float, max_sweeps: int
    ) -> tuple[kernels.State, FloatArray]:
        evidence = self._evidence(block)
        if state is None:
            state = kernels.start(evidence, tables)
        state, value, _ = kernels.sweeps(
            evidence, tables, state, np.asarray(tol, self.precision), max_sweeps, groups=self.groups
        )
        found = np.asarray(value, float)[: len(block.trajectories)]
        self._check(block, found)
        return state, found

    def alone(self, rates: Sequence[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
        """Exact expected dwell (S,) and transitions (S, S) of every node under its own rates (S, S), no parents."""
        cards = [len(r) for r in rates]
        table = np.zeros((len(cards), max(cards), max(cards)))
        initial = np.zeros((len(cards), max(cards)))
        for i, r in enumerate(rates):
            table[i, : cards[i], : cards[i]] = r
            initial[i, : cards[i]] = 1 / cards[i]
        dwell, moves = np.zeros_like(initial), np.zeros_like(table)
        with self._context():
            for block in self.blocks:
                every = self._evidence(block)
                value = np.zeros(len(block.trajectories))
                for some, s in by_states(cards):
                    own = kernels.Evidence(every.dt, every.likelihood[:, some, :s], every.log_scale[some])
                    found = kernels.alone(own, *self._cast((table[some, :s, :s], initial[some, :s])))
                    dwell[some, :s] += np.asarray(found[0], float)
                    moves[some, :s, :s] += np.asarray(found[1], float)
                    value += np.asarray(found[2], float)[: len(value)]
                self._check(block, value)
        return [(dwell[i, :c], moves[i, :c, :c]) for i, c in enumerate(cards)]

    def surroundings(self, rates: PathRates) -> Callable[[int], Surroundings]:
        """What the nodes of a block see of the others, by the number of the block; kept where memory allows."""
        tables = self._tables(rates)
        n, tall, states = rates.tables.exit.shape

        def look(k: int) -> Surroundings:
            block, state = self.blocks[k], self.states[k]
            with self._context():
                if state is None:
                    state, _ = self._run(block, None, tables, *self._last[1:])
                psi, u = kernels.surroundings(tables, state, *self._cast((block.dt,)))
                return len(block.trajectories), self._evidence(block), psi, u

        if sum(b.dt.size for b in self.blocks) * n * (tall + states) * np.dtype(self.precision).itemsize > KEEP_BYTES:
            return look
        return [look(k) for k in range(len(self.blocks))].__getitem__

    def local(
        self,
        around: Callable[[int], Surroundings],
        initial: FloatArray,
        nodes: IntArray,
        *tables: FloatArray,
        mean_field: bool = False,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Nodes under path rates `tables` of their own (see `kernels.local`), the others held.

        A node may come several times. Returns ln Z summed over trajectories (J,), dwell (J, U, S) and transitions
        (J, U, S, S).
        """
        cast = self._cast((initial, *tables))

        def work(k: int) -> list[FloatArray]:
            n, evidence, psi, u = around(k)
            with self._context():
                found = kernels.local(evidence, cast[0], psi, u, nodes, *cast[1:], mean_field=mean_field)
                value, *others = (np.asarray(a, float) for a in found)
            return [value[:, :n].sum(1), *others]

        total: list[FloatArray] = []
        for new in self.device.each(work, len(self.blocks)):
            total = [a + b for a, b in zip(total, new)] if total else new
        return total[0], total[1], total[2]

    def _check(self, block: Block, value: FloatArray) -> None:
        bad = np.flatnonzero(~np.isfinite(value))
        if bad.size:
            raise ImpossibleEvidenceError(
                f"trajectory {self.ids[block.trajectories[bad[0]]]!r}: what was seen has probability zero; check the "
                "states seen, add observation noise, or allow the transitions that lead to them"
            )

    def statistics(self, rates: PathRates, *, tol: float, max_sweeps: int) -> tuple[float, JointTables]:
        """Update the paths and sum up their expected statistics; F of the paths comes first."""
        totals: list[FloatArray] = []

        def look(block: Block, state: kernels.State, tables: kernels.AnyTables) -> list[FloatArray]:
            found = [np.asarray(a, float) for a in kernels.statistics(state, tables, *self._cast((block.dt,)))]
            return [*found, np.asarray(state.first, float)[:, :, : len(block.trajectories)].sum(-1)]

        def add(block: Block, found: list[FloatArray]) -> None:
            totals[:] = [a + b for a, b in zip(totals, found)] if totals else found

        value = self.update(rates, tol=tol, max_sweeps=max_sweeps, visit=look, gather=add)
        dwell, transitions, initial = totals
        cut = list(zip(rates.sizes, rates.cards))
        return value, JointTables(
            rates.parents,
            [dwell[i, :u, :s] for i, (u, s) in enumerate(cut)],
            [transitions[i, :u, :s, :s] for i, (u, s) in enumerate(cut)],
            [initial[i, :s] for i, (_, s) in enumerate(cut)],
        )

    def _grid_marginals(self, block: Block, state: kernels.State, tables: kernels.AnyTables) -> FloatArray:
        return np.asarray(kernels.grid_marginals(self._evidence(block), tables, state), float)

    def marginals(self, rates: PathRates, *, tol: float, max_sweeps: int) -> FloatArray:
        """Posterior marginals at the queries, (n_trajectories, n_queries, N, S)."""
        out: FloatArray = np.empty((self.n_trajectories, self.blocks[0].queries.shape[0], *rates.tables.initial.shape))

        def put(block: Block, found: FloatArray) -> None:
            columns = np.arange(len(block.trajectories))
            out[block.trajectories] = found[block.queries, :, :, columns].transpose(1, 0, 2, 3)

        self.update(rates, tol=tol, max_sweeps=max_sweeps, visit=self._grid_marginals, gather=put)
        return out

    def predictive(self, rates: PathRates) -> FloatArray:
        """Log likelihood of each observation given the earlier ones, summed per trajectory."""
        out: FloatArray = np.empty(self.n_trajectories)
        with self._context():
            tables = self._tables(rates)
            for block in self.blocks:
                found = np.asarray(kernels.predictive(self._evidence(block), tables), float)
                self._check(block, found[: len(block.trajectories)])
                out[block.trajectories] = found[: len(block.trajectories)]
        return out


class JointTables:
    """Expected statistics of every node on the joint states of its active parents."""

    def __init__(
        self,
        parents: Sequence[tuple[int, ...]],
        dwell: Sequence[FloatArray],
        transitions: Sequence[FloatArray],
        initial: Sequence[FloatArray],
    ) -> None:
        self.parents, self.dwell, self.transitions, self.initial = parents, dwell, transitions, initial


def by_states(cards: Sequence[int]) -> list[tuple[IntArray, int]]:
    """Where variables with 2, 3-4, 5-8, 9-16, ... states are, each group with the most it has.

    Exponentials cost the cube of the number of states; a group more costs the compilation of one more size.
    """
    sizes = np.asarray(cards)
    classes = np.ceil(np.log2(np.maximum(sizes, 2)))
    parts = [np.flatnonzero(classes == c) for c in np.unique(classes)]
    return [(part, int(sizes[part].max())) for part in parts]


def default_step(rates: Sequence[float]) -> float:
    """Longest cell for nodes with given overall exit rates: a quarter of the shortest mean dwell time."""
    fastest = max(rates)
    return 0.25 / fastest if fastest > 0 else 1.0

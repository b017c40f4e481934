"""The variational engine around the jax kernels: blocks of trajectories and their states.

Nothing is switched in jax itself: precision and device hold inside this module's calls only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, final

import jax
import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ImpossibleEvidenceError, ParameterError
from ctbnlearn.inference import variational as kernels
from ctbnlearn.inference.contract import Effort, Expectation, PathInference, PathPosterior, PathRates
from ctbnlearn.inference.device import Device
from ctbnlearn.inference.grid import Block, build_blocks
from ctbnlearn.inference.padded_rates import PaddedRates, Padding
from ctbnlearn.inference.rows import Rows, rows_of
from ctbnlearn.inference.statistics import Statistics

LARGE = 5_000_000  # cells times trajectories times nodes from which on padding costs more than compiling
KEEP_BYTES = 1 << 30  # states of blocks are kept between calls up to this much; beyond it they are recomputed


@final
class PathEngine(PathInference):
    """Path posteriors in the star approximation or by naive mean field, updated block by block of trajectories.

    Parameters
    ----------
    obs
        The observations.
    step
        Longest cell of the time grid.
    queries
        Times (n_trajectories, n_queries) that must be grid points.
    mean_field
        Whether paths are inferred by naive mean field in place of the star approximation.
    padding
        Shapes that path rates are padded to, so that little is recompiled; not where there are many trajectories.
    precision, device
        As in `StructureLearner`.
    """

    def __init__(
        self,
        obs: Observations,
        step: float,
        *,
        queries: FloatArray | None = None,
        mean_field: bool = False,
        padding: Padding = (1, 1),
        precision: str = "auto",
        device: str = "auto",
    ) -> None:
        if not (isinstance(step, (int, float, np.number)) and 0 < step < np.inf):
            raise ParameterError(f"step must be a positive time, not {step!r}")
        self.device = Device.find(device, precision)
        self.precision = self.device.precision
        self.variables, self.ids, self.step, self.mean_field = tuple(obs.variables), obs.ids, step, mean_field
        self.n_trajectories = obs.n_trajectories
        cards = [v.n_states for v in obs.variables]
        parts = by_states(cards)
        self.groups = tuple((tuple(nodes.tolist()), s) for nodes, s in parts) if len(parts) > 1 else ()
        max_cells = max(1, int(4 * self.device.cells / np.square(cards).sum()))
        self._lay_out = partial(build_blocks, step=step, max_cells=max_cells, queries=queries)
        self.blocks: list[Block] = self._lay_out(obs)
        wide = max(cards)
        cells = sum(b.dt.size for b in self.blocks) * len(obs.variables) * (wide**2 + wide)
        self.keep = cells * np.dtype(self.precision).itemsize <= KEEP_BYTES
        large = sum(b.dt.size for b in self.blocks) * len(obs.variables) > LARGE
        self.padding = (1, 1) if large else padding

    def describe(self) -> str:
        """How fine the time grid is, and where the work is done."""
        cells = sum(int((b.dt > 0).sum()) for b in self.blocks)
        return f"paths on {cells} cells of at most {self.step:.3g} units of time, {self.device.kind}"

    def padded(self, rates: PathRates) -> PaddedRates:
        """Path rates as this engine takes them."""
        return PaddedRates(rates, self.padding, self.mean_field)

    @contextmanager
    def _context(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(jax.enable_x64(self.precision == "float64"))
            stack.enter_context(self.device.here())
            yield

    def _cast(self, values: Sequence[Any]) -> list[Any]:
        return [np.asarray(v, self.precision) if np.asarray(v).dtype.kind == "f" else np.asarray(v) for v in values]

    def _tables(self, rates: PathRates) -> kernels.Tables:
        tables = self.padded(rates).tables
        return kernels.Tables(*self._cast([a for a in tables if a is not None]))  # `log`, the last, may be missing

    def _evidence(self, block: Block) -> kernels.Evidence:
        return kernels.Evidence(*self._cast((block.dt, block.likelihood, block.log_scale)))

    def update(
        self,
        rates: PathRates,
        effort: Effort,
        start: PathPosterior | None = None,
        visit: Callable[[Block, kernels.State, kernels.Tables], Any] | None = None,
        gather: Callable[[Block, Any], None] | None = None,
    ) -> tuple[FloatArray, PathPosterior]:
        """Paths for given rates, from those of `start` if any; F of every trajectory comes first.

        `visit` is called for every block with its converged state, for several blocks at a time; what it returns goes
        to `gather`, block after block.
        """
        before = (None,) * len(self.blocks) if start is None else start.states
        tables = self._tables(rates)
        values, kept = np.empty(self.n_trajectories), []

        def work(k: int) -> tuple[kernels.State, FloatArray, Any]:
            with self._context():
                state, value = self._run(self.blocks[k], before[k], tables, effort)
                return state, value, None if visit is None else visit(self.blocks[k], state, tables)

        for block, (state, value, seen) in zip(self.blocks, self.device.each(work, len(self.blocks))):
            values[block.trajectories] = value
            kept.append(state if self.keep else None)
            if gather is not None:
                gather(block, seen)
        return values, PathPosterior(rates, effort, tuple(kept))

    def _states(self, paths: PathPosterior) -> Iterator[tuple[Block, kernels.State]]:
        """Blocks with their states; states too large to keep are recomputed."""
        tables = self._tables(paths.rates)
        for block, state in zip(self.blocks, paths.states):
            yield block, self._run(block, None, tables, paths.effort)[0] if state is None else state

    def arrays(self, paths: PathPosterior) -> dict[str, NDArray[Any]]:
        """The states of all blocks by name; none where they are recomputed."""
        kept = [(k, state) for k, state in enumerate(paths.states) if state is not None]
        return {f"paths/{k}/{name}": np.asarray(a) for k, state in kept for name, a in state._asdict().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]], rates: PathRates, effort: Effort) -> PathPosterior:
        """The states that `arrays` gave after an update with these rates."""
        states: list[kernels.State | None] = [None] * len(self.blocks)
        if self.keep:
            with self._context():
                for k in range(len(self.blocks)):
                    fields = (arrays[f"paths/{k}/{name}"] for name in kernels.State._fields)
                    states[k] = kernels.State(*(jax.numpy.array(a) for a in fields))
        return PathPosterior(rates, effort, tuple(states))

    def rows(self, paths: PathPosterior) -> Iterator[Rows]:
        """Path posteriors as rows, block by block."""
        with self._context():
            for block, state in self._states(paths):
                yield rows_of(block, state)

    def _run(
        self, block: Block, state: kernels.State | None, tables: kernels.Tables, effort: Effort
    ) -> tuple[kernels.State, FloatArray]:
        evidence = self._evidence(block)
        if state is None:
            state = kernels.start(evidence, tables)
        state, value, _ = kernels.sweeps(
            evidence, tables, state, np.asarray(effort.tol, self.precision), effort.max_sweeps, groups=self.groups
        )
        found = np.asarray(value, float)[: len(block.trajectories)]
        self._check(block, found)
        return state, found

    def _check(self, block: Block, value: FloatArray) -> None:
        bad = np.flatnonzero(~np.isfinite(value))
        if bad.size:
            raise ImpossibleEvidenceError(
                f"trajectory {self.ids[block.trajectories[bad[0]]]!r}: what was seen has probability zero; check the "
                "states seen, add observation noise, or allow the transitions that lead to them"
            )

    def expect(self, rates: PathRates, effort: Effort, start: PathPosterior | None = None) -> Expectation:
        """Update the paths and sum up their expected statistics."""
        totals: list[FloatArray] = []

        def look(block: Block, state: kernels.State, tables: kernels.Tables) -> list[FloatArray]:
            found = [np.asarray(a, float) for a in kernels.statistics(state, tables, *self._cast((block.dt,)))]
            return [*found, np.asarray(state.first, float)[:, :, : len(block.trajectories)].sum(-1)]

        def add(block: Block, found: list[FloatArray]) -> None:
            totals[:] = [a + b for a, b in zip(totals, found)] if totals else found

        values, paths = self.update(rates, effort, start, look, add)
        dwell, transitions, initial = totals
        cut = list(zip(rates.sizes, rates.cards))
        statistics = Statistics(
            self.variables,
            tuple(rates.parents),
            tuple(dwell[i, :u, :s] for i, (u, s) in enumerate(cut)),
            tuple(transitions[i, :u, :s, :s] for i, (u, s) in enumerate(cut)),
            tuple(initial[i, :s] for i, (_, s) in enumerate(cut)),
        )
        return Expectation(values, statistics, paths)

    def _grid_marginals(self, block: Block, state: kernels.State, tables: kernels.Tables) -> FloatArray:
        return np.asarray(kernels.grid_marginals(self._evidence(block), tables, state), float)

    def see(self, obs: Observations) -> None:
        """Lay out the same observations with other likelihoods."""
        self.blocks = self._lay_out(obs)

    def marginals_of(self, paths: PathPosterior) -> FloatArray:
        """Posterior marginals at the queries, from paths known before."""
        return self.marginals(paths.rates, paths.effort, paths)

    def marginals(self, rates: PathRates, effort: Effort, start: PathPosterior | None = None) -> FloatArray:
        """Posterior marginals at the queries, (n_trajectories, n_queries, N, S)."""
        shape = self.blocks[0].queries.shape[0], len(rates.cards), max(rates.cards)
        out: FloatArray = np.empty((self.n_trajectories, *shape))

        def put(block: Block, found: FloatArray) -> None:
            columns = np.arange(len(block.trajectories))
            out[block.trajectories] = found[block.queries, :, :, columns].transpose(1, 0, 2, 3)

        self.update(rates, effort, start, self._grid_marginals, put)
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

    def forecasts(self, rates: PathRates) -> FloatArray:
        """State probabilities at the queries given what was seen earlier, (n_trajectories, n_queries, N, S)."""
        shape = self.blocks[0].queries.shape[0], len(rates.cards), max(rates.cards)
        out: FloatArray = np.empty((self.n_trajectories, *shape))
        with self._context():
            tables = self._tables(rates)
            for block in self.blocks:
                found = np.asarray(kernels.forecasts(self._evidence(block), tables), float)
                columns = np.arange(len(block.trajectories))
                out[block.trajectories] = found[block.queries, :, :, columns].transpose(1, 0, 2, 3)
        return out


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

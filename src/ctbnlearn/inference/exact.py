"""Exact inference on the amalgamated chain: forward-backward over all joint states.

alpha_k: probability of the evidence up to and including boundary k, and of the joint state right after it.
beta_k: probability of the evidence after boundary k given the joint state right after it. Both are scaled to
a maximum of one; the logarithms of the scales add up to the log evidence. Expected dwell times are
int alpha(t) beta(t) dt / Z and expected transitions r(s, s') int alpha_s(t) beta_s'(t) dt / Z, both exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import FloatArray, IntArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.errors import ImpossibleEvidenceError, ParameterError
from ctbnlearn.inference.statistics import Statistics, as_parents
from ctbnlearn.inference.timeline import Evidence, Given, Timeline, query_grid
from ctbnlearn.inference.uniformisation import cross_weights, n_substeps, n_terms, poisson_weights, propagate, series
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.model.joint import Chain, Generator, JointSpace

BLOCK_BYTES = 1 << 28


class _Engine:
    """Forward and backward passes over the timelines of one network and its evidence."""

    def __init__(self, network: Chain, evidence: Given) -> None:
        self.network = network
        self.evidence = Evidence.gather(evidence, network.variables)
        self.space = JointSpace(network)
        self.reach = sum(c - 1 for c in network.n_states) + 12

    def timelines(self, queries: FloatArray | None = None, columns: int = 40) -> Iterator[Timeline]:
        """Blocks of trajectories such that `columns` vectors per trajectory stay under the memory budget."""
        n = len(self.evidence.start)
        width = int(np.clip(BLOCK_BYTES // (8 * self.space.n * columns), 1, 4096))
        return self.evidence.timelines(np.empty((n, 0)) if queries is None else queries, width)

    # one boundary -----------------------------------------------------------------------------------
    def likelihood(self, line: Timeline, k: int, states: IntArray) -> tuple[FloatArray | None, FloatArray]:
        """Joint likelihood (states, B) of the point observations at boundary k, and the log of its scale."""
        total: FloatArray | None = None
        scale = np.zeros(line.times.shape[1])
        for i, table in enumerate(line.log_likelihood):
            if table is None or not table[k].any():
                continue
            peak = table[k].max(-1, keepdims=True)
            peak = np.where(np.isfinite(peak), peak, 0.0)  # no state possible: the factor is zero throughout
            scale += peak[:, 0]
            factor = np.exp(table[k] - peak).T[self.space.digit(i, states)]
            total = factor if total is None else total * factor
        return total, scale

    def jump_factor(self, line: Timeline, k: int) -> tuple[IntArray, IntArray, FloatArray] | None:
        """Joint states before and after the jump seen at boundary k, and its rate from each of them."""
        jump = line.jumps[k]
        if jump is None:
            return None
        node, source, target = jump
        held = line.fixed[k - 1] if k else {}
        before = self.space.generator(held).states
        before = before[self.space.digit(node, before) == source]
        rate = self.network.cims[node][self.space.configuration(self.network.parents[node], before), source, target]
        return before, before + (target - source) * self.space.strides[node], rate

    def cross(self, line: Timeline, k: int, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Carry alpha (states of cell k-1, B) over boundary k; returns it with the log of its scale."""
        held, next_held = (line.fixed[k - 1] if k else {}), line.fixed[k]
        states = self.space.generator(next_held).states
        if held != next_held or line.jumps[k] is not None:
            full = np.zeros((self.space.n, alpha.shape[1]))
            jump = self.jump_factor(line, k)
            if jump is None:
                full[self.space.generator(held).states] = alpha
            else:
                before, after, rate = jump
                source = np.searchsorted(self.space.generator(held).states, before)
                full[after] = alpha[source] * rate[:, None]
            alpha = full[states]
        likelihood, scale = self.likelihood(line, k, states)
        if likelihood is not None:
            alpha = alpha * likelihood
        peak = alpha.max(0)
        if not (peak > 0).all():
            b = int(np.argmin(peak))
            raise ImpossibleEvidenceError(
                f"trajectory {self.evidence.ids[line.trajectories[b]]!r}: what was seen at time {line.times[k, b]} has "
                "probability zero given the earlier evidence and this network; check the states seen there, add "
                "observation noise, or allow the transitions that lead to them"
            )
        return alpha / peak, scale + np.log(peak)

    def cross_back(self, line: Timeline, k: int, beta: FloatArray) -> FloatArray:
        """Carry beta from right after boundary k to right before it (up to scale)."""
        held, next_held = (line.fixed[k - 1] if k else {}), line.fixed[k]
        states = self.space.generator(next_held).states
        likelihood, _ = self.likelihood(line, k, states)
        if likelihood is not None:
            beta = beta * likelihood
        if held != next_held or line.jumps[k] is not None:
            full = np.zeros((self.space.n, beta.shape[1]))
            full[states] = beta
            jump = self.jump_factor(line, k)
            earlier = self.space.generator(held).states
            if jump is None:
                beta = full[earlier]
            else:
                before, after, rate = jump
                beta = np.zeros((len(earlier), full.shape[1]))
                beta[np.searchsorted(earlier, before)] = full[after] * rate[:, None]
        return beta / beta.max(0)

    # whole passes -----------------------------------------------------------------------------------
    def cell(self, line: Timeline, k: int) -> tuple[Generator, FloatArray]:
        """Generator and lengths of the cell between boundaries k and k + 1."""
        return self.space.generator(line.fixed[k]), line.times[k + 1] - line.times[k]

    def forward(self, line: Timeline) -> tuple[list[FloatArray], FloatArray]:
        """Alpha right after every boundary, and the log evidence of every trajectory."""
        alpha = np.repeat(self.space.initial()[:, None], line.times.shape[1], axis=1)
        out = []
        total = np.zeros(line.times.shape[1])
        for k in range(len(line.times)):
            if k:
                generator, dt = self.cell(line, k - 1)
                alpha = self.propagate(generator, alpha, dt, transposed=True)
            alpha, scale = self.cross(line, k, alpha)
            total += scale
            out.append(alpha)
        return out, total + np.log(alpha.sum(0))

    def backward(self, line: Timeline) -> list[FloatArray]:
        """Beta right after every boundary."""
        last = len(line.times) - 1
        beta = np.ones((len(self.space.generator(line.fixed[last]).states), line.times.shape[1]))
        out = [beta]
        for k in range(last, 0, -1):
            generator, dt = self.cell(line, k - 1)
            beta = self.propagate(generator, self.cross_back(line, k, beta), dt, transposed=False)
            beta = beta / beta.max(0)
            out.append(beta)
        return out[::-1]

    def propagate(self, generator: Generator, vectors: FloatArray, dt: FloatArray, transposed: bool) -> FloatArray:
        if generator.rate == 0:
            return vectors
        matrix = generator.uniformised_transposed if transposed else generator.uniformised
        return propagate(matrix, generator.rate, vectors, dt, self.reach)

    def marginals(self, line: Timeline, k: int, weights: FloatArray) -> list[FloatArray]:
        """Per variable (B, S) from unnormalised joint weights right after boundary k."""
        full = np.zeros((self.space.n, weights.shape[1]))
        full[self.space.generator(line.fixed[k]).states] = weights / weights.sum(0)
        return [self.space.marginal(i, full).T for i in range(len(self.network.variables))]


def _checked(network: CTBN, evidence: Given) -> _Engine:
    if not isinstance(network, CTBN):
        raise ParameterError(f"exact inference needs a CTBN, not {type(network).__name__}")
    return _Engine(network, evidence)


def log_evidence(network: CTBN, evidence: Given) -> FloatArray:
    """Log probability (density) of the evidence of every trajectory, shape (n_trajectories,).

    Parameters
    ----------
    network
        The CTBN.
    evidence
        `Observations`, `Segments` (continuous evidence) or `Paths`, or a list of one `Observations` and one of
        the others about the same trajectories.
    """
    engine = _checked(network, evidence)
    out = np.empty(len(engine.evidence.start))
    for line in engine.timelines():
        out[line.trajectories] = engine.forward(line)[1]
    return out


def smooth(network: CTBN, evidence: Given, times: ArrayLike) -> dict[str, FloatArray]:
    """Posterior state probabilities given all evidence.

    Parameters
    ----------
    network, evidence
        As for `log_evidence`.
    times
        Times (n,) common to all trajectories, or (n_trajectories, n). Times past the end of a trajectory are
        predictions; at the time of a jump the new state counts.

    Returns
    -------
    dict
        Per variable name an array (n_trajectories, n_times, n_states).

    Examples
    --------
    >>> from ctbnlearn.data.observations import Observations
    >>> from ctbnlearn.model.random_network import random_network
    >>> obs = Observations.from_likelihoods([[0.0]], [[[[1.0, 0.0]]]], {"x0": (-1, 1)})
    >>> smooth(random_network(1, rng=0), obs, [0.0, 1.0])["x0"].round(3).tolist()
    [[[1.0, 0.0], [0.684, 0.316]]]
    """
    return _posterior(_checked(network, evidence), times, backward=True)


def posterior(chain: Chain, evidence: Given, times: ArrayLike) -> dict[str, FloatArray]:
    """As `smooth`, for a chain that may lose probability on its way; see `exact_paths`."""
    return _posterior(_Engine(chain, evidence), times, backward=True)


def filter(network: CTBN, evidence: Given, times: ArrayLike) -> dict[str, FloatArray]:
    """State probabilities at each time given the evidence up to and including that time.

    Parameters
    ----------
    network, evidence, times
        As in `smooth`.

    Returns
    -------
    dict
        Per variable (n_trajectories, n_times, n_states).
    """
    return _posterior(_checked(network, evidence), times, backward=False)


def last_states(network: CTBN, evidence: Given) -> FloatArray:
    """Probability of every joint state at the end of every trajectory given its evidence, (n_joint_states, n)."""
    engine = _checked(network, evidence)
    out = np.empty((engine.space.n, len(engine.evidence.start)))
    for line in engine.timelines(columns=3 * 20):
        alpha = engine.forward(line)[0][-1]
        out[:, line.trajectories] = alpha / alpha.sum(0)
    return out


def forecasts(network: CTBN, obs: Observations) -> list[FloatArray]:
    """State probabilities at every value seen given what was seen at earlier times: per variable (n_rows, n_states)."""
    engine = _checked(network, obs)
    out = [np.empty((len(s.times), v.n_states)) for v, s in zip(network.variables, obs.series)]
    for line in engine.timelines(columns=3 * 20):
        first, last = line.trajectories[0], line.trajectories[-1]  # blocks are runs of neighbours
        alpha = np.repeat(engine.space.initial()[:, None], line.times.shape[1], axis=1)
        ahead = []
        for k in range(len(line.times)):
            if k:
                generator, dt = engine.cell(line, k - 1)
                alpha = engine.propagate(generator, alpha, dt, transposed=True)
            ahead.append(engine.marginals(line, k, alpha))
            alpha, _ = engine.cross(line, k, alpha)
        for i, s in enumerate(obs.series):
            rows = slice(s.offsets[first], s.offsets[last + 1])
            who = np.repeat(np.arange(last - first + 1), np.diff(s.offsets[first : last + 2]))
            place = _boundaries(line.times, who, s.times[rows])
            out[i][rows] = np.stack([table[i] for table in ahead])[place, who]
    return out


def _boundaries(times: FloatArray, who: IntArray, when: FloatArray) -> IntArray:
    """First boundary of columns `who` of `times` (K, B) that stands at the time `when`."""
    return np.array([int(np.searchsorted(times[:, b], t)) for b, t in zip(who, when)], np.int64)


def _posterior(engine: _Engine, times: ArrayLike, backward: bool) -> dict[str, FloatArray]:
    network = engine.network
    grid = query_grid(times, engine.evidence.start, engine.evidence.ids)
    out = {v.name: np.empty((*grid.shape, v.n_states)) for v in network.variables}
    for line in engine.timelines(grid, columns=3 * (grid.shape[1] + 20)):
        alphas = engine.forward(line)[0]
        betas = engine.backward(line) if backward else None
        columns = np.arange(line.times.shape[1])
        for q, boundary in enumerate(line.queries):
            for k in np.unique(boundary):
                here = columns[boundary == k]
                weights = alphas[k][:, here] if betas is None else alphas[k][:, here] * betas[k][:, here]
                for v, table in zip(network.variables, engine.marginals(line, int(k), weights)):
                    out[v.name][line.trajectories[here], q] = table
    return out


def expected_statistics(
    network: CTBN, evidence: Given, *, parents: Mapping[str, Sequence[str]] | None = None
) -> Statistics:
    """Expected dwell times and transition counts given the evidence, summed over trajectories.

    Parameters
    ----------
    network, evidence
        As for `log_evidence`.
    parents
        Split the tables by these parents instead of the network's own: a mapping from name to names.
    """
    return _expect(_checked(network, evidence), as_parents(parents, network.variables, network.parents))[0]


def expect(
    chain: Chain, evidence: Given, parents: Sequence[tuple[int, ...]] | None = None
) -> tuple[Statistics, FloatArray]:
    """Expected statistics, and the log evidence of every trajectory, in one pass.

    Parameters
    ----------
    chain
        A CTBN, or what else has its variables, parents, matrices and initial distribution; rows of the matrices may
        sum to less than zero, so that probability is lost.
    evidence
        As for `log_evidence`.
    parents
        Split the tables by these instead of the chain's own, per variable their numbers.
    """
    return _expect(_Engine(chain, evidence), tuple(chain.parents if parents is None else parents))


def _expect(engine: _Engine, sets: tuple[tuple[int, ...], ...]) -> tuple[Statistics, FloatArray]:
    """Expected statistics by given parents, and the log evidence of every trajectory."""
    network, space = engine.network, engine.space
    evidence = np.empty(len(engine.evidence.start))
    shifts = [(i, shift) for i, card in enumerate(network.n_states) for shift in range(1, card)]
    number = {key: d for d, key in enumerate(shifts)}
    dwell = np.zeros(space.n)
    flow = np.zeros((len(shifts), space.n))
    initial = [np.zeros(c) for c in network.n_states]
    for line in engine.timelines(columns=150):
        betas = engine.backward(line)
        alphas, evidence[line.trajectories] = engine.forward(line)
        first = alphas[0] * betas[0]
        for total, table in zip(initial, engine.marginals(line, 0, first)):
            total += table.sum(0)
        for k in range(len(line.times) - 1):
            _add_cell(engine, line, k, alphas[k], engine.cross_back(line, k + 1, betas[k + 1]), dwell, flow, number)
        for k in range(1, len(line.times)):
            jump, factor = line.jumps[k], engine.jump_factor(line, k)
            if jump is not None and factor is not None:
                node, source, target = jump
                before, after, _ = factor
                here = np.searchsorted(space.generator(line.fixed[k]).states, after)
                weight = (alphas[k] * betas[k])[here, 0]
                flow[number[node, (target - source) % network.n_states[node]], before] += weight / weight.sum()
    dwells, transitions = [], []
    for i, card in enumerate(network.n_states):
        row, own = space.configuration(sets[i]), space.digit(i)
        size = int(np.prod([network.n_states[j] for j in sets[i]], dtype=int))
        times = np.asarray(np.bincount(row * card + own, dwell, size * card), float)
        dwells.append(times.reshape(size, card))
        table = np.zeros(size * card * card)
        for shift in range(1, card):
            cell = (row * card + own) * card + (own + shift) % card
            table += np.bincount(cell, flow[number[i, shift]], len(table))
        transitions.append(table.reshape(size, card, card))
    return Statistics(network.variables, sets, tuple(dwells), tuple(transitions), tuple(initial)), evidence


def _add_cell(
    engine: _Engine,
    line: Timeline,
    k: int,
    alpha: FloatArray,
    beta: FloatArray,
    dwell: FloatArray,
    flow: FloatArray,
    number: Mapping[tuple[int, int], int],
) -> None:
    """Add the expected statistics of one cell to the joint tables `dwell` (n,) and `flow` (moves, n)."""
    generator, dt = engine.cell(line, k)
    states, rate = generator.states, generator.rate
    if rate == 0 or not dt.any():
        weight = alpha * beta
        dwell[states] += (weight / weight.sum(0) * dt).sum(1)
        return
    steps = n_substeps(rate, dt)
    mean = rate * dt / steps
    n = n_terms(float(mean.max()), engine.reach)
    weights, cross = poisson_weights(mean, n), cross_weights(mean, n)
    ends = [beta]  # beta at the end of every substep, latest first
    for _ in range(steps - 1):
        beta = propagate(generator.uniformised, rate, beta, dt / steps, engine.reach)
        ends.append(beta / beta.max(0))
    for end in reversed(ends):
        a = series(generator.uniformised_transposed, alpha, n)
        b = series(generator.uniformised, end, n)
        normaliser = np.einsum("sb,ksb,kb->b", alpha, b, weights, optimize=True)
        a_by, b_by = a.transpose(2, 0, 1), b.transpose(2, 0, 1)
        spread = np.matmul(cross / (normaliser * rate)[:, None, None], b_by)  # (B, k, states)
        dwell[states] += np.einsum("bks,bks->s", a_by, spread)
        for node, target, to in generator.moves:
            card = engine.network.n_states[node]
            own = engine.space.digit(node, states)
            shift = int((target[0] - own[0]) % card)
            cim = engine.network.cims[node]
            parents = engine.space.configuration(engine.network.parents[node], states)
            local = np.einsum("bks,bks->s", a_by, spread[:, :, to])
            flow[number[node, shift], states] += local * cim[parents, own, target]
        alpha = np.einsum("ksb,kb->sb", a, weights)
        alpha = alpha / alpha.max(0)

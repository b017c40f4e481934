"""Variational path posterior in the star approximation (Algorithm 1 of the paper), as a discrete convex dual.

On a grid of cells, node i has a generator that is constant within a cell: off-diagonals r~_i, diagonal h_i. Its
path likelihood Z_i is that of a Markov chain with those generators and the node's own observations, and

    m_i = d ln Z_i / d ln r~_i    expected transitions in each cell,
    t_i = d ln Z_i / d h_i        expected time in each state in each cell,
    s_i = d ln Z_i / d ln p0_i    posterior at the start,
    A_i = ln Z_i - sum m_i ln r~_i - sum t_i h_i - sum s_i ln p0_i
                                  entropy of the path and expected log likelihood of the data,

exact for these generators at any step. With q_i = t_i / dt and the parents independent given their marginals,
r~_i = E_u[R~_i(x, x' | u)] and e_i = E_u[sum_x' R_i(x, x' | u)], the objective of the paths is

    F = sum_i A_i + sum_i s_i ln p0_i + sum_i sum_cells { m_i ln r~_i(q) - t_i e_i(q) }.

Node i's best answer to the others has h_i = -e_i + Psi_i with the child response Psi_i = dF / dt_i through the
children's r~ and e. As A_i is concave in (m_i, t_i, s_i), the chord from the old state to that answer climbs, with
slope g = sum_i ln Z_i - F - sum t_i Psi_i. All nodes move at once; each trajectory takes the share of the chord that
the parabola through its last step suggests, shortened until F does not fall. Derivatives of ln Z are taken by jax; Psi
is written out, and tested against it.

Naive mean field (Cohn et al. 2010), the rival, differs in the averages alone: r~_i = exp E_u[ln R~_i(x, x' | u)], so
that transitions do not depend on what the parents do at that moment. It is chosen by the type of the tables.

Axes: N nodes, S states, P active parents, U joint states of these, C cells, B trajectories; R = C B, where cells and
trajectories are one axis.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from ctbnlearn.arrays import AnyArray
from ctbnlearn.inference.device import compiled
from ctbnlearn.inference.propagator import exponential

Groups = tuple[tuple[tuple[int, ...], int], ...]  # numbers of nodes and the most states of these; () for one group
SHORTENINGS = 10
ROUNDING = 64  # F may fall by this many units of rounding


class Tables(NamedTuple):
    """Path rates of every node on the joint states of its active parents.

    Attributes
    ----------
    geometric
        R~(x, x' | u), zero diagonal.
    exit
        Sum over x' of R(x, x' | u).
    parents
        Active parents; N stands for none.
    select
        One where parent p is in state s in joint state u; state 0 for a parent that is not there.
    initial
        Initial distribution, zero for states a node does not have.
    cards
        Number of states of every node.
    log
        For naive mean field: ln R~, zero where a transition cannot happen.
    """

    geometric: Float[AnyArray, "N U S S"]
    exit: Float[AnyArray, "N U S"]
    parents: Int[AnyArray, "N P"]
    select: Float[AnyArray, "P N U S"]
    initial: Float[AnyArray, "N S"]
    cards: Int[AnyArray, " N"]
    log: Float[AnyArray, "N U S S"] | None = None


class Evidence(NamedTuple):
    """Grid and observations of a block, as in `grid.Block`."""

    dt: Float[AnyArray, "C B"]
    likelihood: Float[AnyArray, "C+1 N S B"]
    log_scale: Float[AnyArray, "N B"]


class State(NamedTuple):
    """Path posterior of a block: m, q, A and s; and the next share of the chord."""

    transitions: Float[AnyArray, "N S S C B"]
    marginal: Float[AnyArray, "N S C B"]
    entropy: Float[AnyArray, "N B"]
    first: Float[AnyArray, "N S B"]
    share: Float[AnyArray, " B"]


def parent_states(q: Float[Array, "N S C B"], tables: Tables) -> Float[Array, "N U C B"]:
    """Probability of every joint state of the active parents."""
    extended = jnp.concatenate([q, jnp.ones((1, *q.shape[1:]), q.dtype)])
    out = jnp.ones((), q.dtype)
    for p in range(tables.select.shape[0]):
        parent = extended[tables.parents[:, p]]
        # picking a state by a sum over 0/1 keeps the derivative a sum, too
        picked = [tables.select[p, :, :, s, None, None] * parent[:, s, None] for s in range(q.shape[1])]
        out = out * sum(picked[1:], picked[0])
    return out


class Mean(NamedTuple):
    """Rates averaged over the parents: r~ and e; and the joint parent states."""

    off: Float[Array, "N S S C B"]
    leave: Float[Array, "N S C B"]
    parents: Float[Array, "N U C B"]


PerTrajectory: TypeAlias = Float[Array, " B"]
Count: TypeAlias = Int[Array, ""] | int
Attempt: TypeAlias = tuple[PerTrajectory, State, PerTrajectory, Mean]  # share of chord, state there, its F and rates
Carry: TypeAlias = tuple[State, PerTrajectory, Mean, Bool[Array, " B"], Count]  # state, F, rates, what moves, sweeps


def mean_rates(q: Float[Array, "N S C B"], tables: Tables) -> Mean:
    """Average the path rates over the parents' marginals."""
    u = parent_states(floored(q), tables)
    n, tall, *cells = u.shape
    flat = u.reshape(n, tall, -1)
    off = average(tables.geometric, flat, tables.log)
    leave = jnp.matmul(tables.exit.transpose(0, 2, 1), flat)
    states = q.shape[1]
    return Mean(off.reshape(n, states, states, *cells), leave.reshape(n, states, *cells), u)


def average(
    rates: Float[Array, "N U S S"], u: Float[Array, "N U R"], log: Float[Array, "N U S S"] | None
) -> Float[Array, "N S*S R"]:
    """Rates averaged over parent states; where their logs are given, those are."""
    n, tall = rates.shape[:2]
    if log is None:
        return jnp.matmul(rates.reshape(n, tall, -1).transpose(0, 2, 1), u)
    possible = jnp.max(rates, axis=1).reshape(n, -1, 1) > 0
    return jnp.where(possible, jnp.exp(jnp.matmul(log.reshape(n, tall, -1).transpose(0, 2, 1), u)), 0.0)


def floored(q: Float[Array, "N S C B"]) -> Float[Array, "N S C B"]:
    """Marginals kept away from zero, by far less than they are known: `child_response` divides by them."""
    return jnp.maximum(q, float(jnp.finfo(q.dtype).eps) ** 0.75)


def log_likelihood(
    off: Float[Array, "N S S C B"], diagonal: Float[Array, "N S C B"], evidence: Evidence, initial: Float[Array, "N S"]
) -> Float[Array, "N B"]:
    """Ln Z of every node and trajectory under given cell generators."""
    matrix, log_scale = exponential(off, diagonal, evidence.dt)

    def step(
        mu: Float[Array, "N S B"], cell: tuple[Float[Array, "N S S B"], Float[Array, "N S B"]]
    ) -> tuple[Float[Array, "N S B"], Float[Array, "N B"]]:
        propagator, seen = cell
        mu = jnp.sum(mu[:, :, None] * propagator, axis=1) * seen
        total = jnp.sum(mu, axis=1)
        return mu / total[:, None], jnp.log(total)

    mu = initial[:, :, None] * evidence.likelihood[0]
    total = jnp.sum(mu, axis=1)
    _, logs = jax.lax.scan(step, mu / total[:, None], (jnp.moveaxis(matrix, 3, 0), evidence.likelihood[1:]))
    return jnp.log(total) + jnp.sum(logs, axis=0) + jnp.sum(log_scale, axis=1) + evidence.log_scale


def answer(
    off: Float[Array, "N S S C B"], diagonal: Float[Array, "N S C B"], evidence: Evidence, initial: Float[Array, "N S"]
) -> tuple[State, Float[Array, "N B"]]:
    """Path posterior under given cell generators, and ln Z."""

    def total(
        off: Float[Array, "N S S C B"], diagonal: Float[Array, "N S C B"], boost: Float[Array, "N S B"]
    ) -> tuple[Float[Array, ""], Float[Array, "N B"]]:
        first = evidence._replace(likelihood=evidence.likelihood.at[0].multiply(1 + boost))
        value = log_likelihood(off, diagonal, first, initial)
        return jnp.sum(value), value

    boost = jnp.zeros_like(evidence.likelihood[0])
    (off_slope, dwell, first), value = jax.grad(total, argnums=(0, 1, 2), has_aux=True)(off, diagonal, boost)
    transitions = jnp.maximum(off * off_slope, 0.0)
    dwell = jnp.maximum(dwell, 0.0)
    there = jnp.sum(dwell, axis=1, keepdims=True)
    marginal = jnp.where(there > 0, dwell / jnp.where(there > 0, there, 1.0), 1.0 / dwell.shape[1])
    first = jnp.maximum(first, 0.0)
    entropy = value - jnp.sum(_xlogy(transitions, off), axis=(1, 2, 3)) - _start_energy(first, initial)
    entropy = entropy - jnp.sum(marginal * evidence.dt * diagonal, axis=(1, 2))
    return State(transitions, marginal, entropy, first, jnp.ones_like(value[0])), value


def answer_by_states(
    off: Float[Array, "N S S C B"],
    diagonal: Float[Array, "N S C B"],
    evidence: Evidence,
    initial: Float[Array, "N S"],
    groups: Groups,
) -> tuple[State, Float[Array, "N B"]]:
    """As `answer`, for each group of nodes on arrays no wider than its states."""
    if not groups:
        return answer(off, diagonal, evidence, initial)
    parts = []
    for nodes, states in groups:
        some, more = np.array(nodes), (0, off.shape[1] - states)
        own = Evidence(evidence.dt, evidence.likelihood[:, some, :states], evidence.log_scale[some])
        found, value = answer(off[some, :states, :states], diagonal[some, :states], own, initial[some, :states])
        wide = (
            jnp.pad(found.transitions, ((0, 0), more, more, (0, 0), (0, 0))),
            jnp.pad(found.marginal, ((0, 0), more, (0, 0), (0, 0))),
            found.entropy,
            jnp.pad(found.first, ((0, 0), more, (0, 0))),
        )
        parts.append((*wide, value))
    back = np.argsort([i for nodes, _ in groups for i in nodes])
    moves, marginal, entropy, first, value = (jnp.concatenate(part)[back] for part in zip(*parts))
    return State(moves, marginal, entropy, first, jnp.ones_like(value[0])), value


def _xlogy(x: Float[Array, "*#shape"], y: Float[Array, "*#shape"]) -> Float[Array, "*#shape"]:
    """X ln y, zero where y is zero (a transition that cannot happen has no expected count)."""
    positive = y > 0
    return jnp.where(positive, x * jnp.log(jnp.where(positive, y, 1.0)), 0.0)


def _start_energy(first: Float[Array, "N S B"], initial: Float[Array, "N S"]) -> Float[Array, "N B"]:
    """Expected log probability of the state at the start."""
    return jnp.sum(_xlogy(first, initial[:, :, None]), axis=1)


def energy(transitions: Float[Array, "N S S C B"], dwell: Float[Array, "N S C B"], mean: Mean) -> PerTrajectory:
    """Sum over nodes and cells of m ln r~ - t e, per trajectory."""
    return jnp.sum(_xlogy(transitions, mean.off), axis=(0, 1, 2, 3)) - jnp.sum(dwell * mean.leave, axis=(0, 1, 2))


def objective(state: State, tables: Tables, dt: Float[Array, "C B"]) -> tuple[PerTrajectory, Mean]:
    """F of the paths of every trajectory, and the mean rates it rests on."""
    mean = mean_rates(state.marginal, tables)
    paths = jnp.sum(state.entropy + _start_energy(state.first, tables.initial), axis=0)
    return paths + energy(state.transitions, state.marginal * dt, mean), mean


def _bridge(transitions: Float[Array, "N S S C B"], off: Float[Array, "N S S C B"]) -> Float[Array, "N S S C B"]:
    """Expected transitions divided by their rates, zero where a transition cannot happen."""
    positive = off > 0
    return jnp.where(positive, transitions / jnp.where(positive, off, 1.0), 0.0)


def child_response(state: State, tables: Tables, mean: Mean, dt: Float[Array, "C B"]) -> Float[Array, "N S C B"]:
    """Psi: derivative of the children's terms with respect to a node's time in each state.

    `mean` are the mean rates at the state. The derivative of a product of marginals with respect to one of them is the
    product divided by it.
    """
    n, states, *cells = state.marginal.shape
    tall = tables.geometric.shape[1]
    if tables.log is not None:
        gain = jnp.matmul(tables.log.reshape(n, tall, -1), state.transitions.reshape(n, states * states, -1))
    else:
        bridge = _bridge(state.transitions, mean.off).reshape(n, states * states, -1)
        gain = jnp.matmul(tables.geometric.reshape(n, tall, -1), bridge)
    gain = gain - jnp.matmul(tables.exit, (state.marginal * dt).reshape(n, states, -1))
    weighted = gain * mean.parents.reshape(gain.shape)
    select = jnp.moveaxis(tables.select, 2, 3).swapaxes(0, 1).reshape(n, -1, tall)  # (N, P S, U)
    share = jnp.matmul(select, weighted).reshape(n, -1, states, *cells)
    q = floored(state.marginal)
    extended = jnp.concatenate([q, jnp.ones((1, *q.shape[1:]), q.dtype)])
    slope = jnp.zeros_like(extended).at[tables.parents].add(share / extended[tables.parents])
    return jnp.where(dt > 0, slope[:-1] / jnp.where(dt > 0, dt, 1.0), 0.0)


def _moves(
    transitions: Float[Array, "N S S C B"],
    off: Float[Array, "N S S C B"],
    u: Float[Array, "N U R"],
    geometric: Float[Array, "N U S S"],
    mean_field: bool,
) -> Float[Array, "N U S S"]:
    """Expected transitions by parent state: with the flow q^u R~(u) / r~, or q^u alone in mean field."""
    n, states = transitions.shape[:2]
    split = transitions if mean_field else _bridge(transitions, off)
    moves = jnp.matmul(u, split.reshape(n, states * states, -1).transpose(0, 2, 1)).reshape(geometric.shape)
    return moves if mean_field else moves * geometric


def start(evidence: Evidence, tables: Tables) -> State:
    """A state that knows nothing: uniform marginals, no transitions, F minus infinity.

    The first sweep replaces it: every node among uniform neighbours that do not move.
    """
    n_points, n_nodes, n_states, n_columns = evidence.likelihood.shape
    uniform = (np.arange(n_states) < tables.cards[:, None]) / tables.cards[:, None]
    kind = evidence.dt.dtype
    shape = (n_nodes, n_states, n_points - 1, n_columns)
    return State(
        np.zeros((n_nodes, n_states, n_states, n_points - 1, n_columns), kind),
        np.broadcast_to(uniform[:, :, None, None], shape).astype(kind),
        np.full((n_nodes, n_columns), -np.inf, kind),
        np.zeros((n_nodes, n_states, n_columns), kind),
        np.ones(n_columns, kind),
    )


@partial(compiled, static_argnames="groups")
def sweeps(
    evidence: Evidence,
    tables: Tables,
    state: State,
    tol: Float[Array, ""],
    max_sweeps: Int[Array, ""],
    *,
    groups: Groups = (),
) -> tuple[State, PerTrajectory, Count]:
    """Update all nodes until F of every trajectory rises by less than `tol`, at most `max_sweeps` times.

    A trajectory that has come to rest stays as it is while others go on, so that it does not matter which ones are
    updated together; nor does it matter which nodes `groups` takes together. Returns the state, F and the number of
    sweeps.
    """

    def mix(a: State, b: State, share: PerTrajectory) -> State:
        return State(*(jnp.where(share == 1, y, jnp.where(share == 0, x, x + share * (y - x))) for x, y in zip(a, b)))

    def suggested(
        share: PerTrajectory, rise: PerTrajectory, slope: PerTrajectory, noise: PerTrajectory
    ) -> PerTrajectory:
        """Top of the parabola with given slope at 0 and rise at `share`; 1 where it does not bend downwards."""
        bend = slope * share - rise
        top = slope * share**2 / (2 * jnp.where(bend > 0, bend, 1.0))  # 0 at a rise of minus infinity
        return jnp.where((bend > noise) & (top < 0.8), top, 1.0)

    def sweep(carry: Carry) -> Carry:
        state, value, mean, moving, count = carry
        psi = child_response(state, tables, mean, evidence.dt)
        best, log_z = answer_by_states(mean.off, psi - mean.leave, evidence, tables.initial, groups)
        used = jnp.sum(state.marginal * evidence.dt * psi, axis=(0, 1, 2))
        slope = jnp.maximum(jnp.sum(log_z, axis=0) - value - used, 0.0)
        noise = ROUNDING * jnp.finfo(value.dtype).eps * jnp.abs(jnp.where(value > -jnp.inf, value, 0.0))
        least = value - noise

        def attempt(share: PerTrajectory) -> Attempt:
            there = mix(state, best, share)
            reached, mean = objective(there, tables, evidence.dt)
            return share, there, jnp.where(jnp.isnan(reached), -jnp.inf, reached), mean

        def shorter(inner: tuple[Attempt, Count]) -> tuple[Attempt, Count]:
            (share, _, reached, _), tries = inner
            less = jnp.clip(suggested(share, reached - value, slope, noise), 0.1 * share, 0.5 * share)
            last = tries + 1 == SHORTENINGS  # what has not climbed by then stays where it was
            less = jnp.where(reached >= least, share, jnp.where(last, 0.0, less))
            return attempt(jnp.where(tries < 0, share, less)), tries + 1  # the first one is tried as it is

        first = jnp.where(moving, jnp.where(value == -jnp.inf, 1.0, state.share), 0.0)
        before: tuple[Attempt, Count] = (first, state, jnp.full_like(value, -jnp.inf), mean), -1
        (share, there, reached, mean), _ = jax.lax.while_loop(
            lambda inner: (inner[1] < 0) | (jnp.any(inner[0][2] < least) & (inner[1] < SHORTENINGS)),
            shorter,
            before,
        )
        ahead = jnp.where(share > 0, jnp.clip(suggested(share, reached - value, slope, noise), 0.05, 1.0), 1.0)
        ahead = jnp.where(moving, ahead, state.share)
        return there._replace(share=ahead), reached, mean, moving & (reached - value > tol), count + 1

    value, mean = objective(state, tables, evidence.dt)
    before: Carry = state, value, mean, jnp.full(value.shape, True), 0
    state, value, _, _, count = jax.lax.while_loop(
        lambda carry: jnp.logical_and(jnp.any(carry[3]), carry[4] < max_sweeps),
        sweep,
        before,
    )
    return state, value, count


@compiled
def statistics(
    state: State, tables: Tables, dt: Float[Array, "C B"]
) -> tuple[Float[Array, "N U S"], Float[Array, "N U S S"]]:
    """Expected dwell and transitions per joint state of the active parents."""
    mean = mean_rates(state.marginal, tables)
    n, states = state.marginal.shape[:2]
    flat = mean.parents.reshape(n, mean.parents.shape[1], -1)
    dwell = jnp.matmul(flat, (state.marginal * dt).reshape(n, states, -1).transpose(0, 2, 1))
    mean_field = tables.log is not None
    return dwell, _moves(state.transitions, mean.off, flat, tables.geometric, mean_field)


@compiled
def predictive(evidence: Evidence, tables: Tables) -> PerTrajectory:
    """Log likelihood of each observation given the earlier ones, summed per trajectory.

    Nodes stay independent given the past; within a cell their rates are those at the parents' half-way marginals.
    """
    return _filter(evidence, tables)[1]


@compiled
def forecasts(evidence: Evidence, tables: Tables) -> Float[Array, "C+1 N S B"]:
    """State probabilities at the grid points given what was seen earlier, as `predictive`."""
    return _filter(evidence, tables)[0]


def _filter(evidence: Evidence, tables: Tables) -> tuple[Float[Array, "C+1 N S B"], PerTrajectory]:
    def advance(q: Float[Array, "N S B"], mean: Mean, dt: PerTrajectory) -> Float[Array, "N S B"]:
        matrix, _ = exponential(mean.off, -mean.leave, dt[None])
        q = jnp.sum(q[:, :, None] * matrix[:, :, :, 0], axis=1)
        return q / jnp.sum(q, axis=1, keepdims=True)

    def step(
        q: Float[Array, "N S B"], cell: tuple[PerTrajectory, Float[Array, "N S B"]]
    ) -> tuple[Float[Array, "N S B"], tuple[Float[Array, "N S B"], PerTrajectory]]:
        dt, seen = cell
        middle = advance(q, mean_rates(q[:, :, None], tables), 0.5 * dt)
        ahead = advance(q, mean_rates(middle[:, :, None], tables), dt)
        total = jnp.sum(ahead * seen, axis=1)
        return ahead * seen / total[:, None], (ahead, jnp.sum(jnp.log(total), axis=0))

    first = tables.initial[:, :, None] * jnp.ones_like(evidence.likelihood[0])
    total = jnp.sum(first * evidence.likelihood[0], axis=1)
    q = first * evidence.likelihood[0] / total[:, None]
    _, (ahead, logs) = jax.lax.scan(step, q, (evidence.dt, evidence.likelihood[1:]))
    scale = jnp.sum(evidence.log_scale, axis=0)
    return jnp.concatenate([first[None], ahead]), jnp.sum(jnp.log(total), axis=0) + jnp.sum(logs, axis=0) + scale


@compiled
def grid_marginals(evidence: Evidence, tables: Tables, state: State) -> Float[Array, "C+1 N S B"]:
    """Posterior marginals at the grid points, for the converged neighbours in `state`."""
    mean = mean_rates(state.marginal, tables)
    psi = child_response(state, tables, mean, evidence.dt)

    def total(boost: Float[Array, "_ N S B"]) -> Float[Array, ""]:
        boosted = evidence._replace(likelihood=evidence.likelihood * (1 + boost))
        return jnp.sum(log_likelihood(mean.off, psi - mean.leave, boosted, tables.initial))

    slope = jnp.maximum(jax.grad(total)(jnp.zeros_like(evidence.likelihood)), 0.0)
    return slope / jnp.sum(slope, axis=2, keepdims=True)

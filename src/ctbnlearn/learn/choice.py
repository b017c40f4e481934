"""Which method infers the paths if none is given: sampling where its cost is bounded and chains move, else blocks.

A path drawn as if nothing drove a variable makes moves of its own between observations, and with three and more states
these outweigh the few that show a dependence: chains then stay at the network without edges, or any other, for ever,
and agree on it. Blocks take no paths. On 200 trajectories of five variables of three states that move 0.4 to 1 times
between observations, two graphs at two horizons, the log loss of sampling was 1.5 to 2.5, that of blocks 0.001 to 1.1;
with 0.2 moves 0.1 and 0.7 against 0.1 and 1.1; with two states and up to 1.7 moves (twelve data sets) they were equal.

Two states do not hold chains, but from some 0.7 moves between observations on they may need thousands of sweeps to
agree: with six variables and 100 to 1,000 trajectories minutes, where blocks take seconds and are as right. So they are
with levels to learn of values two standard deviations apart (ten graphs of five variables, 200 trajectories).

With many variables chains take minutes to agree, or end before they do, and blocks are as right in seconds. One graph
of 50 variables, 40 / 160 / 640 / 2,000 trajectories: sampling takes 68 / 49 / 199 / 190 s, blocks 12 / 7 / 7 / 17 s
(beside other work), with log losses of 0.037 / 0.0012 / 0.0001 / 0.0000 and 0.039 / 0.0017 / 0.0002 / 0.0001. From 40
trajectories of 20 and 30 variables, three graphs each and independent priors of rates, the AUPR of sampling is 0.786
and 0.738, that of blocks 0.733 and 0.727.

At blocks of few variables an accelerator is slower than processors. An H200 was as quick as sixteen cores with 300
variables (30 s), slower with 100 (20 against 13 s), 30 (17 against 6 s), and twelve of up to three states (86 against
23 s), compilation included.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ctbnlearn.arrays import IntArray
from ctbnlearn.cores import usable_cores
from ctbnlearn.data.description import VariableDescription, describe_variable
from ctbnlearn.data.kinds import Incomplete
from ctbnlearn.data.observations import Observations
from ctbnlearn.execute.shards import canonical_order
from ctbnlearn.inference.device import PROCESSOR, Device
from ctbnlearn.inference.methods import Blocks, Method, Sampling
from ctbnlearn.learn.noise_draws import learned_models
from ctbnlearn.learn.pool_sizes import weighing_seconds
from ctbnlearn.structure.problem import EdgeRules

MOST_VARIABLES, MOST_SAMPLED = 150, 40  # for sampling: at all, and where blocks can answer, too
MOST_SECONDS = 120.0  # estimated, on two processors; it takes up to five times as long where chains mix slowly
FEW, FOR_FEW = 100, 1200.0  # trajectories below which blocks are rough, or slow if these are long; seconds allowed then
LONG_GAP = 0.7  # moves of a variable between observations from which on chains may take very long to agree
UNIT_SECONDS = 7e-8  # a sweep of one chain takes about this much per observation, path and fifth of a jump
NODE_SECONDS = 4e-5  # and so much per variable, besides weighing its parent sets
COUNT_SECONDS = 2e-9  # and so much per variable and jump, for counting
USUAL_SWEEPS = 200
CORE_VARIABLES = 32  # variables per core from which on an accelerator is quicker at blocks
LOOKED_AT, RUN = 1000, 50  # trajectories that tell how often variables move, and how many of them are neighbours


def sweep_seconds(
    rules: EdgeRules, cards: Sequence[int], n_trajectories: int, n_values: float, moves: float | None = None
) -> float:
    """Seconds that a sweep of one chain takes, roughly; `moves` are the jumps in all paths, guessed where not given."""
    n_variables = len(cards)
    paths = n_variables * n_trajectories
    if moves is None:
        moves = min(0.5 * n_values, 4.0 * paths)
    units = n_values + paths + 5.0 * moves
    each = NODE_SECONDS + COUNT_SECONDS * moves
    return UNIT_SECONDS * units + each * n_variables + weighing_seconds(rules, cards)


def estimated_seconds(obs: Incomplete, rules: EdgeRules, chains: int = 4, processors: int = 2) -> float:
    """Estimate the seconds that learning by sampling takes, very roughly, without compilation."""
    sweep = sweep_seconds(rules, [v.n_states for v in obs.variables], obs.n_trajectories, obs.n_values)
    return USUAL_SWEEPS * sweep * chains / min(processors, chains)


def chains_stick(obs: Incomplete) -> bool:
    """Whether chains are likely to stay at the network they start from, as far as that can be seen beforehand."""
    return any(v.sticky for v in _described(obs))


def block_device(device: str, precision: str, n_variables: int, here: bool) -> Device:
    """Where blocks compute: on an accelerator if asked to, or if it is left open and quicker than cores.

    Others than this process (`here` false) have to be asked, so that the answer does not depend on who they are, and
    find theirs themselves.
    """
    precision = "float32" if precision == "auto" else precision
    if not here:
        return Device("gpu", precision, None) if device == "gpu" else PROCESSOR
    if device == "cpu" or (device == "auto" and n_variables < CORE_VARIABLES * usable_cores()):
        return PROCESSOR
    return Device.find(device, precision)


def _described(obs: Incomplete) -> list[VariableDescription]:
    """What some trajectories show of the variables."""
    seen = obs.select(spread_out(obs))
    return [describe_variable(v.name, v.states, s, len(s.values)) for v, s in zip(obs.variables, seen.series)]


def spread_out(obs: Incomplete) -> IntArray:
    """Numbers of some trajectories, in short runs of neighbours by name, so that few parts of files are read."""
    n = obs.n_trajectories
    if n <= LOOKED_AT:
        return np.arange(n)
    order = canonical_order(obs.ids) if isinstance(obs, Observations) else None
    first = np.linspace(0, n - RUN, LOOKED_AT // RUN).astype(np.int64)
    ranks = np.unique(first[:, None] + np.arange(RUN))
    return ranks if order is None else np.array(order)[ranks]


def blocks_can(obs: Incomplete, rules: EdgeRules | None = None) -> bool:
    """Whether blocks take such data: without interventions, and no block that is needed is too large."""
    if obs.interventions is not None:
        return False
    cards, method = [v.n_states for v in obs.variables], Blocks()
    needed = [] if rules is None else [[i, *required] for i, required in enumerate(rules.required)]
    small = all(len(m) <= method.members and prod(cards[j] for j in m) <= method.states for m in needed)
    return small and prod(sorted(cards)[-2:]) <= method.states


def choose_method(obs: Incomplete, rules: EdgeRules) -> Method:
    """Sampling where its estimated cost is bounded, chains move, and gaps are short or trajectories few; else blocks.

    Many variables are for blocks, too.

    Sampling alone knows interventions, and learns observation models along with the network. A scan is treated as the
    same data in memory.
    """
    if len(obs.variables) > MOST_VARIABLES:
        return Blocks()
    if blocks_can(obs, rules):
        if len(obs.variables) > MOST_SAMPLED:
            return Blocks()
        seen = _described(obs)
        long_gaps = obs.n_trajectories >= FEW and any(v.moves_per_gap >= LONG_GAP for v in seen)
        if long_gaps or any(v.sticky for v in seen):
            return Blocks()
    alone = obs.interventions is not None or bool(learned_models(obs))
    most = FOR_FEW if obs.n_trajectories < FEW else MOST_SECONDS
    return Sampling() if alone or estimated_seconds(obs, rules) <= most else Blocks()

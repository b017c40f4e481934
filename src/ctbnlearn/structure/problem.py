"""The search problem: which parents each node may have, and how their sets are scored.

Users give edges in several forms (`as_adjacency`); here they become, per node, the allowed and required parents, and
with the priors a `NodeProblem` that turns tables of parent sets into scores and weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import BoolArray, FloatArray, IntArray
from ctbnlearn.data.variables import Label
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.statistics import Statistics
from ctbnlearn.interface import spoken
from ctbnlearn.model.graph import Graph, as_adjacency
from ctbnlearn.structure.cell_prior import CellPrior, as_cells, mean_rates, typical_rates
from ctbnlearn.structure.mixture import Mixture, MixtureObjective, mixture_weights
from ctbnlearn.structure.parent_sets import ParentSets, enumerate_sets
from ctbnlearn.structure.prior import (
    RatePrior,
    StructurePrior,
    check_rate_prior,
    check_structure_prior,
    log_prior_parts,
    rate_prior,
)
from ctbnlearn.structure.tables import Group
from ctbnlearn.structure.weights import posterior_weights, scores

ADJACENT = "adjacent"  # transitions between neighbouring states only
Variables: TypeAlias = Iterable[str | int]  # by name or number
Transitions: TypeAlias = Mapping[str, str | ArrayLike | Iterable[tuple[Label, Label]]]  # see `check_transitions`


@dataclass(frozen=True, eq=False)
class EdgeRules:
    """Per node, which parents are allowed and which required, and how many there may be.

    Variables that are `adjusted` for are among the required parents of all others and, like all `exogenous` ones, have
    none; they count in `max_parents` here, though not in the user's.
    """

    names: tuple[str, ...]
    allowed: tuple[tuple[int, ...], ...]
    required: tuple[tuple[int, ...], ...]
    max_parents: int | None
    adjusted: tuple[int, ...] = ()
    exogenous: tuple[int, ...] = ()

    @classmethod
    def build(
        cls,
        names: Sequence[str],
        max_parents: int | None,
        candidates: Graph | None,
        forbidden: Graph | None,
        required: Graph | None,
        exogenous: Variables | None = None,
        adjust_for: Variables | None = None,
        still: Sequence[int] = (),
    ) -> EdgeRules:
        """Read the graphs and raise where they contradict each other; parameters are those of `StructureLearner`.

        Variables that are `still`, by number, have no parents unless some are required or `exogenous` was given.
        """
        n = len(names)
        if max_parents is not None and (
            isinstance(max_parents, bool) or not isinstance(max_parents, (int, np.integer)) or max_parents < 0
        ):
            raise ParameterError(f"max_parents must be None or a whole number, 0 or more, not {max_parents!r}")
        allowed = ~np.eye(n, dtype=bool)
        if candidates is not None:
            allowed &= as_adjacency(candidates, names, "candidates")
        must = np.zeros((n, n), bool) if required is None else as_adjacency(required, names, "required")
        if forbidden is not None:
            banned = as_adjacency(forbidden, names, "forbidden")
            both = np.argwhere(banned & must)
            if both.size:
                j, i = both[0]
                raise ParameterError(
                    f"the edge {names[j]!r} -> {names[i]!r} is both required and forbidden; drop one of them"
                )
            allowed &= ~banned
        adjusted = exogenous_nodes(adjust_for, names, "adjust_for")
        alone = set(exogenous_nodes(exogenous, names)) | set(adjusted)
        if exogenous is None:
            alone |= {i for i in still if not must[:, i].any()}
        for i in sorted(alone):
            if must[:, i].any():
                j = int(np.flatnonzero(must[:, i])[0])
                what = f"in {spoken('adjust_for', '--adjust-for')}" if i in adjusted else "exogenous"
                raise ParameterError(
                    f"the edge {names[j]!r} -> {names[i]!r} is required, but {names[i]!r} is {what}: it has no "
                    "parents; drop one of them"
                )
            allowed[:, i] = False
        for j in adjusted:
            driven = [i for i in range(n) if i not in alone]
            if forbidden is not None and banned[j, driven].any():
                i = driven[int(np.argmax(banned[j, driven]))]
                raise ParameterError(
                    f"the edge {names[j]!r} -> {names[i]!r} is forbidden, but {names[j]!r} is in "
                    f"{spoken('adjust_for', '--adjust-for')}, which makes it a parent of all others; drop one of them"
                )
            allowed[j, driven] = must[j, driven] = True
        outside = np.argwhere(must & ~allowed)
        if outside.size:
            j, i = outside[0]
            raise ParameterError(
                f"the required edge {names[j]!r} -> {names[i]!r} is not among `candidates`; add it there or drop it"
            )
        admitted = tuple(tuple(int(j) for j in np.flatnonzero(allowed[:, i])) for i in range(n))
        needs = tuple(tuple(int(j) for j in np.flatnonzero(must[:, i])) for i in range(n))
        most = None if max_parents is None else int(max_parents) + len(adjusted)
        rules = cls(tuple(names), admitted, needs, most, adjusted, tuple(sorted(alone)))
        for i in range(n):
            if len(needs[i]) > rules.limit(i):
                raise ParameterError(
                    f"{names[i]!r} has {len(needs[i])} required parents {[names[j] for j in needs[i]]}, more than "
                    f"max_parents={max_parents}; raise max_parents or require fewer"
                )
        return rules

    def limit(self, node: int) -> int:
        """Largest number of parents of a node."""
        most = len(self.allowed[node])
        return most if self.max_parents is None else min(self.max_parents, most)

    @property
    def largest(self) -> int:
        """Largest number of parents of any node."""
        return max(self.limit(i) for i in range(len(self.names)))

    def sets(self, node: int) -> ParentSets:
        """Every parent set of a node that the rules admit."""
        return enumerate_sets(self.allowed[node], self.required[node], self.max_parents, self.names, node)


def exogenous_nodes(exogenous: Any, names: Sequence[str], option: str = "exogenous") -> tuple[int, ...]:
    """Numbers of some variables, such as those without parents, given by names or numbers, or a clear error.

    Examples
    --------
    >>> exogenous_nodes(["sex", 2], ["age", "sex", "dose"])
    (1, 2)
    """
    if exogenous is None:
        return ()
    if isinstance(exogenous, (str, bytes)) or not isinstance(exogenous, Iterable):
        raise ParameterError(f"{option} must be a list of variables, by name or number, not {exogenous!r}")
    nodes = set()
    for item in exogenous:
        number = isinstance(item, (int, np.integer)) and not isinstance(item, bool)
        if not (0 <= item < len(names) if number else isinstance(item, str) and item in names):
            option = spoken(option, "--" + option.replace("_", "-"))
            raise ParameterError(f"{option}: unknown variable {item!r}; known: {list(names)}")
        nodes.add(int(item) if number else list(names).index(item))
    return tuple(sorted(nodes))


@dataclass(frozen=True, eq=False)
class Scoring:
    """How parent sets are weighed: priors, and which kind of weights.

    Attributes
    ----------
    rate_prior, structure_prior
        As in `StructureLearner`.
    mixture
        Settings of mixture weights; None for posterior weights.
    arithmetic
        Whether path rates are arithmetic means throughout (the paper's greedy closure).
    """

    rate_prior: RatePrior = "auto"
    structure_prior: StructurePrior = "size"
    mixture: Mixture | None = None
    arithmetic: bool = False

    def check(self, n_variables: int, pushes: bool = False) -> None:
        """Raise where a prior is not one, or is for pushes where these are not weighed."""
        check_rate_prior(self.rate_prior)
        if self.pushed and not pushes:
            raise ParameterError(
                'rate_prior="pushed" needs incomplete data, posterior weights, and inference by sampling or blocks; '
                'use "independent", or leave it "auto"'
            )
        if not self._undecided:
            check_structure_prior(self.structure_prior, n_variables)

    @property
    def _undecided(self) -> bool:
        return isinstance(self.structure_prior, str) and self.structure_prior == "auto"

    def settled(self, structure_prior: str, rate_prior: str = "auto") -> Scoring:
        """With these priors where "auto" was asked for."""
        rates = rate_prior if isinstance(self.rate_prior, str) and self.rate_prior == "auto" else self.rate_prior
        structures = structure_prior if self._undecided else self.structure_prior
        return replace(self, structure_prior=structures, rate_prior=rates)

    @property
    def shared(self) -> bool:
        """Whether the cells of a set share the strength of their prior."""
        return isinstance(self.rate_prior, str) and self.rate_prior == "shared"

    @property
    def pushed(self) -> bool:
        """Whether parents may push a node (`ctbnlearn.structure.pushes`)."""
        return isinstance(self.rate_prior, str) and self.rate_prior == "pushed"


@dataclass(frozen=True, eq=False)
class NodeProblem:
    """Parent sets of one node with their priors.

    Attributes
    ----------
    sets
        The parent sets.
    shape, rate : (n_sets,), (n_sets, S)
        Gamma prior of the cells of every set, its rate by the node's state.
    log_prior : (n_sets,)
        Log prior probability of every set among all that the rules admit.
    possible : (S, S)
        Transitions that can happen, without the diagonal.
    barrier
        None for posterior weights; lambda for mixture weights.
    arithmetic
        See `Scoring`.
    shared
        Prior of the cells of every set where they share its strength; `shape` and `rate` are then NaN.
    """

    sets: ParentSets
    shape: FloatArray
    rate: FloatArray
    log_prior: FloatArray
    possible: BoolArray
    barrier: float | None
    arithmetic: bool
    shared: CellPrior | None = None

    @classmethod
    def build(
        cls,
        node: int,
        sets: ParentSets,
        rules: EdgeRules,
        cards: Sequence[int],
        scoring: Scoring,
        mean: FloatArray,
        possible: BoolArray | None = None,
    ) -> NodeProblem:
        """Work out the priors of given sets of a node, centred on its `mean` rates (S, S) whatever its parents do."""
        off = ~np.eye(cards[node], dtype=bool)
        allowed = off if possible is None else possible & off
        shared = None
        if scoring.shared:
            shared = CellPrior.shared(mean, allowed)
            shape, rate = np.full(len(sets), np.nan), np.full((len(sets), cards[node]), np.nan)
        else:
            pool, typical = rules.allowed[node], typical_rates(mean, allowed)
            shape, rate = rate_prior(scoring.rate_prior, sets, cards, pool, rules.max_parents, typical)
        by_size, odds = log_prior_parts(
            scoring.structure_prior, len(cards), node, rules.allowed[node], rules.required[node], rules.limit(node)
        )
        barrier = None
        if scoring.mixture is not None:
            barrier = scoring.mixture.barrier(len(sets))
        return cls(
            sets,
            shape,
            rate,
            by_size[sets.sizes] + np.append(odds, 0.0)[sets.members].sum(1),
            allowed,
            barrier,
            scoring.arithmetic,
            shared,
        )

    def take(self, index: IntArray) -> NodeProblem:
        """The same problem for some of the sets."""
        return NodeProblem(
            self.sets.take(index),
            self.shape[index],
            self.rate[index],
            self.log_prior[index],
            self.possible,
            self.barrier,
            self.arithmetic,
            self.shared,
        )

    def cell_prior(self, number: int) -> CellPrior:
        """Prior of the cells of one set."""
        if self.shared is not None:
            return self.shared
        shape, rate = float(self.shape[number]), self.rate[number]
        key = shape, *rate.tolist()
        if key not in self._fixed:
            self._fixed[key] = CellPrior.fixed(shape, rate, self.possible)
        return self._fixed[key]

    @cached_property
    def _fixed(self) -> dict[tuple[float, ...], CellPrior]:
        """Priors that were asked for; sets mostly have the same."""
        return {}

    def scores(self, groups: Iterable[Group]) -> FloatArray:
        """Closed-form score of every set."""
        if self.shared is None:
            return scores(groups, self.shape, self.rate, self.possible)
        out = np.empty(len(self.sets))
        for group in groups:
            for k, dwell, moves in zip(group.index, group.dwell, group.transitions):
                out[k] = self.shared.score(*as_cells(dwell, moves))
        return out

    def mixture(self, groups: Iterable[Group]) -> MixtureObjective:
        """Objective of the mixture weights."""
        return MixtureObjective(groups, self.shape, self.rate, self.barrier or 0.0, self.possible)

    def weights(self, groups: Iterable[Group]) -> FloatArray:
        """Weights of the sets: posterior, or mixture where there is a barrier."""
        if self.barrier is None:
            return posterior_weights(self.scores(groups), self.log_prior)
        return mixture_weights(self.mixture(groups))


def centre(totals: Statistics, node: int) -> FloatArray:
    """What the prior of a node's rates is centred on: its mean rates (S, S), whatever its parents do."""
    return mean_rates(totals.dwell[node].sum(0), totals.transitions[node].sum(0))


def check_transitions(
    spec: Any,
    names: Sequence[str],
    states: Sequence[Sequence[Label]],
    ordered: Sequence[bool | None] | None = None,
) -> list[BoolArray | None]:
    """Per node the matrix [from, to] of transitions that can happen, None where all can.

    `spec` maps a variable's name to a 0/1 array, to a list of (from, to) state labels, or to "adjacent" where its
    states are `ordered`.
    """
    if spec is None:
        return [None] * len(names)
    if not hasattr(spec, "items"):
        raise ParameterError("transitions must map a variable's name to a 0/1 array or a list of (from, to) labels")
    out: list[BoolArray | None] = [None] * len(names)
    for name, value in spec.items():
        if name not in names:
            option = spoken("transitions", "--adjacent") if isinstance(value, str) else "transitions"
            raise ParameterError(f"{option}: unknown variable {name!r}; known: {list(names)}")
        i = list(names).index(name)
        labels = list(states[i])
        if isinstance(value, str) and value == ADJACENT:
            if ordered is not None and not ordered[i]:
                raise ParameterError(
                    f"{spoken('transitions', '--adjacent')}: the states of {name!r}, {labels}, have no order; give "
                    f"them one with {spoken('ordered=', f'--ordered {name}=...')}"
                )
            out[i] = np.abs(np.subtract.outer(np.arange(len(labels)), np.arange(len(labels)))) == 1
            continue
        if isinstance(value, np.ndarray):
            if value.shape != (len(labels),) * 2 or not np.isin(value, (0, 1)).all():
                raise ParameterError(
                    f"transitions of {name!r}: the matrix must be {len(labels)} x {len(labels)}, 0 and 1"
                )
            out[i] = value.astype(bool)
            continue
        mask = np.zeros((len(labels),) * 2, bool)
        try:
            pairs = [(labels.index(a), labels.index(b)) for a, b in value]
        except (ValueError, TypeError):
            raise ParameterError(
                f'transitions of {name!r}: give "adjacent", a 0/1 array, or a list of (from, to) pairs of its states '
                f"{labels}"
            ) from None
        for a, b in pairs:
            mask[a, b] = True
        out[i] = mask
    return out

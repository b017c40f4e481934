"""Structural EM: one network at a time, improved by greedy hill-climbing (Nodelman, Shelton & Koller 2005).

E-step: expected statistics of candidate families given the present network, parents and rates. M-step: each node climbs
by additions, removals and swaps of single parents on the closed-form score, with expected in place of counted
statistics; rates become their posterior means. The rival of `StructureLearner`, which holds a posterior over all parent
sets instead of one of them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ctbnlearn.arguments import finite, whole
from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.constant import never_changing
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.methods import Exact, Factorised, MeanField, Method, Sampling, Star, as_method
from ctbnlearn.inference.statistics import count_statistics
from ctbnlearn.learn.fitted import FittedNetwork, check_allowed, given_initial, learned_initial, tables_of
from ctbnlearn.learn.outcome import FitRecord
from ctbnlearn.learn.plan import check_run
from ctbnlearn.learn.progress import Callback, Progress, Watcher
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.model.graph import Graph, as_adjacency
from ctbnlearn.model.initial import InitialSpec
from ctbnlearn.result.history import History
from ctbnlearn.structure.prior import RatePrior, StructurePrior
from ctbnlearn.structure.problem import EdgeRules, Scoring, Transitions, Variables, centre, check_transitions
from ctbnlearn.structure.search import SetScorer, climb, edge_grades
from ctbnlearn.structure.tables import tables_for

if TYPE_CHECKING:
    from ctbnlearn.learn.families import Families

Parents = list[tuple[int, ...]]
SMALL = 64  # joint states up to which inference="auto" takes the joint chain


class StructuralEM(FittedNetwork, BaseEstimator):
    """Learn a single network by structural EM.

    Parameters
    ----------
    max_parents, candidates, forbidden, required, exogenous, transitions
        As in `StructureLearner`.
    inference : "auto", "exact", "star", "mean_field", or `Exact`, `Star`, `MeanField`
        How paths are inferred from incomplete data; as in `StructureLearner`, but not by sampling. Of the objects only
        `step` counts. "auto": on the joint chain up to 64 joint states, else star.
    rate_prior, structure_prior
        As in `HillClimb`; with incomplete data structure_prior="auto" is "size".
    initial : graph or None
        Network to start from, in any form `candidates` takes; default the required edges alone.
    initial_distribution
        As in `StructureLearner`.
    max_iter : int
        Searches at most: each lets every node climb to the top of its score. 1 is the single sweep of the paper's
        comparison.
    max_inner : int
        E-steps at most before each search, with new rates but the same parents.
    tol : float
        Rates have settled when an E-step changes the objective by less than this many nats per trajectory and variable.
        EM has converged when they have, and the search after it finds no better parents.
    precision, device
        As in `StructureLearner`.
    progress, callback
        As in `StructureLearner`.

    Attributes
    ----------
    edge_probabilities_ : (n, n)
        How much the score hangs on each edge [source, target], for a ranking: 1 / (1 + exp(-d)), d the score with the
        edge less the score without it, the other parents held. Once EM has converged it is above one half for the
        edges of `network_` and below for all others. It is overconfident: what else could explain the data is not
        weighed.
    network_, rate_tables_, result_, history_, converged_, n_iter_, feature_names_in_, n_features_in_
        As in `StructureLearner`.
    parent_sets_, parent_set_weights_
        Per node its parent set, with weight one.
    objective_ : float
        Complete data: score of the network plus its log prior. Incomplete data: log evidence under `network_`, or what
        the variational engine takes for it. It may fall, as the search looks at expected scores.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> net = cl.random_network(4, rng=1)
    >>> paths = cl.simulate(net, n_trajectories=200, n_transitions=10, rng=2)
    >>> sorted(StructuralEM(max_parents=2).fit(paths).network_.edges) == sorted(net.edges)
    True
    """

    def __init__(
        self,
        max_parents: int | None = None,
        *,
        candidates: Graph | None = None,
        forbidden: Graph | None = None,
        required: Graph | None = None,
        exogenous: Variables | None = None,
        transitions: Transitions | None = None,
        inference: str | Method = "auto",
        rate_prior: RatePrior = "auto",
        structure_prior: StructurePrior = "auto",
        initial: Graph | None = None,
        initial_distribution: str | InitialSpec = "learn",
        max_iter: int = 20,
        max_inner: int = 3,
        tol: float = 5e-3,
        precision: str = "auto",
        device: str = "auto",
        progress: Watcher = False,
        callback: Callback | None = None,
    ) -> None:
        self.max_parents = max_parents
        self.candidates = candidates
        self.forbidden = forbidden
        self.required = required
        self.exogenous = exogenous
        self.transitions = transitions
        self.inference = inference
        self.rate_prior = rate_prior
        self.structure_prior = structure_prior
        self.initial = initial
        self.initial_distribution = initial_distribution
        self.max_iter = max_iter
        self.max_inner = max_inner
        self.tol = tol
        self.precision = precision
        self.device = device
        self.progress = progress
        self.callback = callback

    def fit(self, data: Paths | Observations, y: object = None) -> StructuralEM:
        """Learn from complete or incomplete trajectories.

        Parameters
        ----------
        data
            `Paths` (complete: a single search, nothing to expect) or `Observations`.
        y
            Ignored; there for scikit-learn.
        """
        began = time.perf_counter()
        self._check()
        if not isinstance(data, (Paths, Observations)):
            raise ParameterError(
                f"fit needs Paths or Observations, not {type(data).__name__}; make them with read_paths or read_table"
            )
        rules = EdgeRules.build(
            data.names,
            self.max_parents,
            self.candidates,
            self.forbidden,
            self.required,
            self.exogenous,
            still=never_changing(data),
        )
        if isinstance(data, Observations):
            self._refuse(data)
        # EM holds complexity against a set more than once: expected statistics need no sparse prior
        structures = "sparse" if isinstance(data, Paths) else "size"
        scoring = Scoring(self.rate_prior, self.structure_prior).settled(structures, "shared")
        scoring.check(len(data.names))
        possible = check_transitions(self.transitions, data.names, [v.states for v in data.variables])
        given = given_initial(self.initial_distribution, data.variables)
        parents = self._first_parents(rules)
        self.inference_: Method | None = None
        if isinstance(data, Paths):
            self._fit_complete(data, rules, scoring, possible, parents)
        else:
            small = prod(v.n_states for v in data.variables) <= SMALL
            self.inference_ = as_method(self.inference) or (Exact() if small else Star())
            self._fit_incomplete(data, rules, scoring, possible, parents, given)
        self.feature_names_in_ = np.array(data.names, dtype=object)
        self.n_features_in_ = len(data.names)
        self._record = FitRecord.of(self, data, time.perf_counter() - began)
        return self

    def _check(self) -> None:
        """Check the parameters that do not depend on the data."""
        if isinstance(as_method(self.inference), Sampling):
            raise ParameterError(
                'structural EM takes expected statistics, not draws: use inference="exact" or "star" (StructureLearner '
                "samples)"
            )
        whole(self.max_iter, "max_iter", 1)
        whole(self.max_inner, "max_inner", 1)
        finite(self.tol, "tol")
        check_run(self)

    def _first_parents(self, rules: EdgeRules) -> Parents:
        if self.initial is None:
            return list(rules.required)
        edges = as_adjacency(self.initial, rules.names, "initial")
        out = []
        for i, name in enumerate(rules.names):
            parents = {int(j) for j in np.flatnonzero(edges[:, i])} | set(rules.required[i])
            strange = sorted(parents - set(rules.allowed[i]))
            if strange or len(parents) > rules.limit(i):
                what = f"{rules.names[strange[0]]!r} must not drive it" if strange else "they are too many"
                raise ParameterError(
                    f"initial: {name!r} has parents that the rules do not admit: {what}; take them out"
                )
            out.append(tuple(sorted(parents)))
        return out

    def _fit_complete(
        self,
        data: Paths,
        rules: EdgeRules,
        scoring: Scoring,
        possible: list[BoolArray | None],
        parents: Parents,
    ) -> None:
        cards, totals = [v.n_states for v in data.variables], count_statistics(data)
        check_allowed(totals, possible)
        mean_rates = [centre(totals, i) for i in range(len(cards))]
        tables = tables_for(data, rules.largest)
        scorer = SetScorer(tables, rules, scoring, cards, mean_rates, possible)
        parents = [climb(scorer, i, parents[i]) for i in range(len(cards))]
        self.objective_ = sum(scorer.score(i, [m])[0] for i, m in enumerate(parents))
        self.history_, self.converged_, self.n_iter_ = History((self.objective_,), ("parents",)), True, 1
        self._maximise(data, scorer, parents, totals.initial)
        self._grade(scorer, parents)

    def _fit_incomplete(
        self,
        data: Observations,
        rules: EdgeRules,
        scoring: Scoring,
        possible: list[BoolArray | None],
        parents: Parents,
        given: list[FloatArray] | None,
    ) -> None:
        from ctbnlearn.learn.decoupled import fit_decoupled

        progress = Progress(self.progress)
        cards, n = [v.n_states for v in data.variables], len(data.names)
        alone = fit_decoupled(data, possible)
        families = self._families(data, rules, alone)
        self.network_ = uncoupled_network(data.variables, parents, alone, given)
        self.history_, self.converged_ = History(), False
        small = self.tol * n * data.n_trajectories
        value = -np.inf

        def expect(phase: str) -> tuple[float, SetScorer]:
            value = families.expect(self.network_)
            self.history_ = self.history_.then(value, phase)
            return value, SetScorer(families, rules, scoring, cards, alone, possible)

        phase = "rates"
        for n_iter in range(1, self.max_iter + 1):
            self.n_iter_ = n_iter
            for _ in range(self.max_inner):
                before, (value, scorer) = value, expect(phase)
                self._maximise(data, scorer, parents, families.initial)
                phase = "rates"
                if abs(value - before) < small:
                    break
            found = [climb(scorer, i, parents[i], lookahead=0) for i in range(n)]
            changed = sum(a != b for a, b in zip(found, parents))
            message = f"search {n_iter}: objective {value:.2f}, {changed} variables with new parents"
            progress.count("searches", message, n_iter, self.max_iter)
            if self.callback is not None:
                self.callback(n_iter, value)
            if not changed and abs(value - before) < small:
                self.converged_ = True
                break
            if changed:
                parents, phase = found, "parents"
                self._maximise(data, scorer, parents, families.initial)
        self.objective_, scorer = expect(phase)  # of the network that is left
        self._grade(scorer, parents)
        progress.end(self.converged_, "stopped before it converged")
        if not self.converged_:
            warnings.warn(
                f"structural EM has not converged in {self.max_iter} searches; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _families(self, data: Observations, rules: EdgeRules, alone: Sequence[FloatArray]) -> Families:
        """The E-step that was asked for; `alone` are the rates of variables that do not drive each other."""
        from ctbnlearn.inference.contract import Effort
        from ctbnlearn.inference.engine import PathEngine, default_step
        from ctbnlearn.learn.em import Schedule
        from ctbnlearn.learn.families import ExactFamilies, VariationalFamilies, family_padding

        method = self.inference_
        if not isinstance(method, Factorised):
            return ExactFamilies(data, rules)
        paths = PathEngine(
            data,
            method.step or default_step([float(r.sum(1).max()) for r in alone]),
            mean_field=isinstance(method, MeanField),
            padding=family_padding(rules, [v.n_states for v in data.variables]),
            precision=self.precision,
            device=self.device,
        )
        return VariationalFamilies(rules, paths, Effort(self.tol * len(data.names), Schedule.max_sweeps))

    def _maximise(
        self, data: Paths | Observations, scorer: SetScorer, parents: Parents, starts: Sequence[FloatArray]
    ) -> None:
        """Posterior-mean rates of the present parents."""
        problems = [scorer.problem(i, [m]) for i, m in enumerate(parents)]
        tables = [next(iter(scorer.tables.groups(i, p.sets))) for i, p in enumerate(problems)]
        initial = learned_initial(self.initial_distribution, data.variables, starts)
        chosen = [[(0, g.dwell[0], g.transitions[0])] for g in tables]
        self._set_network(data.variables, tables_of(problems, chosen), initial)

    def _grade(self, scorer: SetScorer, parents: Parents) -> None:
        """Parents found, and how much hangs on each edge."""
        self.parent_sets_ = [scorer.problem(i, [m]).sets for i, m in enumerate(parents)]
        self.parent_set_weights_ = [np.ones(1) for _ in parents]
        self.edge_probabilities_ = np.stack([edge_grades(scorer, i, m) for i, m in enumerate(parents)], axis=1)


def uncoupled_network(
    variables: Sequence[Variable], parents: Parents, rates: Sequence[FloatArray], initial: list[FloatArray] | None
) -> CTBN:
    """A network whose variables have parents but do not heed them: rates (S, S) whatever the parents do."""
    names, cards = [v.name for v in variables], [v.n_states for v in variables]
    cims = {}
    for name, ps, r in zip(names, parents, rates):
        generator = r - np.diag(r.sum(1))
        cims[name] = np.broadcast_to(generator, (int(np.prod([cards[j] for j in ps], dtype=int)), *r.shape))
    named = {name: [names[j] for j in ps] for name, ps in zip(names, parents)}
    return CTBN(variables, named, cims, None if initial is None else dict(zip(names, initial)))

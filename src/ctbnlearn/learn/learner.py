"""StructureLearner: from trajectories to weights over parent sets, edge probabilities and a network."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ctbnlearn.arguments import finite, generator, one_of, whole
from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.errors import ParameterError
from ctbnlearn.learn.complete import fit_complete
from ctbnlearn.learn.fitted import FittedNetwork, given_initial, learned_initial
from ctbnlearn.learn.outcome import FitRecord, run_settings
from ctbnlearn.learn.progress import Progress
from ctbnlearn.result.history import History
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.prior import ProjectedPrior
from ctbnlearn.structure.problem import EdgeRules, NodeProblem, Scoring, check_transitions


class StructureLearner(FittedNetwork, BaseEstimator):
    """Learn which variable drives which.

    Parameters
    ----------
    max_parents : int or None
        Largest number of parents of a node; None weighs every subset of the candidates.
    candidates : graph or None
        Prior network: only these edges are considered. Graphs are given as a CTBN, a networkx DiGraph, a 0/1 matrix
        [source, target] or a list of (source, target) names.
    forbidden, required : graph or None
        Edges that must not, or must, be there.
    exogenous : list of names or numbers, or None
        Variables that drive others but are driven by none, such as sex, cohort or weather: no edges into them. Their
        own moves are learned without parents; `transitions={"sex": []}` says that one never moves.
    transitions : mapping or None
        Transitions that can happen: variable -> list of (from, to) state labels, or 0/1 array [from, to]. All others of
        that variable have rate zero. Variables not named move freely.
    weights : {"posterior", "mixture"}
        "posterior": posterior probabilities of the parent sets. "mixture": the paper's mixture weights.
    rates : {"geometric", "arithmetic"}
        Path rates of the E-step. "arithmetic" is the closure of the paper's greedy search. Incomplete data only.
    inference : {"star", "mean_field", "exact"}
        How paths are inferred: in the star approximation of the paper, where a transition depends on what the parents
        do at that moment; by naive mean field (Cohn et al. 2010), the rival, where it does not; or exactly, on the
        joint chain of all variables. "exact" is for few of them (up to nine with two states), takes longer, and is
        right where many trajectories lead the others astray; with geometric rates F is then a lower bound of the log
        evidence. Incomplete data only; `smooth` follows.
    rate_prior : "auto", (shape, rate) or ProjectedPrior
        Gamma prior of every single rate. "auto": shape 1, with the mean at the node's overall rate.
    structure_prior : "size", "flat", float or matrix
        "size": uniform over sizes, then over the sets of a size; "flat": uniform over sets; otherwise log odds per
        edge. Only for posterior weights.
    dirichlet : float
        The paper's concentration c of the mixture weights: barrier lambda = 1 - c.
    barrier : {"scaled", "fixed"}
        Whether lambda shrinks as 16 / (number of sets) ("scaled"), or not, as in the paper.
    initial : {"uniform", "full", "random"}
        Weights EM starts from: uniform over all sets, uniform over the largest ones (the paper's heuristic), or random.
        With many candidates (see Notes) EM starts from variables that do not drive each other.
    n_init : int
        Number of random starts; the one with the largest objective is kept.
    initial_distribution : "learn", "uniform" or mapping
        Distribution at the start of a trajectory: estimated (one pseudo-count a state), uniform, or given as in `CTBN`.
    max_iter : int
        Weight updates of EM at most.
    tol : float
        EM has converged when a round changes the objective by less than this many nats per trajectory and variable, and
        the probabilities of the edges into a variable by less than 0.1 in all, on average. Further rounds sharpen the
        winners: on simulated networks they cost accuracy and calibration.
    step : float or None
        Longest cell of the time grid; default a quarter of the shortest mean dwell time.
    precision : {"auto", "float64", "float32"}
        Of the numbers behind incomplete data, and of products over all pairs. "auto": double on a processor (but single
        for those products among more than 64 variables), single on an accelerator.
    device : {"auto", "cpu", "gpu"}
        Where to compute; "auto" takes an accelerator where jax finds one. Complete data use it from some hundred
        variables on.
    pool_size : int or None
        With many candidates and more than two parents: how many of the most promising candidates of a node larger sets
        are made of. Default: as many as give some hundred sets (15 for three parents).
    refine : bool
        After EM, weigh the parent sets of each node by its own evidence under each of them, the other variables held;
        probabilities are better calibrated. Posterior weights only, and not with inference="exact".
    random_state : int, Generator or None
        For initial="random".
    progress : bool or callable
        True: a line a phase to standard error. A function is called with each line. They also go to the logger
        "ctbnlearn" (level INFO).
    callback : callable or None
        Called as callback(iteration, objective) after every round of EM: rounds count from 1 in every start, the
        objective is F as in `history_`. What it returns is ignored; what it raises ends the fit, after the checkpoint
        of that round was written.
    checkpoint : path or None
        Folder to keep the state of EM in, written anew after every round. It takes as much room as the path posteriors
        in memory, at most about 1 GiB. Whenever the run stops, the state of its last whole round is there. Complete
        data are learned from in one pass: nothing is kept.
    resume : bool
        Go on from what `checkpoint` holds; the result is that of a run which never stopped. Data and settings must be
        the same (but `max_iter` may be raised, other than for random starts). Where nothing was kept yet, learn from
        the beginning.

    Attributes
    ----------
    edge_probabilities_ : (n, n)
        Probability of the edge [source, target]; zero diagonal.
    parent_sets_ : list of ParentSets
        Per node the parent sets, most probable first; items read as tuples of names. With many candidates only the
        64 heaviest are listed.
    parent_set_weights_ : list of arrays
        Their weights; what they lack to one is the weight of the sets not listed.
    pools_ : list of tuples, or None
        Per node the candidates that sets were made of, where not all were; None where every set was weighed.
    network_ : CTBN
        Most probable parent set of every node, posterior-mean rates.
    rate_tables_ : list of RateTable
        Per node the posterior of its rates under the parent set in `network_`.
    result_ : Result
        All of this with effects of edges, saving, loading and a report.
    objective_ : float
        Complete data: log evidence of the data, averaged over structures. Incomplete data: F, which approximates it but
        is no bound and may exceed it when variables are strongly coupled. Mixture weights: the paper's objective.
    history_ : History
        Objective after every step.
    converged_ : bool
    n_iter_ : int
    feature_names_in_, n_features_in_
        Names and number of the variables.

    Notes
    -----
    Incomplete data: as long as the candidate parents of a node have few joint states (eight binary variables), all are
    listed and sets of any size can be weighed. With more candidates the paths depend on the parents in sets of
    noticeable weight only; every set of up to two parents is weighed, larger ones inside pools (`pool_size`).

    A variable that never changes says nothing of what drives it: the edges into it keep about their prior probability.
    Name it in `exogenous` if it cannot be driven.

    Trajectories are scikit-learn's samples: `Pipeline`, `cross_val_score` and `GridSearchCV` work with `Paths` and
    `Observations`, and compare settings by `score` on trajectories held out.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> net = cl.random_network(4, rng=1)
    >>> paths = cl.simulate(net, n_trajectories=200, n_transitions=10, rng=2)
    >>> learner = StructureLearner(max_parents=2).fit(paths)
    >>> sorted(learner.network_.edges) == sorted(net.edges)
    True
    """

    def __init__(
        self,
        max_parents: int | None = None,
        *,
        candidates: Any = None,
        forbidden: Any = None,
        required: Any = None,
        exogenous: Any = None,
        transitions: Any = None,
        weights: str = "posterior",
        rates: str = "geometric",
        inference: str = "star",
        rate_prior: Any = "auto",
        structure_prior: Any = "size",
        dirichlet: float = 0.9,
        barrier: str = "scaled",
        initial: str = "uniform",
        n_init: int = 1,
        initial_distribution: Any = "learn",
        max_iter: int = 50,
        tol: float = 5e-3,
        step: float | None = None,
        precision: str = "auto",
        device: str = "auto",
        pool_size: int | None = None,
        refine: bool = True,
        random_state: Any = None,
        progress: Any = False,
        callback: Any = None,
        checkpoint: Any = None,
        resume: bool = False,
    ) -> None:
        self.max_parents = max_parents
        self.candidates = candidates
        self.forbidden = forbidden
        self.required = required
        self.exogenous = exogenous
        self.transitions = transitions
        self.weights = weights
        self.rates = rates
        self.inference = inference
        self.rate_prior = rate_prior
        self.structure_prior = structure_prior
        self.dirichlet = dirichlet
        self.barrier = barrier
        self.initial = initial
        self.n_init = n_init
        self.initial_distribution = initial_distribution
        self.max_iter = max_iter
        self.tol = tol
        self.step = step
        self.precision = precision
        self.device = device
        self.pool_size = pool_size
        self.refine = refine
        self.random_state = random_state
        self.progress = progress
        self.callback = callback
        self.checkpoint = checkpoint
        self.resume = resume

    @classmethod
    def paper(cls, exhaustive: bool = True, max_parents: int | None = None, **others: Any) -> StructureLearner:
        """The model and hyper-parameters of Linzner et al. 2019.

        Mixture weights with c = 0.9, the prior Gamma(5, 10) projected onto subsets, and all weight on the largest sets
        to start from; the greedy search uses arithmetic path rates.

        Parameters
        ----------
        exhaustive
            Weigh every subset of the candidates; otherwise at most `max_parents` parents.
        max_parents
            K of the greedy search; needed when not exhaustive.
        others
            Further parameters of `StructureLearner`.
        """
        if exhaustive == (max_parents is not None):
            raise ParameterError("StructureLearner.paper: give exhaustive=True, or exhaustive=False and max_parents=K")
        settings: dict[str, Any] = {
            "max_parents": max_parents,
            "weights": "mixture",
            "rates": "geometric" if exhaustive else "arithmetic",
            "rate_prior": ProjectedPrior(5.0, 10.0),
            "dirichlet": 0.9,
            "barrier": "fixed",
            "initial": "full",
        }
        return cls(**{**settings, **others})

    def fit(self, data: Paths | Observations, y: Any = None) -> StructureLearner:
        """Learn from complete or incomplete trajectories.

        Parameters
        ----------
        data
            `Paths` (complete) or `Observations` (points in time, holes, noise).
        y
            Ignored; there for scikit-learn.
        """
        began = time.perf_counter()
        scoring = self._scoring()
        if not isinstance(data, (Paths, Observations)):
            raise ParameterError(
                f"fit needs Paths or Observations, not {type(data).__name__}; make them with read_paths or read_table"
            )
        rules = EdgeRules.build(
            data.names, self.max_parents, self.candidates, self.forbidden, self.required, self.exogenous
        )
        scoring.check(len(data.names))
        possible = check_transitions(self.transitions, data.names, [v.states for v in data.variables])
        start = given_initial(self.initial_distribution, data.variables)
        if isinstance(data, Paths):
            if self.checkpoint is not None:
                Progress(self.progress).say("complete data are learned from in one pass: no checkpoint is kept")
            self._fit_complete(data, rules, scoring, possible)
        else:
            self._fit_incomplete(data, rules, scoring, possible, start)
        self.feature_names_in_ = np.array(data.names, dtype=object)
        self.n_features_in_ = len(data.names)
        self._record = FitRecord.of(self, data, time.perf_counter() - began)
        return self

    def _scoring(self) -> Scoring:
        """Check the parameters that do not depend on the data."""
        for name, options in (
            ("weights", ("posterior", "mixture")),
            ("rates", ("geometric", "arithmetic")),
            ("inference", ("star", "mean_field", "exact")),
            ("barrier", ("scaled", "fixed")),
            ("initial", ("uniform", "full", "random")),
            ("precision", ("auto", "float64", "float32")),
            ("device", ("auto", "cpu", "gpu")),
        ):
            one_of(getattr(self, name), name, options)
        for name in ("refine", "resume"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ParameterError(f"{name} must be True or False, not {getattr(self, name)!r}")
        if self.resume and self.checkpoint is None:
            raise ParameterError("resume=True needs `checkpoint`, the folder to resume from")
        whole(self.n_init, "n_init", 1)
        if self.pool_size is not None:
            whole(self.pool_size, "pool_size", 1)
        whole(self.max_iter, "max_iter", 1)
        generator(self.random_state, "random_state")
        Progress(self.progress)
        if self.callback is not None and not callable(self.callback):
            raise ParameterError(f"callback must be a function of (iteration, objective), not {self.callback!r}")
        finite(self.dirichlet, "dirichlet", positive=False)
        finite(self.tol, "tol")
        if self.step is not None:
            finite(self.step, "step")
        mixture = self.weights == "mixture"
        return Scoring(
            self.rate_prior,
            self.structure_prior,
            float(self.dirichlet) if mixture else None,
            self.barrier == "scaled",
            self.rates == "arithmetic",
        )

    def _fit_complete(self, data: Paths, rules: EdgeRules, scoring: Scoring, possible: list[BoolArray | None]) -> None:
        found = fit_complete(
            data,
            rules,
            scoring,
            possible,
            precision=self.precision,
            device=self.device,
            pool_size=self.pool_size,
            progress=Progress(self.progress),
        )
        self._set_weights(rules, found.problems, found.weights, found.edges)
        initial = learned_initial(self.initial_distribution, data.variables, found.totals.initial)
        self._set_network(data.variables, found.problems, found.tables, initial)
        self.objective_, self.converged_, self.n_iter_ = found.value, True, 1
        self.history_ = History((found.value,), ("weights",))
        self.pools_: list[tuple[str, ...]] | None = None
        if found.pools is not None:
            self.pools_ = [tuple(rules.names[j] for j in pool) for pool in found.pools]

    def _fit_incomplete(
        self,
        data: Observations,
        rules: EdgeRules,
        scoring: Scoring,
        possible: list[BoolArray | None],
        start: list[FloatArray] | None,
    ) -> None:
        from ctbnlearn.inference.device import Device
        from ctbnlearn.learn.checkpoint import Checkpoint
        from ctbnlearn.learn.em import Schedule
        from ctbnlearn.learn.incomplete import IncompleteSettings, fit_incomplete

        settings = IncompleteSettings(
            self.initial,
            self.n_init,
            start,
            self.step,
            self.precision,
            self.device,
            self.pool_size,
            self.refine,
            self.inference,
            Schedule(max_iter=self.max_iter, tol=self.tol),
            generator(self.random_state, "random_state"),
        )
        checkpoint = None
        if self.checkpoint is not None:
            where = Device.find(self.device, self.precision)
            given = {**run_settings(self), "device": where.kind, "precision": f"{self.precision} ({where.precision})"}
            checkpoint = Checkpoint(self.checkpoint, data, given, self.resume)
        last = fit_incomplete(
            data, rules, scoring, possible, settings, Progress(self.progress), self.callback, checkpoint
        )
        belief, statistics = last.belief, last.found.statistics
        self._set_weights(rules, belief.problems, belief.weights, belief.edges())
        initial = learned_initial(self.initial_distribution, data.variables, statistics.initial)
        self._set_network(data.variables, belief.problems, belief.tables(statistics), initial)
        self.objective_, self.converged_, self.n_iter_ = last.objective, last.converged, last.n_iter
        self.history_ = last.history
        self.pools_ = belief.pool_names()
        if not last.converged:
            warnings.warn(
                f"EM has not converged in {self.max_iter} rounds: the objective still moves by more than "
                f"tol={self.tol} nats per trajectory and variable; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _set_weights(
        self, rules: EdgeRules, problems: Sequence[NodeProblem], weights: Sequence[FloatArray], edges: FloatArray
    ) -> None:
        self.edge_probabilities_: FloatArray = np.clip(edges, 0.0, 1.0)
        self.parent_sets_: list[ParentSets] = []
        self.parent_set_weights_: list[FloatArray] = []
        for i, (problem, w) in enumerate(zip(problems, weights)):
            order = np.argsort(-w, kind="stable")
            self.parent_sets_.append(problem.sets.take(order))
            self.parent_set_weights_.append(w[order])
            self.edge_probabilities_[list(rules.required[i]), i] = 1.0

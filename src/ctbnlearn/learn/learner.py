"""StructureLearner: from trajectories to weights over parent sets, edge probabilities and a network."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from ctbnlearn.arguments import Seed, generator
from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.files import FilePath
from ctbnlearn.data.kinds import Data, Incomplete
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.table_scan import TableScan
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference.methods import Blocks, Iterated, Method, Sampling, Star
from ctbnlearn.interface import spoken
from ctbnlearn.learn.complete import fit_complete
from ctbnlearn.learn.fitted import FittedNetwork, given_initial, learned_initial, tables_of
from ctbnlearn.learn.outcome import FitRecord, run_settings
from ctbnlearn.learn.plan import check_settings, make_plan
from ctbnlearn.learn.progress import Callback, Progress, Watcher
from ctbnlearn.model.graph import Graph
from ctbnlearn.model.initial import InitialSpec
from ctbnlearn.result.history import History
from ctbnlearn.structure.mixture import Mixture
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.prior import ProjectedPrior, RatePrior, StructurePrior
from ctbnlearn.structure.problem import EdgeRules, Scoring, Transitions, Variables, exogenous_nodes

if TYPE_CHECKING:
    from ctbnlearn.data.opening import Table
    from ctbnlearn.execute.executors import Executors
    from ctbnlearn.learn.checkpoint import Checkpoint


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
        own moves are learned without parents; `transitions={"sex": []}` says that one never moves. None: those that
        were never seen to change within a trajectory; an empty list: none at all.
    adjust_for : list of names or numbers, or None
        Variables such as sex, arm or centre that are taken to be parents of all others: edges from them are given, and
        have probability one; edges into them are left out. They do not count in `max_parents`.
    transitions : mapping or None
        Transitions that can happen: variable -> list of (from, to) state labels, 0/1 array [from, to], or "adjacent":
        between neighbours of states that have an order. All others of that variable have rate zero. Variables not named
        move freely.
    weights : "posterior", "mixture" or Mixture
        "posterior": posterior probabilities of the parent sets. "mixture", or `Mixture` with its settings: the paper's
        mixture weights.
    inference : "auto", "sampling", "blocks", "exact", "star", "mean_field", or `Sampling`, `Blocks`, `Exact`, ...
        How paths are inferred from incomplete data; `smooth`, `predict` and `score` follow. "sampling" draws them, in
        several chains that go on until they agree: exact but for the number of draws, however many data there are.
        "blocks" fits exact joint chains of a few variables around each, for hundreds of variables and for accelerators.
        "exact" is EM on the joint chain of few variables. "star" is the approximation of the paper and "mean_field" its
        rival, EM variable by variable: quick, but sure of reversed edges with many data or long gaps. "auto" (default):
        sampling as long as its cost is bounded, up to 40 variables, else blocks, also where variables move often
        between observations and chains agree late or get stuck; mixture weights need star.
        The objects hold the settings of a method, such as `Sampling(chains=8)`.
    rate_prior : "auto", "independent", "pushed", "shared", (shape, rate) or ProjectedPrior
        Prior of the rates. "independent": Gamma of shape 1 for every single rate, with the mean of rates out of a state
        where the node by itself has it: as if one transition more had been seen, in the time that it usually takes.
        "pushed" (sampling and blocks): parents may also push a node, so that rates into a state rise as those out of it
        fall; how many nodes are pushed is learned. "shared" (complete data): as in `HillClimb`, for dense graphs.
        "auto": "pushed" with sampling and blocks, "shared" where sets of more than two parents cannot all be listed,
        else "independent".
    structure_prior : "auto", "size", "sparse", "flat", float or matrix
        "size": uniform over sizes, then over the sets of a size; "sparse": half a parent per node on average; "flat":
        uniform over sets; otherwise log odds per edge. "auto": "sparse" with sampling and blocks, else "size". EM holds
        complexity against a set more than once; the posterior does not, and takes a prior that gives full and empty
        sets the same chance at its word; neither does a shared strength of the rates, which goes with "sparse". Only
        for posterior weights.
    initial_distribution : "learn", "uniform" or mapping
        Distribution at the start of a trajectory: estimated (one pseudo-count per state), uniform, or as in `CTBN`.
    precision : {"auto", "float64", "float32"}
        Of the numbers behind EM, and of products over all pairs. "auto": double on a processor (but single for those
        products among more than 64 variables), single on an accelerator.
    device : {"auto", "cpu", "gpu"}
        Where EM and blocks compute; "auto" takes an accelerator where jax finds one, for blocks from 32 variables per
        core on. Complete data use it from some hundred variables on. Sampling runs on processors, and so do blocks of
        a scan or of an `executor`, unless "gpu" is asked for: then each worker takes an accelerator of its machine.
    random_state : int, Generator or None
        Seed of sampling, and of random starts of EM. None with sampling: always the same numbers.
    progress : bool or callable
        True: one line per step to standard error. A function is called with a `ProgressEvent` per step; `print` works.
        Lines also go to the logger "ctbnlearn" (level INFO).
    callback : callable or None
        Called as callback(iteration, objective) after every round of EM or step of the chains: rounds count from 1 in
        every start, steps by the sweeps made; the objective is that of `history_`. What it returns is ignored; what it
        raises ends the fit, after the checkpoint of that round was written.
    checkpoint : path or None
        Folder to keep the state in, rewritten after every round or step. It takes as much space as the paths in
        memory. Whenever the run stops, the state of its last whole round is there. Complete data are learned from in
        one pass: nothing is kept.
    resume : bool
        Go on from what `checkpoint` holds; the result is that of a run which never stopped. Data and settings must be
        the same (but `max_iter` and `sweeps` may be raised, other than for random starts). Where nothing was kept yet,
        learn from the beginning.
    executor : None, int, dask.distributed.Client or concurrent.futures.Executor
        Who samples, or fits blocks: threads of this process, that many processes, a cluster, or any executor. The
        answer is the same, bit for bit. EM runs in this process.
    memory : int, str or None
        Memory that sampling or blocks may take over all processes, in bytes or as "4GB": what does not fit is read
        anew, or laid on disk (TMPDIR). Default: half of what is free.
    trajectory, time : str or None
        Columns of a data frame given to `fit`: the name of a row's trajectory, and its time ("time" unless said). Every
        other column is a variable; `read_table` has the options for all else.

    Attributes
    ----------
    edge_probabilities_ : (n, n)
        Probability of the edge [source, target]; zero diagonal.
    parent_sets_ : list of ParentSets
        Per node the parent sets, most probable first; items read as tuples of names. With many candidates only the
        64 heaviest are listed.
    parent_set_weights_ : list of arrays
        Their weights; what they lack to one is the weight of the sets not listed.
    coverage_ : (n,) or None
        Where complete data have too many sets of more than two parents to list them: per node, as in `HillClimb`.
    network_ : CTBN
        Most probable parent set of every node, posterior-mean rates.
    rate_tables_ : list of RateTable
        Per node the posterior of its rates under the parent set in `network_`.
    result_ : Result
        All of this with effects of edges, saving, loading and a report.
    objective_ : float
        Complete data: log evidence of the data, averaged over structures. EM: F, which approximates it but is no bound
        and may exceed it when variables are strongly coupled. Mixture weights: the paper's objective. Sampling: log
        evidence of the paths drawn, averaged over sweeps; no measure of fit. Blocks: log odds of the best parent sets
        against the smallest, summed over variables.
    history_ : History
        Objective after every step.
    exogenous_, adjusted_for_ : list of names
        Variables without parents, and those that are parents of all others.
    noise_ : dict
        Observation models by variable, those learned with what was found; states seen exactly have none.
    noise_parameters_ : list of dict
        What was learned of observation models: variable, parameter, state, estimate, low and high (95 % interval).
    inference_ : Method or None
        How paths were inferred; None for complete data.
    chain_disagreement_ : (n, n) or None
        Sampling: by how much the chains differ on the probability of every edge.
    effective_sample_size_ : (n, n) or None
        Sampling: how many independent draws of the network would tell it as precisely; infinite where chains agree.
    converged_ : bool
        Whether EM has settled, or chains agree.
    n_iter_ : int
        Rounds of EM, or sweeps of each chain.
    feature_names_in_, n_features_in_
        Names and number of the variables.

    Notes
    -----
    Sampling weighs the sets among up to twelve binary candidates of a node at a time; with more, those of most weight
    and others redrawn in every sweep, so that all take part. EM lists all sets as long as the candidates of a node
    have few joint states (eight binary variables); with more, up to 5,000 sets per node, the paths depend only on the
    parents in sets of noticeable weight.

    A variable that never changes says nothing of what drives it, and is taken as exogenous.

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
        candidates: Graph | None = None,
        forbidden: Graph | None = None,
        required: Graph | None = None,
        exogenous: Variables | None = None,
        adjust_for: Variables | None = None,
        transitions: Transitions | None = None,
        weights: str | Mixture = "posterior",
        inference: str | Method = "auto",
        rate_prior: RatePrior = "auto",
        structure_prior: StructurePrior = "auto",
        initial_distribution: str | InitialSpec = "learn",
        precision: str = "auto",
        device: str = "auto",
        random_state: Seed = None,
        progress: Watcher = False,
        callback: Callback | None = None,
        checkpoint: FilePath | None = None,
        resume: bool = False,
        executor: Executors = None,
        memory: int | float | str | None = None,
        trajectory: str | None = None,
        time: str | None = None,
    ) -> None:
        self.max_parents = max_parents
        self.candidates = candidates
        self.forbidden = forbidden
        self.required = required
        self.exogenous = exogenous
        self.adjust_for = adjust_for
        self.transitions = transitions
        self.weights = weights
        self.inference = inference
        self.rate_prior = rate_prior
        self.structure_prior = structure_prior
        self.initial_distribution = initial_distribution
        self.precision = precision
        self.device = device
        self.random_state = random_state
        self.progress = progress
        self.callback = callback
        self.checkpoint = checkpoint
        self.resume = resume
        self.executor = executor
        self.memory = memory
        self.trajectory = trajectory
        self.time = time

    def __sklearn_clone__(self) -> StructureLearner:
        """A copy of the parameters; workers are shared, for they cannot be copied."""
        given = self.get_params(deep=False)
        return type(self)(**{k: v if k == "executor" else clone(v, safe=False) for k, v in given.items()})

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
            Further parameters of `StructureLearner`, or settings of `Star`.
        """
        if exhaustive == (max_parents is not None):
            raise ParameterError("StructureLearner.paper: give exhaustive=True, or exhaustive=False and max_parents=K")
        rates = "geometric" if exhaustive else "arithmetic"
        own = {key: others.pop(key) for key in Star.__dataclass_fields__ if key in others}
        settings: dict[str, Any] = {
            "max_parents": max_parents,
            "weights": Mixture(concentration=0.9, scaled=False),
            "inference": Star(**{"rates": rates, "initial": "full", **own}),
            "rate_prior": ProjectedPrior(5.0, 10.0),
        }
        return cls(**{**settings, **others})

    def fit(self, data: Data | Table, y: object = None, *, interventions: Table | None = None) -> StructureLearner:
        """Learn from complete or incomplete trajectories.

        Parameters
        ----------
        data
            `Paths` (complete), `Observations` (points in time, holes, noise), or what `scan_table` makes of files
            larger than memory. A pandas, polars or pyarrow data frame of points in time, if `trajectory` or `time`
            names its columns.
        y
            Ignored; there for scikit-learn.
        interventions
            Table of when variables were set from outside, as `Observations.with_interventions` takes it.
        """
        began = perf_counter()
        check_settings(self)  # before anything is read
        progress = Progress(self.progress)
        if not isinstance(data, (Paths, Observations, TableScan)):
            data = self._read(data)
        if isinstance(data, TableScan) and any(model.learned for model in data.noise):
            data = data.read()
        if interventions is not None:
            if isinstance(data, Paths):
                raise ParameterError("interventions go with Observations; complete data (Paths) do not take them yet")
            data = (data.read() if isinstance(data, TableScan) else data).with_interventions(interventions)
        rules, possible, method, mixture = make_plan(self, data)
        self._tell_exogenous(rules, progress)
        start = given_initial(self.initial_distribution, data.variables)
        scoring = Scoring(self.rate_prior, self.structure_prior, mixture)
        scoring.check(len(data.names), isinstance(method, (Sampling, Blocks)) and mixture is None)
        self.chain_disagreement_: FloatArray | None = None
        self.effective_sample_size_: FloatArray | None = None
        self.coverage_: FloatArray | None = None
        self.inference_: Method | None = None
        if scoring.shared and (mixture is not None or not isinstance(data, Paths)):
            raise ParameterError(
                'rate_prior="shared" needs complete data (Paths) and posterior weights; use rate_prior="auto", or '
                "StructuralEM, which takes it with Observations"
            )
        self._set_noise(data)
        if isinstance(data, Paths):
            if self.checkpoint is not None:
                progress.tell("note", "complete data are learned from in one pass: no checkpoint is kept")
            self._fit_complete(data, rules, scoring, possible, progress)
        else:
            assert method is not None
            self.inference_ = method
            if isinstance(self.inference_, Sampling):
                self._fit_by_sampling(
                    data, rules, scoring.settled("sparse", "pushed"), possible, self.inference_, progress
                )
            elif data.interventions is not None:
                raise ParameterError(
                    f"interventions need inference by sampling, not {self.inference_.name}; set "
                    f"{spoken('inference', '--inference')} to sampling"
                )
            elif isinstance(self.inference_, Blocks):
                self._fit_by_blocks(
                    data, rules, scoring.settled("sparse", "pushed"), possible, start, self.inference_, progress
                )
            else:
                assert isinstance(self.inference_, Iterated)
                data = data.read() if isinstance(data, TableScan) else data
                scoring = replace(scoring.settled("size"), arithmetic=self.inference_.rates == "arithmetic")
                self._fit_by_em(data, rules, scoring, possible, start, self.inference_, progress)
        self.feature_names_in_ = np.array(data.names, dtype=object)
        self.n_features_in_ = len(data.names)
        self._time_unit = data.clock.unit
        self._record = FitRecord.of(self, data, perf_counter() - began)
        return self

    def _read(self, frame: Table, **more: Any) -> Observations:
        """Observations from a data frame whose columns the settings name."""
        if self.trajectory is None and self.time is None:
            raise ParameterError(
                f"fit needs Paths or Observations, not {type(frame).__name__}; make them with read_paths or "
                'read_table, or name the columns of a data frame: StructureLearner(trajectory="patient", time="year")'
            )
        from ctbnlearn.data.tables import read_table

        return read_table(frame, trajectory=self.trajectory, time="time" if self.time is None else self.time, **more)

    def _reads(self, data: Any) -> bool:
        """Whether data are a frame whose columns the settings name."""
        named = self.trajectory is not None or self.time is not None
        return named and not isinstance(data, (Paths, Observations, TableScan))

    def _observed(self, data: Any) -> Any:
        """A data frame in the states and the unit of time of the fit, if the settings name its columns."""
        if not self._reads(data):
            return data
        variables = self.network_.variables
        return self._read(
            data,
            variables=[v.name for v in variables],
            states={v.name: v.states for v in variables},
            noise=self.noise_ or None,
            time_unit=self._time_unit,
            allow_unseen=True,
        )

    def _tell_exogenous(self, rules: EdgeRules, progress: Progress) -> None:
        """Keep who has no parents, and say who was taken to have none."""
        self.exogenous_ = [rules.names[i] for i in rules.exogenous]
        self.adjusted_for_ = [rules.names[i] for i in rules.adjusted]
        given = {*exogenous_nodes(self.exogenous, rules.names), *rules.adjusted}
        still = [rules.names[i] for i in rules.exogenous if i not in given]
        if still:
            example = spoken(f"adjust_for={still!r}", f"--adjust-for {','.join(still)}")
            progress.tell(
                "note",
                f"never changing within a trajectory, so that nothing drives it: {', '.join(still)}; {example} makes "
                "it a parent of all others",
            )

    def _fit_complete(
        self,
        data: Paths,
        rules: EdgeRules,
        scoring: Scoring,
        possible: list[BoolArray | None],
        progress: Progress,
    ) -> None:
        found = fit_complete(
            data,
            rules,
            scoring,
            possible,
            precision=self.precision,
            device=self.device,
            progress=progress,
        )
        self._set_weights(rules, [p.sets for p in found.problems], found.weights, found.edges)
        initial = learned_initial(self.initial_distribution, data.variables, found.totals.initial)
        self._set_network(data.variables, tables_of(found.problems, found.tables), initial)
        self.objective_, self.converged_, self.n_iter_ = found.value, True, 1
        self.history_ = History((found.value,), ("weights",))
        self.coverage_ = found.coverage

    def _fit_by_em(
        self,
        data: Observations,
        rules: EdgeRules,
        scoring: Scoring,
        possible: list[BoolArray | None],
        start: list[FloatArray] | None,
        method: Iterated,
        progress: Progress,
    ) -> None:
        from ctbnlearn.inference.device import Device
        from ctbnlearn.learn.checkpoint import Checkpoint
        from ctbnlearn.learn.incomplete import IncompleteSettings, fit_incomplete
        from ctbnlearn.learn.noise_draws import mean_models, parameter_rows

        seed = generator(self.random_state, "random_state")
        settings = IncompleteSettings(method, start, self.precision, self.device, seed)
        kept: AbstractContextManager[Checkpoint | None] = nullcontext()
        if self.checkpoint is not None:
            where = Device.find(self.device, self.precision)
            given = {
                **run_settings(self, method),
                "device": where.kind,
                "precision": f"{self.precision} ({where.precision})",
            }
            kept = Checkpoint(self.checkpoint, data, given, self.resume)
        with kept as checkpoint:
            last, draws = fit_incomplete(data, rules, scoring, possible, settings, progress, self.callback, checkpoint)
        self._set_noise(data, mean_models(data, draws), parameter_rows(data, draws))
        belief, statistics = last.belief, last.found.statistics
        self._set_weights(rules, [p.sets for p in belief.problems], belief.weights, belief.edges())
        initial = learned_initial(self.initial_distribution, data.variables, statistics.initial)
        self._set_network(data.variables, tables_of(belief.problems, belief.tables(statistics)), initial)
        self.objective_, self.converged_, self.n_iter_ = last.objective, last.converged, last.n_iter
        self.history_ = last.history
        if not last.converged:
            warnings.warn(
                f"EM has not converged in {method.max_iter} rounds: the objective still moves by more than "
                f"tol={method.tol} nats per trajectory and variable; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _fit_by_sampling(
        self,
        data: Incomplete,
        rules: EdgeRules,
        scoring: Scoring,
        possible: list[BoolArray | None],
        method: Sampling,
        progress: Progress,
    ) -> None:
        from ctbnlearn.learn.checkpoint import Checkpoint
        from ctbnlearn.learn.distributed import sampled
        from ctbnlearn.learn.noise_draws import drawn_parameters, mean_models, parameter_rows
        from ctbnlearn.learn.sampled_tables import rate_tables, weighed_sets

        kept: AbstractContextManager[Checkpoint | None] = nullcontext()
        if self.checkpoint is not None:
            kept = Checkpoint(self.checkpoint, data, run_settings(self, method), self.resume)
        with kept as checkpoint:
            task, found = sampled(self, data, rules, scoring, possible, method, checkpoint, progress)
        draws = drawn_parameters(data, found.records)
        self._set_noise(data, mean_models(data, draws), parameter_rows(data, draws))
        listed = [weighed_sets(found, i, rules.names) for i in range(len(rules.names))]
        self._set_weights(rules, [sets for sets, _ in listed], [weights for _, weights in listed], found.edges)
        tables = [rate_tables(found, task, i, *both, found.edges[:, i]) for i, both in enumerate(listed)]
        self._set_network(
            data.variables, tables, learned_initial(self.initial_distribution, data.variables, found.starts)
        )
        self.history_ = History(tuple(found.evidence), ("sweeps",) * len(found.evidence))
        self.objective_ = float(np.mean(found.evidence[len(found.evidence) // 2 :]))
        self.converged_, self.n_iter_ = found.agreed, found.n_sweeps
        self.chain_disagreement_, self.effective_sample_size_ = found.apart, found.effective
        if not found.agreed:
            j, i = np.unravel_index(int(found.apart.argmax()), found.apart.shape)
            doubt = "they still drift, or their rates have not mixed"
            if found.apart.max() > method.agreement:
                doubt = (
                    f"they differ most, by {found.apart.max():.2f}, on the probability of {rules.names[j]!r} -> "
                    f"{rules.names[i]!r} (chain_disagreement_)"
                )
            warnings.warn(
                f"after {found.n_sweeps} sweeps the chains have not come to agree: {doubt}; the answer is their "
                "average. Raise the number of sweeps: inference=Sampling(sweeps=...)",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _fit_by_blocks(
        self,
        data: Incomplete,
        rules: EdgeRules,
        scoring: Scoring,
        possible: list[BoolArray | None],
        start: list[FloatArray] | None,
        method: Blocks,
        progress: Progress,
    ) -> None:
        from ctbnlearn.learn.checkpoint import Checkpoint
        from ctbnlearn.learn.choice import block_device
        from ctbnlearn.learn.distributed import by_blocks
        from ctbnlearn.learn.noise_alone import learn_noise

        agreed = True
        if isinstance(data, Observations):
            noise = learn_noise(data, scoring, possible, self.initial_distribution, self.random_state, progress)
            if noise is not None:
                self._set_noise(data, noise.models, noise.rows)
                data, agreed = data.with_noise(noise.models), noise.agreed
        here = self.executor is None and isinstance(data, Observations)
        where = block_device(self.device, self.precision, len(data.variables), here)
        kept: AbstractContextManager[Checkpoint | None] = nullcontext()
        if self.checkpoint is not None:
            given = {**run_settings(self, method), "device": where.kind, "precision": where.precision}
            kept = Checkpoint(self.checkpoint, data, given, self.resume)
        with kept as checkpoint:
            found = by_blocks(self, data, rules, scoring, possible, start, method, where, progress, checkpoint)
        self._set_weights(rules, found.sets, found.weights, found.edges)
        self._set_network(
            data.variables, found.tables, learned_initial(self.initial_distribution, data.variables, found.starts)
        )
        self.history_ = History(found.gained, ("blocks",) * len(found.gained))
        self.objective_, self.converged_ = found.gained[-1], found.settled and agreed
        self.n_iter_ = len(found.gained)
        progress.end(self.converged_, "done, but not all of it has settled")
        if not agreed:
            warnings.warn(
                "chains do not agree on how values were measured: levels may be too many, or overlap; try fewer",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _set_weights(
        self, rules: EdgeRules, sets: Sequence[ParentSets], weights: Sequence[FloatArray], edges: FloatArray
    ) -> None:
        if not np.isfinite(edges).all():
            raise ParameterError(
                "the weights of parent sets came out as no numbers: a prior, or what a checkpoint holds, is too "
                "extreme; set a milder prior, or learn from the beginning"
            )
        self.edge_probabilities_: FloatArray = np.clip(edges, 0.0, 1.0)
        self.parent_sets_: list[ParentSets] = []
        self.parent_set_weights_: list[FloatArray] = []
        for i, (own, w) in enumerate(zip(sets, weights)):
            order = np.argsort(-w, kind="stable")
            self.parent_sets_.append(own.take(order))
            self.parent_set_weights_.append(w[order])
            self.edge_probabilities_[list(rules.required[i]), i] = 1.0

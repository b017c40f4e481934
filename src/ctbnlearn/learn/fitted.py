"""What every estimator of a network has in common once it is fitted: its network, and what that is good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.kinds import Data
from ctbnlearn.data.noise import ExactStates, NoiseModel, RawLikelihoods
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.table_scan import TableScan
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import DataError, ParameterError
from ctbnlearn.inference.methods import Method
from ctbnlearn.inference.statistics import Statistics
from ctbnlearn.learn.outcome import FitRecord, result_of
from ctbnlearn.model.ctbn import CTBN, with_diagonal
from ctbnlearn.model.initial import InitialDistribution, InitialSpec
from ctbnlearn.result.history import History
from ctbnlearn.result.rate_table import RateTable
from ctbnlearn.result.result import Result
from ctbnlearn.structure.parent_sets import ParentSets
from ctbnlearn.structure.problem import NodeProblem

if TYPE_CHECKING:
    from ctbnlearn.data.opening import Table


class FittedNetwork:
    """Smoothing, prediction, scoring and saving with the network an estimator has learned."""

    network_: CTBN
    edge_probabilities_: FloatArray
    parent_sets_: list[ParentSets]
    parent_set_weights_: list[FloatArray]
    rate_tables_: list[RateTable]
    history_: History
    objective_: float
    converged_: bool
    n_iter_: int
    inference_: Method | None = None
    noise_: dict[str, NoiseModel]
    noise_parameters_: list[Mapping[str, Any]]
    _record: FitRecord
    _rate_tables: list[list[RateTable]]

    @property
    def result_(self) -> Result:
        """What was learned, as a `Result`: to save, to report, to draw."""
        check_is_fitted(self)
        return result_of(self, self._record)

    def _where(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in ("precision", "device") if hasattr(self, name)}

    def smooth(self, obs: Observations | Table, times: ArrayLike) -> dict[str, FloatArray]:
        """Posterior state probabilities under `network_`, per variable (n_trajectories, n_times, n_states).

        Paths are inferred as in `fit`; after sampling, or complete data, on the joint chain where it is small.

        Parameters
        ----------
        obs
            Observations of the same variables, or a data frame where `fit` would take it.
        times
            Times (n,) common to all trajectories, or (n_trajectories, n); past the end they are predictions.
        """
        from ctbnlearn.inference import known

        check_is_fitted(self)
        return known.smooth(self.network_, self._seen(obs), times, self.inference_, **self._where())

    def predict(self, obs: Observations | Table, times: ArrayLike) -> dict[str, FloatArray]:
        """State probabilities at times past the last observation of every trajectory; shapes as `smooth`."""
        from ctbnlearn.inference import posterior
        from ctbnlearn.inference.timeline import query_grid

        check_is_fitted(self)
        obs = self._seen(obs)
        posterior.check_same_variables(self.network_, obs)
        last = np.full(obs.n_trajectories, -np.inf)
        for series in obs.series:
            seen = np.flatnonzero(np.diff(series.offsets))
            last[seen] = np.maximum(last[seen], series.times[series.offsets[seen + 1] - 1])
        grid = query_grid(times, obs.start, obs.ids)
        early = np.argwhere(grid < last[:, None])
        if early.size:
            b, k = early[0]
            raise ParameterError(
                f"predict: time {grid[b, k]} lies before the last observation of trajectory {obs.ids[b]!r} at "
                f"{last[b]}; use smooth"
            )
        return self.smooth(obs, times)

    def risk(self, obs: Observations | Table, target: Mapping[str, Any], within: ArrayLike) -> FloatArray:
        """Probability that a trajectory reaches a state within a time, given everything seen of it.

        Exact on the joint chain where that is small, else by simulation from states drawn at the end of the history:
        1000 futures each, so that a probability is good to 0.02 or so.

        Parameters
        ----------
        obs
            Observations of the same variables, or a data frame as in `smooth`. Time counts from the end of each
            trajectory's window.
        target
            Variable -> its state, or a list of states any of which counts. With several variables all must hold at
            once.
        within
            A time, or several, in the unit of the data.

        Returns
        -------
        array (n_trajectories,), or (n_trajectories, n_times) of several times
            One where the state is known to be reached already.

        Examples
        --------
        >>> import ctbnlearn as cl
        >>> net = cl.random_network(2, rng=0)
        >>> obs = cl.observe(cl.simulate(net, 50, horizon=5.0, rng=1), n_times=20, rng=2)
        >>> learner = cl.StructureLearner(inference="exact").fit(obs)
        >>> learner.risk(obs[:3], {"x0": 1}, within=[0.5, 1.0]).shape
        (3, 2)
        """
        from ctbnlearn.inference.reach import reach
        from ctbnlearn.learn.targets import as_horizons, as_target

        check_is_fitted(self)
        horizons = as_horizons(within)
        found, _ = reach(self.network_, self._seen(obs), as_target(target, self.network_.variables), horizons)
        return found if np.ndim(within) else found[:, 0]

    def score(self, data: Data | Table, y: object = None) -> float:
        """Held-out predictive log likelihood under `network_`.

        Observations: each given the earlier ones, averaged over the values seen; on the joint chain where it is cheap,
        else on that of every variable and those that drive it; after factorised methods by a filter that keeps
        variables independent given the past. Paths: log density per transition.
        """
        from ctbnlearn.inference import known, posterior

        check_is_fitted(self)
        data = data.read() if isinstance(data, TableScan) else self._observed(data)
        if isinstance(data, Paths):
            return posterior.path_log_density(self.network_, data) / max(data.n_transitions, 1)
        seen = self._seen(data)
        total = known.predictive(self.network_, seen, self.inference_, **self._where())
        return float(total.sum()) / max(seen.n_informative, 1)

    def _observed(self, data: Any) -> Any:
        """What an estimator makes of other data than ours, such as a data frame; they are refused where used."""
        return data

    def _seen(self, obs: Any) -> Observations:
        """Observations through the models that were learned, where theirs are still open."""
        obs = self._observed(obs)
        if not isinstance(obs, Observations):  # refused where it is used
            return obs
        found = getattr(self, "noise_", {})
        still = {v.name for v, s in zip(obs.variables, obs.series) if s.noise.learned}
        return obs.with_noise({name: model for name, model in found.items() if name in still})

    @staticmethod
    def _refuse(data: Observations) -> None:
        """Raise where data hold what only `StructureLearner` learns from."""
        if data.interventions is not None:
            raise ParameterError("interventions need StructureLearner, with inference by sampling")
        still = [v.name for v, s in zip(data.variables, data.series) if s.noise.learned]
        if still:
            raise ParameterError(
                f"variable {still[0]!r}: its observation model is to be learned, which StructureLearner does; give its "
                "parameters here"
            )

    def _set_noise(
        self,
        data: Data,
        found: Mapping[str, NoiseModel] | None = None,
        parameters: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Keep the observation models: those of the data, and in place of some what was found."""
        series = data.series if isinstance(data, Observations) else ()
        own = {v.name: s.noise for v, s in zip(data.variables, series)}
        plain = (ExactStates, RawLikelihoods)
        self.noise_ = {name: m for name, m in {**own, **(found or {})}.items() if not isinstance(m, plain)}
        self.noise_parameters_ = list(parameters)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that trajectories are learned from, not arrays of samples by features."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        return tags

    def _set_network(
        self, variables: Sequence[Variable], tables: Sequence[Sequence[RateTable]], initial: InitialSpec | None
    ) -> None:
        """Network and rates from the rates of every node under some parent sets, the set to take first.

        `initial` is the initial distribution as `CTBN` takes it.
        """
        names = [v.name for v in variables]
        self._rate_tables = [list(own) for own in tables]
        self.rate_tables_ = [own[0] for own in tables]
        parents = {v.name: [names[j] for j in best.parents] for v, best in zip(variables, self.rate_tables_)}
        rates = {v.name: with_diagonal(best.mean) for v, best in zip(variables, self.rate_tables_)}
        self.network_ = CTBN(variables, parents, rates, initial)


def tables_of(
    problems: Sequence[NodeProblem], chosen: Sequence[Sequence[tuple[int, FloatArray, FloatArray]]]
) -> list[list[RateTable]]:
    """Rates of every node from the numbers of some of its sets and their statistics (U, S) and (U, S, S)."""
    return [[_rates(problem, *one) for one in own] for problem, own in zip(problems, chosen)]


def _rates(problem: NodeProblem, number: int, dwell: FloatArray, moves: FloatArray) -> RateTable:
    """Posterior of the rates under one set; where cells share the strength of their prior, at its most probable one."""
    parents = problem.sets.numbers(number)
    if problem.shared is None:
        prior = float(problem.shape[number]), problem.rate[number]
        return RateTable.from_statistics(parents, dwell, moves, prior, problem.possible)
    shape, rate = problem.shared.best(dwell, moves)
    seen = moves * problem.possible
    return RateTable(parents, shape + seen, rate + dwell, transitions=float(seen.sum()))


def given_initial(wanted: str | InitialSpec, variables: Sequence[Variable]) -> list[FloatArray] | None:
    """Marginals of a given initial distribution; None where it is to be learned."""
    if isinstance(wanted, str):
        if wanted == "learn":
            return None
        if wanted == "uniform":
            return [np.full(v.n_states, 1 / v.n_states) for v in variables]
    if not isinstance(wanted, Mapping):
        raise ParameterError(
            'initial_distribution must be "learn", "uniform" or a mapping from variable to probabilities, not '
            f"{wanted!r}"
        )
    return InitialDistribution.build(variables, wanted).marginals(variables)


def learned_initial(
    wanted: str | InitialSpec, variables: Sequence[Variable], starts: Sequence[FloatArray]
) -> InitialSpec | None:
    """Initial distribution of the network: as given, or from (expected) starts and one pseudo-count per state."""
    if not isinstance(wanted, str):
        return wanted
    return None if wanted == "uniform" else {v.name: (p + 1) / (p + 1).sum() for v, p in zip(variables, starts)}


def check_allowed(totals: Statistics, possible: Sequence[BoolArray | None]) -> None:
    """Raise where complete data show a transition that is said not to happen."""
    for v, moves, mask in zip(totals.variables, totals.transitions, possible):
        if mask is not None and (moves[0] * ~mask).any():
            a, b = np.argwhere(moves[0] * ~mask)[0]
            raise DataError(
                f"variable {v.name!r} jumps from {v.states[a]!r} to {v.states[b]!r} in the data, which "
                "`transitions` does not allow; allow it or correct the data"
            )

"""What a report says, in plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ctbnlearn.arrays import FloatArray
from ctbnlearn.data.messages import shown
from ctbnlearn.errors import ParameterError
from ctbnlearn.report.check import probability_matrix

_EDGE = ("source", "target", "probability", "effect", "effect_low", "effect_high", "sign")
_RATE = ("parents", "from", "to", "mean", "low", "high")
_NOISE = ("variable", "parameter", "state", "estimate", "low", "high")
_BAG = ("source", "target", "probability", "spread", "sign_agreement", "all_data")
_TRAJECTORY = ("id", "times", "probabilities", "observations")


@dataclass
class ReportContent:
    """Everything the report page shows.

    Attributes
    ----------
    title
        Heading of the page.
    names
        Names of the n variables.
    states
        Per variable the labels of its states as text: n lists, or name -> list.
    edge_probabilities : (n, n)
        Probability of the edge [source, target].
    edges
        Most probable first, dicts with the keys source, target, probability, effect (posterior log rate ratio),
        effect_low, effect_high (its interval) and sign (number or text), and with words, sentences that say what the
        edge does, where known. Effects may be None or NaN: not known.
    parent_sets
        Per variable its parent sets (tuple of names, weight), heaviest first: n lists, or name -> list.
    rates
        Per variable the rates under its best parent set: dicts with the keys parents (name -> label of its state),
        from, to, mean, low, high. n lists, or name -> list.
    objective, phases
        Objective after every step of the fit, and what each step changed.
    settings
        Settings of the fit.
    summary
        The data in words: label -> text.
    warnings
        What the reader must know before believing the rest, in sentences.
    trajectories
        Posterior of chosen units: dicts with the keys id, times (m,), probabilities (variable -> (m, n_states)) and
        observations (variable -> pairs (time, label or number)).
    citation
        How to cite.
    time_unit
        Unit of times, such as "years"; empty: not known.
    time_label
        What times are, for axes; default "time".
    dwell
        Per variable mean times in a state under its best parent set: dicts with the keys parents (name -> label of its
        state), state and mean. n lists, or name -> list.
    moves
        Per variable how often it is expected to move between two observations of it: name -> number; others not known.
    noise
        What was learned of observation models: dicts with the keys variable, parameter, state, estimate, low, high.
    simulated_units
        Whether the units shown were drawn from the network, so that they are nobody's data.
    bags, n_bags
        Edges over resampled units: dicts with the keys source, target, probability (mean over the draws), spread,
        sign_agreement (may be None) and all_data; and the number of draws.
    check
        Prediction of units held out, as `ModelCheck.to_dict` has it; empty: not done.
    """

    title: str
    names: Sequence[str]
    states: Any
    edge_probabilities: FloatArray
    edges: Sequence[Mapping[str, Any]] = ()
    parent_sets: Any = ()
    rates: Any = ()
    objective: Sequence[float] = ()
    phases: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    trajectories: Sequence[Mapping[str, Any]] | None = None
    citation: str = ""
    time_unit: str = ""
    noise: Sequence[Mapping[str, Any]] = ()
    simulated_units: bool = False
    bags: Sequence[Mapping[str, Any]] = ()
    n_bags: int = 0
    check: Mapping[str, Any] = field(default_factory=dict)
    time_label: str = "time"
    dwell: Any = ()
    moves: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = [str(name) for name in self.names]
        self._known = set(self.names)
        if len(self._known) != len(self.names):
            raise ParameterError("names: two variables have the same name; rename one of them")
        self.edge_probabilities = probability_matrix(self.edge_probabilities, self.names)
        self.states = [[str(label) for label in labels] for labels in self._per_variable(self.states, "states")]
        self.parent_sets = self._per_variable(self.parent_sets, "parent_sets")
        self.rates = self._per_variable(self.rates, "rates")
        self.dwell = self._per_variable(self.dwell, "dwell")
        self._check_names(self.moves, "moves")
        self.objective = [float(value) for value in self.objective]
        if self.phases and len(self.phases) != len(self.objective):
            raise ParameterError(f"phases: {len(self.phases)} for {len(self.objective)} objective values; one each")
        self._check()

    def _per_variable(self, values: Any, what: str) -> list[Any]:
        """One entry per variable, in their order; nothing at all means an empty one each."""
        if isinstance(values, Mapping):
            self._check_names(values, what)
            return [values.get(name, ()) for name in self.names]
        if len(values) not in (0, len(self.names)):
            raise ParameterError(f"{what}: {len(values)} entries for {len(self.names)} variables; one each")
        return list(values) or [()] * len(self.names)

    def _check(self) -> None:
        for edge in self.edges:
            _check_keys(edge, _EDGE, "edges")
            self._check_names((edge["source"], edge["target"]), "edges")
        for name, sets, rates in zip(self.names, self.parent_sets, self.rates):
            for members, _ in sets:
                self._check_names(members, f"parent_sets of {name!r}")
            for rate in rates:
                _check_keys(rate, _RATE, f"rates of {name!r}")
                self._check_names(rate["parents"], f"rates of {name!r}")
        for row in self.noise:
            _check_keys(row, _NOISE, "noise")
            self._check_names((row["variable"],), "noise")
        for row in self.bags:
            _check_keys(row, _BAG, "bags")
        number = {name: len(labels) for name, labels in zip(self.names, self.states)}
        for unit in self.trajectories or ():
            _check_keys(unit, _TRAJECTORY, "trajectories")
            where = f"trajectory {unit['id']!r}"
            self._check_names(unit["probabilities"], where)
            self._check_names(unit["observations"], where)
            for name, values in unit["probabilities"].items():
                expected = (len(unit["times"]), number[name])
                if np.shape(values) != expected or not all(expected):
                    raise ParameterError(
                        f"{where}: probabilities of {name!r} must have a row per time and a column per state, "
                        f"{expected}, not {np.shape(values)}"
                    )

    def _check_names(self, names: Any, what: str) -> None:
        for name in names:
            if name not in self._known:
                raise ParameterError(f"{what}: there is no variable {shown(name)}; list it in names")


def _check_keys(entry: Mapping[str, Any], keys: tuple[str, ...], what: str) -> None:
    missing = [key for key in keys if key not in entry]
    if missing:
        raise ParameterError(f"{what}: an entry lacks {missing}; each needs the keys {list(keys)}")

"""The values of one variable, as its observation model wants them: state codes, label codes or numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctbnlearn.arrays import BoolArray, FloatArray, NumberArray
from ctbnlearn.data.cut import Cuts, check_cuts, cut_codes, cut_labels
from ctbnlearn.data.labels import HOLE, UNKNOWN, check_discovered, discover, look_alike, match
from ctbnlearn.data.messages import named, shown
from ctbnlearn.data.noise import ExactStates, LabelNoise, NoiseModel, RawLikelihoods, choose_noise
from ctbnlearn.data.noise.choice import NoiseSpec
from ctbnlearn.data.source import Cells, Order, Source
from ctbnlearn.data.variables import Label, Variable
from ctbnlearn.errors import DataError, DataWarning, ParameterError
from ctbnlearn.interface import spoken

_ENDLESS = "the number is not finite; correct it, or leave it blank"
Values = tuple[tuple[Label, ...], NumberArray, BoolArray]  # states of the variable, its values, which are seen


@dataclass(frozen=True, eq=False)
class Spec:
    """What the user said about a variable."""

    name: str
    states: tuple[Label, ...] | None
    model: NoiseModel
    allow_unseen: bool
    ordered: bool = False
    lenient: bool = False
    cuts: Cuts | None = None

    @property
    def numeric(self) -> bool:
        """Whether its cells are measured numbers."""
        return self.model.numeric or self.cuts is not None


@dataclass(frozen=True, eq=False)
class Column:
    """A variable with its values; `values` means nothing where not `seen`."""

    variable: Variable
    noise: NoiseModel
    values: NumberArray
    seen: BoolArray


def read_specs(
    names: Sequence[str], noise: NoiseSpec, states: Any, allow_unseen: bool, ordered: Any = None, cut: Any = None
) -> list[Spec]:
    """Check observation models, declared states and cuts against the names of the variables."""
    states, ranked = _labels(states, names, "states"), _labels(ordered, names, "ordered")
    cuts = check_cuts(cut, names)
    specs = []
    for name, model in zip(names, choose_noise(noise, names)):
        both = [
            spoken(key, "--" + key)
            for key, given in (("states", states), ("ordered", ranked), ("cut", cuts))
            if name in given
        ]
        if name in cuts and not isinstance(model, ExactStates):
            both.append(spoken("noise", "--levels or --noise"))
        if len(both) > 1:
            raise ParameterError(f"variable {name!r}: {' and '.join(both)} say different things of it; give one")
        labels = ranked.get(name, states.get(name))
        if isinstance(model, RawLikelihoods):
            raise ParameterError(
                f"variable {name!r}: a table cannot hold likelihoods; use Observations.from_likelihoods"
            )
        if labels is not None:
            if isinstance(labels, (str, bytes)) or not isinstance(labels, (Sequence, np.ndarray)):
                raise ParameterError(f"states of {name!r} must be a list of labels, not {shown(labels)}")
            labels = Variable(name, tuple(labels)).states
        specs.append(Spec(name, labels, model, allow_unseen, labels is not None, name in ranked, cuts.get(name)))
    return specs


def _labels(given: Any, names: Sequence[str], option: str) -> Mapping[str, Any]:
    """Lists of labels by known variables."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(f"{option} must map names to lists of labels, {{name: [labels]}}, not {shown(given)}")
    unknown = [name for name in given if name not in names]
    if unknown:
        option = option if option == "states" else spoken(option, "--" + option)
        raise ParameterError(f"{option} names unknown variables {named(unknown)}; known: {named(names)}")
    return given


def decode(table: Source, spec: Spec, column: str, data: Any, rows: Order) -> Column:
    """Values of a variable in some rows of a column, its own or one it shares, of which `data` are the contents."""
    where = f"{table.name}, {'column' if column == spec.name else 'variable'} {spec.name!r}"
    states, values, seen = (_measured if spec.numeric else _labelled)(table, spec, column, data, rows, where)
    if not spec.allow_unseen and not seen.any():
        raise DataError(f"{where} was never observed: all its cells are blank; leave it out, or pass allow_unseen=True")
    model = spec.model
    if spec.numeric and spec.cuts is None:
        model = model.begin(values[seen], where)
        labels = spec.states or model.state_labels()
        if labels is None:
            raise ParameterError(
                f"{where}: its observation model does not say which states there are; "
                + spoken(
                    "give values=, one number per state, or declare states=",
                    "name one value a state, as in --noise gaussian:0.2:-1,1, or have them learned: levels:2",
                )
            )
        states = labels
    ranked = spec.ordered or spec.numeric or (isinstance(data, Cells) and data.ranked)
    variable = Variable(spec.name, states, True if ranked else None)
    return Column(variable, model.bind(variable), values, seen)


def _measured(table: Source, spec: Spec, column: str, data: FloatArray | Cells, rows: Order, where: str) -> Values:
    """Numbers, or the states they are cut into; what states there are otherwise the model says."""
    values = table.cell_numbers(column, data, rows) if isinstance(data, Cells) else data[rows]
    if np.isinf(values).any():
        raise DataError(f"{table.place(table.first(np.isinf(values), rows), column)}: {_ENDLESS}")
    seen = ~np.isnan(values)
    if spec.cuts is not None:
        return cut_labels(spec.cuts), cut_codes(np.where(seen, values, 0.0), spec.cuts), seen
    trouble = spec.model.problem(values)
    if trouble is not None:
        raise DataError(f"{table.place(table.first(trouble[0], rows), column)}: {trouble[1]}")
    return (), values, seen


def _labelled(table: Source, spec: Spec, column: str, cells: Cells, rows: Order, where: str) -> Values:
    """Codes of labels; these are the states, unless an observation model tells labels from states."""
    codes, used = cells.codes[rows], cells.used(rows)
    model = spec.model if isinstance(spec.model, LabelNoise) else None
    declared = spec.states if model is None or model.labels is None else model.labels
    if declared is None:
        alphabet, place = discover(cells, used, table.missing)
    else:
        alphabet, place = declared, match(cells, used, declared, table.missing)
    lookup = np.array([*place, HOLE])
    if UNKNOWN in place:
        row = table.first(lookup[codes] == UNKNOWN, rows)
        problem = _ENDLESS
        if declared is not None:
            problem = (
                f"{shown(cells.labels[cells.codes[row]])} is not a state of {spec.name!r}, whose states are "
                f"{named(alphabet)}; correct it, or add it to {spoken('states', '--ordered')}"
            )
        raise DataError(f"{table.place(row, column)}: {problem}")
    if declared is None:
        check_discovered(spec.name, where, alphabet, "" if spec.allow_unseen else " and pass allow_unseen=True")
        alike = look_alike(alphabet)
        if alike:
            warnings.warn(
                f"{where}: its states {' and '.join(map(shown, alike))} look like one written in different ways; "
                "correct the cells if they mean the same",
                DataWarning,
                stacklevel=2,
            )
    if model is None and not spec.allow_unseen:
        unseen = [alphabet[k] for k in sorted(set(range(len(alphabet))) - set(place))]
        if 0 < len(unseen) < len(alphabet) and spec.lenient:
            warnings.warn(f"{where}: the state {shown(unseen[0])} never occurs", DataWarning, stacklevel=2)
        elif 0 < len(unseen) < len(alphabet):
            raise DataError(
                f"{where}: the declared state {shown(unseen[0])} never occurs; check its spelling, take it out "
                "of states, or pass allow_unseen=True"
            )
    states = spec.states or alphabet
    if spec.states is None and model is not None and np.ndim(model.confusion) and len(model.confusion) != len(states):
        raise ParameterError(f"{where}: its labels {named(alphabet)} are not its states; declare them with states=")
    seen = (lookup != HOLE)[codes]
    lookup[lookup == HOLE] = 0
    return states, lookup.astype(np.min_scalar_type(len(alphabet) - 1))[codes], seen

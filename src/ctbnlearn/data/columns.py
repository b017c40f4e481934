"""The values of one variable, as its observation model wants them: state codes, label codes or numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.labels import HOLE, UNKNOWN, check_discovered, discover, match
from ctbnlearn.data.messages import named, shown
from ctbnlearn.data.noise import ExactStates, LabelNoise, NoiseModel, RawLikelihoods, choose_noise
from ctbnlearn.data.source import Cells, Order, Source
from ctbnlearn.data.threshold import ThresholdNoise
from ctbnlearn.data.variables import Label, Variable
from ctbnlearn.errors import DataError, ParameterError

_ENDLESS = "the number is not finite; correct it, or leave it blank"
Values = tuple[tuple[Label, ...], NDArray[Any], BoolArray]  # states of the variable, its values, which are seen


@dataclass(frozen=True, eq=False)
class Spec:
    """What the user said about a variable."""

    name: str
    states: tuple[Label, ...] | None
    model: NoiseModel
    allow_unseen: bool

    @property
    def numeric(self) -> bool:
        """Whether its cells are measured numbers."""
        return not isinstance(self.model, (ExactStates, LabelNoise))


@dataclass(frozen=True, eq=False)
class Column:
    """A variable with its values; `values` means nothing where not `seen`."""

    variable: Variable
    noise: NoiseModel
    values: NDArray[Any]
    seen: BoolArray


def read_specs(names: Sequence[str], noise: Any, states: Any, allow_unseen: bool) -> list[Spec]:
    """Check observation models and declared states against the names of the variables."""
    if states is None:
        states = {}
    if not isinstance(states, Mapping):
        raise ParameterError(f"states must map names to lists of labels, {{name: [labels]}}, not {shown(states)}")
    unknown = [name for name in states if name not in names]
    if unknown:
        raise ParameterError(f"states names unknown variables {named(unknown)}; known: {named(names)}")
    specs = []
    for name, model in zip(names, choose_noise(noise, names)):
        labels = states.get(name)
        if isinstance(model, RawLikelihoods):
            raise ParameterError(
                f"variable {name!r}: a table cannot hold likelihoods; use Observations.from_likelihoods"
            )
        if labels is not None:
            if isinstance(labels, (str, bytes)) or not isinstance(labels, (Sequence, np.ndarray)):
                raise ParameterError(f"states of {name!r} must be a list of labels, not {shown(labels)}")
            labels = Variable(name, tuple(labels)).states
        specs.append(Spec(name, labels, model, allow_unseen))
    return specs


def decode(table: Source, spec: Spec, column: str, data: Any, rows: Order) -> Column:
    """Values of a variable in some rows of a column, its own or one it shares, of which `data` are the contents."""
    where = f"{table.name}, {'column' if column == spec.name else 'variable'} {spec.name!r}"
    states, values, seen = (_measured if spec.numeric else _labelled)(table, spec, column, data, rows, where)
    if not spec.allow_unseen and not seen.any():
        raise DataError(f"{where} was never observed: all its cells are blank; leave it out, or pass allow_unseen=True")
    variable, model = Variable(spec.name, states), spec.model
    if isinstance(model, ThresholdNoise):
        model = model.fitted(values[seen], where)
    return Column(variable, model.bind(variable), values, seen)


def _measured(table: Source, spec: Spec, column: str, data: FloatArray | Cells, rows: Order, where: str) -> Values:
    """Numbers; the states are declared, or the values the model names."""
    values = table.cell_numbers(column, data, rows) if isinstance(data, Cells) else data[rows]
    if np.isinf(values).any():
        raise DataError(f"{table.place(table.first(np.isinf(values), rows), column)}: {_ENDLESS}")
    if isinstance(spec.model, ThresholdNoise) and spec.model.log and (values <= 0).any():
        place = table.place(table.first(values <= 0, rows), column)
        raise DataError(f"{place}: only a number above zero has a logarithm; correct it, or leave it blank")
    states = spec.states
    if states is None:
        numbers = getattr(spec.model, "values", None)
        if numbers is None:
            raise ParameterError(
                f"{where}: its observation model does not say which states there are; give values=, one number "
                "per state, or declare states="
            )
        states = tuple(int(v) for v in numbers) if all(float(v).is_integer() for v in numbers) else tuple(numbers)
    return states, values, ~np.isnan(values)


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
                f"{named(alphabet)}; correct it, or add it to states"
            )
        raise DataError(f"{table.place(row, column)}: {problem}")
    if declared is None:
        check_discovered(where, alphabet, "" if spec.allow_unseen else " and pass allow_unseen=True")
    if model is None and not spec.allow_unseen:
        unseen = [alphabet[k] for k in sorted(set(range(len(alphabet))) - set(place))]
        if 0 < len(unseen) < len(alphabet):
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

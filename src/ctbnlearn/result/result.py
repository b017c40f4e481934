"""Result: what was learned, as plain arrays and tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ctbnlearn.arrays import BoolArray, FloatArray
from ctbnlearn.data.noise import NoiseModel, noise_from_dict
from ctbnlearn.data.variables import Variable
from ctbnlearn.errors import ParameterError
from ctbnlearn.model.ctbn import CTBN
from ctbnlearn.notebook import page_part
from ctbnlearn.result.bags import Bags
from ctbnlearn.result.effects import UNKNOWN, Effect, edge_effect
from ctbnlearn.result.factors import Factor, edge_factors, in_words
from ctbnlearn.result.history import History
from ctbnlearn.result.rate_table import RateTable
from ctbnlearn.result.unit import Unit
from ctbnlearn.structure.parent_sets import ParentSets

if TYPE_CHECKING:
    import networkx
    import pyarrow


@dataclass(frozen=True, eq=False)
class Result:
    """What was learned from data; `StructureLearner.result_` and `load_result` give one.

    Attributes
    ----------
    network : CTBN
        Most probable parent set of every node, posterior-mean rates.
    edge_probabilities : (n, n)
        Probability of the edge [source, target]; zero diagonal.
    parent_sets : tuple of ParentSets
        Per node the parent sets listed, most probable first.
    parent_set_weights : tuple of arrays
        Their weights.
    remaining : (n,)
        Per node the weight of the sets that are not listed.
    rate_tables : tuple of tuples of RateTable
        Per node the posterior of its rates under some of its parent sets, the most probable set first.
    history : History
        The objective after every step.
    objective : float
        Its last value.
    converged : bool
        Whether the fit has converged.
    units : tuple of Unit
        Smoothed states of some trajectories, for the report; see `ctbnlearn.result.unit.smooth_units`.
    manifest : dict
        Where it comes from, in JSON types: version, settings, seed, data (summary and fingerprint), timings,
        convergence, warnings in words.
    disagreement : (n, n) or None
        By how much the chains of sampling differ on the probability of every edge.
    bags : Bags or None
        Where units were resampled (`Bagged`): spread and agreement of signs; `edge_probabilities` are averages then.

    Examples
    --------
    >>> import ctbnlearn as cl
    >>> net = cl.random_network(3, max_parents=1, coupling=-0.6, rng=3)
    >>> paths = cl.simulate(net, n_trajectories=200, n_transitions=10, rng=2)
    >>> result = cl.StructureLearner().fit(paths).result_
    >>> net.edges, result.edges.slice(0, 1).select(["source", "target", "sign"]).to_pylist()
    ([('x1', 'x0')], [{'source': 'x1', 'target': 'x0', 'sign': '+'}])
    """

    network: CTBN
    edge_probabilities: FloatArray
    parent_sets: Sequence[ParentSets]
    parent_set_weights: Sequence[FloatArray]
    remaining: FloatArray = field(default_factory=lambda: np.empty(0))  # empty: nothing
    rate_tables: Sequence[Sequence[RateTable]] = ()  # empty: none kept
    history: History = field(default_factory=History)
    objective: float = float("nan")
    converged: bool = True
    units: Sequence[Unit] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)
    disagreement: FloatArray | None = None
    bags: Bags | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        n = len(self.network.variables)
        put(self, "edge_probabilities", _frozen(self.edge_probabilities))
        put(self, "parent_sets", tuple(self.parent_sets))
        put(self, "parent_set_weights", tuple(_frozen(w) for w in self.parent_set_weights))
        put(self, "remaining", _frozen(self.remaining if len(self.remaining) else np.zeros(n)))
        put(self, "rate_tables", tuple(tuple(t) for t in self.rate_tables or ((),) * n))
        put(self, "units", tuple(self.units))
        if self.disagreement is not None:
            put(self, "disagreement", _frozen(self.disagreement))
        self._check(n)

    def _check(self, n: int) -> None:
        p = self.edge_probabilities
        if p.shape != (n, n) or not ((p >= 0) & (p <= 1)).all() or p.diagonal().any():
            raise ParameterError(f"edge_probabilities must be {n} x {n} with values from 0 to 1 and a zero diagonal")
        if self.bags is not None and self.bags.mean.shape != (n, n):
            raise ParameterError(f"bags must be {n} x {n}")
        if self.disagreement is not None and self.disagreement.shape != (n, n):
            raise ParameterError(f"disagreement must be {n} x {n}, not {self.disagreement.shape}")
        lengths = [len(self.parent_sets), len(self.parent_set_weights), len(self.remaining), len(self.rate_tables)]
        if lengths != [n] * 4:
            raise ParameterError(f"{n} variables need as many lists of parent sets, weights and rates, not {lengths}")
        for i, (sets, weights, rest) in enumerate(zip(self.parent_sets, self.parent_set_weights, self.remaining)):
            where = f"variable {self.names[i]!r}"
            members = sets.members
            if sets.names != self.names or ((members < -1) | (members >= n) | (members == i)).any():
                raise ParameterError(f"{where}: its parent sets name nodes that are not other variables")
            total = weights.sum() + rest
            if weights.shape != (len(sets),) or not len(sets) or not (weights >= 0).all() or not abs(total - 1) < 1e-6:
                raise ParameterError(f"{where}: each parent set needs a weight, and with the rest they must sum to 1")
            for table in self.rate_tables[i]:
                table.check(i, self.network.n_states, where)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables with their states."""
        return self.network.variables

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.network.names

    @property
    def time_unit(self) -> str | None:
        """Unit of times and of the inverse of rates, such as "years"; None if unknown."""
        return self.manifest.get("data", {}).get("time_unit")

    @property
    def noise(self) -> dict[str, NoiseModel]:
        """Observation models by variable, as given or with what was learned; states seen exactly have none."""
        models = self.manifest.get("noise", {}).get("models", {})
        return {name: noise_from_dict(content) for name, content in models.items()}

    @property
    def noise_parameters(self) -> list[dict[str, Any]]:
        """What was learned of observation models: variable, parameter, state, estimate, low, high (95 % interval)."""
        return [dict(row) for row in self.manifest.get("noise", {}).get("parameters", [])]

    def __repr__(self) -> str:
        found = int((self.edge_probabilities > 0.5).sum())
        state = "" if self.converged else ", not converged"
        return f"Result({len(self.names)} variables, {found} edges above 0.5{state})"

    def graph(self, threshold: float = 0.5) -> BoolArray:
        """Adjacency [source, target]: edges with a probability above `threshold`."""
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float, np.number)) or not 0 <= threshold <= 1:
            raise ParameterError(f"threshold must be a number from 0 to 1, not {threshold!r}")
        return np.asarray(self.edge_probabilities > threshold)

    def effect(self, source: str, target: str) -> Effect:
        """Push of one variable on another (`ctbnlearn.result.effects`).

        Under the most probable parent set that holds the source and whose rates are kept; NaN where there is none.
        """
        j, i = self.network.index(source), self.network.index(target)
        return self._effects(i).get(j, UNKNOWN)

    def factors(self, source: str, target: str) -> list[Factor]:
        """How many times as fast each transition of the target is, by states of the source.

        Under the most probable parent set that holds the source and whose rates are kept; empty where there is none.

        Returns
        -------
        list of Factor
            Named tuples (state, reference, start, end, factor, low, high): with the source in `state` rather than in
            `reference`, its first one, the target goes from `start` to `end` `factor` times as fast (95 % interval).
        """
        j, i = self.network.index(source), self.network.index(target)
        for table in self.rate_tables[i]:
            if j in table.parents:
                return edge_factors(table, j, self.variables, i)
        return []

    def explain(self, source: str, target: str) -> list[str]:
        """What an edge does, in sentences; empty where no rates are kept under a parent set that holds the source."""
        return in_words(source, self.factors(source, target))

    def dwell_times(self, name: str) -> list[dict[str, Any]]:
        """Mean time a variable stays in each state, under its most probable parent set.

        Returns
        -------
        list of dict
            One per state of the parents and own state that can be left: parents ({name: state}), state, mean. In the
            unit of time of the data (`time_unit`).
        """
        leaving: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in self.rates(name):
            key = (*row["parents"].values(), row["from"])
            entry = leaving.setdefault(key, {"parents": row["parents"], "state": row["from"], "mean": 0.0})
            entry["mean"] += row["mean"]
        return [{**entry, "mean": 1 / entry["mean"]} for entry in leaving.values() if entry["mean"] > 0]

    @property
    def edge_table(self) -> pyarrow.Table:
        """Edge probabilities as a labelled table: one row per source, columns `source` and one per target."""
        import pyarrow as pa

        columns: dict[str, Any] = {"source": pa.array(self.names, pa.string())}
        arrays = [columns["source"], *(pa.array(column) for column in self.edge_probabilities.T)]
        return pa.Table.from_arrays(arrays, names=["source", *self.names])

    def _repr_html_(self) -> str:
        """For notebooks: the most probable edges and what they do, doubts first."""
        likely = [e for e in self.edges.to_pylist() if e["probability"] > 0.1][:25]
        rows = [
            [e["source"], e["target"], f"{e['probability']:.3f}", " ".join(self.explain(e["source"], e["target"]))]
            for e in likely
        ]
        return page_part(
            repr(self),
            ["source", "target", "probability", "what it does"],
            rows,
            notes=[str(text) for text in self.manifest.get("warnings", [])],
            empty="No edge has a probability above 0.1.",
        )

    def _effects(self, i: int) -> dict[int, Effect]:
        """Effects of the parents of node i."""
        found: dict[int, Effect] = {}
        for table in self.rate_tables[i]:
            for j in table.parents:
                if j not in found:
                    effect = edge_effect(table, j, self.network.n_states)
                    found[j] = effect.between(self.variables[j], self.variables[i])
        return found

    @property
    def edges(self) -> pyarrow.Table:
        """All ordered pairs as a pyarrow table (`.to_pandas()`, `polars.from_arrow`), most probable first.

        Columns: source, target, probability; effect, effect_low, effect_high: posterior log rate ratio with its 95 %
        interval, positive where the source drives the target to its later states; sign: "+", "-" or empty where the
        interval holds zero or the states of either have no order (`Variable.ordered`); speed: log rate ratio whichever
        way the target moves. An effect is that under the most probable parent set with the edge; it is empty where no
        rates are kept under such a set, as for edges of little probability. `ctbnlearn.result.effects` has the
        definitions.

        Where units were resampled, also spread, sign_agreement and all_data, as in `Bags`.
        """
        import pyarrow as pa

        n = len(self.names)
        source, target = np.nonzero(~np.eye(n, dtype=bool))
        numbers = np.full((4, n, n), np.nan)
        sign = np.full((n, n), "", dtype="<U1")
        for i in range(n):
            for j, effect in self._effects(i).items():
                numbers[:, j, i], sign[j, i] = effect[:4], effect.sign
        probability = self.edge_probabilities[source, target]
        order = np.argsort(-probability, kind="stable")
        source, target = source[order], target[order]
        names = pa.array(self.names, pa.string())
        columns: dict[str, Any] = {
            "source": names.take(pa.array(source)),
            "target": names.take(pa.array(target)),
            "probability": pa.array(probability[order]),
        }
        for name, values in zip(("effect", "effect_low", "effect_high", "speed"), numbers[:, source, target]):
            columns[name] = pa.array(values, mask=np.isnan(values))
        columns["sign"] = pa.array(sign[source, target].tolist(), pa.string())
        order_of_columns = ["source", "target", "probability", "effect", "effect_low", "effect_high", "sign", "speed"]
        if self.bags is not None:
            for name in ("spread", "sign_agreement", "all_data"):
                values = getattr(self.bags, name)[source, target]
                columns[name] = pa.array(values, mask=np.isnan(values))
                order_of_columns.append(name)
        return pa.table({name: columns[name] for name in order_of_columns})

    def rates(self, name: str, level: float = 0.95) -> list[dict[str, Any]]:
        """Rates of a variable under its most probable parent set, with credible intervals.

        Parameters
        ----------
        name
            The variable.
        level
            Probability of the interval between equal tails.

        Returns
        -------
        list of dict
            One per transition that can happen: parents ({name: state}), from, to, mean, low, high. Empty where no
            rates are kept.
        """
        if not isinstance(level, (int, float, np.number)) or not 0 < level < 1:
            raise ParameterError(f"level must be a number between 0 and 1, not {level!r}")
        i = self.network.index(name)
        tables = self.rate_tables[i]
        if not tables:
            return []
        table, states = tables[0], self.variables[i].states
        mean, low, high = table.mean, table.quantile((1 - level) / 2), table.quantile((1 + level) / 2)
        parents = [self.variables[j] for j in table.parents]
        rows = []
        for u, x, y in np.argwhere(table.possible).tolist():
            held = np.unravel_index(u, [v.n_states for v in parents]) if parents else ()
            rows.append(
                {
                    "parents": {v.name: v.states[s] for v, s in zip(parents, held)},
                    "from": states[x],
                    "to": states[y],
                    "mean": float(mean[u, x, y]),
                    "low": float(low[u, x, y]),
                    "high": float(high[u, x, y]),
                }
            )
        return rows

    def to_networkx(self, threshold: float = 0.0) -> networkx.DiGraph:
        """Directed graph of the edges with a probability above `threshold`.

        Nodes carry `states`; edges carry `probability` and, where known, `effect`, `effect_low`, `effect_high`, `sign`.
        """
        import networkx

        graph = networkx.DiGraph()
        for v in self.variables:
            graph.add_node(v.name, states=v.states)
        chosen = self.graph(threshold)
        for i, target in enumerate(self.names):
            effects = self._effects(i)
            for j in np.flatnonzero(chosen[:, i]).tolist():
                marks: dict[str, Any] = {"probability": float(self.edge_probabilities[j, i])}
                e = effects.get(j, UNKNOWN)
                if not np.isnan(e.effect):
                    marks.update(effect=e.effect, effect_low=e.low, effect_high=e.high, sign=e.sign)
                graph.add_edge(self.names[j], target, **marks)
        return graph

    def with_check(self, check: Any) -> Result:
        """The same result with what `check_model` found: a section of its report, and "check" in its manifest."""
        return replace(self, manifest={**self.manifest, "check": check.to_dict()})

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that `load_result` reads, and other programs too; it appears whole or not at all.

        The folder holds manifest.json, arrays.safetensors, edges.csv, parent_sets.csv, network.json, network.graphml,
        network.dot and report.html. A result that is there already is replaced; any other folder is left alone.
        """
        from ctbnlearn.result.archive import save_result

        save_result(self, folder)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report, one self-contained HTML page."""
        from ctbnlearn.result.page import write_report

        write_report(self, path)


def _frozen(values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=float).view()
    array.setflags(write=False)
    return array

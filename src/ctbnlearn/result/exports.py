"""A result for other programs: tables as CSV, the graph as GraphML and DOT. All are texts; `archive` writes them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence

import numpy as np

from ctbnlearn.data.texts import quoting
from ctbnlearn.result.result import Result

LIGHTEST_SET = 1e-4  # sets of less weight stand in arrays.safetensors alone
LIGHTEST_EDGE = 0.01  # likewise edges of the GraphML file; edges.csv has them all
DRAWN_EDGE = 0.5
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def edges_csv(result: Result) -> str:
    """All edges, most probable first."""
    table = result.edges
    columns = [["" if v is None else _text(v) for v in column.to_pylist()] for column in table.columns]
    return _csv(table.column_names, list(zip(*columns)))


def parent_sets_csv(result: Result) -> str:
    """Parent sets of every variable down to a small weight, the most probable one always.

    Parents stand in one cell, separated by spaces; a name that holds a space or a quote is written as in JSON.
    """
    rows = []
    for name, sets, weights in zip(result.names, result.parent_sets, result.parent_set_weights):
        for k in np.flatnonzero(np.append(True, weights[1:] >= LIGHTEST_SET)).tolist():
            parents = " ".join(_word(parent) for parent in sets[k])
            rows.append((name, str(k + 1), parents, str(int(sets.sizes[k])), repr(float(weights[k]))))
    return _csv(["variable", "rank", "parents", "n_parents", "weight"], rows)


def graphml(result: Result) -> str:
    """GraphML with the marks of `Result.to_networkx`; characters that XML cannot hold are replaced."""
    import networkx

    graph = result.to_networkx(LIGHTEST_EDGE)
    names: dict[str, str] = {}
    for i, name in enumerate(graph.nodes):
        clean = _NOT_XML.sub("\ufffd", name)
        names[name] = f"{clean} ({i})" if clean in names.values() else clean
    out = networkx.DiGraph()
    for name, marks in graph.nodes(data=True):
        out.add_node(names[name], states=_NOT_XML.sub("\ufffd", ", ".join(map(str, marks["states"]))))
    for source, target, marks in graph.edges(data=True):
        out.add_edge(names[source], names[target], **marks)
    return "\n".join(networkx.generate_graphml(out)) + "\n"


def dot(result: Result) -> str:
    """Graphviz drawing of the probable edges: width by probability, label with probability and sign."""
    lines = ["digraph network {", "  node [shape=ellipse];"]
    lines += [f"  {_quoted(name)};" for name in result.names]
    for source, target, marks in result.to_networkx(DRAWN_EDGE).edges(data=True):
        p = marks["probability"]
        label = f"{p:.2f} {marks.get('sign', '')}".strip()
        lines.append(f'  {_quoted(source)} -> {_quoted(target)} [label="{label}", penwidth={0.5 + 3 * p:.2f}];')
    return "\n".join([*lines, "}"]) + "\n"


def _text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def _word(name: str) -> str:
    return json.dumps(name, ensure_ascii=False) if re.search(r'[\s"\\]', name) else name


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\0", "\ufffd")
    return f'"{escaped}"'


def _csv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    file = io.StringIO()
    style = quoting(cell for row in rows for cell in row)
    writer = csv.writer(file, lineterminator="\n", quoting=style)
    writer.writerow(header)
    writer.writerows(rows)
    return file.getvalue()

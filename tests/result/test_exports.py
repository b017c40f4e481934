"""Exports for other programs."""

from __future__ import annotations

import csv
import io
import json
import re

import networkx
import numpy as np
import pytest

import ctbnlearn as cl
from ctbnlearn.result import exports
from ctbnlearn.structure.parent_sets import ParentSets

ODD = ['a "b"', "line\nbreak", "back\\slash", "é€", "<script>", "comma,", "bell\x07"]


@pytest.fixture(scope="module")
def odd():
    """A result whose names need quoting everywhere; the first drives all others."""
    n = len(ODD)
    cim = [[-1.0, 1.0], [1.0, -1.0]]
    net = cl.CTBN(dict.fromkeys(ODD, (0, 1)), None, dict.fromkeys(ODD, cim))
    p = np.zeros((n, n))
    p[0, 1:] = 0.75
    sets = [ParentSets(np.array([[0 if i else 1], [-1]]), ODD) for i in range(n)]
    return cl.Result(net, p, sets, [np.array([0.75, 0.25])] * n)


def test_edges_csv_has_every_digit(result):
    rows = list(csv.DictReader(io.StringIO(exports.edges_csv(result))))
    for row, edge in zip(rows, result.edges.to_pylist(), strict=True):
        assert (row["source"], row["target"], row["sign"]) == (edge["source"], edge["target"], edge["sign"])
        for key in ("probability", "effect", "effect_low", "effect_high"):
            assert (float(row[key]) if row[key] else None) == edge[key]


def test_odd_names_survive_in_csv(odd):
    rows = list(csv.DictReader(io.StringIO(exports.edges_csv(odd), newline="")))
    assert {row["target"] for row in rows} == set(ODD)
    rows = list(csv.DictReader(io.StringIO(exports.parent_sets_csv(odd), newline="")))
    assert [row["variable"] for row in rows[::2]] == ODD
    assert json.loads(rows[2]["parents"]) == ODD[0]
    assert rows[3]["parents"] == ""


def test_light_parent_sets_are_left_out_but_never_the_first(result):
    rows = list(csv.DictReader(io.StringIO(exports.parent_sets_csv(result))))
    for name, weights, sets in zip(result.names, result.parent_set_weights, result.parent_sets):
        mine = [row for row in rows if row["variable"] == name]
        assert len(mine) == max(1, int((weights >= exports.LIGHTEST_SET).sum()))
        assert mine[0]["parents"].split() == list(sets[0])
        assert float(mine[0]["weight"]) == weights[0]


def test_graphml_reads_back(result, odd):
    graph = networkx.parse_graphml(exports.graphml(result))
    assert set(graph.edges) == {(s, t) for s, t in result.to_networkx(exports.LIGHTEST_EDGE).edges}
    source, target = result.network.edges[0]
    assert graph.edges[source, target]["effect"] == result.effect(source, target).effect
    names = set(networkx.parse_graphml(exports.graphml(odd)).nodes)
    assert names == {name.replace("\x07", "\ufffd") for name in ODD}


def test_dot_quotes_names(odd):
    text = exports.dot(odd)
    quoted = r'"((?:[^"\\]|\\.)*)"'
    edges = re.findall(rf"  {quoted} -> {quoted} \[", text)
    assert len(edges) == len(ODD) - 1
    assert edges[1][1] == r"back\\slash"
    assert edges[0][0] == r"a \"b\""
    assert text.count("\n") == 3 + len(ODD) + len(ODD) - 1

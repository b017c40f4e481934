"""Graphs as people give them."""

import pytest

from ctbnlearn.errors import ParameterError
from ctbnlearn.model.graph import as_adjacency

NAMES = ["x0", "x1"]


@pytest.mark.parametrize("graph", [{"x0": ["x1"]}, {"x0": []}, ["x0"], "x0", 3, [("x0", "x1", "x0")]])
def test_what_is_no_list_of_edges_is_refused_with_the_forms_there_are(graph):
    """A name of two letters must not be taken for an edge between letters."""
    with pytest.raises(ParameterError, match=r"candidates: give a CTBN, .* list of \(source, target\)"):
        as_adjacency(graph, NAMES, "candidates")


def test_edges_may_be_tuples_or_lists():
    """As they come from a file."""
    assert as_adjacency([["x0", "x1"]], NAMES).tolist() == [[False, True], [False, False]]

"""The network: validation, conventions, saving."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ctbnlearn as cl
from ctbnlearn.errors import CtbnlearnError, DataError, ModelError
from oracles import dense
from oracles.reference_networks import load_drug, load_eating

TWO = {"a": ("no", "yes"), "b": (0, 1, 2)}
FREE_A = [[-1.0, 1.0], [2.0, -2.0]]
FREE_B = [[-3.0, 1.0, 2.0], [0.5, -0.5, 0.0], [0.0, 1.0, -1.0]]


def test_rates_keep_their_parent_axes():
    cim = np.stack([np.array(FREE_A), 3 * np.array(FREE_A), 5 * np.array(FREE_A)])
    net = cl.CTBN(TWO, {"a": ["b"]}, {"a": cim, "b": FREE_B})
    assert net.rates("a").shape == (3, 2, 2)
    assert net.rates("a")[2, 1, 0] == 10
    assert net.edges == [("b", "a")]
    assert net.adjacency.tolist() == [[0, 0], [1, 0]]
    graph = net.to_networkx()
    assert list(graph.nodes) == ["a", "b"]
    assert list(graph.edges) == [("b", "a")]
    assert graph.nodes["a"]["states"] == ("no", "yes")


@pytest.mark.parametrize(
    ("variables", "parents", "rates", "initial", "words"),
    [
        ({"a": ("x",)}, {}, {"a": [[0.0]]}, None, "two or more"),
        ({"a": (0, 0)}, {}, {"a": FREE_A}, None, "twice"),
        ({"a": (0, float("nan"))}, {}, {"a": FREE_A}, None, "nan"),
        ([cl.Variable("a", (0, 1))] * 2, {}, {"a": FREE_A}, None, "stands twice"),
        (TWO, {"a": ["c"]}, {"a": FREE_A, "b": FREE_B}, None, "unknown parent 'c'"),
        (TWO, {"c": ["a"]}, {"a": FREE_A, "b": FREE_B}, None, "unknown variable 'c'"),
        (TWO, {"a": ["a"]}, {"a": FREE_A, "b": FREE_B}, None, "own parent"),
        (TWO, {"a": ["b", "b"]}, {"a": FREE_A, "b": FREE_B}, None, "a parent twice"),
        (TWO, {"a": "b"}, {"a": FREE_A, "b": FREE_B}, None, "list of names"),
        (TWO, {}, {"a": FREE_A}, None, "rates of 'b' are missing"),
        (TWO, {}, {"a": [[-1, 1], [2, -3]], "b": FREE_B}, None, "row of state 'yes'"),
        (TWO, {}, {"a": [[1, -1], [2, -2]], "b": FREE_B}, None, "negative rate"),
        (TWO, {}, {"a": [[-np.inf, np.inf], [2, -2]], "b": FREE_B}, None, "not finite"),
        (TWO, {}, {"a": FREE_B, "b": FREE_B}, None, "need shape"),
        (TWO, {}, {"a": [[1], [2, 3]], "b": FREE_B}, None, "rectangular"),
        (TWO, {}, {"a": FREE_A, "b": FREE_B}, {"c": [1.0]}, "unknown variable 'c'"),
        (TWO, {}, {"a": FREE_A, "b": FREE_B}, {"a": [0.5, 0.6]}, "sum to 1"),
        (TWO, {}, {"a": FREE_A, "b": FREE_B}, {"a": [0.5, 0.2, 0.3]}, "needs shape"),
        (TWO, {}, {"a": FREE_A, "b": FREE_B}, {"a": (["z"], [[1, 0]])}, "not another variable"),
        (
            TWO,
            {},
            {"a": FREE_A, "b": FREE_B},
            {"a": (["b"], [[1, 0]] * 3), "b": (["a"], [[1, 0, 0]] * 2)},
            "in a circle",
        ),
    ],
)
def test_what_is_not_a_network_says_why(variables, parents, rates, initial, words):
    with pytest.raises(CtbnlearnError, match=words):
        cl.CTBN(variables, parents, rates, initial)


def test_errors_name_the_parent_state():
    cim = np.stack([np.array(FREE_A)] * 3)
    cim[1, 0] = [-1, 2]
    with pytest.raises(ModelError, match="parents b=1, row of state 'no'"):
        cl.CTBN(TWO, {"a": ["b"]}, {"a": cim, "b": FREE_B})


def test_saving_keeps_label_types(tmp_path):
    net = cl.CTBN(
        {"i": (1, 2), "f": (1.0, 2.5), "s": ("1", "ü"), "b": (False, True)},
        {"i": ["s", "b"]},
        {"i": [[FREE_A, FREE_A], [FREE_A, FREE_A]], "f": FREE_A, "s": FREE_A, "b": FREE_A},
        {"i": (["f"], [[0.1, 0.9], [1.0, 0.0]]), "s": [0.25, 0.75]},
    )
    net.save(tmp_path / "net.json")
    again = cl.CTBN.load(tmp_path / "net.json")
    assert [v.states for v in again.variables] == [v.states for v in net.variables]
    kinds = [[type(s) for s in v.states] for v in again.variables]
    assert kinds == [[int] * 2, [float] * 2, [str] * 2, [bool] * 2]
    assert again.parents == net.parents
    for a, b in zip((*net.cims, *net.initial.tables), (*again.cims, *again.initial.tables)):
        np.testing.assert_array_equal(a, b)
    assert list(tmp_path.iterdir()) == [tmp_path / "net.json"]


def test_damaged_newer_or_missing_files(tmp_path):
    good = cl.random_network(3, rng=0).to_dict()
    cases = {
        "absent": (None, "no such file"),
        "not json": ("{", "not a readable JSON"),
        "other json": ("[1, 2]", "not a network saved"),
        "newer": (json.dumps({**good, "version": 99}), "update ctbnlearn"),
        "no variables": (json.dumps({**good, "variables": [{"name": "x"}]}), "damaged"),
        "bad rates": (json.dumps(good).replace("0.5", "0.7", 1), "sum to zero"),
    }
    for name, (text, words) in cases.items():
        path = tmp_path / f"{name}.json"
        if text is not None:
            path.write_text(text)
        with pytest.raises(CtbnlearnError, match=words) as caught:
            cl.CTBN.load(path)
        assert name in str(caught.value)
    with pytest.raises(DataError, match="writable"):
        cl.random_network(3, rng=0).save(tmp_path / "nowhere" / "net.json")


def test_initial_marginals_sum_the_conditional_tables():
    net = cl.CTBN(
        TWO, {}, {"a": FREE_A, "b": FREE_B}, {"a": (["b"], [[1, 0], [0.5, 0.5], [0, 1]]), "b": [0.2, 0.3, 0.5]}
    )
    a, b = net.initial.marginals(net.variables)
    np.testing.assert_allclose(a, [0.35, 0.65])
    np.testing.assert_allclose(b, [0.2, 0.3, 0.5])


@settings(deadline=None, derandomize=True, max_examples=30)
@given(seed=st.integers(0, 10**6), cards=st.lists(st.integers(2, 4), min_size=1, max_size=4))
def test_amalgamation_equals_dense_loops(seed, cards):
    net = cl.random_network(len(cards), 3, dynamics="random", n_states=cards, rng=seed)
    np.testing.assert_allclose(cl.exact.amalgamate(net).toarray(), dense.generator(net), atol=1e-13)


def test_glauber_rates_follow_the_formula():
    net = cl.random_network(6, 3, coupling=0.7, rng=5)
    spin = np.array([-1, 1])
    for i, v in enumerate(net.variables):
        for u in np.ndindex(*[2] * len(net.parents[i])):
            for x in range(2):
                expected = 0.5 + 0.5 * np.tanh(0.7 * spin[x] * spin[list(u)].sum())
                assert net.rates(v.name)[(*u, x, 1 - x)] == pytest.approx(expected, abs=1e-15)


def test_random_networks_have_flat_in_degree():
    degrees = np.concatenate([cl.random_network(50, 3, rng=s).adjacency.sum(0) for s in range(80)])
    counts = np.bincount(degrees, minlength=4)
    expected = len(degrees) / 4
    assert counts.sum() == 4000
    assert ((counts - expected) ** 2 / expected).sum() < 16.3  # chi square, 3 degrees of freedom, p = 0.001


def test_reference_networks_load(shared_data):
    drug = load_drug(shared_data)
    assert len(drug.variables) == 8
    assert len(drug.edges) == 8
    assert len(load_eating(shared_data).edges) == 3


FINE = [("name", "a"), *(("ordered", value) for value in (5, None, "a", [1], [["a"]], {"a": 1}, [None], 1e22))]


@pytest.mark.parametrize("parents", [5, None, "a", [1], [["a"]], {"a": 1}, [None], 1e22])
@pytest.mark.parametrize("key", ["parents", "states", "rates", "initial", "ordered", "name"])
def test_a_saved_network_of_wrong_types_is_one_clear_error(tmp_path, key, parents):
    content = cl.random_network(2, rng=1).to_dict()
    content["variables"][1][key] = parents
    (tmp_path / "n.json").write_text(json.dumps(content))
    if (key, parents) in FINE:
        cl.CTBN.load(tmp_path / "n.json")
        return
    with pytest.raises(cl.CtbnlearnError, match=r"n\.json"):
        cl.CTBN.load(tmp_path / "n.json")


def test_a_pipe_or_a_deep_file_is_not_a_network(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "deep").write_text("[" * 100_000)
    for path in (tmp_path / "pipe", tmp_path / "loop", tmp_path / "deep", "/dev/zero", tmp_path, tmp_path / "none"):
        with pytest.raises(cl.CtbnlearnError):
            cl.CTBN.load(path)

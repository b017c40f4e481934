"""Variables that nothing drives, variables adjusted for, and variables set from outside."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ctbnlearn as cl
from ctbnlearn.data.constant import never_changing
from ctbnlearn.structure.problem import EdgeRules

QUICK = cl.Sampling(sweeps=100, chains=2)


def confounded(n=250, seed=0):
    """Sex sets the pace of a and b, which have nothing to do with each other; paths and rows."""
    variables = [cl.Variable("sex", ("f", "m")), cl.Variable("a", (0, 1)), cl.Variable("b", (0, 1))]
    rates = {"sex": [[0.0, 0.0], [0.0, 0.0]]}
    for name in ("a", "b"):
        rates[name] = [[[-0.2, 0.2], [2.0, -2.0]], [[-2.0, 2.0], [0.2, -0.2]]]
    net = cl.CTBN(variables, {"a": ["sex"], "b": ["sex"]}, rates)
    return cl.simulate(net, n_trajectories=n, horizon=4.0, rng=seed)


@pytest.fixture(scope="module")
def paths():
    return confounded()


def test_what_never_changes_has_no_parents(paths, recwarn):
    obs = cl.observe(paths, n_times=6, rng=1)
    assert never_changing(paths) == never_changing(obs) == [0]
    said = []
    learner = cl.StructureLearner(inference=QUICK, progress=said.append).fit(obs)
    assert learner.exogenous_ == ["sex"]
    assert not learner.edge_probabilities_[:, 0].any()
    assert (learner.edge_probabilities_[0, 1:] > 0.9).all()  # but it drives
    assert any("sex" in event.message and "adjust_for=['sex']" in event.message for event in said)
    free = cl.StructureLearner(inference=QUICK, exogenous=[]).fit(obs)
    assert (free.edge_probabilities_[1:, 0] > 0).all()
    whole = cl.StructureLearner().fit(paths)
    assert not whole.edge_probabilities_[:, 0].any()
    assert whole.result_.manifest["exogenous"] == ["sex"]


def test_adjusted_variables_are_parents_of_all_and_do_not_count(paths, recwarn):
    obs = cl.observe(paths, n_times=6, rng=1)
    rivals = cl.StructureLearner(max_parents=0, adjust_for=["sex"], inference=QUICK).fit(obs)
    assert rivals.network_.edges == [("sex", "a"), ("sex", "b")]
    for learner in (
        cl.StructureLearner(max_parents=1, adjust_for=["sex"], inference=QUICK).fit(obs),
        cl.StructureLearner(max_parents=1, adjust_for=["sex"], inference="exact").fit(obs),
        cl.StructureLearner(max_parents=1, adjust_for=["sex"]).fit(paths),
    ):
        p = learner.edge_probabilities_
        assert p[0].tolist() == [0.0, 1.0, 1.0]
        assert not p[:, 0].any()
        assert max(p[1, 2], p[2, 1]) < 0.5
        assert max(len(m) for m in learner.parent_sets_[1]) == 2  # one beside sex
        assert learner.result_.manifest["adjusted_for"] == ["sex"]
    without = cl.StructureLearner(max_parents=1, forbidden=[("sex", "a"), ("sex", "b")]).fit(paths)
    assert without.edge_probabilities_[1, 2] > 0.9  # what adjusting is for


def test_contradictions_are_told():
    names = ["sex", "a", "b"]
    rules = EdgeRules.build(names, 1, None, None, None, None, ["sex"])
    assert rules.allowed == ((), (0, 2), (0, 1))
    assert rules.required == ((), (0,), (0,))
    assert [rules.limit(i) for i in range(3)] == [0, 2, 2]
    for bad, words in (
        ({"adjust_for": ["age"]}, ["adjust_for", "'age'", "known"]),
        ({"adjust_for": "sex"}, ["adjust_for", "list"]),
        ({"adjust_for": ["sex"], "required": [("a", "sex")]}, ["'a' -> 'sex'", "adjust_for"]),
        ({"adjust_for": ["sex"], "forbidden": [("sex", "b")]}, ["'sex' -> 'b'", "forbidden", "adjust_for"]),
    ):
        with pytest.raises(cl.CtbnlearnError) as caught:
            cl.StructureLearner(**bad).fit(confounded(3))
        assert all(word in str(caught.value) for word in words)
    assert EdgeRules.build(names, None, None, None, [("a", "b")], None, None, [0, 2]).exogenous == (0,)


def clamped(n=150, seed=0):
    """X drives y, and is now and then set from outside to what y is: ignoring that, y seems to drive x."""
    rng = np.random.default_rng(seed)
    rows, set_ = [], []
    for k in range(n):
        x, y, t, held, end = 0, 0, 0.0, 0.0, 8.0
        grid = iter([*np.sort(rng.uniform(0, end, 24)), np.inf])
        look = next(grid)
        while t < end:
            free = t >= held
            rate = np.array([0.4 * free, 1.0 if x != y else 0.2, 1.0 * free])  # x moves, y moves, x is set
            step = rng.exponential(1 / rate.sum())
            then = min(t + step, end if free else held)
            while look < then:
                rows.append((k, look, x, y))
                look = next(grid)
            jump, t = then == t + step, then
            if not jump:
                continue
            which = rng.choice(3, p=rate / rate.sum())
            if which == 0:
                x = 1 - x
            elif which == 1:
                y = 1 - y
            else:
                x, held = y, min(t + 0.5, end)
                set_.append((k, t, held, "x"))
    table = pa.table(dict(zip(("id", "time", "x", "y"), map(list, zip(*rows)))))
    return table, pa.table(dict(zip(("id", "start", "end", "variable"), map(list, zip(*set_)))))


def test_moves_from_outside_do_not_speak_for_parents(recwarn):
    table, set_ = clamped()
    obs = cl.read_table(table, trajectory="id", start=0.0, end=8.0)
    ignored = cl.StructureLearner(inference=QUICK).fit(obs).edge_probabilities_
    learner = cl.StructureLearner(inference=QUICK).fit(obs, interventions=set_)
    told = learner.edge_probabilities_
    assert ignored[1, 0] > 0.99  # wrong, and sure of it
    assert told[1, 0] < 0.5
    assert told[0, 1] > 0.99
    assert learner.result_.manifest["data"]["interventions"] == set_.num_rows
    both = cl.read_table(table, trajectory="id", start=0.0, end=8.0, interventions=set_)
    assert len(both.interventions) == set_.num_rows
    few = both.select([3, 1])
    assert len(few.interventions) == sum(k in (1, 3) for k in set_["id"].to_pylist())
    rates = [r["mean"] for r in learner.result_.rates("x")]
    assert rates == pytest.approx([0.4, 0.4], rel=0.25)  # as it moves by itself


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"variable": ["z"]}, ["row 0", "'variable'", "no variable 'z'"]),
        ({"id": [99]}, ["row 0", "no trajectory '99'"]),
        ({"value": [7]}, ["'value'", "no state 7", "0, 1"]),
        ({"start": ["2020-01-01"], "end": ["2020-01-02"]}, ["dates", "numbers"]),
        ({"other": [1]}, ["columns trajectory", "start, end and variable"]),
        ({"id": [0, 0], "start": [0.0, 0.5], "end": [1.0, 2.0], "variable": ["x", "x"]}, ["row 1", "overlaps"]),
    ],
)
def test_bad_interventions(change, words):
    rows = pa.table({"id": [0, 0, 1], "time": [0.0, 3.0, 0.0], "x": [0, 1, 0], "y": [1, 0, 1]})
    obs = cl.read_table(rows, trajectory="id")
    table = {"id": [0], "start": [0.0], "end": [1.0], "variable": ["x"], **change}
    with pytest.raises(cl.CtbnlearnError) as caught:
        obs.with_interventions(pa.table(table))
    for word in words:
        assert word in str(caught.value)


def test_interventions_where_they_cannot_be_used():
    table, set_ = clamped(4)
    obs = cl.read_table(table, trajectory="id", interventions=set_)
    with pytest.raises(cl.CtbnlearnError, match="inference to sampling"):
        cl.StructureLearner(inference="star").fit(obs)
    with pytest.raises(cl.CtbnlearnError, match="StructureLearner"):
        cl.StructuralEM().fit(obs)
    with pytest.raises(cl.CtbnlearnError, match="complete data"):
        cl.StructureLearner().fit(confounded(3), interventions=set_)


def test_neighbouring_transitions_only(recwarn):
    rng = np.random.default_rng(0)
    rows = pa.table(
        {
            "id": np.repeat(np.arange(30), 6),
            "time": np.tile(np.arange(6.0), 30),
            "stage": np.array(["mild", "moderate", "severe"])[rng.integers(0, 3, 180)],
            "b": rng.integers(0, 2, 180),
        }
    )
    order = {"stage": ["mild", "moderate", "severe"]}
    obs = cl.read_table(rows, trajectory="id", ordered=order)
    learner = cl.StructureLearner(transitions={"stage": "adjacent"}, inference=cl.Sampling(sweeps=30, chains=1)).fit(
        obs
    )
    seen = {(r["from"], r["to"]) for r in learner.result_.rates("stage")}
    assert seen == {("mild", "moderate"), ("moderate", "mild"), ("moderate", "severe"), ("severe", "moderate")}
    with pytest.raises(cl.CtbnlearnError, match=r"have no order.*ordered="):
        cl.StructureLearner(transitions={"stage": "adjacent"}).fit(cl.read_table(rows, trajectory="id"))

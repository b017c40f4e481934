"""What long work tells of itself, and how long it says that it will take."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning

import ctbnlearn as cl
from ctbnlearn.learn import block_fit, noise_alone
from ctbnlearn.learn.progress import Progress
from ctbnlearn.learn.remaining import Countdown, rounds_left, seconds_left


def observations(n_trajectories=30, seed=1):
    net = cl.random_network(3, 1, rng=seed)
    return cl.observe(cl.simulate(net, n_trajectories, horizon=4.0, rng=seed), n_times=8, rng=seed)


@pytest.mark.parametrize(
    ("sizes", "small", "expected"),
    [
        ([], 1.0, None),
        ([32.0], 1.0, None),  # too early
        ([1.0, 1.5], 1.0, None),  # it grows
        ([32.0, 16.0], 1.0, 4),
        ([64.0, 128.0, 32.0, 16.0], 1.0, 6),  # falls by 2 ** (2 / 3) a round
        ([999.0, 64.0, 32.0, 16.0, 8.0], 1.0, 3),  # what was long ago does not count
        ([2.0, 1.0, 0.9], 1.0, 0),
        ([2.0, 1.0], 0.0, None),
    ],
)
def test_rounds_left(sizes, small, expected):
    assert rounds_left(sizes, small) == expected


def test_seconds_left():
    ends = [0.0, 100.0, 110.0, 120.0, 130.0]
    assert seconds_left([3, 5], 50, ends) == 50.0
    assert seconds_left([3, 5], 2, ends) == 20.0
    assert seconds_left([0, 0], 50, ends) == 10.0  # EM goes on, so that there is a round at least
    assert seconds_left([0, 0], 0, ends) == 0.0
    assert seconds_left([3, None], 50, ends) is None
    assert seconds_left([3, 5], 50, [1.0]) is None


def test_estimates_that_jump_are_told_without_jumps():
    """Rounds of a second, twenty of them; every estimate is off by a factor of two, up or down."""
    countdown, told = Countdown(), []
    for k in range(1, 20):
        told.append(countdown.shown((20 - k) * (2.0 if k % 2 else 0.5), float(k)))
    off = np.diff(told) + 1.0  # how far a word is from the last one less the second since
    raw = np.diff([(20 - k) * (2.0 if k % 2 else 0.5) for k in range(1, 20)]) + 1.0
    assert np.abs(off).max() < 0.45 * np.abs(raw).max()
    assert abs(told[-1] - 1.0) < 1.0


def test_steps_bear_a_countdown_and_the_last_none(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    events = []
    progress = Progress(events.append)
    progress.tell("start", "beginning")
    for clock[0], k, left in ((10.0, 1, 60.0), (20.0, 2, 80.0), (30.0, 3, None), (40.0, 4, 80.0)):
        progress.count("rounds", f"round {k}", k, 4, left)
    progress.count("rounds", "round 1", 1, 4, 40.0, at_most=True)  # of the next start
    assert [event.left for event in events] == [None, 60.0, 60.0, 50.0, 0.0, 40.0]
    assert [event.text for event in events] == [
        "beginning",
        "round 1; about 60 s left",
        "round 2; about 60 s left",
        "round 3; about 50 s left",
        "round 4",
        "round 1; at most about 40 s left",
    ]
    assert str(events[1]) == "   10.0 s  round 1; about 60 s left"
    with pytest.raises(dataclasses.FrozenInstanceError):
        events[0].message = "other"


def test_blocks_tell_of_every_round_and_whether_all_has_settled(monkeypatch):
    def told():
        events = []
        learner = cl.StructureLearner(inference="blocks", progress=events.append).fit(observations())
        return learner, events

    learner, events = told()
    assert [event.done for event in events if event.phase == "blocks"] == list(range(learner.n_iter_))
    assert learner.converged_
    assert events[-1].phase == "done"
    whole = block_fit.maximise

    def cut_short(*given, **settings):
        top = whole(*given, **settings)
        return top._replace(settled=np.zeros_like(top.settled))

    monkeypatch.setattr(block_fit, "maximise", cut_short)
    learner, events = told()
    assert not learner.converged_
    assert events[-1].phase == "stopped"


def measured_by_levels(n_levels, events):
    """Blocks on a table with one number of two levels, which is said to have so many."""
    rng, names = np.random.default_rng(0), ["trajectory", "time", "a", "b"]
    rows = [(u, t, rng.normal(5 * rng.integers(2), 0.3), rng.integers(2)) for u in range(40) for t in range(8)]
    table = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    obs = cl.read_table(pa.table(table), trajectory="trajectory", time="time", noise={"a": cl.Levels(n_levels)})
    return cl.StructureLearner(inference="blocks", progress=events.append).fit(obs)


def test_how_values_were_measured_is_part_of_one_fit():
    events = []
    assert measured_by_levels(2, events).converged_
    assert events[0].message == "how a was measured, by sampling without edges"
    assert not any("on an edge" in event.message for event in events), "there are none to agree on"
    assert [event.phase for event in events if event.phase in ("done", "stopped")] == ["done"]
    assert [event.seconds for event in events] == sorted(event.seconds for event in events)


def test_levels_that_chains_do_not_agree_on_are_not_called_converged(monkeypatch):
    events = []
    monkeypatch.setattr(noise_alone, "CHAINS", cl.Sampling(chains=2, sweeps=16))
    monkeypatch.setattr(noise_alone, "AGREED", 1.0)
    with pytest.warns(ConvergenceWarning, match="how values were measured"):
        learner = measured_by_levels(4, events)
    assert not learner.converged_
    assert events[-1].phase == "stopped"
    assert any("how values were measured" in doubt for doubt in learner.result_.manifest["warnings"])

"""Sections on resampled units and on prediction: there when there is something to say, safe with any names."""

from __future__ import annotations

import pytest

from ctbnlearn.errors import ParameterError
from ctbnlearn.report.check_curves import HEIGHT, MARGIN, WIDTH, curve_pictures
from ctbnlearn.report.page import render_page
from report.samples import HOSTILE, small


def with_answers(names):
    content = small(names)
    a, b = content.names[:2]
    row = {"source": a, "target": b, "probability": 0.61, "spread": 0.25, "sign_agreement": None, "all_data": 0.97}
    content.bags, content.n_bags = [row], 20
    point = {"variable": a, "what": f"share of {b}", "seen": 0.5, "simulated": 0.4, "low": 0.2, "high": 0.6}
    content.check = {
        "words": [f"The edges improve prediction of {a}."],
        "n_units": 7,
        "n_folds": 2,
        "engine": "filter",
        "variables": [
            {"variable": a, "values": 9, "score": -0.4, "empty_score": -0.5, "gain": 0.1, "gain_error": 0.02}
        ],
        "moves": [{"variable": b, "pairs": 8, "seen": 3, "predicted": 2.5, "error": 1.1}],
        "calibration": [{"low": 0.0, "high": 0.1, "predicted": 0.05, "seen": 0.06, "values": 12}],
        "curves": [{**point, "time": 0.0}, {**point, "time": 1.0}],
    }
    return content


def test_sections_stand_where_there_is_something_to_say():
    page = render_page(with_answers(["rain", "soil", "growth", "pests", "harvest"]))
    assert "averages over 20 draws" in page
    assert "The edges improve prediction of rain." in page
    assert "+0.1000 ± 0.0200" in page
    assert "2.5 ± 1.1" in page
    assert "kept independent given the\n  past" in page
    bare = render_page(small())
    assert 'id="bags"' not in bare
    assert 'id="check"' not in bare


def test_no_name_breaks_out():
    page = render_page(with_answers(HOSTILE))
    assert "<script>alert(1)</script>" not in page
    assert "</script><b>bold</b>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_an_edge_of_bags_needs_all_its_numbers():
    content = small()
    with pytest.raises(ParameterError, match="spread"):
        type(content)("t", content.names, content.states, content.edge_probabilities, bags=[{"source": "rain"}])


def test_curves_fill_their_picture():
    points = [
        {"variable": "a", "what": "mean", "time": t, "seen": s, "simulated": 1.0, "low": 0.0, "high": 2.0}
        for t, s in ((1.0, -2.0), (3.0, 6.0))
    ]
    (found,) = curve_pictures(points)
    assert found["dots"] == [(MARGIN, HEIGHT - MARGIN), (WIDTH - MARGIN, MARGIN)]
    assert (found["low"], found["high"], found["last"]) == (-2.0, 6.0, 3.0)
    assert len(found["band"].split()) == 4
    assert curve_pictures(points[:1]) == []

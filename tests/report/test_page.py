"""The report page as a file: complete, small enough, escaped, the same every time. tests/browser opens it."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from ctbnlearn.errors import DataError, ParameterError
from ctbnlearn.report.content import ReportContent
from ctbnlearn.report.layout import place
from ctbnlearn.report.marks import as_marks
from ctbnlearn.report.page import render_page, write_page
from report.samples import HOSTILE, large, small


class Reader(HTMLParser):
    """Elements and visible text of a page; the text of scripts and styles apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.text, self.scripts, self.attributes = [], [], [], []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.text.append(data)


def embedded(page: str) -> dict:
    return json.loads(Reader(page).scripts[0])


def test_the_page_is_written_whole(tmp_path):
    path = tmp_path / "report.html"
    write_page(path, small())
    text = path.read_text(encoding="utf-8")
    assert text == render_page(small()), "the same content gives the same page"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.stat().st_size < 2e6
    words = " ".join(Reader(text).text)
    for piece in ("Report on rain", "The fit has not converged.", "Units", "max_parents", "Somebody (2024). soil"):
        assert piece in words
    with pytest.raises(DataError, match="folder"):
        write_page(tmp_path, small())


def test_a_page_fetches_nothing():
    page = render_page(small())
    own = re.sub(
        r"(?s)<script[^>]*>.*?</script>", "", page
    )  # plotly's own text names addresses; the policy forbids them
    assert not re.search(r"(?i)https?://|//[a-z]|src=|<link|<iframe|@import|url\(", own)
    assert "default-src 'none'" in unescape(own)


def test_hostile_names_stay_text():
    page = render_page(small(HOSTILE))
    tame, hostile = Reader(render_page(small())), Reader(page)
    assert hostile.tags == tame.tags, "no label may open or close an element"
    assert hostile.attributes == tame.attributes
    assert len(hostile.scripts) == 3
    words = "".join(hostile.text)
    for name in HOSTILE:
        assert name in words
    data = embedded(page)
    assert data["names"] == list(HOSTILE)
    assert not re.search("[<>&]", hostile.scripts[0])


def test_the_data_are_those_given():
    content = small()
    data = embedded(render_page(content))
    assert data["edges"][0][:3] == [0, 1, 0.99]
    assert data["edges"][0][7] == ["When rain = rain rather than dry: dry → soil 3 times as fast (2 to 4)."]
    assert data["dwell"][0] == [[["dry"], "rain", 0.5]]
    assert data["moves"][:2] == [0.46, None]
    assert data["edges"][-1][3:] == [None, None, None, "", []]
    assert data["heat"]["rows"][1][2] == 550
    assert data["sets"][0] == [[[1], 0.7], [[], 0.3]]
    assert data["rates"][0]["rows"][0] == [["dry"], "dry", "rain", 1.5, 1.0, None]
    assert data["rates"][1] == {"parents": [], "rows": [], "total": 0}
    strip = data["units"][0]["strips"][0]
    assert strip["marks"][0] == [0.5, 1, 1.1, "rain"]
    assert len(strip["share"]) == 1
    assert strip["share"][0][0] == 500


@pytest.mark.parametrize("n", [300, 700])
def test_large_pages_are_cut_and_say_so(n):
    page = render_page(large(n))
    assert len(page.encode()) < 4e6
    words = " ".join(Reader(page).text)
    assert f"The 2,000 most probable of {n * (n - 1):,} edges" in words
    assert ("The 300 of 700 variables" in words) == (n == 700)
    assert "The first 8 of 10 units. The first 12 variables of a unit." in words
    data = embedded(page)
    assert len(data["edges"]) == 2000
    assert len(data["heat"]["rows"]) == 300
    assert data["rates"][0]["total"] == 40


def test_a_single_variable_and_nothing_else():
    page = render_page(ReportContent("One", ["x"], [["a", "b"]], np.zeros((1, 1))))
    data = embedded(page)
    assert data["edges"] == []
    words = " ".join(Reader(page).text)
    assert "Read this first" not in words
    assert "How to cite" not in words
    assert "Trajectories" not in words


def edge(**changes):
    plain = {"source": "a", "target": "b", "probability": 1.0}
    return {**plain, "effect": None, "effect_low": None, "effect_high": None, "sign": None, **changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ["a", "a"]}, "the same name"),
        ({"edge_probabilities": np.zeros((3, 3))}, "must be 2 x 2"),
        ({"states": [["0", "1"]]}, "states: 1 entries for 2 variables"),
        ({"states": {"z": []}}, "states: there is no variable 'z'"),
        ({"edges": [edge(source="z")]}, "edges: there is no variable 'z'"),
        ({"edges": [{"source": "a"}]}, "edges: an entry lacks"),
        ({"parent_sets": [[(("z",), 1.0)], []]}, "parent_sets of 'a': there is no variable 'z'"),
        ({"rates": {"b": [{"from": 0}]}}, "rates of 'b': an entry lacks"),
        ({"objective": [1.0], "phases": ["rates", "rates"]}, "phases: 2 for 1"),
        (
            {
                "trajectories": [
                    {"id": 7, "times": [0.0], "probabilities": {"a": [[1.0]]}, "observations": {}},
                ]
            },
            r"trajectory 7: probabilities of 'a' must have a row per time and a column per state, \(1, 2\)",
        ),
    ],
)
def test_contents_that_do_not_fit_together_are_refused(changes, message):
    fine = {"title": "t", "names": ["a", "b"], "states": [["0", "1"]] * 2, "edge_probabilities": np.zeros((2, 2))}
    ReportContent(**fine)
    with pytest.raises(ParameterError, match=message):
        ReportContent(**{**fine, **changes})


def test_numbers_that_are_not_known_are_left_blank():
    nan = float("nan")
    content = ReportContent(
        "t", ["a", "b"], [["0", "1"]] * 2, np.zeros((2, 2)), edges=[edge(effect=nan, sign=nan), edge(sign="-")]
    )
    data = embedded(render_page(content))
    assert [e[3:7] for e in data["edges"]] == [[None, None, None, ""], [None, None, None, "−"]]


@pytest.mark.parametrize("n", [1, 2, 8, 9, 40, 150])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.3, 1.0])
def test_layouts_keep_nodes_apart_and_do_not_depend_on_chance(n, density):
    linked = np.random.default_rng(n).random((n, n)) < density
    xy = place(linked)
    assert xy.shape == (n, 2)
    assert np.isfinite(xy).all()
    assert (place(linked) == xy).all()
    if n > 1:
        gaps = np.linalg.norm(xy[:, None] - xy, axis=-1) + np.diag(np.full(n, np.inf))
        assert gaps.min() > 0.3


def test_rates_go_by_the_names_of_the_parents_not_by_their_order():
    content = small()
    rows = [{"from": "dry", "to": "rain", "mean": 1.0, "low": 0.5, "high": 2.0}] * 2
    content.rates[0] = [rows[0] | {"parents": {"soil": "a", "pests": "b"}}]
    content.rates[0] += [rows[1] | {"parents": {"pests": "d", "soil": "c"}}]
    rates = embedded(render_page(content))["rates"][0]
    assert rates["parents"] == [1, 3]
    assert [row[0] for row in rates["rows"]] == [["a", "b"], ["c", "d"]]


def test_observations_become_marks():
    marks = as_marks([(0, 1), (1, np.nan), (2, None), (3, 7.25), (2019.503, -1.0)], ["0", "1"], "x")
    assert [(m.time, m.state, m.text) for m in marks] == [(0.0, 1, "1"), (3.0, None, "7.25"), (2019.503, None, "-1")]
    assert [m.height for m in marks] == [1.1, 1.0, 0.0]

"""Figures: drawn on any labels and sizes, on the Axes given, with nothing left behind."""

from __future__ import annotations

import io
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

import ctbnlearn as cl
from ctbnlearn import plot
from ctbnlearn.errors import ParameterError

HOSTILE = ["$x$", "a_b & c", "<script>alert(1)</script>", "$", "_hidden", 'tab\tand "quote"', r"\$5$ \frac{", "n" * 200]


def probabilities(n: int, seed: int = 0) -> np.ndarray:
    matrix = np.random.default_rng(seed).uniform(size=(n, n)) ** 3
    np.fill_diagonal(matrix, 0)
    return matrix


def rendered(ax: Axes) -> bytes:
    """PNG of the whole figure; drawing is where a bad label would fail."""
    file = io.BytesIO()
    ax.get_figure().savefig(file, format="png", dpi=50, metadata={"Software": None})
    return file.getvalue()


def drawn_texts(ax: Axes) -> list[str]:
    """Every text as it appears, that is after matplotlib has undone our escapes."""
    every = [*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()]
    assert not any(t._preprocess_math(t.get_text())[1] for t in every), "a label was read as mathematics"
    return [t._preprocess_math(t.get_text())[0] for t in every]


def figures(names):
    n = len(names)
    times = np.linspace(0, 2, 7)
    states = {name: ["off", "$on$", "_"] for name in names}
    share = {name: np.full((7, 3), 1 / 3) for name in names}
    seen = {name: [(0.5, "$on$"), (1.0, 2.5), (1.5, np.float64(-1))] for name in names}
    yield lambda ax: plot.plot_network(probabilities(n), names, threshold=0.2, ax=ax)
    yield lambda ax: plot.plot_edge_probabilities(probabilities(n), names, ax=ax)
    yield lambda ax: plot.plot_parent_sets([(), names[:1], names], [0.2, 0.5, 0.3], name=names[0], n_sets=2, ax=ax)
    yield lambda ax: plot.plot_trajectory(times, share, states, seen, ax=ax)
    yield lambda ax: plot.plot_rates(np.ones((n, 2, 2)), names[:1] * 2, names, name=names[0], ax=ax)
    yield lambda ax: plot.plot_convergence([-3.0, -2.0, -1.5], ["rates", "rates", "weights"], ax=ax)


@pytest.mark.parametrize("names", [["x"], HOSTILE[:2], HOSTILE, [f"X{i}" for i in range(24)]], ids=len)
@pytest.mark.parametrize("which", range(6))
def test_figures_take_any_labels_and_draw_where_told(names, which):
    draw = list(figures(names))[which]
    settings = dict(mpl.rcParams)
    ax = Figure().add_subplot()
    assert draw(ax) is ax
    drawn_texts(ax)
    own = draw(None)
    assert rendered(own) == rendered(draw(None)), "the same input gives the same picture"
    assert dict(mpl.rcParams) == settings
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_hostile_names_show_letter_by_letter():
    ax = plot.plot_network(probabilities(len(HOSTILE)), HOSTILE)
    texts = drawn_texts(ax)
    for name in ("$x$", "a_b & c", "$", "_hidden", r"\$5$ \frac{", 'tab and "quote"'):
        assert name in texts
    assert "<script>alert(1)</scrip…" in texts


def test_network_draws_the_edges_above_the_threshold():
    matrix = np.array([[0, 0.9, 0.4], [0.8, 0, 0], [0, 0, 0]])
    arrows = {
        threshold: [
            p for p in plot.plot_network(matrix, "abc", threshold=threshold).patches if isinstance(p, FancyArrowPatch)
        ]
        for threshold in (0.3, 0.5, 0.95, 0.0)
    }
    assert {k: len(v) for k, v in arrows.items()} == {0.3: 3, 0.5: 2, 0.95: 0, 0.0: 3}
    thin, wide = sorted(arrows[0.5], key=lambda a: a.get_linewidth())
    assert wide.get_alpha() > thin.get_alpha()
    middle = [a.get_path().vertices[1] for a in arrows[0.5]]  # control points: two directions bow apart
    assert np.linalg.norm(middle[0] - middle[1]) > 0.1


def test_arrows_end_at_the_border_of_the_node():
    ax = plot.plot_network([[0, 1], [0, 0]], ["a", "b"])
    ax.get_figure().canvas.draw()
    (arrow,) = [p for p in ax.patches if isinstance(p, FancyArrowPatch)]
    arrow._dpi_cor = ax.get_figure().dpi / 72  # as a renderer sets it while it draws
    tip = arrow._get_path_in_displaycoord()[0][0].vertices
    centre = ax.transData.transform(ax.collections[0].get_offsets()[1])
    points = 72 / ax.get_figure().dpi * np.linalg.norm(tip - centre, axis=1).min()
    radius = np.sqrt(ax.collections[0].get_sizes()[0]) / 2
    assert radius - 1 < points < radius + 8  # the path ends within an arrowhead's length of the border


def test_network_marks_what_the_truth_has_and_has_not():
    matrix = np.array([[0, 0.9, 0.1], [0.8, 0, 0], [0, 0, 0]])
    ax = plot.plot_network(matrix, "abc", truth=[("a", "b"), ("a", "c")])
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert "not in the truth" in labels
    assert "in the truth, missed" in labels
    assert sum(p.get_linestyle() == "--" for p in ax.patches) == 1


def test_hundred_nodes_do_not_overlap():
    n = 100
    rng = np.random.default_rng(1)
    matrix = np.where(rng.uniform(size=(n, n)) < 0.012, 0.9, 0.0)
    ax = plot.plot_network(matrix, [f"gene{i}" for i in range(n)])
    nodes = ax.collections[0]
    xy = ax.transData.transform(nodes.get_offsets()) * 72 / ax.get_figure().dpi
    gaps = np.linalg.norm(xy[:, None] - xy, axis=-1) + np.diag(np.full(n, np.inf))
    assert gaps.min() > np.sqrt(nodes.get_sizes()[0])
    assert min(t.get_fontsize() for t in ax.texts) >= 5.5


def test_heat_map_has_sources_in_rows():
    matrix = np.array([[0, 0.75], [0.25, 0]])
    ax = plot.plot_edge_probabilities(matrix, ["a", "b"])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("source", "target")
    assert ax.images[0].get_array()[0, 1] == 0.75
    assert {(t.get_position(), t.get_text()) for t in ax.texts} == {((1, 0), "0.75"), ((0, 1), "0.25")}
    few = plot.plot_edge_probabilities(np.zeros((400, 400)), [f"X{i}" for i in range(400)])
    assert [t.get_text() for t in few.get_xticklabels()][:2] == ["X0", "X4"]


def test_parent_sets_share_a_bar_for_the_rest():
    ax = plot.plot_parent_sets([("a",), (), ("b",)], [0.1, 0.7, 0.2], n_sets=1)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["no parents", "2 other sets"]
    assert [p.get_width() for p in ax.patches] == pytest.approx([0.7, 0.3])


def test_convergence_marks_weight_updates():
    ax = plot.plot_convergence([1.0, 2.0, 3.0], ["rates", "weights", "rates"])
    assert [len(c.get_offsets()) for c in ax.collections] == [2, 1]
    assert len(plot.plot_convergence([1.0]).collections) == 1


def test_rates_say_what_is_unknown_and_what_is_left_out():
    rates = np.ones((40, 2, 2))
    rates[0, 0, 1] = np.nan
    ax = plot.plot_rates(rates, [0, 1], [f"p={i}" for i in range(40)])
    assert "the first 36 of 40" in ax.get_title()
    assert "?" in [t.get_text() for t in ax.texts]


def test_edge_scores_are_those_of_the_metrics():
    net = cl.random_network(6, 2, rng=3)
    matrix = probabilities(6)
    roc, pr = plot.plot_edge_scores(net, matrix, net.names)
    scores = cl.edge_scores(net, matrix)
    assert roc.get_title().endswith(f"{scores['auroc']:.3f}")
    assert pr.get_title().endswith(f"{scores['aupr']:.3f}")
    assert list(plot.plot_edge_scores(net, matrix, net.names, ax=(roc, pr))) == [roc, pr]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot.plot_network(np.zeros((2, 3)), "ab"), r"must be 2 x 2 \[source, target\]"),
        (lambda: plot.plot_network([[0, 1.5], [0, 0]], "ab"), "'a' -> 'b' is 1.5; probabilities lie between"),
        (lambda: plot.plot_network([[0, np.nan], [0, 0]], "ab"), "'a' -> 'b' is nan"),
        (lambda: plot.plot_network(np.zeros((2, 2)), "ab", threshold=2), "threshold must be a number between 0 and 1"),
        (lambda: plot.plot_network(np.zeros((2, 2)), "ab", ax=3), "ax must be a matplotlib Axes"),
        (lambda: plot.plot_network(np.zeros((0, 0)), []), "0 names"),
        (lambda: plot.plot_parent_sets([("a",)], [0.5, 0.5]), "one each"),
        (lambda: plot.plot_parent_sets([("a",)], [np.nan]), "finite and not negative"),
        (lambda: plot.plot_convergence([]), "one number per step"),
        (lambda: plot.plot_convergence([1.0], []), "but 0 phases"),
        (lambda: plot.plot_rates(np.ones((2, 2, 2)), "ab"), "what each of the 2 matrices is for"),
        (lambda: plot.plot_rates(np.ones((2, 3, 3)), "ab"), "as there are 2 states"),
        (lambda: plot.plot_trajectory([], {}, {}), "at least one time and one variable"),
        (lambda: plot.plot_trajectory([0.0], {"a": [[1, 0]]}, {}), "no labels for 'a'"),
        (lambda: plot.plot_trajectory([0.0], {"a": [[1]]}, {"a": "xy"}), r"probabilities of 'a' must be \(1, 2\)"),
        (
            lambda: plot.plot_trajectory([0.0], {"a": [[1, 0]]}, {"a": "xy"}, {"a": [(0.0, "z")]}),
            "'z' at time 0 is neither one of its states",
        ),
        (lambda: plot.plot_edge_scores(np.zeros((2, 2)), np.zeros((2, 2)), "ab"), "0 of 2 possible edges"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_figures_load_on_first_use_only():
    code = "import ctbnlearn, sys; print(*[m for m in ('jax', 'matplotlib', 'plotly', 'jinja2') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


@pytest.fixture(scope="module")
def learned():
    net = cl.random_network(4, coupling=-0.8, rng=5)
    return cl.StructureLearner(max_parents=2).fit(cl.simulate(net, 200, n_transitions=10, rng=1)).result_


def test_figures_take_a_result(learned):
    alone = plot.plot_edge_probabilities(learned)
    given = plot.plot_edge_probabilities(learned.edge_probabilities, learned.names)
    assert [t.get_text() for t in alone.texts] == [t.get_text() for t in given.texts]
    name = learned.names[0]
    assert plot.plot_parent_sets(learned, name=name).get_title() == f"Parents of {name}"
    assert plot.plot_rates(learned, name=name).get_title() == f"Rates of {name}"
    assert plot.plot_convergence(learned).get_xlabel() == "step"


def test_arrows_of_a_result_are_coloured_by_sign(learned):
    from matplotlib.colors import to_hex

    from ctbnlearn.report.network import SIGNED

    ax = plot.plot_network(learned)
    edges = [e for e in learned.edges.to_pylist() if e["probability"] >= 0.5]
    arrows = [p for p in ax.patches if isinstance(p, FancyArrowPatch)]
    assert sorted(to_hex(a.get_edgecolor()) for a in arrows) == sorted(SIGNED[e["sign"]] for e in edges)
    assert {e["sign"] for e in edges} >= {"+"} or {e["sign"] for e in edges} >= {"-"}
    assert len(ax.get_legend().get_texts()) == len({e["sign"] for e in edges}) + 1


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda r: plot.plot_rates(r, name="nobody"), "say which variable is drawn"),
        (lambda r: plot.plot_trajectory(r), "holds no units"),
        (lambda r: plot.plot_network(r.edge_probabilities), "names"),
        (lambda r: plot.plot_rates(np.ones((1, 2, 2))), "states"),
        (lambda r: plot.plot_trajectory([0.0]), "probabilities and states"),
    ],
)
def test_figures_say_what_is_missing(learned, draw, message):
    with pytest.raises(ParameterError, match=message):
        draw(learned)

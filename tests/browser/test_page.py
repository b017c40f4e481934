"""The report page in a real browser: Debian's Chromium, headless. Run by `make test-browser`."""

from __future__ import annotations

import pytest

from browser.window import requests, show, wait
from ctbnlearn.report.content import ReportContent
from ctbnlearn.report.page import write_page
from report.samples import HOSTILE, large, small

pytestmark = pytest.mark.browser
WIDTHS = (1280, 400)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages looked at, by name."""
    folder = tmp_path_factory.mktemp("pages")
    contents = {
        "small": small(),
        "hostile": small(HOSTILE),
        "large": large(300),
        "single": ReportContent("One", ["x"], [["a", "b"]], [[0.0]]),
    }
    for name, content in contents.items():
        write_page(folder / f"{name}.html", content)
    return {name: folder / f"{name}.html" for name in contents}


def arrows(browser) -> int:
    """Arrowheads in the drawing itself."""
    return browser.execute_script(
        "const traces = [...document.querySelectorAll('#network-plot .scatterlayer .trace')];"
        "const heads = traces.find((trace) => trace.__data__[0].trace.name === 'heads');"
        "return heads ? heads.querySelectorAll('path.point').length : 0;"
    )


def slide(browser, value: float) -> str:
    """Move the slider; what the page then says about the number of edges."""
    browser.execute_script(
        "const s = document.getElementById('threshold'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));",
        value,
    )
    return browser.execute_script("return document.getElementById('edge-count').textContent")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["small", "hostile", "large", "single"])
def test_pages_load_clean_and_fit(browser, pages, name, width):
    show(browser, pages[name], width)
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    addresses = [address for address in requests(browser) if not address.startswith(("data:", "blob:"))]
    assert addresses == [pages[name].as_uri()]
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    wide = browser.execute_script(
        "return [...document.querySelectorAll('h1, h2, p, .box, .plot, select, input, .legend li')]"
        ".filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert wide == []


def test_the_slider_changes_the_edges_drawn(browser, pages):
    show(browser, pages["small"])
    found = {}
    for value in (0.0, 0.3, 0.5, 0.6, 0.9, 1.0):
        words = slide(browser, value)
        found[value] = arrows(browser)
        assert words.startswith(f"{found[value]} edge" if found[value] else "No edge"), words
    assert found == {0.0: 4, 0.3: 4, 0.5: 3, 0.6: 2, 0.9: 1, 1.0: 0}
    show(browser, pages["large"])
    slide(browser, 0.9)
    few = arrows(browser)
    slide(browser, 0.0)
    assert 0 < few < arrows(browser) == 2000


def test_hostile_names_show_as_text_and_run_nothing(browser, pages):
    from selenium.common.exceptions import NoAlertPresentException

    show(browser, pages["hostile"])
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert.text
    seen = browser.execute_script(
        "return [document.querySelector('h1').textContent,"
        "  [...document.querySelectorAll('#edge-table td:nth-child(-n + 2)')].map((e) => e.textContent),"
        "  [...document.querySelectorAll('#variable option')].map((e) => e.textContent),"
        "  [...document.querySelectorAll('#network-plot .textpoint')].map((e) => e.textContent),"
        "  [...document.querySelectorAll('#unit-plot .ytick')].map((e) => e.textContent),"
        "  document.querySelectorAll('main script, main img, main b').length]"
    )
    title, cells, options, nodes, strips, elements = seen
    assert title == f"Report on {HOSTILE[0]}"
    assert set(cells) == set(HOSTILE)
    assert options == list(HOSTILE)
    for shown in (nodes, strips):
        assert len(shown) == 5
        for name, text in zip(HOSTILE, sorted(shown, key=lambda t: [n[:5] for n in HOSTILE].index(t[:5]))):
            assert text == name or (text.endswith("…") and name.startswith(text[:-1]))
    assert elements == 0


def test_pointing_at_a_node_tells_its_parents_and_rates(browser, pages):
    show(browser, pages["hostile"])
    browser.execute_script(
        "const plot = document.getElementById('network-plot');"
        "Plotly.Fx.hover(plot, [{curveNumber: plot.data.length - 1, pointNumber: 0}]);"
    )
    wait(lambda: browser.execute_script("return !!document.querySelector('.hoverlayer .hovertext')"), "hovered")
    text = browser.execute_script("return document.querySelector('.hoverlayer .hovertext').textContent")
    assert HOSTILE[0] in text
    assert f"driven by {HOSTILE[1]}: probability 0.720" in text
    assert "Rates" in text
    assert ": 1.5 if" in text


def click(browser, trace: str, point: int) -> None:
    """Click a point of the network, as plotly tells the page."""
    browser.execute_script(
        "const plot = document.getElementById('network-plot');"
        "const t = plot.data.find((trace) => trace.name === arguments[0]);"
        "plot.emit('plotly_click', {points: [{customdata: t.customdata[arguments[1]]}]});",
        trace,
        point,
    )


def in_view(browser, selector: str) -> bool:
    return browser.execute_script(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return box.bottom > 0 && box.top < innerHeight;",
        selector,
    )


def test_clicking_an_edge_goes_to_its_sentence(browser, pages):
    show(browser, pages["small"])
    click(browser, "middles", 0)
    wait(lambda: in_view(browser, "#edge-table tr.chosen"), "scrolled to the edge")
    cells = browser.execute_script(
        "return [...document.querySelector('#edge-table tr.chosen').cells].map((e) => e.textContent)"
    )
    assert cells[:3] == ["rain", "soil", "0.990"]
    assert cells[3] == "When rain = rain rather than dry: dry → soil 3 times as fast (2 to 4)."
    click(browser, "nodes", 2)
    wait(lambda: in_view(browser, "#variable"), "scrolled to the variable")
    assert browser.execute_script("return document.getElementById('variable').value") == "2"
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_arrows_have_the_colours_of_the_legend(browser, pages):
    show(browser, pages["small"])
    slide(browser, 0.0)
    colours = browser.execute_script(
        "const plot = document.getElementById('network-plot');"
        "return plot.data.find((t) => t.name === 'heads').marker.color.map((c) => c.split(',').slice(0, 3).join(','))"
    )
    up, down = browser.execute_script(
        "return ['.up', '.down'].map((c) => getComputedStyle(document.querySelector('.legend ' + c)).backgroundColor)"
    )
    signs = browser.execute_script(
        "return [...document.querySelectorAll('#edge-table tbody tr')].slice(0, 4).map((r) => r.lastChild.textContent)"
    )
    wanted = [{"+": up, "−": down}[sign] for sign in signs]
    assert [c.replace("rgba", "rgb") + ")" for c in colours] == wanted


def test_tables_are_not_clipped_on_a_desk(browser, pages):
    show(browser, pages["small"], 1400)
    clipped = browser.execute_script(
        "return [...document.querySelectorAll('.box')].filter((e) => e.scrollWidth > e.clientWidth + 1)"
        ".map((e) => e.innerHTML.slice(0, 60))"
    )
    assert clipped == []


def test_choosing_a_variable_and_filtering_edges(browser, pages):
    show(browser, pages["small"])
    choose = (
        "const s = document.getElementById('variable'); s.value = arguments[0]; s.dispatchEvent(new Event('change'));"
        "return [...document.querySelectorAll('#set-table tbody td:first-child')].map((e) => e.textContent)"
    )
    assert browser.execute_script(choose, 2) == ["pests", "no parents"]
    assert browser.execute_script(choose, 4) == ["rain", "no parents"]
    listed = browser.execute_script(
        "const f = document.getElementById('filter'); f.value = 'HARV'; f.dispatchEvent(new Event('input'));"
        "return [...document.querySelectorAll('#edge-table tbody tr')].filter((r) => r.offsetParent).length"
    )
    assert listed == 8
    heading = browser.execute_script("return document.getElementById('edge-note').textContent")
    assert heading.startswith("8 edges listed.")


def test_a_dark_page_has_light_letters(browser, pages):
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        show(browser, pages["small"])
        ink, label = browser.execute_script(
            "return [getComputedStyle(document.body).color,"
            " getComputedStyle(document.querySelector('#network-plot .textpoint text')).fill]"
        )
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert ink == label == "rgb(228, 233, 238)"

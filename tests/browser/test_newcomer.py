"""A newcomer, from a fresh clone to the report of the first tutorial in a browser. Run by `make newcomer`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from browser.window import requests, show, wait

ROOT = Path(__file__).parents[2]
EDGE = ("smoker", "crp")
SENTENCE = "When smoker = yes rather than no: low → high "


@pytest.fixture
def folder():
    """An empty folder that is gone afterwards: an environment is too large to be kept, as pytest would."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.newcomer
def test_a_newcomer_gets_from_a_clone_to_an_answer(browser, folder):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.select import Select

    done = subprocess.run([sys.executable, ROOT / "scripts" / "newcomer.py", folder], check=False)
    assert done.returncode == 0, "a command of the README or the tutorial failed; the lines above say which"
    show(browser, folder / "ctbnlearn" / "docs" / "tutorials" / "clinic" / "report.html")

    def script(code, *arguments):
        return browser.execute_script(code, *arguments)

    x, y = script(
        "const plot = document.getElementById('network-plot'), layout = plot._fullLayout;"
        "plot.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const at = (name) => { const nodes = plot.data.find((t) => t.name === 'nodes');"
        "  const k = [...document.querySelectorAll('#variable option')].findIndex((o) => o.text === name);"
        "  return [layout.xaxis.d2p(nodes.x[k]), layout.yaxis.d2p(nodes.y[k])]; };"
        "const [a, b] = [...arguments].map(at), box = plot.getBoundingClientRect();"
        "return [box.left + layout._size.l + (a[0] + b[0]) / 2, box.top + layout._size.t + (a[1] + b[1]) / 2];",
        *EDGE,
    )
    pointer = ActionChains(browser)
    pointer.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    pointer.perform()
    wait(lambda: script("return !!document.querySelector('.hoverlayer .hovertext')"), "telling of the edge pointed at")
    ActionChains(browser).click().perform()
    wait(lambda: script("return !!document.querySelector('#edge-table tr.chosen')"), "showing the edge clicked")
    row = browser.find_element(By.CSS_SELECTOR, "#edge-table tr.chosen")
    cells = [cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
    assert (*cells[:2], cells[3][: len(SENTENCE)]) == (*EDGE, SENTENCE)
    seen = "const box = arguments[0].getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight"
    wait(lambda: script(seen, row), "scrolled to the edge")

    drawn = "return document.querySelector('#unit-plot .scatterlayer').innerHTML"
    before, units = script(drawn), Select(browser.find_element(By.ID, "unit"))
    units.select_by_index(len(units.options) - 1)
    wait(lambda: script(drawn) != before, "showing the unit chosen")

    assert [entry["message"] for entry in browser.get_log("browser")] == []
    assert [address for address in requests(browser) if not address.startswith(("file:", "data:", "blob:"))] == []

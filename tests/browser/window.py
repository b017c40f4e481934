"""What is done with a page in a browser, whatever the page."""

from __future__ import annotations

import json
import time
from pathlib import Path


def show(browser, page: Path, width: int = 1280) -> None:
    """Open a page at a width, wait until it is drawn, and make sure that nothing went wrong on the way."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(page.as_uri())
    wait(lambda: browser.execute_script("return document.documentElement.dataset.ready === 'yes'"), "drawn")


def wait(condition, what: str) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, f"the page was not {what} within a minute"
        time.sleep(0.05)


def requests(browser) -> list[str]:
    """Addresses the page has asked for."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

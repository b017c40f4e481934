"""The report as one HTML file that needs nothing else: no server, no network, no other file."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
from functools import cache
from importlib.resources import files

from ctbnlearn.data.clock import per_unit
from ctbnlearn.data.files import write_atomic
from ctbnlearn.report.check_curves import curve_pictures
from ctbnlearn.report.content import ReportContent
from ctbnlearn.report.payload import as_script, payload

# only the page's own two scripts may run, and nothing may be fetched, whatever a label contains
_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "style-src 'unsafe-inline'; img-src data: blob:; script-src "
)

_TAME = str.maketrans("<>&", ".,/")


def write_page(path: str | os.PathLike[str], content: ReportContent) -> None:
    """Write the report page; it appears complete or not at all.

    Parameters
    ----------
    path
        The HTML file to write, e.g. "report.html".
    content
        What the report says.
    """
    write_atomic(path, render_page(content))


def render_page(content: ReportContent) -> str:
    """The page as text; the same content gives the same page."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    from ctbnlearn import __version__

    values = payload(content)
    packed, length, fingerprint = _plotly()
    script = _asset("page.js")
    templates = Environment(
        loader=FunctionLoader(_asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return templates.get_template("page.html").render(
        content=content,
        notes=values["notes"],
        n_units=len(values["units"]),
        data=Markup(as_script(values)),
        style=Markup(_asset("page.css")),
        plotly=Markup(packed),
        length=length,
        script=Markup(script),
        policy=f"{_POLICY}{fingerprint} {_fingerprint(script)}",
        version=__version__,
        per_unit=per_unit(content.time_unit),
        curves=curve_pictures(content.check.get("curves", ())),
    )


@cache
def _plotly() -> tuple[str, int, str]:
    """Plotly's script, packed to two fifths of its size; the bytes that unpack to; and what lets it run once unpacked.

    Packed is gzip, then base 85 in letters that mean nothing in HTML.
    """
    from plotly.offline import get_plotlyjs

    script = get_plotlyjs().replace("\r\n", "\n")
    packed = gzip.compress(script.encode(), 9, mtime=0)
    letters = base64.b85encode(packed, pad=True).decode().translate(_TAME)
    return letters, len(packed), _fingerprint(script)


def _asset(name: str) -> str:
    return (files("ctbnlearn.report") / name).read_text(encoding="utf-8")


def _fingerprint(script: str) -> str:
    """Source expression of the content security policy that allows this script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"

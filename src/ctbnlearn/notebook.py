"""HTML for notebooks: a heading, notes and a table. Labels stay text whatever they contain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def page_part(
    heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]], notes: Sequence[str] = (), empty: str = ""
) -> str:
    """A heading, notes and a table; `empty` stands in place of a table without rows.

    Examples
    --------
    >>> page_part("Two", ["name"], [["<b>"]])
    '<p><strong>Two</strong></p><table><thead><tr><th>name</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else f"<p>{escape(empty)}</p>"
    listed = "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>" if notes else ""
    return f"<p><strong>{escape(heading)}</strong></p>{listed}{table}"

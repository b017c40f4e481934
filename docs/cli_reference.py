"""The directive `cli-reference`: the help of every command, as the command line prints it."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive


class CliReference(Directive):
    """One section per command, with its help."""

    def run(self) -> list[nodes.Node]:
        """Sections with literal blocks."""
        from typer.main import get_command
        from typer.testing import CliRunner

        from ctbnlearn.cli.app import app

        out: list[nodes.Node] = []
        for name in sorted(get_command(app).commands):
            text = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "100"}).output
            section = nodes.section(ids=[f"ctbnlearn-{name}"], names=[f"ctbnlearn {name}"])
            section += nodes.title(text=f"ctbnlearn {name}")
            section += nodes.literal_block(text.strip(), text.strip(), language="text")
            out.append(section)
        return out


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("cli-reference", CliReference)
    return {"parallel_read_safe": True}

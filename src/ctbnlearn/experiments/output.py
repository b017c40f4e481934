"""What an experiment leaves: tables as CSV, the figure as PNG and SVG, the comparison as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ctbnlearn import __version__
from ctbnlearn.data.files import write_atomic
from ctbnlearn.errors import DataError
from ctbnlearn.experiments.comparison import Comparison
from ctbnlearn.experiments.frame import Experiment, Options, Store, run_plan, silent
from ctbnlearn.experiments.rows import Cell, Tables, to_csv


def conduct(
    experiment: Experiment,
    options: Options,
    out: Path,
    *,
    jobs: int = 1,
    say: Callable[[int, int, Cell | None], None] = silent,
) -> tuple[Comparison, list[Path]]:
    """Run an experiment and write its files; returns the comparison and the files.

    Parameters
    ----------
    experiment, options
        What to run.
    out
        Folder of the files and of finished cells; what was finished there is not computed again.
    jobs, say
        As in `run_plan`.
    """
    experiment.check(options)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DataError(f"{out}: cannot make this folder ({problem.strerror}); choose another --out") from None
    tables = run_plan(experiment, options, Store(out, experiment.name), jobs=jobs, say=say)
    compared = experiment.compare(tables)
    return compared, write_files(experiment, options, tables, compared, out)


def write_files(
    experiment: Experiment, options: Options, tables: Tables, compared: Comparison, out: Path
) -> list[Path]:
    """Write NAME.csv (and NAME-TABLE.csv for further tables), NAME.png, NAME.svg and NAME.md."""
    from matplotlib import rc_context

    files = []

    def put(suffix: str, content: Any) -> None:
        files.append(out / f"{experiment.name}{suffix}")
        write_atomic(files[-1], content)

    for name, rows in tables.items():
        put(".csv" if name == "scores" else f"-{name}.csv", to_csv(rows))
    figure = experiment.draw(tables)
    put(".png", lambda path: figure.savefig(path, format="png", dpi=110))
    with rc_context({"svg.hashsalt": experiment.name}):  # the same numbers give the same file
        put(".svg", lambda path: figure.savefig(path, format="svg", metadata={"Date": None}))
    put(".md", page(experiment, options, compared))
    return files


def page(experiment: Experiment, options: Options, compared: Comparison) -> str:
    """The comparison as a Markdown page with the figure and the settings that made it."""
    settings = {
        "command": f"ctbnlearn experiment {experiment.name}"
        + (" --quick" if options.quick else "")
        + (f" --data {options.data.name}" if options.data else "")
        + (" --peers" if options.peers else ""),
        "version": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        **compared.settings,
    }
    note = "\nA quick run: few cells and a coarse time grid. Its figures show that it works, no more.\n"
    lines = [
        f"# {experiment.title}",
        note if options.quick else "",
        compared.to_markdown(),
        "",
        f"![{experiment.title}]({experiment.name}.png)",
        "",
        "## Settings",
        "",
        *(f"- {key}: {value}" for key, value in settings.items()),
    ]
    return "\n".join(lines) + "\n"

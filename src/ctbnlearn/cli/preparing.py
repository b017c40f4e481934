"""`ctbnlearn prepare`: the rows of every trajectory together, in files that are read by parts."""

from __future__ import annotations

from pathlib import Path

from ctbnlearn.cli.progress import ProgressLines, visible
from ctbnlearn.cli.reading import is_scan, resolve_columns
from ctbnlearn.data.prepare import prepare_table
from ctbnlearn.errors import ParameterError


def run_prepare(data: Path, out: Path, trajectory: str | None, time: str | None, rows: int, quiet: bool) -> int:
    """Rewrite a table."""
    options = {key: value for key, value in (("trajectory", trajectory), ("time", time)) if value is not None}
    with ProgressLines(quiet) as progress:
        columns = resolve_columns(data, options, progress.note)
        if columns.get("trajectory") is None:
            raise ParameterError(f"{data}: say which column names the trajectory of a row, with --trajectory")
        progress.phase(f"reading {data}" + (" and what is in it" if is_scan(data) else ""))
        files = prepare_table(data, out, trajectory=columns["trajectory"], time=columns["time"], rows=rows)
        progress.note(f"{len(files)} files written to {visible(out)}")
    return 0

"""`ctbnlearn experiment`: run a figure or table of the paper."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from ctbnlearn.cli import Interrupted
from ctbnlearn.cli.cache import use_cache
from ctbnlearn.cli.progress import EVERY, ProgressLines, visible
from ctbnlearn.errors import ParameterError
from ctbnlearn.locks import FolderLock


def run_experiment(
    name: str, quick: bool, data: Path | None, out: Path | None, jobs: int, peers: bool, quiet: bool
) -> int:
    """Run an experiment, write its files, and print the comparison."""
    from ctbnlearn.experiments.catalogue import load
    from ctbnlearn.experiments.frame import Options
    from ctbnlearn.experiments.output import conduct

    experiment = load(name)
    folder = Path(f"ctbnlearn-{name}") if out is None else out
    if jobs > (os.cpu_count() or 1):
        raise ParameterError(f"--jobs {jobs}: this machine has {os.cpu_count()} cores; ask for at most that many")
    with ProgressLines(quiet) as progress:
        finished, spoke = 0, -EVERY

        def say(done: int, total: int, cell: dict[str, Any] | None) -> None:
            nonlocal finished, spoke
            finished = done
            if cell is None:
                kept = f", {done} kept from before" if done else ""
                progress.phase(f"{name}: {total} cells{kept}")
            elif progress.live is not None or done == total or time.monotonic() - spoke > EVERY:
                spoke = time.monotonic()
                progress.phase(f"{name}: {done} of {total} cells")

        try:
            options = Options(quick, data, peers)
            if not experiment.timed:  # what was compiled before would flatter it
                use_cache()
            with FolderLock(folder, "the cells of an experiment"):
                compared, files = conduct(experiment, options, folder, jobs=jobs, say=say)
        except KeyboardInterrupt:
            raise Interrupted(
                f"interrupted; {finished} finished cells are kept in {folder}: the same command goes on from there"
            ) from None
    if not quiet:
        print(visible_lines(compared.to_markdown()))
        print(f"written to {visible(folder)}: {', '.join(file.name for file in files)}")
    return 0


def visible_lines(text: str) -> str:
    """Text of several lines for a terminal."""
    return "\n".join(map(visible, text.splitlines()))

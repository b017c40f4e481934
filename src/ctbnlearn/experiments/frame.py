"""What an experiment is, and how one is run: cell by cell, resumable, in one or several processes.

A cell is a dictionary of settings that says all there is to know about one piece of the work. Its rows are kept in
`OUT/cells/` under a name made of the settings and the version of the package, written in one go; a cell that is there
is not computed again.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ctbnlearn import __version__
from ctbnlearn.data.files import write_atomic
from ctbnlearn.errors import DataError, ParameterError
from ctbnlearn.execute.local import Processes
from ctbnlearn.experiments.rows import Cell, Tables, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ctbnlearn.experiments.comparison import Comparison


@dataclass(frozen=True)
class Options:
    """What the user asked for.

    Attributes
    ----------
    quick
        A small plan that ends within a minute.
    data
        File or folder of measured data, for the experiments that need it.
    peers
        Run other packages beside ours where the experiment knows how.
    """

    quick: bool = False
    data: Path | None = None
    peers: bool = False


@dataclass(frozen=True)
class Experiment:
    """One figure or table.

    Attributes
    ----------
    name, title
        As in `catalogue`, and the heading of what is written.
    plan
        Options to cells.
    run
        A cell and the options to tables of rows, at least one named "scores".
    draw
        All tables to a figure.
    compare
        All tables to a table and claims of the paper set beside our numbers.
    needs
        What `--data` must name, for the error when it is missing; empty where no data are needed.
    timed
        Whether the cells measure time: then they run one at a time.
    with_peers
        Whether `--peers` means something.
    """

    name: str
    title: str
    plan: Callable[[Options], list[Cell]]
    run: Callable[[Cell, Options], Tables]
    draw: Callable[[Tables], Figure]
    compare: Callable[[Tables], Comparison]
    needs: str = ""
    timed: bool = False
    with_peers: bool = False

    def check(self, options: Options) -> None:
        """Raise where the options do not fit."""
        if self.needs and options.data is None:
            raise ParameterError(f"experiment {self.name} needs --data: {self.needs}")
        if options.data is not None:
            if not self.needs:
                raise ParameterError(f"experiment {self.name} simulates its data; leave --data out")
            if not options.data.exists():
                raise DataError(f"{options.data}: there is nothing there; --data must name {self.needs}")
        if options.peers:
            if not self.with_peers:
                raise ParameterError(f"experiment {self.name} has no peers to run; leave --peers out")
            from ctbnlearn.experiments.peers import find_peers

            find_peers()


@dataclass
class Store:
    """Finished cells in a folder."""

    folder: Path
    name: str
    _made: bool = field(default=False, repr=False)

    def path(self, cell: Cell) -> Path:
        """Where the rows of a cell are kept."""
        text = json.dumps({"experiment": self.name, "version": __version__, **cell}, sort_keys=True)
        return self.folder / "cells" / f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"

    def read(self, cell: Cell) -> Tables | None:
        """The rows of a finished cell; None where it is not there or cannot be read."""
        try:
            content = json.loads(self.path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return content["tables"] if content.get("cell") == plain(cell) else None

    def write(self, cell: Cell, tables: Tables) -> None:
        """Keep the rows of a cell."""
        if not self._made:
            try:
                self.path(cell).parent.mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                raise DataError(
                    f"{self.folder}: cannot write there ({problem.strerror}); choose another --out"
                ) from None
            self._made = True
        write_atomic(self.path(cell), json.dumps({"cell": plain(cell), "tables": plain(tables)}))


def silent(done: int, total: int, cell: Cell | None) -> None:
    """Say nothing of the progress."""


def run_plan(
    experiment: Experiment,
    options: Options,
    store: Store,
    *,
    jobs: int = 1,
    say: Callable[[int, int, Cell | None], None] = silent,
) -> Tables:
    """Run what is not there yet and return the rows of the whole plan, in the order of the plan.

    Parameters
    ----------
    experiment, options
        What to run.
    store
        Where finished cells are kept.
    jobs
        Processes; with one, cells run in this process. Cells that measure time run one at a time whatever `jobs` is.
    say
        Called as say(done, total, cell) before the first cell (None) and after each.
    """
    cells = experiment.plan(options)
    found = {k: kept for k, cell in enumerate(cells) if (kept := store.read(cell)) is not None}
    left = [k for k in range(len(cells)) if k not in found]
    say(len(found), len(cells), None)
    workers = min(jobs, len(left))
    if experiment.timed:  # nothing runs beside what is timed
        workers = 1
    for k, tables in _results(experiment.name, options, cells, left, workers):
        store.write(cells[k], tables)
        found[k] = plain(tables)
        say(len(found), len(cells), cells[k])
    whole: Tables = {}
    for k in range(len(cells)):
        for name, rows in found[k].items():
            whole.setdefault(name, []).extend(rows)
    return whole


def _results(
    name: str, options: Options, cells: Sequence[Cell], left: Sequence[int], workers: int
) -> Iterator[tuple[int, Tables]]:
    """Number and tables of every cell that is left, as they are finished."""
    if workers <= 1:
        for k in left:
            yield k, work(name, cells[k], options)
        return
    processes = Processes(workers)
    try:
        items = [(name, cells[k], options) for k in left]
        for at, tables in processes.as_finished(work, items, [f"cell {k + 1} of {len(cells)}" for k in left]):
            yield left[at], tables
    except BaseException:
        processes.abandon()
        raise
    processes.close()


def work(name: str, cell: Cell, options: Options) -> Tables:
    """Run one cell, here or in a process of its own; rows say what converged, so warnings need not."""
    from ctbnlearn.experiments.catalogue import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(name).run(cell, options)

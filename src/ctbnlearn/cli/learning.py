"""`ctbnlearn learn`: read, fit, write, say what was found."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctbnlearn.cli import Interrupted
from ctbnlearn.cli.cache import use_cache
from ctbnlearn.cli.progress import ProgressLines, visible
from ctbnlearn.cli.reading import read_data, read_edges, resolve_columns
from ctbnlearn.cli.settings import Settings
from ctbnlearn.data.kinds import Data
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.table_scan import TableScan
from ctbnlearn.errors import CtbnlearnError, DataError, DataWarning, ParameterError
from ctbnlearn.execute import head_start
from ctbnlearn.inference.methods import AUTO, Sampling
from ctbnlearn.learn.checkpoint import saved_round
from ctbnlearn.locks import FolderLock
from ctbnlearn.result.archive import REPORT, check_result_target
from ctbnlearn.result.manifest import plain
from ctbnlearn.result.result import Result
from ctbnlearn.result.unit import Unit, check_units, simulated_units, smooth_units

if TYPE_CHECKING:
    from ctbnlearn.learn.bagging import Bagged

NOT_CONVERGED = 3
SHOWN = 0.1  # edges below this probability are not printed
SENTENCES = 4  # of an edge that are


SOME = 200  # trajectories of a scan that are read to draw units like them


def run_check(data: Path, settings: Settings, quiet: bool, as_json: bool) -> int:
    """Say what was understood of the data."""
    from ctbnlearn.cli.checking import check_lines, check_values
    from ctbnlearn.learn.learner import StructureLearner

    with ProgressLines(quiet or as_json) as progress:
        columns = resolve_columns(data, settings.reading, progress.note)
        read, _ = _read(data, columns, progress)
        graphs = {key: read_edges(path, read.names) for key, path in settings.graphs.items()}
        found = check_values(read, StructureLearner(**{**settings.learner, **graphs}))
    if as_json:
        print_json(found)
    elif not quiet:
        print("\n".join(map(visible, check_lines(found))))
    return 0


def run_learn(data: Path, settings: Settings, out: Path, show: Sequence[str] | None, quiet: bool, as_json: bool) -> int:
    """Learn from a file and write the result."""
    check_result_target(out)
    checkpoint = settings.learner.get("checkpoint")
    if checkpoint is not None and Path(out).resolve() in (kept := Path(checkpoint).resolve(), *kept.parents):
        raise ParameterError(
            f"{checkpoint}: the folder of the result, {out}, is replaced as a whole; keep checkpoints outside it"
        )
    try:
        with FolderLock(out, "a result"), _executor(settings):
            return _learn(data, settings, out, show, quiet, as_json)
    except KeyboardInterrupt:
        if checkpoint is not None and settings.bags is not None:
            raise Interrupted(
                f"interrupted; {checkpoint} holds what is finished: the same command with --resume goes on from there"
            ) from None
        rounds = None if checkpoint is None else saved_round(checkpoint)
        if rounds is None:
            raise
        raise Interrupted(
            f"interrupted; {checkpoint} holds the state after round {rounds}: the same command with --resume goes on "
            "from there"
        ) from None


@contextmanager
def _executor(settings: Settings) -> Iterator[None]:
    """Connect to the cluster that was asked for, if one was."""
    if settings.dask is None:
        yield
        return
    from ctbnlearn.execute.cluster import connect

    with connect(settings.dask) as client:
        settings.learner["executor"] = client
        yield


def _may_sample(settings: Settings) -> bool:
    """Whether paths will probably be sampled in this process."""
    method = settings.learner.get("inference", AUTO)
    sampled = method in (AUTO, Sampling.name) or isinstance(method, Sampling)
    return sampled and not settings.reading.get("complete") and "executor" not in settings.learner


def _learn(data: Path, settings: Settings, out: Path, show: Sequence[str] | None, quiet: bool, as_json: bool) -> int:
    with ProgressLines(quiet or as_json) as progress:
        progress.phase(f"reading {data}")
        if _may_sample(settings):
            head_start.begin()
        columns = resolve_columns(data, settings.reading, progress.note)
        read, remarks = _read(data, columns, progress)
        graphs = {key: read_edges(path, read.names) for key, path in settings.graphs.items()}
        if show is not None:
            check_units(read.ids, show)
        reading = {"data": data.name, **columns}
        if read.clock.unit is not None:
            reading["time_unit"] = read.clock.unit
        result = fit(read, {**settings.learner, **graphs}, reading, progress, show, settings.bags)
        if remarks:
            warned = [*remarks, *result.manifest["warnings"]]
            result = replace(result, manifest={**result.manifest, "warnings": warned})
        progress.phase(f"writing {out}")
        save(result, out)
    return tell(result, out, quiet, as_json)


def save(result: Result, out: Path) -> None:
    """Save a result; where that fails, keep what was learned in a folder for temporary files, and say so."""
    try:
        result.save(out)
    except CtbnlearnError as problem:
        rescue = Path(tempfile.gettempdir()) / f"ctbnlearn-{os.getpid()}-{out.name}"
        try:
            result.save(rescue)
        except CtbnlearnError:
            raise problem from None
        raise DataError(f"{problem}. What was learned is kept in {rescue}; move it where it belongs") from None


def _read(data: Path, columns: Mapping[str, Any], progress: ProgressLines) -> tuple[Data, list[str]]:
    """The data, and what there is to remark on them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read = read_data(data, columns)
    remarks = [str(w.message) for w in caught if issubclass(w.category, DataWarning)]
    for remark in remarks:
        progress.note(remark)
    if read.clock.zero is not None:
        progress.note(f"times are counted in {read.clock.unit} from the start of each trajectory (--time-unit)")
    return read, remarks


def fit(
    data: Data,
    learner_settings: Mapping[str, Any],
    reading: Mapping[str, Any],
    progress: ProgressLines,
    show: Sequence[str] | None = None,
    bags: int | None = None,
) -> Result:
    """Fit a learner, smooth the units to show, and put the settings of the whole run into the manifest."""
    from sklearn.exceptions import ConvergenceWarning

    from ctbnlearn.learn.learner import StructureLearner

    read_seconds = progress.elapsed
    progress.note(f"{data!r}".replace("(", ": ").replace(")", ""))
    progress.phase("learning")
    if isinstance(data, (Observations, TableScan)):
        use_cache()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings = {"progress": progress.event, **learner_settings}
        learner: Any = StructureLearner(**settings) if bags is None else _bagged(settings, bags)
        result = learner.fit(data).result_
    remarks = [str(w.message) for w in caught if not issubclass(w.category, ConvergenceWarning)]
    manifest = dict(result.manifest)
    manifest["settings"] = {"reading": plain(reading), **manifest["settings"]}
    manifest["timings"] = {"read": round(read_seconds, 6), **manifest["timings"]}
    manifest["warnings"] = [*manifest["warnings"], *remarks]
    units: list[Unit] = []
    if isinstance(data, (Observations, TableScan)):
        progress.phase("smoothing units for the report")
        try:
            seen = data.with_noise(result.noise)
            if show is None:
                some = seen.select(range(min(SOME, len(seen)))) if isinstance(seen, TableScan) else seen
                units = simulated_units(result.network, some, learner.inference_)
            else:
                units = smooth_units(result.network, seen, show, learner.inference_)
        except Exception as problem:  # keep what was learned, whatever it is
            manifest["warnings"].append(f"No units are drawn: {problem}")
    return replace(result, manifest=manifest, units=units)


def _bagged(settings: Mapping[str, Any], bags: int) -> Bagged:
    """A learner inside `Bagged`, which takes over its checkpoint."""
    from ctbnlearn.learn.bagging import Bagged
    from ctbnlearn.learn.learner import StructureLearner

    own = {key: value for key, value in settings.items() if key not in ("checkpoint", "resume")}
    return Bagged(
        StructureLearner(**own),
        bags,
        random_state=settings.get("random_state"),
        checkpoint=settings.get("checkpoint"),
        resume=bool(settings.get("resume", False)),
        progress=settings["progress"],
    )


def tell(result: Result, out: Path, quiet: bool, as_json: bool) -> int:
    """Print what was found; returns the exit code."""
    given = result.manifest.get("adjusted_for", [])
    edges = [e for e in result.edges.to_pylist() if e["probability"] > SHOWN and e["source"] not in given]
    if as_json:
        print_json(
            {
                "out": str(out),
                "converged": result.converged,
                "objective": plain(result.objective),
                "variables": list(result.names),
                "edges": edges,
                "data": result.manifest["data"],
                "timings": result.manifest["timings"],
                "warnings": result.manifest["warnings"],
            }
        )
    elif not quiet:
        for line in edge_lines(result, edges):
            print(line)
        if given:
            print(f"adjusted for: {visible(', '.join(given))} (parents of all others)")
        for warning in result.manifest["warnings"]:
            print(f"note: {visible(warning)}")
        report = out / REPORT
        print(f"written to {visible(out)}" + (f"; open {visible(report)} in a browser" if report.exists() else ""))
    if not result.converged:
        method = str((result.manifest.get("inference") or {}).get("method"))
        what, more = {
            "sampling": ("chains do not agree", "raise --sweeps for a better one"),
            "blocks": ("some fits of blocks, or of how values were measured, have not settled", "rates may be off"),
        }.get(method, ("EM has not converged", "raise --max-iter for a better one"))
        sys.stderr.write(f"ctbnlearn: {what}; the result is written, but {more}\n")
        return NOT_CONVERGED
    return 0


def edge_lines(result: Result, edges: list[dict[str, Any]]) -> list[str]:
    """Edges as an aligned table, and below each what it does."""
    if not edges:
        return [f"no edge has a probability above {SHOWN}"]
    width = max(6, *(len(visible(e[side])) for e in edges for side in ("source", "target")))
    spread = " ± bags" if "spread" in edges[0] else ""
    lines = [f"{'source':>{width}} -> {'target':<{width}}  probability{spread}"]
    for e in edges:
        over_bags = f" ± {e['spread']:.2f}" if "spread" in e else ""
        name = f"{visible(e['source']):>{width}} -> {visible(e['target']):<{width}}"
        lines.append(f"{name}  {e['probability']:11.3f}{over_bags}")
        lines += [f"{'':>{width}}    {visible(text)}" for text in result.explain(e["source"], e["target"])[:SENTENCES]]
    return lines


def print_json(content: Mapping[str, Any]) -> None:
    """One JSON object on stdout."""
    sys.stdout.write(json.dumps(content, allow_nan=False) + "\n")

"""`ctbnlearn risk`: probabilities of reaching a state within a time, as a table."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ctbnlearn.cli.cache import use_cache
from ctbnlearn.cli.progress import ProgressLines
from ctbnlearn.cli.rereading import read_again
from ctbnlearn.data.files import write_atomic
from ctbnlearn.data.messages import shown
from ctbnlearn.data.texts import label_text
from ctbnlearn.errors import ParameterError
from ctbnlearn.result.archive import load_result


def run_risk(
    folder: Path,
    data: Path,
    given: Mapping[str, Any],
    states: Sequence[str],
    within: str,
    folds: int | None,
    out: Path | None,
    quiet: bool,
) -> int:
    """Write the risk of every trajectory; or, with folds, how good such risks are."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from ctbnlearn.inference.reach import DRAWS, reach
    from ctbnlearn.learn.rebuild import learner_of
    from ctbnlearn.learn.risk_check import check_risk
    from ctbnlearn.learn.targets import as_horizons, as_target

    suffix = ".csv" if out is None else out.suffix.lower()
    if suffix not in (".csv", ".parquet", ".pq"):
        raise ParameterError(f"{out}: the file's name must end in .csv, .parquet or .pq; rename it")
    target, times = _target(states), as_horizons(_times(within))
    result = load_result(folder)
    wanted = as_target(target, result.variables)
    with ProgressLines(quiet or out is None) as progress:
        complaint = "complete paths hold every state already; give observations"
        obs = read_again(result, data, given, complaint, progress)
        use_cache()
        if folds is None:
            progress.phase("risks")
            found, engine = reach(result.network, obs, wanted, times)
            progress.note("exact" if engine == "exact" else f"by simulation of {DRAWS} futures each")
            ids = pa.array([label_text(i) for i in obs.ids], pa.string())
            n, m = found.shape
            table = pa.table(
                {
                    "trajectory": ids.take(pa.array(np.repeat(np.arange(n), m))),
                    "within": np.tile(times, n),
                    "risk": np.round(found.reshape(-1), 9),
                }
            )
        else:
            progress.phase("learning without some of the units, and telling their risks")
            rows = check_risk(learner_of(result), obs, target, times, n_folds=folds, progress=progress.event)
            kinds = {"within": pa.float64(), "units": pa.int64(), "reached": pa.int64()}
            table = pa.table(
                {key: pa.array([row[key] for row in rows], kinds.get(key, pa.float64())) for key in rows[0]}
            )
    if out is None:
        pyarrow.csv.write_csv(table, pa.PythonFile(sys.stdout.buffer, "w"))
        return 0
    write = pyarrow.csv.write_csv if suffix == ".csv" else pyarrow.parquet.write_table
    write_atomic(out, lambda path: write(table, path))
    progress.note(f"written to {out}")
    return 0


def _target(texts: Sequence[str]) -> dict[str, list[str]]:
    """{variable: states} of texts VARIABLE=STATE,STATE."""
    out: dict[str, list[str]] = {}
    for text in texts:
        name, equals, states = (part.strip() for part in text.partition("="))
        if not (name and equals and states):
            raise ParameterError(f"--state {shown(text)}: write the variable and its state, as in relapse=yes")
        if name in out:
            raise ParameterError(f"--state names {shown(name)} twice; give its states in one, as in stage=mild,severe")
        out[name] = [word.strip() for word in states.split(",")]
    return out


def _times(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ParameterError(f"--within must be a time, or several separated by commas, not {shown(text)}") from None

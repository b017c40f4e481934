"""`ctbnlearn smooth`: state probabilities in between observations, as a table."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import ctbnlearn as cl
from ctbnlearn.arrays import FloatArray
from ctbnlearn.cli.cache import use_cache
from ctbnlearn.cli.progress import ProgressLines
from ctbnlearn.cli.rereading import read_again
from ctbnlearn.data.files import write_atomic
from ctbnlearn.data.observations import Observations
from ctbnlearn.data.texts import label_text
from ctbnlearn.errors import ParameterError
from ctbnlearn.inference import known
from ctbnlearn.inference.methods import from_settings

if TYPE_CHECKING:
    import pyarrow as pa


def run_smooth(
    folder: Path, data: Path, given: Mapping[str, Any], times: str | None, points: int, out: Path | None, quiet: bool
) -> int:
    """Smooth data under the network of a result and write the probabilities."""
    import pyarrow.csv
    import pyarrow.parquet

    suffix = ".csv" if out is None else out.suffix.lower()
    if suffix not in (".csv", ".parquet", ".pq"):
        raise ParameterError(f"{out}: the file's name must end in .csv, .parquet or .pq; rename it")
    grid = None if times is None else _times(times)
    result = cl.load_result(folder)
    with ProgressLines(quiet or out is None) as progress:
        complaint = "complete paths hold every state already; there is nothing to smooth"
        obs = read_again(result, data, given, complaint, progress)
        if grid is None:
            grid = obs.start[:, None] + (obs.end - obs.start)[:, None] * np.linspace(0, 1, points)
        use_cache()
        progress.phase("smoothing")
        found = known.smooth(result.network, obs, grid, from_settings(result.manifest.get("inference")))
    table = _table(obs, np.broadcast_to(grid, (obs.n_trajectories, np.shape(grid)[-1])), found)
    if out is None:
        pyarrow.csv.write_csv(table, pyarrow.PythonFile(sys.stdout.buffer, "w"))
        return 0
    write = pyarrow.csv.write_csv if suffix == ".csv" else pyarrow.parquet.write_table
    write_atomic(out, lambda path: write(table, path))
    progress.note(f"written to {out}")
    return 0


def _times(text: str) -> FloatArray:
    try:
        grid = np.array([float(t) for t in text.split(",")])
    except ValueError:
        raise ParameterError(f"--times must be numbers separated by commas, such as 0,0.5,1, not {text!r}") from None
    if not np.isfinite(grid).all():
        raise ParameterError(f"--times must be finite numbers, not {text!r}")
    return grid


def _table(obs: Observations, grid: FloatArray, found: Mapping[str, FloatArray]) -> pa.Table:
    """One row per trajectory, time, variable and state."""
    import pyarrow as pa

    n, k = grid.shape
    ids = pa.array([label_text(i) for i in obs.ids], pa.string())
    parts = []
    for v in obs.variables:
        s = v.n_states
        parts.append(
            pa.table(
                {
                    "trajectory": ids.take(pa.array(np.repeat(np.arange(n), k * s))),
                    "time": np.repeat(grid.reshape(-1), s),
                    "variable": pa.array([v.name]).take(pa.array(np.zeros(n * k * s, int))),
                    "state": pa.array([label_text(x) for x in v.states]).take(pa.array(np.tile(np.arange(s), n * k))),
                    "probability": np.asarray(found[v.name], float).reshape(-1),
                }
            )
        )
    return pa.concat_tables(parts)
